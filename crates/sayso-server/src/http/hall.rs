//! The spaces of a store, as a server has them open.

use super::meter::Meter;
use super::traces::Traces;
use super::{Telling, mcp, passkeys, visit};
use axum::Router;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use sayso_core::{Code, Refusal};
use sayso_engine::{Caller, Courier, LocalDesk, Result, Tally, Waits, check_space_name};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::watch;
use webauthn_rs::prelude::Webauthn;

/// Everything a server has open.
pub struct Hall {
    first: LocalDesk,
    rooms: Mutex<HashMap<String, Arc<Room>>>,
    version: &'static str,
    telling: Telling,
    traces: Option<Traces>,
    meter: Meter,
    ending: watch::Receiver<bool>,
    relying: Webauthn,
}

/// A space that is open.
pub(super) struct Room {
    pub(super) desk: LocalDesk,
    pub(super) waits: Waits,
    /// What became of its gates, as far as somebody asked.
    pub(super) tally: Mutex<Tally>,
    /// Made for the first agent that comes.
    mcp: OnceLock<Router>,
}

impl Room {
    /// The door of agents that speak MCP.
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
        ending: watch::Receiver<bool>,
    ) -> Result<Arc<Self>> {
        let relying = passkeys::relying_party(telling.pages.as_deref())?;
        let (rooms, meter) = (Mutex::default(), Meter::new());
        let hall = Self { first, rooms, version, telling, traces, meter, ending, relying };
        // The clock of the space it was started for goes on even if nobody ever comes.
        hall.room(hall.first.space_name())?;
        Ok(Arc::new(hall))
    }

    /// A space, opened when somebody comes for it for the first time. Blocks.
    pub(super) fn room(&self, name: &str) -> Result<Arc<Room>> {
        // What cannot be a name is none; the store need not be asked.
        if check_space_name(name).is_err() {
            return Err(Refusal::new(Code::NoSpace, "there is no such space").into());
        }
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = rooms.get(name) {
            return Ok(room.clone());
        }
        let desk = self.first.beside(name)?;
        let waits = Waits::start(desk.clone().into())?;
        self.tell(&desk);
        let (tally, mcp) = (Mutex::default(), OnceLock::new());
        let room = Arc::new(Room { desk, waits, tally, mcp });
        rooms.insert(name.to_owned(), room.clone());
        Ok(room)
    }

    /// Tells people what waits for them in a space, for as long as the server runs.
    fn tell(&self, desk: &LocalDesk) {
        let Telling { channels, pages } = &self.telling;
        if channels.is_empty() {
            return;
        }
        let courier = Courier::new(desk.clone().into(), channels.clone(), pages.clone());
        // What is being sent when the process ends comes again, under the same id.
        std::thread::spawn(move || courier.run(&AtomicBool::new(false)));
    }

    /// A space and who comes to it. Nobody without a credential learns whether there is such a space.
    pub(super) fn enter(&self, space: &str, secret: Option<&str>) -> Result<(Arc<Room>, Caller)> {
        let Some(secret) = secret else { return Err(no_credential().into()) };
        let room = self.room(space).map_err(|error| match error.code() {
            Code::NoSpace => unknown_credential().into(),
            _ => error,
        })?;
        let caller = Caller::by(&room.desk, secret, self.version)?;
        visit::note_actor(&caller.actor);
        Ok((room, caller))
    }

    /// Whom browsers let touch a passkey for.
    pub(super) fn relying(&self) -> &Webauthn {
        &self.relying
    }

    /// The store, for whoever asks how it is.
    pub(super) fn desk(&self) -> &LocalDesk {
        &self.first
    }

    /// What this process has served.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Who follows traces, if anybody.
    pub(super) fn traces(&self) -> Option<&Traces> {
        self.traces.as_ref()
    }

    /// Which sayso this is.
    pub(super) fn version(&self) -> &'static str {
        self.version
    }

    /// Ends when the server is told to.
    pub(super) async fn ending(&self) {
        let mut ending = self.ending.clone();
        // Who would tell is gone: then it is over, too.
        let _ = ending.wait_for(|is_ending| *is_ending).await;
    }
}

/// The credential of a request.
pub(super) fn secret(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim().to_owned())
}

fn no_credential() -> Refusal {
    Refusal::new(Code::BadToken, "nobody comes in without a credential")
        .hint("log in with: sayso login, or send `Authorization: Bearer` with a token")
}

pub(super) fn unknown_credential() -> Refusal {
    Refusal::new(Code::BadToken, "the token is not known here")
        .hint("is it the right space? Ask for a new token: sayso token create")
}
