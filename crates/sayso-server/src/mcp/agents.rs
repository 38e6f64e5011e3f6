//! MCP tools that start, restart and stop other agents, as far as the policy allows.

use super::said::Said;
use super::{Sitting, gates, tools};
use rmcp::model::JsonObject;
use sayso_core::gate::Action;
use sayso_engine::{Requested, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    /// The name of the agent.
    agent: String,
    /// The reason; people read it.
    #[serde(default)]
    reason: String,
}

pub(super) fn spawn(at: &Sitting, arguments: JsonObject) -> Result<Value> {
    change(at, Action::Spawn, arguments)
}

pub(super) fn restart(at: &Sitting, arguments: JsonObject) -> Result<Value> {
    change(at, Action::Restart, arguments)
}

pub(super) fn stop(at: &Sitting, arguments: JsonObject) -> Result<Value> {
    change(at, Action::Stop, arguments)
}

fn change(at: &Sitting, action: Action, arguments: JsonObject) -> Result<Value> {
    let Change { agent, reason } = tools::read(arguments)?;
    match at.setup.desk.request_lifecycle(&at.actor, action, &agent, &reason)? {
        Requested::Ordered(_) => Ok(json!({
            "state": "ordered",
            "next": "It is carried out by whoever looks after agents on that machine; you get a message.",
        })),
        Requested::Held(gate) => Ok(gates::json_of(&Said::of(&gate, at.setup.time))),
    }
}
