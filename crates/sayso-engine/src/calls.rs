//! Tool calls of live agents: allowed, denied, or held for a person. A yes is a grant for one call, and
//! for the call that was shown.

use crate::batch::Batch;
use crate::gates::{self, Ask};
use crate::policy::{TITLE_CHARS_MAX, because};
use crate::{Desk, Result};
use sayso_core::gate::{Card, Command, Ending, Fact, Gate, Held};
use sayso_core::text::{harmless_line, shorten};
use sayso_core::{Actor, Content, Digest, Kind, Shape, Timestamp, Verdict};
use sayso_policy::{Effect, Request, Ruling, Subject, ToolCall};
use sayso_store::GateFilter;
use serde_json::{Value, json};

/// How many gates of an agent are looked at for one about the same call.
const GATES_MAX: usize = 200;

/// How long a grant waits for its call.
const GRANT_MICROS: i64 = 24 * 3_600 * 1_000_000;

/// What is to become of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallRuling {
    /// It may run.
    Allowed,
    /// A person let it run, maybe with other arguments. This yes is used up now.
    Granted {
        /// By whom.
        by: String,
        /// What it shall run with instead.
        arguments: Option<Value>,
    },
    /// It may not run.
    Denied {
        /// Why, for the model.
        reason: String,
    },
    /// A person is asked. It may not run yet.
    Held(Box<Gate>),
}

impl Desk {
    /// What is to become of a call an agent is about to make. Asking again about the same call is the
    /// same question; once a person has answered, it is the answer, once.
    pub fn rule_on_call(&self, actor: &Actor, call: ToolCall) -> Result<CallRuling> {
        self.submit(actor, move |batch| rule(batch, &call, false))
    }

    /// The same for a call the client would ask its own user about, and asks us in their place. What no
    /// rule allows is a question then, not a yes.
    pub fn rule_on_prompt(&self, actor: &Actor, call: ToolCall) -> Result<CallRuling> {
        self.submit(actor, move |batch| rule(batch, &call, true))
    }
}

fn rule(batch: &mut Batch<'_, '_>, call: &ToolCall, is_prompt: bool) -> Result<CallRuling> {
    let task = batch.actor.task.map(|task| (task, None));
    let request = batch.request(Subject::Tool(call.clone()), task)?;
    let ruling = batch.rule(&request)?;
    let digest = digest(call);
    let is_by_rule = ruling.because.iter().any(|because| because.rule.is_some());
    match ruling.effect {
        Effect::Allow if is_by_rule || !is_prompt => {
            note(batch, &request, &ruling)?;
            Ok(CallRuling::Allowed)
        }
        Effect::Deny => {
            note(batch, &request, &ruling)?;
            batch.about("call.denied", &call.tool, None, &ruling.reason());
            let reason = format!("The policy does not allow it. {}", ruling.reason());
            Ok(CallRuling::Denied { reason: reason.trim_end().into() })
        }
        Effect::Ask | Effect::Allow => match about(batch, &digest)? {
            Some(gate) => as_answered(batch, gate, call, &request),
            None => hold(batch, call, digest, &request, &ruling),
        },
    }
}

/// Names a call: the tool, what it is called with, and where.
fn digest(call: &ToolCall) -> Digest {
    Digest::of(&json!({"tool": call.tool, "arguments": call.arguments, "root": call.root}))
}

fn note(batch: &mut Batch<'_, '_>, request: &Request, ruling: &Ruling) -> Result<()> {
    let id = format!("{}/{}", batch.at.as_micros(), batch.desk.new_gate_id());
    let row = batch.row(&id, request, ruling)?;
    batch.requests.push(row);
    Ok(())
}

/// The gate about this call that still has something to say: an open one, or an answer that was not
/// used yet.
fn about(batch: &mut Batch<'_, '_>, wanted: &Digest) -> Result<Option<Gate>> {
    let asker = Some(batch.actor.name.clone());
    let kinds = vec![Kind::Tool];
    for ended in [false, true] {
        let (asker, kinds) = (asker.clone(), kinds.clone());
        let filter = GateFilter { asker, kinds, ended, limit: GATES_MAX, ..GateFilter::default() };
        for listed in batch.write.gates(batch.space, &filter)?.items {
            let is_same = |held: &Held| matches!(held, Held::Call { digest } if digest == wanted);
            if !listed.opened.held.as_ref().is_some_and(is_same) {
                continue;
            }
            // What counts is folded from the log.
            let gate = gates::gate_in(batch, listed.opened.id)?;
            let is_own = batch.actor.is_asker(&gate.opened.lineage);
            if is_own && !is_spent(&gate, batch.at) {
                return Ok(Some(gate));
            }
        }
    }
    Ok(None)
}

