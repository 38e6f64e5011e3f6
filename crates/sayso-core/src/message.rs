//! A message: text from a person or the system to an agent, kept until the agent has read it.

use crate::{Actor, Code, Deed, MessageId, Refusal, Role, SpaceId, Timestamp};
use serde::{Deserialize, Serialize};

/// The longest message.
pub const MESSAGE_BYTES_MAX: usize = 256 * 1024;

/// The longest name of an agent.
const NAME_BYTES_MAX: usize = 200;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Made by the sender.
    pub id: MessageId,
    /// The space it belongs to.
    pub space: SpaceId,
    /// What people call it.
    pub handle: String,
    /// The agent it is for.
    pub to: String,
    /// Who sent it.
    pub from: String,
    /// The part they played.
    pub from_role: Role,
    /// What they wrote.
    pub text: String,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// When the agent said it had read it.
    pub read_at: Option<Timestamp>,
}

impl Message {
    /// Checks a message before it is sent.
    pub fn check(&self, actor: &Actor) -> Result<(), Refusal> {
        actor.check(Deed::Track, "send messages")?;
        if self.from_role == Role::Human && actor.role != Role::Human {
            let (role, name) = (actor.role.as_str(), &actor.name);
            return Err(Refusal::new(
                Code::NotHuman,
                format!("{role} {name} may not write in a person's name"),
            ));
        }
        if self.text.trim().is_empty() {
            return Err(Refusal::new(Code::BadValue, "the message is empty"));
        }
        if self.to.trim().is_empty() {
            return Err(Refusal::new(Code::BadValue, "the message is for nobody")
                .hint("name the agent: sayso tell AGENT \"text\""));
        }
        if self.to.len() > NAME_BYTES_MAX {
            let size = self.to.len();
            return Err(Refusal::new(
                Code::TooLarge,
                format!("a name of {size} bytes; an agent's has at most {NAME_BYTES_MAX}"),
            ));
        }
        if self.text.len() > MESSAGE_BYTES_MAX {
            let size = self.text.len();
            return Err(Refusal::new(
                Code::TooLarge,
                format!("the message has {size} bytes; at most {MESSAGE_BYTES_MAX} are taken"),
            ));
        }
        Ok(())
    }

    /// Whether this actor may say that it was read: an agent of its own messages only, and of others those who may work on
    /// tasks. A credential that only looks would take a message from the agent it is for.
    pub fn check_reader(&self, actor: &Actor) -> Result<(), Refusal> {
        if actor.role != Role::Agent {
            return actor.check(Deed::Track, "say that a message was read");
        }
        if actor.name != self.to {
            return Err(Refusal::new(
                Code::NotAllowed,
                format!("message {} is for {}, not for {}", self.handle, self.to, actor.name),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Door, Level, Proof};

    fn actor(role: Role, name: &str) -> Actor {
        Actor::new(role, name, Proof::Token, Level::S0, Door::Cli)
    }

    fn message(from_role: Role, to: &str, text: &str) -> Message {
        let at = Timestamp::from_micros(0);
        Message {
            id: MessageId::mint(at, 1),
            space: SpaceId::mint(at, 1),
            handle: "m0001".into(),
            to: to.into(),
            from: "ann".into(),
            from_role,
            text: text.into(),
            sent_at: at,
            read_at: None,
        }
    }

    #[test]
    fn who_may_send_what() {
        let too_long = "x".repeat(MESSAGE_BYTES_MAX + 1);
        for (role, message, expected) in [
            (Role::Human, message(Role::Human, "fixer", "stop"), None),
            (Role::Agent, message(Role::Agent, "fixer", "stop"), None),
            (Role::Agent, message(Role::Human, "fixer", "approved!"), Some(Code::NotHuman)),
            (Role::Service, message(Role::Human, "fixer", "approved!"), Some(Code::NotHuman)),
            (Role::Auditor, message(Role::Auditor, "fixer", "stop"), Some(Code::NotAllowed)),
            (Role::Human, message(Role::Human, "fixer", " \n"), Some(Code::BadValue)),
            (Role::Human, message(Role::Human, "", "stop"), Some(Code::BadValue)),
            (Role::Human, message(Role::Human, &"x".repeat(201), "stop"), Some(Code::TooLarge)),
            (Role::Human, message(Role::Human, "fixer", &too_long), Some(Code::TooLarge)),
        ] {
            let got = message.check(&actor(role, "ann")).err().map(|r| r.code);
            assert_eq!(got, expected, "{role:?} {:.40?}", message.text);
        }
    }

    #[test]
    fn an_agent_reads_its_own_messages_only() {
        let to_fixer = message(Role::Human, "fixer", "stop");
        for (role, name, may) in [
            (Role::Agent, "fixer", true),
            (Role::Agent, "other", false),
            (Role::Human, "bob", true),
            (Role::Auditor, "eye", false),
        ] {
            assert_eq!(to_fixer.check_reader(&actor(role, name)).is_ok(), may, "{role:?} {name}");
        }
        for deed in [Deed::Read, Deed::Measure, Deed::Ask, Deed::Track] {
            let scopes = Some([deed].into());
            let limited = Actor { scopes, ..actor(Role::Operator, "ops") };
            assert_eq!(to_fixer.check_reader(&limited).is_ok(), deed == Deed::Track, "{deed:?}");
        }
    }
}
