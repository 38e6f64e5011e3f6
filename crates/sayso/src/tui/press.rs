//! Key handling. The key bindings are in [`sayso_server::keys`].

use super::answer::{self, Batch};
use super::kept;
use super::keys::Pressed;
use super::line::{open_field, paste_in, type_in};
use super::state::{
    Effect, Farewell, Mode, Pane, Purpose, Row, Sort, State, Target, What, Writing, Written,
};
use super::unsent;
use super::update::{keep_in_sight, seek, select, show_view};
use super::view::{card_height, help_height, places};
use crate::exit::Failure;
use sayso_core::{Code, Kind, Shape, Verdict};
use sayso_server::keys::{Action, Binding, KEYS};
use sayso_server::prose;
use std::time::Duration;

/// Handles a key.
pub(super) fn press(state: &mut State, key: &Pressed, at: Duration) -> Vec<Effect> {
    let action = key.binding().map(|binding| binding.action);
    if state.is_leaving {
        return if action == Some(Action::Quit) { leave_now(state) } else { vec![] };
    }
    if key.name == "Ctrl+z" {
        let is_speaking = !state.held.is_empty() || !state.proving.is_empty();
        if is_speaking || !state.sending.is_empty() {
            state.say("an answer is on its way; z takes it back while there is time");
            return vec![];
        }
        return vec![Effect::Suspend];
    }
    let is_shown = places(state).is_some();
    match state.mode.clone() {
        // In a window that shows nothing, keys have no effect, except the one to quit.
        Mode::Look if !is_shown && action != Some(Action::Quit) => vec![],
        Mode::Help { .. } | Mode::Palette { .. } | Mode::Cut(_) if !is_shown => vec![],
        Mode::Look => match key.binding() {
            Some(binding) => act(state, binding.action, key, at),
            None => vec![],
        },
        Mode::Help { scroll } => {
            help(state, action, scroll);
            vec![]
        }
        Mode::Palette { typed, at: place } => palette(state, key, typed, place, at),
        Mode::Field(field) => type_in(state, key, field),
        Mode::Cut(_) => {
            if matches!(key.name.as_str(), "Enter" | "Escape") {
                state.mode = Mode::Look;
            }
            state.dropped_at = Some(at);
            vec![]
        }
    }
}

/// Pasted text is inserted where letters are typed. In any other mode it is dropped: no line of it is a key.
pub(super) fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    match state.mode.clone() {
        Mode::Field(field) => paste_in(state, text, field),
        Mode::Look | Mode::Help { .. } | Mode::Palette { .. } | Mode::Cut(_) => vec![],
    }
}

fn act(state: &mut State, action: Action, key: &Pressed, at: Duration) -> Vec<Effect> {
    // Another action ends the jump to the end of the list.
    state.list.is_seeking_end = false;
    match action {
        Action::Down => step(state, 1),
        Action::Up => step(state, -1),
        Action::First => go(state, |shown| shown.first().copied()),
        Action::Last => {
            state.list.is_seeking_end = true;
            seek(state)
        }
        Action::Open => {
            if state.list.cursor.is_none() {
                return step(state, 1);
            }
            state.pane = Pane::Card;
            vec![]
        }
        Action::Back => back(state),
        Action::ReadOn => read(state, 1),
        Action::ReadBack => read(state, -1),
        Action::NextView => show_view(state, state.list.view.next()),
        Action::Approve if !state.marks.is_empty() => answer::approve_marked(state, at),
        Action::Approve => answer::approve(state, at),
        Action::Reject => begin_reject(state, at),
        Action::Choose => choose(state, key, at),
        Action::Edit => edit(state, at),
        Action::Snooze => {
            let is_put_off = state.here().is_some_and(|row| row.is_put_off(state.now));
            let text = if is_put_off { "now" } else { "1h" };
            begin(state, at, Purpose::Snooze, "Put off", "until when", text)
        }
        Action::Delegate => begin(state, at, Purpose::Delegate, "Hand on", "to whom", ""),
        Action::Claim => claim(state, at),
        Action::Mark => mark(state, at),
        Action::Undo => {
            answer::take_back(state);
            vec![]
        }
        Action::Diff => {
            state.hides_diffs = !state.hides_diffs;
            state.scroll = 0;
            vec![]
        }
        Action::Copy => {
            let Some(command) = state.here().and_then(|row| command(state, row)) else {
                state.say("there is nothing to do any more");
                return vec![];
            };
            state.say(format!("{command} (copied, where the terminal does that)"));
            vec![Effect::Copy(command)]
        }
        Action::Filter => {
            let text = state.list.filter.clone();
            open_field(state, Purpose::Filter, "Find".into(), "cards with", &text);
            vec![]
        }
        Action::Palette => {
            state.mode = Mode::Palette { typed: String::new(), at: 0 };
            vec![]
        }
        Action::Help => {
            state.mode = Mode::Help { scroll: 0 };
            vec![]
        }
        Action::Quit if key.name == "Ctrl+c" => quit_unsaid(state),
        Action::Quit => quit(state),
    }
}

