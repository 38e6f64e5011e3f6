//! The receipt (timeline) of a gate: each step with its time, actor and interface, and the run that continued with
//! the answer.
//!
//! The receipt is not stored; it is computed from the log.

use super::{AnswerSignature, DeliveryState, Gate, GateAlert, GateEvent, apply, counts};
use crate::run::{Run, RunState};
use crate::task::Task;
use crate::{Answer, EntryPoint, RunId, Timestamp};
use serde::{Deserialize, Serialize};

/// The note of the step in which the asker acknowledged the ending.
pub const WENT_ON: &str = "went on";

/// The note of the step in which the asker's task ended before the delivery.
pub const NEVER_DELIVERED: &str = "never delivered";

/// The timeline of a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The steps, in order.
    pub steps: Vec<ReceiptStep>,
    /// The run that continued with the answer, if it is known.
    pub onward: Option<FollowUpRun>,
    /// The alerts of the gate.
    pub alerts: Vec<GateAlert>,
}

/// One step of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptStep {
    /// The stage that was reached.
    pub stage: ReceiptStage,
    /// The time of the event.
    pub at: Timestamp,
    /// The name of the actor.
    pub by: String,
    /// The interface that was used.
    pub door: Option<EntryPoint>,
    /// A note: the verdict, an error, the action done.
    pub note: String,
}

/// A stage of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptStage {
    /// The question was asked.
    Asked,
    /// A person saw it.
    Seen,
    /// A person delegated it to another.
    Delegated,
    /// One of several required approvals was given.
    Voted,
    /// A person gave the answer.
    Answered,
    /// It ended without an answer.
    Ended,
    /// The ending was delivered to the asker.
    Delivered,
    /// The delivery failed.
    Failed,
    /// The asker continued with it, or the deferred action was done.
    Acted,
}

impl ReceiptStage {
    /// Returns the name used in the CLI and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            ReceiptStage::Asked => "asked",
            ReceiptStage::Seen => "seen",
            ReceiptStage::Delegated => "delegated",
            ReceiptStage::Voted => "voted",
            ReceiptStage::Answered => "answered",
            ReceiptStage::Ended => "ended",
            ReceiptStage::Delivered => "delivered",
            ReceiptStage::Failed => "failed",
            ReceiptStage::Acted => "acted",
        }
    }
}

/// An event of the log, with its time, actor and interface.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEvent {
    /// The time of the event.
    pub at: Timestamp,
    /// The event as stored.
    pub event: GateEvent,
    /// The name of the actor.
    pub by: String,
    /// The interface that was used.
    pub door: EntryPoint,
}

/// The agent's run that continued with an answer, and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowUpRun {
    /// The id of the run.
    pub run: RunId,
    /// The number of the run within its task.
    pub number: u64,
    /// The time at which it started.
    pub started_at: Timestamp,
    /// The state: running, completed, asked, unclear, failed, waiting_for_reset, stopped or lost.
    pub state: String,
    /// The final message of the agent, or the error.
    pub note: String,
    /// The time at which it ended.
    pub ended_at: Option<Timestamp>,
    /// The commit it made, if one was shown to a person.
    pub commit: Option<String>,
    /// The files it changed, if they were shown to a person.
    pub files: Option<String>,
}

impl Receipt {
    /// Returns the receipt of a gate with these events.
    pub fn of(happened: &[LoggedEvent]) -> Self {
        let (mut gate, mut steps) = (None::<Gate>, vec![]);
        for one in happened {
            // An event that came too late to count is no step.
            if gate.as_ref().is_none_or(|gate| counts(gate, &one.event)) {
                steps.extend(step(one));
            }
            gate = apply(gate, &one.event, one.at);
        }
        Self { steps, ..Self::default() }
    }

    /// Adds the step that the asker never got the ending, if its task is over and no worker will deliver it. A worker
    /// in charge of the task records that; until then it is derived from the task.
    pub fn note_end_of_task(&mut self, gate: &Gate, task: &Task) {
        let Some((at, why)) = never_delivered(gate, task) else { return };
        let by = task.closure.as_ref().map(|closure| closure.by.clone()).unwrap_or_default();
        let note = format!("{NEVER_DELIVERED}: {why}");
        self.steps.push(ReceiptStep { stage: ReceiptStage::Failed, at, by, door: None, note });
    }

    /// Returns the last step of a stage.
    pub fn last(&self, stage: ReceiptStage) -> Option<&ReceiptStep> {
        self.steps.iter().rev().find(|step| step.stage == stage)
    }
}

