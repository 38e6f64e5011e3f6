//! Filters and pagination. Every list has a limit and continues after the last item of the page before.

use sayso_core::task::{Task, TaskStatus};
use sayso_core::{FlowId, GateId, GateKind, TaskId, Timestamp};
use serde::{Deserialize, Serialize};

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListPage<T> {
    pub items: Vec<T>,
    /// True if more items follow.
    pub more: bool,
}

impl<T> ListPage<T> {
    /// Builds a page of rows that were read with one more than `limit`.
    pub(crate) fn of(mut items: Vec<T>, limit: usize) -> Self {
        let more = items.len() > limit;
        items.truncate(limit);
        Self { items, more }
    }
}

/// A filter for gates, oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct GateFilter {
    /// Lists gates that ended, newest first, instead of open ones.
    pub ended: bool,
    /// Only these kinds; empty means all.
    pub kinds: Vec<GateKind>,
    /// Only gates of this asker.
    pub asker: Option<String>,
    /// Only gates of this task, in any state.
    pub task: Option<TaskId>,
    /// Only gates that are not snoozed past this time.
    pub awake_at: Option<Timestamp>,
    /// Continues after this gate.
    pub after: Option<GateId>,
    /// The most items on the page.
    pub limit: usize,
}

/// A filter for flows, newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FlowFilter {
    /// Includes flows that have ended.
    pub all: bool,
    /// Only flows that have ended.
    #[serde(default)]
    pub over: bool,
    /// Only flows of this workflow.
    pub workflow: Option<String>,
    /// Continues after this flow.
    pub after: Option<FlowId>,
    /// The most items on the page.
    pub limit: usize,
}

/// A filter for flows that are ready to advance, oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ReadyFilter {
    /// Only flows of this workflow.
    pub workflow: Option<String>,
    /// Only flows whose last advance failed. Otherwise these are left out: to retry them is for a person to decide.
    pub stuck: bool,
    /// Continues after this flow.
    pub after: Option<FlowId>,
    /// The most items on the page.
    pub limit: usize,
}

/// A filter for tasks, by priority and then by age.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TaskFilter {
    /// Only tasks in one of these states; empty means all open ones.
    pub statuses: Vec<TaskStatus>,
    /// All tasks in any state except deleted ones.
    pub all: bool,
    /// Only tasks that can be claimed at this time; a task led by a flow cannot.
    pub ready_at: Option<Timestamp>,
    /// Only tasks that wait for a person; with kinds, only for gates of these.
    pub awaiting: Option<Vec<GateKind>>,
    /// Only tasks that wait for other tasks.
    pub blocked: bool,
    /// Only tasks with this label.
    pub label: Option<String>,
    /// Only tasks of this type.
    pub sort: Option<String>,
    /// Only tasks with this priority.
    pub priority: Option<u8>,
    /// Only children of this task.
    pub parent: Option<TaskId>,
    /// Only descendants of this task, at any depth.
    pub under: Option<TaskId>,
    /// Continues after this task.
    pub after: Option<TaskId>,
    /// The most items on the page.
    pub limit: usize,
}

/// A task with the figures that depend on other tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRow {
    pub task: Task,
    /// The number of open tasks it depends on.
    pub blockers: u64,
    /// The number of its open children.
    pub open_children: u64,
    /// The handle of the flow that leads it, while that flow is live.
    #[serde(default)]
    pub flow: Option<String>,
}
