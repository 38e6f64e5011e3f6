//! The task: a unit of work. It waits while one of its gates is open, and the last answer releases it. The waiting
//! state is derived from the open gates and not stored separately.

mod decide;
mod event;
#[cfg(test)]
mod tests;
mod undelivered;

pub use decide::{
    CompletionEffect, LABELS_MAX, TEXT_BYTES_MAX, TITLE_BYTES_MAX, TaskCommand, TaskEdit,
    WORD_BYTES_MAX, completion, decide, is_completion_gate,
};
pub use event::{TaskEvent, TaskNote, TaskSpec};
pub use undelivered::check_answers_delivered;

use crate::{Digest, GateId, GateKind, RunId, SpaceId, TaskId, TaskOutcome, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// A task, folded from its events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The id, chosen by the caller.
    pub id: TaskId,
    /// The space it belongs to.
    pub space: SpaceId,
    /// The handle that people use.
    pub handle: String,
    /// The title, in one line.
    pub title: String,
    /// The description of the work.
    pub body: String,
    /// The type of work: `task`, `bug`, `feature`, `chore`, `epic`, or the user's own word.
    pub sort: String,
    /// The status, apart from gates and dependencies.
    pub status: TaskStatus,
    /// The priority, from 0 (at once) to 4 (some day).
    pub priority: u8,
    /// The size, in the user's own word.
    pub size: Option<String>,
    /// The labels to find it by.
    pub labels: BTreeSet<String>,
    /// The epic it is part of.
    pub parent: Option<TaskId>,
    /// The tasks that must be closed first.
    pub blocked_by: BTreeSet<TaskId>,
    /// The kind of sign-off that is required when an agent says it is complete.
    pub requires: Option<GateKind>,
    /// The open gates of the task.
    pub waits_for: BTreeMap<GateId, GateKind>,
    /// The combined effect of the answers so far, while other gates are still open.
    pub leaning: Option<TaskOutcome>,
    /// The last verdict; on a task that its answers closed, the combined one.
    pub verdict: Option<Verdict>,
    /// The time until which it is deferred.
    pub deferred_until: Option<Timestamp>,
    /// The number of runs so far; a run with a lower fencing number no longer has the task.
    pub fence: u64,
    /// The run that works on it now.
    pub run: Option<RunId>,
    /// The number of notes.
    pub notes: u32,
    /// The digest of the request that created it, which tells a repeated request from a clash.
    pub origin: Digest,
    /// The name of the creator.
    pub created_by: String,
    /// The time at which it was created.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// The actor and the reason of the closed, failed or blocked state.
    pub closure: Option<TaskClosure>,
}

/// The explanation of a closed, failed or blocked task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskClosure {
    /// The time of the change.
    pub at: Timestamp,
    /// The name of the actor.
    pub by: String,
    /// The reason, as text.
    pub reason: String,
}

/// The stored status of a task. Waiting for a person and for other tasks are derived states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// The task can be started.
    Open,
    /// A worker or a person works on it.
    InProgress,
    /// It is done, or will not be done.
    Closed,
    /// It is deferred to a later time.
    Deferred,
    /// It was tried and failed.
    Failed,
    /// It is blocked by something outside of sayso.
    Blocked,
    /// It was deleted; the history stays.
    Deleted,
}

impl TaskStatus {
    /// All statuses, in the order of declaration.
    pub const ALL: [TaskStatus; 7] = [
        TaskStatus::Open,
        TaskStatus::InProgress,
        TaskStatus::Closed,
        TaskStatus::Deferred,
        TaskStatus::Failed,
        TaskStatus::Blocked,
        TaskStatus::Deleted,
    ];

    /// Returns the name used in the CLI and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            TaskStatus::Open => "open",
            TaskStatus::InProgress => "in_progress",
            TaskStatus::Closed => "closed",
            TaskStatus::Deferred => "deferred",
            TaskStatus::Failed => "failed",
            TaskStatus::Blocked => "blocked",
            TaskStatus::Deleted => "deleted",
        }
    }

    /// True if no more work is to be done.
    pub const fn is_over(self) -> bool {
        matches!(self, TaskStatus::Closed | TaskStatus::Deleted)
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for TaskStatus {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        TaskStatus::ALL
            .into_iter()
            .find(|s| s.as_str() == text || s.as_str().replace('_', "-") == text)
            .ok_or_else(|| {
                format!(
                    "{text:?} is no status; take open, in_progress, closed, deferred, failed or blocked"
                )
            })
    }
}

