//! `sayso close`: closes a task.

use super::shared;
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use crate::{identity, time};
use clap_complete::ArgValueCompleter;
use sayso_core::{Actor, CommandExit, TaskId};
use sayso_engine::{CompletionOutcome, Desk};
use sayso_server::wire;

/// Close a task.
///
/// When an agent closes a task that requires a person's say-so, the gate opens instead: it is not closed yet,
/// and the exit code is 12. A task that waits for a person can be closed by a person only: that withdraws
/// what it waits for.
#[derive(clap::Args)]
pub(crate) struct CloseArgs {
    /// The ID of the task.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    id: String,
    /// The reason, as it is recorded.
    #[arg(value_name = "REASON")]
    reason: Vec<String>,
    /// Close what is under it, too.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: CloseArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let id = desk.find_task(&args.id)?;
    let reason = context.words(&args.reason)?;
    let completed = close(context, &desk, &actor, id, &reason, args.force)?;
    report(context, &desk, &completed, "closed")
}

/// Prints the outcome. If a person is asked first, nothing is closed, and the exit code stops scripts that continue
/// only on success.
pub(super) fn report(
    context: &CliContext<'_>,
    desk: &Desk,
    completed: &CompletionOutcome,
    what: &str,
) -> Result<CommandExit> {
    let (task, gate) = match completed {
        CompletionOutcome::Closed(task) => {
            return shared::report_task(context, desk, task.id, what);
        }
        CompletionOutcome::Waits(task, gate) => (task, gate),
    };
    let out = context.out;
    if out.json {
        let row = desk.task(task.id)?;
        out.json(&wire::TaskJson::of(&row, &[(**gate).clone()], &time::rfc3339));
        return Ok(CommandExit::Held);
    }
    let (name, kind) = (out.paint(OutputStyle::Name, &task.handle), gate.opened.kind);
    let gate = gate.handle();
    out.message(&format!("{name} requires {kind} first: gate {gate} waits for a person"));
    Ok(CommandExit::Held)
}

/// Closes a task. If that amounts to a verdict, a person has to do it.
pub(super) fn close(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    id: TaskId,
    reason: &str,
    force: bool,
) -> Result<CompletionOutcome> {
    let actor = for_ending(context, desk, actor, id, force)?;
    Ok(desk.close_task(&actor, id, reason, force)?)
}

/// Requires a person if the task, or with `force` a task under it, waits for or requires a person.
pub(super) fn for_ending(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    id: TaskId,
    force: bool,
) -> Result<Actor> {
    let task = desk.task(id)?.task;
    let amounts_to_verdict = task.is_waiting() || task.requires.is_some() || force;
    identity::person_if(amounts_to_verdict, context, desk, actor)
}
