//! Foresight: what a write is going to look at is asked before it runs, together with what the others of its
//! group are going to look at. So all of them wait for the database once, and not each for each of its looks.
//!
//! An answer that came early counts until something is written that it could be about. Whatever was not
//! foreseen, or counts no more, is asked when it is needed: foresight changes when something is asked, and
//! never what is heard.

use crate::read::Read;
use crate::tx::{Arg, Row};
use crate::{Handles, ReplyKey, Result};
use sayso_core::id::HANDLE_LEN_MIN;
use sayso_core::{FlowId, GateId, SpaceId, TaskId};
use std::collections::HashMap;

/// What a write is going to look at.
#[derive(Debug, Clone, Default)]
pub struct Foresight {
    /// The space whose turn it takes.
    pub(crate) space: Option<SpaceId>,
    /// Whether a person waits for it: then it is written before what agents write.
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
    /// It takes the turn of this space.
    pub fn of(space: SpaceId) -> Self {
        Self { space: Some(space), ..Self::default() }
    }

    /// What else it looks at.
    #[must_use]
    pub fn and(mut self, other: Foresight) -> Self {
        self.wants.extend(other.wants);
        self.is_ahead |= other.is_ahead;
        self
    }

    /// A person waits for it: in a group of writes it goes ahead of what agents write.
    #[must_use]
    pub fn ahead(mut self, is_ahead: bool) -> Self {
        self.is_ahead |= is_ahead;
        self
    }

    /// A gate that is there.
    #[must_use]
    pub fn gate(self, id: GateId) -> Self {
        self.with(Want::Gate(id))
    }

    /// A gate that is to be opened: its id and its handle are to be free, and rules are to be asked.
    #[must_use]
    pub fn new_gate(self, id: GateId) -> Self {
        let handle = Want::Handle(Handles::Gates, id.handle(HANDLE_LEN_MIN));
        self.gate(id).with(handle).settings()
    }

    /// A gate that may end: so many of the notices about it are looked at.
    #[must_use]
    pub fn ending_gate(self, id: GateId, notices_max: usize) -> Self {
        self.gate(id).with(Want::Notices(id, notices_max)).settings()
    }

    /// A task that is there.
    #[must_use]
    pub fn task(self, id: TaskId) -> Self {
        self.with(Want::Stream(format!("task/{id}")))
    }

    /// A flow that is there.
    #[must_use]
    pub fn flow(self, id: FlowId) -> Self {
        self.with(Want::Stream(format!("flow/{id}")))
    }

    /// A flow that is to be begun.
    #[must_use]
    pub fn new_flow(self, id: FlowId) -> Self {
        self.flow(id).with(Want::Handle(Handles::Flows, id.handle(HANDLE_LEN_MIN)))
    }

    /// What came of this call, if it came before.
    #[must_use]
    pub fn reply(self, key: ReplyKey) -> Self {
        self.with(Want::Reply(key))
    }

    /// The credential of whoever does it: see [`Read::credential`].
    #[must_use]
    pub fn token(self, hash: &str, place: &str) -> Self {
        self.with(Want::Token { hash: hash.to_owned(), place: place.to_owned() })
    }

    /// What is set in the space.
    #[must_use]
    pub fn settings(self) -> Self {
        self.with(Want::Settings)
    }

    fn with(mut self, want: Want) -> Self {
        self.wants.push(want);
        self
    }

    /// Asks all of it early. The turn of the space was asked for before.
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

/// What a statement that writes is about: what was asked early about it counts no more.
#[derive(Debug, Clone, Copy)]
pub(crate) enum About<'a> {
    /// It could be about anything.
    Anything,
    /// It is about these and nothing else that is asked early.
    These(&'a [&'a str]),
}

/// Answers that came before somebody asked, or are on their way.
#[derive(Default)]
pub(crate) struct Early {
    answers: HashMap<Question, Option<Vec<Row>>>,
    /// Which questions are about what.
    about: HashMap<String, Vec<Question>>,
}

/// A statement with its values.
pub(crate) type Question = String;

pub(crate) fn question(sql: &str, args: &[Arg<'_>]) -> Question {
    format!("{sql}\n{args:?}")
}

impl Early {
    /// Notes that this is asked, unless it was asked already.
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

    /// The answer has come, if anybody still wants it.
    pub(crate) fn came(&mut self, question: &Question, rows: Vec<Row>) {
        if let Some(answer) = self.answers.get_mut(question) {
            *answer = Some(rows);
        }
    }

    /// Whether this was asked, and the answer counts.
    pub(crate) fn has(&self, question: &Question) -> bool {
        self.answers.contains_key(question)
    }

    /// The answer, if it is there.
    pub(crate) fn answer(&self, question: &Question) -> Option<Vec<Row>> {
        self.answers.get(question).cloned().flatten()
    }

    /// Something is written.
    pub(crate) fn doubt(&mut self, about: About<'_>) {
        let things = match about {
            About::Anything => return self.forget(),
            About::These(things) => things,
        };
        for question in things.iter().filter_map(|thing| self.about.remove(*thing)).flatten() {
            self.answers.remove(&question);
        }
    }

    /// Nothing of it counts any more.
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
