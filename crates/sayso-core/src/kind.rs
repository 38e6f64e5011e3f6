//! The eleven kinds of gate, the verdicts, and the effect of each verdict on the task behind the gate.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The kind of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// To do the task by hand.
    Work,
    /// To sign off finished work.
    Approval,
    /// To answer a question.
    Input,
    /// To review code changes.
    Review,
    /// To judge user interface or copy.
    Content,
    /// To give the agent direction.
    Escalation,
    /// To verify a phase.
    Checkpoint,
    /// To answer a structured question of a live agent.
    Decision,
    /// To allow or reject one tool call.
    Tool,
    /// To allow or reject a move of a task to another status.
    Transition,
    /// To allow or reject the start, restart or stop of an agent.
    Lifecycle,
}

impl GateKind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [GateKind; 11] = [
        GateKind::Work,
        GateKind::Approval,
        GateKind::Input,
        GateKind::Review,
        GateKind::Content,
        GateKind::Escalation,
        GateKind::Checkpoint,
        GateKind::Decision,
        GateKind::Tool,
        GateKind::Transition,
        GateKind::Lifecycle,
    ];

    /// The kinds that a task tracker calls `awaiting`.
    pub const AWAITING: [GateKind; 7] = [
        GateKind::Work,
        GateKind::Approval,
        GateKind::Input,
        GateKind::Review,
        GateKind::Content,
        GateKind::Escalation,
        GateKind::Checkpoint,
    ];

    /// Returns the name used in the CLI and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            GateKind::Work => "work",
            GateKind::Approval => "approval",
            GateKind::Input => "input",
            GateKind::Review => "review",
            GateKind::Content => "content",
            GateKind::Escalation => "escalation",
            GateKind::Checkpoint => "checkpoint",
            GateKind::Decision => "decision",
            GateKind::Tool => "tool",
            GateKind::Transition => "transition",
            GateKind::Lifecycle => "lifecycle",
        }
    }

    /// Returns the question shown if the asker gave none.
    pub const fn default_question(self) -> &'static str {
        match self {
            GateKind::Work => "Please do this by hand.",
            GateKind::Approval => "The work is done. Do you approve it?",
            GateKind::Input => "The agent needs an answer to go on.",
            GateKind::Review => "Please review the code.",
            GateKind::Content => "Please judge the content.",
            GateKind::Escalation => "Something unexpected came up. How shall it go on?",
            GateKind::Checkpoint => "A phase is complete. May the next one begin?",
            GateKind::Decision => "A decision is needed.",
            GateKind::Tool => "May this tool call run?",
            GateKind::Transition => "May the task move on?",
            GateKind::Lifecycle => "May the agent be started, restarted or stopped?",
        }
    }

    /// Returns the effect of the verdict on the task behind the gate.
    pub const fn outcome(self, verdict: Verdict) -> TaskOutcome {
        use Verdict::{Answered, Approved, Rejected};
        match (self, verdict) {
            // Only a bare approval signs off. A person who did the work by hand answers with a text.
            (GateKind::Approval | GateKind::Review | GateKind::Content, Answered) => {
                TaskOutcome::Back
            }
            (GateKind::Work, Answered) => TaskOutcome::Done,
            (
                GateKind::Work | GateKind::Approval | GateKind::Review | GateKind::Content,
                Approved,
            ) => TaskOutcome::Done,
            (
                GateKind::Work | GateKind::Approval | GateKind::Review | GateKind::Content,
                Rejected,
            ) => TaskOutcome::Back,
            (GateKind::Input | GateKind::Escalation, Approved | Answered) => TaskOutcome::Back,
            (GateKind::Input | GateKind::Escalation, Rejected) => TaskOutcome::Abandoned,
            (GateKind::Checkpoint, _) => TaskOutcome::Back,
            (
                GateKind::Decision | GateKind::Tool | GateKind::Transition | GateKind::Lifecycle,
                _,
            ) => TaskOutcome::Back,
        }
    }

    /// True if the agent releases the task and ends its turn. The other kinds come from a live agent, which keeps its
    /// task while a person decides.
    pub const fn parks_the_task(self) -> bool {
        match self {
            GateKind::Work
            | GateKind::Approval
            | GateKind::Input
            | GateKind::Review
            | GateKind::Content
            | GateKind::Escalation
            | GateKind::Checkpoint => true,
            GateKind::Decision | GateKind::Tool | GateKind::Transition | GateKind::Lifecycle => {
                false
            }
        }
    }

    /// True if a text counts as an approval: a direction, or a report of work done by hand.
    pub const fn accepts_text_as_approval(self) -> bool {
        matches!(self, GateKind::Escalation | GateKind::Work)
    }

    /// True if a rejection needs a reason: work that is handed back without one helps no agent.
    pub const fn rejection_needs_reason(self) -> bool {
        matches!(self, GateKind::Work)
    }
}

impl fmt::Display for GateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for GateKind {
    type Err = UnknownGateKind;
    fn from_str(text: &str) -> Result<Self, UnknownGateKind> {
        GateKind::ALL
            .into_iter()
            .find(|k| k.as_str() == text)
            .ok_or_else(|| UnknownGateKind(text.into()))
    }
}

/// The error for a text that is not a kind of gate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no kind of gate; the kinds are work, approval, input, review, content, escalation, \
     checkpoint, decision, tool, transition and lifecycle"
)]
pub struct UnknownGateKind(String);

/// The verdict of an answer. Approved and answered differ: picking a colour approves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// An approval, where the question takes a verdict.
    Approved,
    /// A text, a choice or a form.
    Answered,
    /// A rejection, with or without a reason.
    Rejected,
}

impl Verdict {
    /// True if it is a rejection.
    pub const fn is_no(self) -> bool {
        match self {
            Verdict::Rejected => true,
            Verdict::Approved | Verdict::Answered => false,
        }
    }

    /// Returns the verdict of an answer with content, which is never a bare approval.
    pub const fn of_content(self) -> Self {
        match self {
            Verdict::Rejected => Verdict::Rejected,
            Verdict::Approved | Verdict::Answered => Verdict::Answered,
        }
    }

    /// Returns the name used in the CLI and the API.
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

/// The effect on a task once its gates are settled. The order is the order of precedence: of several answers, "won't
/// do" outweighs "go on", and "go on" outweighs "done".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOutcome {
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
        let page: String = GateKind::ALL
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
        for kind in GateKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("Approval".parse::<GateKind>().is_err());
    }
}
