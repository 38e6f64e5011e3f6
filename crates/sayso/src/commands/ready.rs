//! `sayso ready`: lists tasks that can be worked on now.

use super::shared::{self, PagingArgs};
use crate::context::CliContext;
use crate::exit::Result;
use clap_complete::ArgValueCompleter;
use sayso_core::CommandExit;
use sayso_engine::TaskFilter;

/// Tasks that can be worked on now: open, waiting for no person and no other task.
#[derive(clap::Args)]
pub(crate) struct ReadyArgs {
    /// Only what is under this epic.
    #[arg(value_name = "EPIC", add = ArgValueCompleter::new(shared::live_tasks))]
    epic: Option<String>,
    #[command(flatten)]
    paging: PagingArgs,
}

pub(crate) fn run(args: ReadyArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let filter = TaskFilter {
        ready_at: Some(desk.now()),
        under: args.epic.map(|typed| desk.find_task(&typed)).transpose()?,
        after: args.paging.after.map(|typed| desk.find_task(&typed)).transpose()?,
        limit: args.paging.limit,
        ..TaskFilter::default()
    };
    let empty = "nothing is ready; see what is in the way with: sayso list --blocked, sayso inbox";
    shared::print_tasks(context, &desk, &actor, &filter, false, empty)
}
