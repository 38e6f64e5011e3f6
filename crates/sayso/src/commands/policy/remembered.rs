//! `sayso policy remembered` and `forget`: standing approvals.

use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use crate::time;
use sayso_core::CommandExit;
use sayso_core::text::sanitize_line;
use sayso_engine::{ApprovalScope, StandingApproval};
use serde::Serialize;

/// Decisions that hold for the same request again, until they end or are forgotten.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso approve g7k2 --remember 8h              the same again by the same agent needs no say-so
  sayso policy remembered
  sayso policy forget g7k2")]
pub(crate) struct PolicyRememberedArgs {}

/// A decision that is forgotten.
#[derive(clap::Args)]
pub(crate) struct PolicyForgetArgs {
    /// The gate it was made at, as `remembered` lists it.
    #[arg(value_name = "GATE")]
    gate: String,
}

/// A standing approval: it holds for the same request again.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Entry")]
pub(crate) struct StandingApprovalJson {
    /// The gate of the approval.
    gate: String,
    /// The request that was approved.
    request: String,
    /// task, agent or space.
    scope: String,
    /// The agent that asked.
    agent: String,
    /// The person who approved it.
    by: String,
    /// Until when it holds.
    until: String,
}

pub(crate) fn run(_: PolicyRememberedArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, _) = context.open_read_only()?;
    let all = desk.remembered()?;
    let out = context.out;
    if out.json {
        let entries: Vec<_> =
            all.iter().map(|(gate, r)| StandingApprovalJson::of(gate, r)).collect();
        out.json(&entries);
        return Ok(CommandExit::Ok);
    }
    if all.is_empty() {
        out.remark("nothing is remembered");
    }
    for (gate, remembered) in &all {
        let StandingApprovalJson { request, agent, by, .. } =
            StandingApprovalJson::of(gate, remembered);
        let whose = match remembered.scope {
            ApprovalScope::Task => format!("{agent} on that task"),
            ApprovalScope::Agent => agent,
            ApprovalScope::Space => "every agent".into(),
        };
        let until = time::local(remembered.until);
        let gate = out.paint(OutputStyle::Name, gate);
        out.line(&format!(
            "{gate}  {}  for {whose}, until {until}, by {by}",
            sanitize_line(&request)
        ));
    }
    Ok(CommandExit::Ok)
}

pub(crate) fn forget(args: PolicyForgetArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_as_person()?;
    desk.forget(&actor, &args.gate)?;
    let tick = context.out.paint(OutputStyle::Good, context.out.icon("✓", "ok:"));
    context.out.line(&format!("{tick} forgotten; it is asked again"));
    Ok(CommandExit::Ok)
}

impl StandingApprovalJson {
    fn of(gate: &str, remembered: &StandingApproval) -> Self {
        let StandingApproval { request, scope, agent, by, until, .. } = remembered;
        let scope = match scope {
            ApprovalScope::Task => "task",
            ApprovalScope::Agent => "agent",
            ApprovalScope::Space => "space",
        };
        Self {
            gate: gate.into(),
            request: request.clone(),
            scope: scope.into(),
            agent: agent.clone(),
            by: by.clone(),
            until: time::rfc3339(*until),
        }
    }
}
