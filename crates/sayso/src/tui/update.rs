//! The update function: applies an event to the state and returns effects. Nothing here fetches, draws or reads the
//! clock: `at` is the time the program has run.

use super::answer;
use super::drafts;
use super::input_line;
use super::key_handler;
use super::retry_queue;
use super::state::{
    DraftKind, DrawnCard, EditedText, EditorSession, ExitMessage, InboxEffect, InboxEvent,
    InboxList, InboxListKind, InboxRow, InboxState, InputMode, LinePurpose, LoadedPage,
    OutgoingAnswer, RefreshedList,
};
use super::view::{ShownCard, places};
use crate::exit::Failure;
use sayso_core::gate::Receipt;
use sayso_core::{Code, GateId};
use sayso_engine::{AnswerOutcome, CardView};
use sayso_server::keys::DEAD_TIME;
use sayso_server::text::ending_in_words;
use std::collections::BTreeSet;
use std::time::Duration;

/// The next page is fetched when the cursor is this many rows before the end of the list.
const AHEAD: usize = 15;

/// The maximum number of rows fetched by a search.
const ROWS_MAX: usize = 5_000;

/// Applies an event.
pub(crate) fn update(state: &mut InboxState, event: InboxEvent, at: Duration) -> Vec<InboxEffect> {
    state.clock = at;
    match event {
        InboxEvent::Key(key) => key_handler::handle_key(state, &key, at),
        InboxEvent::Pasted(text) => key_handler::paste(state, &text),
        InboxEvent::Resized(columns, rows) => resized(state, (columns, rows)),
        InboxEvent::Tick(now) => {
            state.now = now;
            tick(state, at)
        }
        InboxEvent::Drawn(card) => drawn(state, card, at),
        InboxEvent::Page { list, is_first, page } if list == state.list.number => match page {
            Ok(page) => take_page(state, page, is_first),
            Err(failure) => {
                (state.list.is_loading, state.list.is_seeking_end) = (false, false);
                unheard(state, &failure)
            }
        },
        InboxEvent::Refreshed { list, found } if list == state.list.number => {
            state.is_refreshing = false;
            let mut effects = match found {
                Ok(found) => take_refreshed(state, found),
                Err(failure) => unheard(state, &failure),
            };
            let changed = state.changed.take().map(Vec::from_iter);
            effects.extend(changed.into_iter().flat_map(|gates| refresh(state, &gates)));
            effects
        }
        // For a list that is not shown any more.
        InboxEvent::Page { .. } | InboxEvent::Refreshed { .. } => vec![],
        InboxEvent::Looked { gate, found } => looked(state, gate, found),
        InboxEvent::Changed(gates) => refresh(state, &gates),
        InboxEvent::Reached(away) => retry_queue::reached(state, away, at),
        InboxEvent::Proved(outcome) => answer::on_proved(state, outcome, at),
        InboxEvent::Written(written, outcome) => take_written(state, &written, outcome),
        InboxEvent::Sent(gates, outcome) => sent(state, &gates, outcome),
        InboxEvent::Done(gate, outcome) => done(state, gate, outcome),
        InboxEvent::Resumed => {
            // The person could not undo them while the program was suspended, so they are not sent.
            while !state.held.is_empty() {
                answer::undo(state);
            }
            drawn(state, None, at)
        }
        InboxEvent::Ended => ended(state),
    }
}

/// The first effect: to load the list.
pub(crate) fn begin(state: &InboxState) -> Vec<InboxEffect> {
    vec![InboxEffect::Load { list: state.list.number, view: state.list.view, after: None }]
}

/// Switches to another list.
pub(super) fn show_view(state: &mut InboxState, view: InboxListKind) -> Vec<InboxEffect> {
    state.list = InboxList::new(view, state.list.number + 1);
    (state.is_refreshing, state.changed) = (false, None);
    state.marks.clear();
    state.pane = super::state::InboxPane::List;
    (state.drawn, state.scroll) = (None, 0);
    begin(state)
}

