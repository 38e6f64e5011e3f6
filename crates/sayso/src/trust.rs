//! Trust in the settings of a project. A file that came with a clone may name programs to run, so none of them is run
//! before a person has trusted the file as it is (as direnv does). Stored in the user's state folder.

use crate::config::state_folder;
use crate::exit::{Failure, Result};
use sayso_core::{Code, Digest};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A trusted settings file, with its content.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TrustRecord {
    file: PathBuf,
    digest: Digest,
}

/// Settings of a project that may run programs and are not trusted in their present form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UntrustedSettings {
    /// The file that contains them.
    pub(crate) file: PathBuf,
    /// The names of the settings: `notify.bell`, `work.check`.
    pub(crate) settings: Vec<String>,
}

impl UntrustedSettings {
    /// A message with the settings that are left out.
    pub(crate) fn in_words(&self) -> String {
        format!("{} of {} is not trusted", self.settings.join(", "), self.file.display())
    }

    /// True if settings of agents or the worker are among them.
    pub(crate) fn concerns_work(&self) -> bool {
        self.settings.iter().any(|name| name.starts_with("agents.") || name.starts_with("work."))
    }

    /// True if channels are among them.
    pub(crate) fn concerns_notices(&self) -> bool {
        self.settings.iter().any(|name| name.starts_with("notify."))
    }

    pub(crate) fn refused(&self) -> Failure {
        Failure::new(Code::Untrusted, self.in_words()).hint(HINT)
    }
}

/// The hint for an untrusted file.
pub(crate) const HINT: &str = "read what it would run, and if you want that: sayso trust";

/// The canonical path of a file: the same file is trusted under one name.
fn canonical_path(file: &Path) -> std::io::Result<PathBuf> {
    file.canonicalize()
}

fn record_path(file: &Path) -> Option<PathBuf> {
    let name = Digest::of_bytes(file.as_os_str().as_encoded_bytes());
    let name: String = name.as_str().chars().rev().take(32).collect();
    Some(state_folder()?.join("trusted").join(format!("{name}.json")))
}

/// Returns the file that records that a person uses a space of a store. The address may hold a password, so only its
/// digest is part of it.
fn place_of_store(store: &str, space: &str) -> Option<PathBuf> {
    let name = Digest::of_bytes(format!("{}\n{space}", store.trim_end_matches('/')).as_bytes());
    let name: String = name.as_str().chars().rev().take(32).collect();
    Some(state_folder()?.join("trusted").join(format!("store-{name}")))
}

/// True if a person has set this space of a server or database, or trusted settings that name it.
pub(crate) fn is_store_kept(store: &str, space: &str) -> bool {
    place_of_store(store, space).is_some_and(|place| place.is_file())
}

/// Keeps that a person uses a space of a server or database.
pub(crate) fn keep_store(store: &str, space: &str) -> Result<()> {
    let place = place_of_store(store, space).ok_or_else(no_folder)?;
    if let Some(folder) = place.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    Ok(std::fs::write(place, "")?)
}

/// Forgets it. Whether it was kept.
pub(crate) fn forget_store(store: &str, space: &str) -> Result<bool> {
    is_gone(&place_of_store(store, space).ok_or_else(no_folder)?)
}

fn is_gone(place: &Path) -> Result<bool> {
    match std::fs::remove_file(place) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// True if a file was trusted with this text in it. An unreadable record counts as not trusted.
pub(crate) fn is_trusted(file: &Path, text: &str) -> bool {
    let Ok(file) = canonical_path(file) else { return false };
    let Some(place) = record_path(&file) else { return false };
    let Ok(kept) = std::fs::read_to_string(place) else { return false };
    let trusted: Option<TrustRecord> = serde_json::from_str(&kept).ok();
    trusted.is_some_and(|t| t == TrustRecord { file, digest: Digest::of_bytes(text.as_bytes()) })
}

/// Trusts a file as it is now.
pub(crate) fn trust(file: &Path, text: &str) -> Result<()> {
    let file = canonical_path(file)?;
    let place = record_path(&file).ok_or_else(no_folder)?;
    let digest = Digest::of_bytes(text.as_bytes());
    let kept =
        serde_json::to_string(&TrustRecord { file, digest }).map_err(std::io::Error::other)?;
    if let Some(folder) = place.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let draft = place.with_extension(format!("{}.new", std::process::id()));
    let mut private = std::fs::OpenOptions::new();
    let private = private.write(true).create(true).truncate(true).mode(0o600);
    private.open(&draft)?.write_all(kept.as_bytes())?;
    Ok(std::fs::rename(&draft, &place)?)
}

/// Revokes the trust in a file. True if it was trusted.
pub(crate) fn forget(file: &Path) -> Result<bool> {
    is_gone(&record_path(&canonical_path(file)?).ok_or_else(no_folder)?)
}

fn no_folder() -> Failure {
    Failure::new(Code::BadConfig, "there is no folder to keep in what is trusted")
        .hint("set HOME, or XDG_STATE_HOME")
}
