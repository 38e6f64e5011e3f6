//! Lifecycle of managed (long-running) agents: permission to spawn, restart and stop them, and the queue of orders
//! that follow.
//!
//! A permitted action is an order in the outbox, written in the transaction of its approval. The first process that
//! runs on the right machine carries it out (see `keeper`), under a mark that stays the same. So a crash at any
//! point leads to one agent.

use crate::gates::{self, NewGate};
use crate::policy::{fact, is_governed, is_held, reason_fact};
use crate::settings::{SettingChange, SettingKind};
use crate::write_batch::WriteBatch;
use crate::{AgentSpec, Error, LocalDesk, Result, messages};
use sayso_agents::SessionLocation;
use sayso_core::gate::{Card, CardFact, DeferredAction, Gate, GateCommand, LifecycleAction};
use sayso_core::text::shorten;
use sayso_core::{
    Actor, AnswerShape, Code, GateId, GateKind, Permission, Refusal, Role, Timestamp, TokenId,
};
use sayso_policy::{LifecycleRequest, PolicyEffect, RequestedAction, Ruling};
use sayso_store::{GateFilter, OutboxNotice, PendingNotice, ReadTransaction};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::PathBuf;

/// The outbox channel of orders; its suffix is the host, or empty for any host.
const CHANNEL: &str = "lifecycle@";

/// The maximum number of orders that are read.
const ORDERS_MAX: usize = 10_000;

/// The page size for reading gates.
const GATES_AT_ONCE: usize = 500;

/// The maximum number of characters of a reason in a message.
const REASON_CHARS_MAX: usize = 2_000;

/// The outcome of a request for a lifecycle action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LifecycleRequestOutcome {
    /// The action is permitted: the id of its order.
    Ordered(GateId),
    /// The action is held until a person approves it.
    Held(Box<Gate>),
}

/// A queued lifecycle action for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifecycleOrder {
    /// The gate at which it was approved, or an id of its own. It is the mark of the agent that it starts.
    pub id: GateId,
    pub action: LifecycleAction,
    pub agent: String,
    /// The specification to start: the one that was shown to the approver.
    pub spec: AgentSpec,
    /// The host on which it is carried out; none means any.
    pub host: Option<String>,
    /// The agent that is told the outcome.
    pub asker: Option<String>,
    /// The person responsible for it.
    pub launcher: String,
}

/// A managed agent that runs, with its host, session and credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningAgent {
    /// Its mark: the order that started it.
    pub mark: GateId,
    pub host: String,
    /// Its process or tmux session on the host.
    pub place: SessionLocation,
    /// The file with its output.
    pub log: PathBuf,
    pub token: TokenId,
    /// The time at which it was started.
    pub since: Timestamp,
}

/// An order that was not carried out yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingOrder {
    pub order: LifecycleOrder,
    /// The time from which it may be claimed.
    pub due_at: Timestamp,
    /// The number of attempts so far.
    pub attempts: u32,
    /// The error of the last attempt.
    pub error: Option<String>,
}

/// A configured managed agent with its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagedAgent {
    pub name: String,
    pub spec: AgentSpec,
    /// The running agent, if it was started.
    pub stationed: Option<RunningAgent>,
    /// The queued order for it, if there is one.
    pub pending: Option<PendingOrder>,
}

impl LifecycleRequestOutcome {
    /// Returns the id of the order, or a refusal that names the gate at which a person is asked first.
    pub fn ordered(self) -> Result<GateId> {
        match self {
            LifecycleRequestOutcome::Ordered(id) => Ok(id),
            LifecycleRequestOutcome::Held(gate) => Err(is_held(&gate).into()),
        }
    }
}

impl LocalDesk {
    /// Requests that an agent is spawned, restarted or stopped. A request by a person at their own terminal is
    /// permitted; for all other actors the policy decides.
    pub fn request_lifecycle(
        &self,
        actor: &Actor,
        action: LifecycleAction,
        agent: &str,
        reason: &str,
    ) -> Result<LifecycleRequestOutcome> {
        let (id, agent, reason) = (self.new_gate_id(), agent.to_owned(), reason.to_owned());
        self.submit(actor, move |batch| request(batch, id, action, &agent, &reason))
    }

