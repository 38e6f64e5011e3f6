//! `sayso defer`: defers a task.

use super::shared;
use crate::context::CliContext;
use crate::exit::Result;
use crate::{identity, time};
use clap_complete::ArgValueCompleter;
use sayso_core::CommandExit;

/// Put a task off; at the given time it is ready again by itself.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso defer t7k2                      until somebody reopens it
  sayso defer t7k2 --until 2h
  sayso defer t7k2 --until 2026-12-24")]
pub(crate) struct DeferArgs {
    /// The ID of the task.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    id: String,
    /// Until then: 2h, 3d, tomorrow, 2026-12-24 or 2026-12-24T18:00.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

pub(crate) fn run(args: DeferArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let id = desk.find_task(&args.id)?;
    let until = args.until.map(|text| time::moment(&text, desk.now())).transpose()?;
    let waits = desk.task(id)?.task.is_waiting();
    let actor = identity::person_if(waits, context, &desk, &actor)?;
    desk.defer_task(&actor, id, until)?;
    let what =
        until.map_or("is put off".into(), |at| format!("is put off until {}", time::local(at)));
    shared::report_task(context, &desk, id, &what)
}
