//! `sayso close`: closes a task.

use super::shared;
use crate::context::Context;
use crate::exit::Result;
use crate::out::Look;
use crate::{when, who};
use clap_complete::ArgValueCompleter;
use sayso_core::{Actor, Exit, TaskId};
use sayso_engine::{Completed, Desk};
use sayso_server::wire;

/// Close a task.
///
/// When an agent closes a task that requires a person's say-so, the gate opens instead: it is not closed yet,
/// and the exit code is 12. A task that waits for a person can be closed by a person only: that withdraws
/// what it waits for.
#[derive(clap::Args)]
pub(crate) struct Args {
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

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down()?;
    let id = desk.find_task(&args.id)?;
    let reason = context.words(&args.reason)?;
    let completed = close(context, &desk, &actor, id, &reason, args.force)?;
    report(context, &desk, &completed, "closed")
}

/// Prints the outcome. If a person is asked first, nothing is closed, and the exit code stops scripts that continue
/// only on success.
pub(super) fn report(
    context: &Context<'_>,
    desk: &Desk,
    completed: &Completed,
    what: &str,
) -> Result<Exit> {
    let (task, gate) = match completed {
        Completed::Closed(task) => return shared::report_task(context, desk, task.id, what),
        Completed::Waits(task, gate) => (task, gate),
    };
    let out = context.out;
    if out.json {
        let row = desk.task(task.id)?;
        out.json(&wire::Task::of(&row, &[(**gate).clone()], &when::rfc3339));
        return Ok(Exit::Held);
    }
    let (name, kind) = (out.paint(Look::Name, &task.handle), gate.opened.kind);
    let gate = gate.handle();
    out.talk(&format!("{name} requires {kind} first: gate {gate} waits for a person"));
    Ok(Exit::Held)
}

/// Closes a task. If that amounts to a verdict, a person has to do it.
pub(super) fn close(
    context: &Context<'_>,
    desk: &Desk,
    actor: &Actor,
    id: TaskId,
    reason: &str,
    force: bool,
) -> Result<Completed> {
    let actor = for_ending(context, desk, actor, id, force)?;
    Ok(desk.close_task(&actor, id, reason, force)?)
}

/// Requires a person if the task, or with `force` a task under it, waits for or requires a person.
pub(super) fn for_ending(
    context: &Context<'_>,
    desk: &Desk,
    actor: &Actor,
    id: TaskId,
    force: bool,
) -> Result<Actor> {
    let task = desk.task(id)?.task;
    let amounts_to_verdict = task.is_waiting() || task.requires.is_some() || force;
    who::person_if(amounts_to_verdict, context, desk, actor)
}
