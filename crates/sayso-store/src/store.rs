//! The store: read and write transactions, a connection pool, and notifications of commits.

use crate::breaker::CircuitBreaker;
use crate::explain::ExplainingConnection;
use crate::group_commit::{GroupCommit, WriteJob};
use crate::prefetch::PrefetchPlan;
use crate::tx::{DatabaseConnection, TransactionKind};
use crate::watch::{self, CommitAnnouncer, CommitWatch, WatchTopic};
use crate::{
    Error, ReadTransaction, Result, StoreLocation, WriteTransaction, postgres, probe, sqlite,
};
use sayso_core::Timestamp;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// The size of the connection pool. To open a connection takes longer than most of the work done on it, so callers
/// wait for a free one when all are in use.
const CONNECTIONS_MAX: usize = 16;

/// The longest wait for a free connection. After that one more is opened: the holders of the others may be waiting
/// for this caller.
const TURN_MAX: Duration = Duration::from_secs(1);

/// A store. A command opens one, does its work and exits; a server calls [`Store::with_group_commit`] and shares it
/// among its threads.
pub struct Store {
    place: StoreLocation,
    connections: Mutex<ConnectionPool>,
    given_back: Condvar,
    group: Option<GroupCommit>,
    announcer: CommitAnnouncer,
    listeners: watch::ListenerPool,
    breaker: Arc<CircuitBreaker>,
}

#[derive(Default)]
struct ConnectionPool {
    idle: Vec<Box<dyn DatabaseConnection>>,
    in_use: usize,
}

impl Store {
    /// Opens an existing store. A database without our schema, or with an older one, is migrated.
    pub fn open(place: StoreLocation) -> Result<Self> {
        let first = connect(&place)?;
        Ok(Self::with(place, first))
    }

    /// Creates a new store, or opens the existing one.
    pub fn create(place: StoreLocation) -> Result<Self> {
        let first: Box<dyn DatabaseConnection> = match &place {
            StoreLocation::Sqlite(path) => Box::new(sqlite::create(path)?),
            StoreLocation::Memory | StoreLocation::Postgres(_) => connect(&place)?,
        };
        Ok(Self::with(place, first))
    }

    fn with(place: StoreLocation, first: Box<dyn DatabaseConnection>) -> Self {
        let (given_back, listeners, breaker) = Default::default();
        let connections = Mutex::new(ConnectionPool { idle: vec![first], in_use: 0 });
        let announcer = CommitAnnouncer::of(place.clone());
        Self { place, connections, given_back, group: None, announcer, listeners, breaker }
    }

    /// Adds a writer thread that commits the writes of many threads together. From then on no call waits long for a
    /// database that does not respond.
    pub fn with_group_commit(mut self) -> Result<Self> {
        // In memory there is one connection, and no sync that a group could share.
        if self.place != StoreLocation::Memory {
            let (place, announcer) = (self.place.clone(), self.announcer.clone());
            self.group = Some(GroupCommit::start(place, announcer, self.breaker.clone())?);
            self.all().idle.iter_mut().try_for_each(|conn| conn.shorten_timeouts())?;
        }
        Ok(self)
    }

    /// True if it has a writer thread.
    pub fn has_writer(&self) -> bool {
        self.group.is_some()
    }

    /// Probes if the store accepts writes: makes a small write that changes nothing, on a connection of its own and
    /// with a timeout of its own.
    pub fn probe(&self) -> Result<()> {
        match &self.place {
            StoreLocation::Memory => Ok(()),
            StoreLocation::Sqlite(path) => probe::sqlite(path),
            StoreLocation::Postgres(_) => {
                self.with_transaction(TransactionKind::RelaxedWrite, |conn| {
                    let outcome = probe::touch(conn).and_then(|()| conn.commit());
                    if outcome.is_err() {
                        conn.rollback();
                    }
                    outcome
                })?;
                // In a transaction of its own: a write holds the schema first, and its turn second.
                self.with_transaction(TransactionKind::RelaxedWrite, |conn| {
                    let outcome = probe::take_turn(conn);
                    conn.rollback();
                    outcome
                })
            }
        }
    }

    pub fn place(&self) -> &StoreLocation {
        &self.place
    }

