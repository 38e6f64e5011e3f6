//! HTTP API for managed agents: their state, and actions on them (start, restart, stop).

use super::auth::RequestContext;
use super::gates::ReasonBody;
use super::paging::{limit, page, part};
use super::route::{EmptyInput, OperationInput, OperationTable, OperationVerb};
use super::time::rfc3339;
use crate::wire::{self, pending_action_text};
use sayso_core::gate::LifecycleAction;
use sayso_engine::{LifecycleRequestOutcome, ManagedAgent, Result};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn operations(table: OperationTable) -> OperationTable {
    table
        .add(OperationVerb::Get, "/agents", LIST, list)
        .add(OperationVerb::Get, "/agents/{agent}", SHOW, show)
        .add(OperationVerb::Post, "/agents/{agent}/spawn", SPAWN, |at, asked| {
            want(at, asked, LifecycleAction::Spawn)
        })
        .add(OperationVerb::Post, "/agents/{agent}/restart", RESTART, |at, asked| {
            want(at, asked, LifecycleAction::Restart)
        })
        .add(OperationVerb::Post, "/agents/{agent}/stop", STOP, |at, asked| {
            want(at, asked, LifecycleAction::Stop)
        })
}

type AgentOperationDoc = (&'static str, &'static str);
const LIST: AgentOperationDoc =
    ("listAgents", "The agents that can be spawned, by name, a page at a time.");
const SHOW: AgentOperationDoc = ("showAgent", "An agent, and how it stands.");
const SPAWN: AgentOperationDoc = (
    "spawnAgent",
    "Wants an agent started. It is done by the next sayso on its machine; where a person is asked first, the gate is named.",
);
const RESTART: AgentOperationDoc =
    ("restartAgent", "Wants an agent ended and started anew. As spawning.");
const STOP: AgentOperationDoc =
    ("stopAgent", "Wants an agent ended, with everything it started. As spawning.");

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListAgents {
    /// Continue after this agent, as `next` of the last page said.
    after: Option<String>,
    /// At most this many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

fn list(
    at: &RequestContext,
    asked: OperationInput<0, ListAgents, EmptyInput>,
) -> Result<wire::PageJson<wire::AgentJson>> {
    at.check("members")?;
    let ListAgents { after, limit: most } = asked.query;
    let name = |member: &ManagedAgent| member.name.clone();
    let found = part(at.desk.members()?, after.as_deref(), limit(most)?, name)?;
    Ok(page(&found, on_the_wire, name))
}

fn show(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, EmptyInput>,
) -> Result<wire::AgentJson> {
    at.check("member")?;
    Ok(on_the_wire(&at.desk.member(&asked.names[0])?))
}

fn want(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, ReasonBody>,
    action: LifecycleAction,
) -> Result<wire::AgentOutcome> {
    let [agent] = asked.names;
    let wanted = at.desk.request_lifecycle(&at.actor, action, &agent, &asked.body.reason)?;
    let (what, gate) = match wanted {
        LifecycleRequestOutcome::Ordered(id) => {
            let pending = at.desk.pending(id)?;
            (
                pending.as_ref().map_or_else(|| "it was carried out".into(), pending_action_text),
                None,
            )
        }
        LifecycleRequestOutcome::Held(gate) => {
            let what = format!("gate {} waits for a person first", gate.handle());
            (what, Some(gate.opened.id.to_string()))
        }
    };
    Ok(wire::AgentOutcome { agent, action: action.to_string(), done: false, what, gate })
}

/// Converts an agent to its wire form. Its liveness cannot be seen from here: it runs on a machine of its own.
fn on_the_wire(member: &ManagedAgent) -> wire::AgentJson {
    wire::AgentJson::of(member, |_| None, &rfc3339)
}
