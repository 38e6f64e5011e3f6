//! Wake-ups for many waiting requests: one thread per space for all of them.
//!
//! The gate that is waited for is stored; the state here is only the list of callbacks. A commit of this process wakes
//! its waiters directly. The thread follows the audit chain for commits of other processes, which wake only the waiters
//! of their gates; and it fires timers, in case no other process does.

use crate::{ChangeFeed, Desk, Result};
use sayso_core::GateId;
use sayso_store::WatchTopic;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The interval at which timers are fired.
const TICK: Duration = Duration::from_secs(1);

/// The pause after local commits. Local waiters were woken in-process; polling at once would only re-read our own
/// commit. Waiters for commits of another process are woken that much later.
const REST: Duration = Duration::from_millis(10);

/// The callback that wakes a waiter.
type WakeCallback = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct WakerRegistry {
    next: u64,
    of: HashMap<GateId, Vec<(u64, WakeCallback)>>,
    of_all: HashMap<u64, WakeCallback>,
}

/// Wakes the waiters for the gates of one space.
#[derive(Clone)]
pub struct GateWaiters {
    bells: Arc<Mutex<WakerRegistry>>,
    /// Stops the thread when the last clone is dropped.
    _end: Arc<StopOnDrop>,
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The registration of a waiter, which ends when it is dropped.
pub struct WaitSubscription {
    bells: Arc<Mutex<WakerRegistry>>,
    /// The gate, or none for every change of the space.
    gate: Option<GateId>,
    number: u64,
}

impl GateWaiters {
    /// Starts the thread for a space.
    pub fn start(desk: Desk) -> Result<Self> {
        let bells = Arc::new(Mutex::new(WakerRegistry::default()));
        let is_over = Arc::new(AtomicBool::new(false));
        let has_written = Arc::new(AtomicBool::new(false));
        if let Some(desk) = desk.local() {
            let (space, bells) = (WatchTopic::Space(desk.space), Arc::downgrade(&bells));
            let has_written = has_written.clone();
            desk.store.subscribe(move |topics| {
                has_written.store(true, Ordering::Relaxed);
                let bells = bells.upgrade();
                bells.inspect(|bells| ring(bells, space, topics)).is_some()
            });
        }
        let thread =
            WaiterThread { desk, bells: bells.clone(), is_over: is_over.clone(), has_written };
        std::thread::spawn(move || thread.run());
        Ok(Self { bells, _end: Arc::new(StopOnDrop(is_over)) })
    }

    /// Calls `wake` once, on the next change of this gate. Register before reading: a change in between wakes as
    /// well.
    pub fn listen(&self, gate: GateId, wake: impl FnOnce() + Send + 'static) -> WaitSubscription {
        let mut bells = lock(&self.bells);
        bells.next += 1;
        let number = bells.next;
        bells.of.entry(gate).or_default().push((number, Box::new(wake)));
        WaitSubscription { bells: self.bells.clone(), gate: Some(gate), number }
    }

    /// Calls `wake` once, on the next change of the space.
    pub fn listen_to_all(&self, wake: impl FnOnce() + Send + 'static) -> WaitSubscription {
        let mut bells = lock(&self.bells);
        bells.next += 1;
        let number = bells.next;
        bells.of_all.insert(number, Box::new(wake));
        WaitSubscription { bells: self.bells.clone(), gate: None, number }
    }

    /// Returns the number of waiters.
    pub fn count(&self) -> usize {
        let bells = lock(&self.bells);
        bells.of.values().map(Vec::len).sum::<usize>() + bells.of_all.len()
    }
}

impl Drop for WaitSubscription {
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

struct WaiterThread {
    desk: Desk,
    bells: Arc<Mutex<WakerRegistry>>,
    is_over: Arc<AtomicBool>,
    /// True if this process has written since the last poll.
    has_written: Arc<AtomicBool>,
}

impl WaiterThread {
    fn run(self) {
        let mut follower = None;
        while !self.is_over.load(Ordering::Relaxed) {
            // An unreachable store is tried again; the waiters get the error from their own reads.
            if self.follow(&mut follower).is_err() {
                std::thread::sleep(TICK);
            }
        }
    }

    /// Follows the audit chain until an error or the end.
    fn follow(&self, follower: &mut Option<ChangeFeed>) -> Result<()> {
        let follower = match follower {
            Some(follower) => follower,
            None => {
                let begun = follower.insert(self.desk.follow()?);
                // Earlier waiters are woken to look again: changes from before the subscription are not reported.
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

/// Wakes the waiters that a commit of this process concerns.
fn ring(bells: &Mutex<WakerRegistry>, space: WatchTopic, topics: &[WatchTopic]) {
    for topic in topics {
        match topic {
            WatchTopic::Gate(gate) => wake(bells, *gate),
            WatchTopic::Space(_) if *topic == space => wake_all(bells),
            WatchTopic::Space(_) => {}
        }
    }
}

fn wake_all(bells: &Mutex<WakerRegistry>) {
    let those = std::mem::take(&mut lock(bells).of_all);
    those.into_values().for_each(|wake| wake());
}

fn wake(bells: &Mutex<WakerRegistry>, gate: GateId) {
    let those = lock(bells).of.remove(&gate);
    for (_, wake) in those.into_iter().flatten() {
        wake();
    }
}

fn lock(bells: &Mutex<WakerRegistry>) -> MutexGuard<'_, WakerRegistry> {
    bells.lock().unwrap_or_else(PoisonError::into_inner)
}
