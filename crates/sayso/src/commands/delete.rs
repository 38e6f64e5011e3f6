//! `sayso delete`: deletes a task or the space.

use super::{close, shared};
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use clap_complete::ArgValueCompleter;
use sayso_core::CommandExit;

/// Delete a task, or the space.
///
/// What waits on it is withdrawn and the asker is told. The log and the audit stay.
#[derive(clap::Args)]
pub(crate) struct DeleteArgs {
    /// The ID of the task.
    #[arg(value_name = "ID", required_unless_present = "whole_space", add = ArgValueCompleter::new(shared::live_tasks))]
    id: Option<String>,
    /// The reason, as it is recorded.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    /// Delete what is under it, too.
    #[arg(long)]
    force: bool,
    /// Delete the whole space; its name has to be given.
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    whole_space: Option<String>,
}

/// The deleted space, for `--json`.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Deleted")]
pub(crate) struct DeletedSpace {
    /// The name of the space.
    space: String,
    /// The number of open gates that were withdrawn.
    withdrawn: usize,
}

pub(crate) fn run(args: DeleteArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    if let Some(name) = &args.whole_space {
        return delete_space(context, name, &args.reason);
    }
    let (desk, actor) = context.open()?;
    let id = desk.find_task(args.id.as_deref().unwrap_or_default())?;
    let actor = close::for_ending(context, &desk, &actor, id, args.force)?;
    desk.delete_task(&actor, id, &args.reason, args.force)?;
    shared::report_task(context, &desk, id, "deleted; its history stays")
}

fn delete_space(context: &CliContext<'_>, name: &str, reason: &str) -> Result<CommandExit> {
    let (desk, actor) = context.open_as_person()?;
    if desk.space_name() != name {
        return Err(crate::exit::Failure::new(
            sayso_core::Code::BadValue,
            format!("this space is called {:?}, not {name:?}", desk.space_name()),
        ));
    }
    let withdrawn = desk.delete_space(&actor, reason)?;
    let out = context.out;
    if out.json {
        out.json(&DeletedSpace { space: name.into(), withdrawn });
        return Ok(CommandExit::Ok);
    }
    let name = out.paint(OutputStyle::Name, name);
    out.line(&format!("space {name} is deleted; {withdrawn} open gates were withdrawn"));
    Ok(CommandExit::Ok)
}
