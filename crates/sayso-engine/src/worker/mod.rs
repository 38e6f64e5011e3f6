//! The worker: takes tasks that are ready, lets agents work on them, each in a tree of its own, and
//! never waits for a person while another task is ready.
//!
//! Whatever it is in the middle of is in the log: a worker that dies is found by the next one, which
//! ends what is left of its agents and goes on.

mod command;
mod execute;
mod holder;
mod hooks;
mod prompt;
mod shell;
mod step;
mod take;
mod turn;
mod watch;

pub use command::{CommandCame, CommandStep, end_command};
pub use execute::DEFER;
pub use holder::{holder, is_gone};
pub use hooks::{HOOK_NOTES, HookKit, HookSource};
pub use prompt::{Brief, StepBrief, prompt};
pub use shell::Shell;
pub use step::{FLOW, Step, StepCame, StepCheck, Stepped};
pub use watch::Watch;

use crate::worktree::Repository;
use crate::{Desk, Keeper, Result};
use sayso_agents::{Agent, Heard};
use sayso_core::run::{Holder, Spent};
use sayso_core::task::Task;
use sayso_core::{Actor, TaskId, Threshold, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A worker with nothing to do looks again after this long even if nothing woke it.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How a worker is to work.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Whose worker it is.
    pub actor: Actor,
    /// Where it is.
    pub holder: Holder,
    /// Where tasks are worked on.
    pub repository: Repository,
    /// The agents there are, by name.
    pub agents: BTreeMap<String, Agent>,
    /// The one that works where a task names none.
    pub agent: String,
    /// The worker's environment, of which agents get what they may have.
    pub environment: Vec<(String, String)>,
    /// Patterns of names of variables that agents may have, too.
    pub lets_through: Vec<String>,
    /// Variables all agents get.
    pub variables: Vec<(String, String)>,
    /// What each role is told.
    pub roles: BTreeMap<String, String>,
    /// What every agent is told.
    pub preamble: String,
    /// How much agents are to ask, where a task does not ask for more.
    pub threshold: Threshold,
    /// What must pass before work counts as complete.
    pub check: Option<Check>,
    /// Work whose agent is less sure than this, in percent, is shown to a person before it counts.
    pub sure_min: u8,
    /// What becomes of completed work.
    pub land: Land,
    /// Where what agents print is kept.
    pub logs: PathBuf,
    /// For how long a run is held without being renewed.
    pub lease: Duration,
    /// How long one turn may take, without the time a person thinks.
    pub turn_max: Duration,
    /// How many turns without a result there may be before a person is asked.
    pub fruitless_max: u32,
    /// How many turns a task may take before a person is asked.
    pub turns_max: u32,
    /// How long to wait before an agent that could not be started is started again; doubled each time.
    pub retry: Duration,
    /// How many agents may work at one time.
    pub jobs: usize,
    /// When to stop.
    pub budget: Budget,
    /// What to work on.
    pub scope: Scope,
    /// How it keeps agents on its machine, if it does.
    pub keeper: Option<Keeper>,
    /// Where its agents' hooks come from; without them nobody is held to rules for tool calls.
    pub hooks: Option<HookSource>,
    /// The step of a flow it is there for, if it is: see [`Worker::step`].
    pub step: Option<Step>,
}

/// What must pass before work counts as complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// A command for the shell.
    pub command: String,
    /// How often the agent is told to mend it.
    pub retries: u32,
}

/// What becomes of completed work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Land {
    /// It stays on its branch.
    Leave,
    /// Its branch is merged into the base.
    Merge,
    /// A command of the user's takes care of it, such as one that opens a pull request.
    Command(String),
}

/// When to stop. What a person takes to think counts for nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// After so many turns.
    pub turns: Option<u64>,
    /// After agents have worked for so long.
    pub time: Option<Duration>,
    /// After so many tokens, read and written.
    pub tokens: Option<u64>,
    /// After so many millionths of a dollar.
    pub cost_micros: Option<u64>,
}

/// What to work on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Only these tasks; none means all.
    pub tasks: BTreeSet<TaskId>,
    /// Only what is part of this one.
    pub epic: Option<TaskId>,
    /// One turn, then stop.
    pub once: bool,
    /// Take over what was begun on another machine, with a new conversation.
    pub adopt: bool,
    /// Go on waiting for work when there is none: for ever, or until the given tasks are over.
    pub watch: bool,
}

/// What a worker has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Turns taken.
    pub turns: u64,
    /// Tasks completed, those that wait for a sign-off included.
    pub completed: u64,
    /// Turns that ended with a question.
    pub asked: u64,
    /// Tasks that failed or got stuck.
    pub failed: u64,
    /// Tasks that were ready and left alone, since they were begun on another machine.
    pub elsewhere: u64,
    /// Turns that were ended since the worker was stopped.
    pub interrupted: u64,
    /// Whether tasks were left, since the budget was used up.
    pub is_spent: bool,
    /// What it took.
    pub spent: Spent,
}

