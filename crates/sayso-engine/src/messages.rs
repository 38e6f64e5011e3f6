//! Messages to agents: durable, one mailbox per agent, acknowledged.

use crate::visibility::is_addressee;
use crate::write_batch::{WriteBatch, not_found};
use crate::{ListPage, LocalDesk, Result, nudges, paging};
use sayso_core::gate::{Gate, GateEnding};
use sayso_core::message::AgentMessage;
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{Actor, Code, GateId, GateKind, MessageId, Permission, Refusal};
use sayso_store::HandleTable;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The maximum number of characters of a question that are repeated with its answer.
const QUESTION_CHARS_MAX: usize = 100;

/// An unread item of an agent: a message, or the end of a gate it asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadItem {
    /// The text with its sender.
    pub text: String,
    what: UnreadSource,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum UnreadSource {
    Message(MessageId),
    Ending(GateId),
}

impl LocalDesk {
    /// Returns the unread items of an agent: answers first, then messages, each oldest first.
    pub fn news(&self, actor: &Actor, limit: usize) -> Result<Vec<UnreadItem>> {
        let gates =
            self.read(|read| Ok(read.deliveries_untold(self.space, &actor.name, limit)?))?;
        let mut news = vec![];
        for id in gates {
            let gate = self.gate(id)?;
            if actor.is_asker(&gate.opened.lineage) {
                news.push(UnreadItem {
                    text: ending_in_words(&gate),
                    what: UnreadSource::Ending(id),
                });
            }
        }
        let messages = self.messages(actor, Some(&actor.name), true, None, limit)?.items;
        news.extend(messages.into_iter().map(|message| UnreadItem {
            text: format!(
                "Message from {} ({}): {}",
                sanitize_line(&message.from),
                message.from_role.as_str(),
                message.text
            ),
            what: UnreadSource::Message(message.id),
        }));
        news.truncate(limit);
        Ok(news)
    }

    /// Records that an agent has received an item. An approval of a held action is not used up by that; each other
    /// answer is acknowledged, and the same question again would be a new one.
    pub fn heard(&self, actor: &Actor, news: &UnreadItem) -> Result<()> {
        match &news.what {
            UnreadSource::Message(id) => self.read_message(actor, &id.to_string()).map(drop),
            UnreadSource::Ending(id) if self.gate(*id)?.opened.held.is_some() => {
                self.deliver(actor, *id).map(drop)
            }
            UnreadSource::Ending(id) => self.acknowledge(actor, *id).map(drop),
        }
    }

    /// Sends a message to an agent. Idempotent: the same id again is the same message.
    pub fn tell(&self, actor: &Actor, id: MessageId, to: &str, text: &str) -> Result<AgentMessage> {
        let (to, text) = (to.to_owned(), text.to_owned());
        self.submit(actor, move |batch| {
            if let Some(message) = batch.write.message(batch.space, &id.to_string())? {
                return check_is_same(message, batch.actor, &to, &text);
            }
            batch.check_space_is_there()?;
            batch.check_is_free(&format!("message/{id}"))?;
            write(batch, id, &to, &text)
        })
    }

    /// Records that the agent read a message.
    pub fn read_message(&self, actor: &Actor, name: &str) -> Result<AgentMessage> {
        let name = name.to_owned();
        self.submit(actor, move |batch| {
            let found = batch.write.message(batch.space, &name)?;
            // Another agent's message does not exist for callers without permission to read it.
            let found = found.filter(|message| can_see(batch.actor, message));
            let mut message = found.ok_or_else(|| not_found("message", &name))?;
            message.check_reader(batch.actor)?;
            if message.read_at.is_some() {
                return Ok(message);
            }
            message.read_at = Some(batch.at);
            batch.record(&format!("message/{}", message.id), 2, &json!({"event": "read"}))?;
            batch.set_audit_subject("message.read", &message.handle, None, "");
            batch.write.put_message(&message)?;
            Ok(message)
        })
    }

    /// Returns messages after a given one, oldest first. An agent sees its own.
    pub fn messages(
        &self,
        actor: &Actor,
        to: Option<&str>,
        unread: bool,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ListPage<AgentMessage>> {
        let to = match actor.may(Permission::Read) {
            true => to,
            false if is_addressee(actor, &actor.name) => Some(actor.name.as_str()),
            false => return Ok(ListPage { items: vec![], more: false }),
        };
        self.read(|read| {
            let after = match after {
                Some(name) => {
                    let found = read.message(self.space, name)?;
                    let found = found.filter(|message| can_see(actor, message));
                    Some(found.ok_or_else(|| not_found("message", &name))?)
                }
                None => None,
            };
            paging::bounded(self.page_bytes_max, limit, |last: Option<&AgentMessage>, limit| {
                let after = last.or(after.as_ref());
                Ok(read.messages(self.space, to, unread, after, limit)?)
            })
        })
    }
}

/// True if the message is visible to the actor.
fn can_see(actor: &Actor, message: &AgentMessage) -> bool {
    actor.may(Permission::Read) || is_addressee(actor, &message.to)
}

/// Describes the end of a gate for its asker.
fn ending_in_words(gate: &Gate) -> String {
    let how = match &gate.ending {
        Some(GateEnding::Answered { answer, by }) => {
            let said = match (answer.content.is_empty(), &answer.reason) {
                (false, _) => format!(": {}", answer.as_text()),
                (true, Some(reason)) => format!(": {reason}"),
                (true, None) => String::new(),
            };
            format!("{} by {}{said}", answer.verdict, by.name)
        }
        Some(GateEnding::Expired { .. }) => "not answered in time".into(),
        Some(GateEnding::Withdrawn { by, reason, .. }) => format!("taken back by {by}: {reason}"),
        Some(GateEnding::Superseded { .. }) => "replaced by another".into(),
        None => "not answered yet".into(),
    };
    let next = if gate.opened.kind == GateKind::Tool && gate.is_to_be_done() {
        " Make the same call again: it gets the answer."
    } else {
        ""
    };
    let question = shorten(&sanitize_line(&gate.card.question), QUESTION_CHARS_MAX);
    format!("Gate {} ({question}) was {how}.{next}", gate.handle())
}

/// Sends an outcome to an agent in the same transaction.
pub(crate) fn send(batch: &mut WriteBatch<'_, '_>, to: &str, text: &str) -> Result<()> {
    let id = batch.desk.new_message_id();
    write(batch, id, to, text).map(drop)
}

fn write(
    batch: &mut WriteBatch<'_, '_>,
    id: MessageId,
    to: &str,
    text: &str,
) -> Result<AgentMessage> {
    let handle = batch.free_handle(HandleTable::Messages, |len| id.handle(len))?;
    let message = AgentMessage {
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
    batch.set_audit_subject("message.sent", &message.handle, None, "");
    nudges::nudge(batch, to, &format!("message/{id}"))?;
    batch.write.put_message(&message)?;
    Ok(message)
}

/// Accepts the same message again without effect; another one needs an id of its own.
fn check_is_same(
    message: AgentMessage,
    actor: &Actor,
    to: &str,
    text: &str,
) -> Result<AgentMessage> {
    let is_same = message.from == actor.name && message.to == to && message.text == text;
    if is_same {
        Ok(message)
    } else {
        Err(Refusal::new(
            Code::Clash,
            format!("id {} is message {}, which says something else", message.id, message.handle),
        )
        .hint("make a new id for a new message")
        .into())
    }
}
