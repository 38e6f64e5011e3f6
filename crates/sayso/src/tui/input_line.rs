//! The input line: opened, edited, kept when it is left or cut off, and run on Enter. Enter rejects, snoozes or
//! delegates here; it never approves.

use super::answer;
use super::key_handler::open_editor;
use super::keys::{KeyPress, shown};
use super::state::{
    AnswerDraft, AnswerTarget, EditedText, EditorContent, EditorSession, InboxEffect, InboxState,
    InputLine, InputMode, LinePurpose, StatusMessage,
};
use super::update::{in_words, keep_in_sight, seek, select};
use super::view::places;
use crate::commands::picks_or_words;
use crate::time;
use sayso_core::gate::Gate;
use sayso_core::{AnswerShape, GateId};
use sayso_server::keys::KeyAction;

/// The longest line that can be typed; a longer text is written in an editor.
const FIELD_MAX: usize = 4_000;

/// Opens a line, with the unfinished text from before, if there is one.
pub(super) fn open_field(
    state: &mut InboxState,
    purpose: LinePurpose,
    title: String,
    label: &'static str,
    text: &str,
) {
    state.clear_message();
    let kept = purpose.place().and_then(|place| state.kept.get(&place));
    let text = kept.map_or(text, String::as_str).to_owned();
    let at = text.chars().count();
    state.mode = InputMode::Field(InputLine { purpose, title, label, text, at, is_asked: false });
}

/// Cuts off a line whose card has changed. Its text stays visible and is kept for the card in its present form; none
/// of it is sent. True if there was such a line.
pub(super) fn cut_off(state: &mut InboxState, gate: &Gate) -> bool {
    let InputMode::Field(field) = &state.mode else { return false };
    let mut targets = field.purpose.targets().iter();
    if !targets.any(|target| target.gate == gate.opened.id) {
        return false;
    }
    let mut field = field.clone();
    let handle = gate.handle();
    field.title = if gate.is_open() {
        format!("{handle} has changed; what you had typed is kept")
    } else {
        format!("{handle} is settled; what you had typed is not sent")
    };
    field.label = "you had typed";
    keep_typed(state, &field);
    state.mode = InputMode::Cut(field);
    true
}

/// Keeps the typed text, so that the person can continue with it.
fn keep_typed(state: &mut InboxState, field: &InputLine) {
    let Some(place) = field.purpose.place() else { return };
    if field.text.trim().is_empty() {
        drop(state.kept.remove(&place))
    } else {
        drop(state.kept.insert(place, field.text.clone()))
    }
}

/// Handles a key. In a window that shows nothing, letters are inserted and have no other effect.
pub(super) fn type_in(
    state: &mut InboxState,
    key: &KeyPress,
    mut field: InputLine,
) -> Vec<InboxEffect> {
    let count = field.text.chars().count();
    let is_shown = places(state).is_some();
    match (key.name.as_str(), key.letter) {
        ("Escape" | "Ctrl+c", _) if is_shown => return leave(state, &field),
        // A line that was submitted to the desk is not edited any more.
        _ if field.is_asked => return vec![],
        ("Enter", _) if is_shown => return finish(state, field),
        ("Tab", _) if is_shown => {
            if let Some((written, writing)) = to_editor(state, &field) {
                keep_typed(state, &field);
                state.mode = InputMode::Look;
                return open_editor(state, written, writing);
            }
        }
        ("ArrowLeft", _) => field.at = field.at.saturating_sub(1),
        ("ArrowRight", _) => field.at = (field.at + 1).min(count),
        ("Home" | "Ctrl+a", _) => field.at = 0,
        ("End" | "Ctrl+e", _) => field.at = count,
        ("Backspace", _) => erase(&mut field),
        ("Delete", _) if field.at < count => {
            field.at += 1;
            erase(&mut field);
        }
        ("Ctrl+w", _) => erase_word(&mut field),
        ("Ctrl+u", _) => (field.text, field.at) = (String::new(), 0),
        (_, Some(letter)) => insert(&mut field, letter),
        _ => {}
    }
    typed(state, field)
}

/// Pasted text is inserted as letters.
pub(super) fn paste_in(
    state: &mut InboxState,
    text: &str,
    mut field: InputLine,
) -> Vec<InboxEffect> {
    let letters = text.chars().filter(|c| *c == '\n' || !c.is_control());
    letters.for_each(|c| insert(&mut field, c));
    typed(state, field)
}

