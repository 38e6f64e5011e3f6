//! The events of a task, as they are stored in the log.

use super::Edit;
use crate::{Digest, GateId, Kind, Outcome, Role, RunId, SpaceId, TaskId, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An event of a task. Events are only appended, never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The task was created.
    Created(Box<Created>),
    /// Some of its fields were changed.
    Edited(Box<Edit>),
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
    Noted(Note),
    /// A gate was opened for the task.
    Asked {
        /// The id of the gate.
        gate: GateId,
        /// The handle of the gate.
        handle: String,
        /// The kind of the gate.
        kind: Kind,
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
        kind: Kind,
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
        outcome: Outcome,
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

impl Event {
    /// Returns the name used in the audit log.
    pub const fn name(&self) -> &'static str {
        match self {
            Event::Created(_) => "task.created",
            Event::Edited(_) => "task.edited",
            Event::DependencyAdded { .. } => "task.dependency_added",
            Event::DependencyRemoved { .. } => "task.dependency_removed",
            Event::Started { .. } => "task.started",
            Event::Noted(_) => "task.noted",
            Event::Asked { .. } => "task.asked",
            Event::Settled { .. } => "task.settled",
            Event::Released { .. } => "task.released",
            Event::Closed { .. } => "task.closed",
            Event::Reopened { .. } => "task.reopened",
            Event::Deferred { .. } => "task.deferred",
            Event::Failed { .. } => "task.failed",
            Event::Blocked { .. } => "task.blocked",
            Event::Deleted { .. } => "task.deleted",
            Event::Unknown => "task.unknown",
        }
    }
}

/// The parameters with which a task is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
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
    pub requires: Option<Kind>,
    /// The name of the creator.
    pub created_by: String,
}

impl Created {
    /// Returns the digest of the request. The handle is not part of it, because the desk assigns it.
    pub fn origin(&self) -> Digest {
        Digest::of(&Self { handle: String::new(), ..self.clone() })
    }
}

/// A note on a task. Its author comes from the credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The name of the author.
    pub author: String,
    /// The role of the author.
    pub role: Role,
    /// The text of the note.
    pub text: String,
}
