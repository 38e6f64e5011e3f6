//! Building answers, and the undo window: an answer is held for some seconds before it is sent.

use super::drafts;
use super::input_line;
use super::keys::shown;
use super::retry_queue;
use super::state::{
    AnswerDraft, AnswerTarget, ExitMessage, HeldAnswer, InboxEffect, InboxRow, InboxState,
    OutgoingAnswer, ProofRequest, is_verdict,
};
use super::update::in_words as failure_in_words;
use super::view::places;
use crate::exit::Failure;
use sayso_core::gate::{Gate, GateEnding};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{
    Answer, AnswerContent, AnswerShape, Code, GateId, GateKind, Refusal, Timestamp, Verdict,
};
use sayso_engine::CardAnswer;
use sayso_server::keys::{DEAD_TIME, GRACE, KeyAction};
use sayso_server::text::{self, ending_in_words, still_needed};
use std::time::Duration;

/// An answer is sent this long before its card's deadline: a late answer does not count.
const ON_ITS_WAY: Duration = Duration::from_secs(2);

/// The length of the answer text shown while it is held.
const CONTENT_MAX: usize = 30;

/// The message after something was written that will be part of an answer.
pub(super) const WRITTEN: &str = "kept; a answers with it";

/// The message for a line or a text whose card has changed in the meantime.
pub(super) const CHANGED: &str = "the card has changed; look again; what you had typed is kept";

/// Returns the card under the cursor if it may be answered: it has been on the screen for a moment in its present
/// form, and waits for this person.
pub(super) fn answerable_row(state: &mut InboxState, at: Duration) -> Option<InboxRow> {
    if !is_card_visible(state, at) {
        return None;
    }
    let row = state.here()?.clone();
    let gate = row.gate();
    drafts::keep_stale_draft(state, gate);
    let handle = gate.handle().to_owned();
    if !gate.is_open() {
        state.set_message(format!("{handle}: {}", ending_in_words(gate)));
        return None;
    }
    if !state.is_mine(gate) {
        state.set_error("it is not yours to answer");
        return None;
    }
    if state.is_pending(row.id()) {
        return None;
    }
    Some(row)
}

/// True if the card under the cursor has been on the screen long enough. Keys pressed before that are dropped, and so
/// are keys right after a dropped one; only where no card is on the screen at all a message says how to get there.
fn is_card_visible(state: &mut InboxState, at: Duration) -> bool {
    let is_list_alone = places(state).is_some_and(|places| places.card.is_none());
    if is_list_alone && state.here().is_some() {
        state.set_message(format!("{} looks at the card first", shown(KeyAction::Open)));
    }
    if is_typing_on(state, at) {
        return false;
    }
    let is_so = state.here().is_some_and(|row| is_drawn(state, row, at));
    if !is_so {
        state.dropped_at = Some(at);
    }
    is_so
}

/// True if the whole request was on the screen for a moment. An early yes is refused with the way to read on, from
/// the first line that was passed over.
pub(super) fn is_question_read(state: &mut InboxState) -> bool {
    let clock = state.clock;
    let Some(drawn) = &mut state.drawn else { return true };
    drawn.note(clock);
    if drawn.unread == 0 {
        return true;
    }
    let (place, frame, key) = (drawn.place(), drawn.frame, shown(KeyAction::ReadOn));
    let below = frame.asked.saturating_sub(frame.end);
    if place < frame.first {
        state.scroll = place;
        state.set_error(format!("this was passed over: {key} reads on, and then you can answer"));
    } else if below > 0 {
        let lines = if below == 1 { "line is" } else { "lines are" };
        state.set_error(format!("{below} {lines} below: {key} reads on, and then you can answer"));
    } else {
        state.set_error("the end of it has only just come: read it, and then you can answer");
    }
    false
}

/// True if a card has been on the screen for a moment in its present form.
fn is_drawn(state: &InboxState, row: &InboxRow, at: Duration) -> bool {
    let gate = row.gate();
    state.drawn.as_ref().is_some_and(|drawn| {
        let is_it = (drawn.gate, &drawn.digest) == (row.id(), &gate.digest);
        is_it && drawn.is_open == gate.is_open() && at >= drawn.since + DEAD_TIME
    })
}

/// True if a key was dropped a moment ago. Then this one is dropped, too: it belongs to the same typed words.
pub(super) fn is_typing_on(state: &mut InboxState, at: Duration) -> bool {
    let is_so = state.dropped_at.is_some_and(|dropped| at < dropped + DEAD_TIME);
    if is_so {
        state.dropped_at = Some(at);
    }
    is_so
}

