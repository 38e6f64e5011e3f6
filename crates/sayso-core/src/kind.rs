//! The eleven kinds of gate, and what each verdict does to the task behind it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What sort of thing waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// To do the task by hand.
    Work,
    /// To sign off finished work.
    Approval,
    /// To answer a question.
    Input,
    /// To review code.
    Review,
    /// To judge user interface or copy.
    Content,
    /// To give direction.
    Escalation,
    /// To verify a phase.
    Checkpoint,
    /// To answer a structured question of a live agent.
    Decision,
    /// To say whether one tool call may run.
    Tool,
    /// To say whether a task may move from one status to another.
    Transition,
    /// To say whether an agent may be spawned, restarted or stopped.
    Lifecycle,
}

impl Kind {
    /// Every kind, in the order of the product's table.
    pub const ALL: [Kind; 11] = [
        Kind::Work,
        Kind::Approval,
        Kind::Input,
        Kind::Review,
        Kind::Content,
        Kind::Escalation,
        Kind::Checkpoint,
        Kind::Decision,
        Kind::Tool,
        Kind::Transition,
        Kind::Lifecycle,
    ];

    /// The kinds a task tracker calls `awaiting`.
    pub const AWAITING: [Kind; 7] = [
        Kind::Work,
        Kind::Approval,
        Kind::Input,
        Kind::Review,
        Kind::Content,
        Kind::Escalation,
        Kind::Checkpoint,
    ];

    /// Its name in every door.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Work => "work",
            Kind::Approval => "approval",
            Kind::Input => "input",
            Kind::Review => "review",
            Kind::Content => "content",
            Kind::Escalation => "escalation",
            Kind::Checkpoint => "checkpoint",
            Kind::Decision => "decision",
            Kind::Tool => "tool",
            Kind::Transition => "transition",
            Kind::Lifecycle => "lifecycle",
        }
    }

    /// What a person is asked when the asker gave no words of its own.
    pub const fn default_question(self) -> &'static str {
        match self {
            Kind::Work => "Please do this by hand.",
            Kind::Approval => "The work is done. Do you approve it?",
            Kind::Input => "The agent needs an answer to go on.",
            Kind::Review => "Please review the code.",
            Kind::Content => "Please judge the content.",
            Kind::Escalation => "Something unexpected came up. How shall it go on?",
            Kind::Checkpoint => "A phase is complete. May the next one begin?",
            Kind::Decision => "A decision is needed.",
            Kind::Tool => "May this tool call run?",
            Kind::Transition => "May the task move on?",
            Kind::Lifecycle => "May the agent be started, restarted or stopped?",
        }
    }

    /// What the verdict does to the task behind the gate.
    pub const fn outcome(self, verdict: Verdict) -> Outcome {
        use Verdict::{Answered, Approved, Rejected};
        match (self, verdict) {
            // Only a bare yes signs off. Whoever did the work by hand says so in words.
            (Kind::Approval | Kind::Review | Kind::Content, Answered) => Outcome::Back,
            (Kind::Work, Answered) => Outcome::Done,
            (Kind::Work | Kind::Approval | Kind::Review | Kind::Content, Approved) => Outcome::Done,
            (Kind::Work | Kind::Approval | Kind::Review | Kind::Content, Rejected) => Outcome::Back,
            (Kind::Input | Kind::Escalation, Approved | Answered) => Outcome::Back,
            (Kind::Input | Kind::Escalation, Rejected) => Outcome::Abandoned,
            (Kind::Checkpoint, _) => Outcome::Back,
            (Kind::Decision | Kind::Tool | Kind::Transition | Kind::Lifecycle, _) => Outcome::Back,
        }
    }

    /// Whether the agent hands the task over and ends its turn. The other kinds come from a live agent,
    /// which holds on to its task while a person thinks.
    pub const fn parks_the_task(self) -> bool {
        match self {
            Kind::Work
            | Kind::Approval
            | Kind::Input
            | Kind::Review
            | Kind::Content
            | Kind::Escalation
            | Kind::Checkpoint => true,
            Kind::Decision | Kind::Tool | Kind::Transition | Kind::Lifecycle => false,
        }
    }

    /// Whether a yes may come as words: those who give direction or did the work say what.
    pub const fn takes_words_with_a_yes(self) -> bool {
        matches!(self, Kind::Escalation | Kind::Work)
    }

    /// Whether a rejection must say why: handing work back without a word helps nobody.
    pub const fn rejection_needs_reason(self) -> bool {
        matches!(self, Kind::Work)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;
    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Kind::ALL.into_iter().find(|k| k.as_str() == text).ok_or_else(|| UnknownKind(text.into()))
    }
}

/// A name that is no kind of gate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no kind of gate; the kinds are work, approval, input, review, content, escalation, \
     checkpoint, decision, tool, transition and lifecycle"
)]
pub struct UnknownKind(String);

/// What an answer amounts to. A yes and an answer are two things: whoever picks a colour has approved nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Yes, to a question that takes yes or no.
    Approved,
    /// A text, a choice or a form.
    Answered,
    /// No.
    Rejected,
}

impl Verdict {
    /// Whether it is a no.
    pub const fn is_no(self) -> bool {
        match self {
            Verdict::Rejected => true,
            Verdict::Approved | Verdict::Answered => false,
        }
    }

    /// The verdict of what has a content: it is no bare yes.
    pub const fn of_content(self) -> Self {
        match self {
            Verdict::Rejected => Verdict::Rejected,
            Verdict::Approved | Verdict::Answered => Verdict::Answered,
        }
    }

    /// Its name in every door.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Approved => "approved",
            Verdict::Answered => "answered",
            Verdict::Rejected => "rejected",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What becomes of a task once its gates are settled. The order is the order of precedence:
/// of several answers, "won't do" outweighs "go on", and "go on" outweighs "done".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The task closes: the work was accepted.
    Done,
    /// The task goes back to the agent.
    Back,
    /// The task closes: it cannot or shall not be done.
    Abandoned,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_the_products() {
        let page: String = Kind::ALL
            .into_iter()
            .map(|k| {
                let all = [Verdict::Approved, Verdict::Answered, Verdict::Rejected];
                let [yes, said, no] = all.map(|v| format!("{:?}", k.outcome(v)));
                format!("{k:<12} approved: {yes:<9} answered: {said:<9} rejected: {no}\n")
            })
            .collect();
        insta::assert_snapshot!(page, @r"
        work         approved: Done      answered: Done      rejected: Back
        approval     approved: Done      answered: Back      rejected: Back
        input        approved: Back      answered: Back      rejected: Abandoned
        review       approved: Done      answered: Back      rejected: Back
        content      approved: Done      answered: Back      rejected: Back
        escalation   approved: Back      answered: Back      rejected: Abandoned
        checkpoint   approved: Back      answered: Back      rejected: Back
        decision     approved: Back      answered: Back      rejected: Back
        tool         approved: Back      answered: Back      rejected: Back
        transition   approved: Back      answered: Back      rejected: Back
        lifecycle    approved: Back      answered: Back      rejected: Back
        ");
    }

    #[test]
    fn every_kind_is_read_back_from_its_name() {
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("Approval".parse::<Kind>().is_err());
    }
}
