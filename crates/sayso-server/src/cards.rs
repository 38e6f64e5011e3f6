//! Wire types of cards: a gate with everybody who asks it, its receipt, and what hangs.

use crate::wire::{Clock, Gate};
use sayso_core::gate::{
    Alert as CoreAlert, Onward as CoreOnward, Receipt as CoreReceipt, Unblocks as CoreUnblocks,
};
use sayso_engine::{Asked, NamedTask, SayOutcome};
use schemars::JsonSchema;
use serde::Serialize;

/// What waits for people.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Inbox {
    /// The cards: what unblocks most first, then oldest first.
    pub items: Vec<Card>,
    /// Hand this to `--after` for the next page; null on the last one.
    pub next: Option<String>,
    /// Steps that hang, of these gates or of others.
    pub alerts: Vec<Alert>,
}

/// A gate, and everybody who asks the same.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Card {
    /// The gate that stands for the card.
    #[serde(flatten)]
    pub gate: Gate,
    /// Names what is asked, where others may ask it as well.
    pub same: Option<String>,
    /// Everybody an answer goes to, the one of this gate first.
    pub askers: Vec<Asker>,
    /// How many ask the same whom you may not answer.
    pub others: usize,
    /// What goes on with an answer.
    pub unblocks: Unblocks,
}

/// What goes on with an answer: the work of whoever asks, and all that waits behind it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Unblocks {
    /// Tasks: those of the askers, and open tasks that wait for them at any depth. At most 99 are counted.
    pub tasks: usize,
    /// Whether there are more tasks than that.
    pub more: bool,
    /// Flows that are parked on it and lead no task.
    pub flows: usize,
    /// Askers without a task.
    pub askers: usize,
    /// The first of the tasks, where a card is looked at by itself.
    pub first: Vec<UnblockedTask>,
}

/// A task that goes on with an answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnblockedTask {
    /// Its full id.
    pub id: String,
    /// Its short id.
    pub handle: String,
    /// What is to be done.
    pub title: String,
}

impl Unblocks {
    fn of(asked: &Asked) -> Self {
        let task = |task: &NamedTask| UnblockedTask {
            id: task.id.to_string(),
            handle: task.handle.clone(),
            title: task.title.clone(),
        };
        let CoreUnblocks { tasks, more, flows, askers, .. } = asked.unblocks;
        Self { tasks, more, flows, askers, first: asked.first.iter().map(task).collect() }
    }
}

/// Somebody who asks.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Asker {
    /// The short id of their gate.
    pub gate: String,
    /// Their name.
    pub name: String,
    /// The full id of the task that waits.
    pub task: Option<String>,
    /// When they asked.
    pub asked_at: String,
}

impl Card {
    /// A card for the wire.
    pub fn of(asked: &Asked, time: Clock<'_>) -> Self {
        let asker = |asker: &sayso_engine::Asker| Asker {
            gate: asker.handle.clone(),
            name: asker.name.clone(),
            task: asker.task.map(|task| task.to_string()),
            asked_at: time(asker.at),
        };
        Self {
            gate: Gate::of(&asked.gate, time),
            same: asked.same.as_ref().map(ToString::to_string),
            askers: asked.askers.iter().map(asker).collect(),
            others: asked.others,
            unblocks: Unblocks::of(asked),
        }
    }
}

/// A gate with its whole way.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GateDetail {
    /// The gate, and everybody who asks the same.
    #[serde(flatten)]
    pub card: Card,
    /// Its way, in order.
    pub receipt: Vec<Step>,
    /// The turn that went on with the answer, where it is known.
    pub onward: Option<Onward>,
    /// Steps that hang.
    pub alerts: Vec<Alert>,
}

impl GateDetail {
    /// A gate and its receipt for the wire.
    pub fn of(asked: &Asked, receipt: &CoreReceipt, time: Clock<'_>) -> Self {
        Self {
            card: Card::of(asked, time),
            receipt: Step::all(receipt, time),
            onward: receipt.onward.as_ref().map(|onward| Onward::of(onward, time)),
            alerts: receipt.alerts.iter().map(|alert| Alert::of(alert, time)).collect(),
        }
    }
}

