//! Waiting for many gates at once: one thread for all of them, whoever they belong to.
//!
//! A wait is a row; what is kept here only says whom to wake. A commit of this process wakes those it is
//! about by itself. The thread follows the space's chain, so that a commit of another one does, too, and
//! wakes nobody else; and it looks at the clock, so that time passes where nobody else is.

use crate::{Desk, Follower, Result};
use sayso_core::GateId;
use sayso_store::Topic;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the clock is looked at.
const TICK: Duration = Duration::from_secs(1);

/// How long the thread rests when this process wrote: it has told its own by itself, and hears of its own
/// commits like of those of others. Whoever waits for what another process commits hears that much later.
const REST: Duration = Duration::from_millis(10);

/// What is done to wake somebody.
type Wake = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Bells {
    next: u64,
    of: HashMap<GateId, Vec<(u64, Wake)>>,
    of_all: HashMap<u64, Wake>,
}

/// Wakes whoever waits for gates of one space.
#[derive(Clone)]
pub struct Waits {
    bells: Arc<Mutex<Bells>>,
    /// Ends the thread with the last of those who share it.
    _end: Arc<End>,
}

struct End(Arc<AtomicBool>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Somebody who waits. Dropped, they wait no more.
pub struct Listening {
    bells: Arc<Mutex<Bells>>,
    /// None for everything.
    gate: Option<GateId>,
    number: u64,
}

impl Waits {
    /// Begins to listen.
    pub fn start(desk: Desk) -> Result<Self> {
        let bells = Arc::new(Mutex::new(Bells::default()));
        let is_over = Arc::new(AtomicBool::new(false));
        let has_written = Arc::new(AtomicBool::new(false));
        if let Some(desk) = desk.local() {
            let (space, bells) = (Topic::Space(desk.space), Arc::downgrade(&bells));
            let has_written = has_written.clone();
            desk.store.hear(move |topics| {
                has_written.store(true, Ordering::Relaxed);
                let bells = bells.upgrade();
                bells.inspect(|bells| ring(bells, space, topics)).is_some()
            });
        }
        let thread = Thread { desk, bells: bells.clone(), is_over: is_over.clone(), has_written };
        std::thread::spawn(move || thread.run());
        Ok(Self { bells, _end: Arc::new(End(is_over)) })
    }

    /// Calls `wake` once, when something has happened to this gate. Listen first, look second: what
    /// happens in between wakes, too.
    pub fn listen(&self, gate: GateId, wake: impl FnOnce() + Send + 'static) -> Listening {
        let mut bells = lock(&self.bells);
        bells.next += 1;
        let number = bells.next;
        bells.of.entry(gate).or_default().push((number, Box::new(wake)));
        Listening { bells: self.bells.clone(), gate: Some(gate), number }
    }

    /// The same for whatever happens in the space.
    pub fn listen_to_all(&self, wake: impl FnOnce() + Send + 'static) -> Listening {
        let mut bells = lock(&self.bells);
        bells.next += 1;
        let number = bells.next;
        bells.of_all.insert(number, Box::new(wake));
        Listening { bells: self.bells.clone(), gate: None, number }
    }

    /// How many are waiting.
    pub fn count(&self) -> usize {
        let bells = lock(&self.bells);
        bells.of.values().map(Vec::len).sum::<usize>() + bells.of_all.len()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut bells = lock(&self.bells);
        let Some(gate) = self.gate else {
            bells.of_all.remove(&self.number);
            return;
        };
        let Some(those) = bells.of.get_mut(&gate) else { return };
        those.retain(|(number, _)| *number != self.number);
        if those.is_empty() {
            bells.of.remove(&gate);
        }
    }
}

struct Thread {
    desk: Desk,
    bells: Arc<Mutex<Bells>>,
    is_over: Arc<AtomicBool>,
    /// Whether this process has written since the last look.
    has_written: Arc<AtomicBool>,
}

impl Thread {
    fn run(self) {
        let mut follower = None;
        while !self.is_over.load(Ordering::Relaxed) {
            // A store that cannot be reached is tried again; whoever waits finds out by themselves.
            if self.follow(&mut follower).is_err() {
                std::thread::sleep(TICK);
            }
        }
    }

    /// Follows the chain until something goes wrong or it is over.
    fn follow(&self, follower: &mut Option<Follower>) -> Result<()> {
        let follower = match follower {
            Some(follower) => follower,
            None => {
                let begun = follower.insert(self.desk.follow()?);
                // Whoever came before that looks again: what happened meanwhile is not followed.
                let those: Vec<_> = lock(&self.bells).of.keys().copied().collect();
                those.into_iter().for_each(|gate| wake(&self.bells, gate));
                wake_all(&self.bells);
                begun
            }
        };
        let mut fired = None;
        while !self.is_over.load(Ordering::Relaxed) {
            if let Some(changes) = follower.next(TICK)? {
                changes.gates.into_iter().for_each(|gate| wake(&self.bells, gate));
                wake_all(&self.bells);
            }
            if fired.is_none_or(|at: Instant| at.elapsed() >= TICK) {
                self.desk.fire_due()?;
                fired = Some(Instant::now());
            }
            if self.has_written.swap(false, Ordering::Relaxed) {
                std::thread::sleep(REST);
            }
        }
        Ok(())
    }
}

/// Wakes those whom a commit of this process is about.
fn ring(bells: &Mutex<Bells>, space: Topic, topics: &[Topic]) {
    for topic in topics {
        match topic {
            Topic::Gate(gate) => wake(bells, *gate),
            Topic::Space(_) if *topic == space => wake_all(bells),
            Topic::Space(_) => {}
        }
    }
}

fn wake_all(bells: &Mutex<Bells>) {
    let those = std::mem::take(&mut lock(bells).of_all);
    those.into_values().for_each(|wake| wake());
}

fn wake(bells: &Mutex<Bells>, gate: GateId) {
    let those = lock(bells).of.remove(&gate);
    for (_, wake) in those.into_iter().flatten() {
        wake();
    }
}

fn lock(bells: &Mutex<Bells>) -> MutexGuard<'_, Bells> {
    bells.lock().unwrap_or_else(PoisonError::into_inner)
}
