//! What an answer unblocks: the work of whoever asks, and all the work that waits behind it.

use super::Waiting;
use crate::TaskId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// So many tasks are counted behind a card. Beyond that it is at the top of every list anyhow.
const TASKS_MAX: usize = 99;

/// So many of them are named.
const FIRST_MAX: usize = 3;

/// Which open tasks cannot be taken before which others are over: those that depend on them, and the epics
/// they are part of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Behind(BTreeMap<TaskId, BTreeSet<TaskId>>);

impl Behind {
    fn of(&self, task: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        self.0.get(&task).into_iter().flatten().copied()
    }
}

/// From pairs of a task and one that waits for it.
impl FromIterator<(TaskId, TaskId)> for Behind {
    fn from_iter<I: IntoIterator<Item = (TaskId, TaskId)>>(pairs: I) -> Self {
        let mut behind = Self::default();
        for (task, waits) in pairs {
            behind.0.entry(task).or_default().insert(waits);
        }
        behind
    }
}

/// How much goes on with an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unblocks {
    /// Tasks: those of the askers, and all that wait for them.
    pub tasks: usize,
    /// Whether there are more tasks than were counted.
    pub more: bool,
    /// Flows that are parked on it and lead no task.
    pub flows: usize,
    /// Askers without a task.
    pub askers: usize,
    /// The first of the tasks, those of the askers before those behind them, the nearest first.
    pub first: Vec<TaskId>,
}

impl Unblocks {
    /// All of it together.
    pub fn count(&self) -> usize {
        self.tasks + self.flows + self.askers
    }
}

/// What an answer to these gates unblocks.
pub(super) fn unblocks(gates: &[&Waiting], behind: &Behind) -> Unblocks {
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
    Unblocks { tasks, more: seen.len() > tasks, flows: flows.len(), askers: askers.len(), first }
}
