//! What somebody wrote and did not say: kept beside the card it was for until it is said, and told to whoever
//! leaves before that.

use super::state::{Draft, Sort, State};
use sayso_core::GateId;
use sayso_core::gate::{Ending, Gate};
use sayso_core::text::harmless;
use serde_json::Value;

/// What was written for a card that has changed since is no answer to it as it is now. Its words are kept.
/// Whether there were any.
pub(super) fn carry_over(state: &mut State, gate: &Gate) -> bool {
    let id = gate.opened.id;
    if state.drafts.get(&id).is_none_or(|draft| draft.digest == gate.digest) {
        return false;
    }
    let Some(draft) = state.drafts.remove(&id) else { return false };
    let before = state.kept.len();
    let mut keep = |sort: Sort, text: String| {
        if !text.is_empty() {
            state.kept.entry((id, sort)).or_insert(text);
        }
    };
    keep(Sort::Text, draft.text);
    keep(Sort::Pick, draft.other);
    keep(Sort::Reason, draft.reason);
    keep(Sort::Form, draft.form.map(pretty).unwrap_or_default());
    keep(Sort::Arguments, draft.arguments.map(pretty).unwrap_or_default());
    state.kept.len() > before
}

fn pretty(value: Value) -> String {
    serde_json::to_string_pretty(&value).unwrap_or_default()
}

/// It is said, or there is nobody to say it to any more.
pub(super) fn forget(state: &mut State, gate: GateId) {
    state.drafts.remove(&gate);
    state.kept.retain(|(of, _), _| *of != gate);
}

/// Whether something was written for a card that its answer would not have, though it was meant to.
pub(super) fn is_unfinished(state: &State, gate: GateId) -> bool {
    [Sort::Form, Sort::Arguments].iter().any(|sort| state.kept.contains_key(&(gate, *sort)))
}

/// Why a card that something was written for is not answered together with others.
pub(super) const BY_ITSELF: &str = "has something you wrote; answer it by itself";

/// Whether something was written for a card that belongs to an answer to it: one yes for many would not have it.
pub(super) fn is_written_for(state: &State, gate: &Gate) -> bool {
    let sorts = [Sort::Text, Sort::Pick, Sort::Reason, Sort::Form, Sort::Arguments];
    let is_kept = sorts.iter().any(|sort| state.kept.contains_key(&(gate.opened.id, *sort)));
    let draft = Draft { wrong: vec![], ..state.draft(gate) };
    is_kept || draft != Draft::of(gate)
}

/// It ended without what was written for it. That stays to be told, if somebody else ended it.
pub(super) fn retire(state: &mut State, gate: &Gate) {
    let id = gate.opened.id;
    let is_own =
        matches!(&gate.ending, Some(Ending::Answered { by, .. }) if by.name == state.me.name);
    if !is_own {
        let texts = written(state).into_iter().filter(|(of, _)| *of == id);
        let late: Vec<_> = texts.map(|(_, text)| (gate.handle().to_owned(), text)).collect();
        state.too_late.extend(late);
    }
    forget(state, id);
}

/// What was written and not sent, in words, for whoever leaves.
pub(crate) fn unsaid(state: &State) -> Vec<String> {
    let open = written(state).into_iter().map(|(id, text)| (state.name_of(id), text));
    let all = open.chain(state.too_late.iter().cloned());
    let in_words = |(name, text): (String, String)| {
        format!("you had written this for {name}, and it was not sent:\n{}", harmless(&text).text)
    };
    all.map(in_words).collect()
}

/// What was written and not sent, with what it is for, each text once.
fn written(state: &State) -> Vec<(GateId, String)> {
    let of_drafts = state.drafts.iter().flat_map(|(id, draft)| {
        let values = [&draft.form, &draft.arguments].into_iter().flatten().cloned().map(pretty);
        let texts = [&draft.text, &draft.other, &draft.reason].into_iter().cloned();
        texts.chain(values).map(|text| (*id, text))
    });
    // How long something was to be put off is not worth a word.
    let is_written = |sort: Sort| !matches!(sort, Sort::Snooze | Sort::Delegate);
    let of_lines = state.kept.iter().filter(|((_, sort), _)| is_written(*sort));
    let of_lines = of_lines.map(|((id, _), text)| (*id, text.clone()));
    let mut told: Vec<_> = of_drafts.chain(of_lines).filter(|(_, text)| !text.is_empty()).collect();
    told.sort();
    told.dedup();
    told
}
