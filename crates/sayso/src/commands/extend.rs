//! `sayso extend`: moves the deadline of a gate.

use super::shared::{self, GateUntilArgs};
use crate::context::CliContext;
use crate::exit::Result;
use crate::time;
use sayso_core::CommandExit;

/// Give a gate more time before it ends by itself.
///
/// Those who are asked may; the asker may not, since they would never have to hear a no.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso extend g7k2 2h          two hours from now
  sayso extend g7k2 2026-12-24")]
pub(crate) struct ExtendArgs {
    #[command(flatten)]
    gate: GateUntilArgs,
}

pub(crate) fn run(args: ExtendArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_as_person()?;
    let (id, until) = args.gate.find(&desk)?;
    let gate = desk.extend(&actor, id, until)?;
    shared::report_waiting(context, &gate, &format!("has time until {}", time::local(until)))
}
