//! What keys do. Which key does what stands in [`sayso_server::keys`].

use super::answer;
use super::keys::Pressed;
use super::state::{
    Effect, Farewell, Field, Mode, Pane, Purpose, Row, State, Target, What, Writing, Written,
    is_verdict,
};
use super::update::{keep_in_sight, select, show_view};
use super::view::{card_height, help_height, places};
use crate::commands::picks;
use crate::exit::Failure;
use sayso_core::{Code, Kind, Shape, Verdict};
use sayso_server::keys::{Action, Binding, KEYS};
use sayso_server::prose;
use std::time::Duration;

/// The longest line that can be typed; what is longer is written in an editor.
const FIELD_MAX: usize = 4_000;

/// Takes a key in.
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
    // Where nothing is shown, nothing is meant.
    if places(state).is_none() {
        return if action == Some(Action::Quit) { quit(state) } else { vec![] };
    }
    match state.mode.clone() {
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
    }
}

/// Text from the clipboard is letters where letters are typed. Anywhere else it is nothing: no line of it is
/// a key.
pub(super) fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    if let Mode::Field(field) = &mut state.mode {
        text.chars().filter(|c| *c == '\n' || !c.is_control()).for_each(|c| insert(field, c));
    }
    vec![]
}

fn act(state: &mut State, action: Action, key: &Pressed, at: Duration) -> Vec<Effect> {
    match action {
        Action::Down => step(state, 1),
        Action::Up => step(state, -1),
        Action::First => go(state, |shown| shown.first().copied()),
        Action::Last => go(state, |shown| shown.last().copied()),
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
        Action::Approve if !state.marks.is_empty() => answer::approve_marked(state),
        Action::Approve => answer::approve(state, at),
        Action::Reject => begin_reject(state, at),
        Action::Choose => choose(state, key, at),
        Action::Edit => edit(state, at),
        Action::Snooze => begin(state, at, Purpose::Snooze, "Put off", "for how long", "1h"),
        Action::Delegate => begin(state, at, Purpose::Delegate, "Hand on", "to whom", ""),
        Action::Claim => claim(state, at),
        Action::Mark => mark(state),
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
            let command = state.here().and_then(|row| command(state, row));
            state.say(command.unwrap_or_else(|| "there is nothing to do any more".into()));
            vec![]
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

/// Out of what was begun, in the order in which it was.
fn back(state: &mut State) -> Vec<Effect> {
    if state.pane == Pane::Card {
        state.pane = Pane::List;
    } else if !state.marks.is_empty() {
        state.marks.clear();
        state.say("none marked");
    } else if !state.list.filter.is_empty() {
        state.list.filter.clear();
        keep_in_sight(state);
    }
    vec![]
}

/// Reads on in the card, most of a screen at a time.
fn read(state: &mut State, pages: isize) -> Vec<Effect> {
    let Some(area) = places(state).and_then(|places| places.card) else { return vec![] };
    let room = usize::from(area.height);
    let all = card_height(state, area.width);
    let by = (room * 4 / 5).max(1).cast_signed() * pages;
    state.scroll = state.scroll.saturating_add_signed(by).min(all.saturating_sub(room));
    vec![]
}

fn begin_reject(state: &mut State, at: Duration) -> Vec<Effect> {
    let targets = match state.marks.is_empty() {
        true => answer::ready(state, at).map(|row| vec![row.target()]),
        false => answer::alike(state, Verdict::Rejected),
    };
    let Some(targets) = targets else { return vec![] };
    let of_one = targets.first().and_then(|target| answer::still(state, target));
    let (title, reason) = match (targets.as_slice(), of_one) {
        ([_], Some(gate)) => (format!("Reject {}", gate.handle()), state.draft(&gate).reason),
        (many, _) => (format!("Reject {} cards", many.len()), String::new()),
    };
    let label = "why, or what to do instead";
    open_field(state, Purpose::Reject(targets), title, label, &reason);
    vec![]
}

/// Begins a line about the card under the cursor.
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

/// Picks an option; several where several may be picked. It says nothing by itself.
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
    }
    match was_picked && *multi {
        true => draft.picked.remove(&number),
        false => draft.picked.insert(number),
    };
    state.say("picked; a answers");
    vec![]
}

/// Writes an answer, fills in a form, or changes the arguments of a call.
fn edit(state: &mut State, at: Duration) -> Vec<Effect> {
    let Some(row) = answer::ready(state, at) else { return vec![] };
    let (gate, target) = (row.gate(), row.target());
    let draft = state.draft(gate);
    let handle = gate.handle();
    match (&gate.card.shape, prose::arguments(gate)) {
        (Shape::Verdict, Some(arguments)) => {
            let changed = draft.arguments.and_then(|it| serde_json::to_string_pretty(&it).ok());
            let written = Written { target, what: What::Arguments };
            return write(state, written, Writing::Json(changed.unwrap_or(arguments)));
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
            let filled = draft.form.unwrap_or_else(|| blank(schema));
            let text = serde_json::to_string_pretty(&filled).unwrap_or_default();
            let written = Written { target, what: What::Form };
            return write(state, written, Writing::Json(text));
        }
    }
    vec![]
}

