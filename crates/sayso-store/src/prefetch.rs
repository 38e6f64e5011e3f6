//! Prefetching: the queries that a write is going to make are sent before it runs, together with those of the other
//! writes of its group. So the group waits for one round trip to the database, and not each write for each of its
//! queries.
//!
//! A prefetched result is valid until a write that could change it. A query that was not prefetched, or whose
//! result was invalidated, is sent when it is needed: prefetching changes when a query is sent, and never its
//! result.

use crate::read::ReadTransaction;
use crate::tx::{SqlArg, SqlRow};
use crate::{HandleTable, ResponseKey, Result};
use sayso_core::id::HANDLE_LEN_MIN;
use sayso_core::{FlowId, GateId, SpaceId, TaskId};
use std::collections::HashMap;

/// The queries that a write is going to make.
#[derive(Debug, Clone, Default)]
pub struct PrefetchPlan {
    /// The space that the write locks.
    pub(crate) space: Option<SpaceId>,
    /// True if a person waits for the write: then it is committed before the writes of agents.
    pub(crate) is_ahead: bool,
    wants: Vec<PrefetchQuery>,
}

#[derive(Debug, Clone)]
enum PrefetchQuery {
    Gate(GateId),
    Stream(String),
    Handle(HandleTable, String),
    Notices(GateId, usize),
    Reply(ResponseKey),
    Token { hash: String, place: String },
    Settings,
}

impl PrefetchPlan {
    /// Returns the prefetch of a write that locks this space.
    pub fn of(space: SpaceId) -> Self {
        Self { space: Some(space), ..Self::default() }
    }

    /// Adds the queries of another prefetch.
    #[must_use]
    pub fn and(mut self, other: PrefetchPlan) -> Self {
        self.wants.extend(other.wants);
        self.is_ahead |= other.is_ahead;
        self
    }

    /// Marks the write as one that a person waits for: in a group it goes ahead of the writes of agents.
    #[must_use]
    pub fn ahead(mut self, is_ahead: bool) -> Self {
        self.is_ahead |= is_ahead;
        self
    }

    /// Adds a gate that exists.
    #[must_use]
    pub fn gate(self, id: GateId) -> Self {
        self.with(PrefetchQuery::Gate(id))
    }

    /// Adds a gate that is to be opened: the checks that its ID and handle are free, and the settings with the rules
    /// of the policy.
    #[must_use]
    pub fn new_gate(self, id: GateId) -> Self {
        let handle = PrefetchQuery::Handle(HandleTable::Gates, id.handle(HANDLE_LEN_MIN));
        self.gate(id).with(handle).settings()
    }

    /// Adds a gate that may end, with up to `notices_max` of its notices.
    #[must_use]
    pub fn ending_gate(self, id: GateId, notices_max: usize) -> Self {
        self.gate(id).with(PrefetchQuery::Notices(id, notices_max)).settings()
    }

    /// Adds a task that exists.
    #[must_use]
    pub fn task(self, id: TaskId) -> Self {
        self.with(PrefetchQuery::Stream(format!("task/{id}")))
    }

    /// Adds a flow that exists.
    #[must_use]
    pub fn flow(self, id: FlowId) -> Self {
        self.with(PrefetchQuery::Stream(format!("flow/{id}")))
    }

    /// Adds a flow that is to be started, and the check that its handle is free.
    #[must_use]
    pub fn new_flow(self, id: FlowId) -> Self {
        self.flow(id).with(PrefetchQuery::Handle(HandleTable::Flows, id.handle(HANDLE_LEN_MIN)))
    }

    /// Adds the stored response for an idempotency key, if the call was made before.
    #[must_use]
    pub fn reply(self, key: ResponseKey) -> Self {
        self.with(PrefetchQuery::Reply(key))
    }

    /// Adds the credential of the caller: see [`ReadTransaction::credential`].
    #[must_use]
    pub fn token(self, hash: &str, place: &str) -> Self {
        self.with(PrefetchQuery::Token { hash: hash.to_owned(), place: place.to_owned() })
    }

    /// Adds the version of the space's settings.
    #[must_use]
    pub fn settings(self) -> Self {
        self.with(PrefetchQuery::Settings)
    }

    fn with(mut self, want: PrefetchQuery) -> Self {
        self.wants.push(want);
        self
    }

