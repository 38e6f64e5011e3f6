//! Wire type of passkeys.

use super::Clock;
use schemars::JsonSchema;
use serde::Serialize;

/// A passkey of a person.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Passkey {
    /// The id it is known by.
    pub id: String,
    /// The label its owner gave it.
    pub label: String,
    /// The time at which it was added.
    pub added_at: String,
    /// The time of its last use.
    pub used_at: Option<String>,
}

impl Passkey {
    /// Converts a passkey to its wire form.
    pub fn of(passkey: &sayso_engine::Passkey, time: Clock<'_>) -> Self {
        let sayso_engine::Passkey { id, label, added_at, used_at, .. } = passkey;
        let (added_at, used_at) = (time(*added_at), used_at.map(time));
        Self { id: id.clone(), label: label.clone(), added_at, used_at }
    }
}
