//! A running agent process: its events, its stop, and the cleanup of its process tree.
//!
//! Threads read its output at once, so an agent never blocks on us. The last thread waits for the exit, kills the
//! processes left behind, and builds the result.

use crate::agent::{AgentConfig, StartError, TurnInput};
use crate::clients;
use crate::events::{AgentEvent, FinishedTurn, TokenUsage};
use crate::lines::{LineSplitter, is_ready, read_pipe};
use crate::log::TurnLog;
use crate::output_parser::OutputParser;
use crate::process_tree::{MARK, ProcessTree};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The most events that are kept for a caller that does not read them.
const HEARD_MAX: usize = 1024;

/// The most bytes at the end of stderr that are kept.
const STDERR_KEPT: usize = 4 * 1024;

/// The grace period of processes that an agent left running.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);

/// The time for which the pipes are still read after all known processes have ended.
const READ_ON: Duration = Duration::from_secs(2);

/// The longest wait for killed processes to end.
const DYING_MAX: Duration = Duration::from_secs(20);

/// A running agent. Dropping it kills its whole process tree.
#[derive(Debug)]
pub struct AgentProcess {
    tree: ProcessTree,
    shared: Arc<SharedProcess>,
    /// The pipe for its prompt, until it is sent.
    stdin: Option<ChildStdin>,
}

#[derive(Debug)]
struct SharedProcess {
    state: Mutex<ProcessState>,
    changed: Condvar,
    log: Mutex<TurnLog>,
    /// Set when the reader threads should stop.
    unwanted: AtomicBool,
}

#[derive(Debug, Default)]
struct ProcessState {
    heard: VecDeque<AgentEvent>,
    /// True if the process was reaped; its PID may no longer be used.
    is_reaped: bool,
    finished: Option<FinishedTurn>,
}

impl AgentProcess {
    /// Sends the prompt, once.
    pub fn tell(&mut self, prompt: &str) {
        let Some(stdin) = self.stdin.take() else { return };
        let (pipe, prompt) = (File::from(OwnedFd::from(stdin)), prompt.as_bytes().to_vec());
        let shared = Arc::clone(&self.shared);
        std::thread::spawn(move || write_prompt(pipe, &prompt, &shared.unwanted));
    }

    /// Returns the next event; none if there was none within `wait`, or if it [is over](Self::is_over).
    pub fn next(&mut self, wait: Duration) -> Option<AgentEvent> {
        let is_quiet = |state: &ProcessState| state.heard.is_empty() && state.finished.is_none();
        self.shared.wait_while(wait, is_quiet).heard.pop_front()
    }

    /// True if the process has ended and all its events were returned.
    pub fn is_over(&self) -> bool {
        let state = self.shared.state();
        state.finished.is_some() && state.heard.is_empty()
    }

    /// Stops it and everything it started: with SIGTERM, and after `grace` with SIGKILL.
    pub fn stop(&mut self, grace: Duration) {
        let is_running = |state: &ProcessState| state.finished.is_none();
        if self.signal(ProcessTree::ask_to_end) {
            drop(self.shared.wait_while(grace, is_running));
        }
        // The thread that waits for the exit kills the rest of the tree.
        if self.signal(|tree| tree.end(Duration::ZERO)) {
            drop(self.shared.wait_while(DYING_MAX, is_running));
        }
    }

    /// Runs an action on the process tree while the PID of its leader cannot be reused.
    fn signal(&self, action: impl Fn(&ProcessTree)) -> bool {
        let state = self.shared.state();
        if state.is_reaped {
            return state.finished.is_none();
        }
        // The lock is held, so that the leader is not reaped in between.
        action(&self.tree);
        true
    }