    /// Runs `work` on one snapshot of the store.
    pub fn read<T>(&self, work: impl FnOnce(&mut ReadTransaction<'_>) -> Result<T>) -> Result<T> {
        self.with_transaction(TransactionKind::Read, |conn| {
            let ending = RollbackGuard(conn);
            work(&mut ReadTransaction::new(ending.0))
        })
    }

    /// Runs `work` without a transaction: each statement sees its own snapshot. For one statement, or for several
    /// that are each right at any time.
    pub fn query<T>(&self, work: impl FnOnce(&mut ReadTransaction<'_>) -> Result<T>) -> Result<T> {
        self.with_transaction(TransactionKind::Autocommit, |conn| {
            work(&mut ReadTransaction::new(conn))
        })
    }

    /// Runs `work` in one transaction: all of it is committed, or nothing. It may run more than once and must have no
    /// side effects.
    pub fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut WriteTransaction<'_>) -> Result<T> + Send + 'static,
    {
        self.write_prefetched(PrefetchPlan::default(), work)
    }

    /// Runs `work` in one transaction, with its queries prefetched.
    pub fn write_prefetched<T, F>(&self, foresight: PrefetchPlan, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut WriteTransaction<'_>) -> Result<T> + Send + 'static,
    {
        match &self.group {
            Some(group) => group.submit(foresight, work),
            None => self.write_alone(TransactionKind::Write, foresight, work),
        }
    }

    /// Runs `work` in one transaction that does not wait for the disk: only for data that may be lost in a power
    /// failure. Other connections see it at once.
    pub fn note<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut WriteTransaction<'_>) -> Result<T> + Send + 'static,
    {
        match &self.group {
            // It is synced together with the rest of the group.
            Some(group) => group.submit(PrefetchPlan::default(), work),
            None => self.write_alone(TransactionKind::RelaxedWrite, PrefetchPlan::default(), work),
        }
    }

    fn write_alone<T, F>(
        &self,
        intent: TransactionKind,
        foresight: PrefetchPlan,
        work: F,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut WriteTransaction<'_>) -> Result<T> + Send + 'static,
    {
        let (mut job, reply) = WriteJob::new(foresight, work);
        self.with_transaction(intent, |conn| {
            let topics = crate::group_commit::commit(conn, std::slice::from_mut(&mut job))?;
            self.announcer.announce(&topics);
            conn.tidy_up();
            Ok(())
        })?;
        job.finish(Ok(()));
        reply.recv().map_err(|_| Error::Other("the write gave no result".into()))?
    }

    /// Returns a watch that waits for a commit about one of the topics. Read the row after every wake-up and before
    /// the first wait: a wake-up carries no data.
    pub fn watch(&self, topics: &[WatchTopic]) -> Result<CommitWatch> {
        CommitWatch::new(&self.place, topics, &self.announcer.local, &self.listeners)
    }

    /// Subscribes `hears` to the topics of each commit of this store, from the moment it counts, until it returns
    /// false. It blocks the writer while it runs.
    pub fn subscribe(&self, hears: impl Fn(&[WatchTopic]) -> bool + Send + 'static) {
        self.announcer.near.add(Box::new(hears));
    }

    /// Runs the integrity check of the database and returns its complaints.
    pub fn check_file(&self) -> Result<Vec<String>> {
        if matches!(self.place, StoreLocation::Postgres(_)) {
            return Ok(vec![]);
        }
        self.with_transaction(TransactionKind::Read, |conn| {
            let ending = RollbackGuard(conn);
            let rows = ending.0.query("PRAGMA integrity_check(10)", &[])?;
            Ok(rows.iter().map(|r| r.text(0).to_owned()).filter(|line| line != "ok").collect())
        })
    }

    /// Returns the time of the file system that holds the database; none without a file, or if no file can be created
    /// beside it.
    pub fn file_clock(&self) -> Option<Timestamp> {
        let StoreLocation::Sqlite(path) = &self.place else { return None };
        let beside = path.with_extension(format!("clock-{}", std::process::id()));
        let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&beside);
        let modified = made.and_then(|file| file.metadata()?.modified());
        // A file that is left behind is empty and harmless.
        let _ = std::fs::remove_file(&beside);
        let since = modified.ok()?.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_micros()).ok().map(Timestamp::from_micros)
    }

    /// Refuses a schema of a later version.
    pub fn check_schema(&self) -> Result<()> {
        self.with_transaction(TransactionKind::Read, |conn| {
            let ending = RollbackGuard(conn);
            ending.0.check_schema()
        })
    }

    /// Writes a snapshot of the store into a new file, while others continue. For SQLite files only: other databases
    /// have tools of their own.
    pub fn copy_to(&self, file: &std::path::Path) -> Result<()> {
        match &self.place {
            StoreLocation::Sqlite(from) => sqlite::copy(from, file),
            StoreLocation::Memory | StoreLocation::Postgres(_) => {
                Err(Error::Other(format!("{} is not in a file of ours", self.place)))
            }
        }
    }

    /// Returns the query plan of each statement of `work`. Nothing is committed. For tests.
    #[doc(hidden)]
    pub fn explain<T>(
        &self,
        work: impl FnOnce(&mut WriteTransaction<'_>) -> Result<T>,
    ) -> Result<Vec<(String, String)>> {
        self.with_transaction(TransactionKind::Write, |conn| {
            let ending = RollbackGuard(conn);
            let mut explaining = ExplainingConnection { conn: ending.0, plans: vec![] };
            work(&mut WriteTransaction::new(&mut explaining))?;
            Ok(explaining.plans)
        })
    }

    /// Runs `work` on a connection with a transaction of this kind; `work` ends it.
    fn with_transaction<T>(
        &self,
        intent: TransactionKind,
        work: impl FnOnce(&mut dyn DatabaseConnection) -> Result<T>,
    ) -> Result<T> {
        // The one connection of a store in memory *is* the store, so all callers wait for it.
        if self.place == StoreLocation::Memory {
            let mut all = self.all();
            let conn = all.idle.first_mut().ok_or_else(|| Error::Other("no connection".into()))?;
            conn.begin(intent)?;
            return work(conn.as_mut());
        }
        if self.group.is_none() {
            let mut turn = PooledConnection { store: self, conn: self.take() };
            return turn.begin_transaction(intent).and_then(work);
        }
        let trial = self.breaker.begin(Instant::now())?;
        let mut turn = PooledConnection { store: self, conn: self.take() };
        let outcome = turn.begin_transaction(intent).and_then(work);
        drop(turn);
        self.breaker.end(&trial, &outcome, Instant::now());
        outcome
    }

    /// Takes an idle connection, or none if the caller is to open one.
    fn take(&self) -> Option<Box<dyn DatabaseConnection>> {
        let until = Instant::now() + TURN_MAX;
        let mut all = self.all();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if !all.idle.is_empty() || all.in_use < CONNECTIONS_MAX || left.is_zero() {
                all.in_use += 1;
                return all.idle.pop();
            }
            let waited = self.given_back.wait_timeout(all, left);
            all = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn all(&self) -> MutexGuard<'_, ConnectionPool> {
        // A panic while it is locked leaves the list intact: connections are only pushed or popped.
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection taken from the pool, which is returned at its end.
struct PooledConnection<'a> {
    store: &'a Store,
    conn: Option<Box<dyn DatabaseConnection>>,
}

impl PooledConnection<'_> {
    /// Returns the connection with its transaction begun. An idle one may be lost meanwhile; it has run nothing yet,
    /// so another is taken.
    fn begin_transaction(
        &mut self,
        intent: TransactionKind,
    ) -> Result<&mut dyn DatabaseConnection> {
        while let Some(conn) = self.conn.as_mut() {
            let outcome = conn.begin(intent);
            if outcome.is_ok() {
                break;
            }
            if conn.is_alive() {
                outcome?;
            }
            self.conn = self.store.all().idle.pop();
        }
        if self.conn.is_none() {
            let conn = if self.store.has_writer() {
                connect_shared(&self.store.place)?
            } else {
                connect(&self.store.place)?
            };
            self.conn.insert(conn).begin(intent)?;
        }
        let missing = || Error::Other("no connection".into());
        Ok(self.conn.as_mut().ok_or_else(missing)?.as_mut())
    }
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        let mut all = self.store.all();
        all.in_use = all.in_use.saturating_sub(1);
        let kept = self.conn.take().filter(|conn| conn.is_alive());
        let has_room = all.idle.len() < CONNECTIONS_MAX;
        all.idle.extend(kept.filter(|_| has_room));
        drop(all);
        self.store.given_back.notify_one();
    }
}

/// Rolls back a transaction that wrote nothing to keep, also after a panic in the work.
struct RollbackGuard<'a>(&'a mut dyn DatabaseConnection);

impl Drop for RollbackGuard<'_> {
    fn drop(&mut self) {
        self.0.rollback();
    }
}

/// Connects with the short timeouts of a server that many callers wait for.
pub(crate) fn connect_shared(place: &StoreLocation) -> Result<Box<dyn DatabaseConnection>> {
    let mut conn = connect(place)?;
    conn.shorten_timeouts()?;
    Ok(conn)
}

fn connect(place: &StoreLocation) -> Result<Box<dyn DatabaseConnection>> {
    Ok(match place {
        StoreLocation::Memory => Box::new(sqlite::memory()?),
        StoreLocation::Sqlite(path) => Box::new(sqlite::open(path)?),
        StoreLocation::Postgres(url) => Box::new(postgres::open(url)?),
    })
}
