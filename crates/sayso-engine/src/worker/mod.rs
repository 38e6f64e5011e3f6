//! The worker: claims ready tasks, runs an agent on each in a worktree of its own, and never waits for a person
//! while another task is ready.
//!
//! All of its state is in the log: a worker that dies is found by the next one, which ends the remains of its agents
//! and continues.

mod claim;
mod command;
mod execute;
mod holder;
mod hooks;
mod prompt;
mod shell;
mod step;
mod turn;
mod watch;

pub use command::{CommandOutcome, CommandStep, end_command};
pub use execute::DEFER;
pub use holder::{holder, is_gone};
pub use hooks::{HOOK_NOTES, HookKit, HookSource};
pub use prompt::{PromptBrief, StepBrief, prompt};
pub use shell::ShellCommand;
pub use step::{AgentStep, CompletedStep, FLOW, StepCheck, StepOutcome};
pub use watch::PathWatch;

use crate::worktree::GitRepository;
use crate::{AgentSupervisor, Desk, Result};
use sayso_agents::{AgentConfig, AgentEvent};
use sayso_core::run::{LeaseHolder, RunUsage};
use sayso_core::task::Task;
use sayso_core::{Actor, AskThreshold, TaskId, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The poll interval of an idle worker that no commit woke.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The configuration of a worker.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// The actor under whose name the worker acts.
    pub actor: Actor,
    /// The identity of this process as a holder of runs.
    pub holder: LeaseHolder,
    /// The Git repository in which tasks are worked on.
    pub repository: GitRepository,
    /// The configured agents by name.
    pub agents: BTreeMap<String, AgentConfig>,
    /// The name of the default agent, for tasks that name none.
    pub agent: String,
    /// The worker's environment, of which agents get the variables they may have.
    pub environment: Vec<(String, String)>,
    /// Patterns of additional variable names that agents may have.
    pub allowed_variables: Vec<String>,
    /// Variables that all agents get.
    pub variables: Vec<(String, String)>,
    /// The instructions of each role.
    pub roles: BTreeMap<String, String>,
    /// The instructions that every agent gets.
    pub preamble: String,
    /// The threshold for asking, where a task does not ask for more.
    pub threshold: AskThreshold,
    /// The check that must pass before work counts as complete.
    pub check: Option<CompletionCheck>,
    /// The least confidence in percent: work whose agent is less sure is shown to a person before it counts.
    pub confidence_min: u8,
    /// The treatment of completed work.
    pub land: LandingPolicy,
    /// The folder for the agents' output.
    pub logs: PathBuf,
    /// The duration of a lease on a run.
    pub lease: Duration,
    /// The time limit of a turn, without the time spent waiting for a person.
    pub turn_max: Duration,
    /// The number of turns without progress after which a person is asked.
    pub no_progress_max: u32,
    /// The number of turns on a task after which a person is asked.
    pub turns_max: u32,
    /// The initial back-off before an agent that could not be started is started again; doubled each time.
    pub retry: Duration,
    /// The number of agents that may run in parallel.
    pub jobs: usize,
    /// The limits after which the worker stops.
    pub budget: WorkBudget,
    /// The selection of tasks to work on.
    pub scope: WorkScope,
    /// The supervisor of managed agents on this machine, if the worker has one.
    pub supervisor: Option<AgentSupervisor>,
    /// The source of the agents' hooks; without it, tool rules are not enforced.
    pub hooks: Option<HookSource>,
    /// The flow step that the worker is there for, if it is: see [`Worker::step`].
    pub step: Option<AgentStep>,
}

/// The command that must pass before work counts as complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionCheck {
    pub command: String,
    /// The number of times the agent is told to fix a failure.
    pub retries: u32,
}

/// The treatment of completed work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingPolicy {
    /// It stays on its branch.
    Leave,
    /// Its branch is merged into the base.
    Merge,
    /// A command of the user takes care of it, such as one that opens a pull request.
    Command(String),
}

/// Limits after which the worker stops. Time spent waiting for a person does not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkBudget {
    /// The maximum number of turns.
    pub turns: Option<u64>,
    /// The maximum working time of agents.
    pub time: Option<Duration>,
    /// The maximum number of tokens, read and written.
    pub tokens: Option<u64>,
    /// The maximum cost in millionths of a dollar.
    pub cost_micros: Option<u64>,
}