impl Task {
    /// True if it waits for a person.
    pub fn is_waiting(&self) -> bool {
        !self.waits_for.is_empty()
    }

    /// Returns the combined effect with this answer. A closed task keeps its own. If one kind of sign-off is
    /// required, an approval of another kind does not count as it, because the agent chose that question.
    fn leaning_after(&self, kind: GateKind, verdict: Verdict) -> Option<TaskOutcome> {
        let outcome = kind.outcome(verdict);
        let is_sign_off = matches!(kind, GateKind::Approval | GateKind::Review | GateKind::Content);
        let is_another = is_sign_off && self.requires.is_some_and(|required| required != kind);
        if self.status.is_over() || (is_another && outcome == TaskOutcome::Done) {
            return self.leaning;
        }
        self.leaning.max(Some(outcome))
    }

    /// True if it was closed because a person rejected it.
    pub fn is_given_up(&self) -> bool {
        self.status == TaskStatus::Closed && self.verdict == Some(Verdict::Rejected)
    }

    /// Returns a sentence about its end, with the actor.
    pub fn end_in_words(&self) -> String {
        match &self.closure {
            Some(closure) => format!("task {} {} by {}", self.handle, self.status, closure.by),
            None => format!("task {} is {}", self.handle, self.status),
        }
    }

    /// Returns the state shown to people: waiting for a person outweighs everything but closed and deleted, and an
    /// open task with open dependencies is blocked.
    pub fn shown_state(&self, blocked: bool) -> &'static str {
        match self.status {
            status if status.is_over() => status.as_str(),
            _ if self.is_waiting() => "awaiting_input",
            TaskStatus::Open if blocked => "blocked",
            status => status.as_str(),
        }
    }

    /// Returns the time from which a worker may take it, regardless of dependencies.
    pub fn workable_from(&self) -> Option<Timestamp> {
        match self.status {
            _ if self.is_waiting() => None,
            TaskStatus::Open => Some(self.created_at),
            TaskStatus::Deferred => self.deferred_until,
            TaskStatus::InProgress
            | TaskStatus::Closed
            | TaskStatus::Failed
            | TaskStatus::Blocked
            | TaskStatus::Deleted => None,
        }
    }
}

