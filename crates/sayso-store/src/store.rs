//! The store: reads, writes, and who is woken by them.

use crate::breaker::Breaker;
use crate::explain::Explaining;
use crate::foresight::Foresight;
use crate::tx::{Conn, Intent};
use crate::watch::{self, Announcer, Topic, Watch};
use crate::writer::{Group, Job};
use crate::{Error, Place, Read, Result, Write, postgres, probe, sqlite};
use sayso_core::Timestamp;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// How many connections there are for whoever comes. To open one takes longer than most of what is done on
/// it, so those who come while all are in use wait until one is given back.
const CONNECTIONS_MAX: usize = 16;

/// The longest one waits for that. Then one more is opened: whoever has it may be waiting for us.
const TURN_MAX: Duration = Duration::from_secs(1);

/// A store. A command on the line opens one, does its deed and ends; a server calls
/// [`Store::with_group_commit`] and shares it among its threads.
pub struct Store {
    place: Place,
    connections: Mutex<Connections>,
    given_back: Condvar,
    group: Option<Group>,
    announcer: Announcer,
    ears: watch::Ears,
    breaker: Arc<Breaker>,
}

#[derive(Default)]
struct Connections {
    idle: Vec<Box<dyn Conn>>,
    in_use: usize,
}

impl Store {
    /// Opens what is there. A database without our schema, or with an older one, gets it.
    pub fn open(place: Place) -> Result<Self> {
        let first = connect(&place)?;
        Ok(Self::with(place, first))
    }

    /// Makes a new store, or opens the one that is there.
    pub fn create(place: Place) -> Result<Self> {
        let first: Box<dyn Conn> = match &place {
            Place::Sqlite(path) => Box::new(sqlite::create(path)?),
            Place::Memory | Place::Postgres(_) => connect(&place)?,
        };
        Ok(Self::with(place, first))
    }

    fn with(place: Place, first: Box<dyn Conn>) -> Self {
        let (given_back, ears, breaker) = Default::default();
        let connections = Mutex::new(Connections { idle: vec![first], in_use: 0 });
        let announcer = Announcer::of(place.clone());
        Self { place, connections, given_back, group: None, announcer, ears, breaker }
    }

    /// Gives the store a writer of its own that commits what many threads write in one go. From then on nothing
    /// waits long for a database that does not answer.
    pub fn with_group_commit(mut self) -> Result<Self> {
        // In memory there is one connection, and nothing to sync that a group could share.
        if self.place != Place::Memory {
            let (place, announcer) = (self.place.clone(), self.announcer.clone());
            self.group = Some(Group::start(place, announcer, self.breaker.clone())?);
            self.all().idle.iter_mut().try_for_each(|conn| conn.hurry())?;
        }
        Ok(self)
    }

    /// Whether it has a writer of its own.
    pub fn has_writer(&self) -> bool {
        self.group.is_some()
    }

