//! MCP tools that start, restart and stop other agents, as far as the policy allows.

use super::responses::GateResponse;
use super::{ToolContext, gates, tools};
use rmcp::model::JsonObject;
use sayso_core::gate::LifecycleAction;
use sayso_engine::{LifecycleRequestOutcome, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Change")]
pub(super) struct AgentActionArgs {
    /// The name of the agent.
    agent: String,
    /// The reason; people read it.
    #[serde(default)]
    reason: String,
}

pub(super) fn spawn(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    change(at, LifecycleAction::Spawn, arguments)
}

pub(super) fn restart(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    change(at, LifecycleAction::Restart, arguments)
}

pub(super) fn stop(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    change(at, LifecycleAction::Stop, arguments)
}

fn change(at: &ToolContext, action: LifecycleAction, arguments: JsonObject) -> Result<Value> {
    let AgentActionArgs { agent, reason } = tools::read(arguments)?;
    match at.setup.desk.request_lifecycle(&at.actor, action, &agent, &reason)? {
        LifecycleRequestOutcome::Ordered(_) => Ok(json!({
            "state": "ordered",
            "next": "It is carried out by whoever looks after agents on that machine; you get a message.",
        })),
        LifecycleRequestOutcome::Held(gate) => {
            Ok(gates::json_of(&GateResponse::of(&gate, at.setup.time)))
        }
    }
}
