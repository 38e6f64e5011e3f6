//! HTTP API for gates: asking, reading, waiting, answering, and the delivery of the answer.

use super::health::blocking;
use super::paging::{limit, page};
use super::parking::Woken;
use super::passkeys::{self, Touched};
use super::problem::Failed;
use super::route::{Asked, Nothing, Table, Verb};
use super::visitor::{Knock, Visitor};
use super::when::{self, rfc3339};
use super::{visit, words};
use crate::wire::{self, Short};
use sayso_core::gate::{Card, Fact, Gate};
use sayso_core::text::{harmless_line, shorten};
use sayso_core::{
    Actor, Answer, Approvers, AtEnd, Choice, Code, Content, GateId, Kind, Refusal, Shape, Timestamp,
};
use sayso_engine::{Ask, Demands, Desk, GateFilter, InboxFilter, Result, Say, SayOutcome};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The longest time a request is held (long polling).
const HOLD_MAX: Duration = Duration::from_secs(60);

/// The most answers in one request.
const ANSWERS_MAX: usize = 100;

/// The most names in a list of a request.
const LIST_MAX: usize = 100;

/// The largest quorum a question may need.
const QUORUM_MAX: usize = 100;

/// The most alerts that come with an inbox.
const ALERTS_MAX: usize = 20;

pub(super) fn operations(table: Table) -> Table {
    table
        .add(Verb::Get, "/inbox", INBOX, inbox)
        .add(Verb::Get, "/gates", LIST, list)
        .quick(Verb::Create, "/gates", OPEN, open)
        .add(Verb::Post, "/gates/answers", ANSWER_ALL, answer_all)
        .held(Verb::Get, "/gates/{gate}", SHOW, show)
        .add(Verb::Get, "/gates/{gate}/card", CARD, card)
        .add(Verb::Post, "/gates/{gate}/seen", SEEN, see)
        .quick(Verb::Post, "/gates/{gate}/answer", ANSWER, answer)
        .add(Verb::Post, "/gates/{gate}/revise", REVISE, revise)
        .add(Verb::Post, "/gates/{gate}/withdraw", WITHDRAW, withdraw)
        .add(Verb::Post, "/gates/{gate}/claim", CLAIM, |at, asked| {
            until(at, asked, |desk, actor, id, when| desk.claim(actor, id, when))
        })
        .add(Verb::Post, "/gates/{gate}/release", RELEASE, |at, asked| {
            alone(at, asked, |desk, actor, id| desk.release(actor, id))
        })
        .add(Verb::Post, "/gates/{gate}/snooze", SNOOZE, |at, asked| {
            until(at, asked, |desk, actor, id, when| desk.snooze(actor, id, when))
        })
        .add(Verb::Post, "/gates/{gate}/extend", EXTEND, |at, asked| {
            until(at, asked, |desk, actor, id, when| desk.extend(actor, id, when))
        })
        .quick(Verb::Post, "/gates/{gate}/delivered", DELIVERED, |at, asked| {
            alone(at, asked, |desk, actor, id| desk.deliver(actor, id))
        })
        .quick(Verb::Post, "/gates/{gate}/acknowledged", ACKNOWLEDGED, |at, asked| {
            alone(at, asked, |desk, actor, id| desk.acknowledge(actor, id))
        })
}

type Says = (&'static str, &'static str);
const INBOX: Says = (
    "listInbox",
    "What waits for people, a page at a time. Gates that ask the same are one card; what unblocks most comes first, then the oldest. With what hangs.",
);
const CARD: Says = (
    "showCard",
    "A gate with everybody who asks the same, its way so far, what came of the answer, and what hangs.",
);
const SEEN: Says = (
    "seeGate",
    "Notes that the caller, a person, was shown a card as it is now. Each card is noted once.",
);
const LIST: Says = (
    "listGates",
    "Gates, a page at a time. Those that wait, oldest first, or those that ended, newest first. An agent sees its own. Long texts are cut; `shortened` names them, and they are whole at the gate.",
);
const OPEN: Says = (
    "openGate",
    "Asks a person. The gate is there when this returns, whatever happens next. The same id with the same content again is the same gate; with other content it is refused.",
);
const SHOW: Says = (
    "showGate",
    "A gate. With `wait` the request is held until it has ended, or for that long. An agent reads its own.",
);
const ANSWER: Says = (
    "answerGate",
    "Answers a gate, as a person. The first answer wins; the same again is a success without effect; another is refused and names the winner.",
);
const ANSWER_ALL: Says = (
    "answerGates",
    "Answers several gates, each by itself. What is refused for one is said beside it and touches no other.",
);
const REVISE: Says = (
    "reviseGate",
    "Changes the question of a gate that is still open. Whoever saw the old one must look again.",
);
const WITHDRAW: Says = ("withdrawGate", "Takes a gate back. An agent takes back its own.");
const CLAIM: Says = ("claimGate", "Says \"mine\" for a while. Others may still answer.");
const RELEASE: Says = ("releaseGate", "Says \"not mine any more\".");
const SNOOZE: Says =
    ("snoozeGate", "Puts a gate off. It leaves the inbox until then; `now` brings it back.");
