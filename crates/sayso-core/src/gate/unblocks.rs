//! Dependents: the work that an answer unblocks, that of the askers and of all tasks that depend on it.

use super::QueuedGate;
use crate::TaskId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The maximum number of tasks counted for a card. With more it is at the top of every list anyhow.
const TASKS_MAX: usize = 99;

/// The maximum number of tasks listed by id.
const FIRST_MAX: usize = 3;

/// The open tasks that are blocked by other tasks: those that depend on them, and the epics they are part of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskDependents(BTreeMap<TaskId, BTreeSet<TaskId>>);

impl TaskDependents {
    fn of(&self, task: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        self.0.get(&task).into_iter().flatten().copied()
    }
}

/// Collects pairs of a task and one that waits for it.
impl FromIterator<(TaskId, TaskId)> for TaskDependents {
    fn from_iter<I: IntoIterator<Item = (TaskId, TaskId)>>(pairs: I) -> Self {
        let mut behind = Self::default();
        for (task, waits) in pairs {
            behind.0.entry(task).or_default().insert(waits);
        }
        behind
    }
}

/// The amount of work that an answer unblocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnblockedWork {
    /// The number of tasks: those of the askers, and all that depend on them.
    pub tasks: usize,
    /// True if there are more tasks than were counted.
    pub more: bool,
    /// The number of flows that are parked on it and have no task.
    pub flows: usize,
    /// The number of askers without a task.
    pub askers: usize,
    /// The first of the tasks: those of the askers, then their dependents, the nearest first.
    pub first: Vec<TaskId>,
}

impl UnblockedWork {
    /// Returns the sum of tasks, flows and askers.
    pub fn count(&self) -> usize {
        self.tasks + self.flows + self.askers
    }
}

/// Returns the work that an answer to these gates unblocks.
pub(super) fn unblocks(gates: &[&QueuedGate], behind: &TaskDependents) -> UnblockedWork {
    let (mut flows, mut askers) = (BTreeSet::new(), BTreeSet::new());
    let (mut seen, mut next) = (BTreeSet::new(), VecDeque::new());
    for gate in gates {
        match (gate.task, gate.flow) {
            (Some(task), _) if seen.insert(task) => next.push_back(task),
            (Some(_), _) => {}
            (None, Some(flow)) => drop(flows.insert(flow)),
            (None, None) => drop(askers.insert(gate.asker.as_str())),
        }
    }
    let (mut tasks, mut first) = (0, vec![]);
    while let Some(task) = next.pop_front().filter(|_| tasks < TASKS_MAX) {
        tasks += 1;
        if first.len() < FIRST_MAX {
            first.push(task);
        }
        next.extend(behind.of(task).filter(|waits| seen.insert(*waits)));
    }
    UnblockedWork {
        tasks,
        more: seen.len() > tasks,
        flows: flows.len(),
        askers: askers.len(),
        first,
    }
}
