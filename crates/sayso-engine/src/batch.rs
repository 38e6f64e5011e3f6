//! A batch: decisions about several streams that count together or not at all.

use crate::load::{self, flow_stream, gate_stream, task_stream};
use crate::policy::Hold;
use crate::{Error, LocalDesk, Result, notices};
use sayso_core::audit::{Entry, Head};
use sayso_core::flow::{self, Flow};
use sayso_core::gate::{self, Effect, Gate};
use sayso_core::run::{self, Run};
use sayso_core::task::{self, Task};
use sayso_core::text::shorten;
use sayso_core::{
    Actor, Code, FlowId, GateId, Refusal, Role, RunId, SpaceId, TaskId, Timestamp, Verdict,
};
use sayso_store::{Delivery, Handles, Notice, RequestRow, Setting, Write};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// So much text may be in the history of one task or gate before agents add no long ones to it.
const HISTORY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Events with less text are always taken.
const LONG_TEXT_BYTES_MIN: usize = 1024;

/// So much of a reason is in an entry of the audit. The whole of it is in the event.
pub(crate) const REASON_CHARS_MAX: usize = 2_000;

/// What is being decided in one transaction. Nothing is written before [`Batch::commit`].
pub(crate) struct Batch<'w, 'c> {
    pub(crate) write: &'w mut Write<'c>,
    pub(crate) actor: &'w Actor,
    pub(crate) space: SpaceId,
    pub(crate) at: Timestamp,
    pub(crate) desk: &'w LocalDesk,
    /// What is to be set.
    pub(crate) sets: Vec<Setting>,
    /// What is to be done in the world.
    pub(crate) notices: Vec<Notice>,
    /// What was put before the policy, and what people said of what was put before it earlier.
    pub(crate) requests: Vec<RequestRow>,
    pub(crate) verdicts: Vec<(GateId, Verdict)>,
    /// What the policy said no to, and what it asks a person about first. Either ends the batch.
    pub(crate) denied: Option<RequestRow>,
    pub(crate) hold: Option<Hold>,
    /// Whether what happens was approved, or is time's doing: then the policy has had its say.
    pub(crate) is_approved: bool,
    gates: BTreeMap<GateId, Option<Versioned<Gate>>>,
    /// Those that turned out to be of another space.
    elsewhere: BTreeSet<GateId>,
    tasks: BTreeMap<TaskId, Option<Versioned<Task>>>,
    runs: BTreeMap<RunId, Option<Versioned<Run>>>,
    flows: BTreeMap<FlowId, Option<Versioned<Flow>>>,
    events: Events,
    effects: Vec<(GateId, u32, Effect)>,
    entry: Option<Entry>,
    /// What is decided already and has an entry of its own.
    closed: Vec<(Entry, Events)>,
}

/// Streams, versions and texts of events.
type Events = Vec<(String, u64, String)>;

/// By what a batch is found again: its place in the audit, and the entry it has there.
pub(crate) struct Trace {
    seq: u64,
    entry: Entry,
    /// Where the chain ended before, and where it ends with it.
    heads: [Head; 2],
}

impl Trace {
    pub(crate) fn heads(&self) -> &[Head; 2] {
        &self.heads
    }
}

/// A thing as it will be, the version it then has, and whether it changed here.
#[derive(Clone)]
struct Versioned<T> {
    now: T,
    version: u64,
    changed: bool,
}

impl<T> Versioned<T> {
    fn loaded((now, version): (T, u64)) -> Self {
        Self { now, version, changed: false }
    }
}