const EXTEND: Says = ("extendGate", "Gives a gate more time.");
const DELIVERED: Says = ("deliverGate", "Notes that the asker was handed the ending.");
const ACKNOWLEDGED: Says = (
    "acknowledgeGate",
    "Notes that the asker went on with it. Until then it is handed over again.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListGates {
    /// Gates that ended, newest first, instead of those that wait.
    #[serde(default)]
    ended: bool,
    /// Only these kinds, separated by commas.
    kind: Option<String>,
    /// Only what this asker asked.
    asker: Option<String>,
    /// Only gates of this task, in any state.
    task: Option<String>,
    /// Also cards that are snoozed.
    #[serde(default)]
    snoozed: bool,
    /// Continue after this gate, as `next` of the last page said.
    after: Option<String>,
    /// At most this many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

fn list(at: &Visitor, asked: Asked<0, ListGates, Nothing>) -> Result<wire::Page<wire::Gate>> {
    let wanted = asked.query;
    let filter = GateFilter {
        ended: wanted.ended,
        kinds: wanted.kind.as_deref().map_or(Ok(vec![]), kinds)?,
        asker: wanted.asker,
        task: wanted.task.as_deref().map(|name| at.task(name)).transpose()?,
        awake_at: (!wanted.snoozed).then(|| at.desk.now()),
        after: wanted.after.as_deref().map(|name| at.gate(name)).transpose()?,
        limit: limit(wanted.limit)?,
    };
    let found = at.desk.gates(&at.actor, filter)?;
    Ok(page(&found, |gate| on_the_wire(gate).short(), |gate| gate.opened.id.to_string()))
}

/// Parses kinds, separated by commas.
pub(super) fn kinds(typed: &str) -> Result<Vec<Kind>> {
    let words = typed.split(',').map(str::trim).filter(|word| !word.is_empty());
    let kind = |word: &str| {
        word.parse().map_err(|e: sayso_core::kind::UnknownKind| bad(e.to_string()).into())
    };
    words.map(kind).collect()
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShowGate {
    /// Hold the request until the gate has ended, for at most this long: 30s, 1m. At most a minute.
    wait: Option<String>,
}

/// Returns a gate, held until it has ended (long polling). The wait takes no thread: the row is the truth, a wake-up
/// only shortens the wait.
async fn show(
    knock: Knock,
    asked: Asked<1, ShowGate, Nothing>,
) -> std::result::Result<wire::Gate, Failed> {
    let [name] = asked.names;
    let hold = asked.query.wait.as_deref().map_or(Ok(Duration::ZERO), when::span)?;
    let until = knock.parking.until(hold.min(HOLD_MAX));
    let knock = Arc::new(knock);
    let (first, at_first) = (knock.clone(), knock.clone());
    let find = move |at: &Visitor| {
        let Some(id) = at_first.parking.gate() else {
            return at.with_gate(&name, |id| look(at, id));
        };
        // The gate that the name meant when the request came: a task that has its answer waits for no gate any more.
        visit::note_gate(id);
        look(at, id)
    };
    let (mut gate, mut woken) = blocking(move || first.quickly(find)).await?;
    while gate.is_open() && Instant::now() < until && !knock.hall.is_ending() {
        let id = gate.opened.id;
        // The gate is not needed while the request waits, and many may wait.
        drop(gate);
        knock.parking.wait(&knock.hall, &woken, Some(id), until).await;
        // A caller that lost its credential during the wait is refused.
        let again = knock.clone();
        (gate, woken) = blocking(move || again.quickly(|at| look(at, id))).await?;
    }
    Ok(on_the_wire(&gate))
}

/// Subscribes first and reads second: a change in between wakes, too.
fn look(at: &Visitor, id: GateId) -> Result<(Box<Gate>, Arc<Woken>)> {
    let woken = Woken::by(&at.room.waits, id);
    let gate = at.desk.gate_for(&at.actor, id)?;
    Ok((Box::new(gate), woken))
}

/// A question to a person.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OpenGate {
    /// A ULID of your own: asking again with it is the same question.
    id: Option<String>,
    /// The kind of gate. Input for a task and decision otherwise, unless given.
    kind: Option<words::Kind>,
    /// The task that waits for it; the one an agent's credential is bound to, unless given.
    task: Option<String>,
    /// The question to a person.
    question: String,
    /// Context for the person. They cannot see your log.
    #[serde(default)]
    context: String,
    /// Facts to show beside it; marked as the asker's word.
    #[serde(default)]
    facts: Vec<NewFact>,
    /// The form of the answer; what fits the rest, unless given.
    form: Option<words::Shape>,
    /// The options of a choice.
    #[serde(default)]
    options: Vec<NewOption>,
    /// Several options may be picked.
    #[serde(default)]
    multi: bool,
    /// Words of one's own are an answer to a choice, too.
    #[serde(default)]
    other: bool,
    /// The JSON Schema of a form.
    schema: Option<Value>,
    /// The people who may answer: any of these, or of a group by its name behind an @; any person, unless given.
    #[serde(default)]
    #[schemars(length(max = 100))]
    to: Vec<String>,
    /// The number of them that have to agree; one, unless given.
    #[schemars(range(min = 1, max = 100))]
    quorum: Option<usize>,
    /// The least proof an answer needs; a token, unless given.
    least_proof: Option<words::Proof>,
    /// The time people have to answer: 30m, 2h.
    deadline: Option<String>,
    /// The timeout action then; deny, unless given.
    at_end: Option<words::AtEnd>,
    /// Remind people after this long, each.
    #[serde(default)]
    #[schemars(length(max = 100))]
    remind: Vec<String>,
}

/// The card of a gate, as it shall be from now on.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReviseGate {
    /// The question to a person.
    question: String,
    /// Context for the person.
    #[serde(default)]
    context: String,
    /// Facts to show beside it; marked as the asker's word.
    #[serde(default)]
    facts: Vec<NewFact>,
    /// The form of the answer; what fits the rest, unless given.
    form: Option<words::Shape>,
    /// The options of a choice.
    #[serde(default)]
    options: Vec<NewOption>,
    /// Several options may be picked.
    #[serde(default)]
    multi: bool,
    /// Words of one's own are an answer to a choice, too.
    #[serde(default)]
    other: bool,
    /// The JSON Schema of a form.
    schema: Option<Value>,
}

