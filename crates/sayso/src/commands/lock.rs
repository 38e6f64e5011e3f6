//! `sayso lock`: locks this terminal.

use crate::context::CliContext;
use crate::exit::Result;
use crate::identity;
use sayso_core::CommandExit;

/// Lock this terminal again.
#[derive(clap::Args)]
pub(crate) struct LockArgs {}

pub(crate) fn run(_: LockArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    desk.lock(&actor, &identity::terminal_id())?;
    context.out.line("locked");
    Ok(CommandExit::Ok)
}
