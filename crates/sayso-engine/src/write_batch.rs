//! The unit of work of a write: decisions about several streams in one transaction, committed together or not at all.
//! (It is not a batch of SQL statements: the pipelining of those is in the store.)

use crate::load::{self, flow_stream, gate_stream, task_stream};
use crate::policy::PendingApproval;
use crate::{Error, LocalDesk, Result, notices};
use sayso_core::audit::{ChainEntry, ChainHead};
use sayso_core::flow::{self, Flow};
use sayso_core::gate::{self, Gate, GateEffect};
use sayso_core::run::{self, Run};
use sayso_core::task::{self, Task};
use sayso_core::text::shorten;
use sayso_core::{
    Actor, Code, FlowId, GateId, Refusal, Role, RunId, SpaceId, TaskId, Timestamp, Verdict,
};
use sayso_store::{
    DeliveryRow, HandleTable, OutboxNotice, RequestRow, StoredSetting, WriteTransaction,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum text in the history of one task or gate. Beyond it, agents add no long texts.
const HISTORY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Events with less text are always accepted.
const LONG_TEXT_BYTES_MIN: usize = 1024;

/// The maximum length of a reason in an audit entry. The event has the whole text.
pub(crate) const REASON_CHARS_MAX: usize = 2_000;

/// The state of one transaction. Nothing is written before [`WriteBatch::commit`].
pub(crate) struct WriteBatch<'w, 'c> {
    pub(crate) write: &'w mut WriteTransaction<'c>,
    pub(crate) actor: &'w Actor,
    pub(crate) space: SpaceId,
    pub(crate) at: Timestamp,
    pub(crate) desk: &'w LocalDesk,
    /// The settings to write.
    pub(crate) sets: Vec<StoredSetting>,
    /// The side effects to queue in the outbox.
    pub(crate) notices: Vec<OutboxNotice>,
    /// The requests that were judged by the policy, and the verdicts of people on earlier ones.
    pub(crate) requests: Vec<RequestRow>,
    pub(crate) verdicts: Vec<(GateId, Verdict)>,
    /// The request that the policy denied, and the one that needs an approval first. Either aborts the batch.
    pub(crate) denied: Option<RequestRow>,
    pub(crate) hold: Option<PendingApproval>,
    /// True if the batch was approved or follows from a deadline: then the policy is not applied again.
    pub(crate) is_approved: bool,
    gates: BTreeMap<GateId, Option<VersionedState<Gate>>>,
    /// The gates that belong to another space.
    elsewhere: BTreeSet<GateId>,
    tasks: BTreeMap<TaskId, Option<VersionedState<Task>>>,
    runs: BTreeMap<RunId, Option<VersionedState<Run>>>,
    flows: BTreeMap<FlowId, Option<VersionedState<Flow>>>,
    events: PendingEvents,
    effects: Vec<(GateId, u32, GateEffect)>,
    entry: Option<ChainEntry>,
    /// The decisions so far that have an audit entry of their own.
    finished_entries: Vec<(ChainEntry, PendingEvents)>,
}

/// Streams, versions and texts of events.
type PendingEvents = Vec<(String, u64, String)>;

/// The mark by which a commit with an unknown outcome is found again: the position and content of its audit entry.
pub(crate) struct CommitMark {
    seq: u64,
    entry: ChainEntry,
    /// The heads of the hash chain before and after the commit.
    heads: [ChainHead; 2],
}

impl CommitMark {
    pub(crate) fn heads(&self) -> &[ChainHead; 2] {
        &self.heads
    }
}

/// A value after the events of this batch, its version, and a flag that is set if it changed.
#[derive(Clone)]
struct VersionedState<T> {
    now: T,
    version: u64,
    changed: bool,
}

impl<T> VersionedState<T> {
    fn loaded((now, version): (T, u64)) -> Self {
        Self { now, version, changed: false }
    }
}

impl<'w, 'c> WriteBatch<'w, 'c> {
    /// Takes the lock of the space, then reads the clock: later decisions have later timestamps.
    pub(crate) fn begin(
        desk: &'w LocalDesk,
        actor: &'w Actor,
        write: &'w mut WriteTransaction<'c>,
    ) -> sayso_store::Result<Self> {
        write.lock(desk.space)?;
        let at = desk.world.now();
        desk.check_clock(write, at)?;
        Ok(Self {
            write,
            actor,
            space: desk.space,
            at,
            desk,
            sets: vec![],
            notices: vec![],
            requests: vec![],
            verdicts: vec![],
            denied: None,
            hold: None,
            is_approved: false,
            gates: BTreeMap::new(),
            elsewhere: BTreeSet::new(),
            tasks: BTreeMap::new(),
            runs: BTreeMap::new(),
            flows: BTreeMap::new(),
            events: vec![],
            effects: vec![],
            entry: None,
            finished_entries: vec![],
        })
    }

    /// Refuses new gates and tasks in a space that was deleted in the meantime: they would never be found there.
    pub(crate) fn check_space_is_there(&mut self) -> Result<()> {
        if self.write.is_deleted(self.space)? {
            Err(crate::spaces::deleted(&self.desk.space_name).into())
        } else {
            Ok(())
        }
    }

    /// Returns the gate with the events of this batch applied.
    pub(crate) fn gate(&mut self, id: GateId) -> Result<Option<&Gate>> {
        if !self.gates.contains_key(&id) {
            let loaded = load::gate(self.write, id)?;
            let is_elsewhere = loaded.as_ref().is_some_and(|(g, _)| g.opened.space != self.space);
            self.elsewhere.extend(is_elsewhere.then_some(id));
            self.gates.insert(id, loaded.filter(|_| !is_elsewhere).map(VersionedState::loaded));
        }
        Ok(self.gates.get(&id).and_then(Option::as_ref).map(|v| &v.now))
    }

    /// Returns the task with the events of this batch applied.
    pub(crate) fn task(&mut self, id: TaskId) -> Result<Option<&Task>> {
        if !self.tasks.contains_key(&id) {
            let loaded = load::task(self.write, id)?.filter(|(t, _)| t.space == self.space);
            self.tasks.insert(id, loaded.map(VersionedState::loaded));
        }
        Ok(self.tasks.get(&id).and_then(Option::as_ref).map(|v| &v.now))
    }

    /// Returns the run with the events of this batch applied.
    pub(crate) fn run(&mut self, id: RunId) -> Result<Option<&Run>> {
        if !self.runs.contains_key(&id) {
            let loaded = self.write.run(id)?.filter(|(r, _)| r.started.space == self.space);
            self.runs.insert(id, loaded.map(VersionedState::loaded));
        }
        Ok(self.runs.get(&id).and_then(Option::as_ref).map(|v| &v.now))
    }

    /// Returns the flow with the events of this batch applied.
    pub(crate) fn flow(&mut self, id: FlowId) -> Result<Option<&Flow>> {
        if !self.flows.contains_key(&id) {
            let loaded = load::flow(self.write, id)?.filter(|(f, _)| f.started.space == self.space);
            self.flows.insert(id, loaded.map(VersionedState::loaded));
        }
        Ok(self.flows.get(&id).and_then(Option::as_ref).map(|v| &v.now))
    }

    /// Decides and applies a command to a gate. True if it changed.
    pub(crate) fn on_gate(&mut self, id: GateId, command: &gate::GateCommand) -> Result<bool> {
        let mut actor = if command.is_decision() { self.speaking()? } else { self.actor.clone() };
        let is_answer = matches!(command, gate::GateCommand::Answer { .. });
        // Where one person suffices, no second name can fill a quorum.
        let several = self.gate(id)?.filter(|gate| is_answer && gate.takes_others_than(&actor));
        let voices = several.map(|gate| gate.represented(&actor.name, &actor.stands_for));
        let voices = voices.map(|voices| voices.into_iter().map(str::to_owned).collect());
        if let Some(voices) = voices {
            actor.introductions = self.introductions(voices)?;
        }
        let at = self.at;
        let events = gate::decide(self.gate(id)?, command, &actor, at)?;
        let mut versioned = self.gates.remove(&id).flatten();
        for event in &events {
            let (gate, version) = advance(versioned.take(), |gate| gate::apply(gate, event, at))?;
            self.record(&gate_stream(id), version, event)?;
            self.set_audit_subject(
                event.name(),
                gate.handle(),
                Some((gate.revision, &gate)),
                &event_reason(event),
            );
            let effects = gate::effects(&gate, event).into_iter();
            self.effects.extend(effects.map(|effect| (id, gate.revision, effect)));
            versioned = Some(VersionedState { now: gate, version, changed: true });
        }
        self.gates.insert(id, versioned);
        Ok(!events.is_empty())
    }

    /// Decides and applies a command to a task. True if it changed.
    pub(crate) fn on_task(&mut self, id: TaskId, command: &task::TaskCommand) -> Result<bool> {
        let (actor, at) = (self.actor, self.at);
        let before = self.task(id)?;
        let from = before.map(|task| task.status);
        let events = match task::decide(before, command, actor, at) {
            Ok(events) => events,
            Err(refusal) => return Err(self.or_held(id, command, refusal)?.into()),
        };
        if !events.is_empty() {
            self.check_is_heard(id, command)?;
        }
        // After the decision: an edit that amounts to a verdict is refused as a verdict, and the refusal is audited.
        if let task::TaskCommand::Edit(edit) = command {
            self.check_may_edit(id, edit)?;
        }
        let mut versioned = self.tasks.remove(&id).flatten();
        for event in &events {
            let (task, version) = advance(versioned.take(), |task| task::apply(task, event, at))?;
            self.record(&task_stream(id), version, event)?;
            self.set_audit_subject(event.name(), &task.handle, None, "");
            versioned = Some(VersionedState { now: task, version, changed: true });
        }
        let to = versioned.as_ref().map(|v| v.now.status);
        self.tasks.insert(id, versioned);
        if let (Some(from), Some(to)) = (from, to.filter(|to| Some(*to) != from)) {
            self.rule_on_move(id, command, from, to)?;
        }
        Ok(!events.is_empty())
    }

    /// Refuses an agent's command that would move a task away while an answer for it is under delivery.
    fn check_is_heard(&mut self, id: TaskId, command: &task::TaskCommand) -> Result<()> {
        if self.actor.role != Role::Agent || !command.moves_away() {
            return Ok(());
        }
        let gates = self.write.gates_undelivered(id)?;
        let actor = self.actor;
        match self.task(id)? {
            Some(task) => Ok(task::check_answers_delivered(task, command, actor, &gates)?),
            None => Ok(()),
        }
    }

    /// Checks a command about a task without applying it.
    pub(crate) fn may_task(&mut self, id: TaskId, command: &task::TaskCommand) -> Result<()> {
        let (actor, at) = (self.actor, self.at);
        match task::decide(self.task(id)?, command, actor, at) {
            Ok(events) if events.is_empty() => Ok(()),
            Ok(_) => self.check_is_heard(id, command),
            Err(refusal) => Err(self.or_held(id, command, refusal)?.into()),
        }
    }

    /// Decides and applies a command to a run. True if it changed.
    pub(crate) fn on_run(&mut self, id: RunId, command: &run::RunCommand) -> Result<bool> {
        let (actor, at) = (self.actor, self.at);
        let events = run::decide(self.run(id)?, command, actor, at)?;
        let mut revoked = false;
        let mut versioned = self.runs.remove(&id).flatten();
        for event in &events {
            let (run, version) = advance(versioned.take(), |run| run::apply(run, event, at))?;
            self.record(&format!("run/{id}"), version, event)?;
            self.set_audit_subject(event.name(), &id.handle(4), None, "");
            if run::effects(event).contains(&run::RunEffect::RevokeToken) {
                revoked = true;
            }
            versioned = Some(VersionedState { now: run, version, changed: true });
        }
        self.runs.insert(id, versioned);
        if revoked {
            self.revoke_tokens_of_run(id)?;
        }
        Ok(!events.is_empty())
    }

    /// Decides and applies a command to a flow. True if it changed.
    pub(crate) fn on_flow(&mut self, id: FlowId, command: &flow::FlowCommand) -> Result<bool> {
        let (actor, at) = (self.actor, self.at);
        let events = flow::decide(self.flow(id)?, command, actor, at)?;
        // Several steps have one audit entry, named after the last event that is not about the lease of the flow.
        let telling = events.iter().rfind(|event| !event.is_lease_event());
        let Some(telling) = telling.or(events.last()) else { return Ok(false) };
        let mut versioned = self.flows.remove(&id).flatten();
        for event in &events {
            let (flow, version) = advance(versioned.take(), |flow| flow::apply(flow, event, at))?;
            self.record(&flow_stream(id), version, event)?;
            versioned = Some(VersionedState { now: flow, version, changed: true });
        }
        if let Some(flow) = &versioned {
            let handle = flow.now.started.handle.clone();
            self.set_audit_subject(telling.name(), &handle, None, "");
        }
        self.flows.insert(id, versioned);
        Ok(true)
    }

    /// Writes an event of a stream that is not folded by a state machine.
    pub(crate) fn record<E: Serialize>(
        &mut self,
        stream: &str,
        version: u64,
        event: &E,
    ) -> Result<()> {
        let body = serde_json::to_string(event)
            .map_err(|e| sayso_store::Error::Other(format!("an event cannot be written: {e}")))?;
        self.check_history_has_room(stream, version, body.len())?;
        self.events.push((stream.to_owned(), version, body));
        Ok(())
    }

    /// Refuses a long text of an agent if the history of the stream is full. Each read of a stream loads its whole
    /// history, and the rate limit of an agent does not bound that cost.
    fn check_history_has_room(&mut self, stream: &str, version: u64, bytes: usize) -> Result<()> {
        if self.actor.role != Role::Agent || version == 1 || bytes < LONG_TEXT_BYTES_MIN {
            return Ok(());
        }
        let written = self.write.stream_bytes(stream)?;
        if written.saturating_add(bytes) <= HISTORY_BYTES_MAX {
            return Ok(());
        }
        let (what, most) = (stream.split('/').next().unwrap_or_default(), HISTORY_BYTES_MAX >> 20);
        let message = format!(
            "the history of this {what} has {most} MiB of text, and takes no long text of an agent"
        );
        Err(Refusal::new(Code::TooLarge, message)
            .hint("put the long part in a file of the project and name it; people can still write here")
            .into())
    }

    /// Writes the next event of a stream that is not folded by a state machine.
    pub(crate) fn record_next<E: Serialize>(&mut self, stream: &str, event: &E) -> Result<()> {
        let written = self.write.events(stream)?.len();
        let closed = self.finished_entries.iter().flat_map(|(_, events)| events);
        let pending = self.events.iter().chain(closed).filter(|(of, ..)| of == stream).count();
        self.record(stream, (written + pending) as u64 + 1, event)
    }

    /// Sets the subject of the audit entry. Only the first call takes effect, so the entry names the requested action
    /// and not its consequences.
    pub(crate) fn set_audit_subject(
        &mut self,
        action: &str,
        object: &str,
        card: Option<(u32, &Gate)>,
        reason: &str,
    ) {
        if self.entry.is_some() {
            return;
        }
        let mut entry = ChainEntry::new(self.actor, self.space, self.at, action, object);
        entry.revision = card.map(|(revision, _)| revision);
        entry.digest = card.map(|(_, gate)| gate.digest.clone());
        entry.reason = shorten(reason, REASON_CHARS_MAX);
        self.entry = Some(entry);
    }

    /// Returns the number of events to be written, and the bytes of their texts.
    pub(crate) fn text_written(&self) -> (usize, usize) {
        let closed = self.finished_entries.iter().flat_map(|(_, events)| events);
        let texts = closed.chain(&self.events).map(|(_, _, body)| body.len());
        texts.fold((0, 0), |(count, bytes), len| (count + 1, bytes + len))
    }

    /// Finishes the present audit entry. The following events get an entry of their own in the same transaction.
    pub(crate) fn start_audit_entry(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.finished_entries.push((entry, std::mem::take(&mut self.events)));
        }
    }

    /// Runs `work` on one gate and its task with an audit entry of its own, and reverts both if it is refused, so
    /// that one refusal does not fail the batch.
    pub(crate) fn try_or_revert<T>(
        &mut self,
        gate: &Gate,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        self.start_audit_entry();
        let (id, task) = (gate.opened.id, gate.opened.task);
        let before_gate = self.gates.get(&id).cloned();
        let before_task = task.and_then(|task| self.tasks.get(&task).cloned());
        let counts = [self.notices.len(), self.requests.len(), self.verdicts.len()];
        let effects = self.effects.len();
        match work(self) {
            Ok(value) => return Ok(Some(value)),
            Err(Error::Refused(_)) => {}
            Err(error) => return Err(error),
        }
        put_back(&mut self.gates, id, before_gate);
        if let Some(task) = task {
            put_back(&mut self.tasks, task, before_task);
        }
        let [notices, requests, verdicts] = counts;
        self.notices.truncate(notices);
        self.requests.truncate(requests);
        self.verdicts.truncate(verdicts);
        self.effects.truncate(effects);
        self.events.clear();
        (self.entry, self.denied, self.hold) = (None, None, None);
        Ok(None)
    }

    /// Checks that the id of a gate is not used by another space of the store.
    pub(crate) fn check_gate_is_free(&self, id: GateId) -> Result<()> {
        if self.elsewhere.contains(&id) { Err(taken(&gate_stream(id)).into()) } else { Ok(()) }
    }

    /// Checks that a stream has no events in any space, for types that are loaded by space.
    pub(crate) fn check_is_free(&mut self, stream: &str) -> Result<()> {
        if self.write.events(stream)?.is_empty() { Ok(()) } else { Err(taken(stream).into()) }
    }

    /// Returns an unused handle.
    pub(crate) fn free_handle(
        &mut self,
        table: HandleTable,
        of_length: impl Fn(usize) -> String,
    ) -> Result<String> {
        Ok(self.write.free_handle(table, self.space, of_length)?)
    }

    /// True if the audit contains the entry of a commit whose outcome was unknown.
    pub(crate) fn has_committed(&mut self, trace: &CommitMark) -> sayso_store::Result<bool> {
        let there = self.write.audit_after(self.space, trace.seq - 1, 1)?.into_iter().next();
        let entry = there.and_then(|sealed| serde_json::from_str::<ChainEntry>(&sealed.body).ok());
        // Two entries of one actor about the same object differ at least in their time.
        Ok(entry.is_some_and(|e| ChainEntry { seq: 0, events: vec![], ..e } == trace.entry))
    }

    /// Writes all decisions and the audit entries that cover them: one entry, unless the batch started several.
    pub(crate) fn commit(mut self) -> sayso_store::Result<Option<CommitMark>> {
        self.start_audit_entry();
        // A request that was judged by the policy is recorded even if nothing followed from it.
        for request in &self.requests {
            self.write.add_request(self.space, request)?;
        }
        let mut trace = None;
        let before = self.write.lock(self.space)?;
        for (entry, events) in std::mem::take(&mut self.finished_entries) {
            let seq = self.write.append(entry.clone(), &events)?;
            let heads = [before.clone(), self.write.lock(self.space)?];
            trace = Some(CommitMark { seq, entry, heads });
        }
        let Some(trace) = trace else { return Ok(None) };
        for task in changed(&self.tasks) {
            self.write.put_task(&task.now, task.version)?;
        }
        for gate in changed(&self.gates) {
            self.write.put_gate(&gate.now, gate.version)?;
            if !gate.now.is_open() {
                let opened = &gate.now.opened;
                let state = gate.now.delivery.as_str();
                let delivery = DeliveryRow { gate: opened.id, asker: &opened.lineage.asker, state };
                self.write.put_delivery(self.space, &delivery, self.at)?;
            }
        }
        for flow in changed(&self.flows) {
            self.write.put_flow(&flow.now, flow.version)?;
        }
        for run in changed(&self.runs) {
            self.write.put_run(&run.now, run.version)?;
        }
        for setting in self.sets {
            self.write.put_setting(self.space, &StoredSetting { seq: trace.seq, ..setting })?;
        }
        for notice in &self.notices {
            self.write.add_notice(notice, self.at)?;
        }
        for (gate, verdict) in self.verdicts {
            self.write.settle_request(&gate.to_string(), verdict)?;
        }
        let gates = &self.gates;
        let gate = |id| gates.get(&id).and_then(Option::as_ref).map(|versioned| &versioned.now);
        notices::write_notices(self.write, self.desk, self.at, &self.effects, gate)?;
        Ok(Some(trace))
    }
}

