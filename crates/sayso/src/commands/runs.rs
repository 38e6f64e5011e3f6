//! `sayso runs`: lists agent runs.

use super::shared;
use crate::context::Context;
use crate::exit::Result;
use crate::out::{Look, Out};
use crate::{when, work};
use clap_complete::ArgValueCompleter;
use sayso_core::run::{Run, Spent, State};
use sayso_core::text::{harmless_line, shorten};
use sayso_core::{Exit, Timestamp};
use sayso_server::wire;

/// The turns agents took: those of a task, or those under way.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The task; without one, the runs that are under way.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    task: Option<String>,
    /// Show at most this many.
    #[arg(short = 'n', long, default_value_t = shared::ROWS, value_name = "N", value_parser = shared::rows)]
    limit: usize,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let out = context.out;
    let (desk, _) = context.sit_down_to_look()?;
    let (runs, none) = match args.task {
        Some(typed) => {
            (desk.runs_of(desk.find_task(&typed)?, args.limit)?, "no agent has worked on it yet")
        }
        None => (desk.live_runs()?, "no agent is at work; let them work with: sayso work"),
    };
    if out.json {
        let items: Vec<_> = runs.iter().map(|run| wire::Run::of(run, &when::rfc3339)).collect();
        out.json(&wire::Page { items, next: None });
        return Ok(Exit::Ok);
    }
    if runs.is_empty() {
        out.remark(none);
    }
    let mut sum = Spent::default();
    for run in &runs {
        if let State::Ended { spent, .. } = &run.state {
            sum = sum.plus(*spent);
        }
        let task = desk.task(run.started.task)?.task.handle;
        out.line(&row(out, run, &task, desk.now()));
    }
    if runs.len() > 1 && sum != Spent::default() {
        out.line(&out.paint(Look::Faint, &format!("together {}", work::in_words(&sum))));
    }
    Ok(Exit::Ok)
}

fn row(out: &Out, run: &Run, task: &str, now: Timestamp) -> String {
    let id = out.paint(Look::Name, &run.started.id.handle(6));
    let agent = harmless_line(&run.started.agent);
    let began = when::relative(run.started_at, now);
    let (how, look, note, took) = match &run.state {
        State::Running => ("at work", Look::Warn, String::new(), String::new()),
        State::Ended { how, note, spent, .. } => {
            (how.as_str(), Look::Faint, harmless_line(note), work::in_words(spent))
        }
    };
    let note = shorten(&note, out.width().saturating_sub(50).max(20));
    format!("{id}  {task}  {agent}  {}  {began} {took} {note}", out.paint(look, how))
}
