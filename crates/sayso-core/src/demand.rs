//! How bad it would be to be wrong, and what silence means.

use serde::{Deserialize, Serialize};

/// How bad it would be to be wrong.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Easily undone.
    Low,
    /// What is meant where nothing is said.
    #[default]
    Medium,
    /// Others see it, or it costs.
    High,
    /// It cannot be undone.
    Critical,
}

impl Risk {
    /// All of them.
    pub const ALL: [Risk; 4] = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical];

    /// Its name in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Risk::Low => "low",
            Risk::Medium => "medium",
            Risk::High => "high",
            Risk::Critical => "critical",
        }
    }
}

/// What happens when the time is up and nobody has answered. The order is the order of strictness.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum AtEnd {
    /// It counts as approved. Only an admin's policy may say so, and only for low risk.
    Approve,
    /// It stays open.
    Keep,
    /// It is put off, and asked again later.
    Defer,
    /// It goes up, once per level, and is denied after the last.
    Escalate,
    /// The task fails.
    Fail,
    /// It counts as denied.
    #[default]
    Deny,
}

impl AtEnd {
    /// All of them.
    pub const ALL: [AtEnd; 6] =
        [AtEnd::Approve, AtEnd::Keep, AtEnd::Defer, AtEnd::Escalate, AtEnd::Fail, AtEnd::Deny];

    /// Its name in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            AtEnd::Approve => "approve",
            AtEnd::Keep => "keep",
            AtEnd::Defer => "defer",
            AtEnd::Escalate => "escalate",
            AtEnd::Fail => "fail",
            AtEnd::Deny => "deny",
        }
    }
}