/// A fact to show beside a question.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewFact {
    /// The name of the fact.
    name: String,
    /// The value of the fact.
    value: Value,
}

/// An option of a choice.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewOption {
    /// The name of the option.
    name: String,
    /// The consequence of picking it.
    #[serde(default)]
    consequence: String,
    /// True if picking it is a no. Options that read as yes and no need not say so.
    #[serde(default)]
    declines: bool,
}

fn open(at: &Visitor, asked: Asked<0, Nothing, OpenGate>) -> Result<wire::Gate> {
    let mut new = asked.body;
    let task = match new.task.take() {
        Some(name) => Some(at.task(&name)?),
        None => at.actor.task,
    };
    let usual = if task.is_some() { Kind::Input } else { Kind::Decision };
    let kind = new.kind.map_or(usual, Kind::from);
    let id = match new.id.take() {
        Some(id) => ulid(&id)?,
        None => at.desk.new_gate_id(),
    };
    visit::note_gate(id);
    let demands = demands(&new)?;
    let OpenGate { question, context, facts, form, options, multi, other, schema, .. } = new;
    let card = ReviseGate { question, context, facts, form, options, multi, other, schema };
    let ask = Ask { demands, ..Ask::new(id, kind, task, card.card(kind)?) };
    Ok(on_the_wire(&at.desk.ask(&at.actor, ask)?))
}

