//! The events of a task, as they are stored in the log.

use super::TaskEdit;
use crate::{
    Digest, GateId, GateKind, Role, RunId, SpaceId, TaskId, TaskOutcome, Timestamp, Verdict,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An event of a task. Events are only appended, never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TaskEvent {
    /// The task was created.
    Created(Box<TaskSpec>),
    /// Some of its fields were changed.
    Edited(Box<TaskEdit>),
    /// A dependency on another task was added.
    DependencyAdded {
        /// The other task.
        on: TaskId,
    },
    /// The dependency on another task was removed.
    DependencyRemoved {
        /// The other task.
        on: TaskId,
    },
    /// Work on it was started.
    Started {
        /// The name of the actor.
        by: String,
        /// The run that works on it, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// The fencing number of the run.
        fence: u64,
    },
    /// A note was written.
    Noted(TaskNote),
    /// A gate was opened for the task.
    Asked {
        /// The id of the gate.
        gate: GateId,
        /// The handle of the gate.
        handle: String,
        /// The kind of the gate.
        kind: GateKind,
        /// The name of the asker.
        by: String,
    },
    /// A gate of the task ended.
    Settled {
        /// The id of the gate.
        gate: GateId,
        /// The handle of the gate.
        handle: String,
        /// The kind of the gate.
        kind: GateKind,
        /// The ending: `answered`, `expired`, `withdrawn` or `superseded`.
        ending: String,
        /// The verdict, if a person or the timeout action gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verdict: Option<Verdict>,
        /// The name of the actor.
        by: String,
    },
    /// The last open gate of the task ended.
    Released {
        /// The combined effect of the answers.
        outcome: TaskOutcome,
        /// The actor who gave the last answer.
        by: String,
        /// The reason for closing, if it closes.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// The task was closed.
    Closed {
        /// The name of the actor.
        by: String,
        /// The reason, as text.
        reason: String,
    },
    /// The task was reopened.
    Reopened {
        /// The name of the actor.
        by: String,
        /// The reason, as text.
        reason: String,
    },
    /// The task was deferred.
    Deferred {
        /// The time at which it becomes workable; `None` for an indefinite time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// The task was marked as failed.
    Failed {
        /// The name of the actor.
        by: String,
        /// The reason, as text.
        reason: String,
    },
    /// The task was marked as blocked by something outside of sayso.
    Blocked {
        /// The name of the actor.
        by: String,
        /// The obstacle, as text.
        reason: String,
    },
    /// The task was deleted.
    Deleted {
        /// The name of the actor.
        by: String,
        /// The reason, as text.
        reason: String,
    },
    /// An event of a later version, which this one ignores.
    #[serde(other)]
    Unknown,
}

impl TaskEvent {
    /// Returns the name used in the audit log.
    pub const fn name(&self) -> &'static str {
        match self {
            TaskEvent::Created(_) => "task.created",
            TaskEvent::Edited(_) => "task.edited",
            TaskEvent::DependencyAdded { .. } => "task.dependency_added",
            TaskEvent::DependencyRemoved { .. } => "task.dependency_removed",
            TaskEvent::Started { .. } => "task.started",
            TaskEvent::Noted(_) => "task.noted",
            TaskEvent::Asked { .. } => "task.asked",
            TaskEvent::Settled { .. } => "task.settled",
            TaskEvent::Released { .. } => "task.released",
            TaskEvent::Closed { .. } => "task.closed",
            TaskEvent::Reopened { .. } => "task.reopened",
            TaskEvent::Deferred { .. } => "task.deferred",
            TaskEvent::Failed { .. } => "task.failed",
            TaskEvent::Blocked { .. } => "task.blocked",
            TaskEvent::Deleted { .. } => "task.deleted",
            TaskEvent::Unknown => "task.unknown",
        }
    }
}

/// The parameters with which a task is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// The id, chosen by the caller.
    pub id: TaskId,
    /// The space it belongs to.
    pub space: SpaceId,
    /// The handle that people use.
    pub handle: String,
    /// The title, in one line.
    pub title: String,
    /// The description of the work.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// The type of work.
    pub sort: String,
    /// The priority, from 0 (at once) to 4 (some day).
    pub priority: u8,
    /// The size, in the user's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// The labels to find it by.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// The epic it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// The tasks that must be closed first.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub blocked_by: BTreeSet<TaskId>,
    /// The kind of sign-off that is required when an agent says it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires: Option<GateKind>,
    /// The name of the creator.
    pub created_by: String,
}

impl TaskSpec {
    /// Returns the digest of the request. The handle is not part of it, because the desk assigns it.
    pub fn origin(&self) -> Digest {
        Digest::of(&Self { handle: String::new(), ..self.clone() })
    }
}

/// A note on a task. Its author comes from the credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskNote {
    /// The name of the author.
    pub author: String,
    /// The role of the author.
    pub role: Role,
    /// The text of the note.
    pub text: String,
}
