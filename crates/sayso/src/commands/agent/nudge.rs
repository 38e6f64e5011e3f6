//! `sayso agent nudge`: types a line into an agent's tmux session.

use crate::context::CliContext;
use crate::exit::Result;
use clap_complete::ArgValueCompleter;
use sayso_core::CommandExit;

/// Type a line to an agent in tmux, at its empty prompt.
///
/// For what has to reach it for sure, use `sayso tell`: that is kept until the agent has read it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso agent nudge fixer 'read your messages with: sayso messages'")]
pub(crate) struct AgentNudgeArgs {
    /// The name of the agent.
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(super::names))]
    name: String,
    /// The line to type.
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
}

pub(crate) fn run(args: AgentNudgeArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor, keeper) = super::open_with_supervisor(context)?;
    desk.nudge(&actor, &keeper, &args.name, &context.words(&args.text)?)?;
    context.out.remark(&format!("{} was nudged", args.name));
    Ok(CommandExit::Ok)
}