fn demands(new: &OpenGate) -> Result<Demands> {
    check_count(&new.to, "people")?;
    check_count(&new.remind, "reminders")?;
    let ms = |typed: &String| -> Result<u64> {
        Ok(u64::try_from(when::span(typed)?.as_millis()).unwrap_or(u64::MAX))
    };
    Ok(Demands {
        approvers: approvers(&new.to, new.quorum)?,
        proof: new.least_proof.map_or(sayso_core::Proof::Token, Into::into),
        deadline_ms: new.deadline.as_ref().map(ms).transpose()?,
        remind_ms: new.remind.iter().map(ms).collect::<Result<_>>()?,
        at_end: new.at_end.map_or(AtEnd::Deny, Into::into),
        ..Demands::default()
    })
}

/// Returns the approvers; with no names given, so many of all people.
fn approvers(to: &[String], quorum: Option<usize>) -> Result<Approvers> {
    let least = quorum.unwrap_or(1);
    if !(1..=QUORUM_MAX).contains(&least) {
        let message = format!("`quorum` is how many people have to agree: 1 to {QUORUM_MAX}");
        return Err(bad(message).into());
    }
    Ok(match to {
        [] if least == 1 => Approvers::Anyone,
        [] => Approvers::Some { least, of: vec![Approvers::Anyone; least] },
        [only] if least == 1 => Approvers::Person(only.clone()),
        people => {
            let of = people.iter().cloned().map(Approvers::Person).collect();
            Approvers::Some { least, of }
        }
    })
}

impl ReviseGate {
    fn card(self, kind: Kind) -> Result<Card> {
        let facts = self.facts.into_iter();
        let facts = facts.map(|f| Fact { name: f.name, value: f.value, verified: false }).collect();
        let asks_for_words = matches!(kind, Kind::Input | Kind::Decision);
        let usual = match (self.options.is_empty(), &self.schema) {
            (false, _) => words::Shape::Choice,
            (true, Some(_)) => words::Shape::Form,
            (true, None) if asks_for_words => words::Shape::Text,
            (true, None) => words::Shape::Verdict,
        };
        let is_choice = !self.options.is_empty() || self.multi || self.other;
        let shape = match (self.form.unwrap_or(usual), self.schema) {
            (words::Shape::Choice, None) => {
                let options = self.options.into_iter();
                let option = |NewOption { name, consequence, declines }: NewOption| Choice {
                    name,
                    consequence,
                    declines,
                };
                let options = options.map(option).collect();
                Shape::Choice { options, multi: self.multi, other: self.other }
            }
            (words::Shape::Form, Some(schema)) if !is_choice => Shape::Form { schema },
            (words::Shape::Text, None) if !is_choice => Shape::Text,
            (words::Shape::Verdict, None) if !is_choice => Shape::Verdict,
            _ => {
                return Err(bad("the form of the answer and what is said of it do not fit".into())
                    .hint("options, multi and other are for a choice, schema is for a form")
                    .into());
            }
        };
        Ok(Card { question: self.question, narrative: self.context, facts, shape })
    }
}

fn revise(at: &Visitor, asked: Asked<1, Nothing, ReviseGate>) -> Result<wire::Gate> {
    let id = at.gate(&asked.names[0])?;
    let kind = at.desk.gate_for(&at.actor, id)?.opened.kind;
    Ok(on_the_wire(&at.desk.revise(&at.actor, id, asked.body.card(kind)?)?))
}

/// The answer of a person.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerGate {
    /// approved is a yes, answered goes with a text, a choice or a form, rejected is a no. The content decides: an
    /// answer with an option that means no is a rejection, and with another content an approval is an answer.
    verdict: words::Verdict,
    /// The digest of the card that was shown; refused when the card has changed since.
    digest: String,
    /// The question, as `same` of the card names it: then every asker of just that question gets the answer. Without
    /// it, this gate alone is answered.
    same: Option<String>,
    /// The answer as text.
    text: Option<String>,
    /// The options that are picked.
    picked: Option<Vec<String>>,
    /// Words of one's own, where they are an answer to a choice.
    other: Option<String>,
    /// The values of the form.
    form: Option<Value>,
    /// The arguments a tool call shall run with instead.
    arguments: Option<Value>,
    /// The reason for the answer.
    reason: Option<String>,
    /// True if the agent is to stop here and now; only with a no to a tool call.
    #[serde(default)]
    interrupts: bool,
    /// The touch of a passkey, where the gate needs presence. It is for this gate alone.
    presence: Option<Touched>,
}

