//! Runs: agent executions on tasks, with their lease, fencing number and outcome.

use crate::gates::{self, NewGate};
use crate::write_batch::{WriteBatch, not_found};
use crate::{CompletionOutcome, LocalDesk, Result, credentials, tasks};
use sayso_core::gate::CardFact;
use sayso_core::run::{LeaseHolder, Run, RunCommand, RunEndKind, RunSpec, RunState, RunUsage};
use sayso_core::task::{self, Task, TaskStatus};
use sayso_core::{
    Actor, AssuranceLevel, Code, EntryPoint, GateId, IdentityProof, Refusal, Role, RunId, TaskId,
    Timestamp,
};
use serde::{Deserialize, Serialize};

/// The parameters of a new run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRun {
    /// Chosen by the worker.
    pub id: RunId,
    /// The task it works on.
    pub task: TaskId,
    pub agent: String,
    /// The end of the first lease.
    pub lease_until: Timestamp,
    /// The process that holds the run, and its place.
    pub holder: LeaseHolder,
    /// The conversation that it continues.
    pub session: Option<String>,
    /// The agent's own credential, made with [`crate::Desk::new_agent_secret`]. It ends with the run.
    pub secret: String,
}

/// The outcome of a run, as its worker settles it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RunSettlement {
    /// The agent reports completed work.
    Completed {
        summary: String,
        /// Verified facts about the work, for the person who signs it off.
        facts: Vec<CardFact>,
    },
    /// A step of a flow is done. The run has ended well, and the task stays open for the next step.
    Stepped {
        summary: String,
    },
    /// The agent asks people.
    Asked(Vec<NewGate>),
    /// The agent reports completed work, and the policy requires approval before it counts. The policy's demands are
    /// looked up again when this is written.
    Ruled {
        /// The question; the policy decides who is asked.
        ask: Box<NewGate>,
        /// The agent's confidence in percent.
        confidence: Option<u8>,
    },
    /// The agent ended at a call that waits for a person, and continues with that call.
    PutOff,
    Failed {
        reason: String,
    },
    /// No progress; the task may be claimed again.
    Again {
        /// The end of the run.
        how: RunEndKind,
        why: String,
    },
    /// The task may be claimed again, but not before a given time.
    Later {
        /// The end of the run.
        how: RunEndKind,
        why: String,
        until: Timestamp,
    },
    /// The task cannot continue before a person acts.
    Blocked {
        why: String,
    },
}

/// The maximum number of answers that are read for work to be landed.
const LOOK_BACK: usize = 500;

/// The note of a run that ended at a call.
const PUT_OFF: &str = "it ended at a call that waits for a person";

/// True if a run ended at a call. Resumed without a prompt, its agent continues with that call.
pub(crate) fn ended_at_call(run: &Run) -> bool {
    matches!(&run.state, RunState::Ended { how: RunEndKind::Asked, note, .. } if note == PUT_OFF)
}

impl RunSettlement {
    fn asks(&self) -> bool {
        matches!(self, RunSettlement::Asked(_) | RunSettlement::Ruled { .. })
    }

    fn how(&self) -> RunEndKind {
        match self {
            RunSettlement::Completed { .. } | RunSettlement::Stepped { .. } => {
                RunEndKind::Completed
            }
            RunSettlement::Asked(_) | RunSettlement::Ruled { .. } | RunSettlement::PutOff => {
                RunEndKind::Asked
            }
            RunSettlement::Failed { .. } | RunSettlement::Blocked { .. } => RunEndKind::Failed,
            RunSettlement::Again { how, .. } | RunSettlement::Later { how, .. } => *how,
        }
    }

    fn note(&self) -> String {
        match self {
            RunSettlement::Completed { summary, .. } | RunSettlement::Stepped { summary } => {
                summary.clone()
            }
            RunSettlement::Asked(asks) => {
                asks.first().map(|ask| ask.card.question.clone()).unwrap_or_default()
            }
            RunSettlement::Ruled { ask, .. } => ask.card.question.clone(),
            RunSettlement::PutOff => PUT_OFF.into(),
            RunSettlement::Failed { reason } => reason.clone(),
            RunSettlement::Again { why, .. }
            | RunSettlement::Later { why, .. }
            | RunSettlement::Blocked { why } => why.clone(),
        }
    }
}

impl LocalDesk {
    /// Starts a run in one transaction: the task is claimed, the run gets the next fencing number and its agent a
    /// credential. A task has one live run.
    pub fn start_run(&self, actor: &Actor, new: NewRun) -> Result<Run> {
        let token = self.new_token_id();
        self.submit(actor, move |batch| {
            check_is_free(batch, &new)?;
            batch.on_task(new.task, &task::TaskCommand::Start { run: Some(new.id) })?;
            let task = task_in(batch, new.task)?;
            let started = RunSpec {
                id: new.id,
                space: task.space,
                task: new.task,
                agent: new.agent.clone(),
                fence: task.fence,
                lease_until: new.lease_until,
                launcher: batch.actor.name.clone(),
                holder: new.holder.clone(),
                session: new.session.clone(),
            };
            if batch.on_run(new.id, &RunCommand::Start(Box::new(started)))? {
                credentials::add_run_token(batch, token, &new)?;
            }
            run_in(batch, new.id)
        })
    }

