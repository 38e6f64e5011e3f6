//! Waking up: memory, the file system and NOTIFY only shorten a wait. The row is the truth.
//!
//! On SQLite a waiter makes a file named after what it waits for and watches it; whoever commits
//! touches the file if it is there. So a commit wakes exactly those who wait for it, in any process,
//! and costs one failed system call when nobody does.

use crate::{Place, Result, postgres};
use sayso_core::{GateId, SpaceId};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A waiter looks again after this long even if nothing woke it.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Where nothing can wake a waiter, it looks this often.
const LOOK_OFTEN: Duration = Duration::from_millis(50);

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

/// Tells other waiters about a commit.
pub(crate) type Announce = Box<dyn Fn(&[Topic]) + Send>;

pub(crate) fn announcer(place: &Place) -> Announce {
    match place.clone() {
        Place::Sqlite(path) => Box::new(move |topics| wake_files(&path, topics)),
        // In memory there is no group; PostgreSQL announces in the transaction.
        Place::Memory | Place::Postgres(_) => Box::new(|_| {}),
    }
}

/// The payload of a NOTIFY; empty means "look, whatever you wait for".
pub(crate) fn payload(topics: &[Topic]) -> String {
    let text = topics.iter().map(Topic::to_string).collect::<Vec<_>>().join(" ");
    if text.len() > PAYLOAD_BYTES_MAX { String::new() } else { text }
}

/// Touches the files of those who wait.
pub(crate) fn wake_files(database: &Path, topics: &[Topic]) {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    let folder = wake_folder(database);
    for topic in topics {
        // No such file: nobody waits. A link was not made by us.
        let file = folder.join(topic.to_string());
        let _ = utimensat(CWD, file, &times, AtFlags::SYMLINK_NOFOLLOW);
    }
}

