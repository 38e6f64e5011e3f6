//! A message: text from a person or the system to an agent, stored until the agent has read it.

use crate::{Actor, Code, MessageId, Permission, Refusal, Role, SpaceId, Timestamp};
use serde::{Deserialize, Serialize};

/// The maximum size of a message.
pub const MESSAGE_BYTES_MAX: usize = 256 * 1024;

/// The maximum length of an agent's name.
const NAME_BYTES_MAX: usize = 200;

/// A message to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMessage {
    /// The id, chosen by the sender.
    pub id: MessageId,
    /// The space it belongs to.
    pub space: SpaceId,
    /// The handle that people use.
    pub handle: String,
    /// The name of the agent it is for.
    pub to: String,
    /// The name of the sender.
    pub from: String,
    /// The role of the sender.
    pub from_role: Role,
    /// The text of the message.
    pub text: String,
    /// The time at which it was sent.
    pub sent_at: Timestamp,
    /// The time at which it was marked as read.
    pub read_at: Option<Timestamp>,
}

impl AgentMessage {
    /// Checks that `actor` may send this message, and its size.
    pub fn check(&self, actor: &Actor) -> Result<(), Refusal> {
        actor.check(Permission::Track, "send messages")?;
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

    /// Checks that this actor may mark the message as read: an agent its own messages only, other actors if they may
    /// work on tasks. A read-only credential could otherwise take a message away from its agent.
    pub fn check_reader(&self, actor: &Actor) -> Result<(), Refusal> {
        if actor.role != Role::Agent {
            return actor.check(Permission::Track, "say that a message was read");
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
    use crate::{AssuranceLevel, EntryPoint, IdentityProof};

    fn actor(role: Role, name: &str) -> Actor {
        Actor::new(role, name, IdentityProof::Token, AssuranceLevel::S0, EntryPoint::Cli)
    }

    fn message(from_role: Role, to: &str, text: &str) -> AgentMessage {
        let at = Timestamp::from_micros(0);
        AgentMessage {
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
        for deed in [Permission::Read, Permission::Measure, Permission::Ask, Permission::Track] {
            let scopes = Some([deed].into());
            let limited = Actor { scopes, ..actor(Role::Operator, "ops") };
            assert_eq!(
                to_fixer.check_reader(&limited).is_ok(),
                deed == Permission::Track,
                "{deed:?}"
            );
        }
    }
}