/// Opens the editor. What is held is sent first: nobody can take it back from there.
fn write(state: &mut State, written: Written, writing: Writing) -> Vec<Effect> {
    let mut effects = answer::send_held(state);
    effects.push(Effect::Write(written, writing));
    effects
}

/// A form to be filled in: every field there is, empty.
fn blank(schema: &serde_json::Value) -> serde_json::Value {
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    let names = properties.into_iter().flat_map(|all| all.keys());
    names
        .map(|name| (name.clone(), serde_json::Value::Null))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn claim(state: &mut State, at: Duration) -> Vec<Effect> {
    let Some(row) = answer::ready(state, at) else { return vec![] };
    let claim = row.gate().claim.as_ref().filter(|claim| claim.until > state.now);
    match claim.is_some_and(|claim| claim.by == state.me.name) {
        true => answer::wish(state, row.id(), Effect::Release(row.id())),
        false => answer::wish(state, row.id(), Effect::Claim(row.id())),
    }
}

fn mark(state: &mut State) -> Vec<Effect> {
    let Some(row) = state.here().filter(|row| row.gate().is_open()) else { return vec![] };
    let target = row.target();
    if state.marks.remove(&target.gate).is_none() {
        state.marks.insert(target.gate, target);
    }
    match state.marks.len() {
        0 => state.say("none marked"),
        count => state.say(format!("{count} marked; a approves, r rejects all of them")),
    }
    vec![]
}

/// The command that does the same, as far as it is clear.
fn command(state: &State, row: &Row) -> Option<String> {
    let gate = row.gate();
    let picked: Vec<_> = state.draft(gate).picked.iter().map(|at| (at + 1).to_string()).collect();
    let look = format!("sayso show {}", gate.handle());
    match (&gate.card.shape, gate.is_open()) {
        (_, false) => Some(look),
        (Shape::Choice { .. }, true) if !picked.is_empty() => {
            Some(format!("sayso choose {} {}", gate.handle(), picked.join(" ")))
        }
        // Nothing was picked or written, so there is no answer that a command could give.
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

/// Everything there is to do that has this in its name.
pub(super) fn things(typed: &str) -> Vec<&'static Binding> {
    let wanted = typed.to_lowercase();
    let is_thing = |binding: &&Binding| {
        let is_itself = matches!(binding.action, Action::Palette | Action::Choose | Action::Back);
        !is_itself && (binding.says.contains(&wanted) || binding.name.contains(&wanted))
    };
    KEYS.iter().filter(is_thing).collect()
}

/// Enter does what looks. What says something to a card takes its own key: Enter never does.
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
            state.mode = Mode::Look;
            let Some(binding) = things(&typed).get(place).copied() else { return vec![] };
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

fn open_field(state: &mut State, purpose: Purpose, title: String, label: &'static str, text: &str) {
    let at = text.chars().count();
    state.mode = Mode::Field(Field { purpose, title, label, text: text.into(), at });
}

/// Closes a line that was begun for a card that is no longer the same. What was typed in it goes: it was
/// meant for the other card.
pub(super) fn leave_field(state: &mut State) {
    state.mode = Mode::Look;
}

fn type_in(state: &mut State, key: &Pressed, mut field: Field) -> Vec<Effect> {
    let count = field.text.chars().count();
    match (key.name.as_str(), key.letter) {
        ("Escape" | "Ctrl+c", _) => {
            state.mode = Mode::Look;
            if field.purpose == Purpose::Filter {
                state.list.filter.clear();
                keep_in_sight(state);
            }
            return vec![];
        }
        ("Enter", _) => {
            state.mode = Mode::Look;
            return finish(state, field);
        }
        ("Tab", _) => {
            if let Some((written, writing)) = to_editor(state, &field) {
                state.mode = Mode::Look;
                return write(state, written, writing);
            }
        }
        ("ArrowLeft", _) => field.at = field.at.saturating_sub(1),
        ("ArrowRight", _) => field.at = (field.at + 1).min(count),
        ("Home" | "Ctrl+a", _) => field.at = 0,
        ("End" | "Ctrl+e", _) => field.at = count,
        ("Backspace", _) => erase(&mut field),
        ("Ctrl+u", _) => (field.text, field.at) = (String::new(), 0),
        (_, Some(letter)) => insert(&mut field, letter),
        _ => {}
    }
    let filter = (field.purpose == Purpose::Filter).then(|| field.text.trim().to_lowercase());
    state.mode = Mode::Field(field);
    filter.map_or(vec![], |filter| narrow(state, filter))
}

fn insert(field: &mut Field, letter: char) {
    if field.text.chars().count() >= FIELD_MAX {
        return;
    }
    let place = field.text.char_indices().nth(field.at).map_or(field.text.len(), |(at, _)| at);
    field.text.insert(place, letter);
    field.at += 1;
}

fn erase(field: &mut Field) {
    let Some(before) = field.at.checked_sub(1) else { return };
    if let Some((place, _)) = field.text.char_indices().nth(before) {
        field.text.remove(place);
        field.at = before;
    }
}

/// Shows only what has these words in it. The cursor stays where it is as long as that is shown.
fn narrow(state: &mut State, filter: String) -> Vec<Effect> {
    if state.list.filter == filter {
        return vec![];
    }
    state.list.filter = filter;
    let shown = state.list.shown();
    let is_shown = state.list.cursor.is_some_and(|cursor| shown.contains(&cursor));
    keep_in_sight(state);
    match shown.first().filter(|_| !is_shown) {
        Some(first) => select(state, *first),
        None => vec![],
    }
}

/// Opens the editor on what a longer answer is written to.
fn to_editor(state: &State, field: &Field) -> Option<(Written, Writing)> {
    let Purpose::Text(target) = &field.purpose else { return None };
    let gate = answer::still(state, target)?;
    let (question, narrative) = (gate.card.question, gate.card.narrative);
    let written = Written { target: target.clone(), what: What::Text };
    Some((written, Writing::Below { question, narrative }))
}

/// A line is typed. Enter says no here, or puts off, or hands on; it never says yes.
fn finish(state: &mut State, field: Field) -> Vec<Effect> {
    let text = field.text.trim().to_owned();
    match field.purpose {
        Purpose::Filter => vec![],
        Purpose::Reject(targets) => answer::reject(state, &targets, &text),
        Purpose::Snooze(target) if !text.is_empty() => {
            answer::wish(state, target.gate, Effect::Snooze(target.gate, text))
        }
        Purpose::Delegate(target) if !text.is_empty() => {
            answer::wish(state, target.gate, Effect::Delegate(target.gate, text))
        }
        Purpose::Snooze(_) | Purpose::Delegate(_) => vec![],
        Purpose::Text(target) => keep(state, &target, |draft| draft.text = text),
        Purpose::Reason(target) => keep(state, &target, |draft| draft.reason = text),
        Purpose::Pick(target) => pick(state, &target, &text),
    }
}

fn keep(
    state: &mut State,
    target: &Target,
    change: impl FnOnce(&mut super::state::Draft),
) -> Vec<Effect> {
    match answer::still(state, target) {
        Some(gate) => {
            change(state.draft_mut(&gate));
            state.say(answer::WRITTEN);
        }
        None => state.complain("the card has changed; look again"),
    }
    vec![]
}

/// Options as they were typed, by number or name; what is none is words of one's own.
fn pick(state: &mut State, target: &Target, text: &str) -> Vec<Effect> {
    let Some(gate) = answer::still(state, target).filter(|gate| !is_verdict(gate)) else {
        return keep(state, target, |_| ());
    };
    let Shape::Choice { options, multi, other } = &gate.card.shape else { return vec![] };
    let words: Vec<_> = match multi {
        true => text.split([',', ' ']).filter(|word| !word.is_empty()).map(Into::into).collect(),
        false => vec![text.to_owned()],
    };
    let named = picks(&gate, &words);
    let place = |name: &String| options.iter().position(|option| option.name == *name);
    let places: Option<Vec<_>> = named.iter().map(place).collect();
    match places.filter(|places| !places.is_empty()) {
        Some(places) => keep(state, target, |draft| {
            draft.picked = places.into_iter().collect();
            draft.other.clear();
        }),
        None if *other => keep(state, target, |draft| {
            draft.picked.clear();
            draft.other = text.to_owned();
        }),
        None => {
            state.complain("there is no such option");
            vec![]
        }
    }
}

/// Ends. Whoever leaves meant what they said: it is sent first.
fn quit(state: &mut State) -> Vec<Effect> {
    state.is_leaving = true;
    let mut effects = answer::send_held(state);
    effects.extend(leave_if_done(state));
    effects
}

/// Ends as soon as nothing is on its way any more.
pub(super) fn leave_if_done(state: &State) -> Vec<Effect> {
    let is_done = state.sending.is_empty() && state.proving.is_empty() && state.held.is_empty();
    if state.is_leaving && is_done { vec![Effect::Leave] } else { vec![] }
}

/// Ends without waiting for what is on its way.
fn leave_now(state: &mut State) -> Vec<Effect> {
    let message = "left while an answer was on its way; it may count or not";
    let failure = Failure::new(Code::Failure, message).hint("see: sayso inbox --done");
    state.farewell.push(Farewell::Bad(failure));
    vec![Effect::Leave]
}
