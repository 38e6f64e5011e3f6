//! Commands and queries about gates: ask, answer, withdraw, deliver, wait, list.

use crate::recipients::resolve_recipients;
use crate::visibility::{check_knows_task, may_know_task};
use crate::write_batch::{WriteBatch, not_found};
use crate::{
    CardAnswer, Error, LocalDesk, Result, lifecycle, load, notices, nudges, paging, policy, timers,
};
use sayso_core::gate::{
    self, Card, DeferredAction, DeliveryState, Gate, GateCommand, GateEnding, GateSpec,
};
use sayso_core::task::{self, Task, TaskEvent, TaskStatus};
use sayso_core::{
    Actor, Answer, AnswerContent, AnswerShape, Code, FlowId, GateId, GateKind, IdentityProof,
    Permission, Refusal, Role, TaskId, TimeoutAction, Timestamp, Verdict,
};
use sayso_policy::{AskDemands, Ruling};
use sayso_store::{GateFilter, HandleTable, ListPage, PrefetchPlan, WatchTopic};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The number of an asker's gates that are searched for the same question.
const ASKED_BEFORE_MAX: usize = 200;

/// The maximum number of dependent tasks that are blocked with one that is given up.
const DEPENDENTS_MAX: usize = 10_000;

/// The time during which a delivered answer is delivered again: the first delivery may have been lost.
const HANDED_MICROS: i64 = 5 * 60 * 1_000_000;

/// The time during which an unacknowledged answer is kept for an asker who repeats the question.
const ANSWER_MICROS: i64 = 24 * 3_600 * 1_000_000;

/// The minimum deadline of a gate.
const DEADLINE_MS_MIN: u64 = 1_000;

/// The arguments for opening a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewGate {
    /// Created by the asker: asking again with the same id returns the same gate.
    pub id: GateId,
    /// The kind of gate.
    pub kind: GateKind,
    /// The task that waits for the answer.
    pub task: Option<TaskId>,
    /// The card that people see.
    pub card: Card,
    /// The approvers, the required proof, and the deadline. The policy may demand more.
    pub demands: AskDemands,
    /// True if a policy made these demands. Approval on timeout is accepted only then, so the flag is never sent by a
    /// client.
    #[serde(skip)]
    pub is_ruled: bool,
    /// The action that is executed on approval. The policy has already judged it, so the field is never sent by a
    /// client.
    #[serde(skip)]
    pub held: Option<DeferredAction>,
}

impl NewGate {
    /// Returns a question that any person may answer, without a deadline.
    pub fn new(id: GateId, kind: GateKind, task: Option<TaskId>, card: Card) -> Self {
        let demands = AskDemands { proof: IdentityProof::Token, ..AskDemands::default() };
        Self { id, kind, task, card, demands, is_ruled: false, held: None }
    }

    /// Returns the question that a ruling requires, with the demands of the ruling.
    pub(crate) fn ruled(
        id: GateId,
        kind: GateKind,
        task: Option<TaskId>,
        card: Card,
        ruling: &Ruling,
    ) -> Self {
        Self::new(id, kind, task, card).demanded_by(ruling)
    }

    /// Replaces the demands by those of a ruling.
    pub(crate) fn demanded_by(self, ruling: &Ruling) -> Self {
        let demands = ruling.demands.clone().unwrap_or_default();
        Self { demands, is_ruled: true, ..self }
    }
}

/// The result of a wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum WaitOutcome {
    /// The gate has ended.
    Ended(Box<Gate>),
    /// The timeout has passed and the gate is still open.
    TimedOut(Box<Gate>),
}

impl LocalDesk {
    /// Opens a gate. It is stored durably when this returns.
    pub fn ask(&self, actor: &Actor, ask: NewGate) -> Result<Gate> {
        self.submit_prefetched(actor, prefetch_for_ask(&ask), move |batch| {
            let ask = resolve_recipients(batch, &ask)?;
            open(batch, &ask)
        })
    }

