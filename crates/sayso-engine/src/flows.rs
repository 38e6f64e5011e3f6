//! Flows: durable executions of workflows. Each step is recorded before the next.

use crate::flow_commands::shown_commands;
use crate::gates::{self, NewGate};
use crate::load::{self, flow_stream};
use crate::worker::{FLOW, holder, is_gone};
use crate::write_batch::{WriteBatch, not_found};
use crate::{Desk, Error, LocalDesk, Result, paging, tasks};
use sayso_core::flow::{
    Flow, FlowAdvance, FlowCommand, FlowEndKind, FlowLogEvent, FlowPlace, FlowSpec, FlowStatus,
    LeaseClaim, QuestionOutcome, QuestionStatus, StepRecord,
};
use sayso_core::gate::{self, CardFact, Gate, GateEnding};
use sayso_core::run::LeaseHolder;
use sayso_core::task::{self, TaskEdit, TaskStatus};
use sayso_core::{
    Actor, Answer, Code, Digest, FlowId, GateId, Refusal, TaskId, TimeoutAction, Timestamp,
};
use sayso_store::{FlowFilter, GateFilter, HandleTable, ListPage, PrefetchPlan, ReadyFilter};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// The maximum number of characters of a flow's title and phase on the cards of its questions.
const ABOUT_CHARS_MAX: usize = 200;

/// The maximum number of gates of a flow's agents that are settled when it ends.
const GATES_MAX: usize = 1_000;

/// The events of a flow, in order.
pub type FlowHistory = Vec<(Timestamp, FlowLogEvent)>;

/// The parameters of a new flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewFlow {
    /// Chosen by the caller: starting again with the same id finds the same flow.
    pub id: FlowId,
    /// The name of the workflow.
    pub workflow: String,
    /// The version of the workflow.
    pub version: String,
    /// The workflow itself, if it is a text.
    pub definition: Option<String>,
    /// The subject of this flow, in words.
    pub title: String,
    /// The task that its agents work on.
    pub task: Option<TaskId>,
    pub phase: String,
    /// The initial state.
    pub state: Value,
    /// The folder and machine of its commands; none if it has no commands.
    #[serde(default)]
    pub place: Option<FlowPlace>,
}

/// A request to advance a flow: all of its steps are recorded, or none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdvanceRequest {
    /// The claim under which the flow is advanced.
    pub claim: LeaseClaim,
    /// The position of the flow that the caller knows (optimistic concurrency).
    pub position: u32,
    /// The steps that happened, in order.
    pub steps: Vec<FlowStep>,
}

impl AdvanceRequest {
    /// Returns the rows to prefetch.
    fn foresight(&self, flow: FlowId) -> PrefetchPlan {
        let begun = PrefetchPlan::default().flow(flow);
        self.steps.iter().fold(begun, |all, step| match step {
            FlowStep::Ask { ask, .. } => all.and(gates::prefetch_for_ask(ask)),
            FlowStep::Hear { gate, .. } => all.gate(*gate),
            FlowStep::Complete { .. }
            | FlowStep::RecordExternalAnswer { .. }
            | FlowStep::Move { .. }
            | FlowStep::Keep { .. }
            | FlowStep::Stuck { .. }
            | FlowStep::Release
            | FlowStep::End { .. } => all,
        })
    }
}

/// A step of a flow, as its executor submits it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FlowStep {
    /// The agent's work produced an output.
    Complete {
        /// The index of the item.
        item: u32,
        output: Value,
        /// The new state of the flow, if it changed.
        state: Option<Value>,
    },
    /// Asks people: the gate is opened in the same transaction.
    Ask {
        /// The index of the item.
        item: u32,
        ask: Box<NewGate>,
    },
    /// A gate has ended. Its answer is looked up, and the delivery is acknowledged.
    Hear {
        /// The index of the item.
        item: u32,
        gate: GateId,
        /// The new state of the flow, if it changed.
        state: Option<Value>,
    },
    /// The program asked by a way of its own. It is recorded as external: sayso did not see who answered.
    #[serde(rename = "HearOtherwise")]
    RecordExternalAnswer {
        /// The index of the item.
        item: u32,
        /// The name of the external way.
        by: String,
        /// The text of the question.
        question: String,
        answer: Answer,
        /// True if more is to be asked after it.
        #[serde(default)]
        more: bool,
        /// The new state of the flow, if it changed.
        state: Option<Value>,
    },
    /// The flow moves to another phase.
    Move {
        /// The name of the next phase.
        to: String,
        /// The new state of the flow, if it changed.
        state: Option<Value>,
    },
    /// Extends the lease of the present holder.
    Keep {
        /// The new end of the lease.
        until: Timestamp,
    },
    /// The holder cannot continue.
    Stuck {
        /// The reason, in words.
        why: String,
    },
    /// The holder releases its lease.
    #[serde(rename = "LetGo")]
    Release,
    /// The flow ends.
    End {
        how: FlowEndKind,
        /// The reason, in words.
        note: String,
        /// The final state of the flow, if it changed.
        state: Option<Value>,
    },
}

