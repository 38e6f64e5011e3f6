//! Commands and queries about tasks: create, edit, start, close, depend.

use crate::gates::{self, NewGate};
use crate::load::{self, TaskTimeline};
use crate::visibility::check_knows_task;
use crate::write_batch::{WriteBatch, not_found};
use crate::{LocalDesk, Result, paging};
use sayso_core::gate::{Card, CardFact, Gate};
use sayso_core::task::{self, CompletionEffect, Task, TaskCommand, TaskEdit, TaskSpec, TaskStatus};
use sayso_core::{
    Actor, AnswerShape, Code, GateId, GateKind, Refusal, Role, RunId, TaskId, Timestamp,
};
use sayso_store::{HandleTable, ListPage, TaskFilter, TaskRow};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The arguments for creating a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTask {
    /// Created by the caller.
    pub id: TaskId,
    /// The title, in one line.
    pub title: String,
    pub body: String,
    /// The type of work.
    pub sort: String,
    /// From 0, at once, to 4, some day.
    pub priority: u8,
    /// The size, as an estimate.
    pub size: Option<String>,
    pub labels: BTreeSet<String>,
    /// The epic that it is part of.
    pub parent: Option<TaskId>,
    /// The tasks that must be closed before it.
    pub blocked_by: BTreeSet<TaskId>,
    /// The kind of gate that opens when an agent reports it as complete.
    pub requires: Option<GateKind>,
    /// A gate that opens at once.
    pub awaiting: Option<(GateId, GateKind)>,
}

/// The result of reporting a task as complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CompletionOutcome {
    /// The task is closed.
    Closed(Box<Task>),
    /// The task waits for this gate first.
    Waits(Box<Task>, Box<Gate>),
}

impl LocalDesk {
    pub fn create_task(&self, actor: &Actor, new: NewTask) -> Result<Task> {
        self.submit(actor, move |batch| create(batch, &new))
    }

    pub fn edit_task(&self, actor: &Actor, id: TaskId, edit: TaskEdit) -> Result<Task> {
        self.submit(actor, move |batch| {
            if let Some(Some(parent)) = edit.parent {
                check_parent(batch, id, parent)?;
            }
            batch.on_task(id, &TaskCommand::Edit(Box::new(edit.clone())))?;
            task_in(batch, id)
        })
    }

    /// Makes a task depend on another.
    pub fn add_dependency(&self, actor: &Actor, id: TaskId, on: TaskId) -> Result<Task> {
        check_knows_task(actor, id)?;
        self.submit(actor, move |batch| {
            let other = task_in(batch, on)?;
            let this = task_in(batch, id)?;
            // A task that depends on itself has a refusal of its own.
            if id != on && batch.write.would_cycle(id, on)? {
                return Err(Refusal::new(
                    Code::Cycle,
                    format!("{} already waits for {}", other.handle, this.handle),
                )
                .hint("see what waits for what with: sayso show ID")
                .into());
            }
            batch.on_task(id, &TaskCommand::AddDependency { on })?;
            task_in(batch, id)
        })
    }

    pub fn remove_dependency(&self, actor: &Actor, id: TaskId, on: TaskId) -> Result<Task> {
        check_knows_task(actor, id)?;
        self.on_task(actor, id, TaskCommand::RemoveDependency { on })
    }

    pub fn start_task(&self, actor: &Actor, id: TaskId, run: Option<RunId>) -> Result<Task> {
        self.on_task(actor, id, TaskCommand::Start { run })
    }

    /// Claims a task that is not in progress. Claiming it again succeeds for its holder.
    pub fn claim_task(&self, actor: &Actor, id: TaskId) -> Result<Task> {
        check_knows_task(actor, id)?;
        self.submit(actor, move |batch| {
            let task = task_in(batch, id)?;
            if task.status != TaskStatus::InProgress {
                batch.on_task(id, &TaskCommand::Start { run: None })?;
                return task_in(batch, id);
            }
            let history = load::task_history(batch.write, id)?;
            let who = history.iter().rev().find_map(|(_, event)| match event {
                task::TaskEvent::Started { by, .. } => Some(by.as_str()),
                _ => None,
            });
            if who == Some(batch.actor.name.as_str()) && task.run == batch.actor.run {
                return Ok(task);
            }
            let message = format!("{} is at work on {}", who.unwrap_or("somebody"), task.handle);
            Err(Refusal::new(Code::WrongState, message).hint("take another task").into())
        })
    }