    /// Opens a gate, unless the same asker has an unacknowledged gate with the same question: then that one is
    /// returned. So an asker that lost its connection while waiting repeats the question and gets the answer.
    pub fn ask_once(&self, actor: &Actor, ask: NewGate) -> Result<Gate> {
        self.submit_prefetched(actor, prefetch_for_ask(&ask), move |batch| {
            batch.actor.check(Permission::Ask, "ask")?;
            if let Some(gate) = asked_before(batch, &ask)? {
                return Ok(gate);
            }
            let ask = resolve_recipients(batch, &ask)?;
            open(batch, &ask)
        })
    }

    /// Revises the card of an open gate.
    pub fn revise(&self, actor: &Actor, id: GateId, card: Card) -> Result<Gate> {
        self.on_gate(actor, id, GateCommand::Revise(card))
    }

    /// Records that the actor was shown these cards. Only people are recorded, and each version of a card once, so a
    /// repeated read writes nothing.
    pub fn see(&self, actor: &Actor, shown: &[Gate]) -> Result<()> {
        let is_new = |gate: &&Gate| {
            gate.is_open() && gate.seen_by(&actor.name).is_none_or(|s| s.digest != gate.digest)
        };
        let cards = shown.iter().filter(is_new);
        self.see_digests(actor, cards.map(|g| (g.opened.id, g.digest.to_string())).collect())
    }

    /// Records that the actor was shown these versions of cards.
    pub(crate) fn see_digests(&self, actor: &Actor, cards: Vec<(GateId, String)>) -> Result<()> {
        if actor.role != Role::Human || cards.is_empty() {
            return Ok(());
        }
        cards.iter().try_for_each(|(id, _)| self.check_sees(actor, *id))?;
        let foresight = cards.iter().fold(PrefetchPlan::default(), |all, (id, _)| all.gate(*id));
        let noted = self.submit_prefetched(actor, foresight, move |batch| {
            for (id, digest) in &cards {
                batch.on_gate(*id, &GateCommand::MarkSeen { digest: digest.clone() })?;
            }
            Ok(())
        });
        match noted {
            // On a read-only store, reading must still succeed.
            Err(Error::Store(sayso_store::Error::ReadOnly(_))) => Ok(()),
            noted => noted,
        }
    }

    /// Snoozes a gate, and all others on its card.
    pub fn snooze(&self, actor: &Actor, id: GateId, until: Timestamp) -> Result<Gate> {
        self.on_card(actor, id, GateCommand::Snooze { until })
    }

    /// Claims a card for the actor until a time.
    pub fn claim(&self, actor: &Actor, id: GateId, until: Timestamp) -> Result<Gate> {
        self.on_card(actor, id, GateCommand::Claim { until })
    }

    /// Releases the claim on a card.
    pub fn release(&self, actor: &Actor, id: GateId) -> Result<Gate> {
        self.on_card(actor, id, GateCommand::Release)
    }

    /// Answers one gate. The first answer wins; later callers learn who gave it.
    pub fn answer(&self, actor: &Actor, id: GateId, answer: Answer, digest: &str) -> Result<Gate> {
        self.check_sees(actor, id)?;
        let digest = digest.to_owned();
        self.look_before_locking(actor, id, &answer, &digest)?;
        self.submit_prefetched(actor, prefetch_for_ending(id), move |batch| {
            let answer = with_notes(batch, id, answer.clone())?;
            answer_one(batch, id, answer, &digest)
        })
    }

    /// Refuses most late answers without taking the write lock. A store with a single writer thread has no lock to
    /// wait for.
    pub(crate) fn look_before_locking(
        &self,
        actor: &Actor,
        id: GateId,
        answer: &Answer,
        digest: &str,
    ) -> Result<()> {
        if self.store.has_writer() {
            return Ok(());
        }
        let gate = self.stored_gate(id)?.ok_or_else(|| not_found("gate", &id))?;
        if gate.is_open() {
            return Ok(());
        }
        let command = GateCommand::Answer { answer: answer.clone(), digest: digest.into() };
        let actor = self.read(|read| self.speaking(read, actor, self.now()))?;
        let refused = gate::decide(Some(&gate), &command, &actor, self.now()).err();
        match refused.filter(|r| !r.is_about_authority()) {
            Some(refusal) => Err(refusal.into()),
            None => Ok(()),
        }
    }

