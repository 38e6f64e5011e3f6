//! MCP tools for gates: asking a person, checking for the answer, listing and withdrawing.

use super::responses::GateResponse;
use super::{McpServer, ToolContext, tools, wait};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, JsonObject};
use rmcp::service::RequestContext;
use sayso_core::gate::{Card, Gate};
use sayso_core::{
    Actor, AnswerShape, ChoiceOption, Code, GateId, GateKind, IdentityProof, Refusal, TaskId,
    TimeoutAction,
};
use sayso_engine::{AskDemands, GateFilter, NewGate, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// The number of gates in a list, unless said otherwise, and the most.
const LIST_LIMIT: usize = 20;
const LIST_LIMIT_MAX: usize = 100;

/// The longest time people can be given.
const DEADLINE_SEC_MAX: u64 = 10 * 366 * 24 * 3_600;

/// An option of a choice.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Opt")]
enum OptionArg {
    Name(String),
    Full {
        name: String,
        /// The consequence of picking it.
        #[serde(default)]
        consequence: String,
        /// True if picking it is a no. Options that read as yes and no need not say so.
        #[serde(default)]
        declines: bool,
    },
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Question")]
pub(super) struct AskHumanArgs {
    /// The question, complete in itself: the person cannot see your screen.
    question: String,
    /// The context they need to answer it.
    #[serde(default)]
    context: String,
    /// The options, if it is a choice.
    #[serde(default)]
    options: Vec<OptionArg>,
    /// A JSON Schema, if the answer is a form.
    schema: Option<JsonObject>,
    /// Ask for yes or no.
    #[serde(default)]
    verdict: bool,
    /// The task that waits for the answer.
    task: Option<String>,
    /// Wait at most this many seconds.
    wait_sec: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Request")]
pub(super) struct RequestGateArgs {
    /// The question, complete in itself.
    question: String,
    #[serde(default)]
    context: String,
    #[serde(default)]
    options: Vec<OptionArg>,
    schema: Option<JsonObject>,
    #[serde(default)]
    verdict: bool,
    /// decision, input, approval, review, content, checkpoint, escalation or work.
    kind: Option<String>,
    task: Option<String>,
    /// The seconds that people have.
    deadline_sec: Option<u64>,
    /// The timeout action then: deny, fail, defer or keep.
    at_end: Option<String>,
    /// A ULID of your own: the same id again is the same gate.
    id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Named")]
pub(super) struct CheckGateArgs {
    /// The id of the gate.
    gate: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "List")]
pub(super) struct ListGatesArgs {
    /// Gates that ended, newest first, instead of those that wait.
    #[serde(default)]
    ended: bool,
    /// At most this many.
    limit: Option<usize>,
    /// Continue after this gate.
    after: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Withdraw")]
pub(super) struct WithdrawGateArgs {
    gate: String,
    /// The reason why it is no longer needed.
    reason: String,
}

/// The parts of a question.
struct QuestionParts {
    question: String,
    context: String,
    options: Vec<OptionArg>,
    schema: Option<JsonObject>,
    verdict: bool,
}

impl QuestionParts {
    fn card(self, kind: GateKind) -> Card {
        let asks_for_words = matches!(kind, GateKind::Input | GateKind::Decision) && !self.verdict;
        let shape = match (self.options.is_empty(), self.schema) {
            (false, _) => {
                let options = self.options.into_iter().map(choice).collect();
                AnswerShape::Choice { options, multi: false, other: true }
            }
            (true, Some(schema)) => AnswerShape::Form { schema: Value::Object(schema) },
            (true, None) if asks_for_words => AnswerShape::Text,
            (true, None) => AnswerShape::Verdict,
        };
        Card { question: self.question, narrative: self.context, facts: vec![], shape }
    }
}

fn choice(option: OptionArg) -> ChoiceOption {
    match option {
        OptionArg::Name(name) => ChoiceOption::named(name),
        OptionArg::Full { name, consequence, declines } => {
            ChoiceOption { name, consequence, declines }
        }
    }
}

/// Returns the task that waits: the one named, or the one the credential is bound to.
fn task(at: &ToolContext, named: Option<&str>) -> Result<Option<TaskId>> {
    named.map_or(Ok(at.actor.task), |name| at.setup.desk.find_task(name).map(Some))
}

fn of_task(task: Option<TaskId>) -> GateKind {
    if task.is_some() { GateKind::Input } else { GateKind::Decision }
}

/// Asks, or finds the gate at which the same was asked (dedup).
fn ask(at: &ToolContext, question: AskHumanArgs) -> Result<Gate> {
    at.acknowledge_delivered();
    let AskHumanArgs { question, context, options, schema, verdict, task: named, .. } = question;
    let task = task(at, named.as_deref())?;
    let kind = of_task(task);
    let card = QuestionParts { question, context, options, schema, verdict }.card(kind);
    let ask = NewGate::new(at.setup.desk.new_gate_id(), kind, task, card);
    at.setup.desk.ask_once(&at.actor, ask)
}

impl McpServer {
    pub(super) async fn ask_human(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        actor: &Actor,
    ) -> Result<CallToolResponse> {
        let question: AskHumanArgs = tools::read(request.arguments.clone().unwrap_or_default())?;
        check_is_one(question.verdict, !question.options.is_empty(), question.schema.is_some())?;
        let most = question.wait_sec.map_or(self.setup.hold, Duration::from_secs);
        let gate = self.at_the_desk(actor, move |at| ask(at, question)).await?;
        let is_first = request.input_responses.is_none() && gate.is_open();
        if is_first && let Some(shown) = wait::shown_by_client(context, &gate) {
            return Ok(shown.into());
        }
        let gate = self.wait(gate, most.min(self.setup.hold), context).await?;
        let actor = &self.authenticate_again(context).await?;
        let (id, is_open) = (gate.opened.id, gate.is_open());
        if !is_open {
            self.at_the_desk(actor, move |at| at.hand_over(id)).await?;
        }
        Ok(CallToolResult::structured(json_of(&GateResponse::of(&gate, self.setup.time))).into())
    }
}

pub(super) fn request(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    let wanted: RequestGateArgs = tools::read(arguments)?;
    check_is_one(wanted.verdict, !wanted.options.is_empty(), wanted.schema.is_some())?;
    if wanted.deadline_sec.is_some_and(|sec| sec > DEADLINE_SEC_MAX) {
        return Err(bad(
            "nobody waits that long".into(),
            "take a deadline_sec of at most ten years",
        ));
    }
    let desk = &at.setup.desk;
    let task = task(at, wanted.task.as_deref())?;
    let kind = wanted.kind.as_deref().map_or(Ok(of_task(task)), kind)?;
    let demands = AskDemands {
        proof: IdentityProof::Token,
        deadline_ms: wanted.deadline_sec.map(|sec| sec.saturating_mul(1_000)),
        at_end: wanted.at_end.as_deref().map_or(Ok(TimeoutAction::Deny), at_end)?,
        ..AskDemands::default()
    };
    let RequestGateArgs { question, context, options, schema, verdict, .. } = wanted;
    let card = QuestionParts { question, context, options, schema, verdict }.card(kind);
    let gate = match wanted.id {
        Some(id) => {
            let id: GateId =
                id.parse().map_err(|_| bad(format!("{id:?} is no ULID"), "leave it out"))?;
            desk.ask(&at.actor, NewGate { demands, ..NewGate::new(id, kind, task, card) })?
        }
        None => {
            at.acknowledge_delivered();
            let ask = NewGate::new(desk.new_gate_id(), kind, task, card);
            desk.ask_once(&at.actor, NewGate { demands, ..ask })?
        }
    };
    said(at, &gate)
}

pub(super) fn check(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    let CheckGateArgs { gate } = tools::read(arguments)?;
    let gate = own(at, &gate)?;
    // An approval of a tool call is for that call to take.
    let is_answer = !gate.is_open() && gate.opened.held.is_none();
    if is_answer && at.actor.is_asker(&gate.opened.lineage) {
        at.hand_over(gate.opened.id)?;
    }
    said(at, &gate)
}

pub(super) fn list(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    let wanted: ListGatesArgs = tools::read(arguments)?;
    let desk = &at.setup.desk;
    let filter = GateFilter {
        asker: Some(at.actor.name.clone()),
        ended: wanted.ended,
        after: wanted.after.as_deref().map(|name| desk.find_gate(name)).transpose()?,
        limit: wanted.limit.unwrap_or(LIST_LIMIT).clamp(1, LIST_LIMIT_MAX),
        ..GateFilter::default()
    };
    let page = desk.gates(&at.actor, filter)?;
    let next = page.items.last().filter(|_| page.more).map(|gate| gate.handle().to_owned());
    let gates: Vec<_> =
        page.items.iter().map(|gate| GateResponse::in_short(gate, at.setup.time)).collect();
    Ok(json!({"gates": gates, "next": next}))
}

pub(super) fn withdraw(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    let WithdrawGateArgs { gate, reason } = tools::read(arguments)?;
    let gate = own(at, &gate)?;
    said(at, &at.setup.desk.withdraw(&at.actor, gate.opened.id, &reason)?)
}

fn own(at: &ToolContext, name: &str) -> Result<Gate> {
    let desk = &at.setup.desk;
    desk.gate_for(&at.actor, desk.find_gate(name)?)
}

fn said(at: &ToolContext, gate: &Gate) -> Result<Value> {
    Ok(json_of(&GateResponse::of(gate, at.setup.time)))
}

pub(super) fn json_of(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Checks that a question has one form of answer.
fn check_is_one(verdict: bool, options: bool, schema: bool) -> Result<()> {
    match [verdict, options, schema].into_iter().filter(|form| *form).count() {
        0 | 1 => Ok(()),
        _ => Err(bad("verdict, options and schema exclude each other".into(), "take one of them")),
    }
}

fn kind(typed: &str) -> Result<GateKind> {
    let kind: GateKind = typed.parse().map_err(|e: sayso_core::kind::UnknownGateKind| {
        Refusal::new(Code::BadValue, e.to_string())
    })?;
    match kind {
        // These are asked by the action they hold back.
        GateKind::Tool | GateKind::Transition | GateKind::Lifecycle => Err(bad(
            format!("a gate about a {kind} is asked for by doing it"),
            "take decision or approval",
        )),
        _ => Ok(kind),
    }
}

/// Parses a timeout action: anything but a yes.
fn at_end(typed: &str) -> Result<TimeoutAction> {
    let known =
        [TimeoutAction::Deny, TimeoutAction::Fail, TimeoutAction::Defer, TimeoutAction::Keep];
    let found = known.into_iter().find(|end| end.as_str() == typed);
    found.ok_or_else(|| {
        bad(format!("{typed:?} is nothing that silence can mean"), "take deny, fail, defer or keep")
    })
}

fn bad(message: String, hint: &str) -> sayso_engine::Error {
    Refusal::new(Code::BadValue, message).hint(hint).into()
}
