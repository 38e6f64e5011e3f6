//! `sayso snooze`: put a gate off.

use super::shared;
use crate::context::Context;
use crate::exit::Result;
use crate::when;
use clap_complete::ArgValueCompleter;
use sayso_core::Exit;

/// Put a gate off: it leaves the inbox until then, and comes back by itself.
///
/// It stays open, anybody may still answer it, and its deadline does not move: see `extend`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso snooze g7k2 2h
  sayso snooze g7k2 tomorrow")]
pub(crate) struct Args {
    /// The gate, or the task that waits for it.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::open_gates))]
    id: String,
    /// Until then: 2h, 3d, tomorrow, 2026-12-24 or 2026-12-24T18:00.
    #[arg(value_name = "TIME")]
    until: String,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down_as_person()?;
    let until = when::moment(&args.until, desk.now())?;
    let gate = desk.snooze(&actor, desk.find_gate(&args.id)?, until)?;
    shared::report_waiting(context, &gate, &format!("comes back {}", when::local(until)))
}
