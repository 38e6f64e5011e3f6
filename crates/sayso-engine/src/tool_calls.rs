//! Tool calls of live agents: each is allowed, denied, or held until a person approves it. An approval is a grant for
//! one call, and only for the call that was shown.

use crate::gates::{self, NewGate};
use crate::local::is_retryable;
use crate::policy::{TITLE_CHARS_MAX, reason_fact};
use crate::write_batch::WriteBatch;
use crate::{Error, LocalDesk, Result, capture_tool_call};
use sayso_core::gate::{Card, CardFact, DeferredAction, Gate, GateCommand, GateEnding};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{
    Actor, AnswerContent, AnswerShape, Digest, GateId, GateKind, Permission, Timestamp, Verdict,
};
use sayso_policy::{PolicyEffect, PolicyRequest, RequestedAction, Ruling, ToolCall};
use sayso_store::GateFilter;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The number of an agent's gates that are searched for one about the same call.
const GATES_MAX: usize = 200;

/// The reason for withdrawing a gate whose call the user of the client allowed there.
const IN_TERMINAL: &str = "the call has run: it was answered in the client's own terminal";

/// The time after which an unused grant expires.
const GRANT_MICROS: i64 = 24 * 3_600 * 1_000_000;

/// The outcome of the policy and of people for a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CallRuling {
    /// The call may run.
    Allowed,
    /// A person approved the call, possibly with other arguments. The grant is used up.
    Granted {
        /// The name of the approver.
        by: String,
        /// The arguments to run with instead, if they were changed.
        arguments: Option<Value>,
    },
    /// The call may not run.
    Denied {
        /// The reason, addressed to the model.
        reason: String,
        /// True if the person wants the agent to stop at once.
        interrupts: bool,
    },
    /// The call is held by an open gate.
    Held(Box<Gate>),
}

impl CallRuling {
    pub(crate) fn denied(reason: impl Into<String>) -> Self {
        CallRuling::Denied { reason: reason.into(), interrupts: false }
    }
}

/// The client's own prompt for the same call.
#[derive(Clone, PartialEq)]
enum ClientPrompt {
    /// The client does not prompt.
    None,
    /// The client prompts its own user as well, in this conversation.
    Beside(String),
    /// The client prompts through sayso in place of its own user.
    Ours,
}

impl LocalDesk {
    /// Rules on a call that an agent is about to make. The same call again finds the same gate; once a person has
    /// answered, the answer is returned once.
    pub fn rule_on_call(&self, actor: &Actor, call: ToolCall) -> Result<CallRuling> {
        self.rule_on(actor, call, ClientPrompt::None)
    }

    /// Rules on a call for which the client prompts its own user in this conversation. A call that no rule allows
    /// opens a gate as well, so that it can be answered from any interface. The gate is withdrawn with the
    /// conversation.
    pub fn rule_on_prompt(
        &self,
        actor: &Actor,
        call: ToolCall,
        session: &str,
    ) -> Result<CallRuling> {
        self.rule_on(actor, call, ClientPrompt::Beside(session.to_owned()))
    }

    /// Rules on a call for which the client asks sayso in place of its user. A call that no rule allows opens a gate
    /// and is not approved by default.
    pub fn rule_in_place_of_user(&self, actor: &Actor, call: ToolCall) -> Result<CallRuling> {
        self.rule_on(actor, call, ClientPrompt::Ours)
    }

    fn rule_on(&self, actor: &Actor, call: ToolCall, prompt: ClientPrompt) -> Result<CallRuling> {
        self.check(actor, Permission::Ask, "put a call before the policy")?;
        if prompt == ClientPrompt::None && self.is_plainly_allowed(actor, &call)? {
            return Ok(CallRuling::Allowed);
        }
        self.submit(actor, move |batch| rule(batch, &call, &prompt))
    }

    /// Records that a call has run, and withdraws its open gate: the call was allowed in the client's own terminal.
    /// That is not recorded as the approval of a named person.
    pub fn call_has_run(&self, actor: &Actor, call: &ToolCall) -> Result<Option<Gate>> {
        let (digest, asker) = (digest(call), actor.name.clone());
        // There is rarely such a gate, and reading does not take the lock of the space.
        let filter = open_calls(asker);
        let is_asked = self.read(|read| {
            let open = read.gates(self.space, &filter)?.items;
            Ok(open.iter().any(|gate| is_about(gate, &digest)))
        })?;
        if !is_asked {
            return Ok(None);
        }
        self.submit(actor, move |batch| {
            match find_call_gate(batch, GateKind::Tool, &digest)?.filter(Gate::is_open) {
                Some(gate) => settled_elsewhere(batch, &gate, IN_TERMINAL).map(Some),
                None => Ok(None),
            }
        })
    }

