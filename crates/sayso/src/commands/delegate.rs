//! `sayso delegate`: lets another person answer.

use super::shared;
use crate::context::CliContext;
use crate::exit::Result;
use clap_complete::ArgValueCompleter;
use sayso_core::CommandExit;

/// Let another person answer a gate in your place.
///
/// Their answer counts as yours would, and is written down as theirs. A person who stands in for several
/// people is still one person: where two must agree, they are one of the two. For all gates, while you are
/// away: sayso away.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso delegate g7k2 --to bob
  sayso delegate g7k2 --to bob --reason \"he knows the importer\"")]
pub(crate) struct DelegateArgs {
    /// The gate, or the task that waits for it.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::open_gates))]
    id: String,
    /// The person who is to answer it.
    #[arg(long, value_name = "NAME")]
    to: String,
    /// The reason, as it is recorded.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

pub(crate) fn run(args: DelegateArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_as_person()?;
    let id = desk.find_gate(&args.id)?;
    let gate = desk.delegate(&actor, id, &args.to, &args.reason)?;
    shared::report_waiting(context, &gate, &format!("waits for {} in your place", args.to))
}
