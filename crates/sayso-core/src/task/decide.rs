//! Decides the commands of a task: returns the events to append, or a refusal. Commands that amount to a verdict are
//! for people only.

use super::{Task, TaskEvent, TaskNote, TaskSpec, TaskStatus};
use crate::gate::Gate;
use crate::{
    Actor, Code, GateId, GateKind, Permission, Refusal, Role, RunId, TaskId, TaskOutcome,
    Timestamp, Verdict,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The maximum length of a title.
pub const TITLE_BYTES_MAX: usize = 1_000;

/// The maximum length of a description or note.
pub const TEXT_BYTES_MAX: usize = 256 * 1024;

/// The maximum length of a label, type or size, which are indexed.
pub const WORD_BYTES_MAX: usize = 200;

/// The maximum number of labels of a task.
pub const LABELS_MAX: usize = 100;

/// A command to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskCommand {
    /// Create the task.
    Create(Box<TaskSpec>),
    /// Change some of its fields.
    Edit(Box<TaskEdit>),
    /// Add a dependency on another task. The caller has checked that it closes no cycle.
    AddDependency {
        /// The other task.
        on: TaskId,
    },
    /// Remove the dependency on another task.
    RemoveDependency {
        /// The other task.
        on: TaskId,
    },
    /// Start work on the task.
    Start {
        /// The run that works on it, if there is one.
        run: Option<RunId>,
    },
    /// Write a note on the task.
    Note {
        /// The text of the note.
        text: String,
        /// True to record it as an agent's although a person writes it; the reverse is impossible.
        as_agent: bool,
    },
    /// Wait for a gate. Sent only together with the gate's own `Opened`, in the same transaction: the gate knows if
    /// it was opened before, the task does not.
    Ask {
        /// The id of the gate.
        gate: GateId,
        /// The handle of the gate.
        handle: String,
        /// The kind of the gate.
        kind: GateKind,
    },
    /// Record that a gate ended. Sent together with the gate's own event, in the same transaction.
    Settle {
        /// The id of the gate.
        gate: GateId,
        /// The handle of the gate.
        handle: String,
        /// The kind of the gate.
        kind: GateKind,
        /// The ending as one word.
        ending: &'static str,
        /// The verdict, if a person or the timeout action gave one.
        verdict: Option<Verdict>,
    },
    /// Close the task.
    Close {
        /// The reason, as text.
        reason: String,
        /// The number of its children that are not closed.
        open_children: usize,
    },
    /// Reopen the task.
    Reopen {
        /// The reason, as text.
        reason: String,
    },
    /// Defer the task.
    Defer {
        /// The time at which it becomes workable; `None` for an indefinite time.
        until: Option<Timestamp>,
    },
    /// Mark the task as failed.
    Fail {
        /// The reason, as text.
        reason: String,
    },
    /// Mark the task as blocked by something outside of sayso.
    Block {
        /// The obstacle, as text.
        reason: String,
    },
    /// Delete the task.
    Delete {
        /// The reason, as text.
        reason: String,
        /// The number of its children that are not closed.
        open_children: usize,
    },
}

impl TaskCommand {
    fn reason(&self) -> Option<&str> {
        match self {
            TaskCommand::Close { reason, .. }
            | TaskCommand::Reopen { reason }
            | TaskCommand::Fail { reason }
            | TaskCommand::Block { reason }
            | TaskCommand::Delete { reason, .. } => Some(reason),
            TaskCommand::Create(_)
            | TaskCommand::Edit(_)
            | TaskCommand::AddDependency { .. }
            | TaskCommand::RemoveDependency { .. }
            | TaskCommand::Start { .. }
            | TaskCommand::Note { .. }
            | TaskCommand::Ask { .. }
            | TaskCommand::Settle { .. }
            | TaskCommand::Defer { .. } => None,
        }
    }
}

/// Changes to a task; fields that are `None` stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskEdit {
    /// The new title of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The new description of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The new type of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
    /// The new priority, from 0 to 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// The new size; inner `None` removes it.
    #[serde(skip_serializing_if = "Option::is_none", with = "present")]
    pub size: Option<Option<String>>,
    /// The new epic; inner `None` removes it.
    #[serde(skip_serializing_if = "Option::is_none", with = "present")]
    pub parent: Option<Option<TaskId>>,
    /// The new sign-off required at completion; inner `None` removes it.
    #[serde(skip_serializing_if = "Option::is_none", with = "present")]
    pub requires: Option<Option<GateKind>>,
    /// The labels to add, before any are removed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub add_labels: BTreeSet<String>,
    /// The labels to remove from the task.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub remove_labels: BTreeSet<String>,
}