    /// Checks that an answer would be accepted now, or returns the reason why not. It changes and records nothing.
    pub fn would_take(&self, actor: &Actor, say: &CardAnswer) -> Result<()> {
        let gate = self.gate_for(actor, say.gate)?;
        let command =
            GateCommand::Answer { answer: say.answer.clone(), digest: say.digest.clone() };
        let actor = self.read(|read| self.speaking(read, actor, self.now()))?;
        // Invalid content is reported before missing proof, since the caller can correct it at once.
        say.answer.check(gate.opened.kind, &gate.card.shape)?;
        gate::decide(Some(&gate), &command, &actor, self.now())?;
        Ok(())
    }

    /// Withdraws a gate; its task and delivery are settled with it.
    pub fn withdraw(&self, actor: &Actor, id: GateId, reason: &str) -> Result<Gate> {
        self.check_sees(actor, id)?;
        let reason = reason.to_owned();
        self.submit_prefetched(actor, prefetch_for_ending(id), move |batch| {
            withdraw(batch, id, &reason)
        })
    }

    /// Withdraws every gate that a task waits for. That requires the permission to answer, no matter who asked.
    pub fn clear_awaiting(&self, actor: &Actor, task: TaskId, reason: &str) -> Result<usize> {
        check_knows_task(actor, task)?;
        let reason = reason.to_owned();
        self.submit(actor, move |batch| {
            batch.actor.check(Permission::Answer, "clear what a task waits for")?;
            let found = batch.task(task)?.ok_or_else(|| not_found("task", &task))?;
            let gates: Vec<_> = found.waits_for.keys().copied().collect();
            if gates.is_empty() {
                return Err(nothing_waits(&found.handle).into());
            }
            for gate in &gates {
                withdraw(batch, *gate, &reason)?;
            }
            Ok(gates.len())
        })
    }

    /// Records that the ending was delivered to the asker.
    pub fn deliver(&self, actor: &Actor, id: GateId) -> Result<Gate> {
        self.on_gate(actor, id, GateCommand::Deliver)
    }

    /// Records that the asker continued with the ending.
    pub fn acknowledge(&self, actor: &Actor, id: GateId) -> Result<Gate> {
        self.on_gate(actor, id, GateCommand::Acknowledge)
    }

    /// Records that the delivery failed.
    pub fn fail_delivery(&self, actor: &Actor, id: GateId, why: &str) -> Result<Gate> {
        self.on_gate(actor, id, GateCommand::FailDelivery { why: why.into() })
    }

    fn on_gate(&self, actor: &Actor, id: GateId, command: GateCommand) -> Result<Gate> {
        self.check_sees(actor, id)?;
        self.submit_prefetched(actor, PrefetchPlan::default().gate(id), move |batch| {
            batch.on_gate(id, &command)?;
            gate_in(batch, id)
        })
    }

    /// Returns a gate, folded from the log and checked against the audit. Visibility is checked only on the desk of a
    /// limited reader; see `gate_for`.
    pub fn gate(&self, id: GateId) -> Result<Gate> {
        let gate = self.stored_gate(id)?;
        match self.limited_reader() {
            Some(actor) => self.shown_to(actor, gate, id),
            None => Ok(gate.ok_or_else(|| not_found("gate", &id))?),
        }
    }

    /// Returns a gate that is visible to the actor. For an agent, the gates of others do not exist.
    pub fn gate_for(&self, actor: &Actor, id: GateId) -> Result<Gate> {
        let gate = self.stored_gate(id)?;
        self.shown_to(actor, gate, id)
    }

    /// Loads a gate of this space without a visibility check.
    pub(crate) fn stored_gate(&self, id: GateId) -> Result<Option<Gate>> {
        let space = self.space;
        let found = self.look(|read| load::gate(read, id))?;
        Ok(found.map(|(gate, _)| gate).filter(|gate| gate.opened.space == space))
    }

