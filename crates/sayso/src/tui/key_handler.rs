//! Key handling. The key bindings are in [`sayso_server::keys`].

use super::answer::{self, AnswerBatch};
use super::drafts;
use super::input_line::{open_field, paste_in, type_in};
use super::keys::KeyPress;
use super::retry_queue;
use super::state::{
    AnswerTarget, DraftKind, EditedText, EditorContent, EditorSession, ExitMessage, InboxEffect,
    InboxPane, InboxRow, InboxState, InputMode, LinePurpose,
};
use super::update::{keep_in_sight, seek, select, show_view};
use super::view::{card_height, help_height, places};
use crate::exit::Failure;
use sayso_core::{AnswerShape, Code, GateKind, Verdict};
use sayso_server::keys::{KEYS, KeyAction, KeyBinding};
use sayso_server::text;
use std::time::Duration;

/// Handles a key.
pub(super) fn handle_key(state: &mut InboxState, key: &KeyPress, at: Duration) -> Vec<InboxEffect> {
    let action = key.binding().map(|binding| binding.action);
    if state.is_leaving {
        return if action == Some(KeyAction::Quit) { leave_now(state) } else { vec![] };
    }
    if key.name == "Ctrl+z" {
        let is_speaking = !state.held.is_empty() || !state.proving.is_empty();
        if is_speaking || !state.sending.is_empty() {
            state.set_message("an answer is on its way; z takes it back while there is time");
            return vec![];
        }
        return vec![InboxEffect::Suspend];
    }
    let is_shown = places(state).is_some();
    match state.mode.clone() {
        // In a window that shows nothing, keys have no effect, except the one to quit.
        InputMode::Look if !is_shown && action != Some(KeyAction::Quit) => vec![],
        InputMode::Help { .. } | InputMode::Palette { .. } | InputMode::Cut(_) if !is_shown => {
            vec![]
        }
        InputMode::Look => match key.binding() {
            Some(binding) => act(state, binding.action, key, at),
            None => vec![],
        },
        InputMode::Help { scroll } => {
            help(state, action, scroll);
            vec![]
        }
        InputMode::Palette { typed, at: place } => palette(state, key, typed, place, at),
        InputMode::Field(field) => type_in(state, key, field),
        InputMode::Cut(_) => {
            if matches!(key.name.as_str(), "Enter" | "Escape") {
                state.mode = InputMode::Look;
            }
            state.dropped_at = Some(at);
            vec![]
        }
    }
}

/// Pasted text is inserted where letters are typed. In any other mode it is dropped: no line of it is a key.
pub(super) fn paste(state: &mut InboxState, text: &str) -> Vec<InboxEffect> {
    match state.mode.clone() {
        InputMode::Field(field) => paste_in(state, text, field),
        InputMode::Look
        | InputMode::Help { .. }
        | InputMode::Palette { .. }
        | InputMode::Cut(_) => vec![],
    }
}

fn act(
    state: &mut InboxState,
    action: KeyAction,
    key: &KeyPress,
    at: Duration,
) -> Vec<InboxEffect> {
    // Another action ends the jump to the end of the list.
    state.list.is_seeking_end = false;
    match action {
        KeyAction::Down => step(state, 1),
        KeyAction::Up => step(state, -1),
        KeyAction::First => go(state, |shown| shown.first().copied()),
        KeyAction::Last => {
            state.list.is_seeking_end = true;
            seek(state)
        }
        KeyAction::Open => {
            if state.list.cursor.is_none() {
                return step(state, 1);
            }
            state.pane = InboxPane::Card;
            vec![]
        }
        KeyAction::Back => back(state),
        KeyAction::ReadOn => read(state, 1),
        KeyAction::ReadBack => read(state, -1),
        KeyAction::NextView => show_view(state, state.list.view.next()),
        KeyAction::Approve if !state.marks.is_empty() => answer::approve_marked(state, at),
        KeyAction::Approve => answer::approve(state, at),
        KeyAction::Reject => begin_reject(state, at),
        KeyAction::Choose => choose(state, key, at),
        KeyAction::Edit => edit(state, at),
        KeyAction::Snooze => {
            let is_put_off = state.here().is_some_and(|row| row.is_snoozed(state.now));
            let text = if is_put_off { "now" } else { "1h" };
            begin(state, at, LinePurpose::Snooze, "Put off", "until when", text)
        }
        KeyAction::Delegate => begin(state, at, LinePurpose::Delegate, "Hand on", "to whom", ""),
        KeyAction::Claim => claim(state, at),
        KeyAction::Mark => mark(state, at),
        KeyAction::Undo => {
            answer::undo(state);
            vec![]
        }
        KeyAction::Diff => {
            state.hides_diffs = !state.hides_diffs;
            state.scroll = 0;
            vec![]
        }
        KeyAction::Copy => {
            let Some(command) = state.here().and_then(|row| command(state, row)) else {
                state.set_message("there is nothing to do any more");
                return vec![];
            };
            state.set_message(format!("{command} (copied, where the terminal does that)"));
            vec![InboxEffect::Copy(command)]
        }
        KeyAction::Filter => {
            let text = state.list.filter.clone();
            open_field(state, LinePurpose::Filter, "Find".into(), "cards with", &text);
            vec![]
        }
        KeyAction::Palette => {
            state.mode = InputMode::Palette { typed: String::new(), at: 0 };
            vec![]
        }
        KeyAction::Help => {
            state.mode = InputMode::Help { scroll: 0 };
            vec![]
        }
        KeyAction::Quit if key.name == "Ctrl+c" => quit_on_signal(state),
        KeyAction::Quit => quit(state),
    }
}

