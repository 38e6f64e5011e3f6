//! Finding and killing all processes that an agent has started, even detached ones.
//!
//! A child may leave the process group, the session and its parent, but the environment it was started with stays
//! readable, with the mark in it. A process that clears the mark and leaves its parents, too, can hide from us;
//! this stops accidents, not an attacker.

use crate::process_info::{self, ProcessInfo};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// The variable that carries the mark.
pub const MARK: &str = "SAYSO_RUN";

/// The polling interval for processes to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The longest time of killing: a process that forks as fast as we kill must not hold us for ever.
const KILLING_MAX: Duration = Duration::from_secs(5);

/// Returns the processes of this user that carry the mark, without this one.
pub fn marked(mark: &str) -> Vec<u32> {
    let carries = |pid: &u32| *pid != std::process::id() && is_marked(*pid, mark);
    process_info::all().into_iter().filter(carries).collect()
}

/// True if a process with the mark is `sayso ask` or `sayso wait`, which blocks until a person has answered. An agent
/// that has asked and continues is not blocked.
pub fn is_blocked_on_person(mark: &str) -> bool {
    let asks = |pid: &u32| {
        let line = process_info::command_line(*pid).unwrap_or_default();
        let mut words = line.iter().map(String::as_str);
        let program = words.next().and_then(|path| path.rsplit('/').next());
        program == Some("sayso") && words.any(|word| word == "ask" || word == "wait")
    };
    marked(mark).iter().any(asks)
}

/// Kills all processes that carry the mark, and returns their number.
pub fn end_marked(mark: &str, grace: Duration) -> usize {
    end(&|| marked(mark), grace)
}

/// A process tree: a process with its group, its mark and its descendants.
#[derive(Debug, Clone)]
pub(crate) struct ProcessTree {
    pub(crate) leader: u32,
    pub(crate) mark: String,
}

impl ProcessTree {
    /// Kills all of it.
    pub(crate) fn end(&self, grace: Duration) {
        self.signal_group(Signal::TERM);
        end(&|| self.members(), grace);
    }

    /// Sends SIGTERM to the process group of the leader.
    pub(crate) fn ask_to_end(&self) {
        self.signal_group(Signal::TERM);
        // A stopped process could not handle the signal.
        self.signal_group(Signal::CONT);
    }

    /// Signals the process group. Only to be called before the leader is reaped: until then its PID is not reused.
    fn signal_group(&self, signal: Signal) {
        if let Some(pid) = pid(self.leader) {
            let _ = kill_process_group(pid, signal);
        }
    }

    fn members(&self) -> Vec<u32> {
        let listed = process_info::all().into_iter().filter_map(|pid| process_info::of(pid).ok());
        let all: HashMap<u32, ProcessInfo> = listed.map(|process| (process.pid, process)).collect();
        let mut below = HashSet::from([self.leader]);
        // A parent may have a higher PID than its child, so this repeats until there is no new one.
        loop {
            let known = below.len();
            for (pid, process) in &all {
                if below.contains(&process.parent) {
                    below.insert(*pid);
                }
            }
            if below.len() == known {
                break;
            }
        }
        let is_ours = |pid: u32, process: &ProcessInfo| {
            process.group == self.leader || below.contains(&pid) || is_marked(pid, &self.mark)
        };
        let alive = all.iter().filter(|(pid, process)| process.is_alive && is_ours(**pid, process));
        alive.map(|(pid, _)| *pid).filter(|pid| *pid != std::process::id()).collect()
    }
}

/// Sends SIGTERM first and SIGKILL after `grace`, until no process is left or the time is over.
fn end(find: &dyn Fn() -> Vec<u32>, grace: Duration) -> usize {
    let mut seen = HashSet::new();
    let started = Instant::now();
    let mut asked = HashSet::new();
    while started.elapsed() < grace + KILLING_MAX {
        let found = find();
        if found.is_empty() {
            break;
        }
        seen.extend(found.iter().copied());
        let is_kind = started.elapsed() < grace;
        for process in found {
            match is_kind {
                true if asked.insert(process) => {
                    signal(process, Signal::TERM);
                    signal(process, Signal::CONT);
                }
                true => {}
                false => signal(process, Signal::KILL),
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
    seen.len()
}

fn signal(process: u32, signal: Signal) {
    if let Some(pid) = pid(process) {
        let _ = kill_process(pid, signal);
    }
}

/// Converts a PID. Zero and one are refused: signals to them would reach our own group, init, or all processes.
fn pid(process: u32) -> Option<Pid> {
    i32::try_from(process).ok().filter(|pid| *pid > 1).and_then(Pid::from_raw)
}

/// True if a process carries the mark. The environment of other users' processes and of zombies cannot be read.
fn is_marked(pid: u32, mark: &str) -> bool {
    let variables = process_info::environment(pid).unwrap_or_default();
    variables.iter().any(|(name, value)| name == MARK && value == mark)
}
