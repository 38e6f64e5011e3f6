//! Answers: what one is made of, and the moment in which it can be taken back.

use super::state::{Draft, Effect, Farewell, Held, Row, Spoken, State, Target, Wish, is_verdict};
use super::update::in_words as failure_in_words;
use crate::exit::Failure;
use sayso_core::gate::Gate;
use sayso_core::{Answer, Code, Content, GateId, Kind, Shape, Verdict};
use sayso_engine::Say;
use sayso_server::keys::{DEAD_TIME, GRACE};
use sayso_server::prose::{ending_in_words, still_needed};
use std::time::Duration;

/// What is said when something was written that an answer will have.
pub(super) const WRITTEN: &str = "kept; a answers with it";

/// The card under the cursor, if it may be spoken to: it was on the screen for a moment, as it is, and
/// waits for this person.
pub(super) fn ready(state: &mut State, at: Duration) -> Option<Row> {
    let row = state.here()?.clone();
    let gate = row.gate();
    let drawn = state.drawn.as_ref()?;
    let is_it = (drawn.gate, &drawn.digest) == (row.id(), &gate.digest);
    // What was typed for something else is dropped without a word.
    if !is_it || drawn.is_open != gate.is_open() || at < drawn.since + DEAD_TIME {
        return None;
    }
    let handle = gate.handle().to_owned();
    if !gate.is_open() {
        state.say(format!("{handle}: {}", ending_in_words(gate)));
        return None;
    }
    if !state.is_mine(gate) {
        state.complain("it is not yours to answer");
        return None;
    }
    if state.is_going(row.id()) {
        return None;
    }
    Some(row)
}

/// The gate of a card, if it is still the one that was seen.
pub(super) fn still(state: &State, target: &Target) -> Option<Gate> {
    let gate = state.list.rows.get(state.list.place_of(target.gate)?)?.gate();
    (gate.is_open() && gate.digest == target.digest).then(|| gate.clone())
}

/// Says yes to the card under the cursor, or sends the answer that was written for it.
pub(super) fn approve(state: &mut State, at: Duration) -> Vec<Effect> {
    let Some(row) = ready(state, at) else { return vec![] };
    let gate = row.gate();
    let answer = match made_of(gate, &state.draft(gate)) {
        Ok(answer) => answer,
        Err(missing) => {
            state.complain(missing);
            return vec![];
        }
    };
    if let Err(refusal) = answer.check(gate.opened.kind, &gate.card.shape) {
        state.complain(failure_in_words(&refusal.into()));
        return vec![];
    }
    let word = if is_verdict(gate) { "approving" } else { "answering" };
    let words = format!("{word} {}", gate.handle());
    speak(state, Spoken { says: vec![say(&row.target(), answer)], words, marked: vec![] })
}

/// Says yes to everything that is marked.
pub(super) fn approve_marked(state: &mut State) -> Vec<Effect> {
    let Some(targets) = alike(state, Verdict::Approved) else { return vec![] };
    let words = format!("approving {} cards", targets.len());
    let says = targets.iter().map(|target| say(target, Answer::approved())).collect();
    let marked = unmark(state);
    speak(state, Spoken { says, words, marked })
}

/// Says no, with the reason that was typed.
pub(super) fn reject(state: &mut State, targets: &[Target], reason: &str) -> Vec<Effect> {
    let gates: Option<Vec<Gate>> = targets.iter().map(|target| still(state, target)).collect();
    let Some(gates) = gates else {
        state.complain("the card has changed; look again");
        return vec![];
    };
    let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    let answer = Answer::rejected(reason);
    for gate in &gates {
        if let Err(refusal) = answer.check(gate.opened.kind, &gate.card.shape) {
            state.complain(failure_in_words(&refusal.into()));
            return vec![];
        }
    }
    let words = match gates.as_slice() {
        [gate] => format!("rejecting {}", gate.handle()),
        many => format!("rejecting {} cards", many.len()),
    };
    let says = targets.iter().map(|target| say(target, answer.clone())).collect();
    let marked = unmark(state);
    speak(state, Spoken { says, words, marked })
}

/// What was marked, which is not any more.
fn unmark(state: &mut State) -> Vec<Target> {
    std::mem::take(&mut state.marks).into_values().collect()
}

/// What is marked, if it can be answered at once: nobody says yes to a risky one among harmless ones.
pub(super) fn alike(state: &mut State, verdict: Verdict) -> Option<Vec<Target>> {
    let targets: Vec<_> = state.marks.values().cloned().collect();
    let gates: Option<Vec<_>> = targets.iter().map(|target| still(state, target)).collect();
    let wrong = match gates.as_deref() {
        None => Some("some of these have changed; mark them again"),
        Some(gates) => why_not(state, gates, verdict),
    };
    if let Some(wrong) = wrong {
        state.complain(wrong);
        return None;
    }
    Some(targets)
}

fn why_not(state: &State, gates: &[Gate], verdict: Verdict) -> Option<&'static str> {
    let first = gates.first()?;
    let is_alike = |gate: &&Gate| {
        gate.opened.risk == first.opened.risk && is_verdict(gate) == is_verdict(first)
    };
    if !gates.iter().all(|gate| is_alike(&gate)) {
        return Some("these differ in risk or in what is asked; answer them one by one");
    }
    if !is_verdict(first) && verdict == Verdict::Approved {
        return Some("each of these wants an answer of its own");
    }
    let is_yours = gates.iter().all(|gate| state.is_mine(gate));
    (!is_yours).then_some("some of these are not yours to answer")
}

fn say(target: &Target, answer: Answer) -> Say {
    let Target { gate, digest, same } = target.clone();
    Say { gate, answer, digest: digest.to_string(), same }
}