/// Puts the cursor on a row.
pub(super) fn select(state: &mut InboxState, place: usize) -> Vec<InboxEffect> {
    if state.list.cursor == Some(place) || place >= state.list.rows.len() {
        return vec![];
    }
    (state.list.cursor, state.list.hidden) = (Some(place), None);
    // Not drawn yet, so it cannot be answered yet.
    (state.drawn, state.scroll) = (None, 0);
    state.clear_message();
    keep_in_sight(state);
    let mut effects = look(state);
    if place + AHEAD >= state.list.rows.len() {
        effects.extend(more(state));
    }
    effects
}

/// Fetches the next page, early enough that the person does not wait at the end.
fn more(state: &mut InboxState) -> Vec<InboxEffect> {
    let (list, view) = (state.list.number, state.list.view);
    let Some(after) = state.list.next.filter(|_| !state.list.is_loading) else { return vec![] };
    state.list.is_loading = true;
    vec![InboxEffect::Load { list, view, after: Some(after) }]
}

/// Continues a search, a page at a time: for the filter text, or the end of the list.
pub(super) fn seek(state: &mut InboxState) -> Vec<InboxEffect> {
    let list = &state.list;
    let is_seeking = list.is_seeking_end || !list.filter.is_empty();
    let goes_on = list.next.is_some() && list.rows.len() < ROWS_MAX;
    if is_seeking && goes_on {
        if list.is_seeking_end {
            state.set_message("looking for the end of the list …");
        }
        return more(state);
    }
    let shown = state.list.shown();
    let last = shown.last().copied().filter(|_| std::mem::take(&mut state.list.is_seeking_end));
    let Some(last) = last else { return vec![] };
    state.clear_message();
    let effects = select(state, last);
    if state.list.next.is_some() {
        state.set_message(format!(
            "the list goes on; these are the first {}",
            state.list.rows.len()
        ));
    }
    effects
}

/// Loads the details of the card under the cursor; one at a time, and then those of the card that is under it by
/// then.
pub(super) fn look(state: &mut InboxState) -> Vec<InboxEffect> {
    let Some(gate) = state.here().map(InboxRow::id).filter(|_| state.looking.is_none()) else {
        return vec![];
    };
    state.looking = Some(gate);
    vec![InboxEffect::Look(gate)]
}

/// Scrolls the list just enough to show the row of the cursor. The cursor leaves a row that the filter hides, and
/// returns to it later.
pub(super) fn keep_in_sight(state: &mut InboxState) {
    let room = places(state).map_or(1, |places| places.rows_max());
    let shown = state.list.shown();
    let list = &mut state.list;
    if list.cursor.is_some_and(|cursor| !shown.contains(&cursor)) {
        list.hidden = list.cursor.take();
        (state.drawn, state.scroll) = (None, 0);
    } else if list.cursor.is_none() && list.hidden.is_some_and(|place| shown.contains(&place)) {
        list.cursor = list.hidden.take();
    }
    let place = state.list.cursor.and_then(|cursor| shown.iter().position(|at| *at == cursor));
    let top = &mut state.list.top;
    if let Some(place) = place {
        *top = (*top).clamp(place.saturating_sub(room.saturating_sub(1)), place);
    }
    *top = (*top).min(shown.len().saturating_sub(1));
}

fn resized(state: &mut InboxState, size: (u16, u16)) -> Vec<InboxEffect> {
    state.size = size;
    // Its lines are others now. One that was read to its end stays read.
    if let Some(drawn) = state.drawn.as_mut().filter(|drawn| drawn.unread > 0) {
        drawn.unread = usize::MAX;
    }
    keep_in_sight(state);
    vec![]
}

fn tick(state: &mut InboxState, at: Duration) -> Vec<InboxEffect> {
    let mut effects = answer::send_due(state, at);
    effects.extend(retry_queue::retry_due(state, at));
    if let Some(drawn) = &mut state.drawn
        && drawn.is_open
        && !drawn.is_seen
        && at >= drawn.since + DEAD_TIME
    {
        drawn.is_seen = true;
        let gate = drawn.gate;
        let row = state.list.place_of(gate).and_then(|place| state.list.rows.get(place));
        effects.extend(row.map(|row| InboxEffect::See(Box::new(row.asked.clone()))));
    }
    effects
}