fn typed(state: &mut InboxState, field: InputLine) -> Vec<InboxEffect> {
    let filter = (field.purpose == LinePurpose::Filter).then(|| field.text.trim().to_lowercase());
    state.mode = InputMode::Field(field);
    filter.map_or(vec![], |filter| set_filter(state, filter))
}

/// Leaves a line. Nothing is sent, and the typed text is kept.
fn leave(state: &mut InboxState, field: &InputLine) -> Vec<InboxEffect> {
    state.mode = InputMode::Look;
    if field.is_asked {
        return vec![];
    }
    // The complaint about the line is cleared with it.
    state.said = StatusMessage::default();
    let key = match &field.purpose {
        LinePurpose::Filter => {
            state.list.filter.clear();
            keep_in_sight(state);
            return vec![];
        }
        LinePurpose::Reject(_) => KeyAction::Reject,
        LinePurpose::Snooze(_) => KeyAction::Snooze,
        LinePurpose::Delegate(_) => KeyAction::Delegate,
        LinePurpose::Text(_) | LinePurpose::Pick(_) | LinePurpose::Reason(_) => KeyAction::Edit,
    };
    let is_prefilled = matches!(field.purpose, LinePurpose::Snooze(_));
    keep_typed(state, field);
    if !field.text.trim().is_empty() && !is_prefilled {
        state.set_message(format!(
            "nothing was said; {} goes on with what you had typed",
            shown(key)
        ));
    }
    vec![]
}

fn insert(field: &mut InputLine, letter: char) {
    if field.text.chars().count() >= FIELD_MAX {
        return;
    }
    let place = field.text.char_indices().nth(field.at).map_or(field.text.len(), |(at, _)| at);
    field.text.insert(place, letter);
    field.at += 1;
}

fn erase(field: &mut InputLine) {
    let Some(before) = field.at.checked_sub(1) else { return };
    if let Some((place, _)) = field.text.char_indices().nth(before) {
        field.text.remove(place);
        field.at = before;
    }
}

/// Erases the word before the cursor, and the space behind it.
fn erase_word(field: &mut InputLine) {
    let letters: Vec<char> = field.text.chars().collect();
    let is_gap = |at: usize| letters.get(at).is_some_and(|letter| letter.is_whitespace());
    let mut start = field.at.min(letters.len());
    while start > 0 && is_gap(start - 1) {
        start -= 1;
    }
    while start > 0 && !is_gap(start - 1) {
        start -= 1;
    }
    let (before, after) = (letters.iter().take(start), letters.iter().skip(field.at));
    field.text = before.chain(after).collect();
    field.at = start;
}

/// Filters the list by these words. The cursor stays where it is as long as its row is shown.
fn set_filter(state: &mut InboxState, filter: String) -> Vec<InboxEffect> {
    if state.list.filter == filter {
        return vec![];
    }
    state.list.filter = filter;
    keep_in_sight(state);
    let first = state.list.shown().first().copied().filter(|_| state.list.cursor.is_none());
    let mut effects = first.map_or(vec![], |first| select(state, first));
    effects.extend(seek(state));
    effects
}

/// Opens the editor for a longer answer, with the text typed so far.
fn to_editor(state: &InboxState, field: &InputLine) -> Option<(EditorSession, EditorContent)> {
    let LinePurpose::Text(target) = &field.purpose else { return None };
    let gate = answer::unchanged_gate(state, target)?;
    let (question, narrative) = (gate.card.question, gate.card.narrative);
    let written = EditorSession { target: target.clone(), what: EditedText::Text, has_sent: false };
    Some((written, EditorContent::Below { question, narrative, begun: field.text.clone() }))
}

/// Runs a finished line. A refusal leaves it open with its text, so that further typing goes into the line and is not
/// read as keys.
fn finish(state: &mut InboxState, field: InputLine) -> Vec<InboxEffect> {
    // A complaint about the previous text of the line is cleared.
    state.said = StatusMessage::default();
    match run_line(state, &field) {
        Ok(LineOutcome::Closed(effects)) => {
            state.mode = InputMode::Look;
            effects
        }
        Ok(LineOutcome::Asked(effects)) => {
            state.mode = InputMode::Field(InputLine { is_asked: true, ..field });
            effects
        }
        Err(why) => {
            state.set_error(why);
            let is_finding = field.purpose == LinePurpose::Filter && state.list.is_loading;
            state.said.is_until_heard = is_finding;
            state.mode = InputMode::Field(field);
            vec![]
        }
    }
}

/// The outcome of an accepted line.
enum LineOutcome {
    Closed(Vec<InboxEffect>),
    /// The desk is asked first.
    Asked(Vec<InboxEffect>),
}

