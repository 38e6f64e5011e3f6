//! The event loop: draws, waits for keys, signals and the desk thread, and runs the effects that [`update`] returns.

use super::desk_thread::DeskThread;
use super::drafts::unsent_drafts;
use super::keys::KeyPress;
use super::screen::{TerminalScreen, drop_input};
use super::state::{EditorContent, ExitMessage, InboxEffect, InboxEvent, InboxState};
use super::update::{begin, update};
use super::view::view;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::OutputStyle;
use crate::{editor, identity};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ratatui::crossterm::event;
use ratatui::crossterm::terminal::size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sayso_core::{Code, CommandExit};
use sayso_engine::Desk;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::low_level::{emulate_default_handler, pipe};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

/// The refresh interval while something on the screen counts down.
const QUICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The refresh interval at other times: ages are shown to the second.
const CALM: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Shows the inbox until the person leaves.
pub(crate) fn run(
    context: &CliContext<'_>,
    clerk: DeskThread,
    state: InboxState,
) -> Result<CommandExit> {
    let desk = clerk.desk.clone();
    let (heard, wake) = UnixStream::pair()?;
    heard.set_nonblocking(true)?;
    wake.set_nonblocking(true)?;
    let signals = SignalFlags::register(&wake)?;
    let (jobs, events) = start(clerk, &wake)?;
    let screen = TerminalScreen::take()?;
    let since = Instant::now();
    let mut app = InboxApp { context, desk, state, screen, jobs, events, heard, signals, since };
    let left = app.run_loop();
    let InboxApp { screen, state, signals, .. } = app;
    drop(screen);
    for unsaid in unsent_drafts(&state) {
        context.out.message(&unsaid);
    }
    let exit = farewell(context, state.farewell);
    left?;
    if let Some(signal) = signals.ending() {
        // The default handler runs, so that the sender of the signal sees its effect.
        exit.as_ref().err().into_iter().for_each(|failure| {
            let Failure { code, message, hint } = failure;
            context.out.error(code.as_str(), message, hint.as_deref());
        });
        emulate_default_handler(signal)?;
    }
    exit
}

/// Starts the threads that call the desk and follow its changes. They end with the program: the desk completes or
/// drops a call that is under way.
fn start(
    clerk: DeskThread,
    wake: &UnixStream,
) -> Result<(Sender<InboxEffect>, Receiver<InboxEvent>)> {
    let (jobs, wanted) = mpsc::channel::<InboxEffect>();
    let (tell, events) = mpsc::channel::<InboxEvent>();
    let telling = |tell: Sender<InboxEvent>, wake: UnixStream| {
        move |event: InboxEvent| {
            let is_heard = tell.send(event).is_ok();
            // A full pipe wakes the loop as well as one more byte.
            let _ = (&wake).write(&[0]);
            is_heard
        }
    };
    let desk = clerk.desk.clone();
    let listening = telling(tell.clone(), wake.try_clone()?);
    std::thread::Builder::new()
        .name("follower".into())
        .spawn(move || DeskThread::listen(&desk, listening))?;
    let answering = telling(tell, wake.try_clone()?);
    std::thread::Builder::new().name("clerk".into()).spawn(move || {
        for effect in wanted {
            if clerk.run(effect).is_some_and(|event| !answering(event)) {
                return;
            }
        }
    })?;
    Ok((jobs, events))
}

struct InboxApp<'a> {
    context: &'a CliContext<'a>,
    desk: Desk,
    state: InboxState,
    screen: TerminalScreen,
    jobs: Sender<InboxEffect>,
    events: Receiver<InboxEvent>,
    heard: UnixStream,
    signals: SignalFlags,
    since: Instant,
}

