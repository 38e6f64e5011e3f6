//! `sayso done`: reports manual work as done.

use super::shared::{self, GateArgs};
use crate::card;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use sayso_core::{Answer, Code, CommandExit, GateKind};

/// Say that work by hand is done; the task closes.
#[derive(clap::Args)]
pub(crate) struct DoneArgs {
    #[command(flatten)]
    which: GateArgs,
    /// A note on the work that was done.
    #[arg(value_name = "NOTE")]
    note: Vec<String>,
}

pub(crate) fn run(args: DoneArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let note = context.words(&args.note)?;
    let reason = Some(note).filter(|note| !note.trim().is_empty());
    shared::answer(context, &args.which, |gate| {
        if gate.opened.kind != GateKind::Work {
            let kind = gate.opened.kind;
            return Err(Failure::new(
                Code::WrongAnswer,
                format!("gate {} is {kind}, not work to be done by hand", gate.handle()),
            )
            .hint(card::how_to_answer(gate).join(", or ")));
        }
        Ok(Answer { reason: reason.clone(), ..Answer::approved() })
    })
}
