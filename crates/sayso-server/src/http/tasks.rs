//! HTTP API for tasks: creating and changing them, their dependencies, notes and history.

use super::auth::RequestContext;
use super::gates::{ReasonBody, bad, check_count, kinds, ulid};
use super::paging::{limit, page, part, try_page};
use super::params;
use super::route::{EmptyInput, OperationInput, OperationTable, OperationVerb};
use super::time::rfc3339;
use crate::wire::{self, ShortForm};
use sayso_core::TaskId;
use sayso_core::gate::Gate;
use sayso_core::task::{TaskEdit, TaskStatus};
use sayso_engine::{GateFilter, NewTask, Result, TaskFilter, TaskRow};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

/// The most gates that are shown with a task.
const GATES_MAX: usize = 500;

/// The most runs that are shown with a task.
const RUNS_MAX: usize = 1_000;

pub(super) fn operations(table: OperationTable) -> OperationTable {
    table
        .add(OperationVerb::Get, "/tasks", LIST, list)
        .add(OperationVerb::Create, "/tasks", CREATE, create)
        .add(OperationVerb::Get, "/tasks/{task}", SHOW, show)
        .add(OperationVerb::Patch, "/tasks/{task}", EDIT, edit)
        .add(OperationVerb::Delete, "/tasks/{task}", DELETE, delete)
        .add(OperationVerb::Get, "/tasks/{task}/history", HISTORY, history)
        .add(OperationVerb::Post, "/tasks/{task}/notes", NOTE, note)
        .add(OperationVerb::Post, "/tasks/{task}/close", CLOSE, close)
        .add(OperationVerb::Post, "/tasks/{task}/reopen", REOPEN, reopen)
        .add(OperationVerb::Post, "/tasks/{task}/defer", DEFER, defer)
        .add(OperationVerb::Put, "/tasks/{task}/dependencies/{on}", DEPEND, depend)
        .add(
            OperationVerb::Delete,
            "/tasks/{task}/dependencies/{on}",
            DEPEND_NO_MORE,
            depend_no_more,
        )
}

type TaskOperationDoc = (&'static str, &'static str);
const LIST: TaskOperationDoc = (
    "listTasks",
    "Tasks, a page at a time. By priority and then by age; those that are over are left out unless asked for. Long texts are cut; `shortened` names them, and they are whole at the task.",
);
const CREATE: TaskOperationDoc = (
    "createTask",
    "Makes a task. The same id with the same content again is the same task; with other content it is refused.",
);
const SHOW: TaskOperationDoc = ("showTask", "A task with its questions, notes, runs and history.");
const EDIT: TaskOperationDoc = (
    "editTask",
    "Changes a task. What is not named stays as it is. Loosening what a task requires is a person's.",
);
const DELETE: TaskOperationDoc = (
    "deleteTask",
    "Takes a task away. What waits on it is withdrawn and its askers are told; evidence stays.",
);
const HISTORY: TaskOperationDoc =
    ("taskHistory", "What happened to a task, in order. Notes are not among it.");
const NOTE: TaskOperationDoc = ("noteTask", "Writes a note. The author comes from the credential.");
const CLOSE: TaskOperationDoc = (
    "closeTask",
    "Closes a task. Where an agent closes what requires a person's say-so, the gate opens instead, and the task comes back with it.",
);
const REOPEN: TaskOperationDoc = ("reopenTask", "Opens a task again.");
const DEFER: TaskOperationDoc = ("deferTask", "Puts a task off.");
const DEPEND: TaskOperationDoc = ("addDependency", "Lets a task wait for another.");
const DEPEND_NO_MORE: TaskOperationDoc =
    ("removeDependency", "Lets a task wait no more for another.");

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListTasks {
    /// Only those with one of these statuses, separated by commas.
    status: Option<String>,
    /// Also tasks that are closed.
    #[serde(default)]
    all: bool,
    /// Only those a worker may take now.
    #[serde(default)]
    ready: bool,
    /// Only those that wait for a person: for one of these kinds, separated by commas, or for `any`.
    awaiting: Option<String>,
    /// Only those that wait for other tasks.
    #[serde(default)]
    blocked: bool,
    /// Only those with this label.
    label: Option<String>,
    /// Only those of this type.
    #[serde(rename = "type")]
    sort: Option<String>,
    /// Only those with this priority.
    #[schemars(range(max = 4))]
    priority: Option<u8>,
    /// Only the parts of this epic.
    parent: Option<String>,
    /// Continue after this task, as `next` of the last page said.
    after: Option<String>,
    /// At most this many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

fn list(
    at: &RequestContext,
    asked: OperationInput<0, ListTasks, EmptyInput>,
) -> Result<wire::PageJson<wire::TaskJson>> {
    at.check("tasks")?;
    let wanted = asked.query;
    let awaiting = match wanted.awaiting.as_deref() {
        Some("any") => Some(vec![]),
        typed => typed.map(kinds).transpose()?,
    };
    let filter = TaskFilter {
        statuses: statuses(wanted.status.as_deref().unwrap_or_default())?,
        all: wanted.all,
        ready_at: wanted.ready.then(|| at.desk.now()),
        awaiting,
        blocked: wanted.blocked,
        label: wanted.label,
        sort: wanted.sort,
        priority: wanted.priority,
        parent: wanted.parent.as_deref().map(|name| at.task(name)).transpose()?,
        after: wanted.after.as_deref().map(|name| at.task(name)).transpose()?,
        limit: limit(wanted.limit)?,
        ..TaskFilter::default()
    };
    let found = at.desk.tasks(&filter)?;
    try_page(&found, |row| Ok(of(at, row)?.short()), |row| row.task.id.to_string())
}

fn statuses(typed: &str) -> Result<Vec<TaskStatus>> {
    let words = typed.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| word.parse().map_err(|e: String| bad(e).into())).collect()
}

