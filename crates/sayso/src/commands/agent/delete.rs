//! `sayso agent delete`: deletes an agent.

use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use clap_complete::ArgValueCompleter;
use sayso_core::CommandExit;

/// Take an agent away. What it asked, and what was asked about it, is withdrawn; its tokens end.
///
/// One that runs has to be stopped first. The log and the audit stay.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso agent delete fixer --reason 'the project is over'")]
pub(crate) struct AgentDeleteArgs {
    /// The name of the agent.
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(super::names))]
    name: String,
    /// The reason, as it is recorded.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    /// Also if it runs, on a machine that is gone for good. Nothing is stopped there.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: AgentDeleteArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_as_person()?;
    desk.delete_agent(&actor, &args.name, &args.reason, args.force)?;
    let out = context.out;
    let name = out.paint(OutputStyle::Name, &args.name);
    out.remark(&format!("agent {name} is deleted; its history stays"));
    Ok(CommandExit::Ok)
}
