//! Wire types of cards: a gate with every asker of the same question, its receipt, and its alerts.

use crate::wire::{GateJson, TimeFormatter};
use sayso_core::gate::{
    FollowUpRun as CoreOnward, GateAlert as CoreAlert, Receipt as CoreReceipt,
    UnblockedWork as CoreUnblocks,
};
use sayso_engine::{AnswerOutcome, CardView, NamedTask};
use schemars::JsonSchema;
use serde::Serialize;

/// The requests that wait for people.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Inbox")]
pub struct InboxJson {
    /// The cards: what unblocks most first, then oldest first.
    pub items: Vec<CardJson>,
    /// Hand this to `--after` for the next page; null on the last one.
    pub next: Option<String>,
    /// Stalled steps, of these gates or of others.
    pub alerts: Vec<AlertJson>,
}

/// A gate, and every asker of the same question.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Card")]
pub struct CardJson {
    /// The gate that stands for the card.
    #[serde(flatten)]
    pub gate: GateJson,
    /// Names the question, where others may ask the same.
    pub same: Option<String>,
    /// The askers an answer goes to, the one of this gate first.
    pub askers: Vec<AskerJson>,
    /// The number of askers of the same question whom you may not answer.
    pub others: usize,
    /// The work that continues with an answer.
    pub unblocks: UnblocksJson,
}

/// The work that continues with an answer: that of the askers, and all that waits behind it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Unblocks")]
pub struct UnblocksJson {
    /// Tasks: those of the askers, and open tasks that wait for them at any depth. At most 99 are counted.
    pub tasks: usize,
    /// True if there are more tasks than that.
    pub more: bool,
    /// Flows that are parked on it and lead no task.
    pub flows: usize,
    /// Askers without a task.
    pub askers: usize,
    /// The first of the tasks, where a card is looked at by itself.
    pub first: Vec<UnblockedTask>,
}

/// A task that continues with an answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnblockedTask {
    /// The full id of the task.
    pub id: String,
    /// The short id of the task.
    pub handle: String,
    /// The title of the task.
    pub title: String,
}

impl UnblocksJson {
    fn of(asked: &CardView) -> Self {
        let task = |task: &NamedTask| UnblockedTask {
            id: task.id.to_string(),
            handle: task.handle.clone(),
            title: task.title.clone(),
        };
        let CoreUnblocks { tasks, more, flows, askers, .. } = asked.unblocks;
        Self { tasks, more, flows, askers, first: asked.first.iter().map(task).collect() }
    }
}

/// An asker of a card.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Asker")]
pub struct AskerJson {
    /// The short id of their gate.
    pub gate: String,
    /// The name of the asker.
    pub name: String,
    /// The full id of the task that waits.
    pub task: Option<String>,
    /// The time at which they asked.
    pub asked_at: String,
}

impl CardJson {
    /// Converts a card to its wire form.
    pub fn of(asked: &CardView, time: TimeFormatter<'_>) -> Self {
        let asker = |asker: &sayso_engine::CardAsker| AskerJson {
            gate: asker.handle.clone(),
            name: asker.name.clone(),
            task: asker.task.map(|task| task.to_string()),
            asked_at: time(asker.at),
        };
        Self {
            gate: GateJson::of(&asked.gate, time),
            same: asked.same.as_ref().map(ToString::to_string),
            askers: asked.askers.iter().map(asker).collect(),
            others: asked.others,
            unblocks: UnblocksJson::of(asked),
        }
    }
}

/// A gate with its whole receipt.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GateDetail {
    /// The gate, and every asker of the same question.
    #[serde(flatten)]
    pub card: CardJson,
    /// Its timeline, in order.
    pub receipt: Vec<ReceiptStepJson>,
    /// The run that continued with the answer, where it is known.
    pub onward: Option<FollowUpRunJson>,
    /// Stalled steps of this gate.
    pub alerts: Vec<AlertJson>,
}

impl GateDetail {
    /// Converts a gate and its receipt to their wire form.
    pub fn of(asked: &CardView, receipt: &CoreReceipt, time: TimeFormatter<'_>) -> Self {
        Self {
            card: CardJson::of(asked, time),
            receipt: ReceiptStepJson::all(receipt, time),
            onward: receipt.onward.as_ref().map(|onward| FollowUpRunJson::of(onward, time)),
            alerts: receipt.alerts.iter().map(|alert| AlertJson::of(alert, time)).collect(),
        }
    }
}

