//! Group commit: concurrent writes of many threads share one transaction and one sync. Writes of people go ahead of
//! those of agents, in a small group, so that a person does not wait for the many.

use crate::breaker::CircuitBreaker;
use crate::prefetch::PrefetchPlan;
use crate::tx::{DatabaseConnection, TransactionKind};
use crate::watch::{CommitAnnouncer, WatchTopic};
use crate::{Error, Result, StoreLocation, WriteTransaction};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// The most writes that share a transaction.
const GROUP_SIZE_MAX: usize = 256;

/// The most writes of agents in a group. A person's write waits for at most one such group.
const REST_SIZE_MAX: usize = 24;

/// The most writes of agents that join a group of people's writes, so that agents do not starve.
const BESIDE_MAX: usize = 4;

/// A queued write, and the channel back to its caller.
pub(crate) struct WriteJob {
    work: Box<dyn AnyJob>,
    foresight: PrefetchPlan,
}

trait AnyJob: Send {
    fn run(&mut self, write: &mut WriteTransaction<'_>) -> Result<()>;
    fn finish(self: Box<Self>, committed: Result<()>);
}

struct TypedJob<T, F> {
    work: F,
    result: Option<T>,
    reply: Sender<Result<T>>,
}

impl<T: Send, F: FnMut(&mut WriteTransaction<'_>) -> Result<T> + Send> AnyJob for TypedJob<T, F> {
    fn run(&mut self, write: &mut WriteTransaction<'_>) -> Result<()> {
        self.result = Some((self.work)(write)?);
        Ok(())
    }

    fn finish(self: Box<Self>, committed: Result<()>) {
        let missing = || Error::Other("the write did not run".into());
        let TypedJob { result, reply, .. } = *self;
        // The caller may be gone; a committed write stays committed.
        let _ = reply.send(committed.and_then(|()| result.ok_or_else(missing)));
    }
}

impl WriteJob {
    pub(crate) fn new<T, F>(foresight: PrefetchPlan, work: F) -> (Self, Receiver<Result<T>>)
    where
        T: Send + 'static,
        F: FnMut(&mut WriteTransaction<'_>) -> Result<T> + Send + 'static,
    {
        let (reply, receiver) = channel();
        (Self { work: Box::new(TypedJob { work, result: None, reply }), foresight }, receiver)
    }

    pub(crate) fn finish(self, committed: Result<()>) {
        self.work.finish(committed);
    }
}

/// Runs the jobs in the open transaction, ends it, and returns the topics to announce.
pub(crate) fn commit(
    conn: &mut dyn DatabaseConnection,
    jobs: &mut [WriteJob],
) -> Result<Vec<WatchTopic>> {
    // A bug in one write must not take the writer thread, or a store in memory, from all others.
    let ran = catch_unwind(AssertUnwindSafe(|| run(conn, jobs)));
    let panicked = |_| Err(Error::Other("a write ended in a panic; nothing of it counts".into()));
    let outcome = ran.unwrap_or_else(panicked).and_then(|topics| conn.commit().map(|()| topics));
    if outcome.is_err() {
        conn.rollback();
    }
    outcome
}

fn run(conn: &mut dyn DatabaseConnection, jobs: &mut [WriteJob]) -> Result<Vec<WatchTopic>> {
    let mut write = WriteTransaction::new(conn);
    write.prefetch_all(jobs.iter().map(|job| &job.foresight))?;
    for job in jobs {
        job.work.run(&mut write)?;
    }
    write.close()
}

/// The queue of the writer thread.
pub(crate) struct GroupCommit {
    queue: Sender<WriteJob>,
}

impl GroupCommit {
    /// Starts the writer thread. It connects in the background: only writers wait for the connection.
    pub(crate) fn start(
        place: StoreLocation,
        announcer: CommitAnnouncer,
        breaker: Arc<CircuitBreaker>,
    ) -> Result<Self> {
        let (queue, jobs) = channel();
        std::thread::Builder::new()
            .name("sayso-writer".into())
            .spawn(move || {
                // A failure shows with the first write.
                let conn = crate::store::connect_shared(&place).ok();
                WriterThread { conn, place, announcer, breaker }.serve(&jobs);
            })
            .map_err(|e| Error::Other(format!("no thread for the writer: {e}")))?;
        Ok(Self { queue })
    }