/// Returns the gate of a card if it is still open and has the same digest.
pub(super) fn unchanged_gate(state: &InboxState, target: &AnswerTarget) -> Option<Gate> {
    let gate = state.list.rows.get(state.list.place_of(target.gate)?)?.gate();
    (gate.is_open() && gate.digest == target.digest).then(|| gate.clone())
}

/// Approves the card under the cursor, or sends the answer that was drafted for it.
pub(super) fn approve(state: &mut InboxState, at: Duration) -> Vec<InboxEffect> {
    let Some(row) = answerable_row(state, at).filter(|_| is_question_read(state)) else {
        return vec![];
    };
    let gate = row.gate();
    if drafts::is_unfinished(state, row.id()) {
        state.set_error("what you wrote in the editor is not in the answer yet: e goes on with it");
        return vec![];
    }
    let answer = match build_answer(gate, &state.draft(gate)) {
        Ok(answer) => answer,
        Err(missing) => {
            state.set_error(missing);
            return vec![];
        }
    };
    if let Err(refusal) = answer.check(gate.opened.kind, &gate.card.shape) {
        // A line at the foot is too short for all mistakes, so the card lists them.
        state.draft_mut(gate).wrong = mistakes(&refusal);
        state.scroll = 0;
        state.set_error(failure_in_words(&refusal.into()));
        return vec![];
    }
    let word = match answer.verdict {
        Verdict::Rejected => "rejecting",
        Verdict::Answered => "answering",
        Verdict::Approved => "approving",
    };
    let words = format!("{word} {}", gate.handle());
    let content = match &answer.content {
        AnswerContent::None => String::new(),
        AnswerContent::Arguments(_) => "with the changed arguments".into(),
        AnswerContent::Text(_) | AnswerContent::Choice { .. } | AnswerContent::Form(_) => {
            format!("{:?}", shorten(&sanitize_line(&answer.as_text()), CONTENT_MAX))
        }
    };
    let says = vec![say(&row.target(), answer)];
    submit(state, OutgoingAnswer { says, words, content, marked: vec![] })
}

/// The mistakes in an answer, one per line.
fn mistakes(refusal: &Refusal) -> Vec<String> {
    if refusal.misfits.is_empty() {
        return vec![refusal.message.clone()];
    }
    let place = |at: &str| if at.is_empty() { "the form".to_owned() } else { at.to_owned() };
    let misfits = refusal.misfits.iter();
    misfits.map(|misfit| format!("{}: {}", place(&misfit.at), misfit.words)).collect()
}

/// Approves the marked cards.
pub(super) fn approve_marked(state: &mut InboxState, at: Duration) -> Vec<InboxEffect> {
    let Some(AnswerBatch { targets, left_out }) = batch(state, Verdict::Approved, at) else {
        return vec![];
    };
    let words = format!("approving {}", named(state, &targets));
    let says = targets.iter().map(|target| say(target, Answer::approved())).collect();
    let marked = unmark(state, &targets);
    submit(state, OutgoingAnswer { says, words, content: left_out, marked })
}

/// Rejects cards with the typed reason.
pub(super) fn reject(
    state: &mut InboxState,
    targets: &[AnswerTarget],
    reason: &str,
) -> Result<Vec<InboxEffect>, String> {
    let gates: Option<Vec<Gate>> =
        targets.iter().map(|target| unchanged_gate(state, target)).collect();
    let gates = gates.ok_or(CHANGED)?;
    let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    let answer = Answer::rejected(reason);
    for gate in &gates {
        let checked = answer.check(gate.opened.kind, &gate.card.shape);
        checked.map_err(|refusal| failure_in_words(&refusal.into()))?;
    }
    let words = format!("rejecting {}", named(state, targets));
    let says = targets.iter().map(|target| say(target, answer.clone())).collect();
    let marked = unmark(state, targets);
    let reason = answer.reason.as_deref().unwrap_or_default();
    let content = if reason.is_empty() {
        String::new()
    } else {
        format!("{:?}", shorten(&sanitize_line(reason), CONTENT_MAX))
    };
    Ok(submit(state, OutgoingAnswer { says, words, content, marked }))
}

/// One card by its ID, several by their number.
pub(super) fn named(state: &InboxState, targets: &[AnswerTarget]) -> String {
    match targets {
        [target] => state.name_of(target.gate),
        many => format!("{} cards", many.len()),
    }
}