fn step(state: &mut InboxState, by: isize) -> Vec<InboxEffect> {
    let cursor = state.list.cursor;
    go(state, |shown| {
        let place = cursor.and_then(|cursor| shown.iter().position(|at| *at == cursor));
        let next = match place {
            Some(place) => place.saturating_add_signed(by).min(shown.len().saturating_sub(1)),
            None => 0,
        };
        shown.get(next).copied()
    })
}

fn go(state: &mut InboxState, to: impl FnOnce(&[usize]) -> Option<usize>) -> Vec<InboxEffect> {
    let place = to(&state.list.shown());
    place.map_or(vec![], |place| select(state, place))
}

/// Goes back one step: from the card to the list, then clears the marks, the filter, the message.
fn back(state: &mut InboxState) -> Vec<InboxEffect> {
    if state.pane == InboxPane::Card {
        state.pane = InboxPane::List;
    } else if !state.marks.is_empty() {
        state.marks.clear();
        state.set_message("none marked");
    } else if !state.list.filter.is_empty() {
        state.list.filter.clear();
        keep_in_sight(state);
    } else {
        state.clear_message();
    }
    vec![]
}

/// Scrolls the card, most of a screen at a time.
fn read(state: &mut InboxState, pages: isize) -> Vec<InboxEffect> {
    let Some(area) = places(state).and_then(|places| places.card) else { return vec![] };
    let room = usize::from(area.height);
    let all = card_height(state, area.width);
    let by = (room * 4 / 5).max(1).cast_signed() * pages;
    state.scroll = state.scroll.saturating_add_signed(by).min(all.saturating_sub(room));
    vec![]
}

fn begin_reject(state: &mut InboxState, at: Duration) -> Vec<InboxEffect> {
    let batch = if state.marks.is_empty() {
        answer::answerable_row(state, at).map(|row| AnswerBatch::of(row.target()))
    } else {
        answer::batch(state, Verdict::Rejected, at)
    };
    let Some(AnswerBatch { targets, left_out }) = batch else { return vec![] };
    let of_one = targets.first().and_then(|target| answer::unchanged_gate(state, target));
    let reason = match (targets.as_slice(), of_one) {
        ([_], Some(gate)) => state.draft(&gate).reason,
        _ => String::new(),
    };
    let title = format!("Reject {}", answer::named(state, &targets));
    let label = "why, or what to do instead";
    open_field(state, LinePurpose::Reject(targets), title, label, &reason);
    if !left_out.is_empty() {
        state.set_message(left_out);
    }
    vec![]
}

/// Opens an input line about the card under the cursor.
fn begin(
    state: &mut InboxState,
    at: Duration,
    purpose: impl FnOnce(AnswerTarget) -> LinePurpose,
    title: &str,
    label: &'static str,
    text: &str,
) -> Vec<InboxEffect> {
    let Some(row) = answer::answerable_row(state, at) else { return vec![] };
    let title = format!("{title} {}", row.gate().handle());
    open_field(state, purpose(row.target()), title, label, text);
    vec![]
}

/// Picks an option; several where several may be picked. It sends nothing.
fn choose(state: &mut InboxState, key: &KeyPress, at: Duration) -> Vec<InboxEffect> {
    let Some(row) = answer::answerable_row(state, at) else { return vec![] };
    let number = key.name.parse::<usize>().unwrap_or(0).wrapping_sub(1);
    let AnswerShape::Choice { options, multi, .. } = &row.gate().card.shape else { return vec![] };
    if number >= options.len() {
        state.set_error(format!("there is no option {}", key.name));
        return vec![];
    }
    let draft = state.draft_mut(row.gate());
    let was_picked = draft.picked.contains(&number);
    if !multi {
        draft.picked.clear();
        draft.other.clear();
    }
    draft.wrong.clear();
    if was_picked && *multi {
        draft.picked.remove(&number)
    } else {
        draft.picked.insert(number)
    };
    state.set_message("picked; a answers");
    vec![]
}

