//! Supervises an agent process during a turn: renews the lease, enforces the time limit, and stops the agent when the
//! task is no longer wanted.

use super::hooks::HOOK_NOTES;
use super::take::Taken;
use super::{Progress, Worker};
use crate::worktree::Worktree;
use crate::{Error, Result};
use sayso_agents::{Adapter, Agent, Finished, Heard, Live, StartError, Turn, allowed, process};
use sayso_core::gate::{Gate, Held};
use sayso_core::run::Spent;
use sayso_core::task::Status;
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
pub(super) struct Executed {
    pub(super) finished: Finished,
    pub(super) stopped: Option<Stopped>,
    /// True if the agent had begun: it has received its prompt.
    pub(super) began: bool,
    pub(super) spent: Spent,
    /// True if it called tools and the hook that rules on calls was not asked.
    pub(super) is_unheld: bool,
}

impl Executed {
    /// True if it ended by itself before it began, and neither a rate limit nor a lost session is the reason.
    pub(super) fn is_nothing(&self) -> bool {
        let Executed { finished, stopped, began, .. } = self;
        let is_limited = finished.limited.is_some() || finished.session_gone;
        !began && stopped.is_none() && finished.code != Some(0) && !is_limited
    }
}

/// The reason for which an agent was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stopped {
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
struct Eye {
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
        taken: &Taken<'_>,
        tree: &Worktree,
        session: Option<&str>,
        prompt: &str,
        news: &[Gate],
    ) -> Result<std::result::Result<Executed, StartError>> {
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
        let agent = Agent { args, ..taken.agent.clone() };
        // An agent that asks during a turn writes to the store.
        let store = self.desk.local().and_then(|desk| desk.place().folder());
        let turn = Turn {
            folder: &tree.folder,
            writable: &store.as_deref().into_iter().collect::<Vec<_>>(),
            prompt,
            session,
            variables: &variables,
            log: &log,
            mark: &id,
        };
        let mut live = match agent.stand_by(&turn) {
            Ok(live) => live,
            Err(error) => return Ok(Err(error)),
        };
        // A worker that takes over the run finds the process by its mark. So if the run is ours now, when the process
        // exists, no other agent can begin before this one has ended.
        let mut stopped = (!self.is_ours(taken)?).then_some(Stopped::Fenced);
        if stopped.is_none() {
            live.tell(prompt);
        }
        let now = Instant::now();
        let mut eye = Eye {
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
                self.hear(taken, &mut eye, heard, news)?;
            }
            stopped = self.look(taken, &mut eye)?;
        }
        if stopped.is_some() {
            live.stop(GRACE);
        }
        self.hear_the_rest(taken, &mut eye, &mut live, news)?;
        let finished = live.finish();
        let spent = spent(&finished, &eye);
        let is_noted = std::fs::metadata(&notes).is_ok_and(|notes| notes.len() > 0);
        let is_unheld = kit.is_checked && eye.calls > 0 && !is_noted;
        let _ = std::fs::remove_file(&notes);
        Ok(Ok(Executed { finished, stopped, began: eye.began, spent, is_unheld }))
    }

    fn hear_the_rest(
        &self,
        taken: &Taken<'_>,
        eye: &mut Eye,
        live: &mut Live,
        news: &[Gate],
    ) -> Result<()> {
        while let Some(heard) = live.next(Duration::ZERO) {
            self.hear(taken, eye, heard, news)?;
        }
        Ok(())
    }

    fn hear(&self, taken: &Taken<'_>, eye: &mut Eye, heard: Heard, news: &[Gate]) -> Result<()> {
        match &heard {
            Heard::Began if !eye.began => {
                eye.began = true;
                for gate in news {
                    match gate.opened.held {
                        // An approval of a call is used up by the call.
                        Some(Held::Call { .. }) => {
                            self.desk.deliver(&self.setup.actor, gate.opened.id)?
                        }
                        Some(Held::Move { .. } | Held::Lifecycle { .. }) | None => {
                            self.desk.acknowledge(&self.setup.actor, gate.opened.id)?
                        }
                    };
                }
            }
            Heard::Session(session) => {
                self.desk.name_session(&self.setup.actor, taken.run.started.id, session)?;
            }
            Heard::Does(_) => eye.calls += 1,
            Heard::Began | Heard::Says(_) | Heard::Spent(_) | Heard::Limited(_) => {}
        }
        self.tell(Progress::Heard { task: taken.task.id, heard });
        Ok(())
    }

    /// Renews the lease, and returns the reason if the agent has to be stopped.
    fn look(&self, taken: &Taken<'_>, eye: &mut Eye) -> Result<Option<Stopped>> {
        if self.stop.load(std::sync::atomic::Ordering::SeqCst) {
            return Ok(Some(Stopped::Interrupted));
        }
        if !self.keeps_the_lease(taken, &mut eye.renewed)? {
            return Ok(Some(Stopped::Fenced));
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
        let waits = task.is_waiting() && process::is_held_up(&mark);
        if waits != eye.waits {
            eye.waits = waits;
            self.tell(Progress::Waits { task: task.id, waits: eye.waits });
        }
        let is_ours = task.run == Some(taken.run.started.id)
            || task.is_waiting()
            || task.status == Status::Open;
        if task.status.is_over() || !is_ours {
            return Ok(Some(Stopped::Unwanted));
        }
        let worked = eye.began_at.elapsed().saturating_sub(eye.waited);
        Ok((worked > self.setup.turn_max).then_some(Stopped::TooLong))
    }

    /// True if the run is still ours; its lease is renewed with this call.
    pub(super) fn is_ours(&self, taken: &Taken<'_>) -> Result<bool> {
        let run = &taken.run.started;
        match self.desk.renew_run(&self.setup.actor, run.id, run.fence, self.lease_from_now()) {
            Ok(_) => Ok(true),
            Err(Error::Refused(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Renews the lease when it is due, and returns true if the run is still ours. A run that cannot be renewed is
    /// given up before another worker takes it.
    fn keeps_the_lease(&self, taken: &Taken<'_>, renewed: &mut Instant) -> Result<bool> {
        if renewed.elapsed() < self.setup.lease / 3 {
            return Ok(true);
        }
        match self.is_ours(taken) {
            // The store may come back; there is time until the lease is nearly over.
            Err(Error::Store(_)) => Ok(renewed.elapsed() < self.setup.lease * 5 / 6),
            outcome => {
                *renewed = Instant::now();
                outcome
            }
        }
    }

    /// Runs a slow job and renews the lease meanwhile. Returns none if the run was lost.
    pub(super) fn keeping_the_lease<T: Send>(
        &self,
        taken: &Taken<'_>,
        work: impl FnOnce() -> T + Send,
    ) -> Result<Option<T>> {
        std::thread::scope(|scope| {
            let work = scope.spawn(work);
            let (mut renewed, mut is_ours) = (Instant::now(), true);
            while !work.is_finished() {
                std::thread::sleep(BREATH);
                is_ours = is_ours && self.keeps_the_lease(taken, &mut renewed)?;
            }
            match work.join() {
                Ok(done) => Ok(is_ours.then_some(done)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// The environment of an agent: the variables of ours that it may have, and its own credential.
    fn variables(&self, taken: &Taken<'_>) -> Vec<(String, String)> {
        let may = |name: &str| allowed(name, taken.agent.adapter, &self.setup.lets_through);
        let ours = self.setup.environment.iter().filter(|(name, _)| may(name)).cloned();
        let own = [("SAYSO_TOKEN", &taken.secret), ("SAYSO_TASK", &taken.task.handle)];
        let own = own.map(|(name, value)| (name.to_owned(), value.clone()));
        // Its hook may end it at a call that waits for approval: we resume it there.
        let defers = taken.agent.adapter == Adapter::ClaudeCode && taken.agent.can_resume();
        let defers = defers.then(|| (DEFER.to_owned(), "1".to_owned()));
        ours.chain(self.setup.variables.iter().cloned()).chain(own).chain(defers).collect()
    }
}

fn spent(finished: &Finished, eye: &Eye) -> Spent {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Spent {
        input_tokens: finished.spent.input_tokens,
        output_tokens: finished.spent.output_tokens,
        cost_micros: finished.spent.cost_micros,
        work_millis: millis(eye.began_at.elapsed().saturating_sub(eye.waited)),
        waited_millis: millis(eye.waited),
    }
}