impl AnswerGate {
    /// Builds the answer to a gate, for the card that was shown.
    pub(super) fn say(self, gate: GateId) -> Result<Say> {
        if self.presence.is_some() {
            return Err(one_touch_one_gate().into());
        }
        let is_choice = self.picked.is_some() || self.other.is_some();
        let choice = is_choice.then(|| Content::Choice {
            picked: self.picked.unwrap_or_default(),
            other: self.other,
        });
        let all = [
            self.text.map(Content::Text),
            choice,
            self.form.map(Content::Form),
            self.arguments.map(Content::Arguments),
        ];
        let mut given = all.into_iter().flatten();
        let content = given.next().unwrap_or_default();
        if given.next().is_some() {
            return Err(bad("an answer has one content".into())
                .hint("take text, or picked and other, or form, or arguments")
                .into());
        }
        let (verdict, reason, interrupts) = (self.verdict.into(), self.reason, self.interrupts);
        let answer = Answer { verdict, content, reason, interrupts };
        Ok(Say { gate, answer, digest: self.digest, same: self.same })
    }
}

fn answer(at: &Visitor, asked: Asked<1, Nothing, AnswerGate>) -> Result<wire::Answered> {
    let (name, mut body) = (&asked.names[0], asked.body);
    let answered = match body.presence.take() {
        Some(_) if body.same.is_some() => return Err(one_touch_one_gate().into()),
        Some(touched) => {
            let say = body.say(at.gate(name)?)?;
            let (actor, digest) = passkeys::present(at, say.gate, touched)?;
            at.desk.answer_card(&actor, Say { digest, ..say })?
        }
        None => {
            at.with_gate(name, |gate| at.desk.answer_card(&at.actor, body.clone().say(gate)?))?
        }
    };
    let none = || Refusal::new(Code::Failure, "an answer reached no gate");
    Ok(wire::Answered::of(&answered, &rfc3339).ok_or_else(none)?)
}

fn one_touch_one_gate() -> Refusal {
    bad("a touch of a passkey is for one gate: it goes with an answer to that gate alone".into())
        .hint("leave out `same`, and answer each gate with a touch of its own")
}

/// Answers to several gates.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswerGates {
    /// The answers, each with its gate.
    #[schemars(length(min = 1, max = 100))]
    answers: Vec<AnswerOf>,
}

/// An answer and the gate it is for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswerOf {
    /// The gate to be answered.
    gate: String,
    /// The answer to this gate.
    answer: AnswerGate,
}

