//! The flow: one walk through a workflow. It stands in one phase at a time; there an agent may work, people
//! may be asked, and what comes of it leads to the next.
//!
//! What a finished step gave is kept here, so that whoever goes on after a crash does no step again, asks
//! nothing twice, and takes the same way. How a phase works and where it leads is the workflow's to say;
//! the machine only knows what has happened.

mod decide;
mod event;
mod home;
#[cfg(test)]
mod tests;

pub use decide::decide;
pub use event::{Event, apply};
pub use home::{FlowHome, FlowPlace, check_home};

use crate::run::Holder;
use crate::{Answer, FlowId, GateId, Role, SpaceId, TaskId, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The most a flow may carry along, as JSON.
pub const STATE_BYTES_MAX: usize = 1024 * 1024;

/// The longest text of a definition that is kept with a flow.
pub const DEFINITION_BYTES_MAX: usize = 256 * 1024;

/// The longest name of a workflow or a phase.
pub const NAME_BYTES_MAX: usize = 200;

/// How many phases a flow may enter: one that walks in circles ends.
pub const POSITIONS_MAX: u32 = 10_000;

/// How much is kept of why a flow did not go on.
pub const WHY_CHARS_MAX: usize = 4_000;

/// How many pieces a phase may be done in.
pub const ITEMS_MAX: u32 = 1_000;

/// A flow as its events made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// What was started.
    pub started: Started,
    /// When.
    pub started_at: Timestamp,
    /// What it carries along.
    pub state: Value,
    /// Where it stands.
    pub phase: String,
    /// How many phases it entered before this one: a phase that is entered again is another place.
    pub position: u32,
    /// What the agent's work in this phase gave, piece by piece.
    pub outputs: BTreeMap<u32, Value>,
    /// What people were asked in this phase, piece by piece.
    pub asked: BTreeMap<u32, GateId>,
    /// What came of that.
    pub heard: BTreeMap<u32, Heard>,
    /// How often somebody has taken it: whoever holds an older number goes on with nothing.
    pub fence: u64,
    /// Who goes on with it now.
    pub hold: Option<Hold>,
    /// Why it did not go on when somebody last tried; nothing while somebody tries again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Stuck>,
    /// Where it goes on, and who leads it there; none where that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<FlowHome>,
    /// How it ended.
    pub ending: Option<Ending>,
}

/// What was started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// Made by whoever starts it, so that starting again is the same flow.
    pub id: FlowId,
    /// The space it belongs to.
    pub space: SpaceId,
    /// What people call it.
    pub handle: String,
    /// The name of the workflow.
    pub workflow: String,
    /// Which version of it. A flow goes on with the one it began with.
    pub version: String,
    /// The workflow itself, where it is a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// What this flow is about, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The task its agents work on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The first phase.
    pub phase: String,
    /// What it begins with.
    pub state: Value,
    /// Who started it.
    pub launcher: String,
    /// Their role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher_role: Option<Role>,
    /// Where its commands run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<FlowPlace>,
}

/// Somebody goes on with a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The process, and where it is.
    pub holder: Holder,
    /// It has to say so again before this.
    pub until: Timestamp,
}

/// Somebody tried to go on with a flow, and could not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stuck {
    /// Why, in words.
    pub why: String,
    /// When.
    pub at: Timestamp,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// The gate. None where the program that runs the flow asked by a way of its own: then sayso did not see
    /// who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateId>,
    /// The answer; none where the question ended without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Who answered, or by which way of its own the program asked.
    pub by: String,
    /// What was asked, where no gate has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub question: String,
    /// How the gate ended, in a word.
    pub ended: String,
    /// Whether more was to be asked after it: a program that asks one question after the other may stop in
    /// between, and what it did not ask was not answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

impl Heard {
    /// The verdict of a person, or of a program that stands in for one in a test.
    pub fn verdict(&self) -> Option<Verdict> {
        self.answer.as_ref().map(|answer| answer.verdict)
    }

    /// Whether it was a bare yes.
    pub fn is_approved(&self) -> bool {
        self.verdict() == Some(Verdict::Approved)
    }

    /// Whether it was a no. A question without an answer got neither.
    pub fn is_rejected(&self) -> bool {
        self.verdict().is_some_and(Verdict::is_no)
    }
}

/// How a flow ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// How.
    pub how: How,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// When.
    pub at: Timestamp,
}

/// How a flow ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It came to its end.
    Done,
    /// A person said no, and the workflow has no way on from there.
    Rejected,
    /// Something went wrong.
    Failed,
    /// Somebody took it back.
    Cancelled,
}

impl How {
    /// Every way to end.
    pub const ALL: [How; 4] = [How::Done, How::Rejected, How::Failed, How::Cancelled];

    /// Its name in every door.
    pub const fn as_str(self) -> &'static str {
        match self {
            How::Done => "done",
            How::Rejected => "rejected",
            How::Failed => "failed",
            How::Cancelled => "cancelled",
        }
    }
}

