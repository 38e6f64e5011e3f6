//! Atomic creation of a database file: it is filled under a temporary name and then linked to its own. A process that
//! finds it finds all of it, even if several create it at once or one is killed half-way.

use crate::{Error, Result};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

/// Fills a new database beside `path` and gives it that name. Returns false if another process created it first; then
/// theirs is kept and ours is removed.
pub(crate) fn make(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<bool> {
    let draft = temporary_path(path);
    let made = fill(&draft).and_then(|()| link_into_place(&draft, path));
    for suffix in ["", "-journal", "-wal", "-shm"] {
        let mut left = draft.clone().into_os_string();
        left.push(suffix);
        let _ = std::fs::remove_file(left);
    }
    made
}

/// Returns an unused random name in the folder of the database.
fn temporary_path(path: &Path) -> PathBuf {
    let chance = RandomState::new().build_hasher().finish();
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{chance:016x}.new"));
    path.with_file_name(name)
}

fn link_into_place(draft: &Path, path: &Path) -> Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let is_taken = |e: &std::io::Error| e.kind() == std::io::ErrorKind::AlreadyExists;
    // The content is synced before the file gets its name, and the name before the caller is told.
    let synced = |path: &Path| File::open(path).and_then(|file| file.sync_all());
    let named = synced(draft).and_then(|()| {
        std::fs::hard_link(draft, path).or_else(|e| {
            if is_taken(&e) {
                return Err(e);
            }
            // Some network file systems have no hard links.
            Ok(renameat_with(CWD, draft, CWD, path, RenameFlags::NOREPLACE)?)
        })
    });
    match named {
        Ok(()) => {
            // Some file systems cannot sync a directory; the name is then only as durable as they make it.
            let _ = path.parent().map(synced);
            Ok(true)
        }
        Err(e) if is_taken(&e) => Ok(false),
        Err(e) => Err(Error::Other(format!("{}: {e}", path.display()))),
    }
}