fn answer_all(at: &Visitor, asked: Asked<0, Nothing, AnswerGates>) -> Result<wire::Answers> {
    let answers = asked.body.answers;
    if answers.is_empty() || answers.len() > ANSWERS_MAX {
        return Err(bad(format!("from 1 to {ANSWERS_MAX} answers are taken together")).into());
    }
    // An answer that cannot be put to the desk is refused beside the others, in its place.
    let (mut names, mut says) = (vec![], vec![]);
    for AnswerOf { gate, answer } in answers {
        let refused = match at.gate(&gate).and_then(|id| answer.say(id)) {
            Ok(say) => {
                says.push(say);
                None
            }
            Err(error) => Some(SayOutcome::from(error)),
        };
        names.push((gate, refused));
    }
    let mut said = at.desk.answer_many(&at.actor, says)?.into_iter();
    let items = names.into_iter().filter_map(|(name, refused)| {
        let outcome = refused.or_else(|| said.next())?;
        Some(wire::OneAnswer::of(&name, &outcome, &rfc3339))
    });
    Ok(wire::Answers { items: items.collect() })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListCards {
    /// Only these kinds, separated by commas.
    kind: Option<String>,
    /// Only cards that wait for these, as the caller sees it; for any person, unless given.
    whose: Option<words::Whose>,
    /// Also cards that are snoozed.
    #[serde(default)]
    snoozed: bool,
    /// Continue after this card, as `next` of the last page said.
    after: Option<String>,
    /// At most this many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

fn inbox(at: &Visitor, asked: Asked<0, ListCards, Nothing>) -> Result<wire::Inbox> {
    let wanted = asked.query;
    let filter = InboxFilter {
        kinds: wanted.kind.as_deref().map_or(Ok(vec![]), kinds)?,
        whose: wanted.whose.map(Into::into),
        all: wanted.snoozed,
        after: wanted.after.as_deref().map(|name| at.gate(name)).transpose()?,
        limit: limit(wanted.limit)?,
    };
    let found = at.desk.inbox(&at.actor, &filter)?;
    let alerts = at.desk.alerts(&at.actor, ALERTS_MAX)?;
    let cards =
        page(&found, |c| wire::Card::of(c, &rfc3339).short(), |c| c.gate.opened.id.to_string());
    let alerts = alerts.iter().map(|alert| wire::Alert::of(alert, &rfc3339)).collect();
    Ok(wire::Inbox { items: cards.items, next: cards.next, alerts })
}

fn card(at: &Visitor, asked: Asked<1, Nothing, Nothing>) -> Result<wire::GateDetail> {
    let id = at.gate(&asked.names[0])?;
    let (card, receipt) = (at.desk.card(&at.actor, id)?, at.desk.receipt(&at.actor, id)?);
    Ok(wire::GateDetail::of(&card, &receipt, &rfc3339))
}

/// The card that a person was shown.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SeeGate {
    /// The digest of the card that was shown.
    digest: String,
}

fn see(at: &Visitor, asked: Asked<1, Nothing, SeeGate>) -> Result<wire::Card> {
    let id = at.gate(&asked.names[0])?;
    let card = at.desk.card(&at.actor, id)?;
    // A card that has changed since was not shown to a person yet.
    if card.gate.digest.is_named_by(&asked.body.digest) {
        at.desk.see_card(&at.actor, &card)?;
    }
    Ok(wire::Card::of(&card, &rfc3339))
}

/// The reason for an action.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reason {
    /// The reason, in words.
    #[serde(default)]
    pub(super) reason: String,
}

fn withdraw(at: &Visitor, asked: Asked<1, Nothing, Reason>) -> Result<wire::Gate> {
    let id = at.gate(&asked.names[0])?;
    Ok(on_the_wire(&at.desk.withdraw(&at.actor, id, &asked.body.reason)?))
}

/// The time until which something holds.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Until {
    /// A moment such as 2026-12-24T18:00:00Z, or a span from now such as 2h.
    until: String,
}

fn until(
    at: &Visitor,
    asked: Asked<1, Nothing, Until>,
    deed: fn(&Desk, &Actor, GateId, Timestamp) -> Result<Gate>,
) -> Result<wire::Gate> {
    let (id, until) = (at.gate(&asked.names[0])?, at.moment(&asked.body.until)?);
    Ok(on_the_wire(&deed(&at.desk, &at.actor, id, until)?))
}

fn alone(
    at: &Visitor,
    asked: Asked<1, Nothing, Nothing>,
    deed: fn(&Desk, &Actor, GateId) -> Result<Gate>,
) -> Result<wire::Gate> {
    Ok(on_the_wire(&deed(&at.desk, &at.actor, at.gate(&asked.names[0])?)?))
}

pub(super) fn on_the_wire(gate: &Gate) -> wire::Gate {
    wire::Gate::of(gate, &rfc3339)
}

/// Parses an id that the client made.
pub(super) fn ulid<I: std::str::FromStr>(typed: &str) -> Result<I> {
    let shown = || shorten(&harmless_line(typed), 60);
    let wrong =
        |_| bad(format!("{:?} is no ULID", shown())).hint("leave it out, or make a new one");
    Ok(typed.parse().map_err(wrong)?)
}

/// Checks that a list in a request is short.
pub(super) fn check_count<T>(list: &[T], what: &str) -> Result<()> {
    match list.len() <= LIST_MAX {
        true => Ok(()),
        false => {
            Err(Refusal::new(Code::TooLarge, format!("at most {LIST_MAX} {what} are taken")).into())
        }
    }
}

pub(super) fn bad(message: String) -> Refusal {
    Refusal::new(Code::BadValue, message)
}