    /// Withdraws a gate that was opened beside a client's own prompt, once that prompt is closed.
    pub fn prompt_is_gone(&self, actor: &Actor, gate: GateId, why: &str) -> Result<Gate> {
        self.check_sees(actor, gate)?;
        let is_own = self.stored_gate(gate)?.is_some_and(|gate| {
            let opened = &gate.opened;
            actor.is_asker(&opened.lineage) || actor.follows(&opened.lineage, opened.task)
        });
        if !is_own {
            let what = "take back the questions of others";
            self.check(actor, Permission::Answer, what)?;
            self.check(actor, Permission::Track, what)?;
        }
        let why = why.to_owned();
        self.submit(actor, move |batch| {
            let gate = gates::gate_in(batch, gate)?;
            if gate.is_open() { settled_elsewhere(batch, &gate, &why) } else { Ok(gate) }
        })
    }

    /// Withdraws all gates that were opened beside the prompts of a conversation that has ended. A call that was held
    /// for a person alone stays open: its answer is delivered later.
    pub fn session_has_ended(&self, actor: &Actor, session: &str) -> Result<usize> {
        let filter = open_calls(actor.name.clone());
        let wanted = session.to_owned();
        let is_beside = move |gate: &Gate| match &gate.opened.held {
            Some(DeferredAction::Call { beside, .. }) => beside.as_deref() == Some(wanted.as_str()),
            Some(DeferredAction::Move { .. } | DeferredAction::Lifecycle { .. }) | None => false,
        };
        let open = self.read(|read| Ok(read.gates(self.space, &filter)?.items))?;
        let gone: Vec<_> = open.into_iter().filter(is_beside).map(|gate| gate.opened.id).collect();
        for gate in &gone {
            self.prompt_is_gone(actor, *gate, "the conversation it was asked in has ended")?;
        }
        Ok(gone.len())
    }

    /// True if the policy allows a call, which is then recorded. Nearly all calls are allowed without a person's
    /// decision, so the record is written without waiting for the disk (no fsync). All other calls take the full
    /// write path and are ruled on again there.
    fn is_plainly_allowed(&self, actor: &Actor, call: &ToolCall) -> Result<bool> {
        let (desk, actor, call) = (self.clone(), actor.clone(), call.clone());
        let noted = self.store.note(move |write| {
            let mut batch = WriteBatch::begin(&desk, &actor, write)?;
            match note_if_allowed(&mut batch, &call) {
                Ok(is_allowed) => batch.commit().map(|_| is_allowed),
                Err(Error::Refused(_)) => Ok(false),
                Err(Error::Store(error)) => Err(error),
            }
        });
        match noted {
            Err(error) if is_retryable(&error) => Ok(false),
            noted => Ok(noted?),
        }
    }
}

fn rule(
    batch: &mut WriteBatch<'_, '_>,
    call: &ToolCall,
    prompt: &ClientPrompt,
) -> Result<CallRuling> {
    let task = batch.actor.task.map(|task| (task, None));
    let request = batch.request(RequestedAction::Tool(call.clone()), task)?;
    let ruling = batch.rule(&request)?;
    let is_by_rule = ruling.because.iter().any(|because| because.rule.is_some());
    match ruling.effect {
        PolicyEffect::Allow if is_by_rule || *prompt == ClientPrompt::None => {
            note(batch, &request, &ruling)?;
            Ok(CallRuling::Allowed)
        }
        PolicyEffect::Deny => deny(batch, call, &request, &ruling),
        PolicyEffect::Ask | PolicyEffect::Allow => {
            match find_call_gate(batch, GateKind::Tool, &digest(call))? {
                Some(gate) => as_answered(batch, gate, call, &request),
                None => {
                    let beside = match prompt {
                        ClientPrompt::Beside(session) => Some(session.clone()),
                        ClientPrompt::None | ClientPrompt::Ours => None,
                    };
                    let held = DeferredAction::Call { digest: digest(call), beside };
                    hold(batch, call, held, &request, &ruling)
                }
            }
        }
    }
}

