//! `sayso list`: lists tasks.

use super::shared::{self, PagingArgs};
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use clap_complete::ArgValueCompleter;
use sayso_core::{Code, CommandExit};
use sayso_engine::TaskFilter;

/// Tasks, by priority and then by age; those that are closed are left out unless asked for.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso list
  sayso list --awaiting                 what waits for a person, with the question
  sayso list --awaiting input,review    only for these
  sayso list --status closed --label web")]
pub(crate) struct ListArgs {
    /// Only those that wait for a person; with KINDS, separated by commas, only for these.
    #[arg(long, value_name = "KINDS", num_args = 0..=1, default_missing_value = "all")]
    awaiting: Option<String>,
    /// Only those with this status; several are separated by commas.
    #[arg(short, long, value_name = "STATUS")]
    status: Option<String>,
    /// Show closed ones, too.
    #[arg(short, long)]
    all: bool,
    /// Only those that wait for other tasks.
    #[arg(long)]
    blocked: bool,
    /// Only those with this label.
    #[arg(short, long, value_name = "LABEL")]
    label: Option<String>,
    /// Only those of this type.
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    sort: Option<String>,
    /// Only those with this priority.
    #[arg(short, long, value_name = "P", value_parser = shared::priority)]
    priority: Option<u8>,
    /// Only the parts of this epic.
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(shared::live_tasks))]
    parent: Option<String>,
    #[command(flatten)]
    paging: PagingArgs,
}

pub(crate) fn run(args: ListArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let typed = args.status.as_deref().unwrap_or_default();
    let words = typed.split(',').map(str::trim).filter(|word| !word.is_empty());
    let statuses =
        words.map(|word| word.parse().map_err(|e: String| Failure::new(Code::BadValue, e)));
    let with_questions = args.awaiting.is_some();
    let filter = TaskFilter {
        statuses: statuses.collect::<Result<_>>()?,
        all: args.all,
        awaiting: args.awaiting.as_deref().map(shared::kinds).transpose()?,
        blocked: args.blocked,
        label: args.label,
        sort: args.sort,
        priority: args.priority,
        parent: args.parent.map(|typed| desk.find_task(&typed)).transpose()?,
        after: args.paging.after.map(|typed| desk.find_task(&typed)).transpose()?,
        limit: args.paging.limit,
        ..TaskFilter::default()
    };
    let empty = if with_questions { "no task waits for a person" } else { "no tasks" };
    shared::print_tasks(context, &desk, &actor, &filter, with_questions, empty)
}
