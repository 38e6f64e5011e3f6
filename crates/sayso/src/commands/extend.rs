//! `sayso extend`: moves the deadline of a gate.

use super::shared::{self, GateUntil};
use crate::context::Context;
use crate::exit::Result;
use crate::when;
use sayso_core::Exit;

/// Give a gate more time before it ends by itself.
///
/// Those who are asked may; the asker may not, since they would never have to hear a no.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso extend g7k2 2h          two hours from now
  sayso extend g7k2 2026-12-24")]
pub(crate) struct Args {
    #[command(flatten)]
    gate: GateUntil,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down_as_person()?;
    let (id, until) = args.gate.find(&desk)?;
    let gate = desk.extend(&actor, id, until)?;
    shared::report_waiting(context, &gate, &format!("has time until {}", when::local(until)))
}