/// Returns the digest of a call: the tool, its arguments, and the folder.
pub(crate) fn digest(call: &ToolCall) -> Digest {
    Digest::of(&json!({"tool": call.tool, "arguments": call.arguments, "root": call.root}))
}

fn note_if_allowed(batch: &mut WriteBatch<'_, '_>, call: &ToolCall) -> Result<bool> {
    let task = batch.actor.task.map(|task| (task, None));
    let request = batch.request(RequestedAction::Tool(call.clone()), task)?;
    let ruling = batch.rule(&request)?;
    let is_allowed = ruling.effect == PolicyEffect::Allow;
    if is_allowed {
        note(batch, &request, &ruling)?;
    }
    Ok(is_allowed)
}

pub(crate) fn deny(
    batch: &mut WriteBatch<'_, '_>,
    call: &ToolCall,
    request: &PolicyRequest,
    ruling: &Ruling,
) -> Result<CallRuling> {
    note(batch, request, ruling)?;
    batch.set_audit_subject("call.denied", &call.tool, None, &ruling.reason());
    let reason = format!("The policy does not allow it. {}", ruling.reason());
    Ok(CallRuling::denied(reason.trim_end()))
}

pub(crate) fn note(
    batch: &mut WriteBatch<'_, '_>,
    request: &PolicyRequest,
    ruling: &Ruling,
) -> Result<()> {
    let id = format!("{}/{}", batch.at.as_micros(), batch.desk.new_gate_id());
    let row = batch.row(&id, request, ruling)?;
    batch.requests.push(row);
    Ok(())
}

/// Returns the filter for the open gates about calls of an agent.
fn open_calls(asker: String) -> GateFilter {
    let kinds = vec![GateKind::Tool];
    GateFilter { asker: Some(asker), kinds, limit: GATES_MAX, ..GateFilter::default() }
}

fn is_about(gate: &Gate, wanted: &Digest) -> bool {
    match &gate.opened.held {
        Some(DeferredAction::Call { digest, .. }) => digest == wanted,
        Some(DeferredAction::Move { .. } | DeferredAction::Lifecycle { .. }) | None => false,
    }
}

/// Returns the gate about this call that is still in effect: an open one, or one with an unused answer.
pub(crate) fn find_call_gate(
    batch: &mut WriteBatch<'_, '_>,
    kind: GateKind,
    wanted: &Digest,
) -> Result<Option<Gate>> {
    for ended in [false, true] {
        let own = open_calls(batch.actor.name.clone());
        let filter = GateFilter { kinds: vec![kind], ended, ..own };
        for listed in batch.write.gates(batch.space, &filter)?.items {
            if !is_about(&listed, wanted) {
                continue;
            }
            // A decision relies on the gate folded from the log, not on the listed row.
            let gate = gates::gate_in(batch, listed.opened.id)?;
            let (actor, opened) = (batch.actor, &gate.opened);
            let is_own =
                actor.is_asker(&opened.lineage) || actor.follows(&opened.lineage, opened.task);
            if is_own && !is_spent(&gate, batch.at) {
                return Ok(Some(gate));
            }
        }
    }
    Ok(None)
}

/// Ends a gate that was settled outside sayso. The same call again opens a new gate.
fn settled_elsewhere(batch: &mut WriteBatch<'_, '_>, gate: &Gate, why: &str) -> Result<Gate> {
    gates::withdraw(batch, gate.opened.id, why)?;
    batch.on_gate(gate.opened.id, &GateCommand::Acknowledge)?;
    gates::gate_in(batch, gate.opened.id)
}

/// True if the answer of a gate no longer applies to its call: it was used, acknowledged, or has expired.
fn is_spent(gate: &Gate, at: Timestamp) -> bool {
    let Some(ended) = gate.ended_at() else { return false };
    let is_old = at > ended.plus_micros(GRANT_MICROS);
    let is_heard = matches!(gate.delivery, sayso_core::gate::DeliveryState::Acknowledged { .. });
    is_old || is_heard || gate.acted.is_some()
}