/// Keeps "set to null" apart from "absent" in JSON.
mod present {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        value: &Option<Option<T>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().and_then(Option::as_ref).serialize(to)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Option<T>>, D::Error> {
        Option::<T>::deserialize(from).map(Some)
    }
}

/// The effect of an agent's "complete".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionEffect {
    /// The task closes at once.
    Closes,
    /// A gate of this kind opens first. The requirement survives rejections: the next "complete" opens another gate.
    Opens(GateKind),
}

/// Returns the effect of this actor's "complete".
pub fn completion(task: &Task, actor: &Actor) -> CompletionEffect {
    match task.requires {
        Some(kind) if !actor.may(Permission::Answer) => CompletionEffect::Opens(kind),
        Some(_) | None => CompletionEffect::Closes,
    }
}

/// True if this gate was opened by the actor's "complete" and is still open. A repeated "complete" requests nothing
/// more, so it gets the same result and no refusal.
pub fn is_completion_gate(task: &Task, gate: &Gate, actor: &Actor) -> bool {
    let kind = match completion(task, actor) {
        CompletionEffect::Opens(kind) => kind,
        CompletionEffect::Closes => return false,
    };
    let opened = &gate.opened;
    let is_waited_for = gate.is_open() && task.waits_for.contains_key(&opened.id);
    is_waited_for && opened.kind == kind && opened.lineage.asker == actor.name
}

