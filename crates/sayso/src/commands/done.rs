//! `sayso done`: reports manual work as done.

use super::shared::{self, Which};
use crate::card;
use crate::context::Context;
use crate::exit::{Failure, Result};
use sayso_core::{Answer, Code, Exit, Kind};

/// Say that work by hand is done; the task closes.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// A note on the work that was done.
    #[arg(value_name = "NOTE")]
    note: Vec<String>,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let note = context.words(&args.note)?;
    let reason = Some(note).filter(|note| !note.trim().is_empty());
    shared::answer(context, &args.which, |gate| {
        if gate.opened.kind != Kind::Work {
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
