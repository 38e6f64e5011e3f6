//! Supervises an agent process during a turn: renews the lease, enforces the time limit, and stops the agent when the
//! task is no longer wanted.

use super::claim::ClaimedTask;
use super::hooks::HOOK_NOTES;
use super::{Worker, WorkerProgress};
use crate::worktree::Worktree;
use crate::{Error, Result};
use sayso_agents::{
    AgentAdapter, AgentConfig, AgentEvent, AgentProcess, FinishedTurn, StartError, TurnInput,
    allowed, process_tree,
};
use sayso_core::gate::{DeferredAction, Gate};
use sayso_core::run::RunUsage;
use sayso_core::task::TaskStatus;
use std::time::{Duration, Instant};

/// The time for which the worker waits for agent output before it checks the lease and the task.
const LISTEN: Duration = Duration::from_millis(200);

/// The interval at which the worker checks that the task is still wanted.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The poll interval while a job other than an agent runs.
const BREATH: Duration = Duration::from_millis(5);

/// The grace period of an agent that is being stopped.
const GRACE: Duration = Duration::from_secs(5);

/// Tells the hook of an agent that the worker resumes the agent at the call at which the hook ends it.
pub const DEFER: &str = "SAYSO_DEFER";

/// The result of an agent's execution in a turn.
pub(super) struct TurnExecution {
    pub(super) finished: FinishedTurn,
    pub(super) stopped: Option<StopReason>,
    /// True if the agent had begun: it has received its prompt.
    pub(super) began: bool,
    pub(super) spent: RunUsage,
    /// True if it called tools and the hook that rules on calls was not asked.
    pub(super) bypassed_hook: bool,
}

impl TurnExecution {
    /// True if it ended by itself before it began, and neither a rate limit nor a lost session is the reason.
    pub(super) fn failed_to_begin(&self) -> bool {
        let TurnExecution { finished, stopped, began, .. } = self;
        let is_limited = finished.limited.is_some() || finished.session_gone;
        !began && stopped.is_none() && finished.code != Some(0) && !is_limited
    }
}

/// The reason for which an agent was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StopReason {
    /// The lease was lost: the run is no longer ours.
    Fenced,
    /// A person closed, deleted or took the task.
    Unwanted,
    /// The worker was told to stop.
    Interrupted,
    /// The turn exceeded its time limit.
    TooLong,
}

/// The supervision state of one agent execution: progress, timers and call count.
struct TurnMonitor {
    began: bool,
    began_at: Instant,
    looked: Instant,
    renewed: Instant,
    waited: Duration,
    waits: bool,
    calls: usize,
}

