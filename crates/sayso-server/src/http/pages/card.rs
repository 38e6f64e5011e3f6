//! The view of a gate on pages: a row of a list, and the card itself. Facts come first, the agent's text in a frame
//! of its own.

use super::super::auth::RequestContext;
use super::super::time::rfc3339;
use super::fields;
use super::markdown::{self, RenderedText};
use super::people;
use crate::text::{self, CallDiff, DiffLine};
use sayso_core::gate::{CardFact, Gate, GateAudience, Receipt, ReceiptStep};
use sayso_core::text::{sanitize, sanitize_line, shorten};
use sayso_core::{AnswerShape, GateKind, Timestamp, Verdict};
use sayso_engine::{CardView, Result};
use serde_json::Value;
use std::collections::HashMap;

/// A moment: in words, and as a time from which a browser can count on.
pub(super) struct MomentView {
    pub(super) at: String,
    pub(super) words: String,
}

impl MomentView {
    pub(super) fn of(at: Timestamp, now: Timestamp) -> Self {
        Self { at: rfc3339(at), words: text::relative(at, now) }
    }
}

/// The most of a question that a row shows.
const QUESTION_CHARS_MAX: usize = 300;

/// A gate in a list.
pub(super) struct CardRow {
    pub(super) id: String,
    pub(super) handle: String,
    pub(super) kind: &'static str,
    pub(super) question: String,
    pub(super) asker: String,
    pub(super) askers: usize,
    pub(super) task: Option<String>,
    /// The flow that asks, by its id.
    pub(super) flow: Option<String>,
    pub(super) asked: MomentView,
    pub(super) age: &'static str,
    pub(super) risk: &'static str,
    pub(super) hurry: Vec<String>,
    pub(super) unblocks: Option<String>,
    pub(super) digest: String,
    /// True if an answer needs a passkey.
    pub(super) needs_presence: bool,
    /// True if a row shows less than the whole request.
    pub(super) is_cut: bool,
    pub(super) same: String,
    /// verdict, text, choice or form.
    pub(super) shape: &'static str,
    pub(super) is_open: bool,
    pub(super) is_seen: bool,
    pub(super) is_for_you: bool,
    pub(super) is_put_off: bool,
    pub(super) ending: String,
    /// yes, no, or unsaid where there was neither.
    pub(super) ending_class: &'static str,
    pub(super) ended: Option<MomentView>,
}

impl CardRow {
    fn of(at: &RequestContext, asked: &CardView, task: Option<String>) -> Self {
        let (gate, now) = (&asked.gate, at.desk.now());
        let (opened, is_open) = (&gate.opened, gate.is_open());
        let question = sanitize_line(&gate.card.question);
        Self {
            id: opened.id.to_string(),
            handle: opened.handle.clone(),
            kind: opened.kind.as_str(),
            needs_presence: opened.least_proof == sayso_core::IdentityProof::Presence,
            is_cut: is_cut(&gate.card, &question),
            question: shorten(&question, QUESTION_CHARS_MAX),
            asker: sanitize_line(&opened.lineage.asker),
            askers: asked.askers.len(),
            task,
            flow: opened.flow.map(|flow| flow.to_string()),
            asked: MomentView::of(gate.opened_at, now),
            age: text::age(gate.opened_at, now).as_str(),
            risk: opened.risk.as_str(),
            hurry: if is_open { text::list_notes(gate, now) } else { vec![] },
            unblocks: text::unblocks(asked),
            digest: gate.digest.to_string(),
            same: asked.same.as_ref().map(ToString::to_string).unwrap_or_default(),
            shape: shape(&gate.card.shape),
            is_open,
            is_seen: asked.askers.iter().all(|asker| asker.is_seen),
            is_for_you: gate.audience_for(&at.actor) != GateAudience::Others,
            ending: text::ending_in_words(gate),
            ending_class: ending_class(gate),
            ended: gate.ended_at().map(|at| MomentView::of(at, now)),
            is_put_off: text::snooze_text(gate, now).is_some(),
        }
    }