    pub(crate) fn submit<T, F>(&self, foresight: PrefetchPlan, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut WriteTransaction<'_>) -> Result<T> + Send + 'static,
    {
        let (job, reply) = WriteJob::new(foresight, work);
        let gone = || Error::Other("the writer has ended".into());
        self.queue.send(job).map_err(|_| gone())?;
        reply.recv().map_err(|_| gone())?
    }
}

struct WriterThread {
    /// None if it was lost or could not be opened.
    conn: Option<Box<dyn DatabaseConnection>>,
    place: StoreLocation,
    announcer: CommitAnnouncer,
    breaker: Arc<CircuitBreaker>,
}

/// Queued writes, in two classes of priority.
#[derive(Default)]
struct WriteQueues {
    /// Writes that people wait for.
    ahead: VecDeque<WriteJob>,
    rest: VecDeque<WriteJob>,
}

impl WriteQueues {
    fn put(&mut self, job: WriteJob) {
        let line = if job.foresight.is_ahead { &mut self.ahead } else { &mut self.rest };
        line.push_back(job);
    }

    /// Takes the next group that shares a transaction.
    fn group(&mut self) -> Vec<WriteJob> {
        let first = self.ahead.len().min(GROUP_SIZE_MAX);
        let most = if first == 0 { REST_SIZE_MAX } else { BESIDE_MAX };
        let beside = self.rest.len().min(most);
        self.ahead.drain(..first).chain(self.rest.drain(..beside)).collect()
    }
}

impl WriterThread {
    /// Runs until the last sender is gone.
    fn serve(mut self, queue: &Receiver<WriteJob>) {
        let mut lines = WriteQueues::default();
        loop {
            queue.try_iter().for_each(|job| lines.put(job));
            let jobs = lines.group();
            if !jobs.is_empty() {
                self.commit_group(jobs);
            } else if let Ok(job) = queue.recv() {
                lines.put(job);
            } else {
                return;
            }
        }
    }

    /// Commits the jobs together if possible, and one by one if one fails, so that an error stays with its own job.
    fn commit_group(&mut self, jobs: Vec<WriteJob>) {
        let trial = match self.breaker.begin(Instant::now()) {
            Ok(trial) => trial,
            Err(error) => return refuse(jobs, &error),
        };
        let outcome = self.commit_together(jobs);
        self.breaker.end(&trial, &outcome, Instant::now());
    }

    fn commit_together(&mut self, mut jobs: Vec<WriteJob>) -> Result<()> {
        if let Err(error) = self.begin() {
            refuse(jobs, &error);
            return Err(error);
        }
        let error = match self.commit(&mut jobs) {
            Ok(()) => {
                jobs.into_iter().for_each(|job| job.finish(Ok(())));
                return Ok(());
            }
            Err(error) => error,
        };
        // After a lost connection the group may have been committed: the callers have to check first.
        if jobs.len() == 1 || self.conn.is_none() {
            refuse(jobs, &error);
            return Err(error);
        }
        for mut job in jobs {
            let alone = std::slice::from_mut(&mut job);
            let outcome = self.begin().and_then(|()| self.commit(alone));
            job.finish(outcome);
        }
        Ok(())
    }

    /// Begins on this connection, or on a fresh one if it was lost: it has run nothing yet.
    fn begin(&mut self) -> Result<()> {
        if let Some(conn) = &mut self.conn {
            let outcome = conn.begin(TransactionKind::Write);
            if conn.is_alive() {
                return outcome;
            }
        }
        self.conn.insert(crate::store::connect_shared(&self.place)?).begin(TransactionKind::Write)
    }

    /// Commits the open transaction and wakes the waiters of its topics.
    fn commit(&mut self, jobs: &mut [WriteJob]) -> Result<()> {
        let lost = || Error::Other("no connection".into());
        let mut conn = self.conn.take().ok_or_else(lost)?;
        let outcome = commit(conn.as_mut(), jobs);
        self.conn = Some(conn).filter(|conn| conn.is_alive());
        outcome.map(|topics| self.announcer.announce(&topics))
    }
}

fn refuse(jobs: Vec<WriteJob>, error: &Error) {
    for job in jobs {
        job.finish(Err(error.clone()));
    }
}
