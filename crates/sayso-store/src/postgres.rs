//! PostgreSQL connections: one database for many machines.

use crate::cte_merge::{CteMerge, merged, reads_no_table};
use crate::pipeline::{OwnedValue, PgError, PgPipeline, PipelineResult, PipelineStep};
use crate::prefetch::{InvalidationScope, PrefetchCache, query_key};
use crate::tls::{self, ConnectSettings};
use crate::tx::{
    DatabaseConnection, SqlArg, SqlCell, SqlDialect, SqlRow, SqlTransaction, TransactionKind,
    check_texts, holds_nul,
};
use crate::{Error, Result, StoreLocation, schema};
use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type};
use tokio_postgres::{Config, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The timeout of a connection attempt.
pub(crate) const CONNECT_MAX: Duration = Duration::from_secs(5);

/// The time for which data may stay unacknowledged before the server counts as gone.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// The most connection attempts of this process that may be pending at once.
const WAITING_MAX: usize = 256;

/// The most prepared statements that a connection caches.
const STATEMENTS_KEPT_MAX: usize = 256;

/// The NOTIFY channel on which commits are announced.
pub(crate) const CHANNEL: &str = "sayso";

pub(crate) struct PgConnection {
    pipe: PgPipeline,
    statements: HashMap<String, Statement>,
    place: String,
    /// Writes of this transaction that are not in the pipe yet.
    merge: CteMerge,
    /// Queries of this transaction that were prefetched.
    early: PrefetchCache,
    /// The first error of this transaction; after a failure it is not committed.
    failed: Option<Error>,
    /// True if the connection was lost. The library notices that late, or never.
    is_lost: bool,
    /// The time of the server's clock from which on this transaction must not be committed.
    commit_before: Option<i64>,
}

/// Connects and migrates the schema.
pub(crate) fn open(url: &str) -> Result<PgConnection> {
    let mut postgres = connect(url)?;
    schema::migrate(&mut postgres)?;
    Ok(postgres)
}

fn connect(url: &str) -> Result<PgConnection> {
    let place = StoreLocation::Postgres(url.into()).to_string();
    let pipe = within(url, CONNECT_MAX, move |config, tls, place| {
        let mut pipe = PgPipeline::connect(config, tls)?;
        let set = pipe.step(PipelineStep::Batch(SESSION.into()));
        set.map_err(|e| failure(&e, place)).map(|_| pipe)
    })?;
    let (statements, merge, early) = Default::default();
    let (failed, is_lost, commit_before) = (None, false, None);
    Ok(PgConnection { pipe, statements, place, merge, early, failed, is_lost, commit_before })
}

/// Opens a plain connection for LISTEN.
pub(crate) fn client(url: &str, timeout: Duration) -> Result<postgres::Client> {
    within(url, timeout, |config, tls, place| {
        let config = postgres::Config::from(config.clone());
        let client = match tls {
            Some(tls) => config.connect(tls),
            None => config.connect(postgres::NoTls),
        };
        let mut client = client.map_err(|e| silent(in_full(&e)))?;
        client.batch_execute(SESSION).map_err(|e| failure(&e.into(), place))?;
        Ok(client)
    })
}

/// The session settings: our schema comes first in the search path; row locks wait as long as SQLite's writers do,
/// and the locks of a lost client are released.
const SESSION: &str = "SET search_path TO sayso; SET lock_timeout TO '20s'; \
                       SET idle_in_transaction_session_timeout TO '60s'";

/// The timeout of an exchange in a server. A person waits for it and should see the error sooner.
const SERVER_EXCHANGE_MAX: Duration = Duration::from_secs(6);

/// In a server the lock timeout is shorter than the exchange timeout, so a lock that was not free is known to have
/// written nothing.
const SERVER_SESSION: &str = "SET lock_timeout TO '4s'";

/// Connects on a thread of its own, with a timeout: the library limits the TCP connect, but not the wait for the
/// server's first message.
fn within<T: Send + 'static>(
    url: &str,
    timeout: Duration,
    greet: impl FnOnce(&Config, Option<MakeRustlsConnect>, &str) -> Result<T> + Send + 'static,
) -> Result<T> {
    static WAITING: AtomicUsize = AtomicUsize::new(0);
    let ConnectSettings { mut config, tls } = tls::parse_url(url)?;
    config.connect_timeout(timeout).tcp_user_timeout(SILENCE_MAX).keepalives_idle(SILENCE_MAX);
    config.application_name("sayso");
    if WAITING.load(Ordering::Relaxed) >= WAITING_MAX {
        return Err(silent(format!("{WAITING_MAX} others wait for it already")));
    }
    let (sender, receiver) = channel();
    let place = StoreLocation::Postgres(url.into()).to_string();
    WAITING.fetch_add(1, Ordering::Relaxed);
    let waiting = std::thread::Builder::new().name("sayso-connect".into()).spawn(move || {
        // The caller may have timed out.
        let _ = sender.send(greet(&config, tls, &place));
        WAITING.fetch_sub(1, Ordering::Relaxed);
    });
    waiting.map_err(|e| {
        WAITING.fetch_sub(1, Ordering::Relaxed);
        Error::Other(format!("no thread to connect with: {e}"))
    })?;
    let no_word = |_| silent(format!("no word from it within {timeout:?}"));
    receiver.recv_timeout(timeout).map_err(no_word)?
}

