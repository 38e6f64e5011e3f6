//! HTTP API for messages to agents: listing, sending, and marking as read.

use super::auth::RequestContext;
use super::gates::ulid;
use super::paging::{limit, page};
use super::route::{EmptyInput, OperationInput, OperationTable, OperationVerb};
use super::time::rfc3339;
use crate::wire;
use sayso_core::message::AgentMessage;
use sayso_engine::Result;
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn operations(table: OperationTable) -> OperationTable {
    table
        .add(OperationVerb::Get, "/messages", LIST, list)
        .add(OperationVerb::Create, "/messages", SEND, send)
        .add(OperationVerb::Post, "/messages/{message}/read", READ, read)
}

type MessageOperationDoc = (&'static str, &'static str);
const LIST: MessageOperationDoc =
    ("listMessages", "Messages to agents, oldest first, a page at a time. An agent sees its own.");
const SEND: MessageOperationDoc = (
    "sendMessage",
    "Sends a text to an agent. It is kept until the agent has read it. The same id with the same content again is the same message.",
);
const READ: MessageOperationDoc = ("readMessage", "Notes that the agent read a message.");

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListMessages {
    /// Only those to this agent.
    to: Option<String>,
    /// Only those that were not read yet.
    #[serde(default)]
    unread: bool,
    /// Continue after this message, as `next` of the last page said.
    after: Option<String>,
    /// At most this many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

fn list(
    at: &RequestContext,
    asked: OperationInput<0, ListMessages, EmptyInput>,
) -> Result<wire::PageJson<wire::MessageJson>> {
    let ListMessages { to, unread, after, limit: most } = asked.query;
    let (to, after) = (to.as_deref(), after.as_deref());
    let found = at.desk.messages(&at.actor, to, unread, after, limit(most)?)?;
    Ok(page(&found, on_the_wire, |message| message.id.to_string()))
}

/// A text to an agent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendMessage {
    /// A ULID of your own: sending again with it is the same message.
    id: Option<String>,
    /// The name of the agent.
    to: String,
    /// The text for the agent.
    text: String,
}

fn send(
    at: &RequestContext,
    asked: OperationInput<0, EmptyInput, SendMessage>,
) -> Result<wire::MessageJson> {
    let SendMessage { id, to, text } = asked.body;
    let id = match id {
        Some(id) => ulid(&id)?,
        None => at.desk.new_message_id(),
    };
    Ok(on_the_wire(&at.desk.tell(&at.actor, id, &to, &text)?))
}

fn read(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, EmptyInput>,
) -> Result<wire::MessageJson> {
    Ok(on_the_wire(&at.desk.read_message(&at.actor, &asked.names[0])?))
}

fn on_the_wire(message: &AgentMessage) -> wire::MessageJson {
    wire::MessageJson::of(message, &rfc3339)
}
