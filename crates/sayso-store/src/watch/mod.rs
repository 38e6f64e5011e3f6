//! Waiting for commits: wake-ups through memory, the file system or NOTIFY. They only shorten a wait; the row is the
//! truth.

mod files;
mod listener;

use crate::{Result, StoreLocation};
use files::{WakeFiles, wake_files};
use listener::NotifyListener;
use sayso_core::{GateId, SpaceId};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A waiter reads again after this time even without a wake-up.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The longest payload of NOTIFY, with some margin.
const PAYLOAD_BYTES_MAX: usize = 7_500;

/// A subject that a watch can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchTopic {
    /// A change of this gate.
    Gate(GateId),
    /// A change in this space.
    Space(SpaceId),
}

impl fmt::Display for WatchTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WatchTopic::Gate(id) => write!(f, "gate-{id}"),
            WatchTopic::Space(id) => write!(f, "space-{id}"),
        }
    }
}

/// A callback for commits; false ends the subscription.
type CommitCallback = Box<dyn Fn(&[WatchTopic]) -> bool + Send>;

/// The subscribers of this process: they need no detour through the file system or the network.
#[derive(Clone, Default)]
pub(crate) struct CommitSubscribers(Arc<Mutex<Vec<CommitCallback>>>);

impl CommitSubscribers {
    pub(crate) fn add(&self, hears: CommitCallback) {
        self.all().push(hears);
    }

    fn tell(&self, topics: &[WatchTopic]) {
        // Not every write has a topic.
        if !topics.is_empty() {
            self.all().retain(|hears| hears(topics));
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<CommitCallback>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notifies waiters of a commit.
#[derive(Clone)]
pub(crate) struct CommitAnnouncer {
    place: StoreLocation,
    pub(crate) near: CommitSubscribers,
    pub(crate) local: LocalWaker,
}

impl CommitAnnouncer {
    pub(crate) fn of(place: StoreLocation) -> Self {
        Self { place, near: CommitSubscribers::default(), local: LocalWaker::default() }
    }

    pub(crate) fn announce(&self, topics: &[WatchTopic]) {
        self.near.tell(topics);
        match &self.place {
            StoreLocation::Memory => self.local.wake(),
            StoreLocation::Sqlite(path) => wake_files(path, topics),
            // The transaction itself sends the NOTIFY.
            StoreLocation::Postgres(_) => {}
        }
    }
}

/// Builds the payload of a NOTIFY; an empty one wakes the waiters of all topics.
pub(crate) fn payload(topics: &[WatchTopic]) -> String {
    let text = topics.iter().map(WatchTopic::to_string).collect::<Vec<_>>().join(" ");
    if text.len() > PAYLOAD_BYTES_MAX { String::new() } else { text }
}

/// Wakes waiters of the same process, for a store in memory.
#[derive(Clone, Default)]
pub(crate) struct LocalWaker(Arc<(Mutex<u64>, Condvar)>);

impl LocalWaker {
    pub(crate) fn wake(&self) {
        let (count, changed) = &*self.0;
        *count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        changed.notify_all();
    }

    fn count(&self) -> u64 {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, seen: u64, timeout: Duration) -> u64 {
        let (count, changed) = &*self.0;
        let guard = count.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(guard, timeout, |count| *count == seen);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The most idle listeners that are kept for the next waiters.
const EARS_KEPT: usize = 64;

/// The pool of idle listeners. To open a connection takes milliseconds, and so does closing an inotify watch.
#[derive(Clone, Default)]
pub(crate) struct ListenerPool(Arc<Mutex<Vec<WakeListener>>>);

enum WakeListener {
    Files(WakeFiles),
    Postgres(Box<NotifyListener>),
}

impl ListenerPool {
    fn idle(&self) -> MutexGuard<'_, Vec<WakeListener>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self) -> WakeFiles {
        match self.idle().pop() {
            Some(WakeListener::Files(files)) => files,
            Some(WakeListener::Postgres(_)) | None => WakeFiles::new(),
        }
    }

    fn listener(&self, url: &str) -> Result<Box<NotifyListener>> {
        match self.idle().pop() {
            Some(WakeListener::Postgres(listener)) => Ok(listener),
            Some(WakeListener::Files(_)) | None => Ok(Box::new(NotifyListener::new(url)?)),
        }
    }
}

/// A wait for commits about some topics.
pub struct CommitWatch {
    kind: WatchKind,
    ears: ListenerPool,
}

enum WatchKind {
    Memory { local: LocalWaker, seen: u64 },
    Ear(WakeListener),
    Gone,
}

impl CommitWatch {
    pub(crate) fn new(
        place: &StoreLocation,
        topics: &[WatchTopic],
        local: &LocalWaker,
        ears: &ListenerPool,
    ) -> Result<Self> {
        let kind = match place {
            StoreLocation::Memory => {
                WatchKind::Memory { local: local.clone(), seen: local.count() }
            }
            StoreLocation::Sqlite(path) => {
                let mut files = ears.files();
                files.listen_to(path, topics);
                WatchKind::Ear(WakeListener::Files(files))
            }
            StoreLocation::Postgres(url) => {
                let mut listener = ears.listener(url)?;
                listener.listen_to(topics);
                WatchKind::Ear(WakeListener::Postgres(listener))
            }
        };
        Ok(Self { kind, ears: ears.clone() })
    }

    /// Waits for a commit about a topic, for `timeout`, or until it is time to read again anyway.
    pub fn wait(&mut self, timeout: Duration) {
        let timeout = timeout.min(LOOK_AGAIN);
        match &mut self.kind {
            WatchKind::Memory { local, seen } => *seen = local.wait(*seen, timeout),
            WatchKind::Ear(WakeListener::Files(files)) => files.wait(timeout),
            WatchKind::Ear(WakeListener::Postgres(listener)) => listener.wait(timeout),
            WatchKind::Gone => {}
        }
    }
}

impl Drop for CommitWatch {
    fn drop(&mut self) {
        let WatchKind::Ear(ear) = std::mem::replace(&mut self.kind, WatchKind::Gone) else {
            return;
        };
        let mut idle = self.ears.idle();
        if idle.len() < EARS_KEPT {
            idle.push(ear);
        }
    }
}