    pub fn note(&self, actor: &Actor, id: TaskId, text: &str, as_agent: bool) -> Result<Task> {
        self.on_task(actor, id, TaskCommand::Note { text: text.into(), as_agent })
    }

    pub fn reopen_task(&self, actor: &Actor, id: TaskId, reason: &str) -> Result<Task> {
        self.on_task(actor, id, TaskCommand::Reopen { reason: reason.into() })
    }

    pub fn defer_task(&self, actor: &Actor, id: TaskId, until: Option<Timestamp>) -> Result<Task> {
        self.on_task(actor, id, TaskCommand::Defer { until })
    }

    /// Marks a task as failed.
    pub fn fail_task(&self, actor: &Actor, id: TaskId, reason: &str) -> Result<Task> {
        self.on_task(actor, id, TaskCommand::Fail { reason: reason.into() })
    }

    /// Marks a task as blocked by something that is not a task.
    pub fn block_task(&self, actor: &Actor, id: TaskId, reason: &str) -> Result<Task> {
        self.on_task(actor, id, TaskCommand::Block { reason: reason.into() })
    }

    fn on_task(&self, actor: &Actor, id: TaskId, command: TaskCommand) -> Result<Task> {
        self.submit(actor, move |batch| {
            batch.on_task(id, &command)?;
            task_in(batch, id)
        })
    }

    /// Opens a gate for a task, with a question or with the default one of the kind.
    pub fn hand_over(
        &self,
        actor: &Actor,
        id: TaskId,
        kind: GateKind,
        question: Option<String>,
    ) -> Result<Gate> {
        let gate = self.new_gate_id();
        self.submit(actor, move |batch| {
            let mut ask = ask_for(gate, &task_in(batch, id)?, kind, "");
            if let Some(question) = &question {
                ask.card.question.clone_from(question);
            }
            gates::open(batch, &ask)
        })
    }

    /// Closes a task. Its required gate is opened first unless a person closes it; its open gates are withdrawn. With
    /// `force` its children are closed, too.
    pub fn close_task(
        &self,
        actor: &Actor,
        id: TaskId,
        reason: &str,
        force: bool,
    ) -> Result<CompletionOutcome> {
        check_knows_task(actor, id)?;
        let (reason, gate) = (reason.to_owned(), self.new_gate_id());
        self.submit(actor, move |batch| complete(batch, id, gate, &reason, &[], force))
    }

    /// Deletes a task. Its open gates are withdrawn with their askers told; the records stay.
    pub fn delete_task(
        &self,
        actor: &Actor,
        id: TaskId,
        reason: &str,
        force: bool,
    ) -> Result<Task> {
        let reason = reason.to_owned();
        self.submit(actor, move |batch| {
            finish(batch, id, TaskEnd::Delete, &reason, force)?;
            task_in(batch, id)
        })
    }

    /// Returns a task with the number of its blockers and open children, and its flow.
    pub fn task(&self, id: TaskId) -> Result<TaskRow> {
        self.read(|read| {
            let row = read.task(id)?.filter(|(row, _)| row.task.space == self.space);
            Ok(row.map(|(row, _)| row).ok_or_else(|| not_found("task", &id))?)
        })
    }

    /// Returns tasks, a page at a time.
    pub fn tasks(&self, filter: &TaskFilter) -> Result<ListPage<TaskRow>> {
        self.read(|read| {
            paging::bounded(self.page_bytes_max, filter.limit, |last: Option<&TaskRow>, limit| {
                let after = last.map(|row| row.task.id).or(filter.after);
                Ok(read.tasks(self.space, &TaskFilter { after, limit, ..filter.clone() })?)
            })
        })
    }

