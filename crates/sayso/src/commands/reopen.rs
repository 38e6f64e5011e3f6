//! `sayso reopen`: reopens a task.

use super::shared;
use crate::context::CliContext;
use crate::exit::Result;
use crate::identity;
use crate::output::OutputStyle;
use clap_complete::ArgValueCompleter;
use sayso_core::{Actor, CommandExit, TaskId, Verdict};
use sayso_engine::Desk;

/// Open a closed, failed, blocked or deferred task again.
#[derive(clap::Args)]
pub(crate) struct ReopenArgs {
    /// The ID of the task.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    id: String,
    /// The reason, as it is recorded.
    #[arg(value_name = "REASON")]
    reason: Vec<String>,
}

pub(crate) fn run(args: ReopenArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let id = desk.find_task(&args.id)?;
    reopen(context, &desk, &actor, id, &context.words(&args.reason)?)?;
    report(context, &desk, id, "is open")
}

/// Reopens a task. Only a person may reopen work that a person rejected.
pub(super) fn reopen(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    id: TaskId,
    reason: &str,
) -> Result<()> {
    let was_rejected = desk.task(id)?.task.verdict == Some(Verdict::Rejected);
    let actor = identity::person_if(was_rejected, context, desk, actor)?;
    desk.reopen_task(&actor, id, reason)?;
    Ok(())
}

/// Prints the outcome. A task that waits for a person cannot be worked on, open or not.
pub(super) fn report(
    context: &CliContext<'_>,
    desk: &Desk,
    id: TaskId,
    what: &str,
) -> Result<CommandExit> {
    let (out, task) = (context.out, desk.task(id)?.task);
    if out.json || !task.is_waiting() {
        return shared::report_task(context, desk, id, what);
    }
    let name = out.paint(OutputStyle::Name, &task.handle);
    out.line(&format!("{name} still waits for a person; see: sayso show {}", task.handle));
    Ok(CommandExit::Ok)
}
