//! Runs: who works on a task, under which lease and number.

use crate::batch::not_found;
use crate::{Desk, Result};
use sayso_core::run::{Command, How, Run, Started};
use sayso_core::task;
use sayso_core::{Actor, RunId, TaskId, Timestamp};

/// A run to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// Made by the worker.
    pub id: RunId,
    /// The task it works on.
    pub task: TaskId,
    /// Which agent.
    pub agent: String,
    /// The first lease.
    pub lease_until: Timestamp,
}

impl Desk {
    /// Starts a run: the task is taken and the run gets the next number, in one breath.
    pub fn start_run(&self, actor: &Actor, new: NewRun) -> Result<Run> {
        self.submit(actor, move |batch| {
            batch.on_task(new.task, &task::Command::Start { run: Some(new.id) })?;
            let task = batch.task(new.task)?.ok_or_else(|| not_found("task", &new.task))?;
            let started = Started {
                id: new.id,
                space: task.space,
                task: new.task,
                agent: new.agent.clone(),
                fence: task.fence,
                lease_until: new.lease_until,
                launcher: batch.actor.name.clone(),
            };
            batch.on_run(new.id, &Command::Start(Box::new(started)))?;
            Ok(batch.run(new.id)?.cloned().ok_or_else(|| not_found("run", &new.id))?)
        })
    }

    /// Keeps a run's lease.
    pub fn renew_run(&self, actor: &Actor, id: RunId, fence: u64, until: Timestamp) -> Result<Run> {
        self.on_run(actor, id, Command::Renew { fence, until })
    }

    /// Ends a run; its credential stops working with it.
    pub fn end_run(
        &self,
        actor: &Actor,
        id: RunId,
        fence: u64,
        how: How,
        note: &str,
    ) -> Result<Run> {
        self.on_run(actor, id, Command::End { fence, how, note: note.into() })
    }

    fn on_run(&self, actor: &Actor, id: RunId, command: Command) -> Result<Run> {
        self.submit(actor, move |batch| {
            batch.on_run(id, &command)?;
            Ok(batch.run(id)?.cloned().ok_or_else(|| not_found("run", &id))?)
        })
    }
}
