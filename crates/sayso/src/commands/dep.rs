//! `sayso dep`: dependencies between tasks.

use super::shared;
use crate::context::CliContext;
use crate::exit::Result;
use clap::Subcommand;
use clap_complete::ArgValueCompleter;
use sayso_core::CommandExit;

/// Let a task wait for another, or no more.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso dep add t7k2 t9qx       t7k2 waits until t9qx is closed
  sayso dep remove t7k2 t9qx")]
pub(crate) struct DepArgs {
    #[command(subcommand)]
    verb: DepCommand,
}

#[derive(Subcommand)]
enum DepCommand {
    /// Let TASK wait until ON is closed.
    Add(DependencyPair),
    /// Let TASK wait no more for ON.
    #[command(alias = "rm")]
    Remove(DependencyPair),
}

#[derive(clap::Args)]
struct DependencyPair {
    /// The task that waits.
    #[arg(value_name = "TASK", add = ArgValueCompleter::new(shared::live_tasks))]
    task: String,
    /// The task it waits for.
    #[arg(value_name = "ON", add = ArgValueCompleter::new(shared::live_tasks))]
    on: String,
}

pub(crate) fn run(args: DepArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let (DepCommand::Add(pair) | DepCommand::Remove(pair)) = &args.verb;
    let (id, on) = (desk.find_task(&pair.task)?, desk.find_task(&pair.on)?);
    let other = desk.task(on)?.task.handle;
    match &args.verb {
        DepCommand::Add(_) => {
            desk.add_dependency(&actor, id, on)?;
            shared::report_task(context, &desk, id, &format!("waits for {other}"))
        }
        DepCommand::Remove(_) => {
            desk.remove_dependency(&actor, id, on)?;
            shared::report_task(context, &desk, id, &format!("no longer waits for {other}"))
        }
    }
}
