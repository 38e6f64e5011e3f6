//! `sayso work`: runs agents on ready tasks.

use super::shared;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::OutputStyle;
use crate::time;
use crate::work::{self, ProgressView, WorkOptions};
use clap_complete::ArgValueCompleter;
use sayso_core::{AskThreshold, Code, CommandExit};
use sayso_engine::worker::{WorkBudget, WorkScope, WorkTotals};
use sayso_server::wire;
use std::time::Duration;

/// Let agents work on the tasks that are ready.
///
/// Each task gets a git worktree and a branch of its own. An agent that asks a person ends its turn;
/// its worktree and its conversation stay as they are, and the next task is taken. When somebody has
/// answered, the agent is resumed with the answer. The worker ends when nothing is ready any more.
///
/// It ends with 0 when nothing is ready any more, whatever waits for people; with 14 when a task failed, got stuck or goes on
/// at another machine, or when its budget is used up and tasks are left; and with 128 and the number of the signal when one ended it before.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso work                          work until nothing is ready
  sayso work --watch --jobs 4         stay, with four agents at a time
  sayso work t7k2 t9m1                only these tasks
  sayso work --once --agent codex     one turn, with this agent
  sayso work --max-cost 5 --max-time 2h")]
pub(crate) struct WorkArgs {
    /// Work on only these tasks.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    tasks: Vec<String>,
    /// Only what is part of this one.
    #[arg(long, value_name = "ID", conflicts_with = "tasks", add = ArgValueCompleter::new(shared::live_tasks))]
    epic: Option<String>,
    /// One turn, then stop.
    #[arg(long)]
    once: bool,
    /// Stay, and wait for work when there is none.
    #[arg(short, long, conflicts_with = "once")]
    watch: bool,
    /// Take over tasks that were begun on another machine, in a new conversation that is told everything.
    /// What was not committed there stays there.
    #[arg(long)]
    adopt: bool,
    /// The number of agents that may work at one time.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    #[command(flatten)]
    agent: AgentChoiceArgs,
    /// Stop after so many turns.
    #[arg(long, value_name = "N")]
    max_turns: Option<u64>,
    /// Stop when agents have worked for so long; the time people think is not counted.
    #[arg(long, value_name = "TIME", value_parser = time::duration)]
    max_time: Option<Duration>,
    /// Stop after so many tokens.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Stop when so many dollars are spent, as far as agents report it.
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    max_cost: Option<u64>,
}

/// The choice of agent, and the amount it is to ask.
#[derive(clap::Args)]
pub(crate) struct AgentChoiceArgs {
    /// The agent: claude-code, codex, gemini, opencode, or one of the settings.
    #[arg(short, long, value_name = "NAME")]
    pub(super) agent: Option<String>,
    /// The amount it is to ask: 0 never, 1 rarely, 2 sparingly, 3 balanced, 4 often, 5 always. It can be raised above
    /// what the settings say, not lowered.
    #[arg(long, value_name = "LEVEL")]
    pub(super) threshold: Option<AskThreshold>,
}

pub(crate) fn run(args: WorkArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let out = context.out;
    let (desk, actor, location) = work::open_for_work(context)?;
    let budget = WorkBudget {
        turns: args.max_turns,
        time: args.max_time,
        tokens: args.max_tokens,
        cost_micros: args.max_cost,
    };
    let scope = WorkScope {
        tasks: shared::tasks(&desk, &args.tasks)?.into_iter().collect(),
        epic: args.epic.map(|typed| desk.find_task(&typed)).transpose()?,
        once: args.once,
        adopt: args.adopt,
        watch: args.watch,
    };
    for id in &scope.tasks {
        let task = desk.task(*id)?.task;
        if task.status.is_over() {
            return Err(Failure::new(Code::WrongState, format!("task {} is closed", task.handle))
                .hint(format!("open it again with: sayso reopen {}", task.handle)));
        }
    }
    let (jobs, stays) = (args.jobs.map(usize::from), args.watch);
    let AgentChoiceArgs { agent, threshold } = args.agent;
    let wanted = WorkOptions { agent, jobs, threshold, budget, scope };
    let setup = work::setup(context, &location, (&desk, &actor), wanted)?;
    warn_of_changes(context, &setup);
    let stop = work::stop_flag()?;
    let view = ProgressView::new(out);
    let tally = work::work_and_notify(context, &desk, setup, &view, &stop)?;
    if out.json {
        out.json(&wire::WorkerTotalsJson::of(&tally));
        return Ok(exit(&tally, stays));
    }
    let waiting = desk.count_open_gates(1_000)?;
    out.line(&work::sum(&tally));
    if tally.elsewhere > 0 {
        let n = tally.elsewhere;
        let tasks = if n == 1 { "task was" } else { "tasks were" };
        out.line(&format!(
            "{n} {tasks} begun on another machine; take over with: sayso work --adopt"
        ));
    }
    if waiting > 0 {
        let things = if waiting == 1 { "thing waits" } else { "things wait" };
        out.line(&format!(
            "{waiting} {things} for you: {}",
            out.paint(OutputStyle::Strong, "sayso inbox")
        ));
    }
    Ok(exit(&tally, stays))
}

/// The exit code of a worker. One with `--watch` is normally ended by a signal: only runs that were under way count
/// as unfinished then.
fn exit(tally: &WorkTotals, stays: bool) -> CommandExit {
    let is_cut_short = tally.interrupted > 0 || !stays;
    match work::ended_by_signal().filter(|_| is_cut_short) {
        Some(exit) => exit,
        None if tally.is_spent || (!stays && is_left(tally)) => CommandExit::Unfinished,
        None => CommandExit::Ok,
    }
}

/// True if tasks failed, got stuck or were left to another machine.
const fn is_left(tally: &WorkTotals) -> bool {
    tally.failed > 0 || tally.elsewhere > 0
}

/// Warns about uncommitted changes: agents start from the last commit, and do not see them.
pub(super) fn warn_of_changes(
    context: &CliContext<'_>,
    setup: &sayso_engine::worker::WorkerConfig,
) {
    let changed = setup.repository.uncommitted().unwrap_or(0);
    if changed > 0 {
        let files = if changed == 1 { "file has" } else { "files have" };
        context.out.remark(&context.out.paint(
            OutputStyle::Warn,
            &format!("{changed} {files} changes that are not committed; agents do not see them"),
        ));
    }
}

fn dollars(typed: &str) -> std::result::Result<u64, String> {
    let wrong = || format!("{typed:?} is no amount of dollars, such as 5 or 0.50");
    let amount: f64 = typed.trim_start_matches('$').parse().map_err(|_| wrong())?;
    let is_sane = amount.is_finite() && (0.0..1e9).contains(&amount);
    is_sane.then(|| (amount * 1e6).round() as u64).ok_or_else(wrong)
}