    /// Makes a small write that changes nothing, on a way of its own and with a limit of its own: whether the store
    /// takes writes at this moment.
    pub fn probe(&self) -> Result<()> {
        match &self.place {
            Place::Memory => Ok(()),
            Place::Sqlite(path) => probe::sqlite(path),
            Place::Postgres(_) => {
                self.with_transaction(Intent::Note, |conn| {
                    let outcome = probe::touch(conn).and_then(|()| conn.commit());
                    if outcome.is_err() {
                        conn.rollback();
                    }
                    outcome
                })?;
                // In a transaction of its own: a write holds the schema first, and its turn second.
                self.with_transaction(Intent::Note, |conn| {
                    let outcome = probe::take_turn(conn);
                    conn.rollback();
                    outcome
                })
            }
        }
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Runs `work` on one moment's view of the store.
    pub fn read<T>(&self, work: impl FnOnce(&mut Read<'_>) -> Result<T>) -> Result<T> {
        self.with_transaction(Intent::Read, |conn| {
            let ending = Ending(conn);
            work(&mut Read::new(ending.0))
        })
    }

    /// Runs `work` without a transaction around it: each statement sees a moment of its own. For one
    /// statement, or for several of which each is right whenever it runs.
    pub fn look<T>(&self, work: impl FnOnce(&mut Read<'_>) -> Result<T>) -> Result<T> {
        self.with_transaction(Intent::Look, |conn| work(&mut Read::new(conn)))
    }

    /// Runs `work` in one transaction: all of it counts, or none. It may run more than once and
    /// must have no effect but what it writes.
    pub fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Write<'_>) -> Result<T> + Send + 'static,
    {
        self.write_foreseen(Foresight::default(), work)
    }

    /// The same, by somebody who knows what it is going to look at.
    pub fn write_foreseen<T, F>(&self, foresight: Foresight, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Write<'_>) -> Result<T> + Send + 'static,
    {
        match &self.group {
            Some(group) => group.submit(foresight, work),
            None => self.write_alone(Intent::Write, foresight, work),
        }
    }

    /// The same, without waiting for the disk: for what may be lost when the machine loses its power,
    /// and for nothing else. Others see it at once.
    pub fn note<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Write<'_>) -> Result<T> + Send + 'static,
    {
        match &self.group {
            // It waits together with the others.
            Some(group) => group.submit(Foresight::default(), work),
            None => self.write_alone(Intent::Note, Foresight::default(), work),
        }
    }

    fn write_alone<T, F>(&self, intent: Intent, foresight: Foresight, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Write<'_>) -> Result<T> + Send + 'static,
    {
        let (mut job, reply) = Job::new(foresight, work);
        self.with_transaction(intent, |conn| {
            let topics = crate::writer::commit(conn, std::slice::from_mut(&mut job))?;
            self.announcer.announce(&topics);
            conn.tidy_up();
            Ok(())
        })?;
        job.finish(Ok(()));
        reply.recv().map_err(|_| Error::Other("the write gave no result".into()))?
    }

    /// Something to wait with until one of the topics was written about. Read the row after every
    /// wake-up and before the first wait: a wake-up carries no truth.
    pub fn watch(&self, topics: &[Topic]) -> Result<Watch> {
        Watch::new(&self.place, topics, &self.announcer.local, &self.ears)
    }

    /// Calls `hears` with what each commit of this store was about, as soon as it counts, until it says that
    /// it wants to hear no more. It keeps others waiting for as long as it takes.
    pub fn hear(&self, hears: impl Fn(&[Topic]) -> bool + Send + 'static) {
        self.announcer.near.add(Box::new(hears));
    }

    /// Whether the database finds itself in order.
    pub fn check_file(&self) -> Result<Vec<String>> {
        if matches!(self.place, Place::Postgres(_)) {
            return Ok(vec![]);
        }
        self.with_transaction(Intent::Read, |conn| {
            let ending = Ending(conn);
            let rows = ending.0.query("PRAGMA integrity_check(10)", &[])?;
            Ok(rows.iter().map(|r| r.text(0).to_owned()).filter(|line| line != "ok").collect())
        })
    }

    /// What the file system of the database says the time is; none where there is no file of ours, or none can
    /// be written beside it.
    pub fn file_clock(&self) -> Option<Timestamp> {
        let Place::Sqlite(path) = &self.place else { return None };
        let beside = path.with_extension(format!("clock-{}", std::process::id()));
        let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&beside);
        let modified = made.and_then(|file| file.metadata()?.modified());
        // One that stays is as harmless as an empty file can be.
        let _ = std::fs::remove_file(&beside);
        let since = modified.ok()?.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_micros()).ok().map(Timestamp::from_micros)
    }

    /// Refuses a schema that a later version made.
    pub fn check_schema(&self) -> Result<()> {
        self.with_transaction(Intent::Read, |conn| {
            let ending = Ending(conn);
            ending.0.check_schema()
        })
    }

    /// Writes all that is here at one moment into a new file, while others go on. Only what SQLite keeps in a
    /// file: other databases have ways of their own.
    pub fn copy_to(&self, file: &std::path::Path) -> Result<()> {
        match &self.place {
            Place::Sqlite(from) => sqlite::copy(from, file),
            Place::Memory | Place::Postgres(_) => {
                Err(Error::Other(format!("{} is not in a file of ours", self.place)))
            }
        }
    }

    /// How the database goes about what `work` asks for, statement by statement. Nothing of it
    /// counts. For tests.
    #[doc(hidden)]
    pub fn explain<T>(
        &self,
        work: impl FnOnce(&mut Write<'_>) -> Result<T>,
    ) -> Result<Vec<(String, String)>> {
        self.with_transaction(Intent::Write, |conn| {
            let ending = Ending(conn);
            let mut explaining = Explaining { conn: ending.0, plans: vec![] };
            work(&mut Write::new(&mut explaining))?;
            Ok(explaining.plans)
        })
    }

    /// Runs `work` on a connection whose transaction has begun, if it takes one; `work` ends it.
    fn with_transaction<T>(
        &self,
        intent: Intent,
        work: impl FnOnce(&mut dyn Conn) -> Result<T>,
    ) -> Result<T> {
        // The one connection of a store in memory *is* the store: everybody waits for it.
        if self.place == Place::Memory {
            let mut all = self.all();
            let conn = all.idle.first_mut().ok_or_else(|| Error::Other("no connection".into()))?;
            conn.begin(intent)?;
            return work(conn.as_mut());
        }
        if self.group.is_none() {
            let mut turn = Turn { store: self, conn: self.take() };
            return turn.begun(intent).and_then(work);
        }
        let trial = self.breaker.begin(Instant::now())?;
        let mut turn = Turn { store: self, conn: self.take() };
        let outcome = turn.begun(intent).and_then(work);
        drop(turn);
        self.breaker.end(&trial, &outcome, Instant::now());
        outcome
    }

    /// One that is idle, or none when it is our turn to open one.
    fn take(&self) -> Option<Box<dyn Conn>> {
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

    fn all(&self) -> MutexGuard<'_, Connections> {
        // A panic elsewhere leaves a whole list behind: connections are pushed or popped.
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The use of one connection, which is given back at its end.
struct Turn<'a> {
    store: &'a Store,
    conn: Option<Box<dyn Conn>>,
}

impl Turn<'_> {
    /// The connection, with its transaction begun. One that was idle may be gone meanwhile; nothing was asked
    /// of it yet, so another will do.
    fn begun(&mut self, intent: Intent) -> Result<&mut dyn Conn> {
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
            let conn = match self.store.has_writer() {
                true => connect_shared(&self.store.place)?,
                false => connect(&self.store.place)?,
            };
            self.conn.insert(conn).begin(intent)?;
        }
        let missing = || Error::Other("no connection".into());
        Ok(self.conn.as_mut().ok_or_else(missing)?.as_mut())
    }
}

impl Drop for Turn<'_> {
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

/// Ends a transaction that wrote nothing to keep, also when a panic ends the work in it.
struct Ending<'a>(&'a mut dyn Conn);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.rollback();
    }
}

/// A connection of a process that many wait for.
pub(crate) fn connect_shared(place: &Place) -> Result<Box<dyn Conn>> {
    let mut conn = connect(place)?;
    conn.hurry()?;
    Ok(conn)
}

fn connect(place: &Place) -> Result<Box<dyn Conn>> {
    Ok(match place {
        Place::Memory => Box::new(sqlite::memory()?),
        Place::Sqlite(path) => Box::new(sqlite::open(path)?),
        Place::Postgres(url) => Box::new(postgres::open(url)?),
    })
}