/// Returns the outcome of a person's answer. Each answer counts for one call.
fn as_answered(
    batch: &mut WriteBatch<'_, '_>,
    gate: Gate,
    call: &ToolCall,
    request: &PolicyRequest,
) -> Result<CallRuling> {
    let id = gate.opened.id;
    if gate.is_open() {
        return Ok(CallRuling::Held(Box::new(gate)));
    }
    batch.on_gate(id, &GateCommand::Acknowledge)?;
    if gate.verdict() != Some(Verdict::Approved) {
        return Ok(why_not(&gate));
    }
    let (by, arguments) = match gate.answer() {
        Some((answer, by)) => (by.name.clone(), edited(&answer.content)),
        None => ("the policy".to_owned(), None),
    };
    // Arguments that a person changed are judged by the policy again: the person may have missed a rule that denies
    // them.
    if let Some(arguments) = &arguments {
        let changed = match capture_tool_call(&call.tool, arguments, call.root.as_deref()) {
            Ok(changed) => changed,
            Err(Error::Refused(why)) => {
                let reason = format!("What it was changed to cannot be judged: {}.", why.message);
                return Ok(CallRuling::denied(reason));
            }
            Err(failure) => return Err(failure),
        };
        let again = PolicyRequest { subject: RequestedAction::Tool(changed), ..request.clone() };
        let ruling = batch.rule(&again)?;
        if ruling.effect == PolicyEffect::Deny {
            let reason =
                format!("The policy does not allow what it was changed to. {}", ruling.reason());
            return Ok(CallRuling::denied(reason));
        }
    }
    batch.on_gate(
        id,
        &GateCommand::RecordOutcome { done: true, what: "the call was let run".into() },
    )?;
    Ok(CallRuling::Granted { by, arguments })
}

fn edited(content: &AnswerContent) -> Option<Value> {
    match content {
        AnswerContent::Arguments(arguments) => Some(arguments.clone()),
        AnswerContent::None
        | AnswerContent::Text(_)
        | AnswerContent::Choice { .. }
        | AnswerContent::Form(_) => None,
    }
}

pub(crate) fn why_not(gate: &Gate) -> CallRuling {
    let reason: String = match &gate.ending {
        Some(GateEnding::Answered { answer, by }) => {
            let reason = answer.reason.as_deref().unwrap_or("no reason was given");
            let reason = format!("{} said no: {reason}", by.name);
            return CallRuling::Denied { reason, interrupts: answer.interrupts };
        }
        Some(GateEnding::Expired { .. }) => "Nobody answered in time. That is not a yes.".into(),
        Some(GateEnding::Withdrawn { by, reason, .. }) => {
            format!("The question was taken back by {by}: {reason}. That is not a yes.")
        }
        Some(GateEnding::Superseded { .. }) | None => "That is not a yes.".into(),
    };
    CallRuling::denied(reason)
}

fn hold(
    batch: &mut WriteBatch<'_, '_>,
    call: &ToolCall,
    held: DeferredAction,
    request: &PolicyRequest,
    ruling: &Ruling,
) -> Result<CallRuling> {
    let id = batch.desk.new_gate_id();
    let card = Card {
        question: format!(
            "May {} run this? {}",
            batch.actor.name,
            shorten(&sanitize_line(&request.in_words()), TITLE_CHARS_MAX)
        ),
        narrative: String::new(),
        facts: facts(call, ruling),
        shape: AnswerShape::Verdict,
    };
    let mut ask = NewGate::ruled(id, GateKind::Tool, batch.actor.task, card, ruling);
    ask.held = Some(held);
    let gate = gates::open(batch, &ask)?;
    let row = batch.row(&id.to_string(), request, ruling)?;
    batch.requests.push(row);
    Ok(CallRuling::Held(Box::new(gate)))
}

/// Returns the facts of a call as captured: first the command, then all arguments.
fn facts(call: &ToolCall, ruling: &Ruling) -> Vec<CardFact> {
    let fact = |name: &str, value: Value| CardFact { name: name.into(), value, verified: true };
    let mut facts = vec![fact("tool", json!(call.tool))];
    facts.extend(call.command.as_ref().map(|command| fact("command", json!(command))));
    facts.extend((!call.paths.is_empty()).then(|| fact("paths", json!(call.paths.join("\n")))));
    facts.extend(call.root.as_ref().map(|root| fact("folder", json!(root))));
    // A command that is the only argument is already shown above.
    let is_all = matches!(&call.arguments, Value::Object(all) if all.len() == 1);
    if call.command.is_none() || !is_all {
        let whole = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
        facts.push(fact("arguments", json!(whole)));
    }
    facts.extend(reason_fact(ruling));
    facts
}
