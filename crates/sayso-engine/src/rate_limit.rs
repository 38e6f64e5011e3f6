//! The rate limit of agents (token bucket): questions per minute, and writes per minute weighted by size. A server
//! counts in memory. A short-lived command cannot, so it counts in the audit log, which every process sees.

use crate::write_batch::WriteBatch;
use crate::{LocalDesk, Result};
use sayso_core::rate::write_cost;
use sayso_core::{Actor, Code, RateLimit, Refusal, Role, SpaceId, Timestamp, TokenBucket};
use sayso_store::ReadTransaction;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The time for which a refused agent is reported as too fast.
const TOLD_MICROS: i64 = 10 * 60 * 1_000_000;

const MINUTE_MICROS: i64 = 60 * 1_000_000;

/// The maximum number of agents that are counted at once. Those with full buckets are evicted first.
const AGENTS_MAX: usize = 4_096;

/// The maximum number of audit entries that are counted.
const ENTRIES_MAX: usize = 2_000;

/// The action of an audit entry that counts as a question.
const ASKED: &str = "gate.opened";

type LimitCheck = std::result::Result<(), Refusal>;

/// The limits, and the counters of agents.
pub(crate) struct AgentRateLimit {
    asks: Option<RateLimit>,
    writes: Option<RateLimit>,
    /// The counters by agent. None if the audit log is counted.
    agents: Option<Mutex<HashMap<(SpaceId, String), AgentBuckets>>>,
}

/// The token buckets of one agent.
struct AgentBuckets {
    asks: Option<TokenBucket>,
    writes: Option<TokenBucket>,
    refused: u64,
    refused_at: Option<Timestamp>,
}

/// The fields of an audit entry that are counted.
#[derive(Deserialize)]
struct CountedEntry {
    at: Timestamp,
    actor: String,
    role: Role,
    action: String,
}

impl AgentRateLimit {
    fn in_memory(asks: Option<RateLimit>, writes: Option<RateLimit>) -> Self {
        Self { asks, writes, agents: Some(Mutex::default()) }
    }

    /// Takes a question from an agent's bucket. The error is the number of seconds to wait.
    fn ask(
        &self,
        agents: &SharedBuckets,
        key: AgentKey,
        now: Timestamp,
    ) -> std::result::Result<(), u32> {
        let Some(limit) = self.asks else { return Ok(()) };
        let mut agents = lock(agents);
        let spending = self.spending(&mut agents, key, now);
        let bucket = spending.asks.get_or_insert_with(|| limit.bucket(now));
        let ready = bucket.ready(limit, now);
        if ready.is_ok() {
            bucket.spend(1);
        } else {
            if spending.refused_at.is_none_or(|at| now > at.plus_micros(TOLD_MICROS)) {
                spending.refused = 0;
            }
            spending.refused += 1;
            spending.refused_at = Some(now);
        }
        ready
    }

    /// Checks that an agent may write. The cost is only known after the write, and is spent then.
    fn may_write(
        &self,
        agents: &SharedBuckets,
        key: AgentKey,
        now: Timestamp,
    ) -> std::result::Result<(), u32> {
        let Some(limit) = self.writes else { return Ok(()) };
        let mut agents = lock(agents);
        let spending = self.spending(&mut agents, key, now);
        spending.writes.get_or_insert_with(|| limit.bucket(now)).ready(limit, now)
    }

    fn spend(&self, agents: &SharedBuckets, key: &AgentKey, cost: u32) {
        let mut agents = lock(agents);
        if let Some(bucket) = agents.get_mut(key).and_then(|spending| spending.writes.as_mut()) {
            bucket.spend(cost);
        }
    }

    fn spending<'a>(
        &self,
        agents: &'a mut BucketMap,
        key: AgentKey,
        now: Timestamp,
    ) -> &'a mut AgentBuckets {
        if agents.len() >= AGENTS_MAX && !agents.contains_key(&key) {
            agents.retain(|_, spending| !self.is_forgettable(spending, now));
        }
        let new = || AgentBuckets { asks: None, writes: None, refused: 0, refused_at: None };
        agents.entry(key).or_insert_with(new)
    }

    fn is_forgettable(&self, spending: &AgentBuckets, now: Timestamp) -> bool {
        let is_full = |bucket: Option<TokenBucket>, limit: Option<RateLimit>| {
            bucket.zip(limit).is_none_or(|(bucket, limit)| bucket.is_full(limit, now))
        };
        let is_told = spending.refused_at.is_some_and(|at| now <= at.plus_micros(TOLD_MICROS));
        is_full(spending.asks, self.asks) && is_full(spending.writes, self.writes) && !is_told
    }

    fn refused(&self, space: SpaceId, now: Timestamp) -> Vec<(String, u64)> {
        let Some(agents) = &self.agents else { return vec![] };
        let agents = lock(agents);
        let is_told = |at: Timestamp| now <= at.plus_micros(TOLD_MICROS);
        let told = agents
            .iter()
            .filter(|((of, _), spending)| *of == space && spending.refused_at.is_some_and(is_told));
        let mut told: Vec<_> =
            told.map(|((_, agent), spending)| (agent.clone(), spending.refused)).collect();
        told.sort();
        told
    }
}

