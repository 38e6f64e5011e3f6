//! Who comes in, and to which space. Every request of the API passes here, and nowhere else is it decided
//! who somebody is: the credential says so.

use super::hall::{Hall, Room};
use super::when;
use sayso_core::{Actor, GateId, Refusal, TaskId, Timestamp};
use sayso_engine::{Caller, Desk, Result, check_space_name};
use std::sync::Arc;

/// Somebody at the door of a space, with what they bring.
#[derive(Clone)]
pub(super) struct Knock {
    pub(super) hall: Arc<Hall>,
    pub(super) space: String,
    /// Their credential, and nothing else of the request: whoever is held keeps as little as possible.
    pub(super) secret: Option<String>,
}

/// Somebody who came in.
pub(super) struct Visitor {
    pub(super) desk: Desk,
    pub(super) actor: Actor,
    pub(super) room: Arc<Room>,
    caller: Caller,
}

impl Knock {
    /// Lets them in, if their credential is good at this moment. Blocks.
    pub(super) fn enter(&self) -> Result<Visitor> {
        check_space_name(&self.space)?;
        let (room, caller) = self.hall.enter(&self.space, self.secret.as_deref())?;
        let (desk, actor) = (room.desk.clone().into(), caller.actor.clone());
        Ok(Visitor { desk, actor, room, caller })
    }
}

impl Visitor {
    /// Whether they may ask this of the desk from elsewhere: the same as over a line.
    pub(super) fn check(&self, call: &str) -> Result<()> {
        self.caller.check_call(&self.room.desk, call)
    }

    /// The gate this means: an id, a handle, the beginning of one, or a task that waits for one gate.
    pub(super) fn gate(&self, name: &str) -> Result<GateId> {
        self.desk.find_gate(name)
    }

    /// The task this means.
    pub(super) fn task(&self, name: &str) -> Result<TaskId> {
        self.desk.find_task(name)
    }

    /// A moment to come.
    pub(super) fn moment(&self, typed: &str) -> std::result::Result<Timestamp, Refusal> {
        when::moment(typed, self.desk.now())
    }
}
