//! Prefetching: the queries that a write is going to make are sent before it runs, together with those of the other
//! writes of its group. So the group waits for one round trip to the database, and not each write for each of its
//! queries.
//!
//! A prefetched result is valid until a write that could change it. A query that was not prefetched, or whose
//! result was invalidated, is sent when it is needed: prefetching changes when a query is sent, and never its
//! result.

use crate::read::Read;
use crate::tx::{Arg, Row};
use crate::{Handles, ReplyKey, Result};
use sayso_core::id::HANDLE_LEN_MIN;
use sayso_core::{FlowId, GateId, SpaceId, TaskId};
use std::collections::HashMap;

/// The queries that a write is going to make.
#[derive(Debug, Clone, Default)]
pub struct Foresight {
    /// The space that the write locks.
    pub(crate) space: Option<SpaceId>,
    /// True if a person waits for the write: then it is committed before the writes of agents.
    pub(crate) is_ahead: bool,
    wants: Vec<Want>,
}

#[derive(Debug, Clone)]
enum Want {
    Gate(GateId),
    Stream(String),
    Handle(Handles, String),
    Notices(GateId, usize),
    Reply(ReplyKey),
    Token { hash: String, place: String },
    Settings,
}

impl Foresight {
    /// Returns the prefetch of a write that locks this space.
    pub fn of(space: SpaceId) -> Self {
        Self { space: Some(space), ..Self::default() }
    }

    /// Adds the queries of another prefetch.
    #[must_use]
    pub fn and(mut self, other: Foresight) -> Self {
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
        self.with(Want::Gate(id))
    }

    /// Adds a gate that is to be opened: the checks that its ID and handle are free, and the settings with the rules
    /// of the policy.
    #[must_use]
    pub fn new_gate(self, id: GateId) -> Self {
        let handle = Want::Handle(Handles::Gates, id.handle(HANDLE_LEN_MIN));
        self.gate(id).with(handle).settings()
    }

    /// Adds a gate that may end, with up to `notices_max` of its notices.
    #[must_use]
    pub fn ending_gate(self, id: GateId, notices_max: usize) -> Self {
        self.gate(id).with(Want::Notices(id, notices_max)).settings()
    }

    /// Adds a task that exists.
    #[must_use]
    pub fn task(self, id: TaskId) -> Self {
        self.with(Want::Stream(format!("task/{id}")))
    }

    /// Adds a flow that exists.
    #[must_use]
    pub fn flow(self, id: FlowId) -> Self {
        self.with(Want::Stream(format!("flow/{id}")))
    }

    /// Adds a flow that is to be started, and the check that its handle is free.
    #[must_use]
    pub fn new_flow(self, id: FlowId) -> Self {
        self.flow(id).with(Want::Handle(Handles::Flows, id.handle(HANDLE_LEN_MIN)))
    }

    /// Adds the stored response for an idempotency key, if the call was made before.
    #[must_use]
    pub fn reply(self, key: ReplyKey) -> Self {
        self.with(Want::Reply(key))
    }

    /// Adds the credential of the caller: see [`Read::credential`].
    #[must_use]
    pub fn token(self, hash: &str, place: &str) -> Self {
        self.with(Want::Token { hash: hash.to_owned(), place: place.to_owned() })
    }

    /// Adds the version of the space's settings.
    #[must_use]
    pub fn settings(self) -> Self {
        self.with(Want::Settings)
    }

    fn with(mut self, want: Want) -> Self {
        self.wants.push(want);
        self
    }

    /// Sends all of these queries. The lock of the space was requested before.
    pub(crate) fn ask(&self, read: &mut Read<'_>) -> Result<()> {
        let Some(space) = self.space else { return Ok(()) };
        for want in &self.wants {
            match want {
                Want::Gate(id) => read.gate_rows_early(&format!("gate/{id}"), *id)?,
                Want::Stream(stream) => read.events_early(stream)?,
                Want::Handle(table, handle) => read.is_taken_early(*table, space, handle)?,
                Want::Notices(gate, limit) => {
                    read.notices_under_early(&gate.to_string(), *limit)?
                }
                Want::Reply(key) => read.reply_early(space, key)?,
                Want::Token { hash, place } => read.credential_early(hash, place)?,
                Want::Settings => read.settings_seq_early(space)?,
            }
        }
        Ok(())
    }
}