/// Returns when and how the task ended whose agent did not get the ending. An agent without a run gets it regardless
/// of the task.
fn never_delivered(gate: &Gate, task: &Task) -> Option<(Timestamp, String)> {
    let is_under_way =
        matches!(gate.delivery, DeliveryState::Pending { .. } | DeliveryState::Failed { .. });
    let closure = task.closure.as_ref().filter(|_| task.status.is_over())?;
    let is_runs = gate.opened.lineage.run.is_some();
    (is_under_way && is_runs).then(|| (closure.at, task.end_in_words()))
}

fn step(one: &LoggedEvent) -> Option<ReceiptStep> {
    // The event itself names the asker or the approver; another actor may have sent the command.
    let carried = || one.by.clone();
    let (stage, by, note) = match &one.event {
        GateEvent::Opened(opened) => {
            (ReceiptStage::Asked, opened.lineage.asker.clone(), String::new())
        }
        GateEvent::Seen { by, .. } => (ReceiptStage::Seen, by.clone(), String::new()),
        GateEvent::Voted { answer, by } => (ReceiptStage::Voted, by.name.clone(), said(answer, by)),
        GateEvent::Answered { answer, by } => {
            (ReceiptStage::Answered, by.name.clone(), said(answer, by))
        }
        GateEvent::Delegated { by, to, .. } => {
            (ReceiptStage::Delegated, by.clone(), format!("to {to}"))
        }
        GateEvent::Expired { .. } => (ReceiptStage::Ended, carried(), "expired".into()),
        GateEvent::Withdrawn { by, reason } => {
            (ReceiptStage::Ended, by.clone(), format!("withdrawn: {reason}"))
        }
        GateEvent::Superseded { .. } => (ReceiptStage::Ended, carried(), "superseded".into()),
        GateEvent::Acted { what, .. } => (ReceiptStage::Acted, carried(), what.clone()),
        GateEvent::Delivered => (ReceiptStage::Delivered, carried(), String::new()),
        GateEvent::Acknowledged => (ReceiptStage::Acted, carried(), WENT_ON.into()),
        GateEvent::DeliveryFailed { why, .. } => (ReceiptStage::Failed, carried(), why.clone()),
        GateEvent::NeverDelivered { why } => {
            (ReceiptStage::Failed, carried(), format!("{NEVER_DELIVERED}: {why}"))
        }
        GateEvent::VotesDropped { of } => {
            (ReceiptStage::Voted, carried(), format!("what {of} had said counts no more"))
        }
        GateEvent::Revised { .. }
        | GateEvent::Claimed { .. }
        | GateEvent::Released
        | GateEvent::Snoozed { .. }
        | GateEvent::Woken
        | GateEvent::Reminded
        | GateEvent::Escalated { .. }
        | GateEvent::Warned
        | GateEvent::Extended { .. }
        | GateEvent::Deferred { .. }
        | GateEvent::Overdue
        | GateEvent::Unknown => return None,
    };
    Some(ReceiptStep { stage, at: one.at, by, door: Some(one.door), note })
}

/// Returns the verdict, with the people whose deputy gave it.
fn said(answer: &Answer, by: &AnswerSignature) -> String {
    if by.stands_for.is_empty() {
        answer.verdict.to_string()
    } else {
        format!("{} (stands in for {})", answer.verdict, by.stands_for.join(", "))
    }
}

/// Returns the run that continued with the ending of a gate: the one that asked, if it was still running, else the
/// first one of its task that started afterwards. `runs` are those of its task.
pub fn follow_up_run<'r>(gate: &Gate, runs: &'r [Run]) -> Option<&'r Run> {
    let ended = gate.ended_at()?;
    let was_at_work = |run: &&Run| match &run.state {
        RunState::Running => true,
        RunState::Ended { at, .. } => *at > ended,
    };
    let asked = runs.iter().find(|run| Some(run.started.id) == gate.opened.lineage.run);
    let later = runs.iter().filter(|run| run.started_at >= ended);
    asked.filter(was_at_work).or_else(|| later.min_by_key(|run| run.started.fence))
}

impl FollowUpRun {
    /// Returns the summary of a run; `asked` are the gates it opened afterwards, which show its commit and files.
    pub fn of(run: &Run, asked: &[Gate]) -> Self {
        let (state, note, ended_at) = match &run.state {
            RunState::Running => ("running", String::new(), None),
            RunState::Ended { how, note, at, .. } => (how.as_str(), note.clone(), Some(*at)),
        };
        let by_it = asked.iter().filter(|g| g.opened.lineage.run == Some(run.started.id));
        let fact = |name: &str| {
            let facts = by_it.clone().flat_map(|gate| &gate.card.facts);
            let mut found = facts.filter(|fact| fact.verified && fact.name == name);
            found.next_back().and_then(|fact| fact.value.as_str()).map(str::to_owned)
        };
        Self {
            run: run.started.id,
            number: run.started.fence,
            started_at: run.started_at,
            state: state.into(),
            note,
            ended_at,
            commit: fact("commit"),
            files: fact("files"),
        }
    }
}
