//! `sayso notes`: lists the notes of a task.

use super::shared;
use crate::card;
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::{CliOutput, OutputStyle};
use crate::time;
use clap_complete::ArgValueCompleter;
use sayso_core::task::{TaskEvent, TaskNote};
use sayso_core::text::sanitize_line;
use sayso_core::{CommandExit, Timestamp};
use sayso_server::wire;

/// The notes of a task, oldest first.
#[derive(clap::Args)]
pub(crate) struct NotesArgs {
    /// The ID of the task.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    id: String,
}

pub(crate) fn run(args: NotesArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, _) = context.open_read_only()?;
    let history = desk.history(desk.find_task(&args.id)?)?;
    let out = context.out;
    if out.json {
        out.json(&wire::NoteJson::all(&history, &time::rfc3339));
        return Ok(CommandExit::Ok);
    }
    for (at, event) in &history {
        if let TaskEvent::Noted(note) = event {
            print(out, *at, note, desk.now());
        }
    }
    Ok(CommandExit::Ok)
}

/// Prints a note: author, time, text.
pub(super) fn print(out: &CliOutput, at: Timestamp, note: &TaskNote, now: Timestamp) {
    let author = sanitize_line(&note.author);
    let head = format!("{author} ({}), {}", note.role.as_str(), time::relative(at, now));
    out.line(&out.paint(OutputStyle::Faint, &format!("  {head}")));
    card::indented(out, &note.text, "    ").iter().for_each(|line| out.line(line));
}
