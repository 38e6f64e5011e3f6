//! Risk, and the timeout action of a gate (`TimeoutAction`).

use serde::{Deserialize, Serialize};

/// The risk of a wrong decision.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// It can be undone easily.
    Low,
    /// The default where no risk is given.
    #[default]
    Medium,
    /// Others see it, or it costs money.
    High,
    /// It cannot be undone.
    Critical,
}

impl Risk {
    /// All risks, from low to critical.
    pub const ALL: [Risk; 4] = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical];

    /// Returns the name used in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Risk::Low => "low",
            Risk::Medium => "medium",
            Risk::High => "high",
            Risk::Critical => "critical",
        }
    }
}

/// The timeout action: the effect of a deadline that passes without an answer. The order is the order of strictness.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutAction {
    /// It counts as approved. Only an admin's policy may set it, and only for low risk.
    Approve,
    /// The gate stays open.
    Keep,
    /// The question is deferred and asked again later.
    Defer,
    /// It escalates once per level, and is denied after the last.
    Escalate,
    /// The task of the gate fails.
    Fail,
    /// It counts as denied.
    #[default]
    Deny,
}

impl TimeoutAction {
    /// All timeout actions, in order of strictness.
    pub const ALL: [TimeoutAction; 6] = [
        TimeoutAction::Approve,
        TimeoutAction::Keep,
        TimeoutAction::Defer,
        TimeoutAction::Escalate,
        TimeoutAction::Fail,
        TimeoutAction::Deny,
    ];

    /// Returns the name used in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            TimeoutAction::Approve => "approve",
            TimeoutAction::Keep => "keep",
            TimeoutAction::Defer => "defer",
            TimeoutAction::Escalate => "escalate",
            TimeoutAction::Fail => "fail",
            TimeoutAction::Deny => "deny",
        }
    }
}
