//! The notification channel that runs a command: the notice comes on standard input, its main fields in environment
//! variables. After the timeout the command is ended with all the processes it started.

use crate::NoticeText;
use crate::channels::{line, look};
use rustix::process::{Pid, Signal, kill_process_group};
use sayso_agents::process_tree;
use sayso_core::text::{sanitize_line, shorten};
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The poll interval for the end of the command.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The grace period of a command that ran out of time.
const GRACE: Duration = Duration::from_millis(500);

/// The maximum number of bytes kept of its standard error; the rest is read and dropped.
const COMPLAINT_BYTES_MAX: usize = 2_048;

pub(crate) fn run(
    argv: &[String],
    folder: &Path,
    environment: &[(String, String)],
    text: &NoticeText,
    message: &Value,
    timeout: Duration,
) -> Result<(), String> {
    let (program, args) = argv.split_first().ok_or("the channel names no program")?;
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).env_clear();
    command.envs(environment.iter().filter(|(name, _)| !name.starts_with("SAYSO_")).cloned());
    command.envs(variables(text));
    // By the mark all its processes are found; by `AI_AGENT` nothing it does counts as a person's action.
    command.env(process_tree::MARK, &text.id).env("AI_AGENT", "sayso-notice");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| format!("{program} cannot be run: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // It fits into the pipe, and the command need not read it.
        let _ = stdin.write_all(message.to_string().as_bytes());
    }
    let mut complaints = StderrTail::of(child.stderr.take());
    match wait(&mut child, &mut complaints, timeout) {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(complaints.with(&in_words(status))),
        None => {
            end(&mut child, &text.id);
            Err(complaints.with(&format!("it was ended after {} seconds", timeout.as_secs())))
        }
    }
}

/// Returns the environment variables, so that a script need not parse JSON.
fn variables(text: &NoticeText) -> [(&'static str, String); 9] {
    let occasion = text.occasion.map_or("test", |why| why.as_str());
    [
        ("SAYSO_NOTICE_ID", text.id.clone()),
        ("SAYSO_NOTICE_WHY", occasion.into()),
        ("SAYSO_NOTICE_TO", text.to.clone().unwrap_or_default()),
        ("SAYSO_NOTICE_SPACE", text.space.clone()),
        ("SAYSO_NOTICE_GATE", text.handle.clone()),
        ("SAYSO_NOTICE_RISK", text.risk.as_str().into()),
        ("SAYSO_NOTICE_TITLE", text.title.clone()),
        ("SAYSO_NOTICE_LINE", line(text)),
        ("SAYSO_NOTICE_LOOK", look(text)),
    ]
}

fn wait(child: &mut Child, complaints: &mut StderrTail, timeout: Duration) -> Option<ExitStatus> {
    let began = Instant::now();
    loop {
        complaints.read();
        if let Ok(Some(status)) = child.try_wait() {
            complaints.read();
            return Some(status);
        }
        if began.elapsed() >= timeout {
            return None;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Ends the process group with SIGTERM, then SIGKILL, and also processes that left the group.
fn end(child: &mut Child, mark: &str) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let signal = |signal| group.map(|group| kill_process_group(group, signal));
    signal(Signal::TERM);
    process_tree::end_marked(mark, GRACE);
    signal(Signal::KILL);
    let _ = child.wait();
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with code {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended in an unknown way".into(),
    }
}

/// The standard error of a command. Read without blocking: a process that it left behind may hold the pipe open for
/// ever.
struct StderrTail {
    pipe: Option<ChildStderr>,
    said: Vec<u8>,
}

impl StderrTail {
    fn of(pipe: Option<ChildStderr>) -> Self {
        use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
        let without_waiting = |pipe: &ChildStderr| {
            fcntl_getfl(pipe).and_then(|flags| fcntl_setfl(pipe, flags | OFlags::NONBLOCK)).is_ok()
        };
        Self { pipe: pipe.filter(without_waiting), said: vec![] }
    }

    fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut buffer = [0; 4_096];
        // Bounded: a writer that is faster than we are must not keep us here.
        for _ in 0..64 {
            match pipe.read(&mut buffer) {
                Ok(n) if n > 0 => {
                    let room = COMPLAINT_BYTES_MAX.saturating_sub(self.said.len());
                    self.said.extend_from_slice(buffer.get(..n.min(room)).unwrap_or_default());
                }
                Ok(_) | Err(_) => return,
            }
        }
    }

    fn with(&self, what: &str) -> String {
        let said = String::from_utf8_lossy(&self.said);
        match said.lines().rev().find(|line| !line.trim().is_empty()) {
            Some(last) => format!("{what}: {}", shorten(&sanitize_line(last), 200)),
            None => what.into(),
        }
    }
}