/// Removes the marks of the cards that are answered now, and returns them.
fn unmark(state: &mut InboxState, targets: &[AnswerTarget]) -> Vec<AnswerTarget> {
    let marks = &mut state.marks;
    targets.iter().filter_map(|target| marks.remove(&target.gate)).collect()
}

/// The marked cards that are answered together, and a message about those left out.
pub(super) struct AnswerBatch {
    pub(super) targets: Vec<AnswerTarget>,
    pub(super) left_out: String,
}

impl AnswerBatch {
    pub(super) fn of(target: AnswerTarget) -> Self {
        Self { targets: vec![target], left_out: String::new() }
    }
}

/// The marked cards, if they can be answered together. Not together: a risky card among harmless ones, a card hidden
/// by the filter, and a card with a draft that this answer would not contain.
pub(super) fn batch(state: &mut InboxState, verdict: Verdict, at: Duration) -> Option<AnswerBatch> {
    if !is_card_visible(state, at) {
        return None;
    }
    let marked: Vec<_> = state.marks.values().cloned().collect();
    let (mut gates, mut targets, mut left_out) = (vec![], vec![], vec![]);
    for target in marked {
        match fit_for_batch(state, &target) {
            Ok(gate) => {
                gates.push(gate);
                targets.push(target);
            }
            Err(why) => left_out.push(format!("{} {why}", state.name_of(target.gate))),
        }
    }
    let left_out = if left_out.is_empty() {
        String::new()
    } else {
        format!("left out: {}", left_out.join(", "))
    };
    let wrong = if gates.is_empty() {
        Some(left_out.clone())
    } else {
        why_not(state, &gates, verdict).map(str::to_owned)
    };
    if let Some(wrong) = wrong {
        state.set_error(wrong);
        return None;
    }
    Some(AnswerBatch { targets, left_out })
}

fn fit_for_batch(state: &InboxState, target: &AnswerTarget) -> Result<Gate, &'static str> {
    let gate = unchanged_gate(state, target).ok_or("has changed; mark it again")?;
    if !state.is_in_sight(target.gate) {
        return Err("is hidden by what you look for");
    }
    if drafts::is_written_for(state, &gate) { Err(drafts::BY_ITSELF) } else { Ok(gate) }
}

fn why_not(state: &InboxState, gates: &[Gate], verdict: Verdict) -> Option<&'static str> {
    let first = gates.first()?;
    let is_alike = |gate: &&Gate| {
        gate.opened.risk == first.opened.risk && is_verdict(gate) == is_verdict(first)
    };
    if !gates.iter().all(|gate| is_alike(&gate)) {
        return Some("these differ in risk or in what is asked; answer them one by one");
    }
    if !is_verdict(first) && !verdict.is_no() {
        return Some("each of these wants an answer of its own");
    }
    let is_yours = gates.iter().all(|gate| state.is_mine(gate));
    (!is_yours).then_some("some of these are not yours to answer")
}

fn say(target: &AnswerTarget, answer: Answer) -> CardAnswer {
    let AnswerTarget { gate, digest, same } = target.clone();
    CardAnswer { gate, answer, digest: digest.to_string(), same }
}

/// Builds the answer from the draft of a card.
fn build_answer(gate: &Gate, draft: &AnswerDraft) -> Result<Answer, String> {
    let is_direction = gate.opened.kind == GateKind::Escalation && !draft.text.is_empty();
    let answer = match &gate.card.shape {
        AnswerShape::Verdict if is_direction => Answer::text(&draft.text),
        AnswerShape::Verdict => {
            let content =
                draft.arguments.clone().map_or(AnswerContent::None, AnswerContent::Arguments);
            Answer { content, ..Answer::approved() }
        }
        AnswerShape::Text if draft.text.trim().is_empty() => {
            return Err("write an answer first: e".into());
        }
        AnswerShape::Text => Answer::text(&draft.text),
        AnswerShape::Choice { options, .. } => {
            let other = Some(draft.other.clone()).filter(|other| !other.is_empty());
            let picked = draft.picked.iter().filter_map(|at| options.get(*at));
            let picked: Vec<_> = picked.map(|option| option.name.clone()).collect();
            if picked.is_empty() && other.is_none() {
                return Err(format!("pick an option first: 1 to {}", options.len().min(9)));
            }
            Answer::choice(picked, other)
        }
        AnswerShape::Form { .. } => {
            let form = draft.form.clone().ok_or("fill in the form first: e")?;
            Answer::form(form)
        }
    };
    let reason = Some(draft.reason.clone()).filter(|reason| !reason.is_empty());
    Ok(Answer { reason, ..answer }.with_verdict_for(&gate.card.shape))
}