impl LocalDesk {
    /// Starts a flow. It is stored when this returns.
    pub fn start_flow(&self, actor: &Actor, new: NewFlow) -> Result<Flow> {
        let foresight = PrefetchPlan::default().new_flow(new.id);
        self.submit_prefetched(actor, foresight, move |batch| {
            start(batch, &new)?;
            flow_in(batch, new.id)
        })
    }

    /// Starts a flow and holds its lease from the beginning, for a caller that executes it at once. The flag is false
    /// if the flow already existed: then it is only found.
    pub fn lead_flow(
        &self,
        actor: &Actor,
        new: NewFlow,
        claim: LeaseClaim,
    ) -> Result<(Flow, bool)> {
        let foresight = PrefetchPlan::default().new_flow(new.id);
        self.submit_prefetched(actor, foresight, move |batch| {
            let is_new = start(batch, &new)?;
            if is_new {
                let (position, steps) = (flow_in(batch, new.id)?.position, vec![]);
                let take = FlowAdvance { claim: claim.clone(), position, steps };
                batch.on_flow(new.id, &FlowCommand::Advance(take))?;
            }
            Ok((flow_in(batch, new.id)?, is_new))
        })
    }

    /// Advances a flow: records outputs, opens gates, takes up answers and moves on.
    pub fn go_on(&self, actor: &Actor, id: FlowId, go_on: AdvanceRequest) -> Result<Flow> {
        self.submit_prefetched(actor, go_on.foresight(id), move |batch| {
            batch.check_space_is_there()?;
            self::go_on(batch, id, &go_on)
        })
    }

    /// Cancels a flow; its gates and those of its agents are withdrawn, and the task that was made for it is closed.
    pub fn cancel_flow(&self, actor: &Actor, id: FlowId, reason: &str) -> Result<Flow> {
        let reason = reason.to_owned();
        self.submit(actor, move |batch| {
            let waits: Vec<_> = flow_in(batch, id)?.waits_for().collect();
            if batch.on_flow(id, &FlowCommand::Cancel { reason: reason.clone() })? {
                for (_, gate) in waits {
                    if gate_in(batch, gate)?.is_open() {
                        batch.start_audit_entry();
                        gates::withdraw(batch, gate, &reason)?;
                    }
                }
                release_flow_task(batch, id)?;
            }
            flow_in(batch, id)
        })
    }

    /// Returns a flow, folded from the log.
    pub fn flow(&self, id: FlowId) -> Result<Flow> {
        self.check_reader("read flows")?;
        let space = self.space;
        self.look(|read| {
            let found = load::flow(read, id)?.filter(|(flow, _)| flow.started.space == space);
            Ok(found.map(|(flow, _)| flow).ok_or_else(|| not_found("flow", &id))?)
        })
    }

    /// Returns the events of a flow, in order.
    pub fn flow_history(&self, id: FlowId) -> Result<FlowHistory> {
        self.flow(id)?;
        self.read(|read| {
            let rows = read.events(&flow_stream(id))?;
            rows.iter().map(|row| Ok((row.at, load::event(row)?))).collect()
        })
    }

    /// Returns flows, newest first, a page at a time.
    pub fn flows(&self, filter: &FlowFilter) -> Result<ListPage<Flow>> {
        self.check_reader("read flows")?;
        self.read(|read| {
            paging::bounded(self.page_bytes_max, filter.limit, |last: Option<&Flow>, limit| {
                let after = last.map(|flow| flow.started.id).or(filter.after);
                Ok(read.flows(self.space, &FlowFilter { after, limit, ..filter.clone() })?)
            })
        })
    }

