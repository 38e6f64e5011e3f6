//! Authentication of API requests: the caller, and the space. Every request of the API passes here, and only here it
//! is decided who the caller is: the credential says so.

use super::parking::RequestHold;
use super::state::{AppState, RequestCredential, SpaceState};
use super::{access_log, time};
use sayso_core::run::Run;
use sayso_core::{Actor, Code, GateId, Permission, Refusal, TaskId, Timestamp};
use sayso_engine::{Desk, LocalDesk, RemoteCaller, Result, RunningAgent, check_space_name};
use std::sync::Arc;
use webauthn_rs::prelude::Webauthn;

/// A request at a space with its credential, not authenticated yet.
#[derive(Clone)]
pub(super) struct IncomingRequest {
    pub(super) hall: Arc<AppState>,
    pub(super) space: String,
    pub(super) credential: Option<RequestCredential>,
    pub(super) errand: Option<KeyedRequest>,
    /// The way it waits, if it has to.
    pub(super) parking: RequestHold,
}

/// An idempotency key with its request: it is carried out once, however often it is sent.
#[derive(Clone)]
pub(super) struct KeyedRequest {
    /// The caller's name for it.
    pub(super) key: String,
    /// The request itself: the method, the path with the query, and the body.
    pub(super) what: [String; 3],
}

/// The context of an authenticated request.
pub(super) struct RequestContext {
    pub(super) desk: Desk,
    /// The same desk with its store at hand, and without the idempotency key.
    pub(super) local: LocalDesk,
    pub(super) actor: Actor,
    pub(super) room: Arc<SpaceState>,
    hall: Arc<AppState>,
    pub(super) caller: RemoteCaller,
}

impl IncomingRequest {
    /// Authenticates the request, if its credential is good at this moment. Blocks.
    pub(super) fn authenticate(&self) -> Result<RequestContext> {
        check_space_name(&self.space)?;
        let (room, caller) = self.hall.authenticate(&self.space, self.credential.as_ref())?;
        self.visitor(room, caller)
    }

    /// Runs work with cached authentication. A credential that was good before is checked together with the work, and
    /// not by a query of its own. If it has changed by now, nothing was done, and the request is authenticated like
    /// any other. Blocks.
    pub(super) fn with_cached_auth<T>(
        &self,
        work: impl Fn(&RequestContext) -> Result<T>,
    ) -> Result<T> {
        check_space_name(&self.space)?;
        let (room, caller) =
            self.hall.authenticate_cached(&self.space, self.credential.as_ref())?;
        let at = self.visitor(room, caller)?;
        match work(&at) {
            Err(_) if at.caller.has_changed() => work(&self.authenticate()?),
            outcome => outcome,
        }
    }

    fn visitor(&self, room: Arc<SpaceState>, caller: RemoteCaller) -> Result<RequestContext> {
        let local = caller.with_credential_check(&room.desk);
        let desk = match &self.errand {
            Some(KeyedRequest { key, what: [method, uri, body] }) => {
                local.with_idempotency_key(caller.token, key, &[method, uri, body])?
            }
            None => local.clone(),
        };
        let desk = desk.served_to(&caller.actor).into();
        let (actor, hall) = (caller.actor.clone(), self.hall.clone());
        Ok(RequestContext { desk, local, actor, hall, room, caller })
    }
}

impl RequestContext {
    /// Checks that the caller may make this call to the desk: the same as for remote calls.
    pub(super) fn check(&self, call: &str) -> Result<()> {
        self.caller.check_call(&self.local, call)
    }

    /// Returns the WebAuthn relying party.
    pub(super) fn webauthn(&self) -> &Webauthn {
        self.hall.webauthn()
    }

    /// Returns the last lines an agent printed in a turn, where they are kept here. It is for callers who may read.
    pub(super) fn output_of(&self, run: &Run) -> Vec<String> {
        if self.actor.may(Permission::Read) { self.hall.output_of(run) } else { vec![] }
    }

    /// True if a managed agent runs; None where that cannot be seen from here.
    pub(super) fn is_alive(&self, agent: &RunningAgent) -> Option<bool> {
        self.hall.is_alive(agent)
    }

    /// Finds a gate by its name: an id, a handle, the beginning of one, or a task that waits for one gate.
    pub(super) fn gate(&self, name: &str) -> Result<GateId> {
        let gate = self.desk.find_gate(name)?;
        access_log::note_gate(gate);
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
                access_log::note_gate(id);
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
        time::moment(typed, self.desk.now())
    }
}