    /// Returns the events of a task, in order.
    pub fn history(&self, id: TaskId) -> Result<TaskTimeline> {
        self.task(id)?;
        self.read(|read| load::task_history(read, id))
    }

    /// Returns the handles and statuses of tasks that are visible to the reader.
    pub fn task_names(&self, ids: &[TaskId]) -> Result<Vec<(TaskId, String, TaskStatus)>> {
        let ids: Vec<_> = ids.iter().copied().filter(|id| self.shows_task(*id)).collect();
        self.read(|read| Ok(read.task_names(self.space, &ids)?))
    }
}

/// Closes a task, or opens the gate that is required first, with `facts` on its card.
pub(crate) fn complete(
    batch: &mut WriteBatch<'_, '_>,
    id: TaskId,
    gate: GateId,
    reason: &str,
    facts: &[CardFact],
    force: bool,
) -> Result<CompletionOutcome> {
    let task = task_in(batch, id)?;
    if let Some(gate) = completion_gate(batch, &task)? {
        return Ok(CompletionOutcome::Waits(Box::new(task), Box::new(gate)));
    }
    let is_up = !task.is_waiting() && !task.status.is_over();
    if let (CompletionEffect::Opens(kind), true) = (task::completion(&task, batch.actor), is_up) {
        check_nothing_left(batch, &task)?;
        let mut ask = ask_for(gate, &task, kind, reason);
        ask.card.facts = facts.to_vec();
        let gate = gates::open(batch, &ask)?;
        return Ok(CompletionOutcome::Waits(Box::new(task_in(batch, id)?), Box::new(gate)));
    }
    finish(batch, id, TaskEnd::Close, reason, force)?;
    Ok(CompletionOutcome::Closed(Box::new(task_in(batch, id)?)))
}

/// Returns the open gate of an earlier completion by the same actor.
fn completion_gate(batch: &mut WriteBatch<'_, '_>, task: &Task) -> Result<Option<Gate>> {
    for id in task.waits_for.keys() {
        let gate = gates::gate_in(batch, *id)?;
        if task::is_completion_gate(task, &gate, batch.actor) {
            return Ok(Some(gate));
        }
    }
    Ok(None)
}

fn create(batch: &mut WriteBatch<'_, '_>, new: &NewTask) -> Result<Task> {
    batch.check_space_is_there()?;
    let handle = match batch.task(new.id)? {
        Some(task) => task.handle.clone(),
        None => {
            batch.check_is_free(&load::task_stream(new.id))?;
            batch.free_handle(HandleTable::Tasks, |len| new.id.handle(len))?
        }
    };
    for other in new.parent.iter().chain(&new.blocked_by) {
        task_in(batch, *other)?;
    }
    // The required gate is inherited, so that an agent cannot avoid it by moving the rest into another task.
    let inherited = match (batch.actor.role, batch.actor.task) {
        (Role::Agent, Some(task)) => batch.task(task)?.and_then(|task| task.requires),
        _ => None,
    };
    let created = TaskSpec {
        id: new.id,
        space: batch.space,
        handle,
        title: new.title.clone(),
        body: new.body.clone(),
        sort: new.sort.clone(),
        priority: new.priority,
        size: new.size.clone(),
        labels: new.labels.clone(),
        parent: new.parent,
        blocked_by: new.blocked_by.clone(),
        requires: new.requires.or(inherited),
        created_by: batch.actor.name.clone(),
    };
    let is_new = batch.on_task(new.id, &TaskCommand::Create(Box::new(created)))?;
    if let Some((gate, kind)) = new.awaiting.filter(|_| is_new) {
        let task = task_in(batch, new.id)?;
        gates::open(batch, &ask_for(gate, &task, kind, ""))?;
    }
    task_in(batch, new.id)
}