    /// Waits for the end of the turn and returns its result.
    pub fn finish(self) -> FinishedTurn {
        let mut state = self.shared.state();
        loop {
            if let Some(finished) = &state.finished {
                return finished.clone();
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns the PID, which is also the process group.
    pub fn pid(&self) -> u32 {
        self.tree.leader
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

impl SharedProcess {
    /// A thread that panicked leaves a consistent state: each change is one step.
    fn state(&self) -> MutexGuard<'_, ProcessState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> MutexGuard<'_, TurnLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(
        &self,
        wait: Duration,
        mut until: impl FnMut(&ProcessState) -> bool,
    ) -> MutexGuard<'_, ProcessState> {
        let waited = self.changed.wait_timeout_while(self.state(), wait, |state| until(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Queues events. A caller that does not read them loses text and actions, and no other events.
    fn queue_events(&self, heard: Vec<AgentEvent>) {
        if heard.is_empty() {
            return;
        }
        let mut state = self.state();
        state.heard.extend(heard);
        if state.heard.len() > HEARD_MAX {
            let is_talk =
                |heard: &AgentEvent| matches!(heard, AgentEvent::Says(_) | AgentEvent::Does(_));
            let mut surplus = state.heard.len() - HEARD_MAX / 2;
            state.heard.retain(|heard| {
                let goes = surplus > 0 && is_talk(heard);
                surplus -= usize::from(goes);
                !goes
            });
        }
        self.changed.notify_all();
    }
}

/// Starts an agent for one turn. It waits for its prompt.
pub(crate) fn start(agent: &AgentConfig, turn: &TurnInput<'_>) -> Result<AgentProcess, StartError> {
    let log = TurnLog::open(turn.log)
        .map_err(|source| StartError::Log { path: turn.log.display().to_string(), source })?;
    let ear = OutputParser::new(agent.adapter, clients::spent_before(agent, turn));
    let mut child = spawn(agent, turn)?;
    let tree = ProcessTree { leader: child.id(), mark: turn.mark.to_owned() };
    let shared = Arc::new(SharedProcess {
        state: Mutex::default(),
        changed: Condvar::new(),
        log: Mutex::new(log),
        unwanted: AtomicBool::new(false),
    });
    let stdin = child.stdin.take();
    let stdout = child.stdout.take().map(|pipe| {
        let (pipe, shared) = (File::from(OwnedFd::from(pipe)), Arc::clone(&shared));
        std::thread::spawn(move || listen(pipe, ear, &shared))
    });
    let stderr = child.stderr.take().map(|pipe| {
        let (pipe, shared) = (File::from(OwnedFd::from(pipe)), Arc::clone(&shared));
        std::thread::spawn(move || keep_stderr(pipe, &shared))
    });
    let end = ExitWatcher {
        agent: agent.clone(),
        is_resumed: turn.session.is_some(),
        tree: tree.clone(),
        shared: Arc::clone(&shared),
    };
    std::thread::spawn(move || end.wait_for(child, stdout, stderr));
    Ok(AgentProcess { tree, shared, stdin })
}

fn spawn(agent: &AgentConfig, turn: &TurnInput<'_>) -> Result<Child, StartError> {
    if !turn.folder.is_dir() {
        return Err(StartError::NoFolder { folder: turn.folder.display().to_string() });
    }
    let mut command = Command::new(&agent.program);
    command.args(clients::arguments(agent, turn.session, turn.writable)).current_dir(turn.folder);
    command.env_clear().envs(turn.variables.iter().map(|(name, value)| (name, value)));
    // Some clients trust this variable rather than the working directory.
    command.env("PWD", turn.folder).env(MARK, turn.mark);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).spawn().map_err(|source| match source.kind() {
        ErrorKind::NotFound => StartError::NotInstalled { program: agent.program.clone() },
        _ => StartError::Refused { program: agent.program.clone(), source },
    })
}

/// Writes the prompt until it is sent or the reader is gone.
fn write_prompt(mut pipe: File, prompt: &[u8], unwanted: &AtomicBool) {
    if rustix::io::ioctl_fionbio(&pipe, true).is_err() {
        return;
    }
    let mut rest = prompt;
    while !rest.is_empty() && !unwanted.load(Ordering::SeqCst) {
        if !is_ready(&pipe, PollFlags::OUT) {
            continue;
        }
        match pipe.write(rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

/// Parses stdout to its end.
fn listen(mut pipe: File, mut ear: OutputParser, shared: &SharedProcess) -> OutputParser {
    let mut lines = LineSplitter::default();
    let mut heard = vec![];
    let mut take =
        |line: &[u8], left_out: usize, log: &mut TurnLog, heard: &mut Vec<AgentEvent>| {
            log.stdout(line);
            if left_out > 0 {
                ear.record_truncation(left_out);
            }
            heard.extend(ear.line(&String::from_utf8_lossy(line)));
        };
    read_pipe(&mut pipe, &shared.unwanted, |piece| {
        let mut log = shared.log();
        lines.push(piece, |line, left_out| take(line, left_out, &mut log, &mut heard));
        drop(log);
        shared.queue_events(std::mem::take(&mut heard));
    });
    lines.end(|line, left_out| take(line, left_out, &mut shared.log(), &mut heard));
    shared.queue_events(heard);
    ear
}

/// Reads stderr to its end, and returns the last part of it.
fn keep_stderr(mut pipe: File, shared: &SharedProcess) -> String {
    let mut lines = LineSplitter::default();
    let mut kept = String::new();
    let mut take = |line: &[u8], _: usize| {
        shared.log().stderr(line);
        kept.push_str(&String::from_utf8_lossy(line));
        kept.push('\n');
        let surplus = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..kept.ceil_char_boundary(surplus));
    };
    read_pipe(&mut pipe, &shared.unwanted, |piece| lines.push(piece, &mut take));
    lines.end(&mut take);
    kept
}

/// The thread that ends a turn: it waits for the exit, kills leftovers and builds the result.
struct ExitWatcher {
    agent: AgentConfig,
    is_resumed: bool,
    tree: ProcessTree,
    shared: Arc<SharedProcess>,
}

impl ExitWatcher {
    fn wait_for(
        self,
        mut child: Child,
        stdout: Option<JoinHandle<OutputParser>>,
        stderr: Option<JoinHandle<String>>,
    ) {
        self.wait_without_reaping();
        // Servers and watchers it started must not outlive the turn, nor hold its pipes open.
        self.tree.end(LEFTOVER_GRACE);
        let status = {
            let mut state = self.shared.state();
            state.is_reaped = true;
            child.wait().ok()
        };
        let are_done = || {
            stdout.as_ref().is_none_or(JoinHandle::is_finished)
                && stderr.as_ref().is_none_or(JoinHandle::is_finished)
        };
        let ended = Instant::now();
        while !are_done() && ended.elapsed() < READ_ON {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.shared.unwanted.store(true, Ordering::SeqCst);
        let ear = stdout.and_then(|thread| thread.join().ok());
        let ear =
            ear.unwrap_or_else(|| OutputParser::new(self.agent.adapter, TokenUsage::default()));
        let stderr = stderr.and_then(|thread| thread.join().ok()).unwrap_or_default();
        self.shared.log().end();
        let (finished, heard) = self.put_together(status, ear, &stderr);
        self.shared.queue_events(heard);
        self.shared.state().finished = Some(finished);
        self.shared.changed.notify_all();
    }

    /// Waits for the exit and leaves the leader a zombie, so that its PID is not reused while we need it.
    fn wait_without_reaping(&self) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let Some(pid) = i32::try_from(self.tree.leader).ok().and_then(Pid::from_raw) else {
            return;
        };
        while waitid(WaitId::Pid(pid), options).is_err_and(|error| error == Errno::INTR) {}
    }

    fn put_together(
        &self,
        status: Option<ExitStatus>,
        mut ear: OutputParser,
        stderr: &str,
    ) -> (FinishedTurn, Vec<AgentEvent>) {
        let code = status.and_then(|status| status.code());
        let is_clean = code == Some(0);
        let mut heard = ear.end(is_clean);
        if !is_clean && ear.problem.is_none() && !stderr.trim().is_empty() {
            ear.has_problem(stderr.trim());
        }
        // A killed client may have reported limits that it was still retrying.
        if code.is_some() && !is_clean {
            heard.extend(ear.judge_problem());
        }
        let complaint = [ear.problem.as_deref().unwrap_or_default(), stderr];
        let is_unknown = |text: &&str| clients::means_session_gone(self.agent.adapter, text);
        let session_gone = self.is_resumed
            && (ear.session_gone || (!is_clean && complaint.iter().any(is_unknown)));
        let finished = FinishedTurn {
            code,
            signal: status.and_then(|status| status.signal()),
            message: ear.message,
            session: ear.session.filter(|_| !session_gone),
            spent: ear.spent,
            limited: ear.limited,
            problem: ear.problem,
            session_gone,
            deferred: ear.deferred,
            capped: self.shared.log().is_full(),
        };
        (finished, heard)
    }
}