    /// Returns gates, a page at a time. An agent sees its own.
    pub fn gates(&self, actor: &Actor, mut filter: GateFilter) -> Result<ListPage<Gate>> {
        if !actor.may(Permission::Read) {
            if filter.asker.as_ref().is_some_and(|asker| *asker != actor.name) {
                return Ok(ListPage { items: vec![], more: false });
            }
            filter.asker = Some(actor.name.clone());
        }
        loop {
            let mut page = self.read(|read| {
                let most = self.page_bytes_max;
                let page = paging::bounded(most, filter.limit, |last: Option<&Gate>, limit| {
                    let after = last.map(|gate| gate.opened.id).or(filter.after);
                    Ok(read.gates(self.space, &GateFilter { after, limit, ..filter.clone() })?)
                })?;
                page.items.iter().try_for_each(|gate| load::check_listed(read, gate))?;
                Ok(page)
            })?;
            let last = page.items.last().map(|gate| gate.opened.id);
            // The store compares askers by name, and a person may have the name of an agent.
            page.items.retain(|gate| may_read(actor, gate));
            // An empty page has no cursor and would look like the last one.
            if !page.items.is_empty() || !page.more {
                return Ok(page);
            }
            filter.after = last;
        }
    }

    /// Counts the open gates, up to `most`.
    pub fn count_open_gates(&self, most: usize) -> Result<usize> {
        if let Some(actor) = self.limited_reader() {
            let filter = GateFilter { limit: most, ..GateFilter::default() };
            return Ok(self.gates(actor, filter)?.items.len());
        }
        self.read(|read| Ok(read.count_open_gates(self.space, most)?))
    }

    /// Waits until the gate has ended, or until `timeout` has passed. The gate is stored, so a waiting process may
    /// die and wait again.
    pub fn wait(&self, id: GateId, timeout: Option<Duration>) -> Result<WaitOutcome> {
        let began = Instant::now();
        let gate = self.gate(id)?;
        if !gate.is_open() {
            return Ok(WaitOutcome::Ended(Box::new(gate)));
        }
        // Subscribe before reading: a commit in between wakes us.
        let mut watch = self.store.watch(&[WatchTopic::Gate(id)])?;
        loop {
            let gate = self.gate(id)?;
            if !gate.is_open() {
                return Ok(WaitOutcome::Ended(Box::new(gate)));
            }
            // The waiting process fires timers as well, since there may be no other process.
            let due = gate.next_due().map(|(when, _)| until(self.now(), when));
            let is_due = due.is_some_and(|due| due.is_zero());
            let gate = if is_due { self.tick(id)? } else { gate };
            let left = timeout.map(|t| t.saturating_sub(began.elapsed()));
            if gate.is_open() && left.is_some_and(|left| left.is_zero()) {
                return Ok(WaitOutcome::TimedOut(Box::new(gate)));
            }
            if is_due {
                continue;
            }
            watch.wait(left.into_iter().chain(due).min().unwrap_or(Duration::MAX));
        }
    }

    /// Records that the asker's task ended before the ending was delivered.
    pub fn give_up_delivery(&self, actor: &Actor, id: GateId, why: &str) -> Result<Gate> {
        self.on_gate(actor, id, GateCommand::GiveUpDelivery { why: why.into() })
    }

    /// Returns the endings that this asker has not acknowledged, oldest first.
    pub fn undelivered(&self, actor: &Actor, limit: usize) -> Result<Vec<Gate>> {
        let ids =
            self.read(|read| Ok(read.deliveries_under_way(self.space, &actor.name, limit)?))?;
        // The store compares askers by name, and a person may have the name of an agent.
        let gates = ids.into_iter().map(|id| self.stored_gate(id));
        let own = |gate: &Gate| {
            let opened = &gate.opened;
            actor.is_asker(&opened.lineage) || actor.follows(&opened.lineage, opened.task)
        };
        gates.filter_map(|gate| gate.map(|gate| gate.filter(own)).transpose()).collect()
    }
}

/// Returns the reads to prefetch for opening a gate.
pub(crate) fn prefetch_for_ask(ask: &NewGate) -> PrefetchPlan {
    let foresight = PrefetchPlan::default().new_gate(ask.id);
    match ask.task {
        Some(task) => foresight.task(task),
        None => foresight,
    }
}

/// Returns the reads to prefetch for ending a gate.
pub(crate) fn prefetch_for_ending(gate: GateId) -> PrefetchPlan {
    PrefetchPlan::default().ending_gate(gate, notices::OF_ONE_GATE_MAX)
}

