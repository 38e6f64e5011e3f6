//! Waiting for commits: wake-ups through memory, the file system or NOTIFY. They only shorten a wait; the row is the
//! truth.

mod files;
mod listener;

use crate::{Place, Result};
use files::{Files, wake_files};
use listener::Listener;
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
pub enum Topic {
    /// A change of this gate.
    Gate(GateId),
    /// A change in this space.
    Space(SpaceId),
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Topic::Gate(id) => write!(f, "gate-{id}"),
            Topic::Space(id) => write!(f, "space-{id}"),
        }
    }
}

/// A callback for commits; false ends the subscription.
type Hears = Box<dyn Fn(&[Topic]) -> bool + Send>;

/// The subscribers of this process: they need no detour through the file system or the network.
#[derive(Clone, Default)]
pub(crate) struct Near(Arc<Mutex<Vec<Hears>>>);

impl Near {
    pub(crate) fn add(&self, hears: Hears) {
        self.all().push(hears);
    }

    fn tell(&self, topics: &[Topic]) {
        // Not every write has a topic.
        if !topics.is_empty() {
            self.all().retain(|hears| hears(topics));
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<Hears>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notifies waiters of a commit.
#[derive(Clone)]
pub(crate) struct Announcer {
    place: Place,
    pub(crate) near: Near,
    pub(crate) local: Local,
}

impl Announcer {
    pub(crate) fn of(place: Place) -> Self {
        Self { place, near: Near::default(), local: Local::default() }
    }

    pub(crate) fn announce(&self, topics: &[Topic]) {
        self.near.tell(topics);
        match &self.place {
            Place::Memory => self.local.wake(),
            Place::Sqlite(path) => wake_files(path, topics),
            // The transaction itself sends the NOTIFY.
            Place::Postgres(_) => {}
        }
    }
}

/// Builds the payload of a NOTIFY; an empty one wakes the waiters of all topics.
pub(crate) fn payload(topics: &[Topic]) -> String {
    let text = topics.iter().map(Topic::to_string).collect::<Vec<_>>().join(" ");
    if text.len() > PAYLOAD_BYTES_MAX { String::new() } else { text }
}

/// Wakes waiters of the same process, for a store in memory.
#[derive(Clone, Default)]
pub(crate) struct Local(Arc<(Mutex<u64>, Condvar)>);

impl Local {
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
pub(crate) struct Ears(Arc<Mutex<Vec<Ear>>>);

enum Ear {
    Files(Files),
    Postgres(Box<Listener>),
}

impl Ears {
    fn idle(&self) -> MutexGuard<'_, Vec<Ear>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self) -> Files {
        match self.idle().pop() {
            Some(Ear::Files(files)) => files,
            Some(Ear::Postgres(_)) | None => Files::new(),
        }
    }

    fn listener(&self, url: &str) -> Result<Box<Listener>> {
        match self.idle().pop() {
            Some(Ear::Postgres(listener)) => Ok(listener),
            Some(Ear::Files(_)) | None => Ok(Box::new(Listener::new(url)?)),
        }
    }
}

/// A wait for commits about some topics.
pub struct Watch {
    kind: Kind,
    ears: Ears,
}

enum Kind {
    Memory { local: Local, seen: u64 },
    Ear(Ear),
    Gone,
}

impl Watch {
    pub(crate) fn new(place: &Place, topics: &[Topic], local: &Local, ears: &Ears) -> Result<Self> {
        let kind = match place {
            Place::Memory => Kind::Memory { local: local.clone(), seen: local.count() },
            Place::Sqlite(path) => {
                let mut files = ears.files();
                files.listen_to(path, topics);
                Kind::Ear(Ear::Files(files))
            }
            Place::Postgres(url) => {
                let mut listener = ears.listener(url)?;
                listener.listen_to(topics);
                Kind::Ear(Ear::Postgres(listener))
            }
        };
        Ok(Self { kind, ears: ears.clone() })
    }

    /// Waits for a commit about a topic, for `timeout`, or until it is time to read again anyway.
    pub fn wait(&mut self, timeout: Duration) {
        let timeout = timeout.min(LOOK_AGAIN);
        match &mut self.kind {
            Kind::Memory { local, seen } => *seen = local.wait(*seen, timeout),
            Kind::Ear(Ear::Files(files)) => files.wait(timeout),
            Kind::Ear(Ear::Postgres(listener)) => listener.wait(timeout),
            Kind::Gone => {}
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Kind::Ear(ear) = std::mem::replace(&mut self.kind, Kind::Gone) else { return };
        let mut idle = self.ears.idle();
        if idle.len() < EARS_KEPT {
            idle.push(ear);
        }
    }
}