    /// Returns flows that wait for no person, oldest first, a page at a time. Another executor may hold one at this
    /// moment: see [`is_held`].
    pub fn ready_flows(&self, filter: &ReadyFilter) -> Result<ListPage<Flow>> {
        self.check_reader("read flows")?;
        self.read(|read| Ok(read.ready_flows(self.space, filter)?))
    }

    /// Finds the flow of an id, a handle or a prefix of one.
    pub fn find_flow(&self, typed: &str) -> Result<FlowId> {
        self.check_reader("read flows")?;
        let name = typed.trim().to_ascii_lowercase().replace('-', "");
        if let Ok(id) = name.to_ascii_uppercase().parse() {
            return self.flow(id).map(|flow| flow.started.id);
        }
        let is_plain = name.bytes().all(|b| b.is_ascii_alphanumeric());
        let found = if is_plain && !name.is_empty() {
            self.read(|read| Ok(read.find_flows(self.space, &name)?))?
        } else {
            vec![]
        };
        match found.as_slice() {
            [(only, _)] => Ok(*only),
            [(exact, handle), ..] if *handle == name => Ok(*exact),
            [] => {
                let shown = sayso_core::text::shorten(&sayso_core::text::sanitize_line(typed), 60);
                let message = format!("there is no flow {shown:?} here");
                Err(Refusal::new(Code::NotFound, message).hint("see: sayso flow list --all").into())
            }
            several => {
                let names: Vec<_> = several.iter().map(|(_, handle)| handle.as_str()).collect();
                let message = format!("several flows begin with {name:?}");
                let hint = format!("type more of it: {}", names.join(", "));
                Err(Refusal::new(Code::Ambiguous, message).hint(hint).into())
            }
        }
    }
}

/// The standing of a flow with its open questions.
#[derive(Debug, Clone)]
pub struct FlowStatusReport {
    pub standing: FlowStatus,
    /// The open gates it waits for: its own, or those of the agent that works for it.
    pub waits: Vec<Gate>,
}

impl FlowStatusReport {
    /// True if it waits for people.
    pub fn is_waiting(&self) -> bool {
        self.standing == FlowStatus::Waiting
    }
}

impl Desk {
    /// Returns the standing of a flow. Every interface uses this one, so that none says something else.
    pub fn flow_status(&self, flow: &Flow) -> Result<FlowStatusReport> {
        let own: Vec<_> = flow.waits_for().map(|(_, gate)| gate).collect();
        let gates: Vec<_> = match flow.started.task.filter(|_| flow.is_live() && own.is_empty()) {
            Some(task) => self.task(task)?.task.waits_for.into_keys().collect(),
            None => own,
        };
        let mut waits = vec![];
        for gate in gates {
            waits.push(self.gate(gate)?);
        }
        let is_answered = |gate: &Gate| {
            gate_outcome(gate).is_ok_and(|heard: QuestionOutcome| heard.answer.is_some())
        };
        let questions = match (waits.iter().any(Gate::is_open), waits.iter().all(is_answered)) {
            (true, _) => QuestionStatus::Open,
            (false, true) => QuestionStatus::Answered,
            (false, false) => QuestionStatus::Unanswered,
        };
        waits.retain(Gate::is_open);
        let is_held = is_held(flow, &holder(Path::new("")), self.now());
        Ok(FlowStatusReport { standing: flow.status(questions, is_held), waits })
    }
}

/// Starts a flow, unless it exists. Returns true if it is new.
fn start(batch: &mut WriteBatch<'_, '_>, new: &NewFlow) -> Result<bool> {
    batch.check_space_is_there()?;
    if let Some(task) = new.task {
        batch.task(task)?.ok_or_else(|| not_found("task", &task))?;
    }
    let handle = match batch.flow(new.id)? {
        Some(flow) => flow.started.handle.clone(),
        None => {
            batch.check_is_free(&flow_stream(new.id))?;
            batch.free_handle(HandleTable::Flows, |len| new.id.handle(len))?
        }
    };
    let NewFlow { id, workflow, version, definition, title, task, phase, state, place } =
        new.clone();
    let (space, launcher) = (batch.space, batch.actor.name.clone());
    let launcher_role = Some(batch.actor.role);
    let started = FlowSpec {
        id,
        space,
        handle,
        workflow,
        version,
        definition,
        title,
        task,
        phase,
        state,
        launcher,
        launcher_role,
        place,
    };
    batch.on_flow(id, &FlowCommand::Start(Box::new(started)))
}

