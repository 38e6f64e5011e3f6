//! `sayso ready`: lists tasks that can be worked on now.

use super::shared::{self, Paging};
use crate::context::Context;
use crate::exit::Result;
use clap_complete::ArgValueCompleter;
use sayso_core::Exit;
use sayso_engine::TaskFilter;

/// Tasks that can be worked on now: open, waiting for no person and no other task.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only what is under this epic.
    #[arg(value_name = "EPIC", add = ArgValueCompleter::new(shared::live_tasks))]
    epic: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down()?;
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
