//! The flow: one durable execution of a workflow. It is in one phase at a time, where an agent may work and people
//! may be asked; the outcome leads to the next phase.
//!
//! Outputs of finished steps are stored here, so that a runner that resumes after a crash repeats no step, asks no
//! question twice and takes the same path. The workflow defines the phases and transitions; this state machine only
//! records what has happened.

mod decide;
mod event;
mod home;
#[cfg(test)]
mod tests;

pub use decide::decide;
pub use event::{FlowLogEvent, apply};
pub use home::{FlowHome, FlowPlace, check_home};

use crate::run::LeaseHolder;
use crate::{Answer, FlowId, GateId, Role, SpaceId, TaskId, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The maximum size of a flow's state, as JSON.
pub const STATE_BYTES_MAX: usize = 1024 * 1024;

/// The maximum size of a workflow definition stored with a flow.
pub const DEFINITION_BYTES_MAX: usize = 256 * 1024;

/// The maximum length of the name of a workflow or a phase.
pub const NAME_BYTES_MAX: usize = 200;

/// The maximum number of phases a flow may enter, so that an endless loop ends.
pub const POSITIONS_MAX: u32 = 10_000;

/// The maximum length of the stored reason why a flow is stuck.
pub const WHY_CHARS_MAX: usize = 4_000;

/// The maximum number of items in a phase.
pub const ITEMS_MAX: u32 = 1_000;

/// A flow, folded from its events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// The parameters with which it was started.
    pub started: FlowSpec,
    /// The time of the start.
    pub started_at: Timestamp,
    /// The state, which the workflow reads and writes.
    pub state: Value,
    /// The current phase.
    pub phase: String,
    /// The number of phases entered before this one: a phase that is entered again has another position.
    pub position: u32,
    /// The outputs of the agent's work in this phase, by item.
    pub outputs: BTreeMap<u32, Value>,
    /// The gates opened in this phase, by item.
    pub asked: BTreeMap<u32, GateId>,
    /// The outcomes of the questions of this phase, by item.
    pub heard: BTreeMap<u32, QuestionOutcome>,
    /// The fencing number: it grows with each lease, and commands under an older number are refused.
    pub fence: u64,
    /// The current lease, if a runner holds one.
    pub hold: Option<FlowLease>,
    /// The failure of the last attempt to continue; `None` while a new attempt is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<FlowStall>,
    /// The home; `None` if it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<FlowHome>,
    /// The ending, once it is over.
    pub ending: Option<FlowEnding>,
}

/// The parameters with which a flow is started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    /// The id, chosen by the caller, so that a repeated start gives the same flow (idempotency).
    pub id: FlowId,
    /// The space it belongs to.
    pub space: SpaceId,
    /// The handle that people use.
    pub handle: String,
    /// The name of the workflow.
    pub workflow: String,
    /// The version of the workflow. A flow keeps the version it was started with.
    pub version: String,
    /// The text of the workflow, if it is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// The subject of this flow, as text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The task its agents work on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The name of the first phase.
    pub phase: String,
    /// The initial state of the flow.
    pub state: Value,
    /// The name of the actor who started it.
    pub launcher: String,
    /// The role of that actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher_role: Option<Role>,
    /// The place where its commands run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<FlowPlace>,
}

/// The lease of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowLease {
    /// The process that holds it, and its machine.
    pub holder: LeaseHolder,
    /// The time at which it expires unless it is renewed.
    pub until: Timestamp,
}

/// A failed attempt to continue a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowStall {
    /// The reason, as text.
    pub why: String,
    /// The time of the ending.
    pub at: Timestamp,
}

/// The outcome of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuestionOutcome {
    /// The gate. `None` if the program that runs the flow asked by its own means: then sayso did not see who
    /// answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateId>,
    /// The answer; `None` if the question ended without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// The person who answered, or the means by which the program asked.
    pub by: String,
    /// The question, if there is no gate that has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub question: String,
    /// The ending of the gate, as one word.
    pub ended: String,
    /// True if more questions follow this one: a program that asks one question after another may stop in between,
    /// and questions it did not ask were not answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

impl QuestionOutcome {
    /// Returns the verdict of a person, or of a program that answers in place of one in a test.
    pub fn verdict(&self) -> Option<Verdict> {
        self.answer.as_ref().map(|answer| answer.verdict)
    }

    /// True if it was a bare approval.
    pub fn is_approved(&self) -> bool {
        self.verdict() == Some(Verdict::Approved)
    }

    /// True if it was a rejection. A question without an answer has neither.
    pub fn is_rejected(&self) -> bool {
        self.verdict().is_some_and(Verdict::is_no)
    }
}

/// The ending of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowEnding {
    /// The kind of ending.
    pub how: FlowEndKind,
    /// The reason, as text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The time of the ending.
    pub at: Timestamp,
}

/// The kind of ending of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowEndKind {
    /// It reached its final phase.
    Done,
    /// A person rejected, and the workflow has no transition for that.
    Rejected,
    /// It failed with an error.
    Failed,
    /// A caller cancelled it.
    Cancelled,
}

impl FlowEndKind {
    /// All kinds of ending.
    pub const ALL: [FlowEndKind; 4] =
        [FlowEndKind::Done, FlowEndKind::Rejected, FlowEndKind::Failed, FlowEndKind::Cancelled];

    /// Returns the name used in the CLI and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            FlowEndKind::Done => "done",
            FlowEndKind::Rejected => "rejected",
            FlowEndKind::Failed => "failed",
            FlowEndKind::Cancelled => "cancelled",
        }
    }
}

