//! `sayso policy remembered` and `forget`: standing approvals.

use crate::context::Context;
use crate::exit::Result;
use crate::out::Look;
use crate::when;
use sayso_core::Exit;
use sayso_core::text::harmless_line;
use sayso_engine::{Remembered, Scope};
use serde::Serialize;

/// Decisions that hold for the same request again, until they end or are forgotten.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sayso approve g7k2 --remember 8h              the same again by the same agent needs no say-so
  sayso policy remembered
  sayso policy forget g7k2")]
pub(crate) struct Args {}

/// A decision that is forgotten.
#[derive(clap::Args)]
pub(crate) struct ForgetArgs {
    /// The gate it was made at, as `remembered` lists it.
    #[arg(value_name = "GATE")]
    gate: String,
}

/// A standing approval: it holds for the same request again.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct Entry {
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

pub(crate) fn run(_: Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, _) = context.sit_down_to_look()?;
    let all = desk.remembered()?;
    let out = context.out;
    if out.json {
        let entries: Vec<_> = all.iter().map(|(gate, r)| Entry::of(gate, r)).collect();
        out.json(&entries);
        return Ok(Exit::Ok);
    }
    if all.is_empty() {
        out.remark("nothing is remembered");
    }
    for (gate, remembered) in &all {
        let Entry { request, agent, by, .. } = Entry::of(gate, remembered);
        let whose = match remembered.scope {
            Scope::Task => format!("{agent} on that task"),
            Scope::Agent => agent,
            Scope::Space => "every agent".into(),
        };
        let until = when::local(remembered.until);
        let gate = out.paint(Look::Name, gate);
        out.line(&format!(
            "{gate}  {}  for {whose}, until {until}, by {by}",
            harmless_line(&request)
        ));
    }
    Ok(Exit::Ok)
}

pub(crate) fn forget(args: ForgetArgs, context: &Context<'_>) -> Result<Exit> {
    let (desk, actor) = context.sit_down_as_person()?;
    desk.forget(&actor, &args.gate)?;
    let tick = context.out.paint(Look::Good, context.out.icon("✓", "ok:"));
    context.out.line(&format!("{tick} forgotten; it is asked again"));
    Ok(Exit::Ok)
}

impl Entry {
    fn of(gate: &str, remembered: &Remembered) -> Self {
        let Remembered { request, scope, agent, by, until, .. } = remembered;
        let scope = match scope {
            Scope::Task => "task",
            Scope::Agent => "agent",
            Scope::Space => "space",
        };
        Self {
            gate: gate.into(),
            request: request.clone(),
            scope: scope.into(),
            agent: agent.clone(),
            by: by.clone(),
            until: when::rfc3339(*until),
        }
    }
}