fn step(state: &mut State, by: isize) -> Vec<Effect> {
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

fn go(state: &mut State, to: impl FnOnce(&[usize]) -> Option<usize>) -> Vec<Effect> {
    let place = to(&state.list.shown());
    place.map_or(vec![], |place| select(state, place))
}

/// Goes back one step: from the card to the list, then clears the marks, the filter, the message.
fn back(state: &mut State) -> Vec<Effect> {
    if state.pane == Pane::Card {
        state.pane = Pane::List;
    } else if !state.marks.is_empty() {
        state.marks.clear();
        state.say("none marked");
    } else if !state.list.filter.is_empty() {
        state.list.filter.clear();
        keep_in_sight(state);
    } else {
        state.hush();
    }
    vec![]
}

/// Scrolls the card, most of a screen at a time.
fn read(state: &mut State, pages: isize) -> Vec<Effect> {
    let Some(area) = places(state).and_then(|places| places.card) else { return vec![] };
    let room = usize::from(area.height);
    let all = card_height(state, area.width);
    let by = (room * 4 / 5).max(1).cast_signed() * pages;
    state.scroll = state.scroll.saturating_add_signed(by).min(all.saturating_sub(room));
    vec![]
}

fn begin_reject(state: &mut State, at: Duration) -> Vec<Effect> {
    let batch = match state.marks.is_empty() {
        true => answer::ready(state, at).map(|row| Batch::of(row.target())),
        false => answer::batch(state, Verdict::Rejected, at),
    };
    let Some(Batch { targets, left_out }) = batch else { return vec![] };
    let of_one = targets.first().and_then(|target| answer::still(state, target));
    let reason = match (targets.as_slice(), of_one) {
        ([_], Some(gate)) => state.draft(&gate).reason,
        _ => String::new(),
    };
    let title = format!("Reject {}", answer::named(state, &targets));
    let label = "why, or what to do instead";
    open_field(state, Purpose::Reject(targets), title, label, &reason);
    if !left_out.is_empty() {
        state.say(left_out);
    }
    vec![]
}

/// Opens an input line about the card under the cursor.
fn begin(
    state: &mut State,
    at: Duration,
    purpose: impl FnOnce(Target) -> Purpose,
    title: &str,
    label: &'static str,
    text: &str,
) -> Vec<Effect> {
    let Some(row) = answer::ready(state, at) else { return vec![] };
    let title = format!("{title} {}", row.gate().handle());
    open_field(state, purpose(row.target()), title, label, text);
    vec![]
}

/// Picks an option; several where several may be picked. It sends nothing.
fn choose(state: &mut State, key: &Pressed, at: Duration) -> Vec<Effect> {
    let Some(row) = answer::ready(state, at) else { return vec![] };
    let number = key.name.parse::<usize>().unwrap_or(0).wrapping_sub(1);
    let Shape::Choice { options, multi, .. } = &row.gate().card.shape else { return vec![] };
    if number >= options.len() {
        state.complain(format!("there is no option {}", key.name));
        return vec![];
    }
    let draft = state.draft_mut(row.gate());
    let was_picked = draft.picked.contains(&number);
    if !multi {
        draft.picked.clear();
        draft.other.clear();
    }
    draft.wrong.clear();
    match was_picked && *multi {
        true => draft.picked.remove(&number),
        false => draft.picked.insert(number),
    };
    state.say("picked; a answers");
    vec![]
}

/// Edits a text answer, a form, or the arguments of a call.
fn edit(state: &mut State, at: Duration) -> Vec<Effect> {
    let Some(row) = answer::ready(state, at) else { return vec![] };
    let (gate, target) = (row.gate(), row.target());
    let draft = state.draft(gate);
    let handle = gate.handle();
    match (&gate.card.shape, prose::arguments(gate)) {
        (Shape::Verdict, Some(arguments)) => {
            let begun = state.kept.get(&(target.gate, Sort::Arguments));
            let text = match (begun, &draft.arguments) {
                (Some(begun), _) => prose::to_mend(begun),
                (None, Some(changed)) => prose::json_to_edit(changed),
                (None, None) => arguments,
            };
            let written = Written { target, what: What::Arguments, has_sent: false };
            return write(state, written, Writing::Json(text));
        }
        (Shape::Verdict, None) if gate.opened.kind == Kind::Escalation => {
            let title = format!("Direction for {handle}");
            open_field(state, Purpose::Text(target), title, "what to do", &draft.text);
        }
        (Shape::Verdict, None) => {
            let title = format!("A word with your yes to {handle}");
            let label = "why, or what was done";
            open_field(state, Purpose::Reason(target), title, label, &draft.reason);
        }
        (Shape::Text, _) => {
            let title = format!("Answer {handle}");
            open_field(state, Purpose::Text(target), title, "your answer", &draft.text);
        }
        (Shape::Choice { other, .. }, _) => {
            let title = format!("Answer {handle}");
            let label = match other {
                true => "options by number, or words of your own",
                false => "options by number or name",
            };
            open_field(state, Purpose::Pick(target), title, label, &draft.other);
        }
        (Shape::Form { schema }, _) => {
            let fields = prose::fields(schema);
            let begun = state.kept.get(&(target.gate, Sort::Form));
            let text = match begun.map(|begun| (begun, prose::filled_in(&fields, begun))) {
                Some((begun, Err(_))) => prose::to_mend(begun),
                Some((_, Ok(form))) => prose::to_fill_in(&gate.card.question, &fields, Some(&form)),
                None => prose::to_fill_in(&gate.card.question, &fields, draft.form.as_ref()),
            };
            let written = Written { target, what: What::Form, has_sent: false };
            return write(state, written, Writing::Form(text));
        }
    }
    vec![]
}

/// Opens the editor. Held answers are sent first: they cannot be undone from there.
pub(super) fn write(state: &mut State, written: Written, writing: Writing) -> Vec<Effect> {
    let mut effects = answer::send_held(state);
    let written = Written { has_sent: !effects.is_empty(), ..written };
    effects.push(Effect::Write(written, writing));
    effects
}

fn claim(state: &mut State, at: Duration) -> Vec<Effect> {
    let Some(row) = answer::ready(state, at) else { return vec![] };
    match state.holds(row.gate()) {
        true => answer::wish(state, row.id(), Effect::Release(row.id())),
        false => answer::wish(state, row.id(), Effect::Claim(row.id())),
    }
}

/// Marks a card, or removes its mark. A mark is the beginning of an answer, so it has the same conditions.
fn mark(state: &mut State, at: Duration) -> Vec<Effect> {
    let here = state.here().map(Row::id);
    let was_marked = here.is_some_and(|gate| state.marks.remove(&gate).is_some());
    if !was_marked {
        let row = answer::ready(state, at).filter(|_| answer::has_read(state));
        let Some(row) = row else { return vec![] };
        if kept::is_written_for(state, row.gate()) {
            state.complain(format!("{} {}", row.gate().handle(), kept::BY_ITSELF));
            return vec![];
        }
        state.marks.insert(row.id(), row.target());
    }
    match state.marks.len() {
        0 => state.say("none marked"),
        count => state.say(format!("{count} marked; a approves, r rejects all of them")),
    }
    vec![]
}

/// The equivalent command, as far as the draft determines it.
fn command(state: &State, row: &Row) -> Option<String> {
    let gate = row.gate();
    let picked: Vec<_> = state.draft(gate).picked.iter().map(|at| (at + 1).to_string()).collect();
    let look = format!("sayso show {}", gate.handle());
    match (&gate.card.shape, gate.is_open()) {
        (_, false) => Some(look),
        (Shape::Choice { .. }, true) if !picked.is_empty() => {
            Some(format!("sayso choose {} {}", gate.handle(), picked.join(" ")))
        }
        // Nothing was picked or written, so no command could give an answer.
        (Shape::Choice { .. } | Shape::Text | Shape::Form { .. }, true) => Some(look),
        (Shape::Verdict, true) => prose::how_to_answer(gate).into_iter().next(),
    }
}

fn help(state: &mut State, action: Option<Action>, scroll: usize) {
    let room = places(state).map_or(1, |places| usize::from(places.body.height));
    let last = help_height(state).saturating_sub(room);
    state.mode = match action {
        Some(Action::Down) => Mode::Help { scroll: (scroll + 1).min(last) },
        Some(Action::Up) => Mode::Help { scroll: scroll.saturating_sub(1) },
        Some(Action::ReadOn) => Mode::Help { scroll: (scroll + room).min(last) },
        Some(Action::ReadBack) => Mode::Help { scroll: scroll.saturating_sub(room) },
        _ => Mode::Look,
    };
}

/// The actions whose name contains this text.
pub(super) fn things(typed: &str) -> Vec<&'static Binding> {
    let wanted = typed.to_lowercase();
    let is_thing = |binding: &&Binding| {
        let is_itself = matches!(binding.action, Action::Palette | Action::Choose | Action::Back);
        !is_itself && (binding.says.contains(&wanted) || binding.name.contains(&wanted))
    };
    KEYS.iter().filter(is_thing).collect()
}

