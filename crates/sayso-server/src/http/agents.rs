//! HTTP API for managed agents: their state, and actions on them (start, restart, stop).

use super::gates::Reason;
use super::paging::{limit, page, part};
use super::route::{Asked, Nothing, Table, Verb};
use super::visitor::Visitor;
use super::when::rfc3339;
use crate::wire::{self, outlook};
use sayso_core::gate::Action;
use sayso_engine::{Member, Requested, Result};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn operations(table: Table) -> Table {
    table
        .add(Verb::Get, "/agents", LIST, list)
        .add(Verb::Get, "/agents/{agent}", SHOW, show)
        .add(Verb::Post, "/agents/{agent}/spawn", SPAWN, |at, asked| want(at, asked, Action::Spawn))
        .add(Verb::Post, "/agents/{agent}/restart", RESTART, |at, asked| {
            want(at, asked, Action::Restart)
        })
        .add(Verb::Post, "/agents/{agent}/stop", STOP, |at, asked| want(at, asked, Action::Stop))
}

type Says = (&'static str, &'static str);
const LIST: Says = ("listAgents", "The agents that can be spawned, by name, a page at a time.");
const SHOW: Says = ("showAgent", "An agent, and how it stands.");
const SPAWN: Says = (
    "spawnAgent",
    "Wants an agent started. It is done by the next sayso on its machine; where a person is asked first, the gate is named.",
);
const RESTART: Says = ("restartAgent", "Wants an agent ended and started anew. As spawning.");
const STOP: Says = ("stopAgent", "Wants an agent ended, with everything it started. As spawning.");

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListAgents {
    /// Continue after this agent, as `next` of the last page said.
    after: Option<String>,
    /// At most this many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

fn list(at: &Visitor, asked: Asked<0, ListAgents, Nothing>) -> Result<wire::Page<wire::Agent>> {
    at.check("members")?;
    let ListAgents { after, limit: most } = asked.query;
    let name = |member: &Member| member.name.clone();
    let found = part(at.desk.members()?, after.as_deref(), limit(most)?, name)?;
    Ok(page(&found, on_the_wire, name))
}

fn show(at: &Visitor, asked: Asked<1, Nothing, Nothing>) -> Result<wire::Agent> {
    at.check("member")?;
    Ok(on_the_wire(&at.desk.member(&asked.names[0])?))
}

fn want(
    at: &Visitor,
    asked: Asked<1, Nothing, Reason>,
    action: Action,
) -> Result<wire::AgentOutcome> {
    let [agent] = asked.names;
    let wanted = at.desk.request_lifecycle(&at.actor, action, &agent, &asked.body.reason)?;
    let (what, gate) = match wanted {
        Requested::Ordered(id) => {
            let pending = at.desk.pending(id)?;
            (pending.as_ref().map_or_else(|| "it was carried out".into(), outlook), None)
        }
        Requested::Held(gate) => {
            let what = format!("gate {} waits for a person first", gate.handle());
            (what, Some(gate.opened.id.to_string()))
        }
    };
    Ok(wire::AgentOutcome { agent, action: action.to_string(), done: false, what, gate })
}

/// Converts an agent to its wire form. Its liveness cannot be seen from here: it runs on a machine of its own.
fn on_the_wire(member: &Member) -> wire::Agent {
    wire::Agent::of(member, |_| None, &rfc3339)
}
