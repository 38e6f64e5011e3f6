//! Authentication of API requests: the caller, and the space. Every request of the API passes here, and only here it
//! is decided who the caller is: the credential says so.

use super::hall::{Credential, Hall, Room};
use super::parking::Parking;
use super::{visit, when};
use sayso_core::run::Run;
use sayso_core::{Actor, Code, Deed, GateId, Refusal, TaskId, Timestamp};
use sayso_engine::{Caller, Desk, LocalDesk, Result, Stationed, check_space_name};
use std::sync::Arc;
use webauthn_rs::prelude::Webauthn;

/// A request at a space with its credential, not authenticated yet.
#[derive(Clone)]
pub(super) struct Knock {
    pub(super) hall: Arc<Hall>,
    pub(super) space: String,
    pub(super) credential: Option<Credential>,
    pub(super) errand: Option<Errand>,
    /// The way it waits, if it has to.
    pub(super) parking: Parking,
}

/// An idempotency key with its request: it is carried out once, however often it is sent.
#[derive(Clone)]
pub(super) struct Errand {
    /// The caller's name for it.
    pub(super) key: String,
    /// The request itself: the method, the path with the query, and the body.
    pub(super) what: [String; 3],
}

/// The context of an authenticated request.
pub(super) struct Visitor {
    pub(super) desk: Desk,
    /// The same desk with its store at hand, and without the idempotency key.
    pub(super) local: LocalDesk,
    pub(super) actor: Actor,
    pub(super) room: Arc<Room>,
    hall: Arc<Hall>,
    pub(super) caller: Caller,
}

impl Knock {
    /// Authenticates the request, if its credential is good at this moment. Blocks.
    pub(super) fn enter(&self) -> Result<Visitor> {
        check_space_name(&self.space)?;
        let (room, caller) = self.hall.enter(&self.space, self.credential.as_ref())?;
        self.visitor(room, caller)
    }

    /// Runs work with cached authentication. A credential that was good before is checked together with the work, and
    /// not by a query of its own. If it has changed by now, nothing was done, and the request is authenticated like
    /// any other. Blocks.
    pub(super) fn quickly<T>(&self, work: impl Fn(&Visitor) -> Result<T>) -> Result<T> {
        check_space_name(&self.space)?;
        let (room, caller) = self.hall.enter_again(&self.space, self.credential.as_ref())?;
        let at = self.visitor(room, caller)?;
        match work(&at) {
            Err(_) if at.caller.has_changed() => work(&self.enter()?),
            outcome => outcome,
        }
    }

    fn visitor(&self, room: Arc<Room>, caller: Caller) -> Result<Visitor> {
        let local = caller.checking(&room.desk);
        let desk = match &self.errand {
            Some(Errand { key, what: [method, uri, body] }) => {
                local.on_errand(caller.token, key, &[method, uri, body])?
            }
            None => local.clone(),
        };
        let desk = desk.served_to(&caller.actor).into();
        let (actor, hall) = (caller.actor.clone(), self.hall.clone());
        Ok(Visitor { desk, local, actor, hall, room, caller })
    }
}

impl Visitor {
    /// Checks that the caller may make this call to the desk: the same as for remote calls.
    pub(super) fn check(&self, call: &str) -> Result<()> {
        self.caller.check_call(&self.local, call)
    }

    /// Returns the WebAuthn relying party.
    pub(super) fn relying(&self) -> &Webauthn {
        self.hall.relying()
    }

    /// Returns the last lines an agent printed in a turn, where they are kept here. It is for callers who may read.
    pub(super) fn output_of(&self, run: &Run) -> Vec<String> {
        match self.actor.may(Deed::Read) {
            true => self.hall.output_of(run),
            false => vec![],
        }
    }

    /// True if a managed agent runs; None where that cannot be seen from here.
    pub(super) fn is_alive(&self, agent: &Stationed) -> Option<bool> {
        self.hall.is_alive(agent)
    }

    /// Finds a gate by its name: an id, a handle, the beginning of one, or a task that waits for one gate.
    pub(super) fn gate(&self, name: &str) -> Result<GateId> {
        let gate = self.desk.find_gate(name)?;
        visit::note_gate(gate);
        Ok(gate)
    }

    /// Runs work on the gate of this name. An id is taken for a gate's right away, which saves the search; where
    /// there is none, nothing was done, and it may be a task's.
    pub(super) fn with_gate<T>(&self, name: &str, work: impl Fn(GateId) -> Result<T>) -> Result<T> {
        let Ok(id) = name.parse() else { return work(self.gate(name)?) };
        match work(id) {
            Err(error) if error.code() == Code::NotFound && self.is_of_task(name) => {
                work(self.gate(name)?)
            }
            outcome => {
                visit::note_gate(id);
                outcome
            }
        }
    }

    /// True if an id is one of a task.
    fn is_of_task(&self, id: &str) -> bool {
        let id = id.parse().ok();
        let named = id.map(|id: TaskId| self.desk.task_names(&[id]));
        named.is_some_and(|found| found.is_ok_and(|found| !found.is_empty()))
    }

    /// Finds a task by its name.
    pub(super) fn task(&self, name: &str) -> Result<TaskId> {
        self.desk.find_task(name)
    }

    /// Parses a moment to come.
    pub(super) fn moment(&self, typed: &str) -> std::result::Result<Timestamp, Refusal> {
        when::moment(typed, self.desk.now())
    }
}
