//! Those who let others answer.

use super::Clock;
use schemars::JsonSchema;
use serde::Serialize;

/// A gate that was handed to somebody else.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Delegation {
    /// By whom.
    pub from: String,
    /// To whom.
    pub to: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: String,
}

impl Delegation {
    pub(super) fn of(delegation: &sayso_core::gate::Delegation, time: Clock<'_>) -> Self {
        let sayso_core::gate::Delegation { from, to, reason, at } = delegation;
        Self { from: from.clone(), to: to.clone(), reason: reason.clone(), at: time(*at) }
    }
}

/// That somebody is away.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Away {
    /// Who.
    pub name: String,
    /// Until when.
    pub until: String,
    /// Who stands in for them.
    pub to: Option<String>,
}

impl Away {
    /// As it goes over the wire.
    pub fn of(name: &str, away: &sayso_engine::Away, time: Clock<'_>) -> Self {
        Self { name: name.into(), until: time(away.until), to: away.to.clone() }
    }
}
