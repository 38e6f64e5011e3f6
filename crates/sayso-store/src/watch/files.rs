//! Files as bells: how a commit wakes waiters in other processes on SQLite.
//!
//! Waiters watch one of a few files, picked by what they wait for; whoever commits opens that file
//! and closes it again, which is all a watcher needs to hear. Nothing is written: making, touching or
//! removing a file would put work for the file system's journal between us and the next sync.

use super::Topic;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many files waiters are spread over, so that few are woken for what others wait for.
const WAKE_FILES: u32 = 64;

/// Where nothing can wake a waiter, it looks this often.
const LOOK_OFTEN: Duration = Duration::from_millis(50);

/// Opens and closes the files that waiters watch.
pub(super) fn wake_files(database: &Path, topics: &[Topic]) {
    use rustix::fs::{Mode, OFlags, open};
    for topic in topics {
        // No such file: nobody has ever waited for one of these. A link was not made by us.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let _ = open(wake_file(database, topic), flags, Mode::empty());
    }
}

/// The file for a topic. Those who share one wake each other now and then and look in vain.
fn wake_file(database: &Path, topic: &Topic) -> PathBuf {
    let name = topic.to_string();
    let sum = name.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31) ^ u32::from(byte));
    wake_folder(database).join(format!("{:02x}", sum % WAKE_FILES))
}

fn wake_folder(database: &Path) -> PathBuf {
    database.with_file_name("wake")
}

/// Files that whoever commits opens. They are made by the first who waits, and stay.
pub(super) struct Files {
    /// Missing where there is no such thing, or no more of it: then one looks often instead.
    #[cfg(target_os = "linux")]
    inotify: Option<rustix::fd::OwnedFd>,
}

#[cfg(target_os = "linux")]
impl Files {
    pub(super) fn new() -> Self {
        use rustix::fs::inotify::{CreateFlags, init};
        Self { inotify: init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok() }
    }

    /// Watches the topics' files, too. What was watched before stays: being woken in vain is cheap,
    /// and there are only so many files.
    pub(super) fn listen_to(&mut self, database: &Path, topics: &[Topic]) {
        let watches_all = |inotify: &rustix::fd::OwnedFd| {
            topics.iter().all(|topic| watch(inotify, &wake_file(database, topic)).is_ok())
        };
        self.inotify = self.inotify.take().filter(watches_all);
    }

    pub(super) fn wait(&mut self, timeout: Duration) {
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
        while rustix::io::read(inotify, &mut events).is_ok_and(|len| len > 0) {}
    }
}

/// Watches a file, and makes it first if nobody did.
#[cfg(target_os = "linux")]
fn watch(inotify: &rustix::fd::OwnedFd, path: &Path) -> rustix::io::Result<()> {
    use rustix::fs::inotify::{WatchFlags, add_watch};
    use rustix::fs::{Mode, OFlags, open};
    let flags = WatchFlags::CLOSE_NOWRITE | WatchFlags::DONT_FOLLOW;
    if add_watch(inotify, path, flags).is_ok() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        // What stands in the way shows when the file is made.
        let _ = std::fs::create_dir_all(folder);
    }
    // A link could lead to a file that is not ours to make.
    let make = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(path, make, Mode::from_raw_mode(0o600))?;
    add_watch(inotify, path, flags).map(drop)
}

#[cfg(not(target_os = "linux"))]
impl Files {
    pub(super) fn new() -> Self {
        Self {}
    }

    pub(super) fn listen_to(&mut self, _: &Path, _: &[Topic]) {}

    pub(super) fn wait(&mut self, timeout: Duration) {
        std::thread::sleep(timeout.min(LOOK_OFTEN));
    }
}
