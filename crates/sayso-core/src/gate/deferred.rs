//! Deferred actions: moves, lifecycle actions and tool calls that wait for the approval of a gate.

use crate::{Digest, TaskId, task::TaskStatus};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An action that is deferred until a person approves. The side that deferred it carries it out, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "held", rename_all = "snake_case")]
pub enum DeferredAction {
    /// A move of a task to another status.
    Move {
        /// The id of the task.
        task: TaskId,
        /// The handle of the task.
        handle: String,
        /// The status at the time of the request. If the task has another one by then, it is not moved.
        from: TaskStatus,
        /// The status it is to get.
        to: TaskStatus,
        /// The reason, in the words of the asker.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// A start, restart or stop of a managed agent.
    Lifecycle {
        /// The action to carry out.
        action: LifecycleAction,
        /// The name of the agent.
        agent: String,
    },
    /// A tool call. The approval is a grant for this one call.
    Call {
        /// The digest of the call as it was captured.
        digest: Digest,
        /// The conversation whose own client asks its user the same question at the same time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        beside: Option<String>,
    },
}

/// A lifecycle action of a managed agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LifecycleAction {
    /// Start the agent.
    Spawn,
    /// Stop and start it again.
    Restart,
    /// Stop the agent.
    Stop,
}

impl LifecycleAction {
    /// All actions, in the order of declaration.
    pub const ALL: [LifecycleAction; 3] =
        [LifecycleAction::Spawn, LifecycleAction::Restart, LifecycleAction::Stop];

    /// Returns the name used in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            LifecycleAction::Spawn => "spawn",
            LifecycleAction::Restart => "restart",
            LifecycleAction::Stop => "stop",
        }
    }
}

impl fmt::Display for LifecycleAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
