//! `sayso note`: writes a note on a task.

use super::shared;
use crate::context::Context;
use crate::exit::Result;
use crate::who;
use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use sayso_core::{Exit, Role};

/// Write a note on a task.
///
/// The author comes from the credential. A person may write down what an agent said; no other author can
/// write as a person.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The ID of the task.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    id: String,
    /// The text; a dash reads it from standard input.
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    /// The author of the note. `human` needs a person at the terminal.
    #[arg(long, value_name = "WHO")]
    from: Option<From>,
}

#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
enum From {
    Agent,
    Human,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down()?;
    let id = desk.find_task(&args.id)?;
    // A note in a person's name needs the same proof of a person as a verdict.
    let as_person = args.from == Some(From::Human)
        || (actor.role == Role::Human && args.from != Some(From::Agent));
    let actor = if as_person { person(context, &desk)? } else { actor };
    let text = context.words(&args.text)?;
    desk.note(&actor, id, &text, args.from == Some(From::Agent))?;
    shared::report_task(context, &desk, id, "noted")
}

fn person(context: &Context<'_>, desk: &sayso_engine::Desk) -> Result<sayso_core::Actor> {
    let actor = who::person(context, desk)?;
    who::check_may_answer(desk, &actor, "write a note as a person")?;
    Ok(actor)
}