/// Folds an event into a task. Total: an event unknown to this version changes nothing.
pub fn apply(task: Option<Task>, event: &TaskEvent, at: Timestamp) -> Option<Task> {
    let Some(mut task) = task else {
        return match event {
            TaskEvent::Created(created) => Some(create(created, at)),
            _ => None,
        };
    };
    if matches!(event, TaskEvent::Created(_) | TaskEvent::Unknown) {
        return Some(task);
    }
    task.updated_at = at;
    let closure =
        |by: &str, reason: &str| Some(TaskClosure { at, by: by.into(), reason: reason.into() });
    match event {
        TaskEvent::Created(_) | TaskEvent::Unknown => {}
        TaskEvent::Edited(edit) => apply_edit(&mut task, edit),
        TaskEvent::DependencyAdded { on } => {
            task.blocked_by.insert(*on);
        }
        TaskEvent::DependencyRemoved { on } => {
            task.blocked_by.remove(on);
        }
        TaskEvent::Started { run, fence, .. } => {
            settle_on(&mut task, TaskStatus::InProgress, None);
            (task.run, task.fence) = (*run, *fence);
            task.deferred_until = None;
        }
        TaskEvent::Noted(_) => task.notes += 1,
        TaskEvent::Asked { gate, kind, .. } => {
            task.waits_for.insert(*gate, *kind);
            if kind.parks_the_task() {
                park(&mut task);
            }
        }
        TaskEvent::Settled { gate, kind, verdict, .. } => {
            let was_open = task.waits_for.remove(gate).is_some();
            if let Some(verdict) = verdict.filter(|_| was_open) {
                task.verdict = Some(verdict);
                task.leaning = task.leaning_after(*kind, verdict);
            }
        }
        TaskEvent::Released { outcome, by, reason } => {
            let answered = task.leaning.is_some();
            match outcome {
                TaskOutcome::Back => hand_back(&mut task, answered),
                TaskOutcome::Done => {
                    settle_on(&mut task, TaskStatus::Closed, closure(by, reason));
                    task.verdict = Some(Verdict::Approved);
                }
                TaskOutcome::Abandoned => {
                    settle_on(&mut task, TaskStatus::Closed, closure(by, reason));
                    task.verdict = Some(Verdict::Rejected);
                }
            }
            task.leaning = None;
        }
        TaskEvent::Closed { by, reason } => {
            settle_on(&mut task, TaskStatus::Closed, closure(by, reason));
        }
        TaskEvent::Reopened { .. } => {
            settle_on(&mut task, TaskStatus::Open, None);
            task.deferred_until = None;
        }
        TaskEvent::Deferred { until } => {
            settle_on(&mut task, TaskStatus::Deferred, None);
            task.deferred_until = *until;
        }
        TaskEvent::Failed { by, reason } => {
            settle_on(&mut task, TaskStatus::Failed, closure(by, reason));
        }
        TaskEvent::Blocked { by, reason } => {
            settle_on(&mut task, TaskStatus::Blocked, closure(by, reason));
        }
        TaskEvent::Deleted { by, reason } => {
            settle_on(&mut task, TaskStatus::Deleted, closure(by, reason));
        }
    }
    Some(task)
}

/// Releases the task from its run, whose process may end while a person decides.
fn park(task: &mut Task) {
    task.run = None;
    if task.status == TaskStatus::InProgress {
        task.status = TaskStatus::Open;
    }
}

/// Applies the end of the last gate. A live run continues. A deferred task stays deferred, and a failed or blocked
/// one reopens only after an answer, not after a withdrawn question.
fn hand_back(task: &mut Task, answered: bool) {
    let was_stuck = matches!(task.status, TaskStatus::Failed | TaskStatus::Blocked);
    if was_stuck && answered {
        (task.status, task.closure) = (TaskStatus::Open, None);
    }
}

/// Sets the status that an actor chose, which outweighs earlier answers.
fn settle_on(task: &mut Task, status: TaskStatus, closure: Option<TaskClosure>) {
    (task.status, task.closure) = (status, closure);
    (task.run, task.leaning) = (None, None);
}

fn create(created: &TaskSpec, at: Timestamp) -> Task {
    let new = created.clone();
    Task {
        id: new.id,
        space: new.space,
        handle: new.handle,
        title: new.title,
        body: new.body,
        sort: new.sort,
        status: TaskStatus::Open,
        priority: new.priority,
        size: new.size,
        labels: new.labels,
        parent: new.parent,
        blocked_by: new.blocked_by,
        requires: new.requires,
        waits_for: BTreeMap::new(),
        leaning: None,
        verdict: None,
        deferred_until: None,
        fence: 0,
        run: None,
        notes: 0,
        origin: created.origin(),
        created_by: new.created_by,
        created_at: at,
        updated_at: at,
        closure: None,
    }
}

fn apply_edit(task: &mut Task, edit: &TaskEdit) {
    let edit = edit.clone();
    task.title = edit.title.unwrap_or_else(|| std::mem::take(&mut task.title));
    task.body = edit.body.unwrap_or_else(|| std::mem::take(&mut task.body));
    task.sort = edit.sort.unwrap_or_else(|| std::mem::take(&mut task.sort));
    task.priority = edit.priority.unwrap_or(task.priority);
    task.size = edit.size.unwrap_or_else(|| task.size.take());
    task.parent = edit.parent.unwrap_or(task.parent);
    task.requires = edit.requires.unwrap_or(task.requires);
    task.labels.extend(edit.add_labels);
    task.labels.retain(|label| !edit.remove_labels.contains(label));
}