/// The prefetched results that a write invalidates.
#[derive(Debug, Clone, Copy)]
pub(crate) enum About<'a> {
    /// All prefetched results.
    Anything,
    /// Only the results about these streams, handles or keys.
    These(&'a [&'a str]),
}

/// Prefetched results, received or still on their way.
#[derive(Default)]
pub(crate) struct Early {
    answers: HashMap<Question, Option<Vec<Row>>>,
    /// The queries by the stream, handle or key they are about.
    about: HashMap<String, Vec<Question>>,
}

/// A statement with its values: the key of a prefetched result.
pub(crate) type Question = String;

pub(crate) fn question(sql: &str, args: &[Arg<'_>]) -> Question {
    format!("{sql}\n{args:?}")
}

impl Early {
    /// Registers a query as sent. Returns false if it was sent already.
    pub(crate) fn note(&mut self, question: &Question, about: &[&str]) -> bool {
        if self.answers.contains_key(question) {
            return false;
        }
        self.answers.insert(question.clone(), None);
        for thing in about {
            self.about.entry((*thing).to_owned()).or_default().push(question.clone());
        }
        true
    }

    /// Stores the result of a query, unless it was invalidated in the meantime.
    pub(crate) fn came(&mut self, question: &Question, rows: Vec<Row>) {
        if let Some(answer) = self.answers.get_mut(question) {
            *answer = Some(rows);
        }
    }

    /// True if this query was sent and its result is still valid.
    pub(crate) fn has(&self, question: &Question) -> bool {
        self.answers.contains_key(question)
    }

    /// Returns the result, if it was received.
    pub(crate) fn answer(&self, question: &Question) -> Option<Vec<Row>> {
        self.answers.get(question).cloned().flatten()
    }

    /// Invalidates the results that a write may change.
    pub(crate) fn doubt(&mut self, about: About<'_>) {
        let things = match about {
            About::Anything => return self.forget(),
            About::These(things) => things,
        };
        for question in things.iter().filter_map(|thing| self.about.remove(*thing)).flatten() {
            self.answers.remove(&question);
        }
    }

    pub(crate) fn forget(&mut self) {
        self.answers.clear();
        self.about.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tx::{Cell, args};

    fn asked(early: &mut Early, id: &str, about: &[&str]) -> Question {
        let question = question("SELECT 1 FROM gates WHERE id = ?1", args![id]);
        assert!(early.note(&question, about));
        early.came(&question, vec![Row(vec![Cell::Int(1)])]);
        assert!(early.answer(&question).is_some());
        question
    }

    #[test]
    fn an_answer_counts_until_something_is_written_about_it() {
        let mut early = Early::default();
        let [one, other] = ["a", "b"].map(|id| asked(&mut early, id, &[id, "both"]));
        early.doubt(About::These(&[]));
        early.doubt(About::These(&["c"]));
        assert!(early.has(&one) && early.has(&other));
        early.doubt(About::These(&["a"]));
        assert!(!early.has(&one) && early.has(&other));
        early.doubt(About::These(&["both"]));
        assert!(!early.has(&other));
        let again = asked(&mut early, "a", &["a"]);
        early.doubt(About::Anything);
        assert!(!early.has(&again));
    }

    #[test]
    fn what_was_doubted_on_its_way_is_not_heard() {
        let mut early = Early::default();
        let question = question("SELECT 1", args![]);
        assert!(early.note(&question, &["a"]));
        assert!(!early.note(&question, &["a"]), "it is asked once");
        early.doubt(About::These(&["a"]));
        early.came(&question, vec![]);
        assert!(early.answer(&question).is_none());
    }
}
