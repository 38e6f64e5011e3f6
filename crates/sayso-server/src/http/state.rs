//! Application state: the spaces of a store that a server has open, and how a caller is authenticated in one.

use super::health::ReadinessProbe;
use super::process_metrics::ProcessMetrics;
use super::trace_export::TraceExporter;
use super::{AgentInspector, NotificationSetup, access_log, mcp, passkeys};
use axum::Router;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use sayso_core::run::Run;
use sayso_core::{Code, EntryPoint, Refusal, Role};
use sayso_engine::{
    GateCounters, GateWaiters, LocalDesk, NoticeSender, RemoteCaller, Result, RunningAgent,
    check_space_name,
};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::watch;
use webauthn_rs::prelude::Webauthn;

/// The most bytes of rows that a page of a list is made from. A list leaves long texts out, so most pages are far
/// below it.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The state of a server, shared by all requests.
pub struct AppState {
    first: LocalDesk,
    rooms: Mutex<HashMap<String, Arc<SpaceState>>>,
    /// Spaces are opened one at a time; a request for an open space does not wait for that.
    opening: Mutex<()>,
    readiness: ReadinessProbe,
    version: &'static str,
    telling: NotificationSetup,
    traces: Option<TraceExporter>,
    machine: AgentInspector,
    meter: ProcessMetrics,
    ending: watch::Receiver<bool>,
    relying: Webauthn,
    /// True if browsers reach the server by TLS, its own or that of a proxy in front.
    is_secure: bool,
}

/// The state of an open space.
pub(super) struct SpaceState {
    pub(super) desk: LocalDesk,
    pub(super) waits: GateWaiters,
    /// The counters of its gates, up to the last request for metrics.
    pub(super) tally: Mutex<GateCounters>,
    /// Created for the first agent that connects.
    mcp: OnceLock<Router>,
}

impl SpaceState {
    /// Returns the router for agents that speak MCP.
    pub(super) fn mcp(&self, hall: &Arc<AppState>) -> Router {
        self.mcp.get_or_init(|| mcp::of(hall, &self.desk, &self.waits)).clone()
    }
}

