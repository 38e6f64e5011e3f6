//! The terminal: taken over, and always given back as it was.

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::termios::{QueueSelector, tcflush};
use std::io::{Result, Stdout, stdin, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal is ours now.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Whether something broke that nobody foresaw, in whichever thread.
static IS_BROKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, as long as it is ours. Dropped, it is given back.
pub(super) struct Screen {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    pub(super) fn take() -> Result<Self> {
        give_back_on_panic();
        enter()?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout()));
        if terminal.is_err() {
            leave();
        }
        Ok(Self { terminal: terminal? })
    }

    /// Does something with the terminal as it was, and takes it over again. What was typed meanwhile was
    /// typed for that.
    pub(super) fn outside<T>(&mut self, what: impl FnOnce() -> T) -> Result<T> {
        leave();
        let outcome = what();
        enter()?;
        self.terminal.clear()?;
        drop_input();
        Ok(outcome)
    }

    pub(super) fn is_broken() -> bool {
        IS_BROKEN.load(Ordering::SeqCst)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// Forgets what was typed and not read yet: it was typed for something else.
pub(super) fn drop_input() {
    // A terminal that is gone has nothing to forget.
    let _ = tcflush(stdin(), QueueSelector::IFlush);
}

fn enter() -> Result<()> {
    IS_OURS.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)
}

/// Gives the terminal back, once.
fn leave() {
    if !IS_OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    // There is nowhere left to report that the terminal is gone.
    let _ = execute!(stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// A panic is told on a terminal that can show it.
fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            IS_BROKEN.store(true, Ordering::SeqCst);
            leave();
            before(panic);
        }));
    });
}
