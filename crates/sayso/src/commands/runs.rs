//! `sayso runs`: lists agent runs.

use super::shared;
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::{CliOutput, OutputStyle};
use crate::{time, work};
use clap_complete::ArgValueCompleter;
use sayso_core::run::{Run, RunState, RunUsage};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{CommandExit, Timestamp};
use sayso_server::wire;

/// The turns agents took: those of a task, or those under way.
#[derive(clap::Args)]
pub(crate) struct RunsArgs {
    /// The task; without one, the runs that are under way.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    task: Option<String>,
    /// Show at most this many.
    #[arg(short = 'n', long, default_value_t = shared::ROWS, value_name = "N", value_parser = shared::rows)]
    limit: usize,
}

pub(crate) fn run(args: RunsArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let out = context.out;
    let (desk, _) = context.open_read_only()?;
    let (runs, none) = match args.task {
        Some(typed) => {
            (desk.runs_of(desk.find_task(&typed)?, args.limit)?, "no agent has worked on it yet")
        }
        None => (desk.live_runs()?, "no agent is at work; let them work with: sayso work"),
    };
    if out.json {
        let items: Vec<_> = runs.iter().map(|run| wire::RunJson::of(run, &time::rfc3339)).collect();
        out.json(&wire::PageJson { items, next: None });
        return Ok(CommandExit::Ok);
    }
    if runs.is_empty() {
        out.remark(none);
    }
    let mut sum = RunUsage::default();
    for run in &runs {
        if let RunState::Ended { spent, .. } = &run.state {
            sum = sum.plus(*spent);
        }
        let task = desk.task(run.started.task)?.task.handle;
        out.line(&row(out, run, &task, desk.now()));
    }
    if runs.len() > 1 && sum != RunUsage::default() {
        out.line(&out.paint(OutputStyle::Faint, &format!("together {}", work::in_words(&sum))));
    }
    Ok(CommandExit::Ok)
}

fn row(out: &CliOutput, run: &Run, task: &str, now: Timestamp) -> String {
    let id = out.paint(OutputStyle::Name, &run.started.id.handle(6));
    let agent = sanitize_line(&run.started.agent);
    let began = time::relative(run.started_at, now);
    let (how, look, note, took) = match &run.state {
        RunState::Running => ("at work", OutputStyle::Warn, String::new(), String::new()),
        RunState::Ended { how, note, spent, .. } => {
            (how.as_str(), OutputStyle::Faint, sanitize_line(note), work::in_words(spent))
        }
    };
    let note = shorten(&note, out.width().saturating_sub(50).max(20));
    format!("{id}  {task}  {agent}  {}  {began} {took} {note}", out.paint(look, how))
}
