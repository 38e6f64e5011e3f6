//! Responses of MCP tools: the state of a gate, in the few words an agent needs.

use sayso_core::gate::{Gate, GateEnding};
use sayso_core::text::sanitize_line;
use sayso_core::{AnswerContent, AnswerShape, TimeoutAction, Timestamp, Verdict};
use serde::Serialize;
use serde_json::{Value, json};

/// The interval at which polling makes sense, where no message comes.
const POLL_SEC: u64 = 30;

/// A gate, as its asker sees it.
#[derive(Serialize)]
pub(super) struct GateResponse {
    /// The handle of the gate.
    gate: String,
    /// open, answered, expired, withdrawn or superseded.
    state: &'static str,
    question: String,
    /// approved, answered or rejected, by a person or by the policy's timeout action.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    /// The answer of the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<String>,
    /// The approvers whose answer it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    poll_interval_sec: Option<u64>,
    /// The next step to take.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl GateResponse {
    pub(super) fn of(gate: &Gate, time: fn(Timestamp) -> String) -> Self {
        let answer = gate.answer();
        let is_open = gate.is_open();
        Self {
            gate: gate.handle().into(),
            state: gate.state(),
            question: gate.card.question.clone(),
            verdict: verdict(gate).map(|verdict| verdict.to_string()),
            answer: answer.and_then(|(answer, _)| content(&answer.content)),
            reason: answer.and_then(|(answer, _)| answer.reason.clone()),
            answered_by: answer.map(|(_, by)| by.name.clone()),
            waits_for: is_open.then(|| sanitize_line(&gate.opened.approvers.in_words())),
            deadline: gate.deadline().filter(|_| is_open).map(time),
            poll_interval_sec: is_open.then_some(POLL_SEC),
            next: Some(next(gate)),
        }
    }

    /// Returns the short form for a list, where advice on each would be too much.
    pub(super) fn in_short(gate: &Gate, time: fn(Timestamp) -> String) -> Self {
        Self { next: None, poll_interval_sec: None, ..Self::of(gate, time) }
    }
}

/// Returns the verdict; none where the policy takes silence for a yes to a question for a choice or a text: there is
/// no option and no text then.
fn verdict(gate: &Gate) -> Option<Verdict> {
    let is_asked = gate.card.shape == AnswerShape::Verdict;
    gate.verdict().filter(|verdict| is_asked || *verdict != Verdict::Approved)
}

fn content(content: &AnswerContent) -> Option<Value> {
    match content {
        AnswerContent::None => None,
        AnswerContent::Text(text) => Some(json!(text)),
        AnswerContent::Choice { picked, other: None } if picked.len() == 1 => {
            Some(json!(picked[0]))
        }
        AnswerContent::Choice { picked, other } => {
            Some(json!(picked.iter().chain(other).collect::<Vec<_>>()))
        }
        AnswerContent::Form(value) | AnswerContent::Arguments(value) => Some(value.clone()),
    }
}

fn next(gate: &Gate) -> String {
    match &gate.ending {
        None => format!(
            "Nobody has answered yet; that is not a yes. Go on with what does not depend on it, or end your \
             turn. The answer to gate {} comes with check_messages; look no more often than poll_interval_sec \
             says.{}",
            gate.handle(),
            silence(gate)
        ),
        Some(GateEnding::Answered { answer, .. }) if answer.verdict.is_no() => {
            "That is a no. Do not do it, nor the same in another way.".into()
        }
        Some(GateEnding::Answered { .. }) => "Act on the answer.".into(),
        Some(GateEnding::Expired { at_end: TimeoutAction::Approve, .. }) => {
            "Nobody answered in time, and the policy takes that for a yes here. Go on.".into()
        }
        Some(GateEnding::Expired { .. }) => "Nobody answered in time. That is not a yes.".into(),
        Some(GateEnding::Withdrawn { reason, .. }) => {
            format!("The question was taken back: {reason}. That is not a yes.")
        }
        Some(GateEnding::Superseded { .. }) => {
            "Another gate took its place. That is not a yes.".into()
        }
    }
}

fn silence(gate: &Gate) -> &'static str {
    match gate.deadline().map(|_| gate.at_end()) {
        None => "",
        Some(TimeoutAction::Deny) => " Without an answer by the deadline it is a no.",
        Some(TimeoutAction::Fail) if gate.opened.task.is_none() => {
            " Without an answer by the deadline it is a no."
        }
        Some(TimeoutAction::Fail) => " Without an answer by the deadline the task fails.",
        Some(TimeoutAction::Approve) => {
            " Without an answer by the deadline the policy takes it for a yes."
        }
        Some(TimeoutAction::Escalate) => " Without an answer by the deadline it goes one level up.",
        Some(TimeoutAction::Defer) => " Without an answer by the deadline it is asked again.",
        Some(TimeoutAction::Keep) => " It waits on past the deadline.",
    }
}
