//! Errors of a store: their codes, and a hint for the person who reads them.

use sayso_core::Code;
use std::path::PathBuf;

/// The result type of all store calls.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the store. An error never means that an action was allowed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Another process wrote first. Reading again and retrying helps.
    #[error("somebody else wrote first")]
    Conflict,
    /// The write lock was not free in time.
    #[error("another process holds the database, and did for {0} seconds")]
    Busy(u64),
    /// The database or server does not respond, or the connection broke. Nothing was written.
    #[error("{0}")]
    Unreachable(String),
    /// The connection was lost during a commit, so the write may have been committed or not.
    #[error("{0}")]
    OutcomeUnknown(String),
    /// The caller stopped waiting before the commit, so nothing was written.
    #[error("the caller stopped waiting before this could be written; nothing was written")]
    Expired,
    /// The clock of this machine disagrees with the one it is checked against.
    #[error("{0}")]
    ClockOff(String),
    /// The file is damaged or is not a sayso database.
    #[error("{place} cannot be read: {why}")]
    Broken {
        place: String,
        /// The message of the database.
        why: String,
    },
    /// The schema was written by a later version.
    #[error("{place} has schema {found}; this sayso knows schemas up to {known}")]
    NewerSchema {
        place: String,
        /// The schema version of the database.
        found: i64,
        /// The newest schema version this program knows.
        known: i64,
    },
    /// The disk of this database is full.
    #[error("no space left on the device that holds {0}; nothing was written")]
    DiskFull(String),
    /// The database cannot be written.
    #[error("{0} cannot be written")]
    ReadOnly(String),
    /// The SQLite library is too old to be trusted.
    #[error("SQLite {0} can lose commits that it acknowledged")]
    OldSqlite(&'static str),
    /// The database or its folder is a symbolic link.
    #[error("{} is a symbolic link", .0.display())]
    Symlink(PathBuf),
    /// The database does not exist.
    #[error("there is no database at {0}")]
    Missing(String),
    /// Any other failure; the text names the operation.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Returns the stable error code.
    pub const fn code(&self) -> Code {
        match self {
            Error::Conflict | Error::Busy(_) => Code::Busy,
            Error::Unreachable(_) => Code::Unreachable,
            Error::OutcomeUnknown(_) => Code::OutcomeUnknown,
            Error::Expired => Code::Expired,
            Error::ClockOff(_) => Code::ClockOff,
            Error::Broken { .. } => Code::BrokenStore,
            Error::NewerSchema { .. } => Code::NewerSchema,
            Error::DiskFull(_) => Code::DiskFull,
            Error::ReadOnly(_) => Code::ReadOnly,
            Error::OldSqlite(_) => Code::OldSqlite,
            Error::Symlink(_) => Code::Symlink,
            Error::Missing(_) => Code::NoSpace,
            Error::Other(_) => Code::Failure,
        }
    }

    /// Returns a hint that says what the person can do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Error::Conflict | Error::Busy(_) => {
                "try again; many processes are writing, or one is stuck"
            }
            Error::Unreachable(_) => {
                "nothing was allowed meanwhile; check that the server runs and the address is right"
            }
            Error::OutcomeUnknown(_) => {
                "it may have counted or not; run sayso show ID before you try again"
            }
            Error::Expired => "send it again, and wait longer for the reply",
            Error::ClockOff(_) => {
                "set the clock of this machine (timedatectl set-ntp true) and try again; if it is \
                 right: sayso doctor --accept-clock"
            }
            Error::Broken { .. } => {
                "leave the file as it is, restore a backup beside it, and see `sayso doctor`"
            }
            Error::NewerSchema { .. } => "use the sayso that wrote it, or a newer one",
            Error::DiskFull(_) => "make room and run the same command again",
            Error::ReadOnly(_) => "check the permissions of the folder and of the file system",
            Error::OldSqlite(_) => "use a sayso built with its bundled SQLite",
            Error::Symlink(_) => "put the database itself there: links can be bent by others",
            Error::Missing(_) => "make a space with: sayso init",
            Error::Other(_) => "see `sayso doctor`",
        }
    }
}
