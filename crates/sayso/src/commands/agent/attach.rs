//! `sayso agent attach`: attaches the terminal to an agent's tmux session.

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use clap_complete::ArgValueCompleter;
use sayso_core::{Code, CommandExit};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Look at an agent in tmux, and type to it. Ctrl+B, then D, lets go of it; the agent runs on.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso agent attach fixer")]
pub(crate) struct AgentAttachArgs {
    /// The name of the agent.
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(super::names))]
    name: String,
}

pub(crate) fn run(args: AgentAttachArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor, keeper) = super::open_with_supervisor(context)?;
    let words = desk.attach(&actor, &keeper, &args.name)?;
    let (program, rest) = words.split_first().ok_or_else(|| no_screen(&args.name))?;
    // Within another session tmux would refuse.
    let error = Command::new(program).args(rest).env_remove("TMUX").exec();
    Err(Failure::new(Code::Failure, format!("{program} cannot be run: {error}")))
}

fn no_screen(name: &str) -> Failure {
    Failure::new(Code::WrongState, format!("{name} runs without a screen"))
        .hint(format!("read what it wrote with: sayso agent logs {name}"))
}
