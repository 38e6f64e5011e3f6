//! The lock for starting or stopping the agent of a mark, and the record of its process.
//!
//! One process holds it at a time; the system releases it when the holder dies. It is a file lock that can be
//! passed on to a child process: the started agent writes its identity into the file and only then releases the
//! lock. So the holder always reads a true record, even if the previous holder was killed in the middle of a start.

use super::LOOK_EVERY;
use super::process_identity::ProcessIdentity;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The longest wait for the lock.
const WAIT_MAX: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct SessionLock {
    file: File,
    pub(super) path: PathBuf,
}

impl SessionLock {
    /// Waits for the lock. Fails with `WouldBlock` on timeout.
    pub(super) fn take(path: &Path) -> io::Result<Self> {
        let started = Instant::now();
        while started.elapsed() < WAIT_MAX {
            let mut options = OpenOptions::new();
            let file = options.read(true).append(true).create(true).mode(0o600).open(path)?;
            match file.try_lock() {
                // A process that stopped an agent has deleted the file, maybe the one we locked.
                Ok(()) if is_at(&file, path) => return Ok(Self { file, path: path.to_owned() }),
                Ok(()) | Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK_EVERY),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Returns the process that was started last.
    pub(super) fn leader(&self) -> Option<ProcessIdentity> {
        ProcessIdentity::read(&std::fs::read_to_string(&self.path).ok()?)
    }

    pub(super) fn clear(&self) -> io::Result<()> {
        self.file.set_len(0)
    }

    /// Returns the lock as stdin for a child process, which shares it until it closes the file.
    pub(super) fn hand_over(&self) -> io::Result<Stdio> {
        self.file.try_clone().map(Stdio::from)
    }

    pub(super) fn forget(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}
