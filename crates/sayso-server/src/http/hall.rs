//! Application state: the spaces of a store that a server has open, and how a caller is authenticated in one.

use super::health::Readiness;
use super::meter::Meter;
use super::traces::Traces;
use super::{Machine, Telling, mcp, passkeys, visit};
use axum::Router;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use sayso_core::run::Run;
use sayso_core::{Code, Door, Refusal, Role};
use sayso_engine::{Caller, Courier, LocalDesk, Result, Stationed, Tally, Waits, check_space_name};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::watch;
use webauthn_rs::prelude::Webauthn;

/// The most bytes of rows that a page of a list is made from. A list leaves long texts out, so most pages are far
/// below it.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The state of a server, shared by all requests.
pub struct Hall {
    first: LocalDesk,
    rooms: Mutex<HashMap<String, Arc<Room>>>,
    /// Spaces are opened one at a time; a request for an open space does not wait for that.
    opening: Mutex<()>,
    readiness: Readiness,
    version: &'static str,
    telling: Telling,
    traces: Option<Traces>,
    machine: Machine,
    meter: Meter,
    ending: watch::Receiver<bool>,
    relying: Webauthn,
    /// True if browsers reach the server by TLS, its own or that of a proxy in front.
    is_secure: bool,
}

/// The state of an open space.
pub(super) struct Room {
    pub(super) desk: LocalDesk,
    pub(super) waits: Waits,
    /// The counters of its gates, up to the last request for metrics.
    pub(super) tally: Mutex<Tally>,
    /// Created for the first agent that connects.
    mcp: OnceLock<Router>,
}

impl Room {
    /// Returns the router for agents that speak MCP.
    pub(super) fn mcp(&self, hall: &Arc<Hall>) -> Router {
        self.mcp.get_or_init(|| mcp::of(hall, &self.desk, &self.waits)).clone()
    }
}

impl Hall {
    pub(super) fn open(
        first: LocalDesk,
        version: &'static str,
        telling: Telling,
        traces: Option<Traces>,
        machine: Machine,
        ending: watch::Receiver<bool>,
        has_tls: bool,
    ) -> Result<Arc<Self>> {
        let pages = telling.pages.as_deref();
        let relying = passkeys::relying_party(pages)?;
        let is_secure = has_tls || pages.is_some_and(|pages| pages.starts_with("https://"));
        let first = first.with_page_bytes(PAGE_BYTES_MAX);
        let (rooms, opening, readiness, meter) = Default::default();
        let hall = Self {
            first,
            rooms,
            opening,
            readiness,
            version,
            telling,
            traces,
            machine,
            meter,
            ending,
            relying,
            is_secure,
        };
        // The timers of the space it was started for run even if no request ever comes.
        hall.room(hall.first.space_name())?;
        Ok(Arc::new(hall))
    }

    /// Returns a space, opened on the first request for it. Blocks.
    pub(super) fn room(&self, name: &str) -> Result<Arc<Room>> {
        // An invalid name names no space; the store need not be asked.
        if check_space_name(name).is_err() {
            return Err(Refusal::new(Code::NoSpace, "there is no such space").into());
        }
        if let Some(room) = self.open_room(name) {
            return Ok(room);
        }
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = self.open_room(name) {
            return Ok(room);
        }
        let desk = self.first.beside(name)?;
        let waits = Waits::start(desk.clone().into())?;
        self.tell(&desk);
        let (tally, mcp) = (Mutex::default(), OnceLock::new());
        let room = Arc::new(Room { desk, waits, tally, mcp });
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.insert(name.to_owned(), room.clone());
        Ok(room)
    }

    /// Returns a space, if it is open.
    fn open_room(&self, name: &str) -> Option<Arc<Room>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Returns the role of a credential at its last check. It grants nothing, and asks no store.
    pub(super) fn recall(&self, space: &str, credential: &Credential) -> Option<Role> {
        self.open_room(space)?.desk.recall(&credential.secret, credential.door)
    }

    /// Returns the role of a credential. Blocks.
    pub(super) fn judge(&self, space: &str, credential: &Credential) -> Result<Role> {
        let (room, Credential { secret, door, .. }) = self.at_the_door(space, Some(credential))?;
        Ok(Caller::again(&room.desk, secret, *door, self.version)?.actor.role)
    }

    /// Returns the result of the readiness checks: whether the store takes writes.
    pub(super) fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// Starts the sender of notifications for a space, for as long as the server runs.
    fn tell(&self, desk: &LocalDesk) {
        let Telling { channels, pages } = &self.telling;
        if channels.is_empty() {
            return;
        }
        let courier = Courier::new(desk.clone().into(), channels.clone(), pages.clone());
        // A notification in flight when the process ends is sent again, under the same id.
        std::thread::spawn(move || courier.run(&AtomicBool::new(false)));
    }