/// The description of a key, for a person at a terminal.
pub(super) fn says(binding: &Binding) -> &'static str {
    binding.says.strip_suffix(" (in a terminal)").unwrap_or(binding.says)
}

/// Handles a key in the action list. Enter runs actions that only look; an action that answers a card needs its own
/// key.
fn palette(
    state: &mut State,
    key: &Pressed,
    mut typed: String,
    mut place: usize,
    at: Duration,
) -> Vec<Effect> {
    match (key.name.as_str(), key.letter) {
        ("Escape" | "Ctrl+c", _) => {
            state.mode = Mode::Look;
            return vec![];
        }
        ("Enter", _) => {
            let Some(binding) = things(&typed).get(place).copied() else {
                state.complain("there is nothing of that name; Esc goes back");
                return vec![];
            };
            state.mode = Mode::Look;
            if binding.speaks {
                state.say(format!("press {} for that: {}", binding.shown, binding.says));
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
    let place = place.min(things(&typed).len().saturating_sub(1));
    state.mode = Mode::Palette { typed, at: place };
    vec![]
}

/// Quits. Held answers are sent first, since the person meant them.
fn quit(state: &mut State) -> Vec<Effect> {
    state.is_leaving = true;
    unsent::give_up(state);
    let mut effects = answer::send_held(state);
    effects.extend(leave_if_done(state));
    effects
}

/// Quits as on a signal: unsent answers are undone, and that is reported.
fn quit_unsaid(state: &mut State) -> Vec<Effect> {
    state.is_leaving = true;
    answer::take_all_back(state, "taken back:");
    unsent::give_up(state);
    leave_if_done(state)
}

/// Quits as soon as no call is pending.
pub(super) fn leave_if_done(state: &State) -> Vec<Effect> {
    let is_done = state.sending.is_empty() && state.proving.is_empty() && state.held.is_empty();
    if state.is_leaving && is_done { vec![Effect::Leave] } else { vec![] }
}

/// Quits without waiting for pending calls.
fn leave_now(state: &mut State) -> Vec<Effect> {
    let message = "left while an answer was on its way; it may count or not";
    let failure = Failure::new(Code::Failure, message).hint("see: sayso inbox --done");
    state.farewell.push(Farewell::Bad(failure));
    vec![Effect::Leave]
}