/// Answers a gate and applies the result to its task.
pub(crate) fn answer_one(
    batch: &mut WriteBatch<'_, '_>,
    id: GateId,
    answer: Answer,
    digest: &str,
) -> Result<Gate> {
    let changed = batch.on_gate(id, &GateCommand::Answer { answer, digest: digest.into() })?;
    settle_task(batch, id, changed)
}

pub(crate) fn may_read(actor: &Actor, gate: &Gate) -> bool {
    actor.may(Permission::Read) || actor.is_asker(&gate.opened.lineage)
}

/// Returns the asker's gate with the same question, if its answer is still to be delivered.
fn asked_before(batch: &mut WriteBatch<'_, '_>, ask: &NewGate) -> Result<Option<Gate>> {
    for ended in [false, true] {
        let filter = GateFilter {
            asker: Some(batch.actor.name.clone()),
            kinds: vec![ask.kind],
            ended,
            limit: ASKED_BEFORE_MAX,
            ..GateFilter::default()
        };
        for listed in batch.write.gates(batch.space, &filter)?.items {
            if listed.card != ask.card || listed.opened.task != ask.task {
                continue;
            }
            // A decision relies on the gate folded from the log, not on the listed row.
            let gate = gate_in(batch, listed.opened.id)?;
            let is_same = batch.actor.is_asker(&gate.opened.lineage) && gate.card == ask.card;
            let is_meant = gate.is_open() || gate.verdict().is_some();
            if is_same && is_meant && !is_answer_stale(&gate, batch.at) {
                return Ok(Some(gate));
            }
        }
    }
    Ok(None)
}

/// True if the answer of a gate does not apply to the same question now: it was acknowledged, or is too old. A
/// person's old approval must not approve a new request.
fn is_answer_stale(gate: &Gate, now: Timestamp) -> bool {
    let is_past = |at: Timestamp, micros| now > at.plus_micros(micros);
    match gate.delivery {
        DeliveryState::Acknowledged { .. } => true,
        DeliveryState::Delivered { at } => is_past(at, HANDED_MICROS),
        DeliveryState::None
        | DeliveryState::Pending { .. }
        | DeliveryState::Failed { .. }
        | DeliveryState::Never { .. } => {
            gate.ended_at().is_some_and(|at| is_past(at, ANSWER_MICROS))
        }
    }
}

/// Opens a gate, and lets its task wait for it in the same transaction.
pub(crate) fn open(batch: &mut WriteBatch<'_, '_>, ask: &NewGate) -> Result<Gate> {
    open_in(batch, ask, None)
}

/// Opens a gate for a flow. The engine sets the flow, never the asker.
pub(crate) fn open_in(
    batch: &mut WriteBatch<'_, '_>,
    ask: &NewGate,
    flow: Option<FlowId>,
) -> Result<Gate> {
    batch.check_space_is_there()?;
    let handle = match batch.gate(ask.id)? {
        Some(gate) => gate.handle().to_owned(),
        None => {
            batch.check_gate_is_free(ask.id)?;
            batch.check_ask_pace()?;
            batch.free_handle(HandleTable::Gates, |len| ask.id.handle(len))?
        }
    };
    if let Some(task) = ask.task {
        let is_known = may_know_task(batch.actor, task);
        batch.task(task)?.filter(|_| is_known).ok_or_else(|| not_found("task", &task))?;
    }
    let lineage = batch.actor.lineage();
    let opened = match batch.gate(ask.id)?.map(|gate| gate.opened.clone()) {
        // Asked again with the same id: the first demands stay.
        Some(opened) => {
            let NewGate { kind, task, card, .. } = ask.clone();
            GateSpec { kind, task, card, lineage, ..opened }
        }
        None => GateSpec { flow, ..opened(batch, ask, &handle)? },
    };
    let is_new = batch.on_gate(ask.id, &GateCommand::Open(Box::new(opened)))?;
    if let Some(task) = ask.task.filter(|_| is_new) {
        let wait = task::TaskCommand::Ask { gate: ask.id, handle, kind: ask.kind };
        batch.on_task(task, &wait)?;
    }
    gate_in(batch, ask.id)
}

