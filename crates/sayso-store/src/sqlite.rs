//! SQLite connections: one file, many processes. Every write takes its lock at the start and waits for its turn.

use crate::tx::{
    DatabaseConnection, SqlArg, SqlCell, SqlDialect, SqlRow, SqlTransaction, TransactionKind, args,
    check_texts,
};
use crate::{Error, Result, StoreLocation, atomic_create, schema};
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The lock timeout of a writer.
const BUSY_SECONDS_MAX: u64 = 20;

/// The oldest library that keeps acknowledged commits when several connections write.
const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// A WAL longer than this is emptied when no other process uses the file.
const WAL_BYTES_KEPT: u64 = 400_000;

/// The most prepared statements that a connection caches.
const STATEMENTS_KEPT: usize = 128;

/// With this a commit waits for the disk.
const DURABLE: &str = "PRAGMA synchronous = FULL";

/// Marks a file as ours; `file` and `PRAGMA application_id` show it.
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"SAYS");

pub(crate) struct SqliteConnection {
    conn: Connection,
    place: String,
    /// The first error of this transaction; after a failure it is not committed.
    failed: Option<Error>,
    /// True if commits wait for the disk.
    is_durable: bool,
}

/// Opens an existing database.
pub(crate) fn open(path: &Path) -> Result<SqliteConnection> {
    refuse_links(path)?;
    if !path.exists() {
        return Err(Error::Missing(path.display().to_string()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut sqlite = connect(path, flags)?;
    let application = sqlite.pragma("application_id")?;
    if application != i64::from(APPLICATION_ID) {
        let why = "it is a SQLite database, but not one of sayso".into();
        return Err(Error::Broken { place: sqlite.place, why });
    }
    schema::migrate(&mut sqlite)?;
    Ok(sqlite)
}

/// Creates a new database, or opens the existing one.
pub(crate) fn create(path: &Path) -> Result<SqliteConnection> {
    refuse_links(path)?;
    if !path.exists() {
        atomic_create::make(path, make)?;
    }
    open(path)
}

/// Writes a snapshot of the database into a new file, readable by its owner alone. Other processes continue
/// meanwhile.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    let taken = || Error::Other(format!("{} is there already", to.display()));
    if to.exists() {
        return Err(taken());
    }
    let is_ours = atomic_create::make(to, |draft| {
        let mut private = std::fs::OpenOptions::new();
        let made = private.write(true).create_new(true).mode(0o600).open(draft);
        made.map_err(|e| Error::Other(format!("{}: {e}", to.display())))?;
        let name = draft
            .to_str()
            .ok_or_else(|| Error::Other(format!("{}: its name is not UTF-8 text", to.display())))?;
        open(from)?.exec("VACUUM INTO ?1", args![name])?;
        let mut copy = connect(draft, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // The copy is to be used like the original.
        copy.batch("PRAGMA journal_mode = WAL")?;
        copy.close_checkpointed()
    })?;
    is_ours.then_some(()).ok_or_else(taken)
}

fn make(draft: &Path) -> Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut sqlite = connect(draft, flags)?;
    sqlite.batch(&format!("PRAGMA application_id = {APPLICATION_ID}"))?;
    schema::migrate(&mut sqlite)?;
    sqlite.batch("PRAGMA journal_mode = WAL")?;
    sqlite.close_checkpointed()
}

/// Opens a database in memory.
pub(crate) fn memory() -> Result<SqliteConnection> {
    check_version()?;
    let place = StoreLocation::Memory.to_string();
    let conn = Connection::open_in_memory().map_err(|e| failure(&e, &place))?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    let mut sqlite = SqliteConnection { conn, place, failed: None, is_durable: true };
    schema::migrate(&mut sqlite)?;
    Ok(sqlite)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<SqliteConnection> {
    check_version()?;
    let place = path.display().to_string();
    let mut conn = Connection::open_with_flags(path, flags).map_err(|e| failure(&e, &place))?;
    configure(&mut conn).map_err(|e| failure(&e, &place))?;
    Ok(SqliteConnection { conn, place, failed: None, is_durable: true })
}

fn configure(conn: &mut Connection) -> rusqlite::Result<()> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    conn.busy_handler(Some(back_off))?;
    // Short-lived processes would otherwise copy the whole WAL back at each exit.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // A plan that depends on the values would be prepared again for each of them.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.execute_batch(DURABLE)?;
    conn.execute_batch("PRAGMA trusted_schema = OFF")
}

/// The time after which a waiting process counts as starved, and polls more often than the others.
const PATIENCE: Duration = Duration::from_secs(2);

/// The busy handler: polls in short, growing steps. The library's own handler sleeps up to 100 ms at a time, which
/// starves a process among many. Steps that only grow starve it, too: a new process polls more often than one that
/// has waited, and new ones keep coming.
fn back_off(tries: i32) -> bool {
    thread_local! {
        static BEGAN: std::cell::Cell<Option<Instant>> = const { std::cell::Cell::new(None) };
    }
    if tries == 0 {
        BEGAN.set(Some(Instant::now()));
    }
    // Measured by the clock: on a busy machine each sleep is longer than requested.
    let waited = BEGAN.get().map_or(Duration::MAX, |began| began.elapsed());
    let tries = u64::try_from(tries).unwrap_or_default();
    let step = if waited < PATIENCE { tries.min(48) } else { 0 };
    std::thread::sleep(Duration::from_micros(200 + 100 * step));
    waited < Duration::from_secs(BUSY_SECONDS_MAX)
}

fn check_version() -> Result<()> {
    if rusqlite::version_number() < SQLITE_VERSION_MIN {
        return Err(Error::OldSqlite(rusqlite::version()));
    }
    Ok(())
}

/// Refuses a database or folder that is a symbolic link: it could be redirected to another database.
fn refuse_links(path: &Path) -> Result<()> {
    for part in [Some(path), path.parent()].into_iter().flatten() {
        if part.is_symlink() {
            return Err(Error::Symlink(part.into()));
        }
    }
    Ok(())
}

pub(crate) fn failure(error: &rusqlite::Error, place: &str) -> Error {
    let place = place.to_owned();
    let Some(code) = error.sqlite_error_code() else {
        return Error::Other(format!("{place}: {error}"));
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Error::Busy(BUSY_SECONDS_MAX),
        ErrorCode::DiskFull => Error::DiskFull(place),
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            Error::ReadOnly(place)
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            Error::Broken { place, why: error.to_string() }
        }
        ErrorCode::ConstraintViolation if is_taken(error) => Error::Conflict,
        _ => Error::Other(format!("{place}: {error}")),
    }
}

/// True if the key exists already; other constraints are ours to keep.
fn is_taken(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE};
    let code = error.sqlite_error().map(|e| e.extended_code);
    matches!(code, Some(SQLITE_CONSTRAINT_PRIMARYKEY | SQLITE_CONSTRAINT_UNIQUE))
}

