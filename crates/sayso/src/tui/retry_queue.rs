//! The retry queue for unsent answers, for a desk that goes away and comes back. Answers are kept, marked, and sent
//! again when it is back. An answer is idempotent, so it counts once even if it had arrived.

use super::answer;
use super::keys::shown;
use super::state::{
    ConnectionLoss, ExitMessage, InboxEffect, InboxRow, InboxState, OutgoingAnswer, StatusMessage,
};
use super::update::{begin, refresh};
use crate::exit::Failure;
use sayso_core::{Code, GateId};
use sayso_engine::AnswerOutcome;
use sayso_server::keys::KeyAction;
use sayso_server::text::relative;
use std::time::Duration;

/// The retry interval of an answer that did not arrive, while the connection is up.
const AGAIN: Duration = Duration::from_secs(5);

/// The maximum number of cards loaded again when the desk is back.
const ROWS_MAX: usize = 50;

/// Handles the loss of the desk, or its return.
pub(super) fn reached(
    state: &mut InboxState,
    away: Option<(String, Duration)>,
    at: Duration,
) -> Vec<InboxEffect> {
    if let Some((why, pause)) = away {
        let since = state.away.as_ref().map_or(state.now, |away| away.since);
        state.away = Some(ConnectionLoss { why, since, again_at: at + pause });
        return vec![];
    }
    if state.away.take().is_none() {
        return vec![];
    }
    state.set_message("the server is back");
    state.again_at = at;
    if !state.list.is_loaded {
        return begin(state);
    }
    let open = state.list.rows.iter().filter(|row| row.gate().is_open());
    let open: Vec<_> = open.map(InboxRow::id).take(ROWS_MAX).collect();
    refresh(state, &open)
}

/// True if the code means that the desk is unreachable, or that the call broke off half-way.
pub(super) fn is_away(code: Code) -> bool {
    matches!(code, Code::Unreachable | Code::OutcomeUnknown | Code::Expired)
}

/// Queues an answer that did not arrive.
pub(super) fn enqueue(state: &mut InboxState, spoken: OutgoingAnswer) {
    if state.is_leaving {
        state.farewell.push(lost(&spoken));
        return;
    }
    // The screen shows the unsent answer for as long as it is queued.
    state.said = StatusMessage::default();
    state.again_at = state.clock + AGAIN;
    state.unsent.push(spoken);
}

/// True if this answer did not arrive, or its outcome is unknown.
pub(super) fn is_lost(outcome: &AnswerOutcome) -> bool {
    match outcome {
        AnswerOutcome::Refused { code, .. } => {
            Code::ALL.iter().any(|known| known.as_str() == code && is_away(*known))
        }
        AnswerOutcome::Answered(_) => false,
    }
}

/// Queues those of several answers that did not arrive.
pub(super) fn enqueue_lost(
    state: &mut InboxState,
    spoken: &OutgoingAnswer,
    outcomes: &[AnswerOutcome],
) {
    let lost = spoken.says.iter().zip(outcomes).filter(|(_, outcome)| is_lost(outcome));
    let says: Vec<_> = lost.map(|(say, _)| say.clone()).collect();
    if !says.is_empty() {
        enqueue(state, OutgoingAnswer { says, marked: vec![], ..spoken.clone() });
    }
}

/// Sends queued answers again, when it is time. The person is verified again, and the answer can be undone again:
/// meanwhile the card is loaded, and an answer that it has already is not sent again.
pub(super) fn retry_due(state: &mut InboxState, at: Duration) -> Vec<InboxEffect> {
    if state.unsent.is_empty() || state.away.is_some() || at < state.again_at {
        return vec![];
    }
    let unsent = std::mem::take(&mut state.unsent);
    let gates: Vec<GateId> =
        unsent.iter().flat_map(|spoken| &spoken.says).map(|say| say.gate).collect();
    let mut effects = refresh(state, &gates);
    effects.extend(unsent.into_iter().flat_map(|spoken| answer::submit(state, spoken)));
    effects
}

/// Reports the unsent answers to a person who leaves now.
pub(super) fn report_unsent(state: &mut InboxState) {
    let told: Vec<_> = state.unsent.drain(..).map(|spoken| lost(&spoken)).collect();
    state.farewell.extend(told);
}

fn lost(spoken: &OutgoingAnswer) -> ExitMessage {
    let message = format!("the server cannot be reached; {} may not have been sent", spoken.words);
    ExitMessage::Bad(Failure::new(Code::Unreachable, message).hint("see: sayso inbox"))
}

/// The unsent answers, for the foot of the screen.
pub(super) fn unsent_in_words(state: &InboxState) -> Option<String> {
    let back = shown(KeyAction::Undo);
    match state.unsent.as_slice() {
        [] => None,
        [one] => Some(format!("NOT SENT: {} ({back} takes it back)", one.words)),
        many => Some(format!("NOT SENT: {} answers ({back} takes the last back)", many.len())),
    }
}

/// A message that the desk is unreachable, with the time and reason.
pub(super) fn away_in_words(state: &InboxState) -> Option<String> {
    let ConnectionLoss { why, since, again_at } = state.away.as_ref()?;
    let lost = relative(*since, state.now);
    let left = again_at.saturating_sub(state.clock).as_millis().div_ceil(1_000);
    Some(format!(
        "the server cannot be reached since {lost}, trying again in {left} s; this list is from then · {why}"
    ))
}