    /// Returns the configured managed agents by name.
    pub fn members(&self) -> Result<Vec<ManagedAgent>> {
        self.read(|read| {
            let rules = self.rules(read)?;
            let mut stationed = rules.of::<RunningAgent>(SettingKind::Station);
            let mut orders = orders(read, self.space)?;
            let member = |(name, spec): (&str, AgentSpec)| {
                let stationed = take(&mut stationed, |(of, _)| *of == name).map(|(_, at)| at);
                let pending = take(&mut orders, |pending| pending.order.agent == name);
                ManagedAgent { name: name.to_owned(), spec, stationed, pending }
            };
            Ok(rules.of(SettingKind::Agent).into_iter().map(member).collect())
        })
    }

    /// Returns the managed agent of that name.
    pub fn member(&self, name: &str) -> Result<ManagedAgent> {
        let mut all = self.members()?;
        let found = take(&mut all, |member| member.name == name);
        let known = || unknown(name, all.iter().map(|member| member.name.as_str()));
        found.ok_or_else(|| known().into())
    }

    /// Returns an order that was not carried out yet.
    pub fn pending(&self, id: GateId) -> Result<Option<PendingOrder>> {
        // An order without a gate is known by its id to the process that made it, and to no other.
        if let Some(actor) = self.limited_reader()
            && let Some(gate) = self.stored_gate(id)?
            && !gates::may_read(actor, &gate)
        {
            self.note_hidden(actor, &id);
            return Ok(None);
        }
        let name = notice_id(id);
        self.read(|read| Ok(read.notice_under_way(&name)?.and_then(pending)))
    }

    /// Returns all queued orders.
    pub fn orders(&self) -> Result<Vec<PendingOrder>> {
        self.read(|read| orders(read, self.space))
    }

    /// Deletes a managed agent: its open gates and those about it are withdrawn, its credentials are revoked, and the
    /// evidence stays. A running agent has to be stopped first; `force` gives it up, for a machine that does not
    /// exist any more.
    pub fn delete_agent(&self, actor: &Actor, name: &str, reason: &str, force: bool) -> Result<()> {
        let (name, reason) = (name.to_owned(), reason.to_owned());
        self.submit(actor, move |batch| {
            batch.actor.check(Permission::Govern, "delete an agent")?;
            batch.check_space_is_there()?;
            spec_of(batch, &name)?;
            batch.set_audit_subject("agent.deleted", &name, None, &reason);
            let policy = format!("agent/{name}");
            let mut changes = vec![
                change(SettingKind::Agent, &name, None),
                change(SettingKind::Policy, &policy, None),
            ];
            if force {
                changes.push(change(SettingKind::Station, &name, None));
            }
            batch.change(&changes, &reason).map(drop)
        })
    }
}

fn request(
    batch: &mut WriteBatch<'_, '_>,
    id: GateId,
    action: LifecycleAction,
    agent: &str,
    reason: &str,
) -> Result<LifecycleRequestOutcome> {
    batch.actor.check(Permission::Track, "have agents spawned, restarted or stopped")?;
    batch.check_space_is_there()?;
    let spec = spec_of(batch, agent)?;
    if let Some(gate) = open_gate(batch, action, agent)? {
        return Ok(LifecycleRequestOutcome::Held(Box::new(gate)));
    }
    let host = host_for(batch, action, agent, &spec)?;
    let Actor { name, launcher, .. } = batch.actor.clone();
    let is_told = is_governed(batch.actor);
    let order = LifecycleOrder {
        id,
        action,
        agent: agent.to_owned(),
        spec,
        host,
        asker: is_told.then(|| name.clone()),
        launcher: launcher.unwrap_or(name),
    };
    if !is_governed(batch.actor) {
        return order.issue(batch, reason);
    }
    let subject = RequestedAction::Lifecycle(LifecycleRequest { action, target: agent.to_owned() });
    let request = batch.request(subject, batch.actor.task.map(|task| (task, None)))?;
    let ruling = batch.rule(&request)?;
    let row = batch.row(&id.to_string(), &request, &ruling)?;
    match ruling.effect {
        PolicyEffect::Deny => batch.deny(&request, &ruling),
        PolicyEffect::Ask => {
            batch.requests.push(row);
            ask(batch, &order, &ruling, reason)
                .map(|gate| LifecycleRequestOutcome::Held(gate.into()))
        }
        PolicyEffect::Allow => {
            batch.requests.push(row);
            order.issue(batch, reason)
        }
    }
}