    /// Authenticates a caller in a space. Without a credential, a caller does not learn whether there is such a
    /// space.
    pub(super) fn enter(
        &self,
        space: &str,
        credential: Option<&Credential>,
    ) -> Result<(Arc<Room>, Caller)> {
        let (room, Credential { secret, door, word }) = self.at_the_door(space, credential)?;
        let caller = Caller::by(&room.desk, secret, *door, self.version)?.within(visit::deadline());
        visit::note_actor(&caller.actor);
        match word {
            Word::NotNeeded => {}
            Word::Said(word) if caller.knows(&room.desk, word)? => {}
            Word::Said(_) => return Err(no_page_of_ours().into()),
        }
        Ok((room, caller))
    }

    /// Authenticates a caller from the credential cache: a credential that was good before is checked together with
    /// the call that uses it, see [`Caller::again`]. If a browser sent a CSRF token, both are checked first.
    pub(super) fn enter_again(
        &self,
        space: &str,
        credential: Option<&Credential>,
    ) -> Result<(Arc<Room>, Caller)> {
        let (room, Credential { secret, door, word }) = self.at_the_door(space, credential)?;
        if matches!(word, Word::Said(_)) {
            return self.enter(space, credential);
        }
        let caller = Caller::again(&room.desk, secret, *door, self.version)?;
        let caller = caller.within(visit::deadline());
        visit::note_actor(&caller.actor);
        Ok((room, caller))
    }

    fn at_the_door<'c>(
        &self,
        space: &str,
        credential: Option<&'c Credential>,
    ) -> Result<(Arc<Room>, &'c Credential)> {
        let credential = credential.ok_or_else(no_credential)?;
        let room = self.room(space).map_err(|error| match error.code() {
            Code::NoSpace => unknown_credential().into(),
            _ => error,
        })?;
        Ok((room, credential))
    }

    /// Returns the WebAuthn relying party: the site for which browsers use a passkey.
    pub(super) fn relying(&self) -> &Webauthn {
        &self.relying
    }

    /// Returns the last lines an agent printed in a turn, where they are kept here.
    pub(super) fn output_of(&self, run: &Run) -> Vec<String> {
        (self.machine.output)(run)
    }

    /// True if a managed agent runs; None where that cannot be seen from here.
    pub(super) fn is_alive(&self, agent: &Stationed) -> Option<bool> {
        (self.machine.is_alive)(agent)
    }

    /// True if browsers reach the server by TLS.
    pub(super) fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Returns the desk of the first space, for questions about the store itself.
    pub(super) fn desk(&self) -> &LocalDesk {
        &self.first
    }

    /// Returns the process metrics: the requests that were served.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Returns the exporter of traces, if one is configured.
    pub(super) fn traces(&self) -> Option<&Traces> {
        self.traces.as_ref()
    }

    pub(super) fn version(&self) -> &'static str {
        self.version
    }

    /// True if the server was told to end.
    pub(super) fn is_ending(&self) -> bool {
        // Without the sender of the signal, it is over, too.
        *self.ending.borrow() || self.ending.has_changed().is_err()
    }

    /// Waits until the server is told to end.
    pub(super) async fn ending(&self) {
        let mut ending = self.ending.clone();
        let _ = ending.wait_for(|is_ending| *is_ending).await;
    }
}

/// The credential of a request, and the interface it came by.
#[derive(Clone)]
pub(super) struct Credential {
    pub(super) secret: String,
    pub(super) door: Door,
    pub(super) word: Word,
}

/// The CSRF token beside a credential: not needed for a program, or the one that a browser sent.
#[derive(Clone)]
pub(super) enum Word {
    NotNeeded,
    Said(String),
}

impl Credential {
    /// Reads the bearer token of a program.
    pub(super) fn of_program(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, secret) = value.split_once(' ')?;
        let is_bearer = scheme.eq_ignore_ascii_case("bearer");
        let secret = secret.trim().to_owned();
        is_bearer.then_some(Self { secret, door: Door::Http, word: Word::NotNeeded })
    }
}

fn no_page_of_ours() -> Refusal {
    Refusal::new(Code::Foreign, "this does not come from a page of ours")
        .hint("log out, and in again")
}

pub(super) fn no_credential() -> Refusal {
    Refusal::new(Code::BadToken, "nobody comes in without a credential")
        .hint("log in with: sayso login, or send `Authorization: Bearer` with a token")
}

pub(super) fn unknown_credential() -> Refusal {
    Refusal::new(Code::BadToken, "the token is not known here")
        .hint("is it the right space? Ask for a new token: sayso token create")
}
