//! `sayso reject`: rejects a gate.

use super::shared::{self, Which};
use crate::context::Context;
use crate::exit::Result;
use sayso_core::{Answer, Exit};

/// Say no to a gate, or to the task that waits for one.
///
/// The feedback reaches the agent. A rejected question or escalation closes its task: it cannot or
/// shall not be done.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// The mistake, and what to do instead.
    #[arg(value_name = "FEEDBACK")]
    feedback: Vec<String>,
    /// Stop the agent here and now, where its client can: for a call that shows it is on the wrong way.
    #[arg(long)]
    interrupt: bool,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let feedback = context.words(&args.feedback)?;
    let reason = Some(feedback).filter(|text| !text.trim().is_empty());
    let interrupts = args.interrupt;
    let answer = Answer { interrupts, ..Answer::rejected(reason) };
    shared::answer(context, &args.which, |_| Ok(answer.clone()))
}
