//! Readiness: a small write that changes nothing. That a database can be read says little: a full disk, a file that
//! cannot be written and a lock that is never given back all leave reading as it was.

use crate::tx::Conn;
use crate::{Error, Result};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// How long a lock is waited for. A server whose writers wait longer does not do its work.
const LOCK_MAX: Duration = Duration::from_secs(2);

/// The least room on the disk. A write of this size is usual; less room means that the next ones fail.
const ROOM_BYTES_MIN: u64 = 1024 * 1024;

/// Writes the number of the schema over itself, on PostgreSQL.
pub(crate) fn touch(conn: &mut dyn Conn) -> Result<()> {
    match conn.exec("UPDATE sayso.schema SET version = version", &[])? {
        0 => Err(Error::Other("the schema has no number".into())),
        _ => Ok(()),
    }
}

/// Takes the turn of a space as each write does, on PostgreSQL, within a limit: a lock that is never given back leaves
/// the number of the schema free. It is rolled back by the caller.
pub(crate) fn take_turn(conn: &mut dyn Conn) -> Result<()> {
    let limit = format!("SET LOCAL lock_timeout TO '{}s'", LOCK_MAX.as_secs());
    conn.exec(&limit, &[])?;
    let taken = conn.query("SELECT seq FROM sayso.spaces ORDER BY id LIMIT 1 FOR UPDATE", &[]);
    taken.map(drop).map_err(|error| match error {
        Error::Busy(_) => Error::Busy(LOCK_MAX.as_secs()),
        error => error,
    })
}

/// The same for a file, on a connection of its own: it finds what a connection that is open already does not, such as
/// a file that became read-only.
pub(crate) fn sqlite(path: &Path) -> Result<()> {
    let place = path.display().to_string();
    check_room(path, &place)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let write = || -> rusqlite::Result<()> {
        let mut conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(LOCK_MAX)?;
        conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // Whether it arrives on the disk is for real writes to wait for; so is emptying the WAL, which takes a sync.
        conn.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0")?;
        let begun = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let version: i64 = begun.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        begun.execute_batch(&format!("PRAGMA user_version = {version}"))?;
        begun.commit()
    };
    write().map_err(|error| match crate::sqlite::failure(&error, &place) {
        Error::Busy(_) => Error::Busy(LOCK_MAX.as_secs()),
        error => error,
    })
}

/// A small write may still fit where the next real one does not.
fn check_room(path: &Path, place: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    let disk = rustix::fs::statvfs(folder).map_err(|error| {
        Error::Other(format!("the disk of {place} cannot be looked at: {error}"))
    })?;
    match disk.f_bavail.saturating_mul(disk.f_frsize) < ROOM_BYTES_MIN {
        true => Err(Error::DiskFull(place.to_owned())),
        false => Ok(()),
    }
}
