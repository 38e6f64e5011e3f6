//! Readiness probe: a small write that changes nothing. A successful read proves little: with a full disk, a
//! read-only file or a lock that is never released, reads still work.

use crate::tx::DatabaseConnection;
use crate::{Error, Result};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// The lock timeout of the probe. A server whose writers wait longer is not ready.
const LOCK_MAX: Duration = Duration::from_secs(2);

/// The least free disk space. Writes of this size are common, so with less the next ones fail.
const ROOM_BYTES_MIN: u64 = 1024 * 1024;

/// Writes the schema version over itself, on PostgreSQL.
pub(crate) fn touch(conn: &mut dyn DatabaseConnection) -> Result<()> {
    match conn.exec("UPDATE sayso.schema SET version = version", &[])? {
        0 => Err(Error::Other("the schema has no number".into())),
        _ => Ok(()),
    }
}

/// Takes the turn of a space as each write does, on PostgreSQL, within a limit: a lock that is never given back leaves
/// the number of the schema free. It is rolled back by the caller.
pub(crate) fn take_turn(conn: &mut dyn DatabaseConnection) -> Result<()> {
    let limit = format!("SET LOCAL lock_timeout TO '{}s'", LOCK_MAX.as_secs());
    conn.exec(&limit, &[])?;
    let taken = conn.query("SELECT seq FROM sayso.spaces ORDER BY id LIMIT 1 FOR UPDATE", &[]);
    taken.map(drop).map_err(|error| match error {
        Error::Busy(_) => Error::Busy(LOCK_MAX.as_secs()),
        error => error,
    })
}

/// Writes the schema version over itself in a SQLite file, on a new connection: it finds errors that an open one does
/// not, such as a file that became read-only.
pub(crate) fn sqlite(path: &Path) -> Result<()> {
    let place = path.display().to_string();
    check_room(path, &place)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let write = || -> rusqlite::Result<()> {
        let mut conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(LOCK_MAX)?;
        conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // Durability matters for real writes only, and so does a checkpoint of the WAL, which costs a sync.
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

/// Checks the free disk space: a small write may still fit where the next real one does not.
fn check_room(path: &Path, place: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    let disk = rustix::fs::statvfs(folder).map_err(|error| {
        Error::Other(format!("the disk of {place} cannot be looked at: {error}"))
    })?;
    if disk.f_bavail.saturating_mul(disk.f_frsize) < ROOM_BYTES_MIN {
        Err(Error::DiskFull(place.to_owned()))
    } else {
        Ok(())
    }
}