    /// Returns the rows of these cards, with the handles of the tasks that wait for them.
    pub(super) fn all(at: &RequestContext, cards: &[CardView]) -> Result<Vec<Self>> {
        let tasks: Vec<_> = cards.iter().filter_map(|card| card.gate.opened.task).collect();
        let names = at.desk.task_names(&tasks)?;
        let names: HashMap<_, _> = names.into_iter().map(|(id, handle, _)| (id, handle)).collect();
        let name = |card: &CardView| names.get(&card.gate.opened.task?).cloned();
        Ok(cards.iter().map(|card| Self::of(at, card, name(card))).collect())
    }
}

/// True if a card holds more than the part of its question that fits in a row.
fn is_cut(card: &sayso_core::gate::Card, question: &str) -> bool {
    let has_more = !card.facts.is_empty() || !card.narrative.trim().is_empty();
    has_more || question.chars().count() > QUESTION_CHARS_MAX
}

/// Returns the CSS class of an ending. An ending without a yes or a no has no colour.
fn ending_class(gate: &Gate) -> &'static str {
    match gate.answer().map(|(answer, _)| answer.verdict) {
        Some(Verdict::Approved | Verdict::Answered) => "yes",
        Some(Verdict::Rejected) => "no",
        None => "unsaid",
    }
}

fn shape(shape: &AnswerShape) -> &'static str {
    match shape {
        AnswerShape::Verdict => "verdict",
        AnswerShape::Text => "text",
        AnswerShape::Choice { .. } => "choice",
        AnswerShape::Form { .. } => "form",
    }
}

/// A gate in full.
pub(super) struct FullCardView {
    pub(super) row: CardRow,
    /// The question in full length.
    pub(super) question: String,
    /// The change a call would make in files.
    pub(super) change: Option<CallDiff>,
    /// The change that the answer made in the arguments of a call.
    pub(super) changed: Option<CallDiff>,
    pub(super) known: Vec<FactGroup>,
    pub(super) says: Option<AskerText>,
    pub(super) options: Vec<OptionView>,
    pub(super) multi: bool,
    pub(super) other: bool,
    /// The fields of a form, as HTML.
    pub(super) fields: String,
    /// The arguments of a tool call, for editing.
    pub(super) arguments: Option<String>,
    pub(super) conditions: Vec<String>,
    pub(super) approve: &'static str,
    pub(super) is_yes_no: bool,
    pub(super) askers: Vec<String>,
    pub(super) commands: Vec<String>,
    pub(super) way: Vec<StepView>,
    pub(super) onward: Vec<String>,
    pub(super) alerts: Vec<String>,
    pub(super) revision: u32,
    pub(super) short_digest: String,
    pub(super) spelt_out: usize,
    pub(super) is_claimed_by_you: bool,
    /// The people it can be delegated to.
    pub(super) people: Vec<String>,
}

/// Facts from one source. A claim that only the asker vouches for never stands among what sayso captured itself.
pub(super) struct FactGroup {
    pub(super) title: &'static str,
    pub(super) source: &'static str,
    pub(super) class: &'static str,
    pub(super) facts: Vec<FactView>,
}

/// A fact, as the page shows it.
pub(super) struct FactView {
    pub(super) name: String,
    pub(super) diff: Option<Vec<DiffLine>>,
    pub(super) text: String,
    pub(super) is_short: bool,
    /// True if the same is shown better above.
    pub(super) is_folded: bool,
}

/// The text of the asker.
pub(super) struct AskerText {
    pub(super) who: &'static str,
    pub(super) html: String,
}

pub(super) struct OptionView {
    pub(super) number: usize,
    pub(super) name: String,
    /// The name as it was written, to be sent back.
    pub(super) value: String,
    pub(super) consequence: String,
    pub(super) declines: bool,
}

pub(super) struct StepView {
    pub(super) words: String,
    pub(super) door: String,
    pub(super) when: MomentView,
}