impl AppState {
    pub(super) fn open(
        first: LocalDesk,
        version: &'static str,
        telling: NotificationSetup,
        traces: Option<TraceExporter>,
        machine: AgentInspector,
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
    pub(super) fn room(&self, name: &str) -> Result<Arc<SpaceState>> {
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
        let waits = GateWaiters::start(desk.clone().into())?;
        self.tell(&desk);
        let (tally, mcp) = (Mutex::default(), OnceLock::new());
        let room = Arc::new(SpaceState { desk, waits, tally, mcp });
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.insert(name.to_owned(), room.clone());
        Ok(room)
    }

    /// Returns a space, if it is open.
    fn open_room(&self, name: &str) -> Option<Arc<SpaceState>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Returns the role of a credential at its last check. It grants nothing, and asks no store.
    pub(super) fn cached_role(&self, space: &str, credential: &RequestCredential) -> Option<Role> {
        self.open_room(space)?.desk.cached_role(&credential.secret, credential.door)
    }

    /// Returns the role of a credential. Blocks.
    pub(super) fn role_of(&self, space: &str, credential: &RequestCredential) -> Result<Role> {
        let (room, RequestCredential { secret, door, .. }) =
            self.space_and_credential(space, Some(credential))?;
        Ok(RemoteCaller::authenticate_cached(&room.desk, secret, *door, self.version)?.actor.role)
    }

    /// Returns the result of the readiness checks: whether the store takes writes.
    pub(super) fn readiness(&self) -> &ReadinessProbe {
        &self.readiness
    }

    /// Starts the sender of notifications for a space, for as long as the server runs.
    fn tell(&self, desk: &LocalDesk) {
        let NotificationSetup { channels, pages } = &self.telling;
        if channels.is_empty() {
            return;
        }
        let courier = NoticeSender::new(desk.clone().into(), channels.clone(), pages.clone());
        // A notification in flight when the process ends is sent again, under the same id.
        std::thread::spawn(move || courier.run(&AtomicBool::new(false)));
    }

    /// Authenticates a caller in a space. Without a credential, a caller does not learn whether there is such a
    /// space.
    pub(super) fn authenticate(
        &self,
        space: &str,
        credential: Option<&RequestCredential>,
    ) -> Result<(Arc<SpaceState>, RemoteCaller)> {
        let (room, RequestCredential { secret, door, csrf_token: word }) =
            self.space_and_credential(space, credential)?;
        let caller = RemoteCaller::by(&room.desk, secret, *door, self.version)?
            .within(access_log::deadline());
        access_log::note_actor(&caller.actor);
        match word {
            CsrfToken::NotNeeded => {}
            CsrfToken::Sent(word) if caller.knows(&room.desk, word)? => {}
            CsrfToken::Sent(_) => return Err(no_page_of_ours().into()),
        }
        Ok((room, caller))
    }

    /// Authenticates a caller from the credential cache: a credential that was good before is checked together with
    /// the call that uses it, see [`RemoteCaller::authenticate_cached`]. If a browser sent a CSRF token, both are checked first.
    pub(super) fn authenticate_cached(
        &self,
        space: &str,
        credential: Option<&RequestCredential>,
    ) -> Result<(Arc<SpaceState>, RemoteCaller)> {
        let (room, RequestCredential { secret, door, csrf_token: word }) =
            self.space_and_credential(space, credential)?;
        if matches!(word, CsrfToken::Sent(_)) {
            return self.authenticate(space, credential);
        }
        let caller = RemoteCaller::authenticate_cached(&room.desk, secret, *door, self.version)?;
        let caller = caller.within(access_log::deadline());
        access_log::note_actor(&caller.actor);
        Ok((room, caller))
    }

    fn space_and_credential<'c>(
        &self,
        space: &str,
        credential: Option<&'c RequestCredential>,
    ) -> Result<(Arc<SpaceState>, &'c RequestCredential)> {
        let credential = credential.ok_or_else(no_credential)?;
        let room = self.room(space).map_err(|error| match error.code() {
            Code::NoSpace => unknown_credential().into(),
            _ => error,
        })?;
        Ok((room, credential))
    }

    /// Returns the WebAuthn relying party: the site for which browsers use a passkey.
    pub(super) fn webauthn(&self) -> &Webauthn {
        &self.relying
    }

    /// Returns the last lines an agent printed in a turn, where they are kept here.
    pub(super) fn output_of(&self, run: &Run) -> Vec<String> {
        (self.machine.output)(run)
    }

    /// True if a managed agent runs; None where that cannot be seen from here.
    pub(super) fn is_alive(&self, agent: &RunningAgent) -> Option<bool> {
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
    pub(super) fn meter(&self) -> &ProcessMetrics {
        &self.meter
    }

    /// Returns the exporter of traces, if one is configured.
    pub(super) fn traces(&self) -> Option<&TraceExporter> {
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
pub(super) struct RequestCredential {
    pub(super) secret: String,
    pub(super) door: EntryPoint,
    pub(super) csrf_token: CsrfToken,
}

/// The CSRF token beside a credential: not needed for a program, or the one that a browser sent.
#[derive(Clone)]
pub(super) enum CsrfToken {
    NotNeeded,
    Sent(String),
}

impl RequestCredential {
    /// Reads the bearer token of a program.
    pub(super) fn of_program(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, secret) = value.split_once(' ')?;
        let is_bearer = scheme.eq_ignore_ascii_case("bearer");
        let secret = secret.trim().to_owned();
        is_bearer.then_some(Self {
            secret,
            door: EntryPoint::Http,
            csrf_token: CsrfToken::NotNeeded,
        })
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