/// Advances a flow in a batch that may do other things, too.
pub(crate) fn go_on(
    batch: &mut WriteBatch<'_, '_>,
    id: FlowId,
    go_on: &AdvanceRequest,
) -> Result<Flow> {
    let steps = go_on.steps.iter().map(|step| to_core_step(batch, step)).collect::<Result<_>>()?;
    let AdvanceRequest { claim, position, .. } = go_on.clone();
    batch.on_flow(id, &FlowCommand::Advance(FlowAdvance { claim, position, steps }))?;
    // Questions are asked at the flow's present position: it never moves past an open one.
    let flow = flow_in(batch, id)?;
    for step in &go_on.steps {
        match step {
            FlowStep::Ask { ask, .. } => {
                batch.start_audit_entry();
                gates::open_in(batch, &with_flow_facts(&flow, ask)?, Some(id))?;
            }
            FlowStep::Hear { gate, .. } => {
                batch.start_audit_entry();
                batch.on_gate(*gate, &gate::GateCommand::Acknowledge)?;
            }
            FlowStep::Complete { .. }
            | FlowStep::RecordExternalAnswer { .. }
            | FlowStep::Move { .. }
            | FlowStep::Keep { .. }
            | FlowStep::Stuck { .. }
            | FlowStep::Release
            | FlowStep::End { .. } => {}
        }
    }
    let is_done = flow_in(batch, id)?.ending.is_some_and(|ending| ending.how == FlowEndKind::Done);
    // The work of a completed flow is landed first, by its executor.
    if !is_done {
        release_flow_task(batch, id)?;
    }
    flow_in(batch, id)
}

/// Returns the id of the task that is made for a flow. It is derived from the flow, so that a crash between the two
/// makes no second task.
pub fn task_of_flow(flow: FlowId) -> TaskId {
    let digest = Digest::of_bytes(format!("task\n{flow}").as_bytes());
    let chance = u128::from_str_radix(&digest.as_str()[..20], 16).unwrap_or_default();
    TaskId::mint(Timestamp::from_micros(0), chance)
}

/// Cleans up after a flow that ended without being done: the gates of its agents are withdrawn, and its task is
/// released. A task that was made for the flow is closed; another one is what it was before. Completed work stays on
/// the branch.
fn release_flow_task(batch: &mut WriteBatch<'_, '_>, id: FlowId) -> Result<()> {
    let flow = flow_in(batch, id)?;
    let (Some(ending), Some(task)) = (&flow.ending, flow.started.task) else { return Ok(()) };
    let Some(led) = batch.task(task)?.cloned() else { return Ok(()) };
    let why =
        format!("its flow {} is {}: {}", flow.started.handle, ending.how.as_str(), ending.note);
    let why = why.trim_end_matches([':', ' ']);
    for gate in led.waits_for.keys() {
        if gate_in(batch, *gate)?.opened_at >= flow.started_at {
            batch.start_audit_entry();
            gates::withdraw(batch, *gate, why)?;
        }
    }
    settle_answers(batch, task, &flow)?;
    if led.status.is_over() {
        return Ok(());
    }
    batch.start_audit_entry();
    if task == task_of_flow(id) {
        // If closing needs a sign-off, the task stays open for a person to close.
        return match tasks::move_to(batch, task, TaskStatus::Closed, why) {
            Err(Error::Refused(_)) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        };
    }
    let remove_labels = [format!("{FLOW}{id}")].into();
    let edit = TaskEdit { remove_labels, ..TaskEdit::default() };
    batch.on_task(task, &task::TaskCommand::Edit(Box::new(edit))).map(drop)
}

/// Acknowledges the answers to the agents of a flow that has ended: no agent will pick them up any more.
fn settle_answers(batch: &mut WriteBatch<'_, '_>, task: TaskId, flow: &Flow) -> Result<()> {
    let filter = GateFilter { task: Some(task), limit: GATES_MAX, ..GateFilter::default() };
    let asked = batch.write.gates(batch.space, &filter)?.items;
    for gate in asked.iter().filter(|gate| gate.opened_at >= flow.started_at) {
        // Read again: some were withdrawn just before.
        if !gate_in(batch, gate.opened.id)?.is_open() {
            batch.start_audit_entry();
            batch.on_gate(gate.opened.id, &gate::GateCommand::Acknowledge)?;
        }
    }
    Ok(())
}

