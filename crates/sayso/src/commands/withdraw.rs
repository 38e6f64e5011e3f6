//! `sayso withdraw`: withdraws a request.

use super::shared;
use crate::context::CliContext;
use crate::exit::Result;
use clap_complete::ArgValueCompleter;
use sayso_core::{CommandExit, Role};

/// Take a question back.
///
/// Its asker may; for all others it is a verdict and needs a person.
#[derive(clap::Args)]
pub(crate) struct WithdrawArgs {
    /// The ID of the gate.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_ids))]
    id: String,
    /// The reason, as it is recorded.
    #[arg(value_name = "REASON")]
    reason: Vec<String>,
}

pub(crate) fn run(args: WithdrawArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open()?;
    let id = desk.find_gate(&args.id)?;
    // For an agent the desk decides if it is the asker.
    let is_ours = actor.role == Role::Agent || actor.is_asker(&desk.gate(id)?.opened.lineage);
    let actor = if is_ours { actor } else { crate::identity::person(context, &desk)? };
    let reason = context.words(&args.reason)?;
    let reason = if reason.is_empty() { "no longer needed".to_owned() } else { reason };
    let gate = desk.withdraw(&actor, id, &reason)?;
    shared::report(context, &desk, &gate)
}
