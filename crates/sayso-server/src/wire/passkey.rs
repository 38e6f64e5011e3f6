//! Passkeys.

use super::Clock;
use schemars::JsonSchema;
use serde::Serialize;

/// A passkey of a person.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Passkey {
    /// What it is known by.
    pub id: String,
    /// What its owner calls it.
    pub label: String,
    /// When it was added.
    pub added_at: String,
    /// When it was used last.
    pub used_at: Option<String>,
}

impl Passkey {
    /// As it goes over the wire.
    pub fn of(passkey: &sayso_engine::Passkey, time: Clock<'_>) -> Self {
        let sayso_engine::Passkey { id, label, added_at, used_at, .. } = passkey;
        let (added_at, used_at) = (time(*added_at), used_at.map(time));
        Self { id: id.clone(), label: label.clone(), added_at, used_at }
    }
}
