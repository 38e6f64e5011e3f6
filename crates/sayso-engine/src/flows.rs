//! Flows: durable executions of workflows. Each step is recorded before the next.

use crate::batch::{Batch, not_found};
use crate::flow_commands::shown_commands;
use crate::gates::{self, Ask};
use crate::load::{self, flow_stream};
use crate::worker::{FLOW, holder, is_gone};
use crate::{Desk, Error, LocalDesk, Result, paging, tasks};
use sayso_core::flow::{
    Advance, Claim, Command, Event, Flow, FlowPlace, Heard, How, Questions, Standing, Started, Step,
};
use sayso_core::gate::{self, Ending, Fact, Gate};
use sayso_core::run::Holder;
use sayso_core::task::{self, Edit, Status};
use sayso_core::{Actor, Answer, AtEnd, Code, Digest, FlowId, GateId, Refusal, TaskId, Timestamp};
use sayso_store::{FlowFilter, Foresight, GateFilter, Handles, Page, ReadyFilter};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// The maximum number of characters of a flow's title and phase on the cards of its questions.
const ABOUT_CHARS_MAX: usize = 200;

/// The maximum number of gates of a flow's agents that are settled when it ends.
const GATES_MAX: usize = 1_000;

/// The events of a flow, in order.
pub type FlowHistory = Vec<(Timestamp, Event)>;

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
pub struct GoOn {
    /// The claim under which the flow is advanced.
    pub claim: Claim,
    /// The position of the flow that the caller knows (optimistic concurrency).
    pub position: u32,
    /// The steps that happened, in order.
    pub steps: Vec<FlowStep>,
}

