//! The terminal screen (raw mode, alternate screen): entered here, and always restored.

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

/// True while this program has the terminal in raw mode.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// True after a panic in one of the threads.
static IS_BROKEN: AtomicBool = AtomicBool::new(false);

/// The terminal in raw mode. Dropping it restores the terminal.
pub(super) struct TerminalScreen {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl TerminalScreen {
    pub(super) fn take() -> Result<Self> {
        give_back_on_panic();
        enter()?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout()));
        if terminal.is_err() {
            leave();
        }
        Ok(Self { terminal: terminal? })
    }

    /// Runs a closure on the restored terminal, then enters raw mode again. Input typed meanwhile belonged to the
    /// closure and is dropped.
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

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        leave();
    }
}

/// Drops unread input: it was typed for another screen.
pub(super) fn drop_input() {
    // A closed terminal has no input to drop.
    let _ = tcflush(stdin(), QueueSelector::IFlush);
}

fn enter() -> Result<()> {
    IS_OURS.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)
}

/// Restores the terminal, once.
fn leave() {
    if !IS_OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    // If the terminal is gone, there is no place left to report that.
    let _ = execute!(stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Restores the terminal on a panic, so that its message can be read.
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