/// Returns the open gate at which the caller has requested the same action.
fn open_gate(
    batch: &mut WriteBatch<'_, '_>,
    action: LifecycleAction,
    agent: &str,
) -> Result<Option<Gate>> {
    let actor = batch.actor;
    let filter = GateFilter {
        kinds: vec![GateKind::Lifecycle],
        asker: Some(actor.name.clone()),
        limit: GATES_AT_ONCE,
        ..GateFilter::default()
    };
    let wanted = DeferredAction::Lifecycle { action, agent: agent.to_owned() };
    let is_it = |gate: &Gate| {
        gate.opened.held.as_ref() == Some(&wanted) && gate.opened.lineage.role == actor.role
    };
    Ok(batch.write.gates(batch.space, &filter)?.items.into_iter().find(is_it))
}

fn ask(
    batch: &mut WriteBatch<'_, '_>,
    order: &LifecycleOrder,
    ruling: &Ruling,
    reason: &str,
) -> Result<Gate> {
    let LifecycleOrder { id, action, agent, .. } = order;
    let mut facts = vec![fact("agent", agent), fact("action", action.as_str())];
    facts.extend(description(&order.spec));
    facts.extend(reason_fact(ruling));
    let card = Card {
        question: format!("May {agent} be {}?", past_participle(*action)),
        narrative: reason.to_owned(),
        facts,
        shape: AnswerShape::Verdict,
    };
    let mut ask = NewGate::ruled(*id, GateKind::Lifecycle, None, card, ruling);
    ask.held = Some(DeferredAction::Lifecycle { action: *action, agent: agent.clone() });
    gates::open(batch, &ask)
}

/// Returns the specification to start as facts on a card.
fn description(spec: &AgentSpec) -> Vec<CardFact> {
    let AgentSpec { program, args, backend, host, folder, role, nudge } = spec;
    let words = CardFact { name: "arguments".into(), value: json!(args), verified: true };
    let mut facts = vec![fact("program", program)];
    facts.extend((!args.is_empty()).then_some(words));
    facts.push(fact("backend", backend.as_str()));
    facts.push(fact("host", host.as_deref().unwrap_or("any")));
    facts.extend(folder.iter().map(|folder| fact("folder", folder)));
    facts.extend(role.iter().map(|role| fact("role", role)));
    facts.extend(nudge.iter().map(|kind| CardFact {
        name: "nudge".into(),
        value: json!(kind),
        verified: true,
    }));
    facts
}

/// Issues the order of an approved request, in the transaction of the approval. The configuration is checked again;
/// if it is not what was shown any more, nothing is done, and the asker is told.
pub(crate) fn approve(batch: &mut WriteBatch<'_, '_>, gate: &Gate) -> Result<()> {
    let Some(DeferredAction::Lifecycle { action, agent }) = &gate.opened.held else {
        return Ok(());
    };
    match approved_order(batch, gate, *action, agent) {
        Ok(order) => order.send(batch),
        Err(Error::Refused(refusal)) => {
            let what = format!("{agent} was not {}: {}", past_participle(*action), refusal.message);
            note(batch, gate.opened.id, Some(&gate.opened.lineage.asker), false, &what)
        }
        Err(error) => Err(error),
    }
}