/// The selection of tasks that a worker takes, and the time for which it continues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkScope {
    /// The only tasks to take; empty means all.
    pub tasks: BTreeSet<TaskId>,
    /// The epic whose subtasks alone are taken.
    pub epic: Option<TaskId>,
    /// True to stop after one turn.
    pub once: bool,
    /// True to take over work that was begun on another machine, with a new conversation.
    pub adopt: bool,
    /// True to continue waiting for work when there is none: for ever, or until the given tasks are closed.
    pub watch: bool,
}

/// The totals of a worker's session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkTotals {
    pub turns: u64,
    /// The number of tasks completed, those that wait for a sign-off included.
    pub completed: u64,
    /// The number of turns that ended with a question.
    pub asked: u64,
    /// The number of tasks that failed or got stuck.
    pub failed: u64,
    /// The number of ready tasks that were skipped, since they were begun on another machine.
    pub elsewhere: u64,
    /// The number of turns that ended early, since the worker was stopped.
    pub interrupted: u64,
    /// True if tasks were left, since the budget was used up.
    pub is_spent: bool,
    pub spent: RunUsage,
}

/// A progress event of a worker, for display.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkerProgress {
    /// An agent was started.
    Started {
        task: Box<Task>,
        agent: String,
        /// True if it continues an earlier conversation.
        resumed: bool,
    },
    /// The agent sent output or called a tool.
    Heard { task: TaskId, heard: AgentEvent },
    /// The agent began or ended waiting for a person.
    Waits { task: TaskId, waits: bool },
    /// The work is being checked.
    Checking { task: TaskId, command: String },
    Ended {
        /// The task in its present state.
        task: Box<Task>,
        /// The outcome of the turn.
        what: TurnOutcome,
        note: String,
        spent: RunUsage,
    },
    /// Work that a person signed off was merged or otherwise landed.
    Landed {
        /// The handle of the task.
        task: String,
        /// The result of landing, in words.
        what: String,
    },
    /// An agent is rate limited until a time.
    Resting { agent: String, until: Timestamp },
    /// An abandoned run was given up.
    Recovered {
        /// The handle of the task.
        task: String,
        /// The number of processes that were left of the run.
        processes: usize,
    },
    /// The budget is used up.
    Spent {
        /// The exhausted part of the budget, in words.
        what: String,
    },
}

/// The outcome of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome {
    /// The task is closed.
    Completed,
    /// A step of the task is done; the task continues with the next.
    StepDone,
    /// The task waits for a person.
    Waits,
    /// The task will be tried again.
    Retry,
    /// The task will be tried again after a back-off.
    Deferred,
    Failed,
    /// The task is blocked by a problem that a person has to solve.
    Blocked,
    /// The lease was lost: another worker has the task, or a person ended it.
    LostLease,
}

/// A worker: threads that claim tasks and run agents on them.
pub struct Worker<'a> {
    desk: Desk,
    setup: WorkerConfig,
    watch: &'a (dyn Fn(WorkerProgress) + Sync),
    stop: &'a AtomicBool,
    busy: AtomicUsize,
    shared: Mutex<WorkerState>,
}

/// The state that the threads of a worker share.
#[derive(Default)]
struct WorkerState {
    tally: WorkTotals,
    /// The number of turns begun, for a budget of turns.
    begun: u64,
    /// Agents that are rate limited, and until when.
    resting: BTreeMap<String, Timestamp>,
    /// Tasks whose work is on another machine.
    elsewhere: BTreeSet<TaskId>,
    /// Tasks that this worker deferred, and until when.
    later: BTreeMap<TaskId, Timestamp>,
    recovered: Option<Instant>,
    landed: Option<Instant>,
    is_over: bool,
    /// The outcome of the last turn with its note, and the step it completed.
    last: Option<(TurnOutcome, String)>,
    stepped: Option<CompletedStep>,
    /// The number of failed attempts at the step.
    attempts: u32,
}

impl<'a> Worker<'a> {
    /// Creates a worker. It stops when `stop` is set; `watch` receives its progress.
    pub fn new(
        desk: Desk,
        setup: WorkerConfig,
        watch: &'a (dyn Fn(WorkerProgress) + Sync),
        stop: &'a AtomicBool,
    ) -> Self {
        Self { desk, setup, watch, stop, busy: AtomicUsize::new(0), shared: Mutex::default() }
    }

