//! A private temporary folder that is removed with its owner.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::stop::{VerbError, VerbResult};

/// A fresh folder, removed on drop with all that is in it.
pub(crate) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// Makes a folder below `parent` that only we can enter. Fails if it exists: it must be ours.
    pub(crate) fn below(parent: &Path) -> VerbResult<ScratchFolder> {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        // Short, because a socket's path inside it may not exceed about a hundred bytes.
        let path = parent.join(format!("sayso-{}-{nanos}", process::id()));
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|e| VerbError::from(format!("{}: {e}", path.display())))?;
        Ok(ScratchFolder(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("xtask: {} is left behind: {error}", self.0.display());
        }
    }
}