/// Converts a task to its wire form, with the gates it waits for, as far as they are visible to the caller.
fn of(at: &RequestContext, row: &TaskRow) -> Result<wire::TaskJson> {
    let (gates, is_whole) =
        if row.task.is_waiting() { gates_of(at, row.task.id)? } else { (vec![], true) };
    let mut task = wire::TaskJson::of(row, &gates, &rfc3339);
    task.shortened.extend((!is_whole).then(|| "gates".to_owned()));
    Ok(task)
}

/// Returns the gates of a task, and whether these are all of them.
fn gates_of(at: &RequestContext, task: TaskId) -> Result<(Vec<Gate>, bool)> {
    let filter = GateFilter { task: Some(task), limit: GATES_MAX, ..GateFilter::default() };
    let found = at.desk.gates(&at.actor, filter)?;
    Ok((found.items, !found.more))
}

/// Returns the task as it is now.
fn now(at: &RequestContext, id: TaskId) -> Result<wire::TaskJson> {
    of(at, &at.desk.task(id)?)
}

fn show(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, EmptyInput>,
) -> Result<wire::TaskDetail> {
    at.check("task")?;
    let id = at.task(&asked.names[0])?;
    let row = at.desk.task(id)?;
    let ((gates, is_whole), history) = (gates_of(at, id)?, at.desk.history(id)?);
    let runs = at.desk.runs_of(id, RUNS_MAX)?;
    let mut detail = wire::TaskDetail::of(&row, &gates, &history, &runs, &rfc3339);
    let cut = ["gates", "questions"].map(str::to_owned).into_iter().filter(|_| !is_whole);
    detail.task.shortened.extend(cut);
    Ok(detail)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskHistory {
    /// Continue after this one, as `next` of the last page said.
    after: Option<String>,
    /// At most this many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

fn history(
    at: &RequestContext,
    asked: OperationInput<1, TaskHistory, EmptyInput>,
) -> Result<wire::PageJson<wire::TaskEventJson>> {
    at.check("history")?;
    let history = at.desk.history(at.task(&asked.names[0])?)?;
    let numbered = wire::TaskEventJson::all(&history, &rfc3339).into_iter().enumerate().collect();
    let TaskHistory { after, limit: most } = asked.query;
    let found = part(numbered, after.as_deref(), limit(most)?, |(number, _)| number.to_string())?;
    Ok(page(&found, |(_, happening)| happening.clone(), |(number, _)| number.to_string()))
}

/// A task to be created.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateTask {
    /// A ULID of your own: creating again with it is the same task.
    id: Option<String>,
    /// The work to be done, in a line.
    title: String,
    /// The work to be done, at length.
    #[serde(default)]
    description: String,
    /// The type of work; task, unless given.
    #[serde(rename = "type")]
    sort: Option<String>,
    /// From 0, at once, to 4, some day; 2, unless given.
    #[schemars(range(max = 4))]
    priority: Option<u8>,
    /// The size of the work.
    size: Option<String>,
    /// Words to find it by.
    #[serde(default)]
    labels: Vec<String>,
    /// The epic it is part of.
    parent: Option<String>,
    /// The tasks that must be closed before it.
    #[serde(default)]
    #[schemars(length(max = 100))]
    blocked_by: Vec<String>,
    /// The gate that opens when an agent says it is complete: approval, review or content.
    requires: Option<params::Kind>,
    /// The kind of gate that waits for a person from the start.
    awaiting: Option<params::Kind>,
}

fn create(
    at: &RequestContext,
    asked: OperationInput<0, EmptyInput, CreateTask>,
) -> Result<wire::TaskJson> {
    let new = asked.body;
    check_count(&new.blocked_by, "tasks")?;
    let id = match new.id {
        Some(id) => ulid(&id)?,
        None => at.desk.new_task_id(),
    };
    let tasks = |names: Vec<String>| names.iter().map(|name| at.task(name)).collect::<Result<_>>();
    let new = NewTask {
        id,
        title: new.title,
        body: new.description,
        sort: new.sort.unwrap_or_else(|| "task".into()),
        priority: priority(new.priority)?.unwrap_or(2),
        size: new.size,
        labels: new.labels.into_iter().collect(),
        parent: new.parent.as_deref().map(|name| at.task(name)).transpose()?,
        blocked_by: tasks(new.blocked_by)?,
        requires: new.requires.map(Into::into),
        awaiting: new.awaiting.map(|kind| (at.desk.new_gate_id(), kind.into())),
    };
    now(at, at.desk.create_task(&at.actor, new)?.id)
}

fn priority(typed: Option<u8>) -> Result<Option<u8>> {
    match typed {
        Some(5..) => Err(bad("a priority is from 0, at once, to 4, some day".into()).into()),
        fine => Ok(fine),
    }
}

/// Changes to a task; what is not named stays as it is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditTask {
    /// The title, in a line.
    title: Option<String>,
    /// The description, at length.
    description: Option<String>,
    /// The type of work.
    #[serde(rename = "type")]
    sort: Option<String>,
    /// From 0, at once, to 4, some day.
    #[schemars(range(max = 4))]
    priority: Option<u8>,
    /// The size of the work; null for none.
    #[serde(default, deserialize_with = "present")]
    size: Option<Option<String>>,
    /// The epic it is part of; null for none.
    #[serde(default, deserialize_with = "present")]
    parent: Option<Option<String>>,
    /// The gate at completion; null for none.
    #[serde(default, deserialize_with = "present")]
    requires: Option<Option<params::Kind>>,
    /// The labels to add.
    #[serde(default)]
    add_labels: Vec<String>,
    /// The labels to remove.
    #[serde(default)]
    remove_labels: Vec<String>,
}

