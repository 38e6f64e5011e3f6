//! Wire types of delegations and absences.

use super::TimeFormatter;
use schemars::JsonSchema;
use serde::Serialize;

/// A gate that was delegated to another person.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Delegation")]
pub struct DelegationJson {
    /// The person who delegated it.
    pub from: String,
    /// The person it was delegated to.
    pub to: String,
    /// The reason for the delegation.
    pub reason: String,
    /// The time of the delegation.
    pub at: String,
}

impl DelegationJson {
    pub(super) fn of(
        delegation: &sayso_core::gate::GateDelegation,
        time: TimeFormatter<'_>,
    ) -> Self {
        let sayso_core::gate::GateDelegation { from, to, reason, at } = delegation;
        Self { from: from.clone(), to: to.clone(), reason: reason.clone(), at: time(*at) }
    }
}

/// The absence of a person.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Away")]
pub struct AbsenceJson {
    /// The name of the person.
    pub name: String,
    /// The time until which they are away.
    pub until: String,
    /// The deputy who answers meanwhile.
    pub to: Option<String>,
}

impl AbsenceJson {
    /// Converts an absence to its wire form.
    pub fn of(name: &str, away: &sayso_engine::Absence, time: TimeFormatter<'_>) -> Self {
        Self { name: name.into(), until: time(away.until), to: away.to.clone() }
    }
}