impl FullCardView {
    pub(super) fn of(at: &RequestContext, asked: &CardView, receipt: &Receipt) -> Result<Self> {
        let (gate, now) = (&asked.gate, at.desk.now());
        let task = match gate.opened.task {
            Some(task) => at.desk.task_names(&[task])?.pop().map(|(_, handle, _)| handle),
            None => None,
        };
        let RenderedText { html, spelt_out } = markdown::render(&gate.card.narrative);
        let question = sanitize(&gate.card.question);
        let (options, multi, other) = options(&gate.card.shape);
        let change = text::change(gate);
        Ok(Self {
            row: CardRow::of(at, asked, task),
            known: known(&gate.card.facts, change.is_some()),
            change,
            changed: text::changed(gate),
            says: (!html.is_empty()).then(|| AskerText { who: text::who_says(gate), html }),
            options,
            multi,
            other,
            fields: fields::html(&gate.card.shape),
            arguments: text::arguments(gate),
            conditions: text::conditions(gate, now),
            approve: approve_word(gate),
            is_yes_no: gate.card.shape == AnswerShape::Verdict,
            askers: text::askers(asked).into_iter().chain(text::unblocked(asked)).collect(),
            commands: if gate.is_open() { text::how_to_answer(gate) } else { vec![] },
            way: receipt.steps.iter().map(|one| step(one, now)).collect(),
            onward: text::follow_up_lines(receipt),
            alerts: alerts(asked, receipt),
            revision: gate.revision,
            short_digest: gate.digest.short().to_string(),
            spelt_out: spelt_out + question.spelt_out,
            question: question.text,
            people: if gate.is_open() { people::others(at)? } else { vec![] },
            is_claimed_by_you: gate.claim.as_ref().is_some_and(|it| it.by == at.actor.name),
        })
    }
}

fn approve_word(gate: &Gate) -> &'static str {
    match gate.opened.kind {
        GateKind::Work => "Done",
        _ => "Approve",
    }
}

/// Returns the warnings that a reader should see first: that it was asked before, that it was answered unread, that a
/// step is stalled.
fn alerts(asked: &CardView, receipt: &Receipt) -> Vec<String> {
    let hang = receipt.alerts.iter().map(|a| format!("{}. {}", a.what, a.hint));
    text::rejections_warning(asked)
        .into_iter()
        .chain(text::hasty_warning(&asked.gate))
        .chain(hang)
        .collect()
}

fn known(facts: &[CardFact], has_change: bool) -> Vec<FactGroup> {
    let view = |it: &CardFact| {
        let is_folded = has_change && it.verified && text::is_of_the_call(it);
        FactView { is_folded, ..fact(it) }
    };
    let of = |verified: bool| facts.iter().filter(|it| it.verified == verified).map(view).collect();
    let captured = FactGroup {
        title: "Facts",
        source: "sayso saw this itself",
        class: "captured",
        facts: of(true),
    };
    let claimed = FactGroup {
        title: "Claims",
        source: "only the asker says so; nobody has checked it",
        class: "claimed",
        facts: of(false),
    };
    [captured, claimed].into_iter().filter(|known| !known.facts.is_empty()).collect()
}

fn fact(fact: &CardFact) -> FactView {
    let raw = match &fact.value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let text = sanitize(&raw).text;
    let diff = text::diff(&text);
    FactView {
        name: sanitize_line(&fact.name),
        is_short: !text.contains('\n') && text.chars().count() <= 80,
        diff,
        text,
        is_folded: false,
    }
}

fn options(shape: &AnswerShape) -> (Vec<OptionView>, bool, bool) {
    let AnswerShape::Choice { options, multi, other } = shape else {
        return (vec![], false, false);
    };
    let view = |(at, option): (usize, &sayso_core::ChoiceOption)| OptionView {
        number: at + 1,
        name: sanitize_line(&option.name),
        value: option.name.clone(),
        consequence: sanitize_line(&option.consequence),
        declines: shape.declines(&option.name),
    };
    (options.iter().enumerate().map(view).collect(), *multi, *other)
}

fn step(step: &ReceiptStep, now: Timestamp) -> StepView {
    let door = step.door.map(|door| crate::wire::serde_name(&door)).unwrap_or_default();
    StepView { words: text::step(step), door, when: MomentView::of(step.at, now) }
}
