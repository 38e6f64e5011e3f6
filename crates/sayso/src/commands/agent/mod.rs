//! `sayso agent`: manages long-running agents.

mod act;
mod attach;
mod delete;
mod ignition;
pub(crate) mod list;
mod logs;
mod nudge;

pub(super) use sayso_server::wire::outlook;

use super::shared;
use crate::context::Context;
use crate::exit::Result;
use crate::{config, work};
use clap::Subcommand;
use clap_complete::CompletionCandidate;
use sayso_core::gate::{Action, Gate};
use sayso_core::text::harmless_line;
use sayso_core::{Actor, Code, Exit, Role};
use sayso_engine::{Desk, Keeper};
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
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// The agents there are, and how they stand.
    List(list::Args),
    /// Start an agent.
    #[command(after_help = act::SPAWN)]
    Spawn(act::Args),
    /// End an agent and start it anew.
    #[command(after_help = act::RESTART)]
    Restart(act::Args),
    /// End an agent, with everything it started.
    #[command(after_help = act::STOP)]
    Stop(act::Args),
    /// Show an agent's output.
    Logs(logs::Args),
    /// Look at an agent in tmux, and type to it.
    Attach(attach::Args),
    /// Type a line to an agent in tmux, at its empty prompt.
    Nudge(nudge::Args),
    /// Print what an agent is told at its start.
    Ignition(ignition::Args),
    /// Take an agent away.
    Delete(delete::Args),
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    match args.verb {
        Verb::List(args) => list::run(args, context),
        Verb::Spawn(args) => act::run(args, Action::Spawn, context),
        Verb::Restart(args) => act::run(args, Action::Restart, context),
        Verb::Stop(args) => act::run(args, Action::Stop, context),
        Verb::Logs(args) => logs::run(args, context),
        Verb::Attach(args) => attach::run(args, context),
        Verb::Nudge(args) => nudge::run(args, context),
        Verb::Ignition(args) => ignition::run(args, context),
        Verb::Delete(args) => delete::run(args, context),
    }
}

/// Opens the desk with the caller and the supervisor of this machine, and carries out pending orders.
fn sit_down(context: &Context<'_>) -> Result<(Desk, Actor, Keeper)> {
    let (desk, actor) = context.sit_down()?;
    let keeper = keeper(context, &actor)?;
    match desk.carry_out(&keeper) {
        // A read-only store may still be read.
        Err(error) if error.code() != Code::ReadOnly => Err(error.into()),
        _ => Ok((desk, actor, keeper)),
    }
}

fn keeper(context: &Context<'_>, actor: &Actor) -> Result<Keeper> {
    let keeper = work::keeper(context, &config::locate(&context.globals)?)?;
    let asker = (actor.role == Role::Agent).then(|| actor.name.clone());
    Ok(Keeper { asker, ..keeper })
}

/// Carries out an approved order, if it is for this machine. The approval counts, also if this fails.
pub(super) fn carry_out(
    context: &Context<'_>,
    desk: &Desk,
    actor: &Actor,
    gate: Gate,
) -> Result<Gate> {
    if !gate.is_to_be_done() {
        return Ok(gate);
    }
    let carried = keeper(context, actor).and_then(|keeper| Ok(desk.carry_out(&keeper)?));
    if let Err(failure) = carried {
        context.out.remark(&format!("not done yet: {}", harmless_line(&failure.message)));
    }
    Ok(desk.gate(gate.opened.id)?)
}

/// Nudges agents of this machine for which there are messages. The messages are kept in any case, and so is a nudge
/// that fails.
pub(super) fn nudge(context: &Context<'_>, desk: &Desk, actor: &Actor) {
    if desk.has_nudges().unwrap_or(false)
        && let Ok(keeper) = keeper(context, actor)
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
