//! What an event makes of the inbox, and what is to be done about it. Nothing here fetches, draws or tells
//! the time: `at` is how long the program has run.

use super::answer;
use super::press;
use super::state::{
    Effect, Event, Farewell, List, Mode, Page, Refreshed, Row, State, View, What, Written,
};
use super::view::places;
use crate::exit::Failure;
use sayso_core::gate::Receipt;
use sayso_core::{Code, GateId};
use sayso_engine::{Asked, SayOutcome};
use sayso_server::keys::DEAD_TIME;
use sayso_server::prose::ending_in_words;
use std::collections::BTreeSet;
use std::time::Duration;

/// So many rows before the end of the list the next page is fetched.
const AHEAD: usize = 15;

/// Takes an event in.
pub(crate) fn update(state: &mut State, event: Event, at: Duration) -> Vec<Effect> {
    state.clock = at;
    match event {
        Event::Key(key) => press::press(state, &key, at),
        Event::Pasted(text) => press::paste(state, &text),
        Event::Resized(columns, rows) => resized(state, (columns, rows)),
        Event::Tick(now) => {
            state.now = now;
            tick(state, at)
        }
        Event::Drawn(card) => drawn(state, card, at),
        Event::Page { list, is_first, page } if list == state.list.number => match page {
            Ok(page) => take_page(state, page, is_first),
            Err(failure) => {
                state.list.is_loading = false;
                failed(state, &failure)
            }
        },
        Event::Refreshed { list, found } if list == state.list.number => {
            state.is_refreshing = false;
            let mut effects = match found {
                Ok(found) => take_refreshed(state, found),
                Err(failure) => failed(state, &failure),
            };
            let changed = state.changed.take().map(Vec::from_iter);
            effects.extend(changed.into_iter().flat_map(|gates| refresh(state, &gates)));
            effects
        }
        // For a list that nobody looks at any more.
        Event::Page { .. } | Event::Refreshed { .. } => vec![],
        Event::Looked { gate, found } => looked(state, gate, found),
        Event::Changed(gates) => refresh(state, &gates),
        Event::Reached(away) => {
            state.away = away;
            vec![]
        }
        Event::Proved(outcome) => answer::proved(state, outcome, at),
        Event::Written(written, outcome) => take_written(state, &written, outcome),
        Event::Sent(gates, outcome) => sent(state, &gates, outcome),
        Event::Done(gate, outcome) => done(state, gate, outcome),
        Event::Resumed => {
            // Nobody could take it back meanwhile, so nobody said it.
            while !state.held.is_empty() {
                answer::take_back(state);
            }
            drawn(state, None, at)
        }
        Event::Ended => ended(state),
    }
}

/// The first thing to do.
pub(crate) fn begin(state: &State) -> Vec<Effect> {
    vec![Effect::Load { list: state.list.number, view: state.list.view, after: None }]
}

/// Another list.
pub(super) fn show_view(state: &mut State, view: View) -> Vec<Effect> {
    state.list = List::new(view, state.list.number + 1);
    (state.is_refreshing, state.changed) = (false, None);
    state.marks.clear();
    state.pane = super::state::Pane::List;
    (state.drawn, state.scroll) = (None, 0);
    begin(state)
}

/// Puts the cursor on a row.
pub(super) fn select(state: &mut State, place: usize) -> Vec<Effect> {
    if state.list.cursor == Some(place) || place >= state.list.rows.len() {
        return vec![];
    }
    state.list.cursor = Some(place);
    // Nobody answers what they do not see yet.
    (state.drawn, state.scroll) = (None, 0);
    keep_in_sight(state);
    let mut effects = look(state);
    if place + AHEAD >= state.list.rows.len() {
        effects.extend(more(state));
    }
    effects
}

/// The next page, early enough that nobody has to wait at the end.
fn more(state: &mut State) -> Vec<Effect> {
    let (list, view) = (state.list.number, state.list.view);
    let Some(after) = state.list.next.filter(|_| !state.list.is_loading) else { return vec![] };
    state.list.is_loading = true;
    vec![Effect::Load { list, view, after: Some(after) }]
}

/// Fetches what there is to know of the card under the cursor; one at a time, and then the one that is
/// looked at by then.
pub(super) fn look(state: &mut State) -> Vec<Effect> {
    let Some(gate) = state.here().map(Row::id).filter(|_| state.looking.is_none()) else {
        return vec![];
    };
    state.looking = Some(gate);
    vec![Effect::Look(gate)]
}

/// Moves the list under the cursor so that its row can be seen, and not further.
pub(super) fn keep_in_sight(state: &mut State) {
    let room = places(state).map_or(1, |places| places.rows_max());
    let shown = state.list.shown();
    let place = state.list.cursor.and_then(|cursor| shown.iter().position(|at| *at == cursor));
    let top = &mut state.list.top;
    if let Some(place) = place {
        *top = (*top).clamp(place.saturating_sub(room.saturating_sub(1)), place);
    }
    *top = (*top).min(shown.len().saturating_sub(1));
}

