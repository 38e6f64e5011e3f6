//! The transaction trait that all SQL is written over: two column types, numbered placeholders.

use crate::prefetch::InvalidationScope;
use crate::{Error, Result};

/// The SQL dialect. Branches on it are few, and each says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SqlDialect {
    Sqlite,
    Postgres,
}

/// A value bound to a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SqlArg<'a> {
    Null,
    Int(i64),
    Text(&'a str),
}

/// A value read from a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SqlCell {
    Null,
    Int(i64),
    Text(String),
}

/// Refuses texts with NUL. PostgreSQL accepts none, so neither database gets one: a write that works on one works on
/// the other. Bodies are JSON, which escapes it.
pub(crate) fn check_texts(args: &[SqlArg<'_>]) -> Result<()> {
    if holds_nul(args) {
        return Err(Error::Other("a text holds a NUL character and cannot be kept".into()));
    }
    Ok(())
}

/// True if one of the texts holds a NUL, which no row can have.
pub(crate) fn holds_nul(args: &[SqlArg<'_>]) -> bool {
    args.iter().any(|arg| matches!(arg, SqlArg::Text(text) if text.contains('\0')))
}

#[derive(Debug, Clone)]
pub(crate) struct SqlRow(pub(crate) Vec<SqlCell>);

impl SqlRow {
    /// Returns the number in a column; 0 if it is missing.
    pub(crate) fn int(&self, column: usize) -> i64 {
        self.maybe_int(column).unwrap_or_default()
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Option<i64> {
        match self.0.get(column) {
            Some(SqlCell::Int(value)) => Some(*value),
            _ => None,
        }
    }

    /// Returns the text in a column; empty if it is missing.
    pub(crate) fn text(&self, column: usize) -> &str {
        self.maybe_text(column).unwrap_or_default()
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Option<&str> {
        match self.0.get(column) {
            Some(SqlCell::Text(value)) => Some(value),
            _ => None,
        }
    }
}

/// A connection, in a transaction if one has begun.
pub(crate) trait SqlTransaction {
    fn dialect(&self) -> SqlDialect;

    /// Runs a statement and returns the number of rows it changed.
    fn exec(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<u64>;

    /// Queues a statement whose row count is not needed. It may run, and fail, at any point up to the next statement
    /// that returns a result, or the commit.
    fn exec_deferred(
        &mut self,
        _about: InvalidationScope<'_>,
        sql: &str,
        args: &[SqlArg<'_>],
    ) -> Result<()> {
        self.exec(sql, args).map(drop)
    }

    /// Prefetches a query, so that its rows are there when it is run; `about` names the streams or keys that
    /// invalidate it. Without a network round trip prefetching gains nothing, so the default does nothing.
    fn prefetch(&mut self, _about: &[&str], _sql: &str, _args: &[SqlArg<'_>]) -> Result<()> {
        Ok(())
    }

    /// Runs a query and returns its rows.
    fn query(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<Vec<SqlRow>>;

    /// Runs several statements without values.
    fn batch(&mut self, sql: &str) -> Result<()>;
}

/// A connection that can begin and end transactions.
pub(crate) trait DatabaseConnection: SqlTransaction + Send {
    fn begin(&mut self, intent: TransactionKind) -> Result<()>;

    /// Commits, unless a statement failed: PostgreSQL would then report success and roll back, SQLite would keep the
    /// other half. The error is returned even if the caller that caused it ignored it.
    fn commit(&mut self) -> Result<()>;
    fn rollback(&mut self);

    /// Makes the database refuse the commit from this time of its own clock on, in microseconds. A message may arrive
    /// long after its sender stopped waiting.
    fn commit_before(&mut self, _database_micros: i64) {}

    /// Refuses a schema of a later version.
    fn check_schema(&mut self) -> Result<()>;

    /// Cleans up after a write of a process that may end at any time.
    fn tidy_up(&mut self) {}

    /// Shortens the timeouts, for a server that many callers wait for.
    fn shorten_timeouts(&mut self) -> Result<()> {
        Ok(())
    }

    /// True if the connection can be used again.
    fn is_alive(&self) -> bool;
}

/// The kind of a transaction. A write takes its lock at the start: one that reads first and writes later can fail
/// half-way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionKind {
    /// No transaction: each statement has its own snapshot.
    Autocommit,
    Read,
    Write,
    /// A write that does not wait for the disk. Other connections see it, and it may be lost in a power failure.
    RelaxedWrite,
}

impl From<i64> for SqlArg<'_> {
    fn from(value: i64) -> Self {
        SqlArg::Int(value)
    }
}

impl From<Option<i64>> for SqlArg<'_> {
    fn from(value: Option<i64>) -> Self {
        value.map_or(SqlArg::Null, SqlArg::Int)
    }
}

impl<'a> From<&'a str> for SqlArg<'a> {
    fn from(value: &'a str) -> Self {
        SqlArg::Text(value)
    }
}

impl<'a> From<&'a String> for SqlArg<'a> {
    fn from(value: &'a String) -> Self {
        SqlArg::Text(value)
    }
}

impl<'a> From<Option<&'a str>> for SqlArg<'a> {
    fn from(value: Option<&'a str>) -> Self {
        value.map_or(SqlArg::Null, SqlArg::Text)
    }
}

/// Builds the list of values for a statement.
macro_rules! args {
    ($($value:expr),* $(,)?) => { &[$($crate::tx::SqlArg::from($value)),*] };
}
pub(crate) use args;
