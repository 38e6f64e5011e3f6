//! `sayso wait`: wait for an answer.

use super::{ask, shared};
use crate::context::Context;
use crate::exit::Result;
use crate::when;
use clap_complete::ArgValueCompleter;
use sayso_core::Exit;
use std::time::Duration;

/// Wait for the answer to a gate, and print only that.
///
/// A gate that was answered before is handed over at once. Exit code 7: still open; 8: rejected; 11:
/// withdrawn, expired or replaced.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The gate, or the task that waits for it.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_ids))]
    id: String,
    /// Wait at most this long: 30s, 10m, 2h.
    #[arg(long, value_name = "TIME", value_parser = when::duration)]
    timeout: Option<Duration>,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down()?;
    let gate = desk.gate(desk.find_gate(&args.id)?)?;
    shared::check_may_read(&actor, &gate)?;
    ask::wait(context, &desk, &actor, &gate, args.timeout)
}