/// Parses a filled form, or edited arguments, without comments.
pub(super) fn filled_in(gate: &Gate, text: &str) -> serde_json::Result<serde_json::Value> {
    match &gate.card.shape {
        AnswerShape::Form { schema } => text::filled_in(&text::fields(schema), text),
        AnswerShape::Verdict | AnswerShape::Text | AnswerShape::Choice { .. } => {
            text::filled_in(&[], text)
        }
    }
}

/// Sends an answer: the person is verified first, then the answer is held for a moment. An answer held before keeps
/// its own time.
pub(super) fn submit(state: &mut InboxState, spoken: OutgoingAnswer) -> Vec<InboxEffect> {
    state.set_message(format!("{} …", spoken.words));
    state.proving.push_back(ProofRequest::Answer(spoken));
    vec![InboxEffect::Prove]
}

/// Requests another effect that only a person may cause; the person is verified first.
pub(super) fn request_effect(
    state: &mut InboxState,
    gate: GateId,
    effect: InboxEffect,
) -> Vec<InboxEffect> {
    state.proving.push_back(ProofRequest::Deed(gate, effect));
    vec![InboxEffect::Prove]
}

/// Continues after the identity check. A locked terminal is unlocked first, outside of the screen.
pub(super) fn on_proved(
    state: &mut InboxState,
    outcome: Result<bool, Failure>,
    at: Duration,
) -> Vec<InboxEffect> {
    let Some(wish) = state.proving.pop_front() else { return vec![] };
    match (outcome, wish) {
        (Ok(true), wish) if !state.is_leaving => {
            state.proving.push_front(wish);
            // Held answers are sent first: while a person types a passphrase they cannot undo them.
            let mut effects = send_held(state);
            effects.push(InboxEffect::Unlock);
            return effects;
        }
        (Ok(true), _) => {
            let failure =
                Failure::new(Code::ProofTooLow, "this terminal is locked; nothing was sent");
            state.farewell.push(ExitMessage::Bad(failure));
        }
        (Ok(false), ProofRequest::Answer(spoken)) => {
            let grace = grace(state, &spoken);
            state.held.push(HeldAnswer { spoken, until: at + grace });
            if state.is_leaving {
                return send_held(state);
            }
            return send_due(state, at);
        }
        (Ok(false), ProofRequest::Deed(_, effect)) => return vec![effect],
        (Err(failure), ProofRequest::Answer(spoken)) if retry_queue::is_away(failure.code) => {
            retry_queue::enqueue(state, spoken);
        }
        (Err(failure), _) if state.is_leaving => state.farewell.push(ExitMessage::Bad(failure)),
        (Err(failure), ProofRequest::Answer(_)) => state.set_error(failure_in_words(&failure)),
        (Err(failure), ProofRequest::Deed(gate, _)) => {
            input_line::on_reply(state, gate, false);
            state.set_error(failure_in_words(&failure));
        }
    }
    super::key_handler::quit_if_done(state)
}

/// The time for which an answer is held: at most until its card's deadline, less the time to send it.
fn grace(state: &InboxState, spoken: &OutgoingAnswer) -> Duration {
    let places = spoken.says.iter().filter_map(|say| state.list.place_of(say.gate));
    let gates = places.filter_map(|place| state.list.rows.get(place)).map(InboxRow::gate);
    let ends = gates.filter_map(Gate::ends_at);
    let left = |end: Timestamp| {
        let micros = end.as_micros().saturating_sub(state.now.as_micros());
        Duration::from_micros(u64::try_from(micros).unwrap_or(0)).saturating_sub(ON_ITS_WAY)
    };
    ends.map(left).chain([GRACE]).min().unwrap_or(GRACE)
}

/// Sends all held answers now.
pub(super) fn send_held(state: &mut InboxState) -> Vec<InboxEffect> {
    std::mem::take(&mut state.held).into_iter().map(|held| send(state, held)).collect()
}

/// Sends the answers whose undo window is over.
pub(super) fn send_due(state: &mut InboxState, at: Duration) -> Vec<InboxEffect> {
    let is_due = |held: &HeldAnswer| at >= held.until;
    let (due, held) = std::mem::take(&mut state.held).into_iter().partition(is_due);
    state.held = held;
    let due: Vec<_> = due;
    due.into_iter().map(|held| send(state, held)).collect()
}

