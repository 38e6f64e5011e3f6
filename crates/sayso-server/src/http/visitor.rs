//! Who comes in, and to which space. Every request of the API passes here, and nowhere else is it decided
//! who somebody is: the credential says so.

use super::hall::{Hall, Room};
use super::{visit, when};
use sayso_core::{Actor, GateId, Refusal, TaskId, Timestamp};
use sayso_engine::{Caller, Desk, Result, check_space_name};
use std::sync::Arc;
use webauthn_rs::prelude::Webauthn;

/// Somebody at the door of a space, with what they bring.
#[derive(Clone)]
pub(super) struct Knock {
    pub(super) hall: Arc<Hall>,
    pub(super) space: String,
    /// Their credential, and nothing else of the request: whoever is held keeps as little as possible.
    pub(super) secret: Option<String>,
    pub(super) errand: Option<Errand>,
}

/// What somebody wants done once, however often they ask for it.
#[derive(Clone)]
pub(super) struct Errand {
    /// Their name for it.
    pub(super) key: String,
    /// What it is: the method, the path, the query and the body.
    pub(super) what: [String; 3],
}

/// Somebody who came in.
pub(super) struct Visitor {
    pub(super) desk: Desk,
    pub(super) actor: Actor,
    pub(super) room: Arc<Room>,
    hall: Arc<Hall>,
    caller: Caller,
}

impl Knock {
    /// Lets them in, if their credential is good at this moment. Blocks.
    pub(super) fn enter(&self) -> Result<Visitor> {
        check_space_name(&self.space)?;
        let (room, caller) = self.hall.enter(&self.space, self.secret.as_deref())?;
        let desk = match &self.errand {
            Some(Errand { key, what: [method, uri, body] }) => {
                room.desk.on_errand(caller.token, key, &[method, uri, body])?
            }
            None => room.desk.clone(),
        };
        Ok(Visitor {
            desk: desk.into(),
            actor: caller.actor.clone(),
            hall: self.hall.clone(),
            room,
            caller,
        })
    }
}

impl Visitor {
    /// Whether they may ask this of the desk from elsewhere: the same as over a line.
    pub(super) fn check(&self, call: &str) -> Result<()> {
        self.caller.check_call(&self.room.desk, call)
    }

    /// Whom browsers let touch a passkey for.
    pub(super) fn relying(&self) -> &Webauthn {
        self.hall.relying()
    }

    /// The gate this means: an id, a handle, the beginning of one, or a task that waits for one gate.
    pub(super) fn gate(&self, name: &str) -> Result<GateId> {
        let gate = self.desk.find_gate(name)?;
        visit::note_gate(gate);
        Ok(gate)
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
