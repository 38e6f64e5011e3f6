//! The task: a unit of work. It waits while one of its gates is open, and the last answer releases it. The waiting
//! state is derived from the open gates and not stored separately.

mod decide;
mod event;
mod shield;
#[cfg(test)]
mod tests;

pub use decide::{
    Command, Completion, Edit, LABELS_MAX, TEXT_BYTES_MAX, TITLE_BYTES_MAX, WORD_BYTES_MAX,
    completion, decide, is_completion_gate,
};
pub use event::{Created, Event, Note};
pub use shield::check_is_heard;

use crate::{Digest, GateId, Kind, Outcome, RunId, SpaceId, TaskId, Timestamp, Verdict};
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
    pub status: Status,
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
    pub requires: Option<Kind>,
    /// The open gates of the task.
    pub waits_for: BTreeMap<GateId, Kind>,
    /// The combined effect of the answers so far, while other gates are still open.
    pub leaning: Option<Outcome>,
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
    pub closure: Option<Closure>,
}

/// The explanation of a closed, failed or blocked task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closure {
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
pub enum Status {
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

impl Status {
    /// All statuses, in the order of declaration.
    pub const ALL: [Status; 7] = [
        Status::Open,
        Status::InProgress,
        Status::Closed,
        Status::Deferred,
        Status::Failed,
        Status::Blocked,
        Status::Deleted,
    ];

    /// Returns the name used in the CLI and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Open => "open",
            Status::InProgress => "in_progress",
            Status::Closed => "closed",
            Status::Deferred => "deferred",
            Status::Failed => "failed",
            Status::Blocked => "blocked",
            Status::Deleted => "deleted",
        }
    }

    /// True if no more work is to be done.
    pub const fn is_over(self) -> bool {
        matches!(self, Status::Closed | Status::Deleted)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Status {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Status::ALL
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
    fn leaning_after(&self, kind: Kind, verdict: Verdict) -> Option<Outcome> {
        let outcome = kind.outcome(verdict);
        let is_sign_off = matches!(kind, Kind::Approval | Kind::Review | Kind::Content);
        let is_another = is_sign_off && self.requires.is_some_and(|required| required != kind);
        if self.status.is_over() || (is_another && outcome == Outcome::Done) {
            return self.leaning;
        }
        self.leaning.max(Some(outcome))
    }

    /// True if it was closed because a person rejected it.
    pub fn is_given_up(&self) -> bool {
        self.status == Status::Closed && self.verdict == Some(Verdict::Rejected)
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
            Status::Open if blocked => "blocked",
            status => status.as_str(),
        }
    }

    /// Returns the time from which a worker may take it, regardless of dependencies.
    pub fn workable_from(&self) -> Option<Timestamp> {
        match self.status {
            _ if self.is_waiting() => None,
            Status::Open => Some(self.created_at),
            Status::Deferred => self.deferred_until,
            Status::InProgress
            | Status::Closed
            | Status::Failed
            | Status::Blocked
            | Status::Deleted => None,
        }
    }
}

/// Folds an event into a task. Total: an event unknown to this version changes nothing.
pub fn apply(task: Option<Task>, event: &Event, at: Timestamp) -> Option<Task> {
    let Some(mut task) = task else {
        return match event {
            Event::Created(created) => Some(create(created, at)),
            _ => None,
        };
    };
    if matches!(event, Event::Created(_) | Event::Unknown) {
        return Some(task);
    }
    task.updated_at = at;
    let closure =
        |by: &str, reason: &str| Some(Closure { at, by: by.into(), reason: reason.into() });
    match event {
        Event::Created(_) | Event::Unknown => {}
        Event::Edited(edit) => apply_edit(&mut task, edit),
        Event::DependencyAdded { on } => {
            task.blocked_by.insert(*on);
        }
        Event::DependencyRemoved { on } => {
            task.blocked_by.remove(on);
        }
        Event::Started { run, fence, .. } => {
            settle_on(&mut task, Status::InProgress, None);
            (task.run, task.fence) = (*run, *fence);
            task.deferred_until = None;
        }
        Event::Noted(_) => task.notes += 1,
        Event::Asked { gate, kind, .. } => {
            task.waits_for.insert(*gate, *kind);
            if kind.parks_the_task() {
                park(&mut task);
            }
        }
        Event::Settled { gate, kind, verdict, .. } => {
            let was_open = task.waits_for.remove(gate).is_some();
            if let Some(verdict) = verdict.filter(|_| was_open) {
                task.verdict = Some(verdict);
                task.leaning = task.leaning_after(*kind, verdict);
            }
        }
        Event::Released { outcome, by, reason } => {
            let answered = task.leaning.is_some();
            match outcome {
                Outcome::Back => hand_back(&mut task, answered),
                Outcome::Done => {
                    settle_on(&mut task, Status::Closed, closure(by, reason));
                    task.verdict = Some(Verdict::Approved);
                }
                Outcome::Abandoned => {
                    settle_on(&mut task, Status::Closed, closure(by, reason));
                    task.verdict = Some(Verdict::Rejected);
                }
            }
            task.leaning = None;
        }
        Event::Closed { by, reason } => {
            settle_on(&mut task, Status::Closed, closure(by, reason));
        }
        Event::Reopened { .. } => {
            settle_on(&mut task, Status::Open, None);
            task.deferred_until = None;
        }
        Event::Deferred { until } => {
            settle_on(&mut task, Status::Deferred, None);
            task.deferred_until = *until;
        }
        Event::Failed { by, reason } => {
            settle_on(&mut task, Status::Failed, closure(by, reason));
        }
        Event::Blocked { by, reason } => {
            settle_on(&mut task, Status::Blocked, closure(by, reason));
        }
        Event::Deleted { by, reason } => {
            settle_on(&mut task, Status::Deleted, closure(by, reason));
        }
    }
    Some(task)
}

/// Releases the task from its run, whose process may end while a person decides.
fn park(task: &mut Task) {
    task.run = None;
    if task.status == Status::InProgress {
        task.status = Status::Open;
    }
}

/// Applies the end of the last gate. A live run continues. A deferred task stays deferred, and a failed or blocked
/// one reopens only after an answer, not after a withdrawn question.
fn hand_back(task: &mut Task, answered: bool) {
    let was_stuck = matches!(task.status, Status::Failed | Status::Blocked);
    if was_stuck && answered {
        (task.status, task.closure) = (Status::Open, None);
    }
}

/// Sets the status that an actor chose, which outweighs earlier answers.
fn settle_on(task: &mut Task, status: Status, closure: Option<Closure>) {
    (task.status, task.closure) = (status, closure);
    (task.run, task.leaning) = (None, None);
}

fn create(created: &Created, at: Timestamp) -> Task {
    let new = created.clone();
    Task {
        id: new.id,
        space: new.space,
        handle: new.handle,
        title: new.title,
        body: new.body,
        sort: new.sort,
        status: Status::Open,
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

fn apply_edit(task: &mut Task, edit: &Edit) {
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
