//! Group commit: what many threads write at once shares one transaction and one sync. What people write goes
//! ahead of what agents write, in a small group, so that the one who waits does not wait for the many.

use crate::breaker::Breaker;
use crate::foresight::Foresight;
use crate::tx::{Conn, Intent};
use crate::watch::{Announcer, Topic};
use crate::{Error, Place, Result, Write};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// The most writes that share a transaction.
const GROUP_SIZE_MAX: usize = 256;

/// The most that agents' writes share. A person's write that comes waits for one such group.
const REST_SIZE_MAX: usize = 24;

/// How many of agents' writes go along with those of people, so that they go on, too.
const BESIDE_MAX: usize = 4;

/// A write that waits for its turn, and the way back to whoever asked for it.
pub(crate) struct Job {
    work: Box<dyn AnyJob>,
    foresight: Foresight,
}

trait AnyJob: Send {
    fn run(&mut self, write: &mut Write<'_>) -> Result<()>;
    fn finish(self: Box<Self>, committed: Result<()>);
}

struct TypedJob<T, F> {
    work: F,
    result: Option<T>,
    reply: Sender<Result<T>>,
}

impl<T: Send, F: FnMut(&mut Write<'_>) -> Result<T> + Send> AnyJob for TypedJob<T, F> {
    fn run(&mut self, write: &mut Write<'_>) -> Result<()> {
        self.result = Some((self.work)(write)?);
        Ok(())
    }

    fn finish(self: Box<Self>, committed: Result<()>) {
        let missing = || Error::Other("the write did not run".into());
        let TypedJob { result, reply, .. } = *self;
        // Nobody waits any more when the asker is gone; what was committed stays committed.
        let _ = reply.send(committed.and_then(|()| result.ok_or_else(missing)));
    }
}

impl Job {
    pub(crate) fn new<T, F>(foresight: Foresight, work: F) -> (Self, Receiver<Result<T>>)
    where
        T: Send + 'static,
        F: FnMut(&mut Write<'_>) -> Result<T> + Send + 'static,
    {
        let (reply, receiver) = channel();
        (Self { work: Box::new(TypedJob { work, result: None, reply }), foresight }, receiver)
    }

    pub(crate) fn finish(self, committed: Result<()>) {
        self.work.finish(committed);
    }
}

/// Runs the jobs in the transaction that has begun, ends it, and returns what to announce.
pub(crate) fn commit(conn: &mut dyn Conn, jobs: &mut [Job]) -> Result<Vec<Topic>> {
    // A bug in one write must not take the writer, or a store in memory, from everybody else.
    let ran = catch_unwind(AssertUnwindSafe(|| run(conn, jobs)));
    let panicked = |_| Err(Error::Other("a write ended in a panic; nothing of it counts".into()));
    let outcome = ran.unwrap_or_else(panicked).and_then(|topics| conn.commit().map(|()| topics));
    if outcome.is_err() {
        conn.rollback();
    }
    outcome
}

fn run(conn: &mut dyn Conn, jobs: &mut [Job]) -> Result<Vec<Topic>> {
    let mut write = Write::new(conn);
    write.foresee(jobs.iter().map(|job| &job.foresight))?;
    for job in jobs {
        job.work.run(&mut write)?;
    }
    write.close()
}

/// The thread that commits for everybody.
pub(crate) struct Group {
    queue: Sender<Job>,
}

impl Group {
    /// Begins to write. Nobody waits here until there is a connection; whoever writes does.
    pub(crate) fn start(place: Place, announcer: Announcer, breaker: Arc<Breaker>) -> Result<Self> {
        let (queue, jobs) = channel();
        std::thread::Builder::new()
            .name("sayso-writer".into())
            .spawn(move || {
                // What stands in the way shows when something is to be written.
                let conn = crate::store::connect_shared(&place).ok();
                Writer { conn, place, announcer, breaker }.serve(&jobs);
            })
            .map_err(|e| Error::Other(format!("no thread for the writer: {e}")))?;
        Ok(Self { queue })
    }

    pub(crate) fn submit<T, F>(&self, foresight: Foresight, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Write<'_>) -> Result<T> + Send + 'static,
    {
        let (job, reply) = Job::new(foresight, work);
        let gone = || Error::Other("the writer has ended".into());
        self.queue.send(job).map_err(|_| gone())?;
        reply.recv().map_err(|_| gone())?
    }
}

struct Writer {
    /// None if it was lost, or never there.
    conn: Option<Box<dyn Conn>>,
    place: Place,
    announcer: Announcer,
    breaker: Arc<Breaker>,
}

/// Writes that wait, in two lines.
#[derive(Default)]
struct Lines {
    /// What people wait for.
    ahead: VecDeque<Job>,
    rest: VecDeque<Job>,
}

impl Lines {
    fn put(&mut self, job: Job) {
        let line = if job.foresight.is_ahead { &mut self.ahead } else { &mut self.rest };
        line.push_back(job);
    }

    /// The next that share a transaction.
    fn group(&mut self) -> Vec<Job> {
        let first = self.ahead.len().min(GROUP_SIZE_MAX);
        let most = if first == 0 { REST_SIZE_MAX } else { BESIDE_MAX };
        let beside = self.rest.len().min(most);
        self.ahead.drain(..first).chain(self.rest.drain(..beside)).collect()
    }
}

impl Writer {
    /// Ends when the last sender is gone.
    fn serve(mut self, queue: &Receiver<Job>) {
        let mut lines = Lines::default();
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

    /// Together if possible; one by one if any of them fails, so that nobody pays for another's error.
    fn commit_group(&mut self, jobs: Vec<Job>) {
        let trial = match self.breaker.begin(Instant::now()) {
            Ok(trial) => trial,
            Err(error) => return refuse(jobs, &error),
        };
        let outcome = self.commit_together(jobs);
        self.breaker.end(&trial, &outcome, Instant::now());
    }

    fn commit_together(&mut self, mut jobs: Vec<Job>) -> Result<()> {
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
        // When the connection is gone the group may have counted: whoever asked has to look first.
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

    /// Begins on this connection, or on a fresh one if it is gone: nothing was asked of it yet.
    fn begin(&mut self) -> Result<()> {
        if let Some(conn) = &mut self.conn {
            let outcome = conn.begin(Intent::Write);
            if conn.is_alive() {
                return outcome;
            }
        }
        self.conn.insert(crate::store::connect_shared(&self.place)?).begin(Intent::Write)
    }

    /// Commits what has begun, and tells whoever waits for what it is about.
    fn commit(&mut self, jobs: &mut [Job]) -> Result<()> {
        let lost = || Error::Other("no connection".into());
        let mut conn = self.conn.take().ok_or_else(lost)?;
        let outcome = commit(conn.as_mut(), jobs);
        self.conn = Some(conn).filter(|conn| conn.is_alive());
        outcome.map(|topics| self.announcer.announce(&topics))
    }
}

fn refuse(jobs: Vec<Job>, error: &Error) {
    for job in jobs {
        job.finish(Err(error.clone()));
    }
}