/// Runs the purpose of a line, or returns the reason for a refusal.
fn run_line(state: &mut InboxState, field: &InputLine) -> Result<LineOutcome, String> {
    let text = field.text.trim().to_owned();
    match &field.purpose {
        LinePurpose::Filter if state.list.shown().is_empty() && !text.is_empty() => {
            Err(if state.list.is_loading {
                "nothing found yet, looking further …; Esc shows all".into()
            } else {
                "no card has that in it; Esc shows all".into()
            })
        }
        LinePurpose::Filter => Ok(LineOutcome::Closed(vec![])),
        LinePurpose::Reject(targets) => {
            // Kept until the answer is sent: an undo brings the reason back.
            keep_typed(state, field);
            answer::reject(state, targets, &text).map(LineOutcome::Closed)
        }
        LinePurpose::Snooze(_) if text.is_empty() => {
            Err("until when? 2h, 3d, tomorrow or now".into())
        }
        LinePurpose::Snooze(target) => {
            keep_typed(state, field);
            time::moment(&text, state.now).map_err(|failure| in_words(&failure))?;
            ask(state, target, InboxEffect::Snooze(target.gate, text))
        }
        LinePurpose::Delegate(_) if text.is_empty() => Err("to whom? write a name".into()),
        LinePurpose::Delegate(target) => {
            keep_typed(state, field);
            ask(state, target, InboxEffect::Delegate(target.gate, text))
        }
        LinePurpose::Text(target) => store_line(state, field, target, |draft| draft.text = text),
        LinePurpose::Reason(target) => {
            store_line(state, field, target, |draft| draft.reason = text)
        }
        LinePurpose::Pick(target) => pick(state, field, target),
    }
}

fn ask(
    state: &mut InboxState,
    target: &AnswerTarget,
    effect: InboxEffect,
) -> Result<LineOutcome, String> {
    state.set_message("…");
    Ok(LineOutcome::Asked(answer::request_effect(state, target.gate, effect)))
}

/// The desk has replied to a submitted line. If accepted, the line is closed, and typed keys are dropped for a
/// moment; if refused, it stays open.
pub(super) fn on_reply(state: &mut InboxState, gate: GateId, is_taken: bool) {
    let InputMode::Field(field) = &mut state.mode else { return };
    let is_it = field.purpose.targets().iter().any(|target| target.gate == gate);
    if !is_it || !field.is_asked {
        return;
    }
    field.is_asked = false;
    if is_taken {
        state.mode = InputMode::Look;
        state.dropped_at = Some(state.clock);
    }
}

/// Stores a line in the draft, if the card is still the one it was typed for.
fn store_line(
    state: &mut InboxState,
    field: &InputLine,
    target: &AnswerTarget,
    change: impl FnOnce(&mut AnswerDraft),
) -> Result<LineOutcome, String> {
    let Some(gate) = answer::unchanged_gate(state, target) else {
        keep_typed(state, field);
        return Err(answer::CHANGED.into());
    };
    let draft = state.draft_mut(&gate);
    change(draft);
    draft.wrong.clear();
    if let Some(place) = field.purpose.place() {
        state.kept.remove(&place);
    }
    if field.text.trim().is_empty() {
        state.set_message("nothing is written")
    } else {
        state.set_message(answer::WRITTEN)
    }
    Ok(LineOutcome::Closed(vec![]))
}

/// Picks the typed options, by number or name; other words are a custom answer. If that is not allowed, they are
/// refused.
fn pick(
    state: &mut InboxState,
    field: &InputLine,
    target: &AnswerTarget,
) -> Result<LineOutcome, String> {
    let Some(gate) = answer::unchanged_gate(state, target) else {
        return store_line(state, field, target, |_| ());
    };
    let AnswerShape::Choice { options, multi, .. } = &gate.card.shape else {
        return Ok(LineOutcome::Closed(vec![]));
    };
    if field.text.trim().is_empty() {
        return store_line(state, field, target, |draft| draft.other.clear());
    }
    match picks_or_words(&gate, &field.text).map_err(|failure| in_words(&failure))? {
        (_, Some(words)) => store_line(state, field, target, |draft| {
            if !multi {
                draft.picked.clear();
            }
            draft.other = words;
        }),
        (names, None) => store_line(state, field, target, |draft| {
            let place = |name: &String| options.iter().position(|option| option.name == *name);
            draft.picked = names.iter().filter_map(place).collect();
            draft.other.clear();
        }),
    }
}