fn taken(stream: &str) -> Refusal {
    let message = format!("{stream} is taken: it belongs to another space of this store");
    Refusal::new(Code::Clash, message).hint("make a new id")
}

fn put_back<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, before: Option<V>) {
    match before {
        Some(before) => map.insert(key, before),
        None => map.remove(&key),
    };
}

fn changed<K, T>(
    map: &BTreeMap<K, Option<VersionedState<T>>>,
) -> impl Iterator<Item = &VersionedState<T>> {
    map.values().flatten().filter(|versioned| versioned.changed)
}

/// Applies an event and increments the version.
fn advance<T>(
    before: Option<VersionedState<T>>,
    apply: impl FnOnce(Option<T>) -> Option<T>,
) -> Result<(T, u64)> {
    let version = before.as_ref().map_or(0, |v| v.version) + 1;
    let after = apply(before.map(|v| v.now));
    let bug = || sayso_store::Error::Other("an event made nothing of something".into());
    Ok((after.ok_or_else(bug).map_err(Error::Store)?, version))
}

/// Returns the reason text of an audit entry: why, and details that the actor's name does not tell, such as a deputy.
fn event_reason(event: &gate::GateEvent) -> String {
    match event {
        gate::GateEvent::Voted { answer, by } | gate::GateEvent::Answered { answer, by } => {
            let place = if by.stands_for.is_empty() {
                None
            } else {
                Some(format!("stands in for {}", by.stands_for.join(", ")))
            };
            let parts: Vec<_> = place.into_iter().chain(answer.reason.clone()).collect();
            parts.join("; ")
        }
        gate::GateEvent::Delegated { to, reason, .. } if reason.is_empty() => format!("to {to}"),
        gate::GateEvent::Delegated { to, reason, .. } => format!("to {to}; {reason}"),
        gate::GateEvent::Withdrawn { reason, .. } => reason.clone(),
        _ => String::new(),
    }
}

/// Returns the refusal for an object that does not exist.
pub(crate) fn not_found(what: &str, name: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(Code::NotFound, format!("there is no {what} {name}"))
}
