//! `sayso reopen`: open a task again.

use super::shared;
use crate::context::Context;
use crate::exit::Result;
use clap_complete::ArgValueCompleter;
use sayso_core::Exit;

/// Open a closed, failed, blocked or deferred task again.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The task.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    id: String,
    /// Why.
    #[arg(value_name = "REASON")]
    reason: Vec<String>,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down()?;
    let id = desk.find_task(&args.id)?;
    desk.reopen_task(&actor, id, &context.words(&args.reason)?)?;
    shared::report_task(context, &desk, id, "is open")
}
