//! `sayso create`: creates a task.

use super::shared;
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use crate::time;
use clap_complete::ArgValueCompleter;
use sayso_core::{CommandExit, GateKind, TaskId};
use sayso_engine::NewTask;
use sayso_server::wire;

/// Create a task.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso create \"Fix the login page\" -p 1 --label web
  sayso create \"Migrate the data\" --requires approval   an agent cannot close it alone
  sayso create \"Order the keys\" --awaiting work         a person has to do it
  sayso create \"Write the tests\" --parent t7k2 --blocked-by t9qx")]
pub(crate) struct CreateArgs {
    /// The title: the work to do, in a line.
    #[arg(value_name = "TITLE")]
    title: String,
    /// The work to do, at length; a dash reads it from standard input.
    #[arg(short, long, value_name = "TEXT")]
    description: Option<String>,
    /// From 0, at once, to 4, some day.
    #[arg(short, long, value_name = "P", value_parser = shared::priority, default_value = "2")]
    priority: u8,
    /// The type of work: task, bug, feature, chore, epic, or a word of your own.
    #[arg(short = 't', long = "type", value_name = "TYPE", default_value = "task")]
    sort: String,
    /// The size, such as small, medium, large.
    #[arg(long, value_name = "SIZE")]
    size: Option<String>,
    /// A word to find it by; may be given several times.
    #[arg(short, long, value_name = "LABEL")]
    label: Vec<String>,
    /// The epic it is part of.
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    parent: Option<String>,
    /// The tasks that must be closed before it; several are separated by commas.
    #[arg(long, value_name = "IDS", add = ArgValueCompleter::new(shared::live_tasks))]
    blocked_by: Vec<String>,
    /// It waits for a person from the start: work, approval, input, review, …
    #[arg(long, value_name = "KIND")]
    awaiting: Option<String>,
    /// The gate that opens when an agent says it is complete: approval, review or content.
    #[arg(long, value_name = "KIND")]
    requires: Option<String>,
    /// The old name of --awaiting work.
    #[arg(long, conflicts_with = "awaiting")]
    manual: bool,
    /// A ULID of your own: creating again with it is the same task.
    #[arg(long, value_name = "ULID")]
    id: Option<TaskId>,
}

pub(crate) fn run(args: CreateArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let out = context.out;
    if args.manual {
        out.remark("note: --manual is now --awaiting work");
    }
    let awaiting = match (&args.awaiting, args.manual) {
        (Some(typed), _) => Some(shared::kind(typed)?),
        (None, true) => Some(GateKind::Work),
        (None, false) => None,
    };
    let new = NewTask {
        id: args.id.unwrap_or_else(|| desk.new_task_id()),
        title: args.title,
        body: args.description.map(|text| context.text(&text)).transpose()?.unwrap_or_default(),
        sort: args.sort,
        priority: args.priority,
        size: args.size,
        labels: args.label.into_iter().collect(),
        parent: args.parent.map(|typed| desk.find_task(&typed)).transpose()?,
        blocked_by: shared::tasks(&desk, &args.blocked_by)?.into_iter().collect(),
        requires: args.requires.as_deref().map(shared::kind).transpose()?,
        awaiting: awaiting.map(|kind| (desk.new_gate_id(), kind)),
    };
    let task = desk.create_task(&actor, new)?;
    if out.json {
        let row = desk.task(task.id)?;
        let gates = shared::open_gates_of(&desk, &actor, &row)?;
        out.json(&wire::TaskJson::of(&row, &gates, &time::rfc3339));
        return Ok(CommandExit::Ok);
    }
    out.line(&task.handle);
    if task.is_waiting() {
        out.remark(&format!("{} waits for a person", out.paint(OutputStyle::Name, &task.handle)));
    }
    Ok(CommandExit::Ok)
}