impl<'w, 'c> Batch<'w, 'c> {
    /// Takes the space's turn, then the time: what is decided later is also dated later.
    pub(crate) fn begin(
        desk: &'w LocalDesk,
        actor: &'w Actor,
        write: &'w mut Write<'c>,
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
            closed: vec![],
        })
    }

    /// Nothing new begins in a space that was deleted while the caller was on the way: nobody would
    /// look for it there.
    pub(crate) fn check_space_is_there(&mut self) -> Result<()> {
        match self.write.is_deleted(self.space)? {
            false => Ok(()),
            true => Err(crate::spaces::deleted(&self.desk.space_name).into()),
        }
    }

    /// The gate as it stands in this batch.
    pub(crate) fn gate(&mut self, id: GateId) -> Result<Option<&Gate>> {
        if !self.gates.contains_key(&id) {
            let loaded = load::gate(self.write, id)?;
            let is_elsewhere = loaded.as_ref().is_some_and(|(g, _)| g.opened.space != self.space);
            self.elsewhere.extend(is_elsewhere.then_some(id));
            self.gates.insert(id, loaded.filter(|_| !is_elsewhere).map(Versioned::loaded));
        }
        Ok(self.gates.get(&id).and_then(Option::as_ref).map(|v| &v.now))
    }

    /// The task as it stands in this batch.
    pub(crate) fn task(&mut self, id: TaskId) -> Result<Option<&Task>> {
        if !self.tasks.contains_key(&id) {
            let loaded = load::task(self.write, id)?.filter(|(t, _)| t.space == self.space);
            self.tasks.insert(id, loaded.map(Versioned::loaded));
        }
        Ok(self.tasks.get(&id).and_then(Option::as_ref).map(|v| &v.now))
    }

    /// The run as it stands in this batch.
    pub(crate) fn run(&mut self, id: RunId) -> Result<Option<&Run>> {
        if !self.runs.contains_key(&id) {
            let loaded = self.write.run(id)?.filter(|(r, _)| r.started.space == self.space);
            self.runs.insert(id, loaded.map(Versioned::loaded));
        }
        Ok(self.runs.get(&id).and_then(Option::as_ref).map(|v| &v.now))
    }

    /// The flow as it stands in this batch.
    pub(crate) fn flow(&mut self, id: FlowId) -> Result<Option<&Flow>> {
        if !self.flows.contains_key(&id) {
            let loaded = load::flow(self.write, id)?.filter(|(f, _)| f.started.space == self.space);
            self.flows.insert(id, loaded.map(Versioned::loaded));
        }
        Ok(self.flows.get(&id).and_then(Option::as_ref).map(|v| &v.now))
    }

    /// Decides a command about a gate. Returns whether anything happened.
    pub(crate) fn on_gate(&mut self, id: GateId, command: &gate::Command) -> Result<bool> {
        let mut actor = match command.takes_a_voice() {
            true => self.speaking()?,
            false => self.actor.clone(),
        };
        let is_answer = matches!(command, gate::Command::Answer { .. });
        // Where one person is enough, nobody fills a quorum with a second name.
        let several = self.gate(id)?.filter(|gate| is_answer && gate.takes_others_than(&actor));
        let voices = several.map(|gate| gate.voices(&actor.name, &actor.stands_for));
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
            self.about(
                event.name(),
                gate.handle(),
                Some((gate.revision, &gate)),
                &event_reason(event),
            );
            let effects = gate::effects(&gate, event).into_iter();
            self.effects.extend(effects.map(|effect| (id, gate.revision, effect)));
            versioned = Some(Versioned { now: gate, version, changed: true });
        }
        self.gates.insert(id, versioned);
        Ok(!events.is_empty())
    }

    /// Decides a command about a task. Returns whether anything happened.
    pub(crate) fn on_task(&mut self, id: TaskId, command: &task::Command) -> Result<bool> {
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
        // Behind the decision: an edit that is a verdict in disguise is refused as one, and written down.
        if let task::Command::Edit(edit) = command {
            self.check_may_edit(id, edit)?;
        }
        let mut versioned = self.tasks.remove(&id).flatten();
        for event in &events {
            let (task, version) = advance(versioned.take(), |task| task::apply(task, event, at))?;
            self.record(&task_stream(id), version, event)?;
            self.about(event.name(), &task.handle, None, "");
            versioned = Some(Versioned { now: task, version, changed: true });
        }
        let to = versioned.as_ref().map(|v| v.now.status);
        self.tasks.insert(id, versioned);
        if let (Some(from), Some(to)) = (from, to.filter(|to| Some(*to) != from)) {
            self.rule_on_move(id, command, from, to)?;
        }
        Ok(!events.is_empty())
    }

    /// Refuses to let an agent move a task away under an answer that is on its way.
    fn check_is_heard(&mut self, id: TaskId, command: &task::Command) -> Result<()> {
        if self.actor.role != Role::Agent || !command.moves_away() {
            return Ok(());
        }
        let gates = self.write.gates_undelivered(id)?;
        let actor = self.actor;
        match self.task(id)? {
            Some(task) => Ok(task::check_is_heard(task, command, actor, &gates)?),
            None => Ok(()),
        }
    }

    /// Judges a command about a task without doing it.
    pub(crate) fn may_task(&mut self, id: TaskId, command: &task::Command) -> Result<()> {
        let (actor, at) = (self.actor, self.at);
        match task::decide(self.task(id)?, command, actor, at) {
            Ok(events) if events.is_empty() => Ok(()),
            Ok(_) => self.check_is_heard(id, command),
            Err(refusal) => Err(self.or_held(id, command, refusal)?.into()),
        }
    }

    /// Decides a command about a run. Returns whether anything happened.
    pub(crate) fn on_run(&mut self, id: RunId, command: &run::Command) -> Result<bool> {
        let (actor, at) = (self.actor, self.at);
        let events = run::decide(self.run(id)?, command, actor, at)?;
        let mut revoked = false;
        let mut versioned = self.runs.remove(&id).flatten();
        for event in &events {
            let (run, version) = advance(versioned.take(), |run| run::apply(run, event, at))?;
            self.record(&format!("run/{id}"), version, event)?;
            self.about(event.name(), &id.handle(4), None, "");
            if run::effects(event).contains(&run::Effect::RevokeToken) {
                revoked = true;
            }
            versioned = Some(Versioned { now: run, version, changed: true });
        }
        self.runs.insert(id, versioned);
        if revoked {
            self.revoke_tokens_of_run(id)?;
        }
        Ok(!events.is_empty())
    }

    /// Decides a command about a flow. Returns whether anything happened.
    pub(crate) fn on_flow(&mut self, id: FlowId, command: &flow::Command) -> Result<bool> {
        let (actor, at) = (self.actor, self.at);
        let events = flow::decide(self.flow(id)?, command, actor, at)?;
        // Several steps are one entry, named after the last that says something of the flow itself.
        let telling = events.iter().rfind(|event| !event.is_about_holding());
        let Some(telling) = telling.or(events.last()) else { return Ok(false) };
        let mut versioned = self.flows.remove(&id).flatten();
        for event in &events {
            let (flow, version) = advance(versioned.take(), |flow| flow::apply(flow, event, at))?;
            self.record(&flow_stream(id), version, event)?;
            versioned = Some(Versioned { now: flow, version, changed: true });
        }
        if let Some(flow) = &versioned {
            let handle = flow.now.started.handle.clone();
            self.about(telling.name(), &handle, None, "");
        }
        self.flows.insert(id, versioned);
        Ok(true)
    }

    /// Writes an event of a stream that has no machine of its own.
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

    /// Refuses a text of an agent behind too many others about the same thing. Each look at a thing reads all that
    /// happened to it, so the pace of an agent is no bound on what a look costs.
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

    /// Writes the next event of a stream that has no machine of its own.
    pub(crate) fn record_next<E: Serialize>(&mut self, stream: &str, event: &E) -> Result<()> {
        let written = self.write.events(stream)?.len();
        let closed = self.closed.iter().flat_map(|(_, events)| events);
        let pending = self.events.iter().chain(closed).filter(|(of, ..)| of == stream).count();
        self.record(stream, (written + pending) as u64 + 1, event)
    }

    /// Says what the batch is about. The first word stands: what a caller asked for comes first,
    /// what follows from it after.
    pub(crate) fn about(
        &mut self,
        action: &str,
        object: &str,
        card: Option<(u32, &Gate)>,
        reason: &str,
    ) {
        if self.entry.is_some() {
            return;
        }
        let mut entry = Entry::new(self.actor, self.space, self.at, action, object);
        entry.revision = card.map(|(revision, _)| revision);
        entry.digest = card.map(|(_, gate)| gate.digest.clone());
        entry.reason = shorten(reason, REASON_CHARS_MAX);
        self.entry = Some(entry);
    }

    /// How many events are to be written, and the bytes of their texts.
    pub(crate) fn text_written(&self) -> (usize, usize) {
        let closed = self.closed.iter().flat_map(|(_, events)| events);
        let texts = closed.chain(&self.events).map(|(_, _, body)| body.len());
        texts.fold((0, 0), |(count, bytes), len| (count + 1, bytes + len))
    }

    /// Closes the entry so far: what follows is about something else, and has an entry of its own in the
    /// same transaction.
    pub(crate) fn begin_entry(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.closed.push((entry, std::mem::take(&mut self.events)));
        }
    }

    /// Does something to one gate and its task in an entry of its own, or leaves both as they are: what
    /// is refused there stands in nobody's way.
    pub(crate) fn or_leave<T>(
        &mut self,
        gate: &Gate,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        self.begin_entry();
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

    /// An id that another space of the store has is not free here either.
    pub(crate) fn check_gate_is_free(&self, id: GateId) -> Result<()> {
        match self.elsewhere.contains(&id) {
            true => Err(taken(&gate_stream(id)).into()),
            false => Ok(()),
        }
    }

    /// The same for what is not loaded whatever space it is of.
    pub(crate) fn check_is_free(&mut self, stream: &str) -> Result<()> {
        match self.write.events(stream)?.is_empty() {
            true => Ok(()),
            false => Err(taken(stream).into()),
        }
    }

    /// A handle nobody has yet.
    pub(crate) fn free_handle(
        &mut self,
        table: Handles,
        of_length: impl Fn(usize) -> String,
    ) -> Result<String> {
        Ok(self.write.free_handle(table, self.space, of_length)?)
    }

    /// Whether the audit has what a batch left that may have been lost.
    pub(crate) fn has_left(&mut self, trace: &Trace) -> sayso_store::Result<bool> {
        let there = self.write.audit_after(self.space, trace.seq - 1, 1)?.into_iter().next();
        let entry = there.and_then(|sealed| serde_json::from_str::<Entry>(&sealed.body).ok());
        // Two entries of one actor about one thing differ in their time, if in nothing else.
        Ok(entry.is_some_and(|e| Entry { seq: 0, events: vec![], ..e } == trace.entry))
    }

    /// Writes everything that was decided, and the audit entries that cover it: one, unless several
    /// things were decided together.
    pub(crate) fn commit(mut self) -> sayso_store::Result<Option<Trace>> {
        self.begin_entry();
        // What was put before the policy is on record also where nothing came of it.
        for request in &self.requests {
            self.write.add_request(self.space, request)?;
        }
        let mut trace = None;
        let before = self.write.lock(self.space)?;
        for (entry, events) in std::mem::take(&mut self.closed) {
            let seq = self.write.append(entry.clone(), &events)?;
            let heads = [before.clone(), self.write.lock(self.space)?];
            trace = Some(Trace { seq, entry, heads });
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
                let delivery = Delivery { gate: opened.id, asker: &opened.lineage.asker, state };
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
            self.write.put_setting(self.space, &Setting { seq: trace.seq, ..setting })?;
        }
        for notice in &self.notices {
            self.write.add_notice(notice, self.at)?;
        }
        for (gate, verdict) in self.verdicts {
            self.write.settle_request(&gate.to_string(), verdict)?;
        }
        let gates = &self.gates;
        let gate = |id| gates.get(&id).and_then(Option::as_ref).map(|versioned| &versioned.now);
        notices::put(self.write, self.desk, self.at, &self.effects, gate)?;
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

fn changed<K, T>(map: &BTreeMap<K, Option<Versioned<T>>>) -> impl Iterator<Item = &Versioned<T>> {
    map.values().flatten().filter(|versioned| versioned.changed)
}

/// Applies an event and counts it.
fn advance<T>(
    before: Option<Versioned<T>>,
    apply: impl FnOnce(Option<T>) -> Option<T>,
) -> Result<(T, u64)> {
    let version = before.as_ref().map_or(0, |v| v.version) + 1;
    let after = apply(before.map(|v| v.now));
    let bug = || sayso_store::Error::Other("an event made nothing of something".into());
    Ok((after.ok_or_else(bug).map_err(Error::Store)?, version))
}

/// What an entry says beside the event's name: why, and what nobody could tell from who acted.
fn event_reason(event: &gate::Event) -> String {
    match event {
        gate::Event::Voted { answer, by } | gate::Event::Answered { answer, by } => {
            let place = match by.stands_for.is_empty() {
                true => None,
                false => Some(format!("stands in for {}", by.stands_for.join(", "))),
            };
            let parts: Vec<_> = place.into_iter().chain(answer.reason.clone()).collect();
            parts.join("; ")
        }
        gate::Event::Delegated { to, reason, .. } if reason.is_empty() => format!("to {to}"),
        gate::Event::Delegated { to, reason, .. } => format!("to {to}; {reason}"),
        gate::Event::Withdrawn { reason, .. } => reason.clone(),
        _ => String::new(),
    }
}

/// A refusal for a thing that must be there.
pub(crate) fn not_found(what: &str, name: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(Code::NotFound, format!("there is no {what} {name}"))
}
