//! `sayso agent ignition`: prints an agent's startup instructions.

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use clap_complete::ArgValueCompleter;
use sayso_core::{Actor, Code, CommandExit, Permission, Role};

/// Print what an agent is told at its start: how to ask, how much, which rules hold, how answers come.
///
/// Hooks tell it to Claude Code and Codex by themselves. For other agents, put it into what they read
/// first.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso agent ignition              what I am told, as an agent
  sayso agent ignition fixer        what fixer is told")]
pub(crate) struct AgentIgnitionArgs {
    /// The agent; without a name, the one whose token this is.
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(super::names))]
    name: Option<String>,
}

pub(crate) fn run(args: AgentIgnitionArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let agent = match args.name {
        Some(name) if name != actor.name => {
            actor
                .check(Permission::Read, "read what other agents are told")
                .map_err(Failure::from)?;
            Actor::new(Role::Agent, &name, actor.proof, actor.level, actor.door)
        }
        _ if actor.role == Role::Agent => actor,
        _ => {
            let message = "this is no agent: name the one to be told";
            return Err(Failure::new(Code::BadValue, message).hint("sayso agent ignition NAME"));
        }
    };
    context.out.line(desk.startup_instructions(&agent).trim_end());
    Ok(CommandExit::Ok)
}