/// Whether a gate has nothing more to say to its call: used, heard, or too old.
fn is_spent(gate: &Gate, at: Timestamp) -> bool {
    let Some(ended) = gate.ended_at() else { return false };
    let is_old = at > ended.plus_micros(GRANT_MICROS);
    let is_heard = matches!(gate.delivery, sayso_core::gate::Delivery::Acknowledged { .. });
    is_old || is_heard || gate.acted.is_some()
}

/// What a person said of this call. Each answer counts for one call.
fn as_answered(
    batch: &mut Batch<'_, '_>,
    gate: Gate,
    call: &ToolCall,
    request: &Request,
) -> Result<CallRuling> {
    let id = gate.opened.id;
    if gate.is_open() {
        return Ok(CallRuling::Held(Box::new(gate)));
    }
    batch.on_gate(id, &Command::Acknowledge)?;
    if gate.verdict() != Some(Verdict::Approved) {
        return Ok(CallRuling::Denied { reason: why_not(&gate) });
    }
    let (by, arguments) = match gate.answer() {
        Some((answer, by)) => (by.name.clone(), edited(&answer.content)),
        None => ("the policy".to_owned(), None),
    };
    // What a person changed goes through the policy again: they may have missed what it forbids.
    if let Some(arguments) = &arguments {
        let changed = with_arguments(call, arguments);
        let again = Request { subject: Subject::Tool(changed), ..request.clone() };
        let ruling = batch.rule(&again)?;
        if ruling.effect == Effect::Deny {
            let reason =
                format!("The policy does not allow what it was changed to. {}", ruling.reason());
            return Ok(CallRuling::Denied { reason });
        }
    }
    batch.on_gate(id, &Command::Act { done: true, what: "the call was let run".into() })?;
    Ok(CallRuling::Granted { by, arguments })
}

fn edited(content: &Content) -> Option<Value> {
    match content {
        Content::Arguments(arguments) => Some(arguments.clone()),
        Content::None | Content::Text(_) | Content::Choice { .. } | Content::Form(_) => None,
    }
}

/// The call as it would be with other arguments.
fn with_arguments(call: &ToolCall, arguments: &Value) -> ToolCall {
    let command = call.command.as_ref().map(|before| {
        let text = arguments.get("command").and_then(Value::as_str);
        text.map_or_else(|| before.clone(), str::to_owned)
    });
    ToolCall { arguments: arguments.clone(), command, ..call.clone() }
}

fn why_not(gate: &Gate) -> String {
    match &gate.ending {
        Some(Ending::Answered { answer, by }) => {
            let reason = answer.reason.as_deref().unwrap_or("no reason was given");
            format!("{} said no: {reason}", by.name)
        }
        Some(Ending::Expired { .. }) => "Nobody answered in time. That is not a yes.".into(),
        Some(Ending::Withdrawn { by, reason, .. }) => {
            format!("The question was taken back by {by}: {reason}. That is not a yes.")
        }
        Some(Ending::Superseded { .. }) | None => "That is not a yes.".into(),
    }
}

fn hold(
    batch: &mut Batch<'_, '_>,
    call: &ToolCall,
    digest: Digest,
    request: &Request,
    ruling: &Ruling,
) -> Result<CallRuling> {
    let id = batch.desk.new_gate_id();
    let card = Card {
        question: format!(
            "May {} run this? {}",
            batch.actor.name,
            shorten(&harmless_line(&request.in_words()), TITLE_CHARS_MAX)
        ),
        narrative: String::new(),
        facts: facts(call, ruling),
        shape: Shape::Verdict,
    };
    let mut ask = Ask::ruled(id, Kind::Tool, batch.actor.task, card, ruling);
    ask.held = Some(Held::Call { digest });
    let gate = gates::open(batch, &ask)?;
    let row = batch.row(&id.to_string(), request, ruling)?;
    batch.requests.push(row);
    Ok(CallRuling::Held(Box::new(gate)))
}

/// The call as it was captured: what it runs first, then all of it.
fn facts(call: &ToolCall, ruling: &Ruling) -> Vec<Fact> {
    let fact = |name: &str, value: Value| Fact { name: name.into(), value, verified: true };
    let mut facts = vec![fact("tool", json!(call.tool))];
    facts.extend(call.command.as_ref().map(|command| fact("command", json!(command))));
    facts.extend((!call.paths.is_empty()).then(|| fact("paths", json!(call.paths.join("\n")))));
    facts.extend(call.root.as_ref().map(|root| fact("folder", json!(root))));
    // A command that is all there is stands above already.
    let is_all = matches!(&call.arguments, Value::Object(all) if all.len() == 1);
    if call.command.is_none() || !is_all {
        let whole = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
        facts.push(fact("arguments", json!(whole)));
    }
    facts.extend(because(ruling));
    facts
}