    /// Sends all of these queries. The lock of the space was requested before.
    pub(crate) fn ask(&self, read: &mut ReadTransaction<'_>) -> Result<()> {
        let Some(space) = self.space else { return Ok(()) };
        for want in &self.wants {
            match want {
                PrefetchQuery::Gate(id) => read.prefetch_gate_rows(&format!("gate/{id}"), *id)?,
                PrefetchQuery::Stream(stream) => read.prefetch_events(stream)?,
                PrefetchQuery::Handle(table, handle) => {
                    read.prefetch_is_taken(*table, space, handle)?
                }
                PrefetchQuery::Notices(gate, limit) => {
                    read.prefetch_notices_under(&gate.to_string(), *limit)?
                }
                PrefetchQuery::Reply(key) => read.prefetch_reply(space, key)?,
                PrefetchQuery::Token { hash, place } => read.prefetch_credential(hash, place)?,
                PrefetchQuery::Settings => read.prefetch_settings_seq(space)?,
            }
        }
        Ok(())
    }
}

/// The prefetched results that a write invalidates.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InvalidationScope<'a> {
    /// All prefetched results.
    Anything,
    /// Only the results about these streams, handles or keys.
    These(&'a [&'a str]),
}

/// Prefetched results, received or still on their way.
#[derive(Default)]
pub(crate) struct PrefetchCache {
    answers: HashMap<QueryKey, Option<Vec<SqlRow>>>,
    /// The queries by the stream, handle or key they are about.
    keys_by_subject: HashMap<String, Vec<QueryKey>>,
}

/// A statement with its values: the key of a prefetched result.
pub(crate) type QueryKey = String;

pub(crate) fn query_key(sql: &str, args: &[SqlArg<'_>]) -> QueryKey {
    format!("{sql}\n{args:?}")
}

impl PrefetchCache {
    /// Registers a query as sent. Returns false if it was sent already.
    pub(crate) fn note(&mut self, question: &QueryKey, about: &[&str]) -> bool {
        if self.answers.contains_key(question) {
            return false;
        }
        self.answers.insert(question.clone(), None);
        for thing in about {
            self.keys_by_subject.entry((*thing).to_owned()).or_default().push(question.clone());
        }
        true
    }

    /// Stores the result of a query, unless it was invalidated in the meantime.
    pub(crate) fn fill(&mut self, question: &QueryKey, rows: Vec<SqlRow>) {
        if let Some(answer) = self.answers.get_mut(question) {
            *answer = Some(rows);
        }
    }

    /// True if this query was sent and its result is still valid.
    pub(crate) fn has(&self, question: &QueryKey) -> bool {
        self.answers.contains_key(question)
    }

    /// Returns the result, if it was received.
    pub(crate) fn answer(&self, question: &QueryKey) -> Option<Vec<SqlRow>> {
        self.answers.get(question).cloned().flatten()
    }

    /// Invalidates the results that a write may change.
    pub(crate) fn invalidate(&mut self, about: InvalidationScope<'_>) {
        let things = match about {
            InvalidationScope::Anything => return self.forget(),
            InvalidationScope::These(things) => things,
        };
        for question in
            things.iter().filter_map(|thing| self.keys_by_subject.remove(*thing)).flatten()
        {
            self.answers.remove(&question);
        }
    }

    pub(crate) fn forget(&mut self) {
        self.answers.clear();
        self.keys_by_subject.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tx::{SqlCell, args};

    fn asked(early: &mut PrefetchCache, id: &str, about: &[&str]) -> QueryKey {
        let question = query_key("SELECT 1 FROM gates WHERE id = ?1", args![id]);
        assert!(early.note(&question, about));
        early.fill(&question, vec![SqlRow(vec![SqlCell::Int(1)])]);
        assert!(early.answer(&question).is_some());
        question
    }

    #[test]
    fn an_answer_counts_until_something_is_written_about_it() {
        let mut early = PrefetchCache::default();
        let [one, other] = ["a", "b"].map(|id| asked(&mut early, id, &[id, "both"]));
        early.invalidate(InvalidationScope::These(&[]));
        early.invalidate(InvalidationScope::These(&["c"]));
        assert!(early.has(&one) && early.has(&other));
        early.invalidate(InvalidationScope::These(&["a"]));
        assert!(!early.has(&one) && early.has(&other));
        early.invalidate(InvalidationScope::These(&["both"]));
        assert!(!early.has(&other));
        let again = asked(&mut early, "a", &["a"]);
        early.invalidate(InvalidationScope::Anything);
        assert!(!early.has(&again));
    }

    #[test]
    fn what_was_doubted_on_its_way_is_not_heard() {
        let mut early = PrefetchCache::default();
        let question = query_key("SELECT 1", args![]);
        assert!(early.note(&question, &["a"]));
        assert!(!early.note(&question, &["a"]), "it is asked once");
        early.invalidate(InvalidationScope::These(&["a"]));
        early.fill(&question, vec![]);
        assert!(early.answer(&question).is_none());
    }
}
