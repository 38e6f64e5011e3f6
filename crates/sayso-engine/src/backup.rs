//! Backups: the whole of a store in a file, at one moment, and verified there.

use crate::{LocalDesk, Result};
use sayso_core::{Actor, Deed};
use sayso_store::Place;
use std::path::Path;

/// A copy that was made.
#[derive(Debug, Clone, Default)]
pub struct BackedUp {
    /// How many spaces it has.
    pub spaces: usize,
    /// How many entries of their audits hold in it.
    pub entries: u64,
}

impl LocalDesk {
    /// Writes all that the store has into a new file, while others go on, and verifies every space in it.
    /// `progress` hears how many rows are done.
    pub fn back_up(&self, actor: &Actor, file: &Path, progress: impl Fn(u64)) -> Result<BackedUp> {
        self.check(actor, Deed::Operate, "copy the store")?;
        self.store.copy_to(file)?;
        // A database is opened by its own name: somebody's folder of backups may be a link.
        let whole = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let mut copied = BackedUp::default();
        for space in self.spaces()? {
            let place = Place::Sqlite(whole.clone());
            let copy = Self::open_kept(place, &space.name, self.world.clone())?;
            copied.entries += copy.verify_all(&progress)?.entries;
            copied.spaces += 1;
        }
        Ok(copied)
    }
}
