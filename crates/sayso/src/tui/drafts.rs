//! Unsent drafts: kept beside the card they were written for until they are sent, and printed if the person leaves
//! before that.

use super::state::{AnswerDraft, DraftKind, InboxState};
use sayso_core::GateId;
use sayso_core::gate::{Gate, GateEnding};
use sayso_core::text::sanitize;
use serde_json::Value;

/// A draft for a card that has changed since is no answer to its present form. Its words are kept. True if there were
/// any.
pub(super) fn keep_stale_draft(state: &mut InboxState, gate: &Gate) -> bool {
    let id = gate.opened.id;
    if state.drafts.get(&id).is_none_or(|draft| draft.digest == gate.digest) {
        return false;
    }
    let Some(draft) = state.drafts.remove(&id) else { return false };
    let before = state.kept.len();
    let mut keep = |sort: DraftKind, text: String| {
        if !text.is_empty() {
            state.kept.entry((id, sort)).or_insert(text);
        }
    };
    keep(DraftKind::Text, draft.text);
    keep(DraftKind::Pick, draft.other);
    keep(DraftKind::Reason, draft.reason);
    keep(DraftKind::Form, draft.form.map(pretty).unwrap_or_default());
    keep(DraftKind::Arguments, draft.arguments.map(pretty).unwrap_or_default());
    state.kept.len() > before
}

fn pretty(value: Value) -> String {
    serde_json::to_string_pretty(&value).unwrap_or_default()
}

/// Drops the drafts of a gate: they were sent, or the gate has ended.
pub(super) fn forget(state: &mut InboxState, gate: GateId) {
    state.drafts.remove(&gate);
    state.kept.retain(|(of, _), _| *of != gate);
}

/// True if a form or arguments for this card are unfinished, so that an answer would not contain them.
pub(super) fn is_unfinished(state: &InboxState, gate: GateId) -> bool {
    [DraftKind::Form, DraftKind::Arguments]
        .iter()
        .any(|sort| state.kept.contains_key(&(gate, *sort)))
}

/// The reason for leaving a card with a draft out of a joint answer.
pub(super) const BY_ITSELF: &str = "has something you wrote; answer it by itself";

/// True if a card has a draft that belongs to its answer: one approval for many cards would not contain it.
pub(super) fn is_written_for(state: &InboxState, gate: &Gate) -> bool {
    let sorts = [
        DraftKind::Text,
        DraftKind::Pick,
        DraftKind::Reason,
        DraftKind::Form,
        DraftKind::Arguments,
    ];
    let is_kept = sorts.iter().any(|sort| state.kept.contains_key(&(gate.opened.id, *sort)));
    let draft = AnswerDraft { wrong: vec![], ..state.draft(gate) };
    is_kept || draft != AnswerDraft::of(gate)
}

/// Handles a gate that ended without its draft. The draft is reported on exit, if another person ended the gate.
pub(super) fn settle_drafts(state: &mut InboxState, gate: &Gate) {
    let id = gate.opened.id;
    let is_own =
        matches!(&gate.ending, Some(GateEnding::Answered { by, .. }) if by.name == state.me.name);
    if !is_own {
        let texts = written(state).into_iter().filter(|(of, _)| *of == id);
        let late: Vec<_> = texts.map(|(_, text)| (gate.handle().to_owned(), text)).collect();
        state.too_late.extend(late);
    }
    forget(state, id);
}

/// The drafts that were not sent, as messages for a person who leaves.
pub(crate) fn unsent_drafts(state: &InboxState) -> Vec<String> {
    let open = written(state).into_iter().map(|(id, text)| (state.name_of(id), text));
    let all = open.chain(state.too_late.iter().cloned());
    let in_words = |(name, text): (String, String)| {
        format!("you had written this for {name}, and it was not sent:\n{}", sanitize(&text).text)
    };
    all.map(in_words).collect()
}

/// The drafts that were not sent, with their gates, each text once.
fn written(state: &InboxState) -> Vec<(GateId, String)> {
    let of_drafts = state.drafts.iter().flat_map(|(id, draft)| {
        let values = [&draft.form, &draft.arguments].into_iter().flatten().cloned().map(pretty);
        let texts = [&draft.text, &draft.other, &draft.reason].into_iter().cloned();
        texts.chain(values).map(|text| (*id, text))
    });
    // A snooze time or a deputy's name is not worth keeping.
    let is_written = |sort: DraftKind| !matches!(sort, DraftKind::Snooze | DraftKind::Delegate);
    let of_lines = state.kept.iter().filter(|((_, sort), _)| is_written(*sort));
    let of_lines = of_lines.map(|((id, _), text)| (*id, text.clone()));
    let mut told: Vec<_> = of_drafts.chain(of_lines).filter(|(_, text)| !text.is_empty()).collect();
    told.sort();
    told.dedup();
    told
}