/// Edits a text answer, a form, or the arguments of a call.
fn edit(state: &mut InboxState, at: Duration) -> Vec<InboxEffect> {
    let Some(row) = answer::answerable_row(state, at) else { return vec![] };
    let (gate, target) = (row.gate(), row.target());
    let draft = state.draft(gate);
    let handle = gate.handle();
    match (&gate.card.shape, text::arguments(gate)) {
        (AnswerShape::Verdict, Some(arguments)) => {
            let begun = state.kept.get(&(target.gate, DraftKind::Arguments));
            let text = match (begun, &draft.arguments) {
                (Some(begun), _) => text::to_correct(begun),
                (None, Some(changed)) => text::json_to_edit(changed),
                (None, None) => arguments,
            };
            let written = EditorSession { target, what: EditedText::Arguments, has_sent: false };
            return open_editor(state, written, EditorContent::Json(text));
        }
        (AnswerShape::Verdict, None) if gate.opened.kind == GateKind::Escalation => {
            let title = format!("Direction for {handle}");
            open_field(state, LinePurpose::Text(target), title, "what to do", &draft.text);
        }
        (AnswerShape::Verdict, None) => {
            let title = format!("A word with your yes to {handle}");
            let label = "why, or what was done";
            open_field(state, LinePurpose::Reason(target), title, label, &draft.reason);
        }
        (AnswerShape::Text, _) => {
            let title = format!("Answer {handle}");
            open_field(state, LinePurpose::Text(target), title, "your answer", &draft.text);
        }
        (AnswerShape::Choice { other, .. }, _) => {
            let title = format!("Answer {handle}");
            let label = if *other {
                "options by number, or words of your own"
            } else {
                "options by number or name"
            };
            open_field(state, LinePurpose::Pick(target), title, label, &draft.other);
        }
        (AnswerShape::Form { schema }, _) => {
            let fields = text::fields(schema);
            let begun = state.kept.get(&(target.gate, DraftKind::Form));
            let text = match begun.map(|begun| (begun, text::filled_in(&fields, begun))) {
                Some((begun, Err(_))) => text::to_correct(begun),
                Some((_, Ok(form))) => text::to_fill_in(&gate.card.question, &fields, Some(&form)),
                None => text::to_fill_in(&gate.card.question, &fields, draft.form.as_ref()),
            };
            let written = EditorSession { target, what: EditedText::Form, has_sent: false };
            return open_editor(state, written, EditorContent::Form(text));
        }
    }
    vec![]
}

/// Opens the editor. Held answers are sent first: they cannot be undone from there.
pub(super) fn open_editor(
    state: &mut InboxState,
    written: EditorSession,
    writing: EditorContent,
) -> Vec<InboxEffect> {
    let mut effects = answer::send_held(state);
    let written = EditorSession { has_sent: !effects.is_empty(), ..written };
    effects.push(InboxEffect::Write(written, writing));
    effects
}

fn claim(state: &mut InboxState, at: Duration) -> Vec<InboxEffect> {
    let Some(row) = answer::answerable_row(state, at) else { return vec![] };
    if state.holds(row.gate()) {
        answer::request_effect(state, row.id(), InboxEffect::Release(row.id()))
    } else {
        answer::request_effect(state, row.id(), InboxEffect::Claim(row.id()))
    }
}

/// Marks a card, or removes its mark. A mark is the beginning of an answer, so it has the same conditions.
fn mark(state: &mut InboxState, at: Duration) -> Vec<InboxEffect> {
    let here = state.here().map(InboxRow::id);
    let was_marked = here.is_some_and(|gate| state.marks.remove(&gate).is_some());
    if !was_marked {
        let row = answer::answerable_row(state, at).filter(|_| answer::is_question_read(state));
        let Some(row) = row else { return vec![] };
        if drafts::is_written_for(state, row.gate()) {
            state.set_error(format!("{} {}", row.gate().handle(), drafts::BY_ITSELF));
            return vec![];
        }
        state.marks.insert(row.id(), row.target());
    }
    match state.marks.len() {
        0 => state.set_message("none marked"),
        count => state.set_message(format!("{count} marked; a approves, r rejects all of them")),
    }
    vec![]
}