/// Decides a command. A repeated command returns no events and no refusal (idempotent).
pub fn decide(
    task: Option<&Task>,
    command: &TaskCommand,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<TaskEvent>, Refusal> {
    actor.check(Permission::Track, "change tasks")?;
    let Some(task) = task else {
        return match command {
            TaskCommand::Create(created) => create(created),
            _ => Err(Refusal::new(Code::NotFound, "there is no such task")),
        };
    };
    if let TaskCommand::Create(created) = command {
        return create_again(task, created);
    }
    // The gate has checked its own ending. A deleted task must not prevent it.
    if let TaskCommand::Settle { gate, handle, ending, verdict, .. } = command {
        return settle(task, *gate, handle, ending, *verdict, actor);
    }
    if task.status == TaskStatus::Deleted && matches!(command, TaskCommand::Delete { .. }) {
        return Ok(vec![]);
    }
    check_not_deleted(task)?;
    check_is_theirs(task, actor)?;
    command.reason().map_or(Ok(()), |reason| check_text(reason, "reason"))?;
    let by = actor.name.clone();
    match command {
        TaskCommand::Create(_) | TaskCommand::Settle { .. } => Ok(vec![]),
        TaskCommand::Edit(edit) => self::edit(task, edit, actor),
        TaskCommand::AddDependency { on } => add_dependency(task, *on),
        TaskCommand::RemoveDependency { on } => {
            let there = task.blocked_by.contains(on);
            Ok(if there { vec![TaskEvent::DependencyRemoved { on: *on }] } else { vec![] })
        }
        TaskCommand::Start { run } => start(task, *run, actor),
        TaskCommand::Note { text, as_agent } => note(text, *as_agent, actor),
        TaskCommand::Ask { gate, handle, kind } => ask(task, *gate, handle, *kind, actor),
        TaskCommand::Close { reason, open_children } => close(task, reason, *open_children, actor),
        TaskCommand::Reopen { reason } => reopen(task, reason, actor),
        TaskCommand::Defer { until } => defer(task, *until, actor, at),
        TaskCommand::Fail { reason } => {
            check_not_waiting(task, actor, "fail")?;
            check_not_over(task)?;
            let same = is_settled_on(task, TaskStatus::Failed, &by, reason);
            Ok(if same { vec![] } else { vec![TaskEvent::Failed { by, reason: reason.clone() }] })
        }
        TaskCommand::Block { reason } => {
            check_not_waiting(task, actor, "block")?;
            check_not_over(task)?;
            let same = is_settled_on(task, TaskStatus::Blocked, &by, reason);
            Ok(if same { vec![] } else { vec![TaskEvent::Blocked { by, reason: reason.clone() }] })
        }
        TaskCommand::Delete { reason, open_children } => {
            delete(task, reason, *open_children, actor)
        }
    }
}

fn create(created: &TaskSpec) -> Result<Vec<TaskEvent>, Refusal> {
    check_title(&created.title)?;
    check_text(&created.body, "description")?;
    check_words([&created.sort].into_iter().chain(&created.size), "type or size")?;
    check_labels(&created.labels)?;
    check_priority(created.priority)?;
    created.requires.map_or(Ok(()), check_requires)?;
    Ok(vec![TaskEvent::Created(Box::new(created.clone()))])
}

fn create_again(task: &Task, created: &TaskSpec) -> Result<Vec<TaskEvent>, Refusal> {
    if task.origin == created.origin() {
        return Ok(vec![]);
    }
    Err(Refusal::new(Code::Clash, format!("id {} is task {}", created.id, task.handle))
        .hint("make a new id for a new task"))
}

/// Changes fields. Removing or changing the required sign-off amounts to a verdict.
fn edit(task: &Task, edit: &TaskEdit, actor: &Actor) -> Result<Vec<TaskEvent>, Refusal> {
    edit.title.as_deref().map_or(Ok(()), check_title)?;
    edit.body.as_deref().map_or(Ok(()), |body| check_text(body, "description"))?;
    check_words(edit.sort.iter().chain(edit.size.iter().flatten()), "type or size")?;
    edit.priority.map_or(Ok(()), check_priority)?;
    if let Some(requires) = edit.requires {
        requires.map_or(Ok(()), check_requires)?;
        if task.requires.is_some() && requires != task.requires {
            actor
                .check(Permission::Answer, &format!("change what task {} requires", task.handle))?;
        }
    }
    if edit.parent.flatten() == Some(task.id) {
        return Err(Refusal::new(
            Code::Cycle,
            format!("task {} cannot be part of itself", task.handle),
        ));
    }
    let mut after = task.clone();
    super::apply_edit(&mut after, edit);
    check_labels(&after.labels)?;
    Ok(if after == *task { vec![] } else { vec![TaskEvent::Edited(Box::new(edit.clone()))] })
}

fn add_dependency(task: &Task, on: TaskId) -> Result<Vec<TaskEvent>, Refusal> {
    if on == task.id {
        return Err(Refusal::new(
            Code::Cycle,
            format!("task {} cannot wait for itself", task.handle),
        ));
    }
    let there = task.blocked_by.contains(&on);
    Ok(if there { vec![] } else { vec![TaskEvent::DependencyAdded { on }] })
}

fn start(task: &Task, run: Option<RunId>, actor: &Actor) -> Result<Vec<TaskEvent>, Refusal> {
    check_not_over(task)?;
    let same = task.status == TaskStatus::InProgress && task.run == run;
    if same {
        return Ok(vec![]);
    }
    if task.is_waiting() {
        return Err(waiting(task, "it can be started when a person has answered"));
    }
    // Two workers that saw it open must not both get it; a person may take it over.
    if task.status == TaskStatus::InProgress && !actor.may(Permission::Answer) {
        return Err(Refusal::new(
            Code::WrongState,
            format!("task {} is in somebody else's hands", task.handle),
        )
        .hint(format!("if its run is lost, free it with: sayso reopen {}", task.handle)));
    }
    let fence = task.fence + 1;
    Ok(vec![TaskEvent::Started { by: actor.name.clone(), run, fence }])
}

/// Writes a note under the role of the actor: a program's note is never recorded as a person's.
fn note(text: &str, as_agent: bool, actor: &Actor) -> Result<Vec<TaskEvent>, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::new(Code::BadValue, "the note is empty"));
    }
    check_text(text, "note")?;
    let role = if as_agent { Role::Agent } else { actor.role };
    Ok(vec![TaskEvent::Noted(TaskNote { author: actor.name.clone(), role, text: text.into() })])
}

fn ask(
    task: &Task,
    gate: GateId,
    handle: &str,
    kind: GateKind,
    actor: &Actor,
) -> Result<Vec<TaskEvent>, Refusal> {
    check_not_over(task)?;
    if task.waits_for.contains_key(&gate) {
        return Ok(vec![]);
    }
    Ok(vec![TaskEvent::Asked { gate, handle: handle.into(), kind, by: actor.name.clone() }])
}

