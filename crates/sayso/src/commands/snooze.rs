//! `sayso snooze`: snoozes a gate.

use super::shared::{self, GateUntilArgs};
use crate::context::CliContext;
use crate::exit::Result;
use crate::time;
use sayso_core::CommandExit;

/// Put a gate off: it leaves the inbox until then, and comes back by itself.
///
/// It stays open, its approvers may still answer it, and its deadline does not move: see `extend`. Until then it is
/// in `sayso inbox --all`, and `now` brings it back.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso snooze g7k2 2h
  sayso snooze g7k2 tomorrow
  sayso snooze g7k2 now          bring it back")]
pub(crate) struct SnoozeArgs {
    #[command(flatten)]
    gate: GateUntilArgs,
}

pub(crate) fn run(args: SnoozeArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_as_person()?;
    let (id, until) = args.gate.find(&desk)?;
    let gate = desk.snooze(&actor, id, until)?;
    let outlook = match gate.snoozed_until {
        Some(until) => format!("comes back {}", time::local(until)),
        None => "is back".into(),
    };
    shared::report_waiting(context, &gate, &outlook)
}
