//! MCP tools for tasks: the next one, claiming, changing, moving, notes and new ones.

use super::responses::GateResponse;
use super::{ToolContext, gates, tools};
use crate::wire;
use rmcp::model::JsonObject;
use sayso_core::task::{TaskEdit, TaskStatus};
use sayso_core::{Code, GateKind, Refusal, TaskId};
use sayso_engine::{CompletionOutcome, NewTask, Result, TaskFilter};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The priority of a task that names none.
const PRIORITY: u8 = 2;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Next")]
pub(super) struct NextTaskArgs {
    /// Only what is under this epic.
    epic: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Claim")]
pub(super) struct ClaimTaskArgs {
    /// The task; the next one, unless given.
    task: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Update")]
pub(super) struct UpdateTaskArgs {
    task: String,
    title: Option<String>,
    description: Option<String>,
    /// From 0, at once, to 4, some day.
    priority: Option<u8>,
    #[serde(default)]
    add_labels: BTreeSet<String>,
    #[serde(default)]
    remove_labels: BTreeSet<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Move")]
pub(super) struct MoveTaskArgs {
    task: String,
    /// open, in_progress, closed, failed, blocked or deferred.
    to: String,
    /// The reason; people read it.
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Note")]
pub(super) struct AddNoteArgs {
    task: Option<String>,
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Create")]
pub(super) struct CreateTaskArgs {
    title: String,
    #[serde(default)]
    description: String,
    /// From 0, at once, to 4, some day.
    priority: Option<u8>,
    #[serde(default)]
    labels: BTreeSet<String>,
    /// The epic it is part of.
    parent: Option<String>,
    /// The tasks that must be closed before it.
    #[serde(default)]
    blocked_by: Vec<String>,
    /// The gate at completion: approval, review or content.
    requires: Option<String>,
    /// A ULID of your own: the same id again is the same task.
    id: Option<String>,
}

pub(super) fn next(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    let NextTaskArgs { epic } = tools::read(arguments)?;
    let Some(id) = ready(at, epic.as_deref())? else {
        return Ok(
            json!({"task": null, "next": "No task is ready. End your turn, or await a message."}),
        );
    };
    shown(at, id)
}

/// Returns the task to work on next: the one the credential is bound to, or the first that is ready.
fn ready(at: &ToolContext, epic: Option<&str>) -> Result<Option<TaskId>> {
    if let Some(bound) = at.actor.task {
        return Ok(Some(bound));
    }
    at.check_may_track()?;
    let desk = &at.setup.desk;
    let under = epic.map(|name| desk.find_task(name)).transpose()?;
    let ready_at = Some(desk.now());
    let filter = TaskFilter { ready_at, under, limit: 1, ..TaskFilter::default() };
    Ok(desk.tasks(&filter)?.items.first().map(|row| row.task.id))
}

pub(super) fn claim(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    let ClaimTaskArgs { task } = tools::read(arguments)?;
    let desk = &at.setup.desk;
    if let Some(name) = task {
        let id = desk.find_task(&name)?;
        desk.claim_task(&at.actor, id)?;
        return shown(at, id);
    }
    // Another agent may have been quicker: then it is the one after.
    while let Some(id) = ready(at, None)? {
        match desk.claim_task(&at.actor, id) {
            Err(error) if error.code() == Code::WrongState && at.actor.task.is_none() => {}
            started => {
                started?;
                return shown(at, id);
            }
        }
    }
    Err(Refusal::new(Code::NotFound, "no task is ready").into())
}

pub(super) fn update(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    let wanted: UpdateTaskArgs = tools::read(arguments)?;
    let id = at.setup.desk.find_task(&wanted.task)?;
    let edit = TaskEdit {
        title: wanted.title,
        body: wanted.description,
        priority: wanted.priority,
        add_labels: wanted.add_labels,
        remove_labels: wanted.remove_labels,
        ..TaskEdit::default()
    };
    at.setup.desk.edit_task(&at.actor, id, edit)?;
    shown(at, id)
}

pub(super) fn move_to(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    let MoveTaskArgs { task, to, reason } = tools::read(arguments)?;
    let (desk, actor) = (&at.setup.desk, &at.actor);
    let id = desk.find_task(&task)?;
    let status: TaskStatus = to.parse().map_err(|e: String| Refusal::new(Code::BadValue, e))?;
    match status {
        TaskStatus::Open => drop(desk.reopen_task(actor, id, &reason)?),
        TaskStatus::InProgress => drop(desk.claim_task(actor, id)?),
        TaskStatus::Deferred => drop(desk.defer_task(actor, id, None)?),
        TaskStatus::Failed => drop(desk.fail_task(actor, id, &reason)?),
        TaskStatus::Blocked => drop(desk.block_task(actor, id, &reason)?),
        TaskStatus::Closed => {
            if let CompletionOutcome::Waits(_, gate) = desk.close_task(actor, id, &reason, false)? {
                return Ok(gates::json_of(&GateResponse::of(&gate, at.setup.time)));
            }
        }
        TaskStatus::Deleted => {
            return Err(Refusal::new(Code::NotAllowed, "an agent deletes no task").into());
        }
    }
    shown(at, id)
}

pub(super) fn note(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    let AddNoteArgs { task, text } = tools::read(arguments)?;
    let id = match (&task, at.actor.task) {
        (Some(name), _) => at.setup.desk.find_task(name)?,
        (None, Some(bound)) => bound,
        (None, None) => return Err(Refusal::new(Code::BadValue, "which task is it about?").into()),
    };
    let task = at.setup.desk.note(&at.actor, id, &text, true)?;
    Ok(json!({"task": task.handle, "noted": true}))
}

pub(super) fn create(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    let wanted: CreateTaskArgs = tools::read(arguments)?;
    let desk = &at.setup.desk;
    let wrong = |what: String| Refusal::new(Code::BadValue, what);
    let id = match &wanted.id {
        Some(id) => id.parse().map_err(|_| wrong(format!("{id:?} is no ULID")))?,
        None => desk.new_task_id(),
    };
    let requires = wanted.requires.as_deref().map(str::parse::<GateKind>).transpose();
    let blocked_by = wanted.blocked_by.iter().map(|name| desk.find_task(name));
    let new = NewTask {
        id,
        title: wanted.title,
        body: wanted.description,
        sort: "task".into(),
        priority: wanted.priority.unwrap_or(PRIORITY),
        size: None,
        labels: wanted.labels,
        parent: wanted.parent.as_deref().map(|name| desk.find_task(name)).transpose()?,
        blocked_by: blocked_by.collect::<Result<_>>()?,
        requires: requires.map_err(|e| wrong(e.to_string()))?,
        awaiting: None,
    };
    shown(at, desk.create_task(&at.actor, new)?.id)
}

/// Returns a task as an agent sees it: without its empty fields.
fn shown(at: &ToolContext, id: TaskId) -> Result<Value> {
    at.check_may_track()?;
    let row = at.setup.desk.task(id)?;
    let mut task = gates::json_of(&wire::TaskJson::of(&row, &[], &at.setup.time));
    if let Value::Object(fields) = &mut task {
        fields.retain(|_, value| !is_empty(value));
    }
    Ok(json!({"task": task}))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}