/// Records the first frame in which a card was drawn in this version.
fn drawn(state: &mut InboxState, card: Option<ShownCard>, at: Duration) -> Vec<InboxEffect> {
    let Some(ShownCard { gate, digest, is_open, frame }) = card else {
        state.drawn = None;
        return vec![];
    };
    match &mut state.drawn {
        // A line once read counts as read.
        Some(drawn) if (drawn.gate, &drawn.digest, drawn.is_open) == (gate, &digest, is_open) => {
            drawn.note(at);
            if drawn.frame != frame {
                (drawn.frame, drawn.framed) = (frame, at);
            }
        }
        drawn => {
            let (since, framed, is_seen, unread) = (at, at, false, usize::MAX);
            let it = DrawnCard { gate, digest, is_open, since, is_seen, frame, framed, unread };
            *drawn = Some(it);
        }
    }
    vec![]
}

fn take_page(state: &mut InboxState, page: LoadedPage, is_first: bool) -> Vec<InboxEffect> {
    state.clear_failure();
    state.in_groups = page.in_groups.or(state.in_groups);
    let list = &mut state.list;
    (list.is_loading, list.is_loaded, list.next) = (false, true, page.next);
    for row in page.rows {
        if list.place_of(row.id()).is_none() {
            list.rows.push(row);
        }
    }
    if is_first {
        list.alerts = page.alerts;
    }
    // The first card of a new list is selected, and the first match of a filter. Cards that come later are loaded
    // when the cursor goes there.
    let is_finding =
        matches!(&state.mode, InputMode::Field(field) if field.purpose == LinePurpose::Filter);
    let first = list.shown().first().copied();
    let first = first.filter(|_| list.cursor.is_none() && (is_first || is_finding));
    let mut effects = first.map_or(vec![], |first| select(state, first));
    effects.extend(seek(state));
    effects
}

/// Refreshes the list. Changes that arrive meanwhile are loaded after that, all at once.
pub(super) fn refresh(state: &mut InboxState, gates: &[GateId]) -> Vec<InboxEffect> {
    if state.is_refreshing || !state.list.is_loaded {
        state.changed.get_or_insert_default().extend(gates);
        return vec![];
    }
    state.is_refreshing = true;
    let gates: BTreeSet<_> = gates.iter().collect();
    let concerns = |row: &&InboxRow| {
        let mut askers = row.asked.askers.iter();
        gates.contains(&row.id()) || askers.any(|asker| gates.contains(&asker.gate))
    };
    let gates = state.list.rows.iter().filter(concerns).map(InboxRow::id).collect();
    vec![InboxEffect::Refresh { list: state.list.number, view: state.list.view, gates }]
}

/// Applies a refreshed list. New rows come at the end; known rows stay in their place.
fn take_refreshed(state: &mut InboxState, found: RefreshedList) -> Vec<InboxEffect> {
    let RefreshedList { first, cards } = found;
    state.clear_failure();
    state.in_groups = first.in_groups.or(state.in_groups);
    let here = state.here().map(InboxRow::id);
    let is_here = cards.iter().any(|card| Some(card.gate.opened.id) == here);
    cards.into_iter().for_each(|card| renew(state, card));
    let waiting: BTreeSet<_> = first.rows.iter().map(InboxRow::id).collect();
    for row in first.rows {
        match state.list.place_of(row.id()) {
            Some(_) => renew(state, row.asked),
            None => state.list.rows.push(row),
        }
    }
    // If the first page is complete, an open card missing from it waits in another list.
    if first.next.is_none() && state.list.view != InboxListKind::Done {
        for row in &mut state.list.rows {
            row.is_gone = row.gate().is_open() && !waiting.contains(&row.id());
        }
    }
    state.list.alerts = first.alerts;
    if is_here { look(state) } else { vec![] }
}