type AgentKey = (SpaceId, String);
type BucketMap = HashMap<AgentKey, AgentBuckets>;
type SharedBuckets = Mutex<BucketMap>;

fn lock(agents: &SharedBuckets) -> MutexGuard<'_, BucketMap> {
    agents.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts the entries of an agent in the last minute of the audit log. The inner error is the number of seconds to
/// wait. A space with fewer entries than the limit is checked by reading one row.
fn count_in_log(
    read: &mut ReadTransaction<'_>,
    space: SpaceId,
    agent: &str,
    limit: RateLimit,
    counts: impl Fn(&CountedEntry) -> bool,
    now: Timestamp,
) -> sayso_store::Result<std::result::Result<(), u32>> {
    let most = usize::try_from(limit.per_minute.max(1)).unwrap_or(usize::MAX);
    let since = now.plus_micros(-MINUTE_MICROS);
    // An entry that cannot be parsed is reported by `audit verify`.
    let entry = |body: &str| serde_json::from_str::<CountedEntry>(body).ok();
    let back = read.audit_back(space, most)?;
    if back.and_then(|row| entry(&row.body)).is_none_or(|entry| entry.at <= since) {
        return Ok(Ok(()));
    }
    let rows = read.audit_last(space, ENTRIES_MAX.max(most))?;
    let entries = rows.iter().filter_map(|row| entry(&row.body));
    let recent = entries.take_while(|entry| entry.at > since);
    let is_theirs =
        |entry: &CountedEntry| entry.role == Role::Agent && entry.actor == agent && counts(entry);
    Ok(match recent.filter(is_theirs).nth(most - 1) {
        None => Ok(()),
        Some(first) => {
            let left = first.at.plus_micros(MINUTE_MICROS).as_micros() - now.as_micros();
            Err(u32::try_from(left.max(0) / 1_000_000).unwrap_or_default() + 1)
        }
    })
}

impl LocalDesk {
    /// Sets the limits of an agent's questions and writes per minute.
    pub fn with_pace(mut self, asks: Option<u32>, writes: Option<u32>) -> Self {
        let limit = |per_minute| RateLimit { per_minute };
        let (asks, writes) = (asks.map(limit), writes.map(limit));
        let pace = if self.store.has_writer() {
            AgentRateLimit::in_memory(asks, writes)
        } else {
            AgentRateLimit { asks, writes, agents: None }
        };
        self.pace = (asks.is_some() || writes.is_some()).then(|| pace.into());
        self
    }

    /// Returns the agents that were refused lately for asking too fast, and the number of refusals.
    pub fn asked_too_fast(&self) -> Vec<(String, u64)> {
        self.pace.as_ref().map_or(vec![], |pace| pace.refused(self.space, self.now()))
    }

    /// True if the refusal of an agent is audited. It counts as a write, so that refusals do not grow the log faster
    /// than writes do.
    pub(crate) fn may_note(
        &self,
        read: &mut ReadTransaction<'_>,
        actor: &Actor,
    ) -> sayso_store::Result<bool> {
        let may = self.may_write(read, actor, self.now())?.is_ok();
        if may {
            self.spend_write(actor, 1);
        }
        Ok(may)
    }

    /// Counts something that an agent does and that writes nothing as a write, or refuses it where it does too much.
    pub fn count_call(&self, actor: &Actor) -> Result<()> {
        self.read(|read| {
            let taken = self.may_write(read, actor, self.now())?;
            Ok(taken.map_err(|wait| too_many_writes(actor, wait))?)
        })?;
        self.spend_write(actor, 1);
        Ok(())
    }

    fn may_write(
        &self,
        read: &mut ReadTransaction<'_>,
        actor: &Actor,
        now: Timestamp,
    ) -> sayso_store::Result<std::result::Result<(), (u32, u32)>> {
        let Some(pace) = self.pace.as_ref().filter(|_| actor.role == Role::Agent) else {
            return Ok(Ok(()));
        };
        let Some(limit) = pace.writes else { return Ok(Ok(())) };
        let taken = match &pace.agents {
            Some(agents) => pace.may_write(agents, (self.space, actor.name.clone()), now),
            None => count_in_log(read, self.space, &actor.name, limit, |_| true, now)?,
        };
        Ok(taken.map_err(|secs| (secs, limit.per_minute)))
    }

    fn spend_write(&self, actor: &Actor, cost: u32) {
        let Some(pace) = self.pace.as_ref().filter(|_| actor.role == Role::Agent) else { return };
        if let Some(agents) = &pace.agents {
            pace.spend(agents, &(self.space, actor.name.clone()), cost);
        }
    }
}