/// Builds the error for a database that does not respond.
pub(crate) fn silent(why: impl std::fmt::Display) -> Error {
    Error::Unreachable(format!("PostgreSQL does not answer: {why}"))
}

/// Returns an error with its causes: the library's own text stops at "error connecting to server".
pub(crate) fn in_full(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

fn failure(error: &PgError, place: &str) -> Error {
    let place = place.to_owned();
    let Some(said) = error.as_db_error() else { return silent(in_full(error)) };
    if matches!(said.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) {
        return silent(in_full(error));
    }
    match *said.code() {
        SqlState::UNIQUE_VIOLATION
        | SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED => Error::Conflict,
        SqlState::LOCK_NOT_AVAILABLE => Error::Busy(20),
        SqlState::INVALID_TEXT_REPRESENTATION if said.message().contains(EXPIRED) => Error::Expired,
        SqlState::INVALID_TEXT_REPRESENTATION if said.message().contains(NEWER_SCHEMA) => {
            Error::NewerSchema { place, found: number_in(said.message()), known: schema::VERSION }
        }
        SqlState::DISK_FULL => Error::DiskFull(place),
        SqlState::READ_ONLY_SQL_TRANSACTION | SqlState::INSUFFICIENT_PRIVILEGE => {
            Error::ReadOnly(place)
        }
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => {
            Error::Broken { place, why: in_full(error) }
        }
        _ => Error::Other(format!("{place}: {}", in_full(error))),
    }
}

/// Markers for a transaction that must not be committed: the server fails to cast them to a number, and its error
/// quotes them.
const NEWER_SCHEMA: &str = "sayso-newer-schema";
const EXPIRED: &str = "sayso-expired";

/// Builds the checks that the server makes right before a commit, and the commit. They are one message, so that no
/// other statement can run in between, however late it arrives.
fn checked_commit(commit_before: Option<i64>) -> String {
    let newest = schema::VERSION;
    let expiry = commit_before.map_or_else(String::new, |at| {
        format!(
            " WHEN extract(epoch FROM clock_timestamp()) * 1000000 >= {at} \
             THEN CAST('{EXPIRED} ' || version AS INT)"
        )
    });
    format!(
        "SELECT CASE WHEN version > {newest} THEN CAST('{NEWER_SCHEMA} ' || version AS INT){expiry} END \
         FROM sayso.schema; COMMIT"
    )
}

/// Returns the number in an error that quotes one of the markers.
fn number_in(message: &str) -> i64 {
    let digits: String = message.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

/// Converts placeholders from SQLite's `?1` to PostgreSQL's `$1`.
fn numbered(sql: &str) -> String {
    sql.replace('?', "$")
}

impl PgConnection {
    fn statement(&mut self, sql: &str) -> Result<Statement> {
        self.statement_of(sql, || numbered(sql))
    }

    /// Returns the prepared statement with this cache key, preparing it if it is new.
    fn statement_of(&mut self, name: &str, sql: impl FnOnce() -> String) -> Result<Statement> {
        if let Some(statement) = self.statements.get(name) {
            return Ok(statement.clone());
        }
        if self.statements.len() >= STATEMENTS_KEPT_MAX {
            self.statements.clear();
        }
        let prepared = self.pipe.prepare(&sql());
        let prepared = prepared.map_err(|e| failure(&e, &self.place))?;
        self.statements.insert(name.into(), prepared.clone());
        Ok(prepared)
    }

    fn exec_step(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<PipelineStep> {
        check_texts(args)?;
        Ok(PipelineStep::Exec(self.statement(sql)?, OwnedValue::all(args)))
    }

    /// Queues a write until the next round trip, merged with its neighbours if possible.
    fn enqueue_write(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<()> {
        check_texts(args)?;
        if reads_no_table(sql) {
            self.merge.push(sql, OwnedValue::all(args));
            return self.flush();
        }
        if !self.merge.takes(sql) {
            self.flush()?;
        }
        if self.merge.takes(sql) {
            self.merge.push(sql, OwnedValue::all(args));
            return Ok(());
        }
        let step = self.exec_step(sql, args)?;
        self.keep(step)
    }

    /// Moves the merged writes to the pipe.
    fn flush(&mut self) -> Result<()> {
        if self.merge.is_empty() {
            return Ok(());
        }
        let (name, sqls, values) = self.merge.take();
        let statement = self.statement_of(&name, || numbered(&merged(&sqls)))?;
        self.keep(PipelineStep::Exec(statement, values))
    }

    fn keep(&mut self, step: PipelineStep) -> Result<()> {
        if self.pipe.enqueue(step) { self.send().map(drop) } else { Ok(()) }
    }

    fn step(&mut self, step: PipelineStep) -> Result<PipelineResult> {
        self.flush()?;
        self.pipe.enqueue(step);
        Ok(self.send()?.unwrap_or_default())
    }

    /// Sends the queue and returns the result of its last step. Prefetched queries have their results then.
    fn send(&mut self) -> Result<Option<PipelineResult>> {
        let came = self.pipe.send().map_err(|e| failure(&e, &self.place))?;
        let mut last = None;
        for (question, came) in came {
            if let Some(question) = &question {
                self.early.fill(question, came.rows.iter().map(row).collect());
            }
            last = Some(came);
        }
        Ok(last)
    }

    fn rows(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<Vec<SqlRow>> {
        // No row holds a text with NUL, so none matches; the server would reject the query.
        if holds_nul(args) {
            return Ok(vec![]);
        }
        let question = query_key(sql, args);
        if self.early.has(&question) {
            if self.early.answer(&question).is_none() {
                self.flush()?;
                self.send()?;
            }
            if let Some(rows) = self.early.answer(&question) {
                return Ok(rows);
            }
        }
        let step = PipelineStep::Query(self.statement(sql)?, OwnedValue::all(args));
        Ok(self.step(step)?.rows.iter().map(row).collect())
    }

    fn prefetch_query(&mut self, about: &[&str], sql: &str, args: &[SqlArg<'_>]) -> Result<()> {
        let question = query_key(sql, args);
        if holds_nul(args) || !self.early.note(&question, about) {
            return Ok(());
        }
        self.flush()?;
        let step = PipelineStep::Query(self.statement(sql)?, OwnedValue::all(args));
        if self.pipe.enqueue_prefetch(step, question) { self.send().map(drop) } else { Ok(()) }
    }

    fn note<T>(&mut self, result: Result<T>) -> Result<T> {
        result.map_err(|error| {
            self.is_lost |= matches!(error, Error::Unreachable(_) | Error::OutcomeUnknown(_));
            // After the first error the server reports only that the transaction failed.
            self.failed.get_or_insert(error).clone()
        })
    }
}

impl schema::SchemaVersioned for PgConnection {
    fn version(&mut self) -> Result<i64> {
        let sql = "SELECT version FROM sayso.schema";
        let found =
            self.pipe.prepare(sql).and_then(|s| self.pipe.step(PipelineStep::Query(s, vec![])));
        match found.map(|came| came.rows) {
            Ok(rows) => Ok(rows.first().map_or(0, |row| row.get(0))),
            Err(e) if e.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(0),
            Err(e) => Err(failure(&e, &self.place)),
        }
    }

    fn set_version(&mut self, version: i64) -> Result<()> {
        self.batch(&format!("DELETE FROM schema; INSERT INTO schema VALUES ({version})"))
    }

    /// Serialises migrations: the first of several processes creates the schema, the others wait for it. Writers that
    /// hold the lock of a space are waited for, too, so that none of them commits rows of an older version after the
    /// change.
    fn prepare(&mut self) -> Result<()> {
        self.batch(
            "SELECT pg_advisory_xact_lock(8315179); CREATE SCHEMA IF NOT EXISTS sayso; \
             CREATE TABLE IF NOT EXISTS sayso.schema (version BIGINT NOT NULL); \
             DO $$ BEGIN IF to_regclass('sayso.spaces') IS NOT NULL THEN \
               LOCK TABLE sayso.spaces IN EXCLUSIVE MODE; END IF; END $$",
        )
    }

    fn place(&self) -> String {
        self.place.clone()
    }
}

impl ToSql for SqlArg<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            SqlArg::Null => Ok(IsNull::Yes),
            SqlArg::Int(value) if *ty == Type::INT4 => i32::try_from(*value)?.to_sql(ty, out),
            SqlArg::Int(value) => value.to_sql(ty, out),
            SqlArg::Text(value) => value.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    tokio_postgres::types::to_sql_checked!();
}

impl std::fmt::Display for SqlArg<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SqlArg::Null => f.write_str("null"),
            SqlArg::Int(value) => value.fmt(f),
            SqlArg::Text(value) => value.fmt(f),
        }
    }
}

fn row(row: &tokio_postgres::Row) -> SqlRow {
    let cells = row.columns().iter().enumerate().map(|(at, column)| match *column.type_() {
        Type::INT8 => row.get::<_, Option<i64>>(at).map_or(SqlCell::Null, SqlCell::Int),
        Type::INT4 => {
            row.get::<_, Option<i32>>(at).map_or(SqlCell::Null, |v| SqlCell::Int(v.into()))
        }
        Type::BOOL => {
            row.get::<_, Option<bool>>(at).map_or(SqlCell::Null, |v| SqlCell::Int(v.into()))
        }
        _ => {
            row.try_get::<_, Option<String>>(at).ok().flatten().map_or(SqlCell::Null, SqlCell::Text)
        }
    });
    SqlRow(cells.collect())
}

impl SqlTransaction for PgConnection {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Postgres
    }

    fn exec(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<u64> {
        self.early.forget();
        let result = self.exec_step(sql, args).and_then(|step| self.step(step));
        self.note(result).map(|came| came.count)
    }

    fn prefetch(&mut self, about: &[&str], sql: &str, args: &[SqlArg<'_>]) -> Result<()> {
        let result = self.prefetch_query(about, sql, args);
        self.note(result)
    }

    fn exec_deferred(
        &mut self,
        about: InvalidationScope<'_>,
        sql: &str,
        args: &[SqlArg<'_>],
    ) -> Result<()> {
        self.early.invalidate(about);
        let result = self.enqueue_write(sql, args);
        self.note(result)
    }

    fn query(&mut self, sql: &str, args: &[SqlArg<'_>]) -> Result<Vec<SqlRow>> {
        let result = self.rows(sql, args);
        self.note(result)
    }

    fn batch(&mut self, sql: &str) -> Result<()> {
        self.early.forget();
        let result = self.step(PipelineStep::Batch(sql.into()));
        self.note(result).map(drop)
    }
}

impl DatabaseConnection for PgConnection {
    /// Begins a transaction: reads use one snapshot; writes read committed rows once they hold the lock of the space.
    /// The statement is sent with the next one.
    fn begin(&mut self, intent: TransactionKind) -> Result<()> {
        self.early.forget();
        self.commit_before = None;
        (self.failed, self.is_lost) = (None, self.is_lost || self.has_hung_up());
        if self.is_lost {
            return Err(silent("the connection was lost"));
        }
        let begin = match intent {
            TransactionKind::Autocommit => return Ok(()),
            TransactionKind::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            TransactionKind::Write => "BEGIN",
            TransactionKind::RelaxedWrite => "BEGIN; SET LOCAL synchronous_commit TO off",
        };
        let result = self.keep(PipelineStep::Batch(begin.into()));
        self.note(result)
    }

    fn commit(&mut self) -> Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None if self.has_only_begun() => {
                self.pipe.forget();
                Ok(())
            }
            None => self.commit_checked(),
        }
    }

    fn check_schema(&mut self) -> Result<()> {
        schema::check(self).map(drop)
    }

    fn commit_before(&mut self, database_micros: i64) {
        let earliest = self.commit_before.map_or(database_micros, |at| at.min(database_micros));
        self.commit_before = Some(earliest);
    }

    fn rollback(&mut self) {
        let has_only_begun = self.has_only_begun();
        self.merge.clear();
        self.pipe.forget();
        // A lost connection has lost its transaction, too. On a live one, the next user finds it rolled back.
        if !has_only_begun && !self.is_lost {
            self.pipe.tell("ROLLBACK");
        }
    }

    fn shorten_timeouts(&mut self) -> Result<()> {
        self.pipe.limit_exchanges(SERVER_EXCHANGE_MAX);
        self.batch(SERVER_SESSION)
    }

    fn is_alive(&self) -> bool {
        !self.is_lost && !self.pipe.is_closed()
    }
}

impl PgConnection {
    /// Sends the queue and the commit. If the connection breaks after that, the outcome is unknown: the server may
    /// have committed or not.
    fn commit_checked(&mut self) -> Result<()> {
        self.early.forget();
        let result = self.flush().and_then(|()| {
            self.pipe.enqueue(PipelineStep::Batch(checked_commit(self.commit_before)));
            self.send().map(drop).map_err(|error| match error {
                Error::Unreachable(why) => Error::OutcomeUnknown(why),
                error => error,
            })
        });
        self.note(result)
    }

    fn has_only_begun(&self) -> bool {
        self.merge.is_empty() && self.pipe.has_only_begun()
    }

    /// True if the server closed the connection while it was idle.
    fn has_hung_up(&mut self) -> bool {
        self.pipe.read_pending();
        self.pipe.is_closed()
    }
}