fn resized(state: &mut State, size: (u16, u16)) -> Vec<Effect> {
    state.size = size;
    keep_in_sight(state);
    vec![]
}

fn tick(state: &mut State, at: Duration) -> Vec<Effect> {
    let mut effects = answer::send_due(state, at);
    if let Some(drawn) = &mut state.drawn
        && drawn.is_open
        && !drawn.is_seen
        && at >= drawn.since + DEAD_TIME
    {
        drawn.is_seen = true;
        let gate = drawn.gate;
        let row = state.list.place_of(gate).and_then(|place| state.list.rows.get(place));
        effects.extend(row.map(|row| Effect::See(Box::new(row.asked.clone()))));
    }
    effects
}

/// A card counts as drawn from the first frame it was in, as it was then.
fn drawn(
    state: &mut State,
    card: Option<(GateId, sayso_core::Digest, bool)>,
    at: Duration,
) -> Vec<Effect> {
    let Some((gate, digest, is_open)) = card else {
        state.drawn = None;
        return vec![];
    };
    let is_new = state
        .drawn
        .as_ref()
        .is_none_or(|drawn| (drawn.gate, &drawn.digest, drawn.is_open) != (gate, &digest, is_open));
    if is_new {
        let (since, is_seen) = (at, false);
        state.drawn = Some(super::state::Drawn { gate, digest, is_open, since, is_seen });
    }
    vec![]
}

fn take_page(state: &mut State, page: Page, is_first: bool) -> Vec<Effect> {
    let list = &mut state.list;
    (list.is_loading, list.is_loaded, list.next) = (false, true, page.next);
    for row in page.rows {
        if list.place_of(row.id()).is_none() {
            list.rows.push(row);
        }
    }
    if !is_first {
        return vec![];
    }
    list.alerts = page.alerts;
    // Whoever opens a list looks at its first card. What comes later is looked at when they go there.
    if list.cursor.is_none() && !list.rows.is_empty() {
        return select(state, 0);
    }
    vec![]
}

/// Looks at the list again. What happens meanwhile is looked at after that, all of it at once.
fn refresh(state: &mut State, gates: &[GateId]) -> Vec<Effect> {
    if state.is_refreshing || !state.list.is_loaded {
        state.changed.get_or_insert_default().extend(gates);
        return vec![];
    }
    state.is_refreshing = true;
    let gates: BTreeSet<_> = gates.iter().collect();
    let concerns = |row: &&Row| {
        let mut askers = row.asked.askers.iter();
        gates.contains(&row.id()) || askers.any(|asker| gates.contains(&asker.gate))
    };
    let gates = state.list.rows.iter().filter(concerns).map(Row::id).collect();
    vec![Effect::Refresh { list: state.list.number, view: state.list.view, gates }]
}

/// What is new comes at the end; what is there stays in its place.
fn take_refreshed(state: &mut State, found: Refreshed) -> Vec<Effect> {
    let Refreshed { first, cards } = found;
    let here = state.here().map(Row::id);
    let is_here = cards.iter().any(|card| Some(card.gate.opened.id) == here);
    cards.into_iter().for_each(|card| renew(state, card));
    let waiting: BTreeSet<_> = first.rows.iter().map(Row::id).collect();
    for row in first.rows {
        match state.list.place_of(row.id()) {
            Some(_) => renew(state, row.asked),
            None => state.list.rows.push(row),
        }
    }
    // Where the first page has all there is, what is not in it waits somewhere else.
    if first.next.is_none() && state.list.view != View::Done {
        for row in &mut state.list.rows {
            row.is_gone = row.gate().is_open() && !waiting.contains(&row.id());
        }
    }
    state.list.alerts = first.alerts;
    if is_here { look(state) } else { vec![] }
}

/// A card as it is now.
fn renew(state: &mut State, asked: Asked) {
    let gate = asked.gate.clone();
    let id = gate.opened.id;
    let Some(place) = state.list.place_of(id) else { return };
    let Some(row) = state.list.rows.get_mut(place) else { return };
    let has_changed = row.gate().digest != gate.digest;
    let is_over = row.gate().is_open() && !gate.is_open();
    row.asked = asked;
    if !has_changed && !is_over {
        return;
    }
    // What was said to a card that is no longer the same was not said to this one.
    state.marks.remove(&id);
    let was_held = answer::forget(state, id);
    let is_here = state.here().map(Row::id) == Some(id);
    if is_here {
        (state.drawn, state.scroll) = (None, 0);
        if matches!(state.mode, Mode::Field(_)) {
            press::leave_field(state);
        }
    }
    let handle = gate.handle();
    match (is_over, is_here || was_held) {
        (_, false) => {}
        (true, true) => state.say(format!("{handle}: {}", ending_in_words(&gate))),
        (false, true) => state.complain(format!("{handle} has changed; look again")),
    }
}