/// Replaces a card with its present version.
fn renew(state: &mut InboxState, asked: CardView) {
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
    // An answer to an earlier version of the card does not apply to this one.
    state.marks.remove(&id);
    let forgotten = answer::forget(state, id);
    let is_here = state.here().map(InboxRow::id) == Some(id);
    if is_here {
        (state.drawn, state.scroll) = (None, 0);
    }
    let (is_carried, is_cut) =
        (drafts::keep_stale_draft(state, &gate), input_line::cut_off(state, &gate));
    if is_over {
        drafts::settle_drafts(state, &gate);
    }
    let handle = gate.handle();
    let kept =
        if (is_carried || is_cut) && !is_over { "; what you had written is kept" } else { "" };
    // The other cards of a joint answer are marked again.
    let marked = forgotten.iter().flat_map(|spoken| &spoken.marked).filter(|it| it.gate != id);
    state.marks.extend(marked.map(|target| (target.gate, target.clone())));
    if let Some(vain) = forgotten.and_then(|spoken| answer::too_late_message(state, &spoken, &gate))
    {
        let vain = format!("{vain}{kept}");
        state.farewell.push(ExitMessage::Note(id, vain.clone()));
        state.set_error(vain);
        return;
    }
    match (is_over, is_here) {
        (_, false) => {}
        (true, true) => state.set_message(format!("{handle}: {}", ending_in_words(&gate))),
        (false, true) => state.set_error(format!("{handle} has changed; look again{kept}")),
    }
}

fn looked(
    state: &mut InboxState,
    gate: GateId,
    found: Result<Box<(CardView, Receipt)>, Failure>,
) -> Vec<InboxEffect> {
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
        Err(failure) => state.set_error(in_words(&failure)),
    }
    match state.here().filter(|row| row.id() != gate && row.receipt.is_none()) {
        Some(_) => look(state),
        None => vec![],
    }
}

/// Stores a text from the editor in the draft, if the card is unchanged and the text can be parsed. If not, the text
/// is kept, and the same key opens it again.
fn take_written(
    state: &mut InboxState,
    written: &EditorSession,
    outcome: Result<Option<String>, Failure>,
) -> Vec<InboxEffect> {
    let also =
        if written.has_sent { "; what was held was sent when the editor opened" } else { "" };
    let text = match outcome {
        Ok(Some(text)) => text,
        Ok(None) => {
            state.set_message(format!("not saved in the editor, so nothing was written{also}"));
            return vec![];
        }
        Err(failure) => return failed(state, &failure),
    };
    let place = (written.target.gate, written.what.sort());
    let Some(gate) = answer::unchanged_gate(state, &written.target) else {
        state.kept.insert(place, text);
        state.set_error("the card has changed; look again; what you wrote is kept");
        return vec![];
    };
    let read = match written.what {
        EditedText::Text => Ok(None),
        // An empty text restores the original.
        EditedText::Form | EditedText::Arguments if text.trim().is_empty() => Ok(None),
        EditedText::Form | EditedText::Arguments => answer::filled_in(&gate, &text).map(Some),
    };
    let draft = state.draft_mut(&gate);
    draft.wrong.clear();
    match (written.what, read) {
        (EditedText::Text, _) => draft.text = text,
        (EditedText::Form, Ok(form)) => draft.form = form,
        (EditedText::Arguments, Ok(arguments)) => draft.arguments = arguments,
        (EditedText::Form | EditedText::Arguments, Err(error)) => {
            (draft.form, draft.arguments) = (None, None);
            draft.wrong = vec![format!("what you wrote is not JSON yet: {error}")];
            state.scroll = 0;
            state.kept.insert(place, text);
            let again = format!("that is not JSON yet: {error}; e opens it again{also}");
            state.set_error(again);
            return vec![];
        }
    }
    state.kept.remove(&place);
    state.set_message(format!("{}{also}", answer::WRITTEN));
    vec![]
}

