//! `sayso reopen`: open a task again.

use super::shared;
use crate::context::Context;
use crate::exit::Result;
use crate::who;
use clap_complete::ArgValueCompleter;
use sayso_core::{Actor, Exit, TaskId, Verdict};
use sayso_engine::Desk;

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
    let actor = for_reopening(context, &desk, &actor, id)?;
    desk.reopen_task(&actor, id, &context.words(&args.reason)?)?;
    shared::report_task(context, &desk, id, "is open")
}

/// Taking up again what a person said no to is a person's.
pub(super) fn for_reopening(
    context: &Context<'_>,
    desk: &Desk,
    actor: &Actor,
    id: TaskId,
) -> Result<Actor> {
    let was_rejected = desk.task(id)?.task.verdict == Some(Verdict::Rejected);
    who::person_if(was_rejected, context, desk, actor)
}