/// One step of a gate's way.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Step {
    /// asked, seen, voted, answered, ended, delivered, failed or acted.
    pub step: String,
    /// When.
    pub at: String,
    /// By whom.
    pub by: String,
    /// The way in: cli, tui, web, http, mcp, hook, worker, workflow or channel.
    pub door: Option<String>,
    /// What else is to be said: a verdict, an error, what was done.
    pub note: String,
}

impl Step {
    fn all(receipt: &CoreReceipt, time: Clock<'_>) -> Vec<Self> {
        let step = |step: &sayso_core::gate::Step| Self {
            step: step.stage.as_str().into(),
            at: time(step.at),
            by: step.by.clone(),
            door: step.door.map(|door| crate::wire::name(&door)),
            note: step.note.clone(),
        };
        receipt.steps.iter().map(step).collect()
    }
}

/// The turn of an agent that went on with an answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Onward {
    /// The full id of the run.
    pub run: String,
    /// Counts the runs of the task.
    pub number: u64,
    /// running, completed, asked, unclear, failed, waiting_for_reset, stopped or lost.
    pub state: String,
    /// What it said at its end, or what went wrong.
    pub note: String,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// What it committed, where that was shown to a person.
    pub commit: Option<String>,
    /// Which files it changed, where that was shown to a person.
    pub files: Option<String>,
}

impl Onward {
    fn of(onward: &CoreOnward, time: Clock<'_>) -> Self {
        Self {
            run: onward.run.to_string(),
            number: onward.number,
            state: onward.state.clone(),
            note: onward.note.clone(),
            started_at: time(onward.started_at),
            ended_at: onward.ended_at.map(time),
            commit: onward.commit.clone(),
            files: onward.files.clone(),
        }
    }
}

/// A step that hangs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Alert {
    /// unseen, asker_lost, undelivered, delivery_failed, unacknowledged or undone.
    pub trouble: String,
    /// The short id of the gate.
    pub gate: String,
    /// Since when.
    pub since: String,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl Alert {
    /// An alert for the wire.
    pub fn of(alert: &CoreAlert, time: Clock<'_>) -> Self {
        Self {
            trouble: alert.trouble.as_str().into(),
            gate: alert.gate.clone(),
            since: time(alert.since),
            what: alert.what.clone(),
            hint: alert.hint.clone(),
        }
    }
}

/// A gate that was answered, and those that were answered with it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Answered {
    /// The gate that was named.
    #[serde(flatten)]
    pub gate: Gate,
    /// The other gates that asked the same and heard the same.
    pub also: Vec<Gate>,
}

impl Answered {
    /// What was answered, the named gate first.
    pub fn of(gates: &[sayso_core::gate::Gate], time: Clock<'_>) -> Option<Self> {
        let (first, also) = gates.split_first()?;
        let also = also.iter().map(|gate| Gate::of(gate, time)).collect();
        Some(Self { gate: Gate::of(first, time), also })
    }
}

/// What came of several answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Answers {
    /// One for each id that was given, in order.
    pub items: Vec<OneAnswer>,
}

/// What came of one of several answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OneAnswer {
    /// The id as it was given.
    pub id: String,
    /// answered or refused.
    pub outcome: String,
    /// What was answered.
    pub answered: Option<Answered>,
    /// Why it was not, by number, such as SAY004.
    pub code: Option<String>,
    /// Why it was not.
    pub message: Option<String>,
    /// What to do now.
    pub hint: Option<String>,
}

impl OneAnswer {
    /// One of several outcomes for the wire.
    pub fn of(id: &str, outcome: &SayOutcome, time: Clock<'_>) -> Self {
        let (word, answered, why) = match outcome {
            SayOutcome::Answered(gates) => ("answered", Answered::of(gates, time), None),
            SayOutcome::Refused { code, message, hint } => {
                ("refused", None, Some((code.clone(), message.clone(), hint.clone())))
            }
        };
        let (code, message, hint) = match why {
            Some((code, message, hint)) => (Some(code), Some(message), hint),
            None => (None, None, None),
        };
        Self { id: id.into(), outcome: word.into(), answered, code, message, hint }
    }
}
