//! `sayso approve`: say yes.

use super::shared::{self, Which};
use crate::context::Context;
use crate::exit::Result;
use sayso_core::{Answer, Exit};

/// Say yes to a gate, or to the task that waits for one.
///
/// What it leads to depends on the kind: approved work closes its task, an approved checkpoint sends
/// the agent to the next phase. A question needs an answer: use `respond` or `choose`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Something to say with it.
    #[arg(value_name = "NOTE")]
    note: Vec<String>,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let note = context.words(&args.note)?;
    let reason = Some(note).filter(|note| !note.trim().is_empty());
    shared::answer(context, &args.which, |_| Ok(Answer { reason, ..Answer::approved() }))
}