fn sent(
    state: &mut InboxState,
    gates: &[GateId],
    outcome: Result<Vec<AnswerOutcome>, Failure>,
) -> Vec<InboxEffect> {
    let is_it = |spoken: &OutgoingAnswer| spoken.says.iter().map(|say| &say.gate).eq(gates);
    let place = state.sending.iter().position(is_it);
    let spoken = place.map(|place| state.sending.remove(place));
    let outcomes = match (outcome, spoken) {
        (Ok(mut outcomes), Some(spoken)) => {
            retry_queue::enqueue_lost(state, &spoken, &outcomes);
            outcomes.retain(|outcome| !retry_queue::is_lost(outcome));
            outcomes
        }
        (Ok(outcomes), None) => outcomes,
        (Err(failure), Some(spoken)) if retry_queue::is_away(failure.code) => {
            retry_queue::enqueue(state, spoken);
            vec![]
        }
        (Err(Failure { code, message, hint }), _) => {
            vec![AnswerOutcome::Refused { code: code.as_str().into(), message, hint }]
        }
    };
    if outcomes.is_empty() {
        return key_handler::quit_if_done(state);
    }
    let mut told = vec![];
    for outcome in outcomes {
        match outcome {
            AnswerOutcome::Answered(answered) => {
                told.extend(answered.first().map(|gate| ExitMessage::Good(answer::in_words(gate))));
                for gate in answered {
                    let id = gate.opened.id;
                    drafts::forget(state, id);
                    // A retry has arrived, so it was not in vain.
                    state
                        .farewell
                        .retain(|one| !matches!(one, ExitMessage::Note(of, _) if *of == id));
                    take_gate(state, gate);
                }
            }
            AnswerOutcome::Refused { code, message, hint } => {
                let known = Code::ALL.iter().find(|known| known.as_str() == code);
                let code = known.copied().unwrap_or(Code::Failure);
                told.push(ExitMessage::Bad(Failure { code, message, hint }));
            }
        }
    }
    let wrong = told.iter().find_map(|one| match one {
        ExitMessage::Bad(failure) => Some(in_words(failure)),
        ExitMessage::Good(_) | ExitMessage::Note(..) => None,
    });
    let good = told.iter().filter(|one| matches!(one, ExitMessage::Good(_))).count();
    match (wrong, told.as_slice()) {
        (Some(wrong), [_]) => state.set_error(wrong),
        (Some(wrong), many) => state.set_error(format!(
            "{} of {} were refused: {wrong}",
            many.len() - good,
            many.len()
        )),
        (None, [ExitMessage::Good(words)]) => state.set_message(words.clone()),
        (None, many) => state.set_message(format!("{} answered", many.len())),
    }
    if state.is_leaving {
        state.farewell.extend(told);
        return key_handler::quit_if_done(state);
    }
    let mut effects = refresh(state, gates);
    effects.extend(look(state));
    effects
}

/// Replaces a gate with the version that the desk returned.
fn take_gate(state: &mut InboxState, gate: sayso_core::gate::Gate) {
    if let Some(place) = state.list.place_of(gate.opened.id)
        && let Some(row) = state.list.rows.get(place)
    {
        renew(state, CardView { gate, ..row.asked.clone() });
    }
}

fn done(
    state: &mut InboxState,
    gate: GateId,
    outcome: Result<String, Failure>,
) -> Vec<InboxEffect> {
    input_line::on_reply(state, gate, outcome.is_ok());
    match outcome {
        Ok(words) => {
            state.kept.retain(|(of, sort), _| {
                *of != gate || !matches!(sort, DraftKind::Snooze | DraftKind::Delegate)
            });
            state.set_message(words);
        }
        Err(failure) => state.set_error(in_words(&failure)),
    }
    refresh(state, &[gate])
}

/// Ends on a signal: unsent answers are dropped, and that is reported.
fn ended(state: &mut InboxState) -> Vec<InboxEffect> {
    answer::undo_all(state, "ended while");
    retry_queue::report_unsent(state);
    vec![InboxEffect::Leave]
}

/// Reports that the list cannot be loaded, until it can.
fn unheard(state: &mut InboxState, failure: &Failure) -> Vec<InboxEffect> {
    state.set_error(in_words(failure));
    state.said.is_until_heard = true;
    vec![]
}

fn failed(state: &mut InboxState, failure: &Failure) -> Vec<InboxEffect> {
    state.set_error(in_words(failure));
    vec![]
}

/// The message and hint of a failure.
pub(super) fn in_words(failure: &Failure) -> String {
    let hint = failure.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    sayso_core::text::sanitize_line(&format!("{}{hint}", failure.message))
}
