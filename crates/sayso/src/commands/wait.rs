//! `sayso wait`: waits for an answer.

use super::{ask, shared};
use crate::context::CliContext;
use crate::exit::Result;
use crate::time;
use clap_complete::ArgValueCompleter;
use sayso_core::{Actor, Code, CommandExit, GateId};
use sayso_engine::{Desk, NameMatch};
use std::time::Duration;

/// Wait for the answer to a gate, and print only that.
///
/// A gate that was answered before is handed over at once. Exit code 7: still open; 8: rejected; 11:
/// withdrawn, expired or replaced.
#[derive(clap::Args)]
pub(crate) struct WaitArgs {
    /// The gate, or the task that waits for it.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_ids))]
    id: String,
    /// Wait at most this long: 30s, 10m, 2h.
    #[arg(long, value_name = "TIME", value_parser = time::duration)]
    timeout: Option<Duration>,
}

pub(crate) fn run(args: WaitArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_read_only()?;
    let gate = desk.gate_for(&actor, asked(&desk, &actor, &args.id)?)?;
    ask::wait(context, &desk, &actor, &gate, args.timeout)
}

/// Finds the gate. A task that waits no more stands for the last gate it waited for: the answer may have come before
/// its asker could wait for it.
fn asked(desk: &Desk, actor: &Actor, typed: &str) -> Result<GateId> {
    match desk.find_gate(typed) {
        Err(refusal) if refusal.code() == Code::NotWaiting => {
            let NameMatch::Task(task) = desk.find(typed)? else { return Err(refusal.into()) };
            let last = shared::gates_of(desk, actor, task)?.pop();
            Ok(last.ok_or(refusal)?.opened.id)
        }
        outcome => Ok(outcome?),
    }
}
