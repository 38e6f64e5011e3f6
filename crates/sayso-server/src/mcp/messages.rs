//! MCP tools for messages to an agent, from people and from the system.

use super::gates::json_of;
use super::responses::GateResponse;
use super::{ToolContext, tools};
use rmcp::model::JsonObject;
use sayso_engine::Result;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// The number of messages that are read at a time.
const LIMIT: usize = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Check")]
pub(super) struct CheckMessagesArgs {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Ack")]
pub(super) struct AckMessageArgs {
    /// The message's id, or a gate's whose answer you acted on.
    message: String,
}

pub(super) fn check(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    let CheckMessagesArgs {} = tools::read(arguments)?;
    let (desk, actor) = (&at.setup.desk, &at.actor);
    let page = desk.messages(actor, Some(&actor.name), true, None, LIMIT)?;
    let messages: Vec<_> = page
        .items
        .iter()
        .map(|message| {
            json!({
                "message": message.handle,
                "from": message.from,
                "from_role": message.from_role.as_str(),
                "text": message.text,
                "sent_at": (at.setup.time)(message.sent_at),
            })
        })
        .collect();
    let mut answers = vec![];
    for gate in desk.undelivered(actor, LIMIT)? {
        if actor.is_asker(&gate.opened.lineage) {
            // An approval of a tool call is for that call to take.
            if gate.opened.held.is_none() {
                at.hand_over(gate.opened.id)?;
            }
            answers.push(json_of(&GateResponse::of(&gate, at.setup.time)));
        }
    }
    Ok(json!({"messages": messages, "answers": answers, "more": page.more}))
}

pub(super) fn ack(at: &ToolContext, arguments: JsonObject) -> Result<Value> {
    let AckMessageArgs { message } = tools::read(arguments)?;
    let (desk, actor) = (&at.setup.desk, &at.actor);
    // Handles of gates begin with their letter, and so do those of messages.
    if let Ok(gate) = desk.find_gate(&message) {
        desk.acknowledge(actor, gate)?;
    } else {
        desk.read_message(actor, &message)?;
    }
    Ok(json!({"acknowledged": message}))
}