/// What was written for a card, as an answer to it.
fn made_of(gate: &Gate, draft: &Draft) -> Result<Answer, String> {
    let is_direction = gate.opened.kind == Kind::Escalation && !draft.text.is_empty();
    let answer = match &gate.card.shape {
        Shape::Verdict if is_direction => Answer::text(&draft.text),
        Shape::Verdict => {
            let content = draft.arguments.clone().map_or(Content::None, Content::Arguments);
            Answer { content, ..Answer::approved() }
        }
        Shape::Text if draft.text.trim().is_empty() => {
            return Err("write an answer first: e".into());
        }
        Shape::Text => Answer::text(&draft.text),
        Shape::Choice { options, .. } => {
            let other = Some(draft.other.clone()).filter(|other| !other.is_empty());
            let picked = draft.picked.iter().filter_map(|at| options.get(*at));
            let picked: Vec<_> = picked.map(|option| option.name.clone()).collect();
            if picked.is_empty() && other.is_none() {
                return Err(format!("pick an option first: 1 to {}", options.len().min(9)));
            }
            Answer::choice(picked, other)
        }
        Shape::Form { .. } => {
            let form = draft.form.clone().ok_or("fill in the form first: e")?;
            Answer { content: Content::Form(form), ..Answer::approved() }
        }
    };
    let reason = Some(draft.reason.clone()).filter(|reason| !reason.is_empty());
    Ok(Answer { reason, ..answer })
}

/// Says something: first it is looked at who says it, then it is held for a moment. What was held before
/// keeps its own time.
fn speak(state: &mut State, spoken: Spoken) -> Vec<Effect> {
    state.say(format!("{} …", spoken.words));
    state.proving.push_back(Wish::Answer(spoken));
    vec![Effect::Prove]
}

/// Has something else done that only a person does.
pub(super) fn wish(state: &mut State, gate: GateId, effect: Effect) -> Vec<Effect> {
    state.proving.push_back(Wish::Deed(gate, effect));
    vec![Effect::Prove]
}

/// Who says it is known. A terminal that is locked is unlocked first, outside of the screen.
pub(super) fn proved(
    state: &mut State,
    outcome: Result<bool, Failure>,
    at: Duration,
) -> Vec<Effect> {
    let Some(wish) = state.proving.pop_front() else { return vec![] };
    match (outcome, wish) {
        (Ok(true), wish) if !state.is_leaving => {
            state.proving.push_front(wish);
            // Nobody can take anything back while they type their passphrase.
            let mut effects = send_held(state);
            effects.push(Effect::Unlock);
            return effects;
        }
        (Ok(true), _) => {
            let failure =
                Failure::new(Code::ProofTooLow, "this terminal is locked; nothing was sent");
            state.farewell.push(Farewell::Bad(failure));
        }
        (Ok(false), Wish::Answer(spoken)) => {
            state.held.push(Held { spoken, until: at + GRACE });
            if state.is_leaving {
                return send_held(state);
            }
        }
        (Ok(false), Wish::Deed(_, effect)) => return vec![effect],
        (Err(failure), _) if state.is_leaving => state.farewell.push(Farewell::Bad(failure)),
        (Err(failure), _) => state.complain(failure_in_words(&failure)),
    }
    super::press::leave_if_done(state)
}

/// Sends all that is held, now.
pub(super) fn send_held(state: &mut State) -> Vec<Effect> {
    std::mem::take(&mut state.held).into_iter().map(|held| send(state, held)).collect()
}

/// Sends what was held for as long as it could be taken back.
pub(super) fn send_due(state: &mut State, at: Duration) -> Vec<Effect> {
    let is_due = |held: &Held| at >= held.until;
    let (due, held) = std::mem::take(&mut state.held).into_iter().partition(is_due);
    state.held = held;
    let due: Vec<_> = due;
    due.into_iter().map(|held| send(state, held)).collect()
}

fn send(state: &mut State, held: Held) -> Effect {
    let Held { spoken, .. } = held;
    state.sending.extend(spoken.says.iter().map(|say| say.gate));
    state.say(format!("{} …", spoken.words));
    Effect::Send(spoken.says)
}

/// Takes back what was said last and is not sent yet; the next time, what was said before that.
pub(super) fn take_back(state: &mut State) {
    let last = match state.proving.pop_back() {
        Some(Wish::Answer(spoken)) => Some(spoken),
        Some(Wish::Deed(..)) => None,
        None => match state.held.pop() {
            Some(held) => Some(held.spoken),
            None if !state.sending.is_empty() => {
                return state.say("it is sent; what was sent stays said");
            }
            None => return state.say("there is nothing to take back"),
        },
    };
    match last {
        Some(Spoken { words, marked, .. }) => {
            state.marks.extend(marked.into_iter().map(|target| (target.gate, target)));
            state.say(format!("taken back: {words}; nothing was sent"));
        }
        None => state.say("taken back; nothing was done"),
    }
}

/// Takes back what is held for a gate that is no longer what it was. Whether anything was.
pub(super) fn forget(state: &mut State, gate: GateId) -> bool {
    let before = state.held.len() + state.proving.len();
    state.held.retain(|held| !held.spoken.names(gate));
    state.proving.retain(|wish| !wish.names(gate));
    state.held.len() + state.proving.len() < before
}

/// What came of an answer.
pub(super) fn in_words(gate: &Gate) -> String {
    let handle = gate.handle();
    match gate.is_open() {
        true => format!("{handle}: your say is recorded; it still needs {}", still_needed(gate)),
        false => format!("{handle}: {}", ending_in_words(gate)),
    }
}