fn send(state: &mut InboxState, held: HeldAnswer) -> InboxEffect {
    let HeldAnswer { spoken, .. } = held;
    state.set_message(format!("{} …", spoken.words));
    let says = spoken.says.clone();
    state.sending.push(spoken);
    InboxEffect::Send(says)
}

/// Undoes the latest answer that is not sent yet; the next call undoes the one before.
pub(super) fn undo(state: &mut InboxState) {
    let last = match state.proving.pop_back() {
        Some(ProofRequest::Answer(spoken)) => Some(spoken),
        Some(ProofRequest::Deed(gate, _)) => {
            input_line::on_reply(state, gate, false);
            None
        }
        None => match state.held.pop() {
            Some(held) => Some(held.spoken),
            None if !state.unsent.is_empty() => return undo_unsent(state),
            None if !state.sending.is_empty() => {
                return state.set_message("it is sent; what was sent stays said");
            }
            None => return state.set_message("there is nothing to take back"),
        },
    };
    match last {
        Some(OutgoingAnswer { words, marked, .. }) => {
            state.marks.extend(marked.into_iter().map(|target| (target.gate, target)));
            state.set_message(format!("taken back: {words}; nothing was sent"));
        }
        None => state.set_message("taken back; nothing was done"),
    }
}

/// Undoes every answer that is not sent yet, and reports them on exit.
pub(super) fn undo_all(state: &mut InboxState, how: &str) {
    let proving = std::mem::take(&mut state.proving).into_iter().filter_map(|wish| match wish {
        ProofRequest::Answer(spoken) => Some(spoken),
        ProofRequest::Deed(..) => None,
    });
    let held = std::mem::take(&mut state.held).into_iter().map(|held| held.spoken);
    for spoken in held.chain(proving) {
        let message = format!("{how} {}; nothing was sent", spoken.words);
        state.farewell.push(ExitMessage::Bad(Failure::new(Code::Failure, message)));
    }
}

fn undo_unsent(state: &mut InboxState) {
    let Some(OutgoingAnswer { words, marked, .. }) = state.unsent.pop() else { return };
    state.marks.extend(marked.into_iter().map(|target| (target.gate, target)));
    state.set_message(format!("taken back: {words}; if it had arrived, the card will say so"));
}

/// Drops the held answers to a gate that has changed, and returns the answer, if there was one.
pub(super) fn forget(state: &mut InboxState, gate: GateId) -> Option<OutgoingAnswer> {
    let held = state.held.extract_if(.., |held| held.spoken.names(gate)).map(|held| held.spoken);
    let mut gone: Vec<OutgoingAnswer> = held.collect();
    gone.extend(state.unsent.extract_if(.., |spoken| spoken.names(gate)));
    for wish in std::mem::take(&mut state.proving) {
        match wish {
            ProofRequest::Answer(spoken) if spoken.names(gate) => gone.push(spoken),
            ProofRequest::Deed(of, _) if of == gate => {}
            wish => state.proving.push_back(wish),
        }
    }
    gone.pop()
}

/// A message that an answer came too late for its gate; none if the answer is this person's own.
pub(super) fn too_late_message(
    state: &InboxState,
    spoken: &OutgoingAnswer,
    gate: &Gate,
) -> Option<String> {
    let handle = gate.handle();
    let what = match spoken.says.as_slice() {
        [say] if say.answer.verdict.is_no() => format!("your no to {handle}"),
        [say] if say.answer.content == AnswerContent::None => format!("your yes to {handle}"),
        [_] => format!("your answer to {handle}"),
        _ => spoken.words.clone(),
    };
    let why = match &gate.ending {
        None => format!("{handle} has changed; look again"),
        // Our own answer had arrived.
        Some(GateEnding::Answered { by, .. }) if by.name == state.me.name => return None,
        Some(GateEnding::Answered { answer, by }) => {
            format!("{} {} {handle} first", text::signed(by), answer.verdict)
        }
        Some(_) => format!("{handle}: {}", ending_in_words(gate)),
    };
    Some(format!("{what} was NOT sent: {why}"))
}

/// The outcome of an answer, as a message.
pub(super) fn in_words(gate: &Gate) -> String {
    let handle = gate.handle();
    if gate.is_open() {
        format!("{handle}: your say is recorded; it still needs {}", still_needed(gate))
    } else {
        format!("{handle}: {}", ending_in_words(gate))
    }
}