/// One step of a gate's timeline.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Step")]
pub struct ReceiptStepJson {
    /// asked, seen, voted, answered, ended, delivered, failed or acted.
    pub step: String,
    /// The time of the step.
    pub at: String,
    /// The actor of the step.
    pub by: String,
    /// The interface it came by: cli, tui, web, http, mcp, hook, worker, workflow or channel.
    pub door: Option<String>,
    /// Further details: a verdict, an error, an executed action.
    pub note: String,
}

impl ReceiptStepJson {
    fn all(receipt: &CoreReceipt, time: TimeFormatter<'_>) -> Vec<Self> {
        let step = |step: &sayso_core::gate::ReceiptStep| Self {
            step: step.stage.as_str().into(),
            at: time(step.at),
            by: step.by.clone(),
            door: step.door.map(|door| crate::wire::serde_name(&door)),
            note: step.note.clone(),
        };
        receipt.steps.iter().map(step).collect()
    }
}

/// The run of an agent that continued with an answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Onward")]
pub struct FollowUpRunJson {
    /// The full id of the run.
    pub run: String,
    /// The number of the run among the runs of the task.
    pub number: u64,
    /// running, completed, asked, unclear, failed, waiting_for_reset, stopped or lost.
    pub state: String,
    /// Its last message, or its error.
    pub note: String,
    /// The time at which it began.
    pub started_at: String,
    /// The time at which it ended.
    pub ended_at: Option<String>,
    /// Its commits, where they were shown to a person.
    pub commit: Option<String>,
    /// The files it changed, where they were shown to a person.
    pub files: Option<String>,
}

impl FollowUpRunJson {
    fn of(onward: &CoreOnward, time: TimeFormatter<'_>) -> Self {
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

/// A step that is stalled.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Alert")]
pub struct AlertJson {
    /// unseen, asker_lost, undelivered, delivery_failed, unacknowledged or undone.
    pub trouble: String,
    /// The short id of the gate.
    pub gate: String,
    /// The time since which it is stalled.
    pub since: String,
    /// The problem, in a sentence.
    pub what: String,
    /// The action that helps.
    pub hint: String,
}

impl AlertJson {
    /// Converts an alert to its wire form.
    pub fn of(alert: &CoreAlert, time: TimeFormatter<'_>) -> Self {
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
#[schemars(rename = "Answered")]
pub struct AnsweredGates {
    /// The gate that was named.
    #[serde(flatten)]
    pub gate: GateJson,
    /// The other gates that asked the same and got the same answer.
    pub also: Vec<GateJson>,
}

impl AnsweredGates {
    /// Converts the gates of one answer to their wire form, the named gate first.
    pub fn of(gates: &[sayso_core::gate::Gate], time: TimeFormatter<'_>) -> Option<Self> {
        let (first, also) = gates.split_first()?;
        let also = also.iter().map(|gate| GateJson::of(gate, time)).collect();
        Some(Self { gate: GateJson::of(first, time), also })
    }
}

/// The outcome of several answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Answers")]
pub struct AnswerResults {
    /// One for each id that was given, in order.
    pub items: Vec<AnswerResult>,
}

/// The outcome of one of several answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "OneAnswer")]
pub struct AnswerResult {
    /// The id as it was given.
    pub id: String,
    /// The outcome: answered or refused.
    pub outcome: String,
    /// The gates that were answered.
    pub answered: Option<AnsweredGates>,
    /// The error code if it was refused, such as SAY004.
    pub code: Option<String>,
    /// The reason why it was refused.
    pub message: Option<String>,
    /// The next step to take.
    pub hint: Option<String>,
}

impl AnswerResult {
    /// Converts one of several outcomes to its wire form.
    pub fn of(id: &str, outcome: &AnswerOutcome, time: TimeFormatter<'_>) -> Self {
        let (word, answered, why) = match outcome {
            AnswerOutcome::Answered(gates) => ("answered", AnsweredGates::of(gates, time), None),
            AnswerOutcome::Refused { code, message, hint } => {
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
