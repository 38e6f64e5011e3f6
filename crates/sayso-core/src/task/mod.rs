//! The task: a unit of work. It waits while a gate of its own is open, and is released by the last
//! answer. That it waits is read off its open gates and stored nowhere else.

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

/// A task as its events made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Made by the caller.
    pub id: TaskId,
    /// The space it belongs to.
    pub space: SpaceId,
    /// What people call it.
    pub handle: String,
    /// What is to be done, in a line.
    pub title: String,
    /// What is to be done, at length.
    pub body: String,
    /// What sort of work: `task`, `bug`, `feature`, `chore`, `epic`, or the user's own word.
    pub sort: String,
    /// Where it stands, apart from gates and dependencies.
    pub status: Status,
    /// From 0, at once, to 4, some day.
    pub priority: u8,
    /// How big it is, in the user's own word.
    pub size: Option<String>,
    /// Words to find it by.
    pub labels: BTreeSet<String>,
    /// The epic it is part of.
    pub parent: Option<TaskId>,
    /// What must be closed before it.
    pub blocked_by: BTreeSet<TaskId>,
    /// The gate that opens when an agent says it is complete.
    pub requires: Option<Kind>,
    /// The gates that are open on it.
    pub waits_for: BTreeMap<GateId, Kind>,
    /// What the answers so far amount to, while other gates are still open.
    pub leaning: Option<Outcome>,
    /// The verdict given last; on a task that its answers closed, the one they amount to.
    pub verdict: Option<Verdict>,
    /// Put off until then.
    pub deferred_until: Option<Timestamp>,
    /// Counts the runs; a run with a lower number is no longer the task's.
    pub fence: u64,
    /// The run that has it now.
    pub run: Option<RunId>,
    /// How many notes it has.
    pub notes: u32,
    /// Names what it was created with, so that creating it again can be told from a clash.
    pub origin: Digest,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// How it was closed, failed or got stuck.
    pub closure: Option<Closure>,
}

/// Why a task is where it is: closed, failed or blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closure {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// Where a task stands by itself. Waiting for a person and waiting for other tasks are derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// To be done.
    Open,
    /// Somebody is on it.
    InProgress,
    /// Done, or not to be done.
    Closed,
    /// Put off.
    Deferred,
    /// Tried, and did not work.
    Failed,
    /// Stuck on something that is no task.
    Blocked,
    /// Taken away; the evidence stays.
    Deleted,
}

impl Status {
    /// All of them.
    pub const ALL: [Status; 7] = [
        Status::Open,
        Status::InProgress,
        Status::Closed,
        Status::Deferred,
        Status::Failed,
        Status::Blocked,
        Status::Deleted,
    ];

    /// Its name in every door.
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

    /// Whether nothing more is to be done.
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
    /// Whether it waits for a person.
    pub fn is_waiting(&self) -> bool {
        !self.waits_for.is_empty()
    }

    /// What the answers amount to with this one. What is over leans no more, and where one sign-off is
    /// required another sort of it is heard but does not stand for it: the agent chose that question.
    fn leaning_after(&self, kind: Kind, verdict: Verdict) -> Option<Outcome> {
        let outcome = kind.outcome(verdict);
        let is_sign_off = matches!(kind, Kind::Approval | Kind::Review | Kind::Content);
        let is_another = is_sign_off && self.requires.is_some_and(|required| required != kind);
        if self.status.is_over() || (is_another && outcome == Outcome::Done) {
            return self.leaning;
        }
        self.leaning.max(Some(outcome))
    }

    /// Whether it was closed since a person would not have it done.
    pub fn is_given_up(&self) -> bool {
        self.status == Status::Closed && self.verdict == Some(Verdict::Rejected)
    }

    /// What ended it, and who did.
    pub fn end_in_words(&self) -> String {
        match &self.closure {
            Some(closure) => format!("task {} {} by {}", self.handle, self.status, closure.by),
            None => format!("task {} is {}", self.handle, self.status),
        }
    }

    /// The state people see: waiting for a person comes before everything but the end, and an open
    /// task that waits for others is blocked.
    pub fn shown_state(&self, blocked: bool) -> &'static str {
        match self.status {
            status if status.is_over() => status.as_str(),
            _ if self.is_waiting() => "awaiting_input",
            Status::Open if blocked => "blocked",
            status => status.as_str(),
        }
    }

    /// From when a worker may take it, its dependencies aside.
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

/// Folds an event into a task. Total: an event that says nothing to this version changes nothing.
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

/// The run lets go of the task: its process may end while a person thinks.
fn park(task: &mut Task) {
    task.run = None;
    if task.status == Status::InProgress {
        task.status = Status::Open;
    }
}

/// The last gate is gone. A live run goes on. What was put off stays so, and what failed or got stuck
/// is open again only because somebody answered, not because a question was taken back.
fn hand_back(task: &mut Task, answered: bool) {
    let was_stuck = matches!(task.status, Status::Failed | Status::Blocked);
    if was_stuck && answered {
        (task.status, task.closure) = (Status::Open, None);
    }
}

/// Somebody said where the task stands. That outweighs what earlier answers amounted to.
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
