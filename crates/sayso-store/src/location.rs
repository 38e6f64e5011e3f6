//! The location of a store: in memory, a SQLite file, or a PostgreSQL database.

use std::fmt;
use std::path::PathBuf;

/// The location of a store. The set is closed: these three, with one conformance suite for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// In memory, lost with the process: SQLite without a file.
    Memory,
    Sqlite(PathBuf),
    /// The PostgreSQL database of this URL.
    Postgres(String),
}

impl StoreLocation {
    /// Returns the absolute path of its folder. A process that writes to the store must be able to write there.
    pub fn folder(&self) -> Option<PathBuf> {
        match self {
            StoreLocation::Sqlite(path) => {
                Some(std::path::absolute(path).ok()?.parent()?.to_owned())
            }
            StoreLocation::Memory | StoreLocation::Postgres(_) => None,
        }
    }
}

impl fmt::Display for StoreLocation {
    /// Writes the location without its password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreLocation::Memory => f.write_str("memory"),
            StoreLocation::Sqlite(path) => path.display().fmt(f),
            StoreLocation::Postgres(url) => f.write_str(&without_password(url)),
        }
    }
}

fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "postgres".into() };
    // Parameters may hold a password, too. An unescaped one may contain any character; then it is safer to print no
    // part of the URL.
    let (address, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    if parameters.contains('@') {
        return "postgres".into();
    }
    let Some((user, host)) = address.rsplit_once('@') else {
        return format!("{scheme}://{address}");
    };
    let name = user.split(':').next().unwrap_or_default();
    format!("{scheme}://{name}@{host}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let shown = |url: &str| StoreLocation::Postgres(url.into()).to_string();
        assert_eq!(shown("postgres://ann:secret@db/x"), "postgres://ann@db/x");
        assert_eq!(shown("postgres://ann:se@cret@db/x"), "postgres://ann@db/x");
        assert_eq!(shown("postgres://db/x"), "postgres://db/x");
        assert_eq!(shown("postgres://db/x?user=ann&password=secret"), "postgres://db/x");
        assert_eq!(shown("postgres://db/x?user=a@b&password=secret"), "postgres");
        assert_eq!(shown("postgres://ann:sec?ret@db/x"), "postgres");
        assert_eq!(shown("host=db password=secret"), "postgres");
    }
}