impl WriteBatch<'_, '_> {
    /// Refuses a question of an agent that asks too fast. Answers have no rate limit.
    pub(crate) fn check_ask_pace(&mut self) -> Result<()> {
        let (desk, actor, now) = (self.desk, self.actor, self.at);
        let Some(pace) = desk.pace.as_ref().filter(|_| actor.role == Role::Agent) else {
            return Ok(());
        };
        let Some(limit) = pace.asks else { return Ok(()) };
        let taken = match &pace.agents {
            Some(agents) => pace.ask(agents, (self.space, actor.name.clone()), now),
            None => {
                let is_ask = |entry: &CountedEntry| entry.action == ASKED;
                count_in_log(self.write, self.space, &actor.name, limit, is_ask, now)?
            }
        };
        taken.map_err(|secs| {
            let most = limit.per_minute;
            let message = format!(
                "agent {} asks more than {most} questions a minute; the next one is taken in {secs} s",
                actor.name
            );
            Refusal::new(Code::TooManyAsks, message)
                .wait(secs)
                .hint("wait for the answers that are on their way, and put what belongs together into one question")
                .into()
        })
    }

    /// Refuses an agent that exceeds its write limit, before it has written anything. The refusal is a successful
    /// result for the store.
    pub(crate) fn check_write_pace(&mut self) -> sayso_store::Result<LimitCheck> {
        let (desk, actor, now) = (self.desk, self.actor, self.at);
        let taken = desk.may_write(self.write, actor, now)?;
        Ok(taken.map_err(|wait| too_many_writes(actor, wait)))
    }

    /// Spends the cost of the events that are about to be written.
    pub(crate) fn count_write(&self) {
        match self.text_written() {
            (0, _) => {}
            (_, bytes) => self.desk.spend_write(self.actor, write_cost(bytes)),
        }
    }
}

/// The refusal of an agent that does more than so much a minute, and after how many seconds it may go on.
fn too_many_writes(actor: &Actor, (secs, most): (u32, u32)) -> Refusal {
    let message = format!(
        "agent {} writes more than {most} times a minute, a long text counting as several; the next write is taken in {secs} s",
        actor.name
    );
    Refusal::new(Code::TooManyWrites, message).wait(secs).hint(
        "wait that long and try again; put long texts into files of the project and name them",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn pace(asks: u32, writes: u32) -> AgentRateLimit {
        let limit = |per_minute| Some(RateLimit { per_minute });
        AgentRateLimit::in_memory(limit(asks), limit(writes))
    }

    fn agents(pace: &AgentRateLimit) -> &SharedBuckets {
        pace.agents.as_ref().unwrap_or_else(|| unreachable!())
    }

    #[test]
    fn a_thousand_asks_a_minute_are_too_many() {
        let pace = pace(60, 600);
        let space = SpaceId::mint(second(1), 1);
        let asks = |agent: &str, seconds: std::ops::Range<i64>, each: usize| {
            let all = seconds.flat_map(|at| std::iter::repeat_n(second(at), each));
            all.filter(|at| pace.ask(agents(&pace), (space, agent.into()), *at).is_ok()).count()
        };
        // The burst that is allowed at once, and then one each second.
        assert_eq!(asks("eager", 0..60, 17), 60 + 59);
        assert_eq!(asks("calm", 0..60, 1), 60);
        assert_eq!(pace.refused(space, second(60)), [("eager".to_owned(), 60 * 17 - 119)]);
        // After a while the agent may ask again, and is no longer reported.
        assert_eq!(asks("eager", 120..130, 1), 10);
        assert_eq!(pace.refused(space, second(60 + 11 * 60)), []);
    }

    #[test]
    fn long_texts_are_written_more_slowly() {
        let pace = pace(60, 600);
        let space = SpaceId::mint(second(1), 1);
        let writes = |agent: &str, bytes: usize| {
            let key = || (space, agent.to_owned());
            let write = || {
                let may = pace.may_write(agents(&pace), key(), second(0)).is_ok();
                if may {
                    pace.spend(agents(&pace), &key(), write_cost(bytes));
                }
                may
            };
            (0..1_000).filter(|_| write()).count()
        };
        assert_eq!(writes("brief", 500), 600);
        assert_eq!(writes("wordy", 100_000), 47);
        assert_eq!(writes("brief", 500), 0);
    }

    #[test]
    fn agents_that_do_nothing_are_forgotten() {
        let pace = pace(60, 600);
        let space = SpaceId::mint(second(1), 1);
        for number in 0..2 * AGENTS_MAX {
            let key = (space, format!("agent-{number}"));
            assert!(pace.may_write(agents(&pace), key, second(number as i64)).is_ok());
        }
        assert!(lock(agents(&pace)).len() <= AGENTS_MAX);
    }
}