/// Returns the default question of a task.
fn ask_for(id: GateId, task: &Task, kind: GateKind, narrative: &str) -> NewGate {
    let question = format!("{}: {}", task.title, kind.default_question());
    let shape = if kind == GateKind::Input { AnswerShape::Text } else { AnswerShape::Verdict };
    let card = Card { question, narrative: narrative.into(), facts: vec![], shape };
    NewGate::new(id, kind, Some(task.id), card)
}

#[derive(Clone, Copy)]
enum TaskEnd {
    Close,
    Delete,
}

impl TaskEnd {
    fn command(self, reason: &str, open_children: usize) -> TaskCommand {
        let reason = reason.to_owned();
        match self {
            TaskEnd::Close => TaskCommand::Close { reason, open_children },
            TaskEnd::Delete => TaskCommand::Delete { reason, open_children },
        }
    }

    fn why(self, task: &Task, reason: &str) -> String {
        let (verb, handle) = match self {
            TaskEnd::Close => ("closed", &task.handle),
            TaskEnd::Delete => ("deleted", &task.handle),
        };
        match reason {
            "" => format!("task {handle} was {verb}"),
            _ => format!("task {handle} was {verb}: {reason}"),
        }
    }
}

/// Ends a task and, with `force`, its children. It is checked before anything is withdrawn, so that a refused command
/// clears no gate.
fn finish(
    batch: &mut WriteBatch<'_, '_>,
    id: TaskId,
    end: TaskEnd,
    reason: &str,
    force: bool,
) -> Result<()> {
    let children = batch.write.open_children(id)?;
    if force {
        for child in &children {
            finish(batch, *child, end, reason, force)?;
        }
    }
    let open_children = if force { 0 } else { children.len() };
    batch.may_task(id, &end.command(reason, open_children))?;
    let task = task_in(batch, id)?;
    let why = end.why(&task, reason);
    for gate in task.waits_for.keys() {
        gates::withdraw(batch, *gate, &why)?;
    }
    batch.on_task(id, &end.command(reason, open_children))?;
    Ok(())
}

/// Moves a task to a status by the corresponding command.
pub(crate) fn move_to(
    batch: &mut WriteBatch<'_, '_>,
    id: TaskId,
    to: TaskStatus,
    reason: &str,
) -> Result<()> {
    let why = || reason.to_owned();
    let command = match to {
        TaskStatus::Closed => return finish(batch, id, TaskEnd::Close, reason, false),
        TaskStatus::Deleted => return finish(batch, id, TaskEnd::Delete, reason, false),
        TaskStatus::Open => TaskCommand::Reopen { reason: why() },
        TaskStatus::InProgress => TaskCommand::Start { run: None },
        TaskStatus::Deferred => TaskCommand::Defer { until: None },
        TaskStatus::Failed => TaskCommand::Fail { reason: why() },
        TaskStatus::Blocked => TaskCommand::Block { reason: why() },
    };
    batch.on_task(id, &command).map(drop)
}

/// Checks that all children are closed, so that a person signs off a complete task.
fn check_nothing_left(batch: &mut WriteBatch<'_, '_>, task: &Task) -> Result<()> {
    match batch.write.open_children(task.id)?.len() {
        0 => Ok(()),
        left => Err(Refusal::new(
            Code::WrongState,
            format!("{left} of the parts of {} are not closed", task.handle),
        )
        .hint("close them first")
        .into()),
    }
}

fn check_parent(batch: &mut WriteBatch<'_, '_>, id: TaskId, parent: TaskId) -> Result<()> {
    let above = task_in(batch, parent)?;
    let this = task_in(batch, id)?;
    if id != parent && batch.write.is_above(id, parent)? {
        return Err(Refusal::new(
            Code::Cycle,
            format!("{} is already part of {}", above.handle, this.handle),
        )
        .into());
    }
    Ok(())
}

fn task_in(batch: &mut WriteBatch<'_, '_>, id: TaskId) -> Result<Task> {
    Ok(batch.task(id)?.cloned().ok_or_else(|| not_found("task", &id))?)
}
