//! HTTP API for gates: asking, reading, waiting, answering, and the delivery of the answer.

use super::auth::{IncomingRequest, RequestContext};
use super::health::blocking;
use super::paging::{limit, page};
use super::parking::ChangeSubscription;
use super::passkeys::{self, SignedChallenge};
use super::problem::ErrorResponse;
use super::route::{EmptyInput, OperationInput, OperationTable, OperationVerb};
use super::time::{self, rfc3339};
use super::{access_log, params};
use crate::wire::{self, ShortForm};
use sayso_core::gate::{Card, CardFact, Gate};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{
    Actor, Answer, AnswerContent, AnswerShape, Approvers, ChoiceOption, Code, GateId, GateKind,
    Refusal, TimeoutAction, Timestamp,
};
use sayso_engine::{
    AnswerOutcome, AskDemands, CardAnswer, Desk, GateFilter, InboxFilter, NewGate, Result,
};
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

pub(super) fn operations(table: OperationTable) -> OperationTable {
    table
        .add(OperationVerb::Get, "/inbox", INBOX, inbox)
        .add(OperationVerb::Get, "/gates", LIST, list)
        .add_cached(OperationVerb::Create, "/gates", OPEN, open)
        .add(OperationVerb::Post, "/gates/answers", ANSWER_ALL, answer_all)
        .add_held(OperationVerb::Get, "/gates/{gate}", SHOW, show)
        .add(OperationVerb::Get, "/gates/{gate}/card", CARD, card)
        .add(OperationVerb::Post, "/gates/{gate}/seen", SEEN, see)
        .add_cached(OperationVerb::Post, "/gates/{gate}/answer", ANSWER, answer)
        .add(OperationVerb::Post, "/gates/{gate}/revise", REVISE, revise)
        .add(OperationVerb::Post, "/gates/{gate}/withdraw", WITHDRAW, withdraw)
        .add(OperationVerb::Post, "/gates/{gate}/claim", CLAIM, |at, asked| {
            until(at, asked, |desk, actor, id, when| desk.claim(actor, id, when))
        })
        .add(OperationVerb::Post, "/gates/{gate}/release", RELEASE, |at, asked| {
            alone(at, asked, |desk, actor, id| desk.release(actor, id))
        })
        .add(OperationVerb::Post, "/gates/{gate}/snooze", SNOOZE, |at, asked| {
            until(at, asked, |desk, actor, id, when| desk.snooze(actor, id, when))
        })
        .add(OperationVerb::Post, "/gates/{gate}/extend", EXTEND, |at, asked| {
            until(at, asked, |desk, actor, id, when| desk.extend(actor, id, when))
        })
        .add_cached(OperationVerb::Post, "/gates/{gate}/delivered", DELIVERED, |at, asked| {
            alone(at, asked, |desk, actor, id| desk.deliver(actor, id))
        })
        .add_cached(OperationVerb::Post, "/gates/{gate}/acknowledged", ACKNOWLEDGED, |at, asked| {
            alone(at, asked, |desk, actor, id| desk.acknowledge(actor, id))
        })
}

type GateOperationDoc = (&'static str, &'static str);
const INBOX: GateOperationDoc = (
    "listInbox",
    "What waits for people, a page at a time. Gates that ask the same are one card; what unblocks most comes first, then the oldest. With what hangs.",
);
const CARD: GateOperationDoc = (
    "showCard",
    "A gate with everybody who asks the same, its way so far, what came of the answer, and what hangs.",
);
const SEEN: GateOperationDoc = (
    "seeGate",
    "Notes that the caller, a person, was shown a card as it is now. Each card is noted once.",
);
const LIST: GateOperationDoc = (
    "listGates",
    "Gates, a page at a time. Those that wait, oldest first, or those that ended, newest first. An agent sees its own. Long texts are cut; `shortened` names them, and they are whole at the gate.",
);
const OPEN: GateOperationDoc = (
    "openGate",
    "Asks a person. The gate is there when this returns, whatever happens next. The same id with the same content again is the same gate; with other content it is refused.",
);
const SHOW: GateOperationDoc = (
    "showGate",
    "A gate. With `wait` the request is held until it has ended, or for that long. An agent reads its own.",
);
const ANSWER: GateOperationDoc = (
    "answerGate",
    "Answers a gate, as a person. The first answer wins; the same again is a success without effect; another is refused and names the winner.",
);
const ANSWER_ALL: GateOperationDoc = (
    "answerGates",
    "Answers several gates, each by itself. What is refused for one is said beside it and touches no other.",
);
const REVISE: GateOperationDoc = (
    "reviseGate",
    "Changes the question of a gate that is still open. Whoever saw the old one must look again.",
);
const WITHDRAW: GateOperationDoc =
    ("withdrawGate", "Takes a gate back. An agent takes back its own.");
