//! Finding and ending everything an agent has started, however it hid.
//!
//! A child may leave the group, the session and its parent, but what it was started with stays
//! readable: the mark in its environment. Whoever also clears that can hide only from us by leaving
//! its parents too; this stops accidents, not an attacker.

use crate::processes::{self, Process};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// The variable that carries the mark.
pub const MARK: &str = "SAYSO_RUN";

/// How often we look whether processes have gone.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long we go on killing: what forks as fast as we kill must not hold us for ever.
const KILLING_MAX: Duration = Duration::from_secs(5);

/// Processes of this user that carry the mark, this one not among them.
pub fn marked(mark: &str) -> Vec<u32> {
    let carries = |pid: &u32| *pid != std::process::id() && is_marked(*pid, mark);
    processes::all().into_iter().filter(carries).collect()
}

/// Whether something that carries the mark is `sayso ask` or `sayso wait`, held up until a person has
/// answered. An agent that has asked and works on is not held up.
pub fn is_held_up(mark: &str) -> bool {
    let asks = |pid: &u32| {
        let line = processes::command_line(*pid).unwrap_or_default();
        let mut words = line.iter().map(String::as_str);
        let program = words.next().and_then(|path| path.rsplit('/').next());
        program == Some("sayso") && words.any(|word| word == "ask" || word == "wait")
    };
    marked(mark).iter().any(asks)
}

/// Ends everything that carries the mark, and says how many there were.
pub fn end_marked(mark: &str, grace: Duration) -> usize {
    end(&|| marked(mark), grace)
}

/// A process with its group, its mark and its descendants.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub(crate) leader: u32,
    pub(crate) mark: String,
}

impl Tree {
    /// Ends all of it.
    pub(crate) fn end(&self, grace: Duration) {
        self.signal_group(Signal::TERM);
        end(&|| self.members(), grace);
    }

    /// Asks the leader and its group to end.
    pub(crate) fn ask_to_end(&self) {
        self.signal_group(Signal::TERM);
        // One that was stopped could not hear it.
        self.signal_group(Signal::CONT);
    }

    /// Only to be called while the leader was not waited for: until then its number is not reused.
    fn signal_group(&self, signal: Signal) {
        if let Some(pid) = pid(self.leader) {
            let _ = kill_process_group(pid, signal);
        }
    }

    fn members(&self) -> Vec<u32> {
        let listed = processes::all().into_iter().filter_map(|pid| processes::of(pid).ok());
        let all: HashMap<u32, Process> = listed.map(|process| (process.pid, process)).collect();
        let mut below = HashSet::from([self.leader]);
        // Parents may have higher numbers than their children, so once more until nothing is new.
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
        let is_ours = |pid: u32, process: &Process| {
            process.group == self.leader || below.contains(&pid) || is_marked(pid, &self.mark)
        };
        let alive = all.iter().filter(|(pid, process)| process.is_alive && is_ours(**pid, process));
        alive.map(|(pid, _)| *pid).filter(|pid| *pid != std::process::id()).collect()
    }
}

/// Politely first, then for good, until none is left or there is no point in going on.
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

/// Never zero or one: those would mean everybody, or the system itself.
fn pid(process: u32) -> Option<Pid> {
    i32::try_from(process).ok().filter(|pid| *pid > 1).and_then(Pid::from_raw)
}

/// What is not ours cannot be read, and what is dead has no environment.
fn is_marked(pid: u32, mark: &str) -> bool {
    let variables = processes::environment(pid).unwrap_or_default();
    variables.iter().any(|(name, value)| name == MARK && value == mark)
}
