//! Wire type of passkeys.

use super::TimeFormatter;
use schemars::JsonSchema;
use serde::Serialize;

/// A passkey of a person.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Passkey")]
pub struct PasskeyJson {
    /// The id it is known by.
    pub id: String,
    /// The label its owner gave it.
    pub label: String,
    /// The time at which it was added.
    pub added_at: String,
    /// The time of its last use.
    pub used_at: Option<String>,
}

impl PasskeyJson {
    /// Converts a passkey to its wire form.
    pub fn of(passkey: &sayso_engine::PasskeyRow, time: TimeFormatter<'_>) -> Self {
        let sayso_engine::PasskeyRow { id, label, added_at, used_at, .. } = passkey;
        let (added_at, used_at) = (time(*added_at), used_at.map(time));
        Self { id: id.clone(), label: label.clone(), added_at, used_at }
    }
}
