//! The receipt (timeline) of a gate: each step with its time, actor and interface, and the run that continued with
//! the answer.
//!
//! The receipt is not stored; it is computed from the log.

use super::{Alert, Delivery, Event, Gate, Signature, apply, counts};
use crate::run::{Run, State};
use crate::task::Task;
use crate::{Answer, Door, RunId, Timestamp};
use serde::{Deserialize, Serialize};

/// The note of the step in which the asker acknowledged the ending.
pub const WENT_ON: &str = "went on";

/// The note of the step in which the asker's task ended before the delivery.
pub const NEVER_DELIVERED: &str = "never delivered";

/// The timeline of a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The run that continued with the answer, if it is known.
    pub onward: Option<Onward>,
    /// The alerts of the gate.
    pub alerts: Vec<Alert>,
}

/// One step of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The stage that was reached.
    pub stage: Stage,
    /// The time of the event.
    pub at: Timestamp,
    /// The name of the actor.
    pub by: String,
    /// The interface that was used.
    pub door: Option<Door>,
    /// A note: the verdict, an error, the action done.
    pub note: String,
}

/// A stage of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
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

impl Stage {
    /// Returns the name used in the CLI and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Stage::Asked => "asked",
            Stage::Seen => "seen",
            Stage::Delegated => "delegated",
            Stage::Voted => "voted",
            Stage::Answered => "answered",
            Stage::Ended => "ended",
            Stage::Delivered => "delivered",
            Stage::Failed => "failed",
            Stage::Acted => "acted",
        }
    }
}

/// An event of the log, with its time, actor and interface.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    /// The time of the event.
    pub at: Timestamp,
    /// The event as stored.
    pub event: Event,
    /// The name of the actor.
    pub by: String,
    /// The interface that was used.
    pub door: Door,
}

/// The agent's run that continued with an answer, and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Onward {
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
    pub fn of(happened: &[Happened]) -> Self {
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
        self.steps.push(Step { stage: Stage::Failed, at, by, door: None, note });
    }

    /// Returns the last step of a stage.
    pub fn last(&self, stage: Stage) -> Option<&Step> {
        self.steps.iter().rev().find(|step| step.stage == stage)
    }
}

/// Returns when and how the task ended whose agent did not get the ending. An agent without a run gets it regardless
/// of the task.
fn never_delivered(gate: &Gate, task: &Task) -> Option<(Timestamp, String)> {
    let is_under_way = matches!(gate.delivery, Delivery::Pending { .. } | Delivery::Failed { .. });
    let closure = task.closure.as_ref().filter(|_| task.status.is_over())?;
    let is_runs = gate.opened.lineage.run.is_some();
    (is_under_way && is_runs).then(|| (closure.at, task.end_in_words()))
}

fn step(one: &Happened) -> Option<Step> {
    // The event itself names the asker or the approver; another actor may have sent the command.
    let carried = || one.by.clone();
    let (stage, by, note) = match &one.event {
        Event::Opened(opened) => (Stage::Asked, opened.lineage.asker.clone(), String::new()),
        Event::Seen { by, .. } => (Stage::Seen, by.clone(), String::new()),
        Event::Voted { answer, by } => (Stage::Voted, by.name.clone(), said(answer, by)),
        Event::Answered { answer, by } => (Stage::Answered, by.name.clone(), said(answer, by)),
        Event::Delegated { by, to, .. } => (Stage::Delegated, by.clone(), format!("to {to}")),
        Event::Expired { .. } => (Stage::Ended, carried(), "expired".into()),
        Event::Withdrawn { by, reason } => {
            (Stage::Ended, by.clone(), format!("withdrawn: {reason}"))
        }
        Event::Superseded { .. } => (Stage::Ended, carried(), "superseded".into()),
        Event::Acted { what, .. } => (Stage::Acted, carried(), what.clone()),
        Event::Delivered => (Stage::Delivered, carried(), String::new()),
        Event::Acknowledged => (Stage::Acted, carried(), WENT_ON.into()),
        Event::DeliveryFailed { why, .. } => (Stage::Failed, carried(), why.clone()),
        Event::NeverDelivered { why } => {
            (Stage::Failed, carried(), format!("{NEVER_DELIVERED}: {why}"))
        }
        Event::VotesDropped { of } => {
            (Stage::Voted, carried(), format!("what {of} had said counts no more"))
        }
        Event::Revised { .. }
        | Event::Claimed { .. }
        | Event::Released
        | Event::Snoozed { .. }
        | Event::Woken
        | Event::Reminded
        | Event::Escalated { .. }
        | Event::Warned
        | Event::Extended { .. }
        | Event::Deferred { .. }
        | Event::Overdue
        | Event::Unknown => return None,
    };
    Some(Step { stage, at: one.at, by, door: Some(one.door), note })
}

/// Returns the verdict, with the people whose deputy gave it.
fn said(answer: &Answer, by: &Signature) -> String {
    match by.stands_for.is_empty() {
        true => answer.verdict.to_string(),
        false => format!("{} (stands in for {})", answer.verdict, by.stands_for.join(", ")),
    }
}

/// Returns the run that continued with the ending of a gate: the one that asked, if it was still running, else the
/// first one of its task that started afterwards. `runs` are those of its task.
pub fn onward<'r>(gate: &Gate, runs: &'r [Run]) -> Option<&'r Run> {
    let ended = gate.ended_at()?;
    let was_at_work = |run: &&Run| match &run.state {
        State::Running => true,
        State::Ended { at, .. } => *at > ended,
    };
    let asked = runs.iter().find(|run| Some(run.started.id) == gate.opened.lineage.run);
    let later = runs.iter().filter(|run| run.started_at >= ended);
    asked.filter(was_at_work).or_else(|| later.min_by_key(|run| run.started.fence))
}

impl Onward {
    /// Returns the summary of a run; `asked` are the gates it opened afterwards, which show its commit and files.
    pub fn of(run: &Run, asked: &[Gate]) -> Self {
        let (state, note, ended_at) = match &run.state {
            State::Running => ("running", String::new(), None),
            State::Ended { how, note, at, .. } => (how.as_str(), note.clone(), Some(*at)),
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