    /// Renews the lease of a run.
    pub fn renew_run(&self, actor: &Actor, id: RunId, fence: u64, until: Timestamp) -> Result<Run> {
        self.on_run(actor, id, RunCommand::Renew { fence, until })
    }

    /// Records the agent's session id for its conversation.
    pub fn name_session(&self, actor: &Actor, id: RunId, session: &str) -> Result<Run> {
        self.on_run(actor, id, RunCommand::Name { session: session.into() })
    }

    /// Ends a run; its credential stops working with it.
    pub fn end_run(
        &self,
        actor: &Actor,
        id: RunId,
        fence: u64,
        how: RunEndKind,
        note: &str,
    ) -> Result<Run> {
        let spent = RunUsage::default();
        self.on_run(actor, id, RunCommand::End { fence, how, note: note.into(), spent })
    }

    fn on_run(&self, actor: &Actor, id: RunId, command: RunCommand) -> Result<Run> {
        self.submit(actor, move |batch| {
            batch.on_run(id, &command)?;
            run_in(batch, id)
        })
    }

    /// Settles a run and moves its task accordingly, in one transaction. Refused if the run is not live any more:
    /// then another worker has the task, and nothing is changed. That state is the check; the fencing number is
    /// always the run's own.
    pub fn settle_run(
        &self,
        agent: &Actor,
        run: &Run,
        spent: RunUsage,
        settlement: RunSettlement,
    ) -> Result<Task> {
        let (id, task, fence) = (run.started.id, run.started.task, run.started.fence);
        let gate = self.new_gate_id();
        self.submit(agent, move |batch| {
            if run_in(batch, id)?.state != RunState::Running {
                let message = format!("run {id} is over: it settles nothing any more");
                return Err(Refusal::new(Code::WrongState, message).into());
            }
            // A decision that a person took meanwhile stands, and an open question takes precedence.
            let now = task_in(batch, task)?;
            let left_open = now.is_waiting() && !settlement.asks();
            let how = if left_open { RunEndKind::Asked } else { settlement.how() };
            batch.on_run(id, &RunCommand::End { fence, how, note: settlement.note(), spent })?;
            if !now.status.is_over() && !left_open {
                settle(batch, &now, gate, &settlement)?;
            }
            // A question of a live agent does not take the task from it; the end of its run does.
            let after = task_in(batch, task)?;
            release_task(batch, &after, id, &settlement.note())?;
            task_in(batch, task)
        })
    }

    /// Gives up an abandoned run, so that its task can be claimed again: one whose lease ran out, or whose worker
    /// `is_dead`. None if it is held, or had ended before.
    pub fn lose_run(&self, actor: &Actor, id: RunId, is_dead: bool) -> Result<Option<Run>> {
        self.submit(actor, move |batch| {
            let run = run_in(batch, id)?;
            let is_late = run.lease_until <= batch.at;
            if run.state != RunState::Running || !(is_late || is_dead) {
                return Ok(None);
            }
            let (fence, note, spent) = (run.started.fence, "its worker died", RunUsage::default());
            let command = if is_late {
                RunCommand::Lose
            } else {
                RunCommand::End { fence, how: RunEndKind::Lost, note: note.into(), spent }
            };
            batch.on_run(id, &command)?;
            let task = task_in(batch, run.started.task)?;
            release_task(batch, &task, id, "its run was lost")?;
            run_in(batch, id).map(Some)
        })
    }

    /// Returns a run of this space.
    pub fn run(&self, id: RunId) -> Result<Run> {
        self.read(|read| {
            let found = read.run(id)?.filter(|(run, _)| run.started.space == self.space);
            Ok(found.map(|(run, _)| run).ok_or_else(|| not_found("run", &id))?)
        })
    }

    /// Returns the last runs of a task, newest first.
    pub fn runs_of(&self, task: TaskId, limit: usize) -> Result<Vec<Run>> {
        // The store orders them by id, and a worker that slept before it began has an old id.
        let mut runs =
            self.read(|read| Ok(read.runs_of(task, limit.saturating_add(SLEPT_MAX))?))?;
        runs.retain(|run| run.started.space == self.space);
        runs.sort_by_key(|run| std::cmp::Reverse(run.started.fence));
        runs.truncate(limit);
        Ok(runs)
    }

