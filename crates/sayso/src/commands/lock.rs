//! `sayso lock`: locks this terminal.

use crate::context::Context;
use crate::exit::Result;
use crate::who;
use sayso_core::Exit;

/// Lock this terminal again.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down()?;
    desk.lock(&actor, &who::terminal())?;
    context.out.line("locked");
    Ok(Exit::Ok)
}
