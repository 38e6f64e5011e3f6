//! `sayso claim`: claims a gate.

use super::shared;
use crate::context::CliContext;
use crate::exit::Result;
use crate::time;
use clap_complete::ArgValueCompleter;
use sayso_core::CommandExit;

/// Say that you are on it, so that others do not begin to look at the same gate.
///
/// Others can still answer: a claim tells them that you are on it, and ends by itself.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso claim g7k2
  sayso claim g7k2 --until 2h
  sayso claim g7k2 --release")]
pub(crate) struct ClaimArgs {
    /// The gate, or the task that waits for it.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::open_gates))]
    id: String,
    /// Until then: 2h, tomorrow, 2026-12-24T18:00.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    until: String,
    /// Say that you are not on it any more.
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(args: ClaimArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_as_person()?;
    let id = desk.find_gate(&args.id)?;
    if args.release {
        let gate = desk.release(&actor, id)?;
        return shared::report_waiting(context, &gate, "is nobody's any more");
    }
    let until = time::moment(&args.until, desk.now())?;
    let gate = desk.claim(&actor, id, until)?;
    shared::report_waiting(context, &gate, &format!("is yours until {}", time::local(until)))
}