/// Tells null from an absent field: null clears the value, an absent field leaves it.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Option<Option<T>>, D::Error> {
    Option::deserialize(from).map(Some)
}

fn edit(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, EditTask>,
) -> Result<wire::TaskJson> {
    let id = at.task(&asked.names[0])?;
    let body = asked.body;
    let parent = match body.parent {
        Some(Some(name)) => Some(Some(at.task(&name)?)),
        Some(None) => Some(None),
        None => None,
    };
    let edit = TaskEdit {
        title: body.title,
        body: body.description,
        sort: body.sort,
        priority: priority(body.priority)?,
        size: body.size,
        parent,
        requires: body.requires.map(|kind| kind.map(Into::into)),
        add_labels: body.add_labels.into_iter().collect(),
        remove_labels: body.remove_labels.into_iter().collect(),
    };
    now(at, at.desk.edit_task(&at.actor, id, edit)?.id)
}

/// The end of a task.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Ending")]
struct EndTask {
    /// The reason for ending it.
    #[serde(default)]
    reason: String,
    /// End what is under it, too.
    #[serde(default)]
    force: bool,
}

fn delete(
    at: &RequestContext,
    asked: OperationInput<1, EndTask, EmptyInput>,
) -> Result<wire::TaskJson> {
    let id = at.task(&asked.names[0])?;
    let EndTask { reason, force } = asked.query;
    now(at, at.desk.delete_task(&at.actor, id, &reason, force)?.id)
}

fn close(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, EndTask>,
) -> Result<wire::TaskJson> {
    let id = at.task(&asked.names[0])?;
    let EndTask { reason, force } = asked.body;
    at.desk.close_task(&at.actor, id, &reason, force)?;
    now(at, id)
}

fn reopen(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, ReasonBody>,
) -> Result<wire::TaskJson> {
    let id = at.task(&asked.names[0])?;
    now(at, at.desk.reopen_task(&at.actor, id, &asked.body.reason)?.id)
}

/// The time until which a task is deferred.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeferTask {
    /// A moment such as 2026-12-24T18:00:00Z, or a span from now such as 2h; for good, unless given.
    until: Option<String>,
}

fn defer(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, DeferTask>,
) -> Result<wire::TaskJson> {
    let id = at.task(&asked.names[0])?;
    let until = asked.body.until.as_deref().map(|typed| at.moment(typed)).transpose()?;
    now(at, at.desk.defer_task(&at.actor, id, until)?.id)
}

/// A note on a task.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoteTask {
    /// The text of the note.
    text: String,
    /// A person writes down what an agent said; never the other way round.
    #[serde(default)]
    as_agent: bool,
}

fn note(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, NoteTask>,
) -> Result<wire::TaskJson> {
    let id = at.task(&asked.names[0])?;
    now(at, at.desk.note(&at.actor, id, &asked.body.text, asked.body.as_agent)?.id)
}

fn depend(
    at: &RequestContext,
    asked: OperationInput<2, EmptyInput, EmptyInput>,
) -> Result<wire::TaskJson> {
    let [task, on] = &asked.names;
    let (id, on) = (at.task(task)?, at.task(on)?);
    now(at, at.desk.add_dependency(&at.actor, id, on)?.id)
}

fn depend_no_more(
    at: &RequestContext,
    asked: OperationInput<2, EmptyInput, EmptyInput>,
) -> Result<wire::TaskJson> {
    let [task, on] = &asked.names;
    let (id, on) = (at.task(task)?, at.task(on)?);
    now(at, at.desk.remove_dependency(&at.actor, id, on)?.id)
}