fn wake_folder(database: &Path) -> PathBuf {
    database.with_file_name("wake")
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

/// Something to wait with.
pub struct Watch(Kind);

enum Kind {
    Memory { local: Local, seen: u64 },
    Files(Files),
    Postgres(Box<Listener>),
}

impl Watch {
    pub(crate) fn new(place: &Place, topics: &[Topic], local: &Local) -> Result<Self> {
        Ok(Self(match place {
            Place::Memory => Kind::Memory { local: local.clone(), seen: local.count() },
            Place::Sqlite(path) => Kind::Files(Files::new(path, topics)),
            Place::Postgres(url) => Kind::Postgres(Box::new(Listener::new(url, topics)?)),
        }))
    }

    /// Waits until something was written about a topic, or `timeout` is over, or it is time to look
    /// again anyway.
    pub fn wait(&mut self, timeout: Duration) {
        let timeout = timeout.min(LOOK_AGAIN);
        match &mut self.0 {
            Kind::Memory { local, seen } => *seen = local.wait(*seen, timeout),
            Kind::Files(files) => files.wait(timeout),
            Kind::Postgres(listener) => listener.wait(timeout),
        }
    }
}

/// Hears what commits announce. A lost connection only delays: it is made again, and whoever waits
/// looks at the row in between.
struct Listener {
    url: String,
    client: Option<::postgres::Client>,
    topics: Vec<String>,
}

impl Listener {
    fn new(url: &str, topics: &[Topic]) -> Result<Self> {
        let client = listen(url, postgres::CONNECT_MAX)?;
        let topics = topics.iter().map(Topic::to_string).collect();
        Ok(Self { url: url.into(), client: Some(client), topics })
    }

    fn wait(&mut self, timeout: Duration) {
        let until = Instant::now() + timeout;
        let Some(client) = &mut self.client else {
            self.client = listen(&self.url, timeout).ok();
            if self.client.is_none() {
                std::thread::sleep(until.saturating_duration_since(Instant::now()));
            }
            return;
        };
        if !hears(client, &self.topics, until) {
            self.client = None;
        }
    }
}

fn listen(url: &str, timeout: Duration) -> Result<::postgres::Client> {
    let mut client = postgres::client(url, timeout)?;
    client
        .batch_execute(&format!("LISTEN {}", postgres::CHANNEL))
        .map_err(|e| crate::Error::Unreachable(e.to_string()))?;
    Ok(client)
}

/// Waits for a notice about one of the topics. Says whether the connection is still there.
fn hears(client: &mut ::postgres::Client, topics: &[String], until: Instant) -> bool {
    use ::postgres::fallible_iterator::FallibleIterator;
    let mut notices = client.notifications();
    let about_us = |payload: &str| {
        payload.is_empty() || payload.split(' ').any(|t| topics.iter().any(|topic| topic == t))
    };
    loop {
        // Notices about others come in meanwhile, and must not put off the next look.
        let left = until.saturating_duration_since(Instant::now());
        match notices.timeout_iter(left).next() {
            Ok(Some(notice)) if about_us(notice.payload()) => return true,
            Ok(Some(_)) if Instant::now() < until => {}
            Ok(Some(_)) => return true,
            // A lost connection, too, has nothing more to say, but says so too early.
            Ok(None) => return Instant::now() >= until,
            Err(_) => return false,
        }
    }
}

/// Files that whoever commits touches. They are shared by all who wait for the same, and any of
/// them may take one away; the others notice and make it again.
struct Files {
    /// Missing where there is no such thing, or no more of it: then one looks often instead.
    #[cfg(target_os = "linux")]
    inotify: Option<rustix::fd::OwnedFd>,
    #[cfg(target_os = "linux")]
    paths: Vec<PathBuf>,
}

#[cfg(target_os = "linux")]
impl Files {
    /// How often a file is made again that somebody else took away in between.
    const TRIES_MAX: usize = 8;

    fn new(database: &Path, topics: &[Topic]) -> Self {
        use rustix::fs::inotify::{CreateFlags, init};
        let folder = wake_folder(database);
        let paths = topics.iter().map(|topic| folder.join(topic.to_string())).collect();
        let has_folder = std::fs::create_dir_all(&folder).is_ok();
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let mut files = Self { inotify: inotify.filter(|_| has_folder), paths };
        files.arm();
        files
    }

    /// Makes the files and watches them; one that is watched already stays so.
    fn arm(&mut self) {
        let Some(inotify) = &self.inotify else { return };
        let watched = |path: &PathBuf| (0..Self::TRIES_MAX).any(|_| watch(inotify, path).is_ok());
        if !self.paths.iter().all(watched) {
            self.inotify = None;
        }
    }

    fn wait(&mut self, timeout: Duration) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let Some(inotify) = &self.inotify else {
            return std::thread::sleep(timeout.min(LOOK_OFTEN));
        };
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(1),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let mut fds = [PollFd::new(inotify, PollFlags::IN)];
        // An interrupted wait is a wake-up too: the caller looks and waits again.
        let _ = poll(&mut fds, Some(&timeout));
        let mut events = [0; 4096];
        let mut is_woken = false;
        while rustix::io::read(inotify, &mut events).is_ok_and(|len| len > 0) {
            is_woken = true;
        }
        // Before the caller looks: what is written after the look finds the files in place.
        if is_woken {
            self.arm();
        }
    }
}

#[cfg(target_os = "linux")]
fn watch(inotify: &rustix::fd::OwnedFd, path: &Path) -> rustix::io::Result<()> {
    use rustix::fs::inotify::{WatchFlags, add_watch};
    use rustix::fs::{Mode, OFlags, open};
    // A link could lead to a file that is not ours to make.
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(path, flags, Mode::from_raw_mode(0o666))?;
    add_watch(inotify, path, WatchFlags::ATTRIB | WatchFlags::DONT_FOLLOW).map(drop)
}

#[cfg(target_os = "linux")]
impl Drop for Files {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Files {
    fn new(_: &Path, _: &[Topic]) -> Self {
        Self {}
    }

    fn wait(&mut self, timeout: Duration) {
        std::thread::sleep(timeout.min(LOOK_OFTEN));
    }
}