/// Returns the opening event of a gate, with the demands of the asker and of the policy.
fn opened(batch: &mut WriteBatch<'_, '_>, ask: &NewGate, handle: &str) -> Result<GateSpec> {
    if !ask.is_ruled && ask.demands.at_end == TimeoutAction::Approve {
        let message = "silence counts as a yes only where a policy says so";
        return Err(Refusal::new(Code::NotAllowed, message).into());
    }
    if ask.demands.deadline_ms.is_some_and(|ms| ms < DEADLINE_MS_MIN) {
        let message = "people have at least a second to answer";
        return Err(Refusal::new(Code::BadValue, message).hint("write --deadline 10m").into());
    }
    if !ask.is_ruled && ask.demands.remind_ms.contains(&0) {
        let message = "people are reminded after a while, not at once";
        return Err(Refusal::new(Code::BadValue, message).hint("write --remind 10m").into());
    }
    let demands = match ask.held {
        Some(_) => ask.demands.clone(),
        None => batch.rule_on_ask(ask)?,
    };
    let rules = batch.desk.rules(batch.write)?;
    let (deadline, schedule) =
        timers::schedule(&demands, batch.at, &rules.calendar_for(&demands.approvers));
    let (card, lineage) = (ask.card.clone(), batch.actor.lineage());
    Ok(GateSpec {
        task: ask.task,
        approvers: demands.approvers,
        least_proof: demands.proof.max(IdentityProof::Token),
        launcher_excluded: demands.not_launcher,
        deadline,
        schedule,
        veto: demands.veto,
        risk: demands.risk,
        held: ask.held.clone(),
        policy: (!rules.policies.is_empty()).then(|| rules.policies.digest().clone()),
        ..GateSpec::new(ask.id, batch.space, handle, ask.kind, card, lineage)
    })
}

pub(crate) fn withdraw(batch: &mut WriteBatch<'_, '_>, id: GateId, reason: &str) -> Result<Gate> {
    let changed = batch.on_gate(id, &GateCommand::Withdraw { reason: reason.into() })?;
    settle_task(batch, id, changed)
}

/// Applies the ending of a gate to its task. The text of an answer becomes a note before the verdict moves the task,
/// so that the agent which takes the task next finds it.
pub(crate) fn settle_task(
    batch: &mut WriteBatch<'_, '_>,
    id: GateId,
    changed: bool,
) -> Result<Gate> {
    let gate = gate_in(batch, id)?;
    let (Some(ending), true) = (&gate.ending, changed) else { return Ok(gate) };
    batch.verdicts.extend(gate.verdict().map(|verdict| (id, verdict)));
    nudges::nudge_asker(batch, &gate)?;
    if gate.is_to_be_done() {
        lifecycle::approve(batch, &gate)?;
    }
    let Some(task) = gate.opened.task else { return gate_in(batch, id) };
    let was = batch.task(task)?.map(|task| task.status);
    if let Some(text) = words(ending) {
        batch.on_task(task, &task::TaskCommand::Note { text, as_agent: false })?;
    }
    let settle = task::TaskCommand::Settle {
        gate: id,
        handle: gate.handle().to_owned(),
        kind: gate.opened.kind,
        ending: ending.as_str(),
        // An expired gate is not a rejection: the agent is told and continues without an answer. And the verdict on a
        // held move only allows or prevents that move.
        verdict: gate
            .verdict_for_task()
            .filter(|v| gate.answer().is_some() || *v == Verdict::Approved)
            .filter(|_| gate.opened.held.is_none()),
    };
    batch.on_task(task, &settle)?;
    block_dependents(batch, task, was)?;
    if let GateEnding::Expired { at_end: TimeoutAction::Fail, .. } = ending {
        let reason = format!("nobody answered gate {} in time", gate.handle());
        batch.on_task(task, &task::TaskCommand::Fail { reason })?;
    }
    if gate.is_to_be_done() {
        policy::perform(batch, &gate, was)?;
        return gate_in(batch, id);
    }
    Ok(gate)
}

