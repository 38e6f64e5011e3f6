//! What can happen to a task, as it is written to the log.

use super::Edit;
use crate::{Digest, GateId, Kind, Outcome, Role, RunId, SpaceId, TaskId, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What can happen to a task. Events are never changed, only added to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// It was made.
    Created(Box<Created>),
    /// Some of it was changed.
    Edited(Box<Edit>),
    /// It has to wait for another task.
    DependencyAdded {
        /// Which.
        on: TaskId,
    },
    /// It need not wait for that task any more.
    DependencyRemoved {
        /// Which.
        on: TaskId,
    },
    /// Somebody took it.
    Started {
        /// Who.
        by: String,
        /// In which run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// The number of that run.
        fence: u64,
    },
    /// Somebody wrote a note.
    Noted(Note),
    /// A gate opened on it.
    Asked {
        /// Which.
        gate: GateId,
        /// What people call it.
        handle: String,
        /// What sort.
        kind: Kind,
        /// Who asked.
        by: String,
    },
    /// A gate on it ended.
    Settled {
        /// Which.
        gate: GateId,
        /// What people call it.
        handle: String,
        /// What sort.
        kind: Kind,
        /// How: `answered`, `expired`, `withdrawn` or `superseded`.
        ending: String,
        /// The verdict, when a person answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verdict: Option<Verdict>,
        /// By whom.
        by: String,
    },
    /// No gate is open on it any more.
    Released {
        /// What the answers amount to.
        outcome: Outcome,
        /// Who gave the last one.
        by: String,
        /// Why it closes, when it does.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// It was closed.
    Closed {
        /// By whom.
        by: String,
        /// Why.
        reason: String,
    },
    /// It is to be done after all, or again.
    Reopened {
        /// By whom.
        by: String,
        /// Why.
        reason: String,
    },
    /// It was put off.
    Deferred {
        /// Until then, or until somebody says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// It was tried and did not work.
    Failed {
        /// By whom.
        by: String,
        /// Why.
        reason: String,
    },
    /// It is stuck on something that is no task.
    Blocked {
        /// Who says so.
        by: String,
        /// On what.
        reason: String,
    },
    /// It was taken away.
    Deleted {
        /// By whom.
        by: String,
        /// Why.
        reason: String,
    },
    /// Written by a later version; it says nothing to this one.
    #[serde(other)]
    Unknown,
}

impl Event {
    /// Its name, as it stands in the audit.
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

/// A new task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// Made by the caller.
    pub id: TaskId,
    /// The space it belongs to.
    pub space: SpaceId,
    /// What people call it.
    pub handle: String,
    /// What is to be done, in a line.
    pub title: String,
    /// What is to be done, at length.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// What sort of work.
    pub sort: String,
    /// From 0, at once, to 4, some day.
    pub priority: u8,
    /// How big it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// The epic it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// What must be closed before it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub blocked_by: BTreeSet<TaskId>,
    /// The gate that opens when an agent says it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires: Option<Kind>,
    /// Who made it.
    pub created_by: String,
}

impl Created {
    /// Names what was asked for. The handle is not part of it: it is given, not asked for.
    pub fn origin(&self) -> Digest {
        Digest::of(&Self { handle: String::new(), ..self.clone() })
    }
}

/// A note on a task. Its author comes from the credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Who wrote it.
    pub author: String,
    /// The part they played.
    pub role: Role,
    /// What they wrote.
    pub text: String,
}
