//! `sayso note`: writes a note on a task.

use super::shared;
use crate::context::CliContext;
use crate::exit::Result;
use crate::identity;
use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use sayso_core::{CommandExit, Role};

/// Write a note on a task.
///
/// The author comes from the credential. A person may write down what an agent said; no other author can
/// write as a person.
#[derive(clap::Args)]
pub(crate) struct NoteArgs {
    /// The ID of the task.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    id: String,
    /// The text; a dash reads it from standard input.
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    /// The author of the note. `human` needs a person at the terminal.
    #[arg(long, value_name = "WHO")]
    from: Option<NoteAuthor>,
}

#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
enum NoteAuthor {
    Agent,
    Human,
}

pub(crate) fn run(args: NoteArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let id = desk.find_task(&args.id)?;
    // A note in a person's name needs the same proof of a person as a verdict.
    let as_person = args.from == Some(NoteAuthor::Human)
        || (actor.role == Role::Human && args.from != Some(NoteAuthor::Agent));
    let actor = if as_person { person(context, &desk)? } else { actor };
    let text = context.words(&args.text)?;
    desk.note(&actor, id, &text, args.from == Some(NoteAuthor::Agent))?;
    shared::report_task(context, &desk, id, "noted")
}

fn person(context: &CliContext<'_>, desk: &sayso_engine::Desk) -> Result<sayso_core::Actor> {
    let actor = identity::person(context, desk)?;
    identity::check_may_answer(desk, &actor, "write a note as a person")?;
    Ok(actor)
}