fn approved_order(
    batch: &mut WriteBatch<'_, '_>,
    gate: &Gate,
    action: LifecycleAction,
    agent: &str,
) -> Result<LifecycleOrder> {
    if batch.is_denied_by_now(gate)? {
        let message = "the policy does not allow it any more";
        return Err(Refusal::new(Code::Denied, message).into());
    }
    let spec = spec_of(batch, agent)?;
    let is_as_shown = |fact| gate.opened.card.facts.contains(fact);
    if !description(&spec).iter().all(is_as_shown) {
        let message = format!("{agent} is set up otherwise than it was when this was asked");
        return Err(Refusal::new(Code::Stale, message).into());
    }
    let host = host_for(batch, action, agent, &spec)?;
    let lineage = &gate.opened.lineage;
    let approver = gate.answer().map(|(_, by)| by.name.clone());
    let launcher = lineage.launcher.clone().or(approver).unwrap_or_else(|| lineage.asker.clone());
    let (id, agent, asker) = (gate.opened.id, agent.to_owned(), Some(lineage.asker.clone()));
    Ok(LifecycleOrder { id, action, agent, spec, host, asker, launcher })
}

/// Returns the host for the action, or refuses if the action is not possible.
fn host_for(
    batch: &mut WriteBatch<'_, '_>,
    action: LifecycleAction,
    agent: &str,
    spec: &AgentSpec,
) -> Result<Option<String>> {
    let is_busy = |pending: &&PendingOrder| pending.order.agent == agent;
    if let Some(PendingOrder { order, .. }) = orders(batch.write, batch.space)?.iter().find(is_busy)
    {
        let message = format!("{agent} is about to be {} already", past_participle(order.action));
        return Err(wrong_state(message, "see how it stands with: sayso agent list"));
    }
    let stationed = stationed(batch.write, batch.space, agent)?;
    check_is_possible(action, agent, stationed.as_ref())?;
    let set = spec.host.clone();
    let Some(RunningAgent { host, .. }) = stationed else { return Ok(set) };
    if action == LifecycleAction::Restart && set.as_ref().is_some_and(|set| *set != host) {
        let message = format!("{agent} runs on {host} and is to run on another machine now");
        return Err(wrong_state(message, "have it stopped, then spawned"));
    }
    Ok(Some(host))
}

/// Checks that a running agent is not spawned, and that one that does not run is neither restarted nor stopped:
/// permission for one action is not permission for the other.
pub(crate) fn check_is_possible(
    action: LifecycleAction,
    agent: &str,
    stationed: Option<&RunningAgent>,
) -> Result<()> {
    match (action, stationed) {
        (LifecycleAction::Spawn, Some(RunningAgent { host, .. })) => {
            let message = format!("{agent} was spawned before, on {host}");
            Err(wrong_state(message, &format!("start it anew with: sayso agent restart {agent}")))
        }
        (LifecycleAction::Restart | LifecycleAction::Stop, None) => {
            let hint = format!("start it with: sayso agent spawn {agent}");
            Err(wrong_state(format!("{agent} does not run"), &hint))
        }
        (LifecycleAction::Spawn, None)
        | (LifecycleAction::Restart | LifecycleAction::Stop, Some(_)) => Ok(()),
    }
}

impl LifecycleOrder {
    /// Issues an order that needs no approval.
    fn issue(
        &self,
        batch: &mut WriteBatch<'_, '_>,
        reason: &str,
    ) -> Result<LifecycleRequestOutcome> {
        batch.set_audit_subject(&format!("agent.{}", self.action), &self.agent, None, reason);
        self.send(batch)?;
        Ok(LifecycleRequestOutcome::Ordered(self.id))
    }

    fn send(&self, batch: &mut WriteBatch<'_, '_>) -> Result<()> {
        let body = serde_json::to_string(self)
            .map_err(|e| sayso_store::Error::Other(format!("an order cannot be written: {e}")))?;
        let (space, channel) = (batch.space, channel(self.host.as_deref()));
        batch.notices.push(OutboxNotice {
            id: notice_id(self.id),
            space,
            channel,
            body,
            attempts: 0,
        });
        Ok(())
    }
}

/// Records the outcome of an order on its gate, and tells the asker.
pub(crate) fn note(
    batch: &mut WriteBatch<'_, '_>,
    id: GateId,
    asker: Option<&str>,
    done: bool,
    what: &str,
) -> Result<()> {
    let handle = batch.gate(id)?.map(|gate| gate.handle().to_owned());
    if handle.is_some() {
        batch.on_gate(id, &GateCommand::RecordOutcome { done, what: what.to_owned() })?;
    }
    let Some(asker) = asker else { return Ok(()) };
    let about = handle.map(|handle| format!("Gate {handle}: ")).unwrap_or_default();
    messages::send(batch, asker, &format!("{about}{}.", shorten(what, REASON_CHARS_MAX)))
}

