//! Wire types of runs: agents' turns on tasks, and what they took.

use super::TimeFormatter;
use sayso_core::run::{Run as CoreRun, RunState, RunUsage as CoreSpent};
use sayso_engine::worker::WorkTotals as CoreTally;
use schemars::JsonSchema;
use serde::Serialize;

/// One run of an agent on a task.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub struct RunJson {
    /// The full id, a ULID.
    pub id: String,
    /// The full id of the task.
    pub task: String,
    /// The name of the agent.
    pub agent: String,
    /// The actor who launched it.
    pub launched_by: String,
    /// Counts the runs of the task; only the one with the highest number may change it.
    pub number: u64,
    /// running, completed, asked, unclear, failed, waiting_for_reset, stopped or lost.
    pub state: String,
    /// Its last message, or its error.
    pub note: String,
    /// The agent's own name for its conversation.
    pub session: Option<String>,
    /// The time at which it began.
    pub started_at: String,
    /// The time at which it ended.
    pub ended_at: Option<String>,
    /// The machine it ran on.
    pub host: String,
    /// The repository it worked on.
    pub repository: String,
    /// The tokens, dollars and seconds it took.
    pub spent: RunCostJson,
}

impl RunJson {
    /// Converts a run to its wire form.
    pub fn of(run: &CoreRun, time: TimeFormatter<'_>) -> Self {
        let started = &run.started;
        let (state, note, spent, ended_at) = match &run.state {
            RunState::Running => ("running", String::new(), CoreSpent::default(), None),
            RunState::Ended { how, note, spent, at } => {
                (how.as_str(), note.clone(), *spent, Some(time(*at)))
            }
        };
        Self {
            id: started.id.to_string(),
            task: started.task.to_string(),
            agent: started.agent.clone(),
            launched_by: started.launcher.clone(),
            number: started.fence,
            state: state.into(),
            note,
            session: run.session.clone(),
            started_at: time(run.started_at),
            ended_at,
            host: started.holder.host.split(' ').next().unwrap_or_default().into(),
            repository: started.holder.repository.clone(),
            spent: RunCostJson::of(&spent),
        }
    }
}

/// The tokens, dollars and seconds that a run, or several, took.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Spent")]
pub struct RunCostJson {
    /// Tokens the model read.
    pub input_tokens: u64,
    /// Tokens the model wrote.
    pub output_tokens: u64,
    /// Dollars, as far as the agent reports them.
    pub cost_usd: f64,
    /// Seconds of work, without those a person thought.
    pub work_seconds: f64,
    /// Seconds in which the agent waited for a person.
    pub waited_seconds: f64,
}

impl RunCostJson {
    /// Converts them to their wire form.
    pub fn of(spent: &CoreSpent) -> Self {
        Self {
            input_tokens: spent.input_tokens,
            output_tokens: spent.output_tokens,
            cost_usd: spent.cost_micros as f64 / 1e6,
            work_seconds: spent.work_millis as f64 / 1e3,
            waited_seconds: spent.waited_millis as f64 / 1e3,
        }
    }
}

/// The totals of a worker.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Tally")]
pub struct WorkerTotalsJson {
    /// The number of turns taken.
    pub turns: u64,
    /// The number of tasks completed.
    pub completed: u64,
    /// Turns that ended with a question.
    pub asked: u64,
    /// Tasks that failed or got stuck.
    pub failed: u64,
    /// Tasks that were ready and left alone, since they were begun on another machine.
    pub elsewhere: u64,
    /// Turns that were ended since the worker was stopped.
    pub interrupted: u64,
    /// True if ready tasks were left, since the budget was used up.
    pub budget_used_up: bool,
    /// The tokens, dollars and seconds it took.
    pub spent: RunCostJson,
}

impl WorkerTotalsJson {
    /// Converts a worker's totals to their wire form.
    pub fn of(tally: &CoreTally) -> Self {
        let CoreTally { turns, completed, asked, failed, elsewhere, interrupted, is_spent, spent } =
            *tally;
        Self {
            turns,
            completed,
            asked,
            failed,
            elsewhere,
            interrupted,
            budget_used_up: is_spent,
            spent: RunCostJson::of(&spent),
        }
    }
}