    /// Works until no task is left, or until it is told to stop.
    pub fn work(&self) -> Result<WorkTotals> {
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let jobs: Vec<_> =
                (0..self.setup.jobs.max(1)).map(|_| scope.spawn(|| self.job())).collect();
            jobs.into_iter().map(|job| job.join()).collect()
        });
        for outcome in outcomes {
            match outcome {
                Ok(outcome) => outcome?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        let shared = self.shared();
        Ok(WorkTotals { elsewhere: shared.elsewhere.len() as u64, ..shared.tally })
    }

    /// Runs one of the threads that claim tasks. When one fails the others stop, too.
    fn job(&self) -> Result<()> {
        let outcome = self.claim_loop();
        if outcome.is_err() {
            self.shared().is_over = true;
        }
        outcome
    }

    fn claim_loop(&self) -> Result<()> {
        // Subscribe first, look second: a commit in between wakes us.
        let mut wake = self.desk.follow()?;
        loop {
            if self.is_over() {
                return Ok(());
            }
            let was_busy = self.busy.load(Ordering::SeqCst) > 0;
            let has_worked = match self.claim_and_run() {
                // A worker that watches outlives an outage of the server.
                Err(error) if error.is_unreachable() && self.setup.scope.watch => {
                    std::thread::sleep(LOOK_AGAIN);
                    continue;
                }
                worked => worked?,
            };
            if has_worked {
                continue;
            }
            if self.is_awaited()? {
                wake.wait(LOOK_AGAIN)?;
            } else if !was_busy {
                return self.land_what_was_approved(true);
            }
            // Turns that were in progress have ended since we looked, and may have made tasks ready.
        }
    }

    /// True if more work can come: a running turn may make tasks ready, a deferred task will become ready, and a
    /// worker that watches serves later changes by people.
    fn is_awaited(&self) -> Result<bool> {
        let is_busy = self.busy.load(Ordering::SeqCst) > 0;
        if is_busy || !self.shared().later.is_empty() {
            return Ok(true);
        }
        Ok(self.setup.scope.watch && !self.is_finished()?)
    }

    /// Claims a task and runs one turn on it. Returns false if there was no task.
    fn claim_and_run(&self) -> Result<bool> {
        self.desk.fire_due()?;
        self.setup
            .supervisor
            .iter()
            .try_for_each(|keeper| self.desk.carry_out(keeper).map(drop))?;
        self.recover()?;
        self.land_what_was_approved(false)?;
        let Some(taken) = self.claim()? else { return Ok(false) };
        self.turn(taken)?;
        Ok(true)
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::SeqCst) || self.shared().is_over
    }

    fn shared(&self) -> MutexGuard<'_, WorkerState> {
        // It holds counts and times, each set as a whole, so a poisoned lock is safe to use.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, progress: WorkerProgress) {
        (self.watch)(progress);
    }

    /// Returns true if another turn fits the budget, and counts that turn from now on.
    fn begin_turn(&self) -> bool {
        let mut shared = self.shared();
        if shared.is_over {
            return false;
        }
        let once = self.setup.scope.once && shared.begun > 0;
        let gone = used_up(&self.setup.budget, &shared);
        if let (Some(what), false) = (&gone, once) {
            shared.is_over = true;
            shared.tally.is_spent = true;
            drop(shared);
            self.tell(WorkerProgress::Spent { what: what.clone() });
            return false;
        }
        if once {
            shared.is_over = true;
            return false;
        }
        shared.begun += 1;
        true
    }

    /// Uncounts a turn that did not take place.
    fn uncount_turn(&self) {
        self.shared().begun -= 1;
    }
}

/// Returns the exhausted part of a budget in words, or none.
fn used_up(budget: &WorkBudget, shared: &WorkerState) -> Option<String> {
    let WorkTotals { spent, .. } = &shared.tally;
    let tokens = spent.input_tokens.saturating_add(spent.output_tokens);
    let worked = Duration::from_millis(spent.work_millis);
    let over = |limit: Option<u64>, now: u64| limit.is_some_and(|limit| now >= limit);
    if over(budget.turns, shared.begun) {
        return Some(format!("{} turns", shared.begun));
    }
    if budget.time.is_some_and(|limit| worked >= limit) {
        return Some(format!("{} s of work", worked.as_secs()));
    }
    if over(budget.tokens, tokens) {
        return Some(format!("{tokens} tokens"));
    }
    if over(budget.cost_micros, spent.cost_micros) {
        return Some(format!("${:.2}", spent.cost_micros as f64 / 1e6));
    }
    None
}