const CLAIM: GateOperationDoc =
    ("claimGate", "Says \"mine\" for a while. Others may still answer.");
const RELEASE: GateOperationDoc = ("releaseGate", "Says \"not mine any more\".");
const SNOOZE: GateOperationDoc =
    ("snoozeGate", "Puts a gate off. It leaves the inbox until then; `now` brings it back.");
const EXTEND: GateOperationDoc = ("extendGate", "Gives a gate more time.");
const DELIVERED: GateOperationDoc = ("deliverGate", "Notes that the asker was handed the ending.");
const ACKNOWLEDGED: GateOperationDoc = (
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

fn list(
    at: &RequestContext,
    asked: OperationInput<0, ListGates, EmptyInput>,
) -> Result<wire::PageJson<wire::GateJson>> {
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
pub(super) fn kinds(typed: &str) -> Result<Vec<GateKind>> {
    let words = typed.split(',').map(str::trim).filter(|word| !word.is_empty());
    let kind = |word: &str| {
        word.parse().map_err(|e: sayso_core::kind::UnknownGateKind| bad(e.to_string()).into())
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
    knock: IncomingRequest,
    asked: OperationInput<1, ShowGate, EmptyInput>,
) -> std::result::Result<wire::GateJson, ErrorResponse> {
    let [name] = asked.names;
    let hold = asked.query.wait.as_deref().map_or(Ok(Duration::ZERO), time::span)?;
    let until = knock.parking.until(hold.min(HOLD_MAX));
    let knock = Arc::new(knock);
    let (first, at_first) = (knock.clone(), knock.clone());
    let find = move |at: &RequestContext| {
        let Some(id) = at_first.parking.gate() else {
            return at.with_gate(&name, |id| look(at, id));
        };
        // The gate that the name meant when the request came: a task that has its answer waits for no gate any more.
        access_log::note_gate(id);
        look(at, id)
    };
    let (mut gate, mut woken) = blocking(move || first.with_cached_auth(find)).await?;
    while gate.is_open() && Instant::now() < until && !knock.hall.is_ending() {
        let id = gate.opened.id;
        // The gate is not needed while the request waits, and many may wait.
        drop(gate);
        knock.parking.wait(&knock.hall, &woken, Some(id), until).await;
        // A caller that lost its credential during the wait is refused.
        let again = knock.clone();
        (gate, woken) = blocking(move || again.with_cached_auth(|at| look(at, id))).await?;
    }
    Ok(on_the_wire(&gate))
}

/// Subscribes first and reads second: a change in between wakes, too.
fn look(at: &RequestContext, id: GateId) -> Result<(Box<Gate>, Arc<ChangeSubscription>)> {
    let woken = ChangeSubscription::by(&at.room.waits, id);
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
    kind: Option<params::Kind>,
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
    form: Option<params::ShapeParam>,
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
    least_proof: Option<params::Proof>,
    /// The time people have to answer: 30m, 2h.
    deadline: Option<String>,
    /// The timeout action then; deny, unless given.
    at_end: Option<params::AtEnd>,
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
    form: Option<params::ShapeParam>,
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

fn open(
    at: &RequestContext,
    asked: OperationInput<0, EmptyInput, OpenGate>,
) -> Result<wire::GateJson> {
    let mut new = asked.body;
    let task = match new.task.take() {
        Some(name) => Some(at.task(&name)?),
        None => at.actor.task,
    };
    let usual = if task.is_some() { GateKind::Input } else { GateKind::Decision };
    let kind = new.kind.map_or(usual, GateKind::from);
    let id = match new.id.take() {
        Some(id) => ulid(&id)?,
        None => at.desk.new_gate_id(),
    };
    access_log::note_gate(id);
    let demands = demands(&new)?;
    let OpenGate { question, context, facts, form, options, multi, other, schema, .. } = new;
    let card = ReviseGate { question, context, facts, form, options, multi, other, schema };
    let ask = NewGate { demands, ..NewGate::new(id, kind, task, card.card(kind)?) };
    Ok(on_the_wire(&at.desk.ask(&at.actor, ask)?))
}

fn demands(new: &OpenGate) -> Result<AskDemands> {
    check_count(&new.to, "people")?;
    check_count(&new.remind, "reminders")?;
    let ms = |typed: &String| -> Result<u64> {
        Ok(u64::try_from(time::span(typed)?.as_millis()).unwrap_or(u64::MAX))
    };
    Ok(AskDemands {
        approvers: approvers(&new.to, new.quorum)?,
        proof: new.least_proof.map_or(sayso_core::IdentityProof::Token, Into::into),
        deadline_ms: new.deadline.as_ref().map(ms).transpose()?,
        remind_ms: new.remind.iter().map(ms).collect::<Result<_>>()?,
        at_end: new.at_end.map_or(TimeoutAction::Deny, Into::into),
        ..AskDemands::default()
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
    fn card(self, kind: GateKind) -> Result<Card> {
        let facts = self.facts.into_iter();
        let facts =
            facts.map(|f| CardFact { name: f.name, value: f.value, verified: false }).collect();
        let asks_for_words = matches!(kind, GateKind::Input | GateKind::Decision);
        let usual = match (self.options.is_empty(), &self.schema) {
            (false, _) => params::ShapeParam::Choice,
            (true, Some(_)) => params::ShapeParam::Form,
            (true, None) if asks_for_words => params::ShapeParam::Text,
            (true, None) => params::ShapeParam::Verdict,
        };
        let is_choice = !self.options.is_empty() || self.multi || self.other;
        let shape = match (self.form.unwrap_or(usual), self.schema) {
            (params::ShapeParam::Choice, None) => {
                let options = self.options.into_iter();
                let option = |NewOption { name, consequence, declines }: NewOption| ChoiceOption {
                    name,
                    consequence,
                    declines,
                };
                let options = options.map(option).collect();
                AnswerShape::Choice { options, multi: self.multi, other: self.other }
            }
            (params::ShapeParam::Form, Some(schema)) if !is_choice => AnswerShape::Form { schema },
            (params::ShapeParam::Text, None) if !is_choice => AnswerShape::Text,
            (params::ShapeParam::Verdict, None) if !is_choice => AnswerShape::Verdict,
            _ => {
                return Err(bad("the form of the answer and what is said of it do not fit".into())
                    .hint("options, multi and other are for a choice, schema is for a form")
                    .into());
            }
        };
        Ok(Card { question: self.question, narrative: self.context, facts, shape })
    }
}

fn revise(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, ReviseGate>,
) -> Result<wire::GateJson> {
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
    verdict: params::Verdict,
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
    presence: Option<SignedChallenge>,
}

impl AnswerGate {
    /// Builds the answer to a gate, for the card that was shown.
    pub(super) fn say(self, gate: GateId) -> Result<CardAnswer> {
        if self.presence.is_some() {
            return Err(one_touch_one_gate().into());
        }
        let is_choice = self.picked.is_some() || self.other.is_some();
        let choice = is_choice.then(|| AnswerContent::Choice {
            picked: self.picked.unwrap_or_default(),
            other: self.other,
        });
        let all = [
            self.text.map(AnswerContent::Text),
            choice,
            self.form.map(AnswerContent::Form),
            self.arguments.map(AnswerContent::Arguments),
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
        Ok(CardAnswer { gate, answer, digest: self.digest, same: self.same })
    }
}

fn answer(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, AnswerGate>,
) -> Result<wire::AnsweredGates> {
    let (name, mut body) = (&asked.names[0], asked.body);
    let answered = match body.presence.take() {
        Some(_) if body.same.is_some() => return Err(one_touch_one_gate().into()),
        Some(touched) => {
            let say = body.say(at.gate(name)?)?;
            let (actor, digest) = passkeys::verify_presence(at, say.gate, touched)?;
            at.desk.answer_card(&actor, CardAnswer { digest, ..say })?
        }
        None => {
            at.with_gate(name, |gate| at.desk.answer_card(&at.actor, body.clone().say(gate)?))?
        }
    };
    let none = || Refusal::new(Code::Failure, "an answer reached no gate");
    Ok(wire::AnsweredGates::of(&answered, &rfc3339).ok_or_else(none)?)
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
    answers: Vec<GateAnswer>,
}

/// An answer and the gate it is for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AnswerOf")]
struct GateAnswer {
    /// The gate to be answered.
    gate: String,
    /// The answer to this gate.
    answer: AnswerGate,
}

fn answer_all(
    at: &RequestContext,
    asked: OperationInput<0, EmptyInput, AnswerGates>,
) -> Result<wire::AnswerResults> {
    let answers = asked.body.answers;
    if answers.is_empty() || answers.len() > ANSWERS_MAX {
        return Err(bad(format!("from 1 to {ANSWERS_MAX} answers are taken together")).into());
    }
    // An answer that cannot be put to the desk is refused beside the others, in its place.
    let (mut names, mut says) = (vec![], vec![]);
    for GateAnswer { gate, answer } in answers {
        let refused = match at.gate(&gate).and_then(|id| answer.say(id)) {
            Ok(say) => {
                says.push(say);
                None
            }
            Err(error) => Some(AnswerOutcome::from(error)),
        };
        names.push((gate, refused));
    }
    let mut said = at.desk.answer_many(&at.actor, says)?.into_iter();
    let items = names.into_iter().filter_map(|(name, refused)| {
        let outcome = refused.or_else(|| said.next())?;
        Some(wire::AnswerResult::of(&name, &outcome, &rfc3339))
    });
    Ok(wire::AnswerResults { items: items.collect() })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListCards {
    /// Only these kinds, separated by commas.
    kind: Option<String>,
    /// Only cards that wait for these, as the caller sees it; for any person, unless given.
    whose: Option<params::Whose>,
    /// Also cards that are snoozed.
    #[serde(default)]
    snoozed: bool,
    /// Continue after this card, as `next` of the last page said.
    after: Option<String>,
    /// At most this many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

fn inbox(
    at: &RequestContext,
    asked: OperationInput<0, ListCards, EmptyInput>,
) -> Result<wire::InboxJson> {
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
        page(&found, |c| wire::CardJson::of(c, &rfc3339).short(), |c| c.gate.opened.id.to_string());
    let alerts = alerts.iter().map(|alert| wire::AlertJson::of(alert, &rfc3339)).collect();
    Ok(wire::InboxJson { items: cards.items, next: cards.next, alerts })
}

fn card(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, EmptyInput>,
) -> Result<wire::GateDetail> {
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

fn see(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, SeeGate>,
) -> Result<wire::CardJson> {
    let id = at.gate(&asked.names[0])?;
    let card = at.desk.card(&at.actor, id)?;
    // A card that has changed since was not shown to a person yet.
    if card.gate.digest.is_named_by(&asked.body.digest) {
        at.desk.see_card(&at.actor, &card)?;
    }
    Ok(wire::CardJson::of(&card, &rfc3339))
}

/// The reason for an action.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Reason")]
pub(super) struct ReasonBody {
    /// The reason, in words.
    #[serde(default)]
    pub(super) reason: String,
}

fn withdraw(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, ReasonBody>,
) -> Result<wire::GateJson> {
    let id = at.gate(&asked.names[0])?;
    Ok(on_the_wire(&at.desk.withdraw(&at.actor, id, &asked.body.reason)?))
}

/// The time until which something holds.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Until")]
struct UntilBody {
    /// A moment such as 2026-12-24T18:00:00Z, or a span from now such as 2h.
    until: String,
}

fn until(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, UntilBody>,
    deed: fn(&Desk, &Actor, GateId, Timestamp) -> Result<Gate>,
) -> Result<wire::GateJson> {
    let (id, until) = (at.gate(&asked.names[0])?, at.moment(&asked.body.until)?);
    Ok(on_the_wire(&deed(&at.desk, &at.actor, id, until)?))
}

fn alone(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, EmptyInput>,
    deed: fn(&Desk, &Actor, GateId) -> Result<Gate>,
) -> Result<wire::GateJson> {
    Ok(on_the_wire(&deed(&at.desk, &at.actor, at.gate(&asked.names[0])?)?))
}

pub(super) fn on_the_wire(gate: &Gate) -> wire::GateJson {
    wire::GateJson::of(gate, &rfc3339)
}

/// Parses an id that the client made.
pub(super) fn ulid<I: std::str::FromStr>(typed: &str) -> Result<I> {
    let shown = || shorten(&sanitize_line(typed), 60);
    let wrong =
        |_| bad(format!("{:?} is no ULID", shown())).hint("leave it out, or make a new one");
    Ok(typed.parse().map_err(wrong)?)
}

/// Checks that a list in a request is short.
pub(super) fn check_count<T>(list: &[T], what: &str) -> Result<()> {
    if list.len() <= LIST_MAX {
        Ok(())
    } else {
        Err(Refusal::new(Code::TooLarge, format!("at most {LIST_MAX} {what} are taken")).into())
    }
}

pub(super) fn bad(message: String) -> Refusal {
    Refusal::new(Code::BadValue, message)
}