impl SqliteConnection {
    fn note<T>(&mut self, result: rusqlite::Result<T>) -> Result<T> {
        result.map_err(|e| {
            let error = failure(&e, &self.place);
            self.failed.get_or_insert_with(|| error.clone());
            error
        })
    }

    /// Begins a write. The durability of a commit cannot be changed once the transaction has begun, so it is set
    /// here.
    fn begin_write(&mut self, is_durable: bool) -> Result<()> {
        if is_durable != self.is_durable {
            self.batch(if is_durable { DURABLE } else { "PRAGMA synchronous = NORMAL" })?;
            self.is_durable = is_durable;
        }
        self.exec("BEGIN IMMEDIATE", &[]).map(drop)
    }

    /// Closes the database with all content in the main file: a WAL would keep the name the file has now.
    fn close_checkpointed(self) -> Result<()> {
        let SqliteConnection { conn, place, .. } = self;
        let closed = conn
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
            .and_then(|_| conn.close().map_err(|(_, error)| error));
        closed.map_err(|e| failure(&e, &place))
    }

    fn pragma(&mut self, name: &str) -> Result<i64> {
        let rows = self.query(&format!("PRAGMA {name}"), &[])?;
        Ok(rows.first().map_or(0, |row| row.int(0)))
    }
}

impl schema::SchemaVersioned for SqliteConnection {
    fn version(&mut self) -> Result<i64> {
        self.pragma("user_version")
    }

    fn set_version(&mut self, version: i64) -> Result<()> {
        self.batch(&format!("PRAGMA user_version = {version}"))
    }