/// Records that a gate ended. The kind of the gate is taken from the task, and a verdict only from a person.
fn settle(
    task: &Task,
    gate: GateId,
    handle: &str,
    ending: &str,
    verdict: Option<Verdict>,
    actor: &Actor,
) -> Result<Vec<TaskEvent>, Refusal> {
    let Some(kind) = task.waits_for.get(&gate).copied() else {
        return Ok(vec![]);
    };
    // The policy set the timeout action, not the actor that fired the timer.
    if verdict.is_some() && ending != "expired" {
        actor.check(Permission::Answer, &format!("answer gate {handle}"))?;
    }
    let by = actor.name.clone();
    let is_evaded = actor.role == Role::Agent || ending == "expired";
    let (handle, ending) = (handle.to_owned(), ending.to_owned());
    let mut events =
        vec![TaskEvent::Settled { gate, handle, kind, ending, verdict, by: by.clone() }];
    // A required sign-off stays required if it was not given: withdrawn by an agent, or expired, it releases no task.
    let is_sign_off = matches!(kind, GateKind::Approval | GateKind::Review | GateKind::Content);
    let goes_back = matches!(task.leaning, None | Some(TaskOutcome::Back));
    let is_ungiven = verdict.is_none() && goes_back;
    if is_sign_off && is_ungiven && is_evaded && task.requires.is_none() && !task.status.is_over() {
        let edit = TaskEdit { requires: Some(Some(kind)), ..TaskEdit::default() };
        events.push(TaskEvent::Edited(Box::new(edit)));
    }
    let is_last = task.waits_for.len() == 1;
    if is_last && !task.status.is_over() {
        let leaning = verdict.map_or(task.leaning, |v| task.leaning_after(kind, v));
        let outcome = leaning.unwrap_or(TaskOutcome::Back);
        let by_this_one = verdict.is_some_and(|v| kind.outcome(v) == outcome);
        let reason = match outcome {
            TaskOutcome::Back => String::new(),
            TaskOutcome::Done if by_this_one => format!("{kind} approved"),
            TaskOutcome::Done => "approved before".into(),
            TaskOutcome::Abandoned if by_this_one => format!("{kind} rejected"),
            TaskOutcome::Abandoned => "rejected before".into(),
        };
        events.push(TaskEvent::Released { outcome, by, reason });
    }
    Ok(events)
}

/// Reopens a task. For a task that a person rejected, this amounts to a verdict.
fn reopen(task: &Task, reason: &str, actor: &Actor) -> Result<Vec<TaskEvent>, Refusal> {
    if task.status == TaskStatus::Open {
        return Ok(vec![]);
    }
    if task.status == TaskStatus::Closed && task.verdict == Some(Verdict::Rejected) {
        actor.check(
            Permission::Answer,
            &format!("reopen task {}, which was rejected", task.handle),
        )?;
    }
    Ok(vec![TaskEvent::Reopened { by: actor.name.clone(), reason: reason.into() }])
}

fn is_settled_on(task: &Task, status: TaskStatus, by: &str, reason: &str) -> bool {
    let said_so = task.closure.as_ref().is_some_and(|c| c.by == by && c.reason == reason);
    task.status == status && said_so
}

fn close(
    task: &Task,
    reason: &str,
    open_children: usize,
    actor: &Actor,
) -> Result<Vec<TaskEvent>, Refusal> {
    if task.status == TaskStatus::Closed {
        return Ok(vec![]);
    }
    check_not_waiting(task, actor, "close")?;
    if task.requires.is_some() {
        let what = format!("close task {}, which requires a person's say-so", task.handle);
        actor.check(Permission::Answer, &what)?;
    }
    check_children(task, open_children)?;
    Ok(vec![TaskEvent::Closed { by: actor.name.clone(), reason: reason.into() }])
}

fn delete(
    task: &Task,
    reason: &str,
    open_children: usize,
    actor: &Actor,
) -> Result<Vec<TaskEvent>, Refusal> {
    check_not_waiting(task, actor, "delete")?;
    if task.requires.is_some() {
        actor.check(Permission::Answer, &format!("delete task {}", task.handle))?;
    }
    check_children(task, open_children)?;
    Ok(vec![TaskEvent::Deleted { by: actor.name.clone(), reason: reason.into() }])
}