impl GoOn {
    /// Returns the rows to prefetch.
    fn foresight(&self, flow: FlowId) -> Foresight {
        let begun = Foresight::default().flow(flow);
        self.steps.iter().fold(begun, |all, step| match step {
            FlowStep::Ask { ask, .. } => all.and(gates::of_ask(ask)),
            FlowStep::Hear { gate, .. } => all.gate(*gate),
            FlowStep::Complete { .. }
            | FlowStep::HearOtherwise { .. }
            | FlowStep::Move { .. }
            | FlowStep::Keep { .. }
            | FlowStep::Stuck { .. }
            | FlowStep::LetGo
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
        ask: Box<Ask>,
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
    HearOtherwise {
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
    LetGo,
    /// The flow ends.
    End {
        how: How,
        /// The reason, in words.
        note: String,
        /// The final state of the flow, if it changed.
        state: Option<Value>,
    },
}

impl LocalDesk {
    /// Starts a flow. It is stored when this returns.
    pub fn start_flow(&self, actor: &Actor, new: NewFlow) -> Result<Flow> {
        let foresight = Foresight::default().new_flow(new.id);
        self.submit_foreseen(actor, foresight, move |batch| {
            start(batch, &new)?;
            flow_in(batch, new.id)
        })
    }

    /// Starts a flow and holds its lease from the beginning, for a caller that executes it at once. The flag is false
    /// if the flow already existed: then it is only found.
    pub fn lead_flow(&self, actor: &Actor, new: NewFlow, claim: Claim) -> Result<(Flow, bool)> {
        let foresight = Foresight::default().new_flow(new.id);
        self.submit_foreseen(actor, foresight, move |batch| {
            let is_new = start(batch, &new)?;
            if is_new {
                let (position, steps) = (flow_in(batch, new.id)?.position, vec![]);
                let take = Advance { claim: claim.clone(), position, steps };
                batch.on_flow(new.id, &Command::Advance(take))?;
            }
            Ok((flow_in(batch, new.id)?, is_new))
        })
    }

    /// Advances a flow: records outputs, opens gates, takes up answers and moves on.
    pub fn go_on(&self, actor: &Actor, id: FlowId, go_on: GoOn) -> Result<Flow> {
        self.submit_foreseen(actor, go_on.foresight(id), move |batch| {
            batch.check_space_is_there()?;
            self::go_on(batch, id, &go_on)
        })
    }

    /// Cancels a flow; its gates and those of its agents are withdrawn, and the task that was made for it is closed.
    pub fn cancel_flow(&self, actor: &Actor, id: FlowId, reason: &str) -> Result<Flow> {
        let reason = reason.to_owned();
        self.submit(actor, move |batch| {
            let waits: Vec<_> = flow_in(batch, id)?.waits_for().collect();
            if batch.on_flow(id, &Command::Cancel { reason: reason.clone() })? {
                for (_, gate) in waits {
                    if gate_in(batch, gate)?.is_open() {
                        batch.begin_entry();
                        gates::withdraw(batch, gate, &reason)?;
                    }
                }
                put_task_away(batch, id)?;
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
    pub fn flows(&self, filter: &FlowFilter) -> Result<Page<Flow>> {
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
    pub fn ready_flows(&self, filter: &ReadyFilter) -> Result<Page<Flow>> {
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
        let found = match is_plain && !name.is_empty() {
            true => self.read(|read| Ok(read.find_flows(self.space, &name)?))?,
            false => vec![],
        };
        match found.as_slice() {
            [(only, _)] => Ok(*only),
            [(exact, handle), ..] if *handle == name => Ok(*exact),
            [] => {
                let shown = sayso_core::text::shorten(&sayso_core::text::harmless_line(typed), 60);
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
pub struct Stands {
    pub standing: Standing,
    /// The open gates it waits for: its own, or those of the agent that works for it.
    pub waits: Vec<Gate>,
}

impl Stands {
    /// True if it waits for people.
    pub fn is_waiting(&self) -> bool {
        self.standing == Standing::Waiting
    }
}

impl Desk {
    /// Returns the standing of a flow. Every interface uses this one, so that none says something else.
    pub fn stands(&self, flow: &Flow) -> Result<Stands> {
        let own: Vec<_> = flow.waits_for().map(|(_, gate)| gate).collect();
        let gates: Vec<_> = match flow.started.task.filter(|_| flow.is_live() && own.is_empty()) {
            Some(task) => self.task(task)?.task.waits_for.into_keys().collect(),
            None => own,
        };
        let mut waits = vec![];
        for gate in gates {
            waits.push(self.gate(gate)?);
        }
        let is_answered =
            |gate: &Gate| heard_at(gate).is_ok_and(|heard: Heard| heard.answer.is_some());
        let questions = match (waits.iter().any(Gate::is_open), waits.iter().all(is_answered)) {
            (true, _) => Questions::Open,
            (false, true) => Questions::Answered,
            (false, false) => Questions::Unanswered,
        };
        waits.retain(Gate::is_open);
        let is_held = is_held(flow, &holder(Path::new("")), self.now());
        Ok(Stands { standing: flow.stands(questions, is_held), waits })
    }
}

/// Starts a flow, unless it exists. Returns true if it is new.
fn start(batch: &mut Batch<'_, '_>, new: &NewFlow) -> Result<bool> {
    batch.check_space_is_there()?;
    if let Some(task) = new.task {
        batch.task(task)?.ok_or_else(|| not_found("task", &task))?;
    }
    let handle = match batch.flow(new.id)? {
        Some(flow) => flow.started.handle.clone(),
        None => {
            batch.check_is_free(&flow_stream(new.id))?;
            batch.free_handle(Handles::Flows, |len| new.id.handle(len))?
        }
    };
    let NewFlow { id, workflow, version, definition, title, task, phase, state, place } =
        new.clone();
    let (space, launcher) = (batch.space, batch.actor.name.clone());
    let launcher_role = Some(batch.actor.role);
    let started = Started {
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
    batch.on_flow(id, &Command::Start(Box::new(started)))
}

/// Advances a flow in a batch that may do other things, too.
pub(crate) fn go_on(batch: &mut Batch<'_, '_>, id: FlowId, go_on: &GoOn) -> Result<Flow> {
    let steps = go_on.steps.iter().map(|step| known(batch, step)).collect::<Result<_>>()?;
    let GoOn { claim, position, .. } = go_on.clone();
    batch.on_flow(id, &Command::Advance(Advance { claim, position, steps }))?;
    // Questions are asked at the flow's present position: it never moves past an open one.
    let flow = flow_in(batch, id)?;
    for step in &go_on.steps {
        match step {
            FlowStep::Ask { ask, .. } => {
                batch.begin_entry();
                gates::open_in(batch, &asked_by(&flow, ask)?, Some(id))?;
            }
            FlowStep::Hear { gate, .. } => {
                batch.begin_entry();
                batch.on_gate(*gate, &gate::Command::Acknowledge)?;
            }
            FlowStep::Complete { .. }
            | FlowStep::HearOtherwise { .. }
            | FlowStep::Move { .. }
            | FlowStep::Keep { .. }
            | FlowStep::Stuck { .. }
            | FlowStep::LetGo
            | FlowStep::End { .. } => {}
        }
    }
    let is_done = flow_in(batch, id)?.ending.is_some_and(|ending| ending.how == How::Done);
    // The work of a completed flow is landed first, by its executor.
    if !is_done {
        put_task_away(batch, id)?;
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
fn put_task_away(batch: &mut Batch<'_, '_>, id: FlowId) -> Result<()> {
    let flow = flow_in(batch, id)?;
    let (Some(ending), Some(task)) = (&flow.ending, flow.started.task) else { return Ok(()) };
    let Some(led) = batch.task(task)?.cloned() else { return Ok(()) };
    let why =
        format!("its flow {} is {}: {}", flow.started.handle, ending.how.as_str(), ending.note);
    let why = why.trim_end_matches([':', ' ']);
    for gate in led.waits_for.keys() {
        if gate_in(batch, *gate)?.opened_at >= flow.started_at {
            batch.begin_entry();
            gates::withdraw(batch, *gate, why)?;
        }
    }
    settle_answers(batch, task, &flow)?;
    if led.status.is_over() {
        return Ok(());
    }
    batch.begin_entry();
    if task == task_of_flow(id) {
        // If closing needs a sign-off, the task stays open for a person to close.
        return match tasks::move_to(batch, task, Status::Closed, why) {
            Err(Error::Refused(_)) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        };
    }
    let remove_labels = [format!("{FLOW}{id}")].into();
    let edit = Edit { remove_labels, ..Edit::default() };
    batch.on_task(task, &task::Command::Edit(Box::new(edit))).map(drop)
}

/// Acknowledges the answers to the agents of a flow that has ended: no agent will pick them up any more.
fn settle_answers(batch: &mut Batch<'_, '_>, task: TaskId, flow: &Flow) -> Result<()> {
    let filter = GateFilter { task: Some(task), limit: GATES_MAX, ..GateFilter::default() };
    let asked = batch.write.gates(batch.space, &filter)?.items;
    for gate in asked.iter().filter(|gate| gate.opened_at >= flow.started_at) {
        // Read again: some were withdrawn just before.
        if !gate_in(batch, gate.opened.id)?.is_open() {
            batch.begin_entry();
            batch.on_gate(gate.opened.id, &gate::Command::Acknowledge)?;
        }
    }
    Ok(())
}

/// Adds the flow's verified facts to a question: two flows of one workflow ask alike, and the approver must see which
/// of them it is.
fn asked_by(flow: &Flow, ask: &Ask) -> Result<Ask> {
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
    let fact = |(name, value): (&str, &str)| Fact {
        name: name.into(),
        value: sayso_core::text::shorten(value, ABOUT_CHARS_MAX).into(),
        verified: true,
    };
    let mut asked = ask.clone();
    let own = std::mem::take(&mut asked.card.facts);
    let whole = [("runs", commands), ("in", home), ("version", version.to_owned())];
    let whole = whole.into_iter().filter(|(_, value)| !value.is_empty());
    let whole =
        whole.map(|(name, value)| Fact { name: name.into(), value: value.into(), verified: true });
    asked.card.facts = known.map(fact).chain(whole).chain(own).collect();
    Ok(asked)
}

/// Translates a step to the core's type. The answer of a gate is read from the gate, never taken from the caller.
fn known(batch: &mut Batch<'_, '_>, step: &FlowStep) -> Result<Step> {
    Ok(match step.clone() {
        FlowStep::Complete { item, output, state } => Step::Complete { item, output, state },
        FlowStep::Ask { item, ask } => Step::Ask { item, gate: ask.id },
        FlowStep::Hear { item, gate, state } => {
            let heard = heard_at(&gate_in(batch, gate)?)?;
            Step::Hear { item, heard, state }
        }
        FlowStep::HearOtherwise { item, by, question, answer, more, state } => {
            let (gate, answer, ended) = (None, Some(answer), "otherwise".into());
            Step::Hear { item, heard: Heard { gate, answer, by, question, ended, more }, state }
        }
        FlowStep::Move { to, state } => Step::Move { to, state },
        FlowStep::Keep { until } => Step::Keep { until },
        FlowStep::Stuck { why } => Step::Stuck { why },
        FlowStep::LetGo => Step::LetGo,
        FlowStep::End { how, note, state } => Step::End { how, note, state },
    })
}

/// Returns the result of a gate that has ended, as a flow records it.
pub fn heard_at(gate: &Gate) -> Result<Heard> {
    let Some(ending) = &gate.ending else {
        let message = format!("gate {} is still open: there is nothing to hear", gate.handle());
        return Err(Refusal::new(Code::WrongState, message).into());
    };
    let (answer, by) = match ending {
        Ending::Answered { answer, by } => (Some(answer.clone()), by.name.clone()),
        // A timeout is an approval only where an admin's policy made it one.
        Ending::Expired { at_end: AtEnd::Approve, .. } => {
            (Some(Answer::approved()), "the policy".into())
        }
        Ending::Expired { .. } | Ending::Withdrawn { .. } | Ending::Superseded { .. } => {
            (None, String::new())
        }
    };
    let (gate, ended) = (Some(gate.opened.id), ending.as_str().to_owned());
    Ok(Heard { gate, answer, by, question: String::new(), ended, more: false })
}

/// True if another executor holds the lease of a flow, as far as we can tell.
pub fn is_held(flow: &Flow, ours: &Holder, now: Timestamp) -> bool {
    flow.hold.as_ref().is_some_and(|hold| now < hold.until && !is_gone(&hold.holder, ours))
}

fn flow_in(batch: &mut Batch<'_, '_>, id: FlowId) -> Result<Flow> {
    Ok(batch.flow(id)?.cloned().ok_or_else(|| not_found("flow", &id))?)
}

fn gate_in(batch: &mut Batch<'_, '_>, id: GateId) -> Result<Gate> {
    Ok(batch.gate(id)?.cloned().ok_or_else(|| not_found("gate", &id))?)
}