    /// Returns answers that ended a task, if a run of this place asked and its work has not been landed yet.
    pub fn to_be_landed(&self, asker: &str, place: &LeaseHolder) -> Result<Vec<(GateId, Task)>> {
        let space = self.space;
        self.read(|read| {
            let mut found = vec![];
            for id in read.deliveries_to_settle(space, asker, LOOK_BACK)? {
                let gate = read.gate_view(id)?.map(|(gate, _)| gate.opened);
                let Some((Some(task), Some(run))) = gate.map(|o| (o.task, o.lineage.run)) else {
                    continue;
                };
                let task = read.task(task)?.map(|(row, _)| row.task);
                let is_over =
                    |task: &Task| matches!(task.status, TaskStatus::Closed | TaskStatus::Deleted);
                let Some(task) = task.filter(is_over) else { continue };
                let holder = read.run(run)?.map(|(run, _)| run.started.holder);
                if holder.is_some_and(|holder| holder.is_at_the_place_of(place)) {
                    found.push((id, task));
                }
            }
            Ok(found)
        })
    }

    /// Returns the live runs.
    pub fn live_runs(&self) -> Result<Vec<Run>> {
        self.read(|read| Ok(read.live_runs(self.space, LIVE_RUNS_MAX)?))
    }
}

/// Returns the actor that stands for the agent of a run. A worker records the agent's statements under it, so they
/// are judged as an agent's word.
pub(crate) fn agent_of(run: &Run, level: AssuranceLevel) -> Actor {
    let name = &run.started.agent;
    Actor {
        run: Some(run.started.id),
        task: Some(run.started.task),
        launcher: Some(run.started.launcher.clone()),
        ..Actor::new(Role::Agent, name, IdentityProof::Token, level, EntryPoint::Worker)
    }
}

/// The maximum number of live runs in one space.
const LIVE_RUNS_MAX: usize = 10_000;

/// The maximum number of runs of one task that may have begun while a worker slept that had already made an id.
const SLEPT_MAX: usize = 50;

/// Checks that the task is free: two workers that saw it free must not both claim it, and one that a person took
/// stays theirs.
fn check_is_free(batch: &mut WriteBatch<'_, '_>, new: &NewRun) -> Result<()> {
    let task = task_in(batch, new.task)?;
    let live = batch.write.live_runs(task.space, LIVE_RUNS_MAX)?;
    let is_run = live.iter().any(|r| r.started.task == new.task && r.started.id != new.id);
    let is_taken = task.status == TaskStatus::InProgress && task.run != Some(new.id);
    if is_run || is_taken {
        let message = format!("task {} is in somebody else's hands", task.handle);
        return Err(Refusal::new(Code::WrongState, message)
            .hint(format!("if nobody works on it, free it with: sayso reopen {}", task.handle))
            .into());
    }
    Ok(())
}

fn settle(
    batch: &mut WriteBatch<'_, '_>,
    task: &Task,
    gate: GateId,
    settlement: &RunSettlement,
) -> Result<()> {
    match settlement {
        RunSettlement::Completed { summary, facts } => {
            let _: CompletionOutcome =
                tasks::complete(batch, task.id, gate, summary, facts, false)?;
        }
        RunSettlement::Asked(asks) => {
            for ask in asks {
                gates::open(batch, ask)?;
            }
        }
        RunSettlement::Ruled { ask, confidence } => {
            let ruling = batch.rule_on_completion(task.id, *confidence)?;
            gates::open(batch, &ask.as_ref().clone().demanded_by(&ruling))?;
        }
        RunSettlement::Failed { reason } => {
            batch.on_task(task.id, &task::TaskCommand::Fail { reason: reason.clone() })?;
        }
        // The task changes only in that the run releases it.
        RunSettlement::Stepped { .. } | RunSettlement::Again { .. } | RunSettlement::PutOff => {}
        RunSettlement::Later { until, .. } => {
            batch.on_task(task.id, &task::TaskCommand::Defer { until: Some(*until) })?;
        }
        RunSettlement::Blocked { why } => {
            batch.on_task(task.id, &task::TaskCommand::Block { reason: why.clone() })?;
        }
    }
    Ok(())
}

/// Releases a task that this run held.
fn release_task(batch: &mut WriteBatch<'_, '_>, task: &Task, run: RunId, why: &str) -> Result<()> {
    if task.run == Some(run) && task.status == TaskStatus::InProgress {
        batch.on_task(task.id, &task::TaskCommand::Reopen { reason: why.into() })?;
    }
    Ok(())
}

fn task_in(batch: &mut WriteBatch<'_, '_>, id: TaskId) -> Result<Task> {
    Ok(batch.task(id)?.cloned().ok_or_else(|| not_found("task", &id))?)
}

fn run_in(batch: &mut WriteBatch<'_, '_>, id: RunId) -> Result<Run> {
    Ok(batch.run(id)?.cloned().ok_or_else(|| not_found("run", &id))?)
}
