//! Running a command of the shell to its end: with everything it starts, for a bounded time, keeping a
//! bounded end of what it prints.

use sayso_agents::process::{self, MARK};
use sayso_core::text::shorten;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much is kept of what a command prints on each of its two ways out: the end of it.
const KEPT_BYTES_MAX: usize = 256 * 1024;

/// How much of a value is shown to people.
const SHOWN_CHARS_MAX: usize = 200;

/// How long what is to be ended gets to end by itself.
const GRACE: Duration = Duration::from_secs(2);

/// How long we read on when everything we could find has ended.
const READ_ON: Duration = Duration::from_secs(2);

/// How often we look whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The variable by which a process is known to be no person's.
pub(super) const AGENT: &str = "AI_AGENT";

/// The variables that bring a credential of ours.
const CREDENTIALS: [&str; 2] = ["SAYSO_TOKEN", "SAYSO_TOKEN_FILE"];

/// A command of the shell. Values stand beside it as variables, so that no value becomes a part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shell {
    /// The command.
    pub line: String,
    /// Variables it gets.
    pub variables: Vec<(String, String)>,
}

impl Shell {
    /// A command without values.
    pub fn new(line: impl Into<String>) -> Self {
        Self { line: line.into(), variables: vec![] }
    }

    /// The command as people read it: with the values in it, and not the names of their variables.
    pub fn in_words(&self) -> String {
        let mut line = self.line.clone();
        for (name, value) in &self.variables {
            let shown = shorten(value, SHOWN_CHARS_MAX);
            let quoted = format!("'{}'", shown.replace('\'', "'\\''"));
            line = line.replace(&format!("\"${{{name}}}\""), &quoted);
            line = line.replace(&format!("${{{name}}}"), &shown);
        }
        line
    }
}

/// Where and under what a command runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room<'a> {
    pub(super) folder: &'a Path,
    /// Everything it starts carries it, and is ended by it.
    pub(super) mark: &'a str,
    pub(super) time_max: Duration,
    pub(super) stop: &'a AtomicBool,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// By itself.
    Itself(Printed),
    /// It took too long.
    TooLong(Printed),
    /// We were told to stop.
    Stopped,
    /// It could not be started.
    NotStarted(String),
}

/// What a command left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Printed {
    /// None if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
    /// How many bytes were left out at the beginning of `out`.
    pub(super) left_out: u64,
}

impl Printed {
    pub(super) fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// Both, for whoever is to find out what went wrong.
    pub(super) fn all(&self) -> String {
        let parts = [self.out.trim_end(), self.err.trim_end()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// Runs a command. Nothing it started is left when this returns.
pub(super) fn run(shell: &Shell, room: &Room<'_>) -> Ended {
    let mut command = Command::new("sh");
    // A line that fails ends it: what stands below must not make up for it.
    command.args(["-e", "-c"]).arg(&shell.line).current_dir(room.folder).stdin(Stdio::null());
    // Whoever started us may have a credential at hand; what runs here gets none of ours.
    for name in CREDENTIALS {
        command.env_remove(name);
    }
    command.envs(shell.variables.iter().map(|(name, value)| (name, value)));
    // A group of its own, and a mark: whoever takes over from us ends it by that.
    command.env(MARK, room.mark).process_group(0);
    // It may run what an agent wrote, and nothing of that is a person.
    command.env(AGENT, "sayso-step");
    let mut child = match command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => return Ended::NotStarted(error.to_string()),
    };
    let (out, err) = (child.stdout.take().map(Kept::read), child.stderr.take().map(Kept::read));
    let waited = wait(&mut child, room);
    process::end_marked(room.mark, GRACE);
    // What hid from us may still hold our pipes; that must not hold us.
    let ended_at = Instant::now();
    let is_read = |kept: &Option<Arc<Kept>>| kept.as_ref().is_none_or(|kept| kept.is_over());
    while !(is_read(&out) && is_read(&err)) && ended_at.elapsed() < READ_ON {
        std::thread::sleep(LOOK_EVERY);
    }
    let (out, left_out) = out.map(|kept| kept.text()).unwrap_or_default();
    let (err, _) = err.map(|kept| kept.text()).unwrap_or_default();
    let printed = |status: Option<ExitStatus>| Printed {
        code: status.and_then(|status| status.code()),
        out,
        err,
        left_out,
    };
    match waited {
        Waited::Ended(status) => Ended::Itself(printed(Some(status))),
        Waited::TooLong => Ended::TooLong(printed(None)),
        Waited::Stopped => Ended::Stopped,
        Waited::Failed(why) => Ended::NotStarted(why),
    }
}

enum Waited {
    Ended(ExitStatus),
    TooLong,
    Stopped,
    Failed(String),
}

/// Waits for its end, or ends it.
fn wait(child: &mut Child, room: &Room<'_>) -> Waited {
    let began = Instant::now();
    let early = loop {
        match child.try_wait() {
            Ok(Some(status)) => return Waited::Ended(status),
            Ok(None) => {}
            Err(error) => break Waited::Failed(error.to_string()),
        }
        if room.stop.load(Ordering::SeqCst) {
            break Waited::Stopped;
        }
        if began.elapsed() > room.time_max {
            break Waited::TooLong;
        }
        std::thread::sleep(LOOK_EVERY);
    };
    process::end_marked(room.mark, GRACE);
    let _ = child.kill();
    let _ = child.wait();
    early
}

/// The end of what somebody prints, while it is read.
#[derive(Default)]
struct Kept {
    state: Mutex<Reading>,
}

#[derive(Default)]
struct Reading {
    bytes: Vec<u8>,
    left_out: u64,
    is_over: bool,
}

impl Kept {
    fn read(mut pipe: impl Read + Send + 'static) -> Arc<Self> {
        let kept = Arc::new(Self::default());
        let ours = Arc::clone(&kept);
        std::thread::spawn(move || {
            let mut buffer = [0; 8 * 1024];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                ours.add(&buffer[..count]);
            }
            ours.state().is_over = true;
        });
        kept
    }

    fn state(&self) -> std::sync::MutexGuard<'_, Reading> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.bytes.extend_from_slice(bytes);
        // Seldom, so that not every piece moves all of it.
        if state.bytes.len() > 2 * KEPT_BYTES_MAX {
            let extra = state.bytes.len() - KEPT_BYTES_MAX;
            state.bytes.drain(..extra);
            state.left_out += extra as u64;
        }
    }

    fn is_over(&self) -> bool {
        self.state().is_over
    }

    fn text(&self) -> (String, u64) {
        let state = self.state();
        let extra = state.bytes.len().saturating_sub(KEPT_BYTES_MAX);
        let text = String::from_utf8_lossy(&state.bytes[extra..]).into_owned();
        (text, state.left_out + extra as u64)
    }
}
