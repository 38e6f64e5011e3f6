//! Filters and pages. Every list has a limit and goes on where the last page ended.

use sayso_core::task::{Status, Task};
use sayso_core::{FlowId, GateId, Kind, TaskId, Timestamp};
use serde::{Deserialize, Serialize};

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Whether there is more behind it.
    pub more: bool,
}

impl<T> Page<T> {
    /// Makes a page of rows that were read with one more than `limit`.
    pub(crate) fn of(mut items: Vec<T>, limit: usize) -> Self {
        let more = items.len() > limit;
        items.truncate(limit);
        Self { items, more }
    }
}

/// Which gates to list, oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct GateFilter {
    /// Those that ended, newest first, instead of those that wait.
    pub ended: bool,
    /// Only these kinds; none means all.
    pub kinds: Vec<Kind>,
    /// Only what this asker asked.
    pub asker: Option<String>,
    /// Only those of this task, whatever their state.
    pub task: Option<TaskId>,
    /// Only those that are not put off past this moment.
    pub awake_at: Option<Timestamp>,
    /// Goes on behind this gate.
    pub after: Option<GateId>,
    /// How many at most.
    pub limit: usize,
}

/// Which flows to list, newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FlowFilter {
    /// Also those that are over.
    pub all: bool,
    /// Only those that are over.
    #[serde(default)]
    pub over: bool,
    /// Only walks through this workflow.
    pub workflow: Option<String>,
    /// Goes on behind this flow.
    pub after: Option<FlowId>,
    /// How many at most.
    pub limit: usize,
}

/// Which flows could go on: those that wait for nobody, oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ReadyFilter {
    /// Only walks through this workflow.
    pub workflow: Option<String>,
    /// Those that did not go on when somebody last tried, and no others. Without it they are left out: trying
    /// again is for somebody to want.
    pub stuck: bool,
    /// Goes on behind this flow.
    pub after: Option<FlowId>,
    /// How many at most.
    pub limit: usize,
}

/// Which tasks to list, by priority and then by age.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TaskFilter {
    /// Only those in one of these states; none means all that are not over.
    pub statuses: Vec<Status>,
    /// All of them, whatever their state, but for those that were deleted.
    pub all: bool,
    /// Only those that somebody may take at this moment; what a flow leads is not free.
    pub ready_at: Option<Timestamp>,
    /// Only those that wait for a person; with kinds, only for one of these.
    pub awaiting: Option<Vec<Kind>>,
    /// Only those that wait for other tasks.
    pub blocked: bool,
    /// Only those with this label.
    pub label: Option<String>,
    /// Only those of this sort.
    pub sort: Option<String>,
    /// Only those with this priority.
    pub priority: Option<u8>,
    /// Only the children of this task.
    pub parent: Option<TaskId>,
    /// Only what is under this task, at any depth.
    pub under: Option<TaskId>,
    /// Goes on behind this task.
    pub after: Option<TaskId>,
    /// How many at most.
    pub limit: usize,
}

/// A task with what its place among others says about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRow {
    /// The task.
    pub task: Task,
    /// How many tasks it waits for.
    pub blockers: u64,
    /// How many of its children are not over.
    pub open_children: u64,
    /// The handle of the flow that leads it, while that goes on.
    #[serde(default)]
    pub flow: Option<String>,
}
