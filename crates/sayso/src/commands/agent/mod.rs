//! `sayso agent`: manages long-running agents.

mod attach;
mod delete;
mod ignition;
mod lifecycle;
pub(crate) mod list;
mod logs;
mod nudge;

pub(super) use sayso_server::wire::pending_action_text;

use super::shared;
use crate::context::CliContext;
use crate::exit::Result;
use crate::{config, work};
use clap::Subcommand;
use clap_complete::CompletionCandidate;
use sayso_core::gate::{Gate, LifecycleAction};
use sayso_core::text::sanitize_line;
use sayso_core::{Actor, Code, CommandExit, Role};
use sayso_engine::{AgentSupervisor, Desk};
use std::ffi::OsStr;

/// Agents that live long: spawn, restart and stop them, look at them, nudge them.
///
/// Agents are set in a fleet file (`sayso apply`). What a person does at their own terminal is done at
/// once; of what an agent or a script wants, the policy has its say (`on: lifecycle`). What a person is
/// asked about first ends with exit code 12 and names the gate; the approval lets it be done, once, on the
/// machine it is for. There is no daemon: the next sayso that runs there does it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso agent list
  sayso agent spawn fixer
  sayso agent spawn fixer --reason 'three tests fail' --wait
  sayso agent attach fixer
  sayso agent stop fixer")]
pub(crate) struct AgentCommandArgs {
    #[command(subcommand)]
    verb: AgentCommand,
}

#[derive(Subcommand)]
enum AgentCommand {
    /// The agents there are, and how they stand.
    List(list::AgentListArgs),
    /// Start an agent.
    #[command(after_help = lifecycle::SPAWN)]
    Spawn(lifecycle::AgentLifecycleArgs),
    /// End an agent and start it anew.
    #[command(after_help = lifecycle::RESTART)]
    Restart(lifecycle::AgentLifecycleArgs),
    /// End an agent, with everything it started.
    #[command(after_help = lifecycle::STOP)]
    Stop(lifecycle::AgentLifecycleArgs),
    /// Show an agent's output.
    Logs(logs::AgentLogsArgs),
    /// Look at an agent in tmux, and type to it.
    Attach(attach::AgentAttachArgs),
    /// Type a line to an agent in tmux, at its empty prompt.
    Nudge(nudge::AgentNudgeArgs),
    /// Print what an agent is told at its start.
    Ignition(ignition::AgentIgnitionArgs),
    /// Take an agent away.
    Delete(delete::AgentDeleteArgs),
}

pub(crate) fn run(args: AgentCommandArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    match args.verb {
        AgentCommand::List(args) => list::run(args, context),
        AgentCommand::Spawn(args) => lifecycle::run(args, LifecycleAction::Spawn, context),
        AgentCommand::Restart(args) => lifecycle::run(args, LifecycleAction::Restart, context),
        AgentCommand::Stop(args) => lifecycle::run(args, LifecycleAction::Stop, context),
        AgentCommand::Logs(args) => logs::run(args, context),
        AgentCommand::Attach(args) => attach::run(args, context),
        AgentCommand::Nudge(args) => nudge::run(args, context),
        AgentCommand::Ignition(args) => ignition::run(args, context),
        AgentCommand::Delete(args) => delete::run(args, context),
    }
}

/// Opens the desk with the caller and the supervisor of this machine, and carries out pending orders.
fn open_with_supervisor(context: &CliContext<'_>) -> Result<(Desk, Actor, AgentSupervisor)> {
    let (desk, actor) = context.open()?;
    let keeper = supervisor(context, &actor)?;
    match desk.carry_out(&keeper) {
        // A read-only store may still be read.
        Err(error) if error.code() != Code::ReadOnly => Err(error.into()),
        _ => Ok((desk, actor, keeper)),
    }
}

fn supervisor(context: &CliContext<'_>, actor: &Actor) -> Result<AgentSupervisor> {
    let keeper = work::supervisor(context, &config::locate(&context.globals)?)?;
    let asker = (actor.role == Role::Agent).then(|| actor.name.clone());
    Ok(AgentSupervisor { asker, ..keeper })
}

/// Carries out an approved order, if it is for this machine. The approval counts, also if this fails.
pub(super) fn carry_out(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    gate: Gate,
) -> Result<Gate> {
    if !gate.is_to_be_done() {
        return Ok(gate);
    }
    let carried = supervisor(context, actor).and_then(|keeper| Ok(desk.carry_out(&keeper)?));
    if let Err(failure) = carried {
        context.out.remark(&format!("not done yet: {}", sanitize_line(&failure.message)));
    }
    Ok(desk.gate(gate.opened.id)?)
}

/// Nudges agents of this machine for which there are messages. The messages are kept in any case, and so is a nudge
/// that fails.
pub(super) fn nudge(context: &CliContext<'_>, desk: &Desk, actor: &Actor) {
    if desk.has_nudges().unwrap_or(false)
        && let Ok(keeper) = supervisor(context, actor)
    {
        let _ = desk.carry_nudges(&keeper);
    }
}

/// Completes the names of agents.
fn names(typed: &OsStr) -> Vec<CompletionCandidate> {
    shared::candidates(typed, |desk, _| {
        let members = desk.members()?.into_iter();
        Ok(members.map(|member| (member.name, member.spec.program)).collect())
    })
}
