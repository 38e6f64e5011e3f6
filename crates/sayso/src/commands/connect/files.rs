//! Reads and writes client files: read whole, compared, and written atomically.

use crate::exit::{Failure, Result};
use sayso_core::Code;
use similar::TextDiff;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The most bytes read from a client's file.
const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The depth of a client's file in the client's own folder.
const FOLDERS_MAX: usize = 2;

/// A file before and after a change. There is no text where there is no file.
pub(super) struct ClientFileChange {
    pub(super) path: PathBuf,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

impl ClientFileChange {
    /// Reads a file.
    pub(super) fn of(path: PathBuf) -> Result<Self> {
        let before = read(&path)?;
        Ok(Self { path, after: before.clone(), before })
    }

    pub(super) fn is_any(&self) -> bool {
        self.before != self.after
    }

    pub(super) const fn how(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "added",
            (Some(_), None) => "removed",
            (Some(_), Some(_)) => "changed",
        }
    }

    /// The change as `diff -u` shows it.
    pub(super) fn diff(&self) -> String {
        let texts = [&self.before, &self.after].map(|text| text.as_deref().unwrap_or_default());
        let shown = self.path.display().to_string();
        let name = |is_there: bool| if is_there { shown.as_str() } else { "/dev/null" };
        TextDiff::from_lines(texts[0], texts[1])
            .unified_diff()
            .context_radius(2)
            .header(name(self.before.is_some()), name(self.after.is_some()))
            .to_string()
    }

    /// Checks that it can be written, before any file is.
    fn check(&self) -> Result<()> {
        if self.path.is_symlink() && !self.path.exists() {
            return Err(wrong(&self.path, "is a link to a file that is not there"));
        }
        // A file is replaced as a whole, which would work on a read-only file, too.
        let is_kept = |path: &Path| path.metadata().is_ok_and(|m| m.permissions().readonly());
        if is_kept(&self.path) {
            return Err(Failure::new(
                Code::ReadOnly,
                format!("{} is read-only; nothing was changed", self.path.display()),
            )
            .hint(format!("if it is yours to change: chmod u+w {}", self.path.display())));
        }
        if read(&self.path)? == self.before {
            Ok(())
        } else {
            Err(wrong(&self.path, "was changed by somebody else just now"))
        }
    }

    fn write(&self) -> Result<()> {
        put(&self.path, self.after.as_deref())
    }
}

/// Writes all files; if one cannot be written, those before it are restored.
pub(super) fn write_all(changes: &[ClientFileChange]) -> Result<()> {
    for change in changes {
        change.check()?;
    }
    for (count, change) in changes.iter().enumerate() {
        if let Err(failure) = change.write() {
            for done in &changes[..count] {
                // The first failure is the one to report.
                let _ = put(&done.path, done.before.as_deref());
            }
            return Err(failure);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Option<String>> {
    let file = match std::fs::File::open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|e| wrong(path, &format!("cannot be read: {e}")))?,
    };
    let mut text = String::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|e| wrong(path, &format!("cannot be read: {e}")))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        Err(wrong(path, &format!("has more than {FILE_BYTES_MAX} bytes")))
    } else {
        Ok(Some(text))
    }
}

/// Replaces a file atomically. A symbolic link stays, and its target is replaced.
fn put(path: &Path, text: Option<&str>) -> Result<()> {
    let failed = |e: std::io::Error| match e.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Failure::new(
            Code::ReadOnly,
            format!("{} cannot be written: {e}; nothing was changed", path.display()),
        ),
        _ => wrong(path, &format!("cannot be written: {e}")),
    };
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let Some(text) = text else {
        std::fs::remove_file(&target).map_err(failed)?;
        // Its folders are removed with it if they are empty: the client's own, at most.
        let folders = target.ancestors().skip(1).take(FOLDERS_MAX);
        let _ = folders.map(std::fs::remove_dir).take_while(std::result::Result::is_ok).count();
        return Ok(());
    };
    let folder = target.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    if let Ok(known) = target.metadata() {
        new.as_file().set_permissions(known.permissions()).map_err(failed)?;
    }
    new.write_all(text.as_bytes()).and_then(|()| new.as_file().sync_all()).map_err(failed)?;
    new.persist(&target).map(drop).map_err(|e| failed(e.error))
}

fn wrong(path: &Path, why: &str) -> Failure {
    Failure::new(Code::Invalid, format!("{} {why}; nothing was changed", path.display()))
}