/// Withdraws the gates of a deleted agent and those about it. May refuse, so it comes before [`forget`].
pub(crate) fn dismiss(batch: &mut WriteBatch<'_, '_>, agent: &str, reason: &str) -> Result<()> {
    let is_given_up = batch.sets.iter().any(|setting| {
        let is_its = setting.kind == SettingKind::Station.as_str() && setting.name == agent;
        is_its && setting.body.is_none()
    });
    let stationed = stationed(batch.write, batch.space, agent)?;
    if let Some(RunningAgent { host, .. }) = stationed.filter(|_| !is_given_up) {
        let hint = format!("stop it first with: sayso agent stop {agent}");
        return Err(wrong_state(format!("{agent} runs on {host}"), &hint));
    }
    let why = why(&format!("agent {agent} was deleted"), reason);
    let asker = Some(agent.to_owned());
    let kinds = vec![GateKind::Lifecycle];
    let limit = GATES_AT_ONCE;
    withdraw_each(batch, GateFilter { asker, limit, ..GateFilter::default() }, &why, |gate| {
        gate.opened.lineage.role == Role::Agent
    })?;
    withdraw_each(batch, GateFilter { kinds, limit, ..GateFilter::default() }, &why, |gate| {
        let held = gate.opened.held.as_ref();
        matches!(held, Some(DeferredAction::Lifecycle { agent: about, .. }) if about == agent)
    })
}

fn withdraw_each(
    batch: &mut WriteBatch<'_, '_>,
    mut filter: GateFilter,
    why: &str,
    is_meant: impl Fn(&Gate) -> bool,
) -> Result<()> {
    loop {
        let page = batch.write.gates(batch.space, &filter)?;
        for gate in page.items.iter().filter(|gate| is_meant(gate)) {
            gates::withdraw(batch, gate.opened.id, why)?;
        }
        filter.after = page.items.last().map(|gate| gate.opened.id);
        if !page.more {
            return Ok(());
        }
    }
}

/// Revokes the credentials of a deleted agent, and cancels its orders.
pub(crate) fn forget(batch: &mut WriteBatch<'_, '_>, agent: &str, reason: &str) -> Result<()> {
    let why = why(&format!("agent {agent} was deleted"), reason);
    cancel(batch, &why, |order| order.agent == agent)?;
    batch.revoke_tokens_of_agent(agent)
}

/// Cancels queued orders.
pub(crate) fn cancel(
    batch: &mut WriteBatch<'_, '_>,
    why: &str,
    is_meant: impl Fn(&LifecycleOrder) -> bool,
) -> Result<()> {
    let all = orders(batch.write, batch.space)?.into_iter().map(|pending| pending.order);
    for LifecycleOrder { id, action, agent, asker, .. } in all.filter(is_meant) {
        let what = format!("{agent} was not {}: {why}", past_participle(action));
        note(batch, id, asker.as_deref(), false, &what)?;
        batch.write.settle_notice(&notice_id(id), batch.at)?;
    }
    Ok(())
}

/// Checks that no agent of a space runs: after the space is deleted it could not be stopped any more.
pub(crate) fn check_none_runs(batch: &mut WriteBatch<'_, '_>) -> Result<()> {
    let rules = batch.desk.rules(batch.write)?;
    let running: Vec<_> =
        rules.of::<RunningAgent>(SettingKind::Station).into_iter().map(|(name, _)| name).collect();
    if running.is_empty() {
        Ok(())
    } else {
        Err(wrong_state(
            format!("agents of this space run: {}", running.join(", ")),
            "stop them first with: sayso agent stop NAME",
        ))
    }
}

/// Reads the host and session in which an agent runs.
pub(crate) fn stationed(
    read: &mut ReadTransaction<'_>,
    space: sayso_core::SpaceId,
    agent: &str,
) -> Result<Option<RunningAgent>> {
    let setting = crate::ledger::setting(read, space, SettingKind::Station, agent)?;
    stationed_at(agent, setting.and_then(|setting| setting.body).as_deref())
}

