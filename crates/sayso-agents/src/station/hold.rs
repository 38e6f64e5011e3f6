//! The right to start or stop what carries a mark, and who was started.
//!
//! One at a time has it, whatever process it is in; the system takes it from whoever dies. It is a
//! lock on a file, and it can be handed to a process that is being started: that one writes into the
//! file who it is and only then lets go. So whoever holds it reads the truth there, even if the one
//! who held it before was killed in the middle of a start.

use super::LOOK_EVERY;
use super::leader::Leader;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How long somebody else may take.
const WAIT_MAX: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct Hold {
    file: File,
    pub(super) path: PathBuf,
}

impl Hold {
    /// Waits for its turn. `WouldBlock` says that somebody else took too long.
    pub(super) fn take(path: &Path) -> io::Result<Self> {
        let started = Instant::now();
        while started.elapsed() < WAIT_MAX {
            let mut options = OpenOptions::new();
            let file = options.read(true).append(true).create(true).mode(0o600).open(path)?;
            match file.try_lock() {
                // Who stopped an agent forgot the file, maybe the one we were waiting for.
                Ok(()) if is_at(&file, path) => return Ok(Self { file, path: path.to_owned() }),
                Ok(()) | Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK_EVERY),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Who was started last.
    pub(super) fn leader(&self) -> Option<Leader> {
        Leader::read(&std::fs::read_to_string(&self.path).ok()?)
    }

    /// Nobody was started.
    pub(super) fn clear(&self) -> io::Result<()> {
        self.file.set_len(0)
    }

    /// For the stdin of a process, which has the right, too, until it closes it.
    pub(super) fn hand_over(&self) -> io::Result<Stdio> {
        self.file.try_clone().map(Stdio::from)
    }

    /// Takes away the file.
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
