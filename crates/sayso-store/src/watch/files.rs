//! Wake-ups between processes on SQLite, through inotify.
//!
//! Waiters watch one of a few files, chosen by topic; a process that commits opens and closes that file, which is
//! the event a watcher needs. No content is written: creating, touching or deleting a file would add work to the
//! file system's journal before the next sync.

use super::WatchTopic;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The number of files that topics are spread over, so that a commit wakes few waiters of other topics.
const WAKE_FILES: u32 = 64;

/// The polling interval where no wake-up is available.
const LOOK_OFTEN: Duration = Duration::from_millis(50);

/// Opens and closes the files of the topics.
pub(super) fn wake_files(database: &Path, topics: &[WatchTopic]) {
    use rustix::fs::{Mode, OFlags, open};
    for topic in topics {
        // A missing file means that no process has ever waited for this topic. A link was not created by us.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let _ = open(wake_file(database, topic), flags, Mode::empty());
    }
}

/// Returns the file of a topic. Topics that share one cause each other spurious wake-ups.
fn wake_file(database: &Path, topic: &WatchTopic) -> PathBuf {
    let name = topic.to_string();
    let sum = name.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31) ^ u32::from(byte));
    wake_folder(database).join(format!("{:02x}", sum % WAKE_FILES))
}

fn wake_folder(database: &Path) -> PathBuf {
    database.with_file_name("wake")
}

/// A set of watched files. The first waiter creates a file, and it stays.
pub(super) struct WakeFiles {
    /// None where inotify is missing or exhausted: then the waiter polls.
    #[cfg(target_os = "linux")]
    inotify: Option<rustix::fd::OwnedFd>,
}

#[cfg(target_os = "linux")]
impl WakeFiles {
    pub(super) fn new() -> Self {
        use rustix::fs::inotify::{CreateFlags, init};
        Self { inotify: init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok() }
    }

    /// Watches the files of the topics, too. Earlier watches stay: a spurious wake-up is cheap, and the number of
    /// files is small.
    pub(super) fn listen_to(&mut self, database: &Path, topics: &[WatchTopic]) {
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
        // An interrupted wait counts as a wake-up: the caller reads the row and waits again.
        let _ = poll(&mut fds, Some(&timeout));
        let mut events = [0; 4096];
        while rustix::io::read(inotify, &mut events).is_ok_and(|len| len > 0) {}
    }
}

/// Watches a file, creating it first if it is missing.
#[cfg(target_os = "linux")]
fn watch(inotify: &rustix::fd::OwnedFd, path: &Path) -> rustix::io::Result<()> {
    use rustix::fs::inotify::{WatchFlags, add_watch};
    use rustix::fs::{Mode, OFlags, open};
    let flags = WatchFlags::CLOSE_NOWRITE | WatchFlags::DONT_FOLLOW;
    if add_watch(inotify, path, flags).is_ok() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        // An error shows when the file is created.
        let _ = std::fs::create_dir_all(folder);
    }
    // A link could lead to a file that we must not create.
    let make = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(path, make, Mode::from_raw_mode(0o600))?;
    add_watch(inotify, path, flags).map(drop)
}

#[cfg(not(target_os = "linux"))]
impl WakeFiles {
    pub(super) fn new() -> Self {
        Self {}
    }

    pub(super) fn listen_to(&mut self, _: &Path, _: &[WatchTopic]) {}

    pub(super) fn wait(&mut self, timeout: Duration) {
        std::thread::sleep(timeout.min(LOOK_OFTEN));
    }
}