fn defer(
    task: &Task,
    until: Option<Timestamp>,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<TaskEvent>, Refusal> {
    check_not_waiting(task, actor, "defer")?;
    check_not_over(task)?;
    if until.is_some_and(|until| until <= at) {
        return Err(Refusal::new(Code::BadValue, "a task is deferred to a time to come"));
    }
    let same = task.status == TaskStatus::Deferred && task.deferred_until == until;
    Ok(if same { vec![] } else { vec![TaskEvent::Deferred { until }] })
}

/// Checks a move of the task. With open gates any move amounts to a verdict.
fn check_not_waiting(task: &Task, actor: &Actor, verb: &str) -> Result<(), Refusal> {
    if task.is_waiting() {
        actor.check(
            Permission::Answer,
            &format!("{verb} task {}, which waits for a person", task.handle),
        )?;
    }
    Ok(())
}

fn waiting(task: &Task, hint: &str) -> Refusal {
    let kinds: Vec<_> = task.waits_for.values().map(|k| k.as_str()).collect();
    Refusal::new(
        Code::WrongState,
        format!("task {} waits for a person ({})", task.handle, kinds.join(", ")),
    )
    .hint(hint)
}

fn check_not_deleted(task: &Task) -> Result<(), Refusal> {
    if task.status == TaskStatus::Deleted {
        return Err(Refusal::new(Code::NotFound, format!("task {} was deleted", task.handle))
            .hint("what happened to it is kept: sayso audit list"));
    }
    Ok(())
}

fn check_not_over(task: &Task) -> Result<(), Refusal> {
    if task.status.is_over() {
        return Err(Refusal::new(Code::WrongState, format!("task {} is closed", task.handle))
            .hint(format!("open it again with: sayso reopen {}", task.handle)));
    }
    Ok(())
}

fn check_children(task: &Task, open_children: usize) -> Result<(), Refusal> {
    if open_children == 0 {
        return Ok(());
    }
    let are = if open_children == 1 { "child is" } else { "children are" };
    Err(Refusal::new(
        Code::WrongState,
        format!("{open_children} {are} not closed under {}", task.handle),
    )
    .hint("close them first, or all together with --force"))
}

/// Checks that an agent whose credential is bound to a task changes that task only. A note is a change, because the
/// next worker of the task reads it.
fn check_is_theirs(task: &Task, actor: &Actor) -> Result<(), Refusal> {
    let about_another = actor.task.is_some_and(|bound| bound != task.id);
    if actor.role == Role::Agent && about_another {
        return Err(Refusal::new(
            Code::NotAllowed,
            format!(
                "agent {} works on another task and may not change {}",
                actor.name, task.handle
            ),
        ));
    }
    Ok(())
}

fn check_title(title: &str) -> Result<(), Refusal> {
    if title.trim().is_empty() {
        return Err(Refusal::new(Code::BadValue, "the title is empty")
            .hint("say what is to be done: sayso create \"Fix the login page\""));
    }
    if title.len() > TITLE_BYTES_MAX {
        let size = title.len();
        return Err(Refusal::new(
            Code::TooLarge,
            format!("the title has {size} bytes; at most {TITLE_BYTES_MAX} are taken"),
        )
        .hint("put the long part into --description"));
    }
    Ok(())
}

fn check_text(text: &str, what: &str) -> Result<(), Refusal> {
    if text.len() <= TEXT_BYTES_MAX {
        return Ok(());
    }
    let size = text.len();
    Err(Refusal::new(
        Code::TooLarge,
        format!("the {what} has {size} bytes; at most {TEXT_BYTES_MAX} are taken"),
    )
    .hint("put the long part in a file of the project and name it"))
}

fn check_words<'a>(words: impl IntoIterator<Item = &'a String>, what: &str) -> Result<(), Refusal> {
    let sizes = words.into_iter().map(String::len);
    match sizes.max().filter(|size| *size > WORD_BYTES_MAX) {
        None => Ok(()),
        Some(size) => Err(Refusal::new(
            Code::TooLarge,
            format!("a {what} has {size} bytes; at most {WORD_BYTES_MAX} are taken"),
        )
        .hint("put the long part into --description")),
    }
}

fn check_labels(labels: &BTreeSet<String>) -> Result<(), Refusal> {
    check_words(labels, "label")?;
    if labels.len() <= LABELS_MAX {
        Ok(())
    } else {
        Err(Refusal::new(
            Code::TooLarge,
            format!("{} labels; at most {LABELS_MAX} are taken", labels.len()),
        ))
    }
}

fn check_priority(priority: u8) -> Result<(), Refusal> {
    if priority <= 4 {
        return Ok(());
    }
    Err(Refusal::new(Code::BadValue, format!("priority {priority} is not one of 0 to 4"))
        .hint("0 is at once, 2 is usual, 4 is some day"))
}

fn check_requires(kind: GateKind) -> Result<(), Refusal> {
    if matches!(kind, GateKind::Approval | GateKind::Review | GateKind::Content) {
        return Ok(());
    }
    Err(Refusal::new(Code::BadValue, format!("a task cannot require {kind}"))
        .hint("take approval, review or content"))
}
