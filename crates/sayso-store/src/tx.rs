//! The small transaction trait all SQL is written over: two column types, numbered placeholders.

use crate::foresight::About;
use crate::{Error, Result};

/// Which SQL is spoken. Branches on it are few, and each says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A value handed to a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Arg<'a> {
    Null,
    Int(i64),
    Text(&'a str),
}

/// A value read from a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Text(String),
}

/// PostgreSQL takes no NUL in a text, so neither database is given one: what runs on one runs on
/// the other. Bodies are JSON, where it is spelt out.
pub(crate) fn check_texts(args: &[Arg<'_>]) -> Result<()> {
    if holds_nul(args) {
        return Err(Error::Other("a text holds a NUL character and cannot be kept".into()));
    }
    Ok(())
}

/// Whether a text is among them that no row can have.
pub(crate) fn holds_nul(args: &[Arg<'_>]) -> bool {
    args.iter().any(|arg| matches!(arg, Arg::Text(text) if text.contains('\0')))
}

/// A row that was read.
#[derive(Debug, Clone)]
pub(crate) struct Row(pub(crate) Vec<Cell>);

impl Row {
    /// The number in a column; a missing one reads as 0.
    pub(crate) fn int(&self, column: usize) -> i64 {
        self.maybe_int(column).unwrap_or_default()
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Option<i64> {
        match self.0.get(column) {
            Some(Cell::Int(value)) => Some(*value),
            _ => None,
        }
    }

    /// The text in a column; a missing one reads as empty.
    pub(crate) fn text(&self, column: usize) -> &str {
        self.maybe_text(column).unwrap_or_default()
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Option<&str> {
        match self.0.get(column) {
            Some(Cell::Text(value)) => Some(value),
            _ => None,
        }
    }
}

/// One connection, inside of a transaction where there is one.
pub(crate) trait Tx {
    fn dialect(&self) -> Dialect;

    /// Runs a statement and returns how many rows it touched.
    fn exec(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64>;

    /// Runs a statement of which nobody needs to know how many rows it touched. It may run, and fail, any
    /// time before the next one of which somebody does, or the commit.
    fn later(&mut self, _about: About<'_>, sql: &str, args: &[Arg<'_>]) -> Result<()> {
        self.exec(sql, args).map(drop)
    }

    /// Asks what a query is going to ask, so that its rows are there by then; `about` names what they are
    /// about. Where a question has no way to travel, nothing is gained by asking early.
    fn ask_early(&mut self, _about: &[&str], _sql: &str, _args: &[Arg<'_>]) -> Result<()> {
        Ok(())
    }

    /// Runs a query and returns its rows.
    fn query(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Vec<Row>>;

    /// Runs several statements without values.
    fn batch(&mut self, sql: &str) -> Result<()>;
}

/// A connection that can begin and end transactions.
pub(crate) trait Conn: Tx + Send {
    fn begin(&mut self, intent: Intent) -> Result<()>;

    /// Commits, unless a statement failed: PostgreSQL would then say yes and roll back, SQLite would
    /// keep the other half. The error comes back even if whoever caused it looked away.
    fn commit(&mut self) -> Result<()>;
    fn rollback(&mut self);

    /// Lets the database refuse the commit from this moment of its own clock on, in microseconds. What was
    /// sent may arrive long after its sender stopped waiting.
    fn commit_before(&mut self, _database_micros: i64) {}

    /// Refuses a schema that a later version made.
    fn check_schema(&mut self) -> Result<()>;

    /// Tidies up behind a write of a process that may end any moment.
    fn tidy_up(&mut self) {}

    /// From now on many wait for it, and none of them for long.
    fn hurry(&mut self) -> Result<()> {
        Ok(())
    }

    /// Whether it is worth keeping.
    fn is_alive(&self) -> bool;
}

/// What a transaction is for. A write takes its lock at the start: one that reads first and writes
/// later can fail half-way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    /// No transaction: each statement sees the moment it runs at.
    Look,
    Read,
    Write,
    /// A write that does not wait for the disk. It is there for whoever looks, and may be lost when the
    /// machine loses its power.
    Note,
}

impl From<i64> for Arg<'_> {
    fn from(value: i64) -> Self {
        Arg::Int(value)
    }
}

impl From<Option<i64>> for Arg<'_> {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Arg::Null, Arg::Int)
    }
}

impl<'a> From<&'a str> for Arg<'a> {
    fn from(value: &'a str) -> Self {
        Arg::Text(value)
    }
}

impl<'a> From<&'a String> for Arg<'a> {
    fn from(value: &'a String) -> Self {
        Arg::Text(value)
    }
}

impl<'a> From<Option<&'a str>> for Arg<'a> {
    fn from(value: Option<&'a str>) -> Self {
        value.map_or(Arg::Null, Arg::Text)
    }
}

/// Builds the list of values for a statement.
macro_rules! args {
    ($($value:expr),* $(,)?) => { &[$($crate::tx::Arg::from($value)),*] };
}
pub(crate) use args;
