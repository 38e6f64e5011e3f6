//! Messages to agents: durable, per agent, acknowledged.

use crate::batch::{Batch, not_found};
use crate::{Desk, Page, Result};
use sayso_core::message::Message;
use sayso_core::{Actor, Code, Deed, MessageId, Refusal};
use sayso_store::Handles;
use serde_json::json;

impl Desk {
    /// Sends a message to an agent. The same id again is the same message.
    pub fn tell(&self, actor: &Actor, id: MessageId, to: &str, text: &str) -> Result<Message> {
        let (to, text) = (to.to_owned(), text.to_owned());
        self.submit(actor, move |batch| {
            if let Some(message) = batch.write.message(batch.space, &id.to_string())? {
                return same_again(message, batch.actor, &to, &text);
            }
            batch.check_space_is_there()?;
            batch.check_is_free(&format!("message/{id}"))?;
            write(batch, id, &to, &text)
        })
    }

    /// Notes that the agent read a message.
    pub fn read_message(&self, actor: &Actor, name: &str) -> Result<Message> {
        let name = name.to_owned();
        self.submit(actor, move |batch| {
            let found = batch.write.message(batch.space, &name)?;
            let mut message = found.ok_or_else(|| not_found("message", &name))?;
            message.check_reader(batch.actor)?;
            if message.read_at.is_some() {
                return Ok(message);
            }
            message.read_at = Some(batch.at);
            batch.record(&format!("message/{}", message.id), 2, &json!({"event": "read"}))?;
            batch.about("message.read", &message.handle, None, "");
            batch.write.put_message(&message)?;
            Ok(message)
        })
    }

    /// Messages, oldest first. An agent sees its own.
    pub fn messages(
        &self,
        actor: &Actor,
        to: Option<&str>,
        unread: bool,
        limit: usize,
    ) -> Result<Page<Message>> {
        let to = if actor.role.may(Deed::ReadAll) { to } else { Some(actor.name.as_str()) };
        self.read(|read| Ok(read.messages(self.space, to, unread, limit)?))
    }
}

/// Tells an agent what came of something, in the same breath.
pub(crate) fn send(batch: &mut Batch<'_, '_>, to: &str, text: &str) -> Result<()> {
    let id = batch.desk.new_message_id();
    write(batch, id, to, text).map(drop)
}

fn write(batch: &mut Batch<'_, '_>, id: MessageId, to: &str, text: &str) -> Result<Message> {
    let handle = batch.free_handle(Handles::Messages, |len| id.handle(len))?;
    let message = Message {
        id,
        space: batch.space,
        handle,
        to: to.into(),
        from: batch.actor.name.clone(),
        from_role: batch.actor.role,
        text: text.into(),
        sent_at: batch.at,
        read_at: None,
    };
    message.check(batch.actor)?;
    batch.record(&format!("message/{id}"), 1, &json!({"event": "sent", "message": message}))?;
    batch.about("message.sent", &message.handle, None, "");
    batch.write.put_message(&message)?;
    Ok(message)
}

/// The same message again is a success without effect; another one needs an id of its own.
fn same_again(message: Message, actor: &Actor, to: &str, text: &str) -> Result<Message> {
    let is_same = message.from == actor.name && message.to == to && message.text == text;
    match is_same {
        true => Ok(message),
        false => Err(Refusal::new(
            Code::Clash,
            format!("id {} is message {}, which says something else", message.id, message.handle),
        )
        .hint("make a new id for a new message")
        .into()),
    }
}