/// Adds the flow's verified facts to a question: two flows of one workflow ask alike, and the approver must see which
/// of them it is.
fn with_flow_facts(flow: &Flow, ask: &NewGate) -> Result<NewGate> {
    let started = &flow.started;
    let known = [
        ("workflow", started.workflow.as_str()),
        ("phase", flow.phase.as_str()),
        ("about", started.title.as_str()),
    ];
    // The approver sees which commands the answer lets run, where, and who started the flow.
    let commands = shown_commands(flow)?;
    let home = match (&flow.home, &started.definition) {
        (Some(home), Some(_)) => home.in_words(),
        _ => String::new(),
    };
    let version = started.definition.as_ref().map_or("", |_| started.version.as_str());
    let known = known.into_iter().filter(|(_, value)| !value.trim().is_empty());
    let fact = |(name, value): (&str, &str)| CardFact {
        name: name.into(),
        value: sayso_core::text::shorten(value, ABOUT_CHARS_MAX).into(),
        verified: true,
    };
    let mut asked = ask.clone();
    let own = std::mem::take(&mut asked.card.facts);
    let whole = [("runs", commands), ("in", home), ("version", version.to_owned())];
    let whole = whole.into_iter().filter(|(_, value)| !value.is_empty());
    let whole = whole.map(|(name, value)| CardFact {
        name: name.into(),
        value: value.into(),
        verified: true,
    });
    asked.card.facts = known.map(fact).chain(whole).chain(own).collect();
    Ok(asked)
}

/// Translates a step to the core's type. The answer of a gate is read from the gate, never taken from the caller.
fn to_core_step(batch: &mut WriteBatch<'_, '_>, step: &FlowStep) -> Result<StepRecord> {
    Ok(match step.clone() {
        FlowStep::Complete { item, output, state } => StepRecord::Complete { item, output, state },
        FlowStep::Ask { item, ask } => StepRecord::Ask { item, gate: ask.id },
        FlowStep::Hear { item, gate, state } => {
            let heard = gate_outcome(&gate_in(batch, gate)?)?;
            StepRecord::Hear { item, heard, state }
        }
        FlowStep::RecordExternalAnswer { item, by, question, answer, more, state } => {
            let (gate, answer, ended) = (None, Some(answer), "otherwise".into());
            StepRecord::Hear {
                item,
                heard: QuestionOutcome { gate, answer, by, question, ended, more },
                state,
            }
        }
        FlowStep::Move { to, state } => StepRecord::Move { to, state },
        FlowStep::Keep { until } => StepRecord::Keep { until },
        FlowStep::Stuck { why } => StepRecord::Stuck { why },
        FlowStep::Release => StepRecord::Release,
        FlowStep::End { how, note, state } => StepRecord::End { how, note, state },
    })
}

/// Returns the result of a gate that has ended, as a flow records it.
pub fn gate_outcome(gate: &Gate) -> Result<QuestionOutcome> {
    let Some(ending) = &gate.ending else {
        let message = format!("gate {} is still open: there is nothing to hear", gate.handle());
        return Err(Refusal::new(Code::WrongState, message).into());
    };
    let (answer, by) = match ending {
        GateEnding::Answered { answer, by } => (Some(answer.clone()), by.name.clone()),
        // A timeout is an approval only where an admin's policy made it one.
        GateEnding::Expired { at_end: TimeoutAction::Approve, .. } => {
            (Some(Answer::approved()), "the policy".into())
        }
        GateEnding::Expired { .. }
        | GateEnding::Withdrawn { .. }
        | GateEnding::Superseded { .. } => (None, String::new()),
    };
    let (gate, ended) = (Some(gate.opened.id), ending.as_str().to_owned());
    Ok(QuestionOutcome { gate, answer, by, question: String::new(), ended, more: false })
}

/// True if another executor holds the lease of a flow, as far as we can tell.
pub fn is_held(flow: &Flow, ours: &LeaseHolder, now: Timestamp) -> bool {
    flow.hold.as_ref().is_some_and(|hold| now < hold.until && !is_gone(&hold.holder, ours))
}

fn flow_in(batch: &mut WriteBatch<'_, '_>, id: FlowId) -> Result<Flow> {
    Ok(batch.flow(id)?.cloned().ok_or_else(|| not_found("flow", &id))?)
}

fn gate_in(batch: &mut WriteBatch<'_, '_>, id: GateId) -> Result<Gate> {
    Ok(batch.gate(id)?.cloned().ok_or_else(|| not_found("gate", &id))?)
}