/// The equivalent command, as far as the draft determines it.
fn command(state: &InboxState, row: &InboxRow) -> Option<String> {
    let gate = row.gate();
    let picked: Vec<_> = state.draft(gate).picked.iter().map(|at| (at + 1).to_string()).collect();
    let look = format!("sayso show {}", gate.handle());
    match (&gate.card.shape, gate.is_open()) {
        (_, false) => Some(look),
        (AnswerShape::Choice { .. }, true) if !picked.is_empty() => {
            Some(format!("sayso choose {} {}", gate.handle(), picked.join(" ")))
        }
        // Nothing was picked or written, so no command could give an answer.
        (AnswerShape::Choice { .. } | AnswerShape::Text | AnswerShape::Form { .. }, true) => {
            Some(look)
        }
        (AnswerShape::Verdict, true) => text::how_to_answer(gate).into_iter().next(),
    }
}

fn help(state: &mut InboxState, action: Option<KeyAction>, scroll: usize) {
    let room = places(state).map_or(1, |places| usize::from(places.body.height));
    let last = help_height(state).saturating_sub(room);
    state.mode = match action {
        Some(KeyAction::Down) => InputMode::Help { scroll: (scroll + 1).min(last) },
        Some(KeyAction::Up) => InputMode::Help { scroll: scroll.saturating_sub(1) },
        Some(KeyAction::ReadOn) => InputMode::Help { scroll: (scroll + room).min(last) },
        Some(KeyAction::ReadBack) => InputMode::Help { scroll: scroll.saturating_sub(room) },
        _ => InputMode::Look,
    };
}

/// The actions whose name contains this text.
pub(super) fn matching_actions(typed: &str) -> Vec<&'static KeyBinding> {
    let wanted = typed.to_lowercase();
    let is_thing = |binding: &&KeyBinding| {
        let is_itself =
            matches!(binding.action, KeyAction::Palette | KeyAction::Choose | KeyAction::Back);
        !is_itself && (binding.says.contains(&wanted) || binding.name.contains(&wanted))
    };
    KEYS.iter().filter(is_thing).collect()
}

/// The description of a key, for a person at a terminal.
pub(super) fn description(binding: &KeyBinding) -> &'static str {
    binding.says.strip_suffix(" (in a terminal)").unwrap_or(binding.says)
}

/// Handles a key in the action list. Enter runs actions that only look; an action that answers a card needs its own
/// key.
fn palette(
    state: &mut InboxState,
    key: &KeyPress,
    mut typed: String,
    mut place: usize,
    at: Duration,
) -> Vec<InboxEffect> {
    match (key.name.as_str(), key.letter) {
        ("Escape" | "Ctrl+c", _) => {
            state.mode = InputMode::Look;
            return vec![];
        }
        ("Enter", _) => {
            let Some(binding) = matching_actions(&typed).get(place).copied() else {
                state.set_error("there is nothing of that name; Esc goes back");
                return vec![];
            };
            state.mode = InputMode::Look;
            if binding.speaks {
                state.set_message(format!("press {} for that: {}", binding.shown, binding.says));
                return vec![];
            }
            return act(state, binding.action, key, at);
        }
        ("ArrowDown", _) => place += 1,
        ("ArrowUp", _) => place = place.saturating_sub(1),
        ("Backspace", _) => drop(typed.pop()),
        (_, Some(letter)) if typed.chars().count() < 60 => {
            typed.push(letter);
            place = 0;
        }
        _ => {}
    }
    let place = place.min(matching_actions(&typed).len().saturating_sub(1));
    state.mode = InputMode::Palette { typed, at: place };
    vec![]
}

/// Quits. Held answers are sent first, since the person meant them.
fn quit(state: &mut InboxState) -> Vec<InboxEffect> {
    state.is_leaving = true;
    retry_queue::report_unsent(state);
    let mut effects = answer::send_held(state);
    effects.extend(quit_if_done(state));
    effects
}

/// Quits as on a signal: unsent answers are undone, and that is reported.
fn quit_on_signal(state: &mut InboxState) -> Vec<InboxEffect> {
    state.is_leaving = true;
    answer::undo_all(state, "taken back:");
    retry_queue::report_unsent(state);
    quit_if_done(state)
}

/// Quits as soon as no call is pending.
pub(super) fn quit_if_done(state: &InboxState) -> Vec<InboxEffect> {
    let is_done = state.sending.is_empty() && state.proving.is_empty() && state.held.is_empty();
    if state.is_leaving && is_done { vec![InboxEffect::Leave] } else { vec![] }
}

/// Quits without waiting for pending calls.
fn leave_now(state: &mut InboxState) -> Vec<InboxEffect> {
    let message = "left while an answer was on its way; it may count or not";
    let failure = Failure::new(Code::Failure, message).hint("see: sayso inbox --done");
    state.farewell.push(ExitMessage::Bad(failure));
    vec![InboxEffect::Leave]
}