/// Parses the setting that says where an agent runs.
pub(crate) fn stationed_at(agent: &str, body: Option<&str>) -> Result<Option<RunningAgent>> {
    let Some(body) = body else { return Ok(None) };
    let unreadable =
        |e| sayso_store::Error::Other(format!("where {agent} runs is unreadable: {e}"));
    Ok(Some(serde_json::from_str(body).map_err(unreadable)?))
}

/// Returns the setting that says where an agent runs, or that it does not.
pub(crate) fn station(agent: &str, at: Option<&RunningAgent>) -> SettingChange {
    let body = at.map(|at| serde_json::to_string(at).unwrap_or_default());
    change(SettingKind::Station, agent, body)
}

fn change(kind: SettingKind, name: &str, body: Option<String>) -> SettingChange {
    SettingChange { kind, name: name.to_owned(), body }
}

fn orders(read: &mut ReadTransaction<'_>, space: sayso_core::SpaceId) -> Result<Vec<PendingOrder>> {
    let all = read.notices_under_way(space, CHANNEL, ORDERS_MAX)?;
    Ok(all.into_iter().filter_map(pending).collect())
}

/// Reads an order that was not carried out yet.
pub(crate) fn order(read: &mut ReadTransaction<'_>, id: GateId) -> Result<Option<LifecycleOrder>> {
    let under_way = read.notice_under_way(&notice_id(id))?;
    Ok(under_way.and_then(pending).map(|pending| pending.order))
}

fn pending(under_way: PendingNotice) -> Option<PendingOrder> {
    let PendingNotice { notice, due_at, error } = under_way;
    let order: LifecycleOrder = serde_json::from_str(&notice.body).ok()?;
    // The host in the channel wins: once a host has claimed the order, it stays there.
    let host = notice.channel.strip_prefix(CHANNEL).filter(|host| !host.is_empty());
    let order = LifecycleOrder { host: host.map(str::to_owned), ..order };
    Some(PendingOrder { order, due_at, attempts: notice.attempts, error })
}

fn spec_of(batch: &mut WriteBatch<'_, '_>, agent: &str) -> Result<AgentSpec> {
    let rules = batch.desk.rules(batch.write)?;
    let mut all = rules.of::<AgentSpec>(SettingKind::Agent);
    let found = take(&mut all, |(name, _)| *name == agent);
    let missing = || unknown(agent, all.iter().map(|(name, _)| *name));
    found.map(|(_, spec)| spec).ok_or_else(|| missing().into())
}

fn unknown<'a>(agent: &str, known: impl Iterator<Item = &'a str>) -> Refusal {
    let known: Vec<_> = known.collect();
    let there_are = if known.is_empty() {
        "none is set".to_owned()
    } else {
        format!("there are {}", known.join(", "))
    };
    Refusal::new(Code::NotFound, format!("there is no agent {agent:?}: {there_are}"))
        .hint("agents are set in a fleet file: sayso apply FILE")
}

pub(crate) fn channel(host: Option<&str>) -> String {
    format!("{CHANNEL}{}", host.unwrap_or_default())
}

pub(crate) fn notice_id(id: GateId) -> String {
    format!("lifecycle/{id}")
}

/// Returns the past participle of an action.
pub(crate) const fn past_participle(action: LifecycleAction) -> &'static str {
    match action {
        LifecycleAction::Spawn => "spawned",
        LifecycleAction::Restart => "restarted",
        LifecycleAction::Stop => "stopped",
    }
}

fn why(what: &str, reason: &str) -> String {
    match reason {
        "" => what.to_owned(),
        _ => format!("{what}: {reason}"),
    }
}

fn wrong_state(message: String, hint: &str) -> Error {
    Refusal::new(Code::WrongState, message).hint(hint).into()
}

fn take<T>(all: &mut Vec<T>, is_it: impl FnMut(&T) -> bool) -> Option<T> {
    let at = all.iter().position(is_it)?;
    Some(all.remove(at))
}
