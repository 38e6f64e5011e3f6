//! Runs a shell command to its end: with a timeout, with all the processes it starts, and keeping a bounded tail of
//! its output.

use sayso_agents::process_tree::{self, MARK};
use sayso_core::text::shorten;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The maximum number of bytes kept of each output stream: the end of it.
const KEPT_BYTES_MAX: usize = 256 * 1024;

/// The maximum number of characters of a value in messages.
const SHOWN_CHARS_MAX: usize = 200;

/// The grace period of processes that are being ended.
const GRACE: Duration = Duration::from_secs(2);

/// The time for which we continue to read after all the processes we could find have ended.
const READ_ON: Duration = Duration::from_secs(2);

/// The poll interval for the end of the command.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The variable that tells a process it runs for an agent and not for a person.
pub(super) const AGENT: &str = "AI_AGENT";

/// The variables that hold a credential of ours.
const CREDENTIALS: [&str; 2] = ["SAYSO_TOKEN", "SAYSO_TOKEN_FILE"];

/// A shell command. Values are passed as environment variables beside it, so that no value becomes a part of it (no
/// shell injection).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellCommand {
    pub line: String,
    /// The environment variables that carry the values.
    pub variables: Vec<(String, String)>,
}

impl ShellCommand {
    /// Creates a command without values.
    pub fn new(line: impl Into<String>) -> Self {
        Self { line: line.into(), variables: vec![] }
    }

    /// Returns the command for people to read: with the values in it instead of the names of their variables.
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

/// The folder, process mark and limits under which a command runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShellRunContext<'a> {
    pub(super) folder: &'a Path,
    /// The mark of all processes that it starts; they are ended by it.
    pub(super) mark: &'a str,
    pub(super) time_max: Duration,
    pub(super) stop: &'a AtomicBool,
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandEnd {
    /// The command exited or a signal ended it.
    Itself(CommandOutput),
    /// The command exceeded its time limit.
    TooLong(CommandOutput),
    /// The worker was told to stop.
    Stopped,
    /// The command could not be started.
    NotStarted(String),
}

/// The exit code and the output of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandOutput {
    /// The exit code; none if a signal ended the command.
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
    /// The number of bytes that were cut at the beginning of `out`.
    pub(super) left_out: u64,
}

impl CommandOutput {
    pub(super) fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns both output streams, for error messages.
    pub(super) fn all(&self) -> String {
        let parts = [self.out.trim_end(), self.err.trim_end()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// Runs a command. No process that it started is left when this returns.
pub(super) fn run(shell: &ShellCommand, room: &ShellRunContext<'_>) -> CommandEnd {
    let mut command = Command::new("sh");
    // A line that fails ends it: what stands below must not make up for it.
    command.args(["-e", "-c"]).arg(&shell.line).current_dir(room.folder).stdin(Stdio::null());
    // Our own process may hold a credential; the command gets none of ours.
    for name in CREDENTIALS {
        command.env_remove(name);
    }
    command.envs(shell.variables.iter().map(|(name, value)| (name, value)));
    // A process group of its own, and a mark by which a worker that takes over from us ends it.
    command.env(MARK, room.mark).process_group(0);
    // The command may run code that an agent wrote, and that must not pass for a person.
    command.env(AGENT, "sayso-step");
    let mut child = match command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => return CommandEnd::NotStarted(error.to_string()),
    };
    let (out, err) =
        (child.stdout.take().map(OutputTail::read), child.stderr.take().map(OutputTail::read));
    let waited = wait(&mut child, room);
    process_tree::end_marked(room.mark, GRACE);
    // A process that hid from us may still hold our pipes; that must not block us.
    let ended_at = Instant::now();
    let is_read = |kept: &Option<Arc<OutputTail>>| kept.as_ref().is_none_or(|kept| kept.is_over());
    while !(is_read(&out) && is_read(&err)) && ended_at.elapsed() < READ_ON {
        std::thread::sleep(LOOK_EVERY);
    }
    let (out, left_out) = out.map(|kept| kept.text()).unwrap_or_default();
    let (err, _) = err.map(|kept| kept.text()).unwrap_or_default();
    let printed = |status: Option<ExitStatus>| CommandOutput {
        code: status.and_then(|status| status.code()),
        out,
        err,
        left_out,
    };
    match waited {
        ChildEnd::Ended(status) => CommandEnd::Itself(printed(Some(status))),
        ChildEnd::TooLong => CommandEnd::TooLong(printed(None)),
        ChildEnd::Stopped => CommandEnd::Stopped,
        ChildEnd::Failed(why) => CommandEnd::NotStarted(why),
    }
}

enum ChildEnd {
    Ended(ExitStatus),
    TooLong,
    Stopped,
    Failed(String),
}

/// Waits for the end of the child, or ends it.
fn wait(child: &mut Child, room: &ShellRunContext<'_>) -> ChildEnd {
    let began = Instant::now();
    let early = loop {
        match child.try_wait() {
            Ok(Some(status)) => return ChildEnd::Ended(status),
            Ok(None) => {}
            Err(error) => break ChildEnd::Failed(error.to_string()),
        }
        if room.stop.load(Ordering::SeqCst) {
            break ChildEnd::Stopped;
        }
        if began.elapsed() > room.time_max {
            break ChildEnd::TooLong;
        }
        std::thread::sleep(LOOK_EVERY);
    };
    process_tree::end_marked(room.mark, GRACE);
    let _ = child.kill();
    let _ = child.wait();
    early
}

/// A bounded tail of an output stream, filled by a reader thread.
#[derive(Default)]
struct OutputTail {
    state: Mutex<TailBuffer>,
}

#[derive(Default)]
struct TailBuffer {
    bytes: Vec<u8>,
    left_out: u64,
    is_over: bool,
}

impl OutputTail {
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

    fn state(&self) -> std::sync::MutexGuard<'_, TailBuffer> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.bytes.extend_from_slice(bytes);
        // Cut rarely, so that not every piece moves the whole buffer.
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