/// What became of the questions that a flow or its agent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Questions {
    /// One of them is still open.
    Open,
    /// All of them were answered. So it is where there are none.
    Answered,
    /// They are over, and one of them without an answer.
    Unanswered,
}

/// Where a flow stands, in the word that every door says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Somebody goes on with it.
    Running,
    /// It waits for people.
    Waiting,
    /// What it asked was answered, and nobody went on with it yet.
    Answered,
    /// What it asked has ended without an answer, at least in part, and nobody went on with it yet.
    Unanswered,
    /// It did not go on when somebody last tried.
    Stuck,
    /// Nobody goes on with it: whoever did has gone, or nobody began to.
    Idle,
    /// It is over.
    Over(How),
}

impl Standing {
    /// Its name in every door.
    pub const fn as_str(self) -> &'static str {
        match self {
            Standing::Running => "running",
            Standing::Waiting => "waiting",
            Standing::Answered => "answered",
            Standing::Unanswered => "unanswered",
            Standing::Stuck => "stuck",
            Standing::Idle => "idle",
            Standing::Over(how) => how.as_str(),
        }
    }
}

impl Flow {
    /// Where it stands. `is_held` is whether somebody goes on with it just now.
    pub fn stands(&self, questions: Questions, is_held: bool) -> Standing {
        match &self.ending {
            Some(ending) => Standing::Over(ending.how),
            None if questions == Questions::Open => Standing::Waiting,
            None if is_held => Standing::Running,
            None if self.is_waiting() && questions == Questions::Unanswered => Standing::Unanswered,
            None if self.is_waiting() => Standing::Answered,
            None if self.stuck.is_some() => Standing::Stuck,
            None => Standing::Idle,
        }
    }

    /// Whether it goes on.
    pub fn is_live(&self) -> bool {
        self.ending.is_none()
    }

    /// What it waits for: the pieces that were asked about and not heard of.
    pub fn waits_for(&self) -> impl Iterator<Item = (u32, GateId)> + '_ {
        let is_open = |(item, _): &(&u32, &GateId)| !self.heard.contains_key(item);
        self.asked.iter().filter(|_| self.is_live()).filter(is_open).map(|(i, gate)| (*i, *gate))
    }

    /// Whether it waits for people.
    pub fn is_waiting(&self) -> bool {
        self.waits_for().next().is_some()
    }

    /// Whether everything that was to be asked in this phase was asked.
    pub fn has_asked(&self) -> bool {
        !self.asked.is_empty() || self.heard.values().any(|heard| !heard.more)
    }

    /// Where it stands, in a word, as far as that is known without its gates and whoever holds it. What people
    /// are told is what [`Flow::stands`] says.
    pub fn standing(&self) -> &'static str {
        match &self.ending {
            Some(ending) => ending.how.as_str(),
            None if self.is_waiting() => "waiting",
            None => "running",
        }
    }
}

/// What can be asked of a flow.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Begin.
    Start(Box<Started>),
    /// Go on.
    Advance(Advance),
    /// Take it back.
    Cancel {
        /// Why.
        reason: String,
    },
}

/// Going on with a flow: all of it counts, or nothing does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advance {
    /// By which right.
    pub claim: Claim,
    /// Where whoever goes on believes it stands.
    pub position: u32,
    /// What has happened, in order.
    pub steps: Vec<Step>,
}

/// By which right somebody goes on with a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Claim {
    /// They hold it, under this number.
    Held(u64),
    /// They take it: nobody holds it, or whoever did is not heard of any more.
    Take {
        /// Who.
        holder: Holder,
        /// Until when, unless they say so again.
        until: Timestamp,
        /// The number of one on the same machine that is known to be dead.
        dead: Option<u64>,
        /// Where its commands are going to run; none where they run none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<FlowPlace>,
        /// Whether it is taken over from its home.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        adopts: bool,
    },
}

/// A step of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// The agent's work gave something.
    Complete {
        /// Which piece of it.
        item: u32,
        /// What it gave.
        output: Value,
        /// What the flow carries along from now on, if that changed.
        state: Option<Value>,
    },
    /// People are asked.
    Ask {
        /// About which piece.
        item: u32,
        /// At which gate.
        gate: GateId,
    },
    /// Something came of that.
    Hear {
        /// About which piece.
        item: u32,
        /// What.
        heard: Heard,
        /// What the flow carries along from now on, if that changed.
        state: Option<Value>,
    },
    /// To another phase.
    Move {
        /// Which.
        to: String,
        /// What the flow carries along from now on, if that changed.
        state: Option<Value>,
    },
    /// Whoever holds it is still at it.
    Keep {
        /// And will say so again before this.
        until: Timestamp,
    },
    /// Whoever holds it cannot go on.
    Stuck {
        /// Why, in words.
        why: String,
    },
    /// Whoever holds it lets it go.
    LetGo,
    /// It ends.
    End {
        /// How.
        how: How,
        /// Why, in words.
        note: String,
        /// What it carried along at its end, if that changed.
        state: Option<Value>,
    },
}