fn looked(
    state: &mut State,
    gate: GateId,
    found: Result<Box<(Asked, Receipt)>, Failure>,
) -> Vec<Effect> {
    state.looking = None;
    match found {
        Ok(found) => {
            let (asked, receipt) = *found;
            renew(state, asked);
            let place = state.list.place_of(gate);
            if let Some(row) = place.and_then(|place| state.list.rows.get_mut(place)) {
                row.receipt = Some(receipt);
            }
        }
        Err(failure) => state.complain(in_words(&failure)),
    }
    match state.here().filter(|row| row.id() != gate && row.receipt.is_none()) {
        Some(_) => look(state),
        None => vec![],
    }
}

/// What was written in the editor is part of the answer, if the card is still the one it was written for.
fn take_written(
    state: &mut State,
    written: &Written,
    outcome: Result<String, Failure>,
) -> Vec<Effect> {
    let text = match outcome {
        Ok(text) => text,
        Err(failure) => return failed(state, &failure),
    };
    let Some(gate) = answer::still(state, &written.target) else {
        state.complain("the card has changed; look again");
        return vec![];
    };
    let json = || serde_json::from_str(&text);
    let draft = state.draft_mut(&gate);
    let wrong = match written.what {
        What::Text => {
            draft.text = text;
            None
        }
        What::Form => json().map(|form| draft.form = Some(form)).err(),
        What::Arguments => json().map(|given| draft.arguments = Some(given)).err(),
    };
    match wrong {
        Some(error) => state.complain(format!("that is not JSON, so it is not kept: {error}")),
        None => state.say(answer::WRITTEN),
    }
    vec![]
}

fn sent(
    state: &mut State,
    gates: &[GateId],
    outcome: Result<Vec<SayOutcome>, Failure>,
) -> Vec<Effect> {
    state.sending.retain(|gate| !gates.contains(gate));
    let outcomes = outcome.unwrap_or_else(|failure| {
        let Failure { code, message, hint } = failure;
        vec![SayOutcome::Refused { code: code.as_str().into(), message, hint }]
    });
    let mut told = vec![];
    for outcome in outcomes {
        match outcome {
            SayOutcome::Answered(answered) => {
                told.extend(answered.first().map(|gate| Farewell::Good(answer::in_words(gate))));
                for gate in answered {
                    take_gate(state, gate);
                }
            }
            SayOutcome::Refused { code, message, hint } => {
                let known = Code::ALL.iter().find(|known| known.as_str() == code);
                let code = known.copied().unwrap_or(Code::Failure);
                told.push(Farewell::Bad(Failure { code, message, hint }));
            }
        }
    }
    let wrong = told.iter().find_map(|one| match one {
        Farewell::Bad(failure) => Some(in_words(failure)),
        Farewell::Good(_) => None,
    });
    let good = told.iter().filter(|one| matches!(one, Farewell::Good(_))).count();
    match (wrong, told.as_slice()) {
        (Some(wrong), [_]) => state.complain(wrong),
        (Some(wrong), many) => {
            state.complain(format!("{} of {} were refused: {wrong}", many.len() - good, many.len()))
        }
        (None, [Farewell::Good(words)]) => state.say(words.clone()),
        (None, many) => state.say(format!("{} answered", many.len())),
    }
    if state.is_leaving {
        state.farewell.extend(told);
        return press::leave_if_done(state);
    }
    let mut effects = refresh(state, gates);
    effects.extend(look(state));
    effects
}

/// A gate as the desk says it is now.
fn take_gate(state: &mut State, gate: sayso_core::gate::Gate) {
    if let Some(place) = state.list.place_of(gate.opened.id)
        && let Some(row) = state.list.rows.get(place)
    {
        renew(state, Asked { gate, ..row.asked.clone() });
    }
}

fn done(state: &mut State, gate: GateId, outcome: Result<String, Failure>) -> Vec<Effect> {
    match outcome {
        Ok(words) => state.say(words),
        Err(failure) => state.complain(in_words(&failure)),
    }
    refresh(state, &[gate])
}

/// Told to end from outside: what was not sent is not said, and that is told.
fn ended(state: &mut State) -> Vec<Effect> {
    for held in std::mem::take(&mut state.held) {
        let message = format!("ended while {}; nothing was sent", held.spoken.words);
        state.farewell.push(Farewell::Bad(Failure::new(Code::Failure, message)));
    }
    vec![Effect::Leave]
}

fn failed(state: &mut State, failure: &Failure) -> Vec<Effect> {
    state.complain(in_words(failure));
    vec![]
}

/// Why not, and what to do now.
pub(super) fn in_words(failure: &Failure) -> String {
    let hint = failure.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    sayso_core::text::harmless_line(&format!("{}{hint}", failure.message))
}