    fn place(&self) -> String {
        self.place.clone()
    }
}

impl ToSql for SqlArg<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            SqlArg::Null => ToSqlOutput::Owned(Value::Null),
            SqlArg::Int(value) => ToSqlOutput::Owned(Value::Integer(*value)),
            SqlArg::Text(value) => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
        })
    }
}

fn cell(value: ValueRef<'_>) -> SqlCell {
    match value {
        ValueRef::Null | ValueRef::Blob(_) => SqlCell::Null,
        ValueRef::Integer(value) => SqlCell::Int(value),
        ValueRef::Real(value) => SqlCell::Int(value as i64),
        ValueRef::Text(value) => SqlCell::Text(String::from_utf8_lossy(value).into_owned()),
    }
}

impl SqlTransaction for SqliteConnection {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Sqlite
    }

    fn exec(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<u64> {
        check_texts(args).inspect_err(|error| {
            self.failed.get_or_insert_with(|| error.clone());
        })?;
        let run = || {
            let mut statement = self.conn.prepare_cached(sql)?;
            statement.execute(rusqlite::params_from_iter(args))
        };
        let result = run().map(|rows| rows as u64);
        self.note(result)
    }

    fn query(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<Vec<SqlRow>> {
        let run = || {
            let mut statement = self.conn.prepare_cached(sql)?;
            let columns = statement.column_count();
            let mut rows = statement.query(rusqlite::params_from_iter(args))?;
            let mut read = vec![];
            while let Some(row) = rows.next()? {
                let cells = (0..columns).map(|at| row.get_ref(at).map(cell));
                read.push(SqlRow(cells.collect::<rusqlite::Result<_>>()?));
            }
            Ok(read)
        };
        let result = run();
        self.note(result)
    }

    fn batch(&mut self, sql: &str) -> Result<()> {
        let result = self.conn.execute_batch(sql);
        self.note(result)
    }
}

impl DatabaseConnection for SqliteConnection {
    fn begin(&mut self, intent: TransactionKind) -> Result<()> {
        self.failed = None;
        match intent {
            TransactionKind::Autocommit => Ok(()),
            TransactionKind::Read => self.exec("BEGIN", &[]).map(drop),
            TransactionKind::Write => self.begin_write(true),
            TransactionKind::RelaxedWrite => self.begin_write(false),
        }
    }

    fn commit(&mut self) -> Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => {
                // Another process may have migrated the schema since this one opened it.
                self.check_schema()?;
                self.exec("COMMIT", &[]).map(drop)
            }
        }
    }

    fn check_schema(&mut self) -> Result<()> {
        schema::check(self).map(drop)
    }

    fn rollback(&mut self) {
        // Some errors have rolled back already; then there is nothing to undo.
        let _ = self.exec("ROLLBACK", &[]);
    }

    /// Empties a long WAL when no other process uses the file: the first process to open it reads the whole WAL and
    /// does not know how much of it is in the database already. While others use it, the library's own checkpoints do
    /// that.
    fn tidy_up(&mut self) {
        let wal = format!("{}-wal", self.place);
        let is_long = std::fs::metadata(wal).is_ok_and(|wal| wal.len() > WAL_BYTES_KEPT);
        if is_long && self.conn.busy_timeout(Duration::ZERO).is_ok() {
            // A failure loses nothing.
            let _ = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            let _ = self.conn.busy_handler(Some(back_off));
        }
    }

    fn is_alive(&self) -> bool {
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A durable write waits for the disk, also after a relaxed one.
    #[test]
    fn only_a_note_does_not_wait_for_the_disk() {
        let mut sqlite = memory().unwrap();
        let (normal, full) = (1, 2);
        for (intent, waits) in [
            (TransactionKind::Write, full),
            (TransactionKind::RelaxedWrite, normal),
            (TransactionKind::Read, normal),
            (TransactionKind::Write, full),
            (TransactionKind::RelaxedWrite, normal),
            (TransactionKind::RelaxedWrite, normal),
            (TransactionKind::Write, full),
        ] {
            sqlite.begin(intent).unwrap();
            assert_eq!(sqlite.pragma("synchronous").unwrap(), waits, "{intent:?}");
            sqlite.rollback();
        }
    }
}
