//! `sayso notes`: lists the notes of a task.

use super::shared;
use crate::card;
use crate::context::Context;
use crate::exit::Result;
use crate::out::{Look, Out};
use crate::when;
use clap_complete::ArgValueCompleter;
use sayso_core::task::{Event, Note};
use sayso_core::text::harmless_line;
use sayso_core::{Exit, Timestamp};
use sayso_server::wire;

/// The notes of a task, oldest first.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The ID of the task.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    id: String,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, _) = context.sit_down_to_look()?;
    let history = desk.history(desk.find_task(&args.id)?)?;
    let out = context.out;
    if out.json {
        out.json(&wire::Note::all(&history, &when::rfc3339));
        return Ok(Exit::Ok);
    }
    for (at, event) in &history {
        if let Event::Noted(note) = event {
            print(out, *at, note, desk.now());
        }
    }
    Ok(Exit::Ok)
}

/// Prints a note: author, time, text.
pub(super) fn print(out: &Out, at: Timestamp, note: &Note, now: Timestamp) {
    let author = harmless_line(&note.author);
    let head = format!("{author} ({}), {}", note.role.as_str(), when::relative(at, now));
    out.line(&out.paint(Look::Faint, &format!("  {head}")));
    card::indented(out, &note.text, "    ").iter().for_each(|line| out.line(line));
}
