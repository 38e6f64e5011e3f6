//! What waits behind a gate and happens once it is approved.

use crate::{Digest, TaskId, task::Status};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is held back until a person says yes. It is done once, by the side that held it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "held", rename_all = "snake_case")]
pub enum Held {
    /// A task is to move.
    Move {
        /// Which.
        task: TaskId,
        /// What people call it.
        handle: String,
        /// The status it had when this was asked. If it has another by then, nothing is moved.
        from: Status,
        /// The status it is to have.
        to: Status,
        /// Why, in the words of whoever asked.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// An agent is to be spawned, restarted or stopped.
    Lifecycle {
        /// What is to be done.
        action: Action,
        /// To which agent.
        agent: String,
    },
    /// A tool call is to run. The yes is a grant: for one call, and for this one.
    Call {
        /// Names the call as it was captured.
        digest: Digest,
        /// The conversation whose own client asks its user the same at the same time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        beside: Option<String>,
    },
}

/// What can be done to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is started.
    Spawn,
    /// It is started anew.
    Restart,
    /// It is ended.
    Stop,
}

impl Action {
    /// All of them.
    pub const ALL: [Action; 3] = [Action::Spawn, Action::Restart, Action::Stop];

    /// Its name in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Spawn => "spawn",
            Action::Restart => "restart",
            Action::Stop => "stop",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
