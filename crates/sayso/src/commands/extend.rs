//! `sayso extend`: give a gate more time.

use super::shared;
use crate::context::Context;
use crate::exit::Result;
use crate::when;
use clap_complete::ArgValueCompleter;
use sayso_core::Exit;

/// Give a gate more time before it ends by itself.
///
/// Those who are asked may; whoever asks may not, since they would never have to hear a no.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso extend g7k2 2h          two hours from now
  sayso extend g7k2 2026-12-24")]
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
    let gate = desk.extend(&actor, desk.find_gate(&args.id)?, until)?;
    shared::report_waiting(context, &gate, &format!("has time until {}", when::local(until)))
}
