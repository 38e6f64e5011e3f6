//! Backups: a consistent copy of the whole store in one file, verified after it was written.

use crate::{LocalDesk, Result};
use sayso_core::{Actor, Permission};
use sayso_store::StoreLocation;
use std::path::Path;

/// The result of a backup.
#[derive(Debug, Clone, Default)]
pub struct BackupReport {
    /// The number of spaces in the copy.
    pub spaces: usize,
    /// The number of audit entries that were verified in the copy.
    pub entries: u64,
}

impl LocalDesk {
    /// Copies the whole store into a new file while others keep writing, and verifies every space of the copy.
    /// `progress` is called with the number of rows that are done.
    pub fn back_up(
        &self,
        actor: &Actor,
        file: &Path,
        progress: impl Fn(u64),
    ) -> Result<BackupReport> {
        self.check(actor, Permission::Operate, "copy the store")?;
        self.store.copy_to(file)?;
        // SQLite opens a database by its real path only: the folder of backups may be a symbolic link.
        let whole = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let mut copied = BackupReport::default();
        for space in self.spaces()? {
            let place = StoreLocation::Sqlite(whole.clone());
            let copy = Self::open_kept(place, &space.name, self.world.clone())?;
            copied.entries += copy.verify_all(&progress)?.entries;
            copied.spaces += 1;
        }
        Ok(copied)
    }
}