/// What goes on, for whoever wants to watch.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// An agent was started.
    Started {
        /// On which task.
        task: Box<Task>,
        /// Which agent.
        agent: String,
        /// Whether it goes on with an earlier conversation.
        resumed: bool,
    },
    /// The agent said or did something.
    Heard {
        /// On which task.
        task: TaskId,
        /// What.
        heard: Heard,
    },
    /// The agent waits for a person, or no longer does.
    Waits {
        /// On which task.
        task: TaskId,
        /// Whether it does.
        waits: bool,
    },
    /// The work is being checked.
    Checking {
        /// On which task.
        task: TaskId,
        /// By which command.
        command: String,
    },
    /// The turn is over.
    Ended {
        /// On which task, as it is now.
        task: Box<Task>,
        /// What came of it.
        what: Came,
        /// In words.
        note: String,
        /// What it took.
        spent: Spent,
    },
    /// Work that a person signed off was brought home.
    Landed {
        /// What people call the task.
        task: String,
        /// What became of it.
        what: String,
    },
    /// An agent may do no more until then.
    Resting {
        /// Which.
        agent: String,
        /// Until when.
        until: Timestamp,
    },
    /// A run nobody looked after was given up.
    Recovered {
        /// What people call the task.
        task: String,
        /// How many processes were left of it.
        processes: usize,
    },
    /// The budget is used up.
    Spent {
        /// What of it.
        what: String,
    },
}

/// What came of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// The task is closed.
    Completed,
    /// A step of it is done; the task goes on with the next.
    Stepped,
    /// It waits for a person.
    Waits,
    /// It will be tried again.
    Again,
    /// It will be tried again after some time.
    Later,
    /// It failed.
    Failed,
    /// It is stuck on something.
    Blocked,
    /// Somebody else has it, or ended it.
    Gone,
}

/// A worker.
pub struct Worker<'a> {
    desk: Desk,
    setup: Setup,
    watch: &'a (dyn Fn(Progress) + Sync),
    stop: &'a AtomicBool,
    busy: AtomicUsize,
    shared: Mutex<Shared>,
}

/// What the jobs of a worker share.
#[derive(Default)]
struct Shared {
    tally: Tally,
    /// Turns that are under way, for a budget of turns.
    begun: u64,
    /// Agents that may do no more for now.
    resting: BTreeMap<String, Timestamp>,
    /// Tasks whose work is on another machine.
    elsewhere: BTreeSet<TaskId>,
    /// Tasks that were put off here, and until when.
    later: BTreeMap<TaskId, Timestamp>,
    recovered: Option<Instant>,
    landed: Option<Instant>,
    is_over: bool,
    /// What came of the last turn, and the step it completed.
    last: Option<(Came, String)>,
    stepped: Option<Stepped>,
    /// How many attempts at the step came to nothing.
    attempts: u32,
}

impl<'a> Worker<'a> {
    /// A worker. It stops when `stop` is set; `watch` hears what goes on.
    pub fn new(
        desk: Desk,
        setup: Setup,
        watch: &'a (dyn Fn(Progress) + Sync),
        stop: &'a AtomicBool,
    ) -> Self {
        Self { desk, setup, watch, stop, busy: AtomicUsize::new(0), shared: Mutex::default() }
    }

    /// Works until there is nothing left to do, or until it is told to stop.
    pub fn work(&self) -> Result<Tally> {
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
        Ok(Tally { elsewhere: shared.elsewhere.len() as u64, ..shared.tally })
    }

    /// One of the threads that take tasks. When one fails the others stop, too.
    fn job(&self) -> Result<()> {
        let outcome = self.take_and_turn();
        if outcome.is_err() {
            self.shared().is_over = true;
        }
        outcome
    }

    fn take_and_turn(&self) -> Result<()> {
        // Watch first, look second: a commit in between wakes us.
        let mut wake = self.desk.follow()?;
        loop {
            if self.is_over() {
                return Ok(());
            }
            let was_busy = self.busy.load(Ordering::SeqCst) > 0;
            let has_worked = match self.take_one() {
                // Whoever is to watch is there when it is back.
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
            // What was under way has ended since we looked, and may have made tasks ready.
        }
    }

    /// Whether more is to come: what others are doing may make tasks ready, what was put off will be,
    /// and a worker that watches is there for what people do.
    fn is_awaited(&self) -> Result<bool> {
        let is_busy = self.busy.load(Ordering::SeqCst) > 0;
        if is_busy || !self.shared().later.is_empty() {
            return Ok(true);
        }
        Ok(self.setup.scope.watch && !self.is_finished()?)
    }

    /// Takes a task and gives it a turn. Whether there was one.
    fn take_one(&self) -> Result<bool> {
        self.desk.fire_due()?;
        self.setup.keeper.iter().try_for_each(|keeper| self.desk.carry_out(keeper).map(drop))?;
        self.recover()?;
        self.land_what_was_approved(false)?;
        let Some(taken) = self.take()? else { return Ok(false) };
        self.turn(taken)?;
        Ok(true)
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::SeqCst) || self.shared().is_over
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        // It holds counts and times, each set as a whole.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, progress: Progress) {
        (self.watch)(progress);
    }

    /// Whether another turn fits the budget; one that does counts from now on.
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
            self.tell(Progress::Spent { what: what.clone() });
            return false;
        }
        if once {
            shared.is_over = true;
            return false;
        }
        shared.begun += 1;
        true
    }

    /// A turn that was counted did not come about.
    fn take_back_turn(&self) {
        self.shared().begun -= 1;
    }
}

/// What of a budget is used up.
fn used_up(budget: &Budget, shared: &Shared) -> Option<String> {
    let Tally { spent, .. } = &shared.tally;
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
