//! A database is made under another name and then given its own: whoever finds it finds all of it, though
//! several make it at once or one is killed half-way.

use crate::{Error, Result};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

/// Lets `fill` make a database beside `path` and gives it that name. False if somebody was faster; then theirs is
/// the database, and ours is gone.
pub(crate) fn make(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<bool> {
    let draft = beside(path);
    let made = fill(&draft).and_then(|()| give_name(&draft, path));
    for suffix in ["", "-journal", "-wal", "-shm"] {
        let mut left = draft.clone().into_os_string();
        left.push(suffix);
        let _ = std::fs::remove_file(left);
    }
    made
}

/// A name beside the database that nobody else has.
fn beside(path: &Path) -> PathBuf {
    let chance = RandomState::new().build_hasher().finish();
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{chance:016x}.new"));
    path.with_file_name(name)
}

fn give_name(draft: &Path, path: &Path) -> Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let is_taken = |e: &std::io::Error| e.kind() == std::io::ErrorKind::AlreadyExists;
    // All of it is on the disk before it has its name, and its name before anybody is told.
    let synced = |path: &Path| File::open(path).and_then(|file| file.sync_all());
    let named = synced(draft).and_then(|()| {
        std::fs::hard_link(draft, path).or_else(|e| {
            if is_taken(&e) {
                return Err(e);
            }
            // Some shared folders have no links.
            Ok(renameat_with(CWD, draft, CWD, path, RenameFlags::NOREPLACE)?)
        })
    });
    match named {
        Ok(()) => {
            // Some file systems cannot sync a folder; then it is as it was before.
            let _ = path.parent().map(synced);
            Ok(true)
        }
        Err(e) if is_taken(&e) => Ok(false),
        Err(e) => Err(Error::Other(format!("{}: {e}", path.display()))),
    }
}
