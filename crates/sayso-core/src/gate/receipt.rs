//! The receipt: each step of a gate's way, when, by whom and through which door; and what came of it.
//!
//! Nothing of it is kept: it is read off the log.

use super::{Alert, Delivery, Event, Gate, Signature, apply, counts};
use crate::run::{Run, State};
use crate::task::Task;
use crate::{Answer, Door, RunId, Timestamp};
use serde::{Deserialize, Serialize};

/// What is noted where the asker took an ending and went on.
pub const WENT_ON: &str = "went on";

/// What is noted where the task of the asker ended before it was handed the answer.
pub const NEVER_DELIVERED: &str = "never delivered";

/// The way of a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// The work that went on with the answer, where it is known.
    pub onward: Option<Onward>,
    /// What hangs.
    pub alerts: Vec<Alert>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Which.
    pub stage: Stage,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
    /// Through which door.
    pub door: Option<Door>,
    /// What else is to be said: a verdict, an error, what was done.
    pub note: String,
}

/// What can happen on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It was asked.
    Asked,
    /// A person saw it.
    Seen,
    /// Somebody handed it to another.
    Delegated,
    /// One of several needed said yes.
    Voted,
    /// A person answered.
    Answered,
    /// It ended without an answer.
    Ended,
    /// The asker was handed the ending.
    Delivered,
    /// It could not be handed over.
    Failed,
    /// The asker went on with it, or what was held was done.
    Acted,
}

impl Stage {
    /// Its name in every door.
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

/// An event of the log, and who caused it.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: Event,
    /// Who.
    pub by: String,
    /// Through which door.
    pub door: Door,
}

/// The turn of an agent that went on with an answer, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Onward {
    /// Which run.
    pub run: RunId,
    /// Counts the runs of the task.
    pub number: u64,
    /// When it began.
    pub started_at: Timestamp,
    /// running, completed, asked, unclear, failed, waiting_for_reset, stopped or lost.
    pub state: String,
    /// What it said at its end, or what went wrong.
    pub note: String,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// What it committed, where it was shown to a person.
    pub commit: Option<String>,
    /// Which files it changed, where that was shown to a person.
    pub files: Option<String>,
}

impl Receipt {
    /// Reads the steps off what happened to a gate.
    pub fn of(happened: &[Happened]) -> Self {
        let (mut gate, mut steps) = (None::<Gate>, vec![]);
        for one in happened {
            // What came too late to count is no step.
            if gate.as_ref().is_none_or(|gate| counts(gate, &one.event)) {
                steps.extend(step(one));
            }
            gate = apply(gate, &one.event, one.at);
        }
        Self { steps, ..Self::default() }
    }

    /// Tells that the asker never got the ending, if its task is over and nothing more hands it on. A worker that
    /// looks after the task writes that down; until then it is read off the task.
    pub fn note_end_of_task(&mut self, gate: &Gate, task: &Task) {
        let Some((at, why)) = never_delivered(gate, task) else { return };
        let by = task.closure.as_ref().map(|closure| closure.by.clone()).unwrap_or_default();
        let note = format!("{NEVER_DELIVERED}: {why}");
        self.steps.push(Step { stage: Stage::Failed, at, by, door: None, note });
    }

    /// When a stage was last reached.
    pub fn last(&self, stage: Stage) -> Option<&Step> {
        self.steps.iter().rev().find(|step| step.stage == stage)
    }
}

/// When and by what a task ended whose agent was not handed the ending of a gate. An agent without a run hears of
/// it whatever becomes of the task.
fn never_delivered(gate: &Gate, task: &Task) -> Option<(Timestamp, String)> {
    let is_under_way = matches!(gate.delivery, Delivery::Pending { .. } | Delivery::Failed { .. });
    let closure = task.closure.as_ref().filter(|_| task.status.is_over())?;
    let is_runs = gate.opened.lineage.run.is_some();
    (is_under_way && is_runs).then(|| (closure.at, task.end_in_words()))
}

fn step(one: &Happened) -> Option<Step> {
    // Who asked and who answered is in the event itself; somebody else may have carried it.
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

/// A verdict, and in whose place it may have been given.
fn said(answer: &Answer, by: &Signature) -> String {
    match by.stands_for.is_empty() {
        true => answer.verdict.to_string(),
        false => format!("{} (stands in for {})", answer.verdict, by.stands_for.join(", ")),
    }
}

/// The run that went on with the ending of a gate: the one that asked, if it was still at work, else the
/// first one of its task that began afterwards. `runs` are those of its task.
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
    /// What is known of a run; the gates are those it asked afterwards, which show what it did.
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
