//! Notifications to people, as `--json` prints them.

use sayso_core::Timestamp;
use sayso_engine::NoticeState;
use schemars::JsonSchema;
use serde::Serialize;

/// A notification, and the state of its delivery.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Notice")]
pub struct NoticeJson {
    /// The id by which receivers know it; the same each time it is sent.
    pub id: String,
    /// The gate it is about.
    pub gate: String,
    /// The person who is told; none is the reader at the other end of the channel.
    pub person: Option<String>,
    /// The channel it is sent by.
    pub channel: String,
    /// The reason: asked, changed, woken, reminded, escalated, expires_soon, asked_again, overdue, delegated or
    /// settled.
    pub why: String,
    /// The level of the escalation.
    pub level: u32,
    /// The state of its delivery: waiting, failing, sent or dropped.
    pub state: String,
    /// The number of attempts so far.
    pub attempts: u32,
    /// The reason why it was not sent.
    pub error: Option<String>,
    /// The time of the next attempt.
    pub next: Option<String>,
    /// The time at which it was sent.
    pub sent: Option<String>,
}

impl NoticeJson {
    /// Converts a notification to its wire form.
    pub fn of(state: &NoticeState, time: &dyn Fn(Timestamp) -> String) -> Self {
        Self {
            id: state.id.clone(),
            gate: state.handle.clone(),
            person: state.person.clone(),
            channel: state.channel.clone(),
            why: state.occasion.as_str().into(),
            level: state.level,
            state: state_name(state).into(),
            attempts: state.attempts,
            error: state.error.clone(),
            next: state.due_at.map(time),
            sent: state.sent_at.map(time),
        }
    }
}

/// Returns the state of a notification's delivery, in a word.
pub fn state_name(state: &NoticeState) -> &'static str {
    match (state.sent_at, state.due_at, &state.error) {
        (Some(_), ..) => "sent",
        (None, Some(_), Some(_)) => "failing",
        (None, Some(_), None) => "waiting",
        (None, None, _) => "dropped",
    }
}
