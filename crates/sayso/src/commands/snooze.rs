//! `sayso snooze`: snoozes a gate.

use super::shared::{self, GateUntil};
use crate::context::Context;
use crate::exit::Result;
use crate::when;
use sayso_core::Exit;

/// Put a gate off: it leaves the inbox until then, and comes back by itself.
///
/// It stays open, its approvers may still answer it, and its deadline does not move: see `extend`. Until then it is
/// in `sayso inbox --all`, and `now` brings it back.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso snooze g7k2 2h
  sayso snooze g7k2 tomorrow
  sayso snooze g7k2 now          bring it back")]
pub(crate) struct Args {
    #[command(flatten)]
    gate: GateUntil,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down_as_person()?;
    let (id, until) = args.gate.find(&desk)?;
    let gate = desk.snooze(&actor, id, until)?;
    let outlook = match gate.snoozed_until {
        Some(until) => format!("comes back {}", when::local(until)),
        None => "is back".into(),
    };
    shared::report_waiting(context, &gate, &outlook)
}
