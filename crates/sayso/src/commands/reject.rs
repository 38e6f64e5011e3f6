//! `sayso reject`: rejects a gate.

use super::shared::{self, GateArgs};
use crate::context::CliContext;
use crate::exit::Result;
use sayso_core::{Answer, CommandExit};

/// Say no to a gate, or to the task that waits for one.
///
/// The feedback reaches the agent. A rejected question or escalation closes its task: it cannot or
/// shall not be done.
#[derive(clap::Args)]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    which: GateArgs,
    /// The mistake, and what to do instead.
    #[arg(value_name = "FEEDBACK")]
    feedback: Vec<String>,
    /// Stop the agent here and now, where its client can: for a call that shows it is on the wrong way.
    #[arg(long)]
    interrupt: bool,
}

pub(crate) fn run(args: RejectArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let feedback = context.words(&args.feedback)?;
    let reason = Some(feedback).filter(|text| !text.trim().is_empty());
    let interrupts = args.interrupt;
    let answer = Answer { interrupts, ..Answer::rejected(reason) };
    shared::answer(context, &args.which, |_| Ok(answer.clone()))
}
