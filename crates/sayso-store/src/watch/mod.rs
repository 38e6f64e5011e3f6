//! Waking up: memory, the file system and NOTIFY only shorten a wait. The row is the truth.

mod files;
mod listener;

use crate::{Place, Result};
use files::{Files, wake_files};
use listener::Listener;
use sayso_core::{GateId, SpaceId};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A waiter looks again after this long even if nothing woke it.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The longest text NOTIFY takes, less some room.
const PAYLOAD_BYTES_MAX: usize = 7_500;

/// What one can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Something happened to this gate.
    Gate(GateId),
    /// Something happened in this space.
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

/// Hears of commits, and says whether it wants to hear of the next.
type Hears = Box<dyn Fn(&[Topic]) -> bool + Send>;

/// Those of this process who hear of its commits: they need no way through the file system or the network.
#[derive(Clone, Default)]
pub(crate) struct Near(Arc<Mutex<Vec<Hears>>>);

impl Near {
    pub(crate) fn add(&self, hears: Hears) {
        self.all().push(hears);
    }

    fn tell(&self, topics: &[Topic]) {
        // Not every write is about something one can wait for.
        if !topics.is_empty() {
            self.all().retain(|hears| hears(topics));
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<Hears>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells waiters about a commit that counts.
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
            // Announced by the transaction itself.
            Place::Postgres(_) => {}
        }
    }
}

/// The payload of a NOTIFY; empty means "look, whatever you wait for".
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

/// How many ears are kept for those who wait next.
const EARS_KEPT: usize = 64;

/// What waiters left behind for the next ones. To open a connection takes milliseconds, and so does
/// closing a watch on a file.
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

/// Something to wait with.
pub struct Watch {
    kind: Kind,
    ears: Ears,
}

enum Kind {
    Memory {
        local: Local,
        seen: u64,
    },
    Ear(Ear),
    /// Handed back.
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

    /// Waits until something was written about a topic, or `timeout` is over, or it is time to look
    /// again anyway.
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