/// Blocks the tasks that depend on a task that was given up: it did not produce what they need. A person decides how
/// they continue.
fn block_dependents(
    batch: &mut WriteBatch<'_, '_>,
    id: TaskId,
    was: Option<TaskStatus>,
) -> Result<()> {
    let was_up = was.is_some_and(|was| !was.is_over());
    let given_up = batch.task(id)?.filter(|task| was_up && task.is_given_up());
    let Some(handle) = given_up.map(|task| task.handle.clone()) else { return Ok(()) };
    let reason = format!("it waits for {handle}, which was given up");
    let was_approved = std::mem::replace(&mut batch.is_approved, true);
    for dependent in batch.write.waiting_on(id, DEPENDENTS_MAX)? {
        let is_up = |task: &Task| matches!(task.status, TaskStatus::Open | TaskStatus::Deferred);
        if batch.task(dependent)?.is_some_and(is_up) {
            let reason = reason.clone();
            batch.on_task(dependent, &task::TaskCommand::Block { reason })?;
        }
    }
    batch.is_approved = was_approved;
    Ok(())
}

/// Returns the text that the person wrote, if any.
fn words(ending: &GateEnding) -> Option<String> {
    let GateEnding::Answered { answer, .. } = ending else { return None };
    let content = (!answer.content.is_empty()).then(|| answer.as_text());
    let said: Vec<_> = content.into_iter().chain(answer.reason.clone()).collect();
    (!said.is_empty()).then(|| said.join("\n\n")).filter(|text| !text.trim().is_empty())
}

/// Uses the notes that a person wrote since the question as the answer to a bare approval of a text question. Users
/// of other trackers write the answer as a note and then approve.
pub(crate) fn with_notes(
    batch: &mut WriteBatch<'_, '_>,
    id: GateId,
    answer: Answer,
) -> Result<Answer> {
    let gate = gate_in(batch, id)?;
    let is_bare = !answer.verdict.is_no() && answer.content.is_empty();
    let (true, AnswerShape::Text, Some(task)) = (is_bare, &gate.card.shape, gate.opened.task)
    else {
        return Ok(answer);
    };
    // A repeated bare approval returns the answer that the first one was turned into.
    if let Some((given, by)) = gate.answer() {
        let again = by.name == batch.actor.name && given.reason == answer.reason;
        return Ok(if again { given.clone() } else { answer });
    }
    let notes = notes_since(&load::task_history(batch.write, task)?, id);
    Ok(if notes.is_empty() {
        answer
    } else {
        Answer { content: AnswerContent::Text(notes.join("\n\n")), ..answer }
    })
}

/// Returns the notes that people wrote since the task began to wait for this gate, without those that came from
/// answers to other gates. The order of the log counts, since a clock may have been set back.
fn notes_since(history: &load::TaskTimeline, gate: GateId) -> Vec<String> {
    let is_asked = |e: &TaskEvent| matches!(e, TaskEvent::Asked { gate: id, .. } if *id == gate);
    let since = history.iter().position(|(_, e)| is_asked(e)).unwrap_or(history.len());
    let later = &history[since..];
    // The text of an answer is noted in the same transaction as the settlement, directly before it.
    let is_answer = |at: usize| {
        let next = later.get(at + 1);
        next.is_some_and(|(when, e)| *when == later[at].0 && matches!(e, TaskEvent::Settled { .. }))
    };
    let noted = later.iter().enumerate().filter_map(|(at, (_, e))| match e {
        TaskEvent::Noted(note) if note.role == Role::Human && !is_answer(at) => Some(&note.text),
        _ => None,
    });
    noted.cloned().collect()
}

pub(crate) fn gate_in(batch: &mut WriteBatch<'_, '_>, id: GateId) -> Result<Gate> {
    Ok(batch.gate(id)?.cloned().ok_or_else(|| not_found("gate", &id))?)
}

/// Returns the duration until a moment, zero if it has passed.
fn until(now: Timestamp, moment: Timestamp) -> Duration {
    let micros = moment.as_micros().saturating_sub(now.as_micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

pub(crate) fn nothing_waits(handle: &str) -> Refusal {
    Refusal::new(Code::NotWaiting, format!("task {handle} waits for nobody"))
        .hint("see what waits with: sayso inbox")
}