impl InboxApp<'_> {
    fn run_loop(&mut self) -> Result<()> {
        self.tick();
        let effects = begin(&self.state);
        let mut goes_on = self.run_effects(effects)?;
        self.draw()?;
        // Keys typed before the first frame were not meant for it.
        drop_input();
        while goes_on {
            self.wait()?;
            if TerminalScreen::is_broken() {
                return Err(Failure::new(Code::Failure, "the inbox broke; nothing held was sent"));
            }
            goes_on = self.handle_pending()?;
            if goes_on {
                self.draw()?;
            }
        }
        Ok(())
    }

    /// Handles all pending events: keys first, since they refer to the present screen.
    fn handle_pending(&mut self) -> Result<bool> {
        while event::poll(Duration::ZERO)? {
            let event = match event::read()? {
                event::Event::Key(key) => KeyPress::of(&key).map(InboxEvent::Key),
                event::Event::Paste(text) => Some(InboxEvent::Pasted(text)),
                _ => None,
            };
            if !event.map_or(Ok(true), |event| self.handle_event(event))? {
                return Ok(false);
            }
        }
        while let Ok(event) = self.events.try_recv() {
            if !self.handle_event(event)? {
                return Ok(false);
            }
        }
        if self.signals.ending().is_some() {
            return self.handle_event(InboxEvent::Ended);
        }
        if self.signals.is_to_stop() {
            return self.run_effects(vec![InboxEffect::Suspend]);
        }
        let effects = self.tick();
        self.run_effects(effects)
    }

    fn handle_event(&mut self, event: InboxEvent) -> Result<bool> {
        let effects = update(&mut self.state, event, self.since.elapsed());
        self.run_effects(effects)
    }

    fn tick(&mut self) -> Vec<InboxEffect> {
        let now = self.desk.now();
        update(&mut self.state, InboxEvent::Tick(now), self.since.elapsed())
    }

    fn draw(&mut self) -> Result<()> {
        let (columns, rows) = size()?;
        if (columns, rows) != self.state.size {
            update(&mut self.state, InboxEvent::Resized(columns, rows), self.since.elapsed());
        }
        let mut drawn = Default::default();
        let state = &self.state;
        self.screen.terminal.draw(|frame| {
            drawn = view(state, frame.area(), frame.buffer_mut());
            if let Some(cursor) = drawn.cursor {
                frame.set_cursor_position(cursor);
            }
        })?;
        update(&mut self.state, InboxEvent::Drawn(drawn.card), self.since.elapsed());
        Ok(())
    }

    /// Runs effects. True if the loop continues.
    fn run_effects(&mut self, effects: Vec<InboxEffect>) -> Result<bool> {
        for effect in effects {
            match effect {
                InboxEffect::Leave => return Ok(false),
                InboxEffect::Suspend => {
                    self.screen.outside(|| emulate_default_handler(SIGTSTP))??;
                    self.handle_event(InboxEvent::Resumed)?;
                }
                InboxEffect::Unlock => {
                    let (context, desk) = (self.context, &self.desk);
                    let unlocked = self.screen.outside(|| identity::person(context, desk))?;
                    self.reset_drawn();
                    if !self.handle_event(InboxEvent::Proved(unlocked.map(|_| false)))? {
                        return Ok(false);
                    }
                }
                InboxEffect::Write(written, writing) => {
                    let outcome = self.screen.outside(|| match writing {
                        EditorContent::Below { question, narrative, begun } => {
                            editor::write_below(&question, &narrative, &begun)
                        }
                        EditorContent::Json(text) if text.starts_with("//") => {
                            editor::change(&text, ".jsonc")
                        }
                        EditorContent::Json(text) => editor::change(&text, ".json"),
                        EditorContent::Form(text) => editor::change(&text, ".jsonc"),
                    })?;
                    self.reset_drawn();
                    if !self.handle_event(InboxEvent::Written(written, outcome))? {
                        return Ok(false);
                    }
                }
                InboxEffect::Copy(command) => copy(&command)?,
                job => {
                    let broken = |_| Failure::new(Code::Failure, "the inbox broke");
                    self.jobs.send(job).map_err(broken)?;
                }
            }
        }
        Ok(true)
    }

    /// The screen was left: the card on it counts as newly drawn.
    fn reset_drawn(&mut self) {
        update(&mut self.state, InboxEvent::Drawn(None), self.since.elapsed());
    }

    /// Waits for a key, a reply of the desk, a signal, or the next timed change.
    fn wait(&mut self) -> Result<()> {
        let patience = if self.state.is_counting() { QUICK } else { CALM };
        let keys = std::io::stdin();
        let mut both = [
            PollFd::from_borrowed_fd(keys.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.heard.as_fd(), PollFlags::IN),
        ];
        match poll(&mut both, Some(&patience)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(std::io::Error::from(error).into()),
        }
        // A closed terminal never sends input again.
        if both[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(Failure::new(Code::Failure, "the terminal is gone; nothing held was sent"));
        }
        let mut bytes = [0; 64];
        while self.heard.read(&mut bytes).is_ok_and(|count| count > 0) {}
        Ok(())
    }
}

/// Asks the terminal to put a line on the clipboard (OSC 52); a terminal without support ignores it. Only our own
/// commands come here, and only their printable ASCII is passed on: no text of an agent.
fn copy(command: &str) -> Result<()> {
    let plain: String = command.chars().filter(|c| *c == ' ' || c.is_ascii_graphic()).collect();
    let mut terminal = std::io::stdout();
    write!(terminal, "\x1b]52;c;{}\x07", STANDARD.encode(plain))?;
    Ok(terminal.flush()?)
}

/// The signals this program received.
struct SignalFlags {
    /// The number of the signal; 0 is none.
    ending: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl SignalFlags {
    fn register(wake: &UnixStream) -> Result<Self> {
        let signals = Self { ending: Arc::default(), stop: Arc::default() };
        for signal in [SIGTERM, SIGHUP, SIGINT] {
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(&signals.ending), number)?;
        }
        signal_hook::flag::register(SIGTSTP, Arc::clone(&signals.stop))?;
        for signal in [SIGTERM, SIGHUP, SIGINT, SIGTSTP, SIGWINCH] {
            pipe::register(signal, wake.try_clone()?)?;
        }
        Ok(signals)
    }

    fn ending(&self) -> Option<i32> {
        i32::try_from(self.ending.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
    }

    fn is_to_stop(&self) -> bool {
        self.stop.swap(false, Ordering::SeqCst)
    }
}

/// Prints the outcome of the answers that were sent at the end.
fn farewell(context: &CliContext<'_>, told: Vec<ExitMessage>) -> Result<CommandExit> {
    let out = context.out;
    let mut wrong = None;
    for one in told {
        match one {
            ExitMessage::Good(words) => {
                let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
                out.line(&format!("{tick} {words}"));
            }
            ExitMessage::Note(_, words) => out.message(&words),
            ExitMessage::Bad(failure) => match wrong {
                None => wrong = Some(failure),
                Some(_) => {
                    let Failure { code, message, hint } = failure;
                    out.error(code.as_str(), &message, hint.as_deref());
                }
            },
        }
    }
    wrong.map_or(Ok(CommandExit::Ok), Err)
}