/// The state of the questions that a flow or its agent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionStatus {
    /// At least one is still open.
    Open,
    /// All of them were answered, or there are none.
    Answered,
    /// All of them ended, at least one without an answer.
    Unanswered,
}

/// The status of a flow, as shown in every interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlowStatus {
    /// A runner holds its lease.
    Running,
    /// It waits for people.
    Waiting,
    /// Its questions were answered, and no runner has continued it yet.
    Answered,
    /// At least one of its questions ended without an answer, and no runner has continued it yet.
    Unanswered,
    /// The last attempt to continue it failed.
    Stuck,
    /// No runner holds it: the last one is gone, or none has started.
    Idle,
    /// It has ended this way.
    Over(FlowEndKind),
}

impl FlowStatus {
    /// Returns the name used in the CLI and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            FlowStatus::Running => "running",
            FlowStatus::Waiting => "waiting",
            FlowStatus::Answered => "answered",
            FlowStatus::Unanswered => "unanswered",
            FlowStatus::Stuck => "stuck",
            FlowStatus::Idle => "idle",
            FlowStatus::Over(how) => how.as_str(),
        }
    }
}

impl Flow {
    /// Returns the status. `is_held` is true if a runner holds the lease now.
    pub fn status(&self, questions: QuestionStatus, is_held: bool) -> FlowStatus {
        match &self.ending {
            Some(ending) => FlowStatus::Over(ending.how),
            None if questions == QuestionStatus::Open => FlowStatus::Waiting,
            None if is_held => FlowStatus::Running,
            None if self.is_waiting() && questions == QuestionStatus::Unanswered => {
                FlowStatus::Unanswered
            }
            None if self.is_waiting() => FlowStatus::Answered,
            None if self.stuck.is_some() => FlowStatus::Stuck,
            None => FlowStatus::Idle,
        }
    }

    /// True if it has not ended.
    pub fn is_live(&self) -> bool {
        self.ending.is_none()
    }

    /// Returns the open questions: items that have a gate and no outcome yet.
    pub fn waits_for(&self) -> impl Iterator<Item = (u32, GateId)> + '_ {
        let is_open = |(item, _): &(&u32, &GateId)| !self.heard.contains_key(item);
        self.asked.iter().filter(|_| self.is_live()).filter(is_open).map(|(i, gate)| (*i, *gate))
    }

    /// True if it waits for people.
    pub fn is_waiting(&self) -> bool {
        self.waits_for().next().is_some()
    }

    /// True if all questions of this phase were asked.
    pub fn has_asked(&self) -> bool {
        !self.asked.is_empty() || self.heard.values().any(|heard| !heard.more)
    }

    /// Returns the status as far as it is known without the gates and the lease. People are shown the one of
    /// [`Flow::status`].
    pub fn basic_status(&self) -> &'static str {
        match &self.ending {
            Some(ending) => ending.how.as_str(),
            None if self.is_waiting() => "waiting",
            None => "running",
        }
    }
}

/// A command to a flow.
#[derive(Debug, Clone, PartialEq)]
pub enum FlowCommand {
    /// Start the flow.
    Start(Box<FlowSpec>),
    /// Continue it with recorded steps.
    Advance(FlowAdvance),
    /// Cancel the flow.
    Cancel {
        /// The reason, as text.
        reason: String,
    },
}

/// Steps that continue a flow, all or nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowAdvance {
    /// The lease under which it continues.
    pub claim: LeaseClaim,
    /// The position the caller expects; another one is refused (optimistic concurrency).
    pub position: u32,
    /// The steps to record, in order.
    pub steps: Vec<StepRecord>,
}

/// The lease under which a caller continues a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeaseClaim {
    /// The caller holds the lease with this fencing number.
    Held(u64),
    /// The caller takes the lease, because it is free, has expired, or belongs to a dead process.
    Take {
        /// The process that takes it.
        holder: LeaseHolder,
        /// The time at which it expires unless it is renewed.
        until: Timestamp,
        /// The fencing number of a process on the same machine that is known to be dead.
        dead: Option<u64>,
        /// The place where its commands will run; `None` if it runs none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<FlowPlace>,
        /// True to take the flow over from its home.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        adopts: bool,
    },
}

/// A step of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum StepRecord {
    /// Record an output of the agent's work.
    Complete {
        /// The index of the item.
        item: u32,
        /// The output of the item.
        output: Value,
        /// The new state of the flow, if it changed.
        state: Option<Value>,
    },
    /// Record that people are asked.
    Ask {
        /// The index of the item.
        item: u32,
        /// The gate with the question.
        gate: GateId,
    },
    /// Record the outcome of a question.
    Hear {
        /// The index of the item.
        item: u32,
        /// The outcome of the question.
        heard: QuestionOutcome,
        /// The new state of the flow, if it changed.
        state: Option<Value>,
    },
    /// Enter another phase.
    Move {
        /// The name of the phase.
        to: String,
        /// The new state of the flow, if it changed.
        state: Option<Value>,
    },
    /// Renew the lease.
    Keep {
        /// The time at which it expires unless it is renewed again.
        until: Timestamp,
    },
    /// Record that the holder cannot continue.
    Stuck {
        /// The reason, as text.
        why: String,
    },
    /// Release the lease.
    #[serde(rename = "LetGo")]
    Release,
    /// End the flow.
    End {
        /// The kind of ending.
        how: FlowEndKind,
        /// The reason, as text.
        note: String,
        /// The final state of the flow, if it changed.
        state: Option<Value>,
    },
}
