//! HTTP API for messages to agents: listing, sending, and marking as read.

use super::gates::ulid;
use super::paging::{limit, page};
use super::route::{Asked, Nothing, Table, Verb};
use super::visitor::Visitor;
use super::when::rfc3339;
use crate::wire;
use sayso_core::message::Message;
use sayso_engine::Result;
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) fn operations(table: Table) -> Table {
    table.add(Verb::Get, "/messages", LIST, list).add(Verb::Create, "/messages", SEND, send).add(
        Verb::Post,
        "/messages/{message}/read",
        READ,
        read,
    )
}

type Says = (&'static str, &'static str);
const LIST: Says =
    ("listMessages", "Messages to agents, oldest first, a page at a time. An agent sees its own.");
const SEND: Says = (
    "sendMessage",
    "Sends a text to an agent. It is kept until the agent has read it. The same id with the same content again is the same message.",
);
const READ: Says = ("readMessage", "Notes that the agent read a message.");

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

fn list(at: &Visitor, asked: Asked<0, ListMessages, Nothing>) -> Result<wire::Page<wire::Message>> {
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

fn send(at: &Visitor, asked: Asked<0, Nothing, SendMessage>) -> Result<wire::Message> {
    let SendMessage { id, to, text } = asked.body;
    let id = match id {
        Some(id) => ulid(&id)?,
        None => at.desk.new_message_id(),
    };
    Ok(on_the_wire(&at.desk.tell(&at.actor, id, &to, &text)?))
}

fn read(at: &Visitor, asked: Asked<1, Nothing, Nothing>) -> Result<wire::Message> {
    Ok(on_the_wire(&at.desk.read_message(&at.actor, &asked.names[0])?))
}

fn on_the_wire(message: &Message) -> wire::Message {
    wire::Message::of(message, &rfc3339)
}
