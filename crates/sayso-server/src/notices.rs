//! Notices, as `--json` prints them.

use sayso_core::Timestamp;
use sayso_engine::NoticeState;
use schemars::JsonSchema;
use serde::Serialize;

/// A notice, and how far it has come.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Notice {
    /// What receivers know it by; the same whenever it is sent again.
    pub id: String,
    /// The gate it is about.
    pub gate: String,
    /// The person who is told; none is whoever is at the other end.
    pub person: Option<String>,
    /// By which channel.
    pub channel: String,
    /// Why: asked, changed, woken, reminded, escalated, expires_soon, asked_again, overdue, delegated or settled.
    pub why: String,
    /// The escalation level.
    pub level: u32,
    /// How far it is: waiting, failing, sent or dropped.
    pub state: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it was not sent.
    pub error: Option<String>,
    /// When it is tried next.
    pub next: Option<String>,
    /// When it was sent.
    pub sent: Option<String>,
}

impl Notice {
    /// As it stands now.
    pub fn of(state: &NoticeState, time: &dyn Fn(Timestamp) -> String) -> Self {
        Self {
            id: state.id.clone(),
            gate: state.handle.clone(),
            person: state.person.clone(),
            channel: state.channel.clone(),
            why: state.occasion.as_str().into(),
            level: state.level,
            state: in_a_word(state).into(),
            attempts: state.attempts,
            error: state.error.clone(),
            next: state.due_at.map(time),
            sent: state.sent_at.map(time),
        }
    }
}

/// How far a notice is.
pub fn in_a_word(state: &NoticeState) -> &'static str {
    match (state.sent_at, state.due_at, &state.error) {
        (Some(_), ..) => "sent",
        (None, Some(_), Some(_)) => "failing",
        (None, Some(_), None) => "waiting",
        (None, None, _) => "dropped",
    }
}