impl Worker<'_> {
    /// Runs an agent until it ends or has to be stopped. `news` are the answers in the prompt: they count as
    /// delivered when the agent has begun.
    pub(super) fn execute(
        &self,
        taken: &ClaimedTask<'_>,
        tree: &Worktree,
        session: Option<&str>,
        prompt: &str,
        news: &[Gate],
    ) -> Result<std::result::Result<TurnExecution, StartError>> {
        let id = taken.run.started.id.to_string();
        let log = self.setup.logs.join(format!("{id}.log"));
        let kit = match self.hook_kit(&taken.agent)? {
            Ok(kit) => kit,
            Err(why) => {
                let (program, source) = (taken.agent.program.clone(), std::io::Error::other(why));
                return Ok(Err(StartError::Refused { program, source }));
            }
        };
        let notes = self.hook_notes(taken.run.started.id);
        // Notes of an earlier turn say nothing about this one.
        let _ = std::fs::remove_file(&notes);
        let mut variables = self.variables(taken);
        variables.extend(kit.variables.iter().cloned());
        variables.push((HOOK_NOTES.to_owned(), notes.display().to_string()));
        let args = taken.agent.args.iter().chain(&kit.args).cloned().collect();
        let agent = AgentConfig { args, ..taken.agent.clone() };
        // An agent that asks during a turn writes to the store.
        let store = self.desk.local().and_then(|desk| desk.place().folder());
        let turn = TurnInput {
            folder: &tree.folder,
            writable: &store.as_deref().into_iter().collect::<Vec<_>>(),
            prompt,
            session,
            variables: &variables,
            log: &log,
            mark: &id,
        };
        let mut live = match agent.start_idle(&turn) {
            Ok(live) => live,
            Err(error) => return Ok(Err(error)),
        };
        // A worker that takes over the run finds the process by its mark. So if the run is ours now, when the process
        // exists, no other agent can begin before this one has ended.
        let mut stopped = (!self.renew_lease(taken)?).then_some(StopReason::Fenced);
        if stopped.is_none() {
            live.tell(prompt);
        }
        let now = Instant::now();
        let mut eye = TurnMonitor {
            began: false,
            began_at: now,
            looked: now,
            renewed: now,
            waited: Duration::ZERO,
            waits: false,
            calls: 0,
        };
        while stopped.is_none() && !live.is_over() {
            if let Some(heard) = live.next(LISTEN) {
                self.on_agent_event(taken, &mut eye, heard, news)?;
            }
            stopped = self.supervise(taken, &mut eye)?;
        }
        if stopped.is_some() {
            live.stop(GRACE);
        }
        self.drain_agent_events(taken, &mut eye, &mut live, news)?;
        let finished = live.finish();
        let spent = spent(&finished, &eye);
        let is_noted = std::fs::metadata(&notes).is_ok_and(|notes| notes.len() > 0);
        let is_unheld = kit.is_checked && eye.calls > 0 && !is_noted;
        let _ = std::fs::remove_file(&notes);
        Ok(Ok(TurnExecution {
            finished,
            stopped,
            began: eye.began,
            spent,
            bypassed_hook: is_unheld,
        }))
    }

    fn drain_agent_events(
        &self,
        taken: &ClaimedTask<'_>,
        eye: &mut TurnMonitor,
        live: &mut AgentProcess,
        news: &[Gate],
    ) -> Result<()> {
        while let Some(heard) = live.next(Duration::ZERO) {
            self.on_agent_event(taken, eye, heard, news)?;
        }
        Ok(())
    }

    fn on_agent_event(
        &self,
        taken: &ClaimedTask<'_>,
        eye: &mut TurnMonitor,
        heard: AgentEvent,
        news: &[Gate],
    ) -> Result<()> {
        match &heard {
            AgentEvent::Began if !eye.began => {
                eye.began = true;
                for gate in news {
                    match gate.opened.held {
                        // An approval of a call is used up by the call.
                        Some(DeferredAction::Call { .. }) => {
                            self.desk.deliver(&self.setup.actor, gate.opened.id)?
                        }
                        Some(DeferredAction::Move { .. } | DeferredAction::Lifecycle { .. })
                        | None => self.desk.acknowledge(&self.setup.actor, gate.opened.id)?,
                    };
                }
            }
            AgentEvent::Session(session) => {
                self.desk.name_session(&self.setup.actor, taken.run.started.id, session)?;
            }
            AgentEvent::Does(_) => eye.calls += 1,
            AgentEvent::Began
            | AgentEvent::Says(_)
            | AgentEvent::Spent(_)
            | AgentEvent::Limited(_) => {}
        }
        self.tell(WorkerProgress::Heard { task: taken.task.id, heard });
        Ok(())
    }

    /// Renews the lease, and returns the reason if the agent has to be stopped.
    fn supervise(
        &self,
        taken: &ClaimedTask<'_>,
        eye: &mut TurnMonitor,
    ) -> Result<Option<StopReason>> {
        if self.stop.load(std::sync::atomic::Ordering::SeqCst) {
            return Ok(Some(StopReason::Interrupted));
        }
        if !self.renew_lease_if_due(taken, &mut eye.renewed)? {
            return Ok(Some(StopReason::Fenced));
        }
        if eye.looked.elapsed() < LOOK_EVERY {
            return Ok(None);
        }
        // Agents may work for hours, and there may be no other process that fires due timers.
        self.desk.fire_due()?;
        let task = self.desk.task(taken.task.id)?.task;
        if eye.waits {
            eye.waited += eye.looked.elapsed();
        }
        eye.looked = Instant::now();
        let mark = taken.run.started.id.to_string();
        let waits = task.is_waiting() && process_tree::is_blocked_on_person(&mark);
        if waits != eye.waits {
            eye.waits = waits;
            self.tell(WorkerProgress::Waits { task: task.id, waits: eye.waits });
        }
        let is_ours = task.run == Some(taken.run.started.id)
            || task.is_waiting()
            || task.status == TaskStatus::Open;
        if task.status.is_over() || !is_ours {
            return Ok(Some(StopReason::Unwanted));
        }
        let worked = eye.began_at.elapsed().saturating_sub(eye.waited);
        Ok((worked > self.setup.turn_max).then_some(StopReason::TooLong))
    }

    /// True if the run is still ours; its lease is renewed with this call.
    pub(super) fn renew_lease(&self, taken: &ClaimedTask<'_>) -> Result<bool> {
        let run = &taken.run.started;
        match self.desk.renew_run(&self.setup.actor, run.id, run.fence, self.lease_from_now()) {
            Ok(_) => Ok(true),
            Err(Error::Refused(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Renews the lease when it is due, and returns true if the run is still ours. A run that cannot be renewed is
    /// given up before another worker takes it.
    fn renew_lease_if_due(&self, taken: &ClaimedTask<'_>, renewed: &mut Instant) -> Result<bool> {
        if renewed.elapsed() < self.setup.lease / 3 {
            return Ok(true);
        }
        match self.renew_lease(taken) {
            // The store may come back; there is time until the lease is nearly over.
            Err(Error::Store(_)) => Ok(renewed.elapsed() < self.setup.lease * 5 / 6),
            outcome => {
                *renewed = Instant::now();
                outcome
            }
        }
    }

    /// Runs a slow job and renews the lease meanwhile. Returns none if the run was lost.
    pub(super) fn with_lease_renewal<T: Send>(
        &self,
        taken: &ClaimedTask<'_>,
        work: impl FnOnce() -> T + Send,
    ) -> Result<Option<T>> {
        std::thread::scope(|scope| {
            let work = scope.spawn(work);
            let (mut renewed, mut is_ours) = (Instant::now(), true);
            while !work.is_finished() {
                std::thread::sleep(BREATH);
                is_ours = is_ours && self.renew_lease_if_due(taken, &mut renewed)?;
            }
            match work.join() {
                Ok(done) => Ok(is_ours.then_some(done)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// The environment of an agent: the variables of ours that it may have, and its own credential.
    fn variables(&self, taken: &ClaimedTask<'_>) -> Vec<(String, String)> {
        let may = |name: &str| allowed(name, taken.agent.adapter, &self.setup.allowed_variables);
        let ours = self.setup.environment.iter().filter(|(name, _)| may(name)).cloned();
        let own = [("SAYSO_TOKEN", &taken.secret), ("SAYSO_TASK", &taken.task.handle)];
        let own = own.map(|(name, value)| (name.to_owned(), value.clone()));
        // Its hook may end it at a call that waits for approval: we resume it there.
        let defers = taken.agent.adapter == AgentAdapter::ClaudeCode && taken.agent.can_resume();
        let defers = defers.then(|| (DEFER.to_owned(), "1".to_owned()));
        ours.chain(self.setup.variables.iter().cloned()).chain(own).chain(defers).collect()
    }
}

fn spent(finished: &FinishedTurn, eye: &TurnMonitor) -> RunUsage {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    RunUsage {
        input_tokens: finished.spent.input_tokens,
        output_tokens: finished.spent.output_tokens,
        cost_micros: finished.spent.cost_micros,
        work_millis: millis(eye.began_at.elapsed().saturating_sub(eye.waited)),
        waited_millis: millis(eye.waited),
    }
}
