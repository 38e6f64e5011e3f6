//! Finding and ending everything an agent has started, however it hid.
//!
//! A child may leave the group, the session and its parent, but what it was started with stays
//! readable: the mark in its environment. Whoever also clears that can hide only from us by leaving
//! its parents too; this stops accidents, not an attacker.

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
    let wanted = format!("{MARK}={mark}");
    let carries = |pid: &u32| is_marked(*pid, wanted.as_bytes());
    numbers().filter(|pid| *pid != std::process::id()).filter(carries).collect()
}

/// Whether something that carries the mark is `sayso ask` or `sayso wait`, held up until a person has
/// answered. An agent that has asked and works on is not held up.
pub fn is_held_up(mark: &str) -> bool {
    let asks = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        let program = words.next().and_then(|path| path.rsplit(|byte| *byte == b'/').next());
        program == Some(b"sayso") && words.any(|word| word == b"ask" || word == b"wait")
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
        let all: HashMap<u32, Stat> = numbers().filter_map(|pid| Some((pid, stat(pid)?))).collect();
        let mut below = HashSet::from([self.leader]);
        // Parents may have higher numbers than their children, so once more until nothing is new.
        loop {
            let known = below.len();
            let is_below = |stat: &Stat, below: &HashSet<u32>| below.contains(&stat.parent);
            for (pid, stat) in &all {
                if is_below(stat, &below) {
                    below.insert(*pid);
                }
            }
            if below.len() == known {
                break;
            }
        }
        let wanted = format!("{MARK}={}", self.mark);
        let is_ours = |pid: u32, stat: &Stat| {
            stat.group == self.leader || below.contains(&pid) || is_marked(pid, wanted.as_bytes())
        };
        let alive = all.iter().filter(|(pid, stat)| stat.is_alive && is_ours(**pid, stat));
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

/// The processes there are.
fn numbers() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// What is not ours cannot be read, and what is dead has no environment.
fn is_marked(pid: u32, wanted: &[u8]) -> bool {
    let Ok(raw) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
    raw.split(|byte| *byte == 0).any(|pair| pair == wanted)
}

struct Stat {
    parent: u32,
    group: u32,
    is_alive: bool,
}

/// The name in brackets may hold anything, so we read behind the last one.
fn stat(pid: u32) -> Option<Stat> {
    let raw = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&raw);
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let is_alive = !matches!(fields.next()?, "Z" | "X" | "x");
    Some(Stat {
        parent: fields.next()?.parse().ok()?,
        group: fields.next()?.parse().ok()?,
        is_alive,
    })
}
