//! Parking: a held request (long polling) keeps its socket, its own bytes and its subscription, and nothing else.
//!
//! Most of the cost of a waiting client is what HTTP keeps for its connection. So a request that is held offers to be
//! parked, and its connection is taken apart. When there is a change it is served anew from its own bytes: parsed,
//! authenticated by its credential, and executed like any other. So nothing that was true when it came is believed
//! later. An offer that is not taken changes nothing: then the request waits where it is.

use super::connection_limit::{ConnectionLimiter, ConnectionPermit};
use super::request_lanes::MemoryPermit;
use super::state::AppState;
use axum::body::Bytes;
use axum::extract::FromRequestParts;
use axum::http::Version;
use axum::http::header::{EXPECT, TRANSFER_ENCODING, UPGRADE};
use axum::http::request::Parts;
use sayso_core::GateId;
use sayso_engine::{GateWaiters, WaitSubscription};
use std::convert::Infallible;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::Instant;

/// The longest request that is parked. A longer one would cost what parking saves.
const REQUEST_BYTES_MAX: usize = 4 * 1024;

/// The time at which a request was received, for the first time if it was parked since.
#[derive(Clone, Copy)]
pub(super) struct ReceivedAt {
    pub(super) began: Instant,
    pub(super) began_at: SystemTime,
}

impl ReceivedAt {
    pub(super) fn now() -> Self {
        Self { began: Instant::now(), began_at: SystemTime::now() }
    }
}

/// The state of a request that was parked. It says what to read, and not what is visible to the caller.
#[derive(Clone, Copy)]
pub(super) struct ParkingTicket {
    came: ReceivedAt,
    /// The gate that its name meant when it came. None where the request says it by itself.
    gate: Option<GateId>,
    until: Instant,
}

/// A subscription to changes, for as long as it is kept.
pub(super) struct ChangeSubscription {
    bell: Arc<Notify>,
    _listening: WaitSubscription,
}

impl ChangeSubscription {
    /// Subscribes to the changes of a gate.
    pub(super) fn by(waits: &GateWaiters, gate: GateId) -> Arc<Self> {
        Self::new(|bell| waits.listen(gate, move || bell.notify_one()))
    }

    /// Subscribes to the changes of the space.
    pub(super) fn by_all(waits: &GateWaiters) -> Arc<Self> {
        Self::new(|bell| waits.listen_to_all(move || bell.notify_one()))
    }

    fn new(listen: impl FnOnce(Arc<Notify>) -> WaitSubscription) -> Arc<Self> {
        let bell = Arc::new(Notify::new());
        Arc::new(Self { _listening: listen(bell.clone()), bell })
    }

    /// Waits for a change. If the wait is cancelled, the wake-up is left to the next one.
    pub(super) async fn heard(&self) {
        self.bell.notified().await;
    }
}

/// A request that offers to be parked, or is.
pub(super) struct ParkedRequest {
    pub(super) request: Bytes,
    pub(super) ticket: ParkingTicket,
    pub(super) woken: Arc<ChangeSubscription>,
}

impl ParkedRequest {
    /// Waits for a change or the end of the hold, after which it is to be served again.
    pub(super) async fn is_due(&self) {
        tokio::select! {
            () = self.woken.heard() => {}
            () = tokio::time::sleep_until(self.ticket.until) => {}
        }
    }
}

/// The slot of a connection, shared with the request it serves: the request offers to be parked, the connection takes
/// the offer.
pub(super) struct ConnectionSlot {
    is_flushed: AtomicBool,
    /// True if a request has begun to arrive that is not complete yet.
    is_partial: AtomicBool,
    seat: Arc<ConnectionPermit>,
    state: Mutex<SlotState>,
}

struct SlotState {
    /// True if the next request may be parked.
    may_park: bool,
    /// The ticket of the first request, which was parked before.
    ticket: Option<ParkingTicket>,
    /// The permit of the first request, until it is answered or waits.
    room: Option<OwnedSemaphorePermit>,
    is_at_work: bool,
    /// The memory of a response that is not read yet.
    memory: Option<MemoryPermit>,
    offered: Option<ParkedRequest>,
}

impl ConnectionSlot {
    pub(super) fn new(
        may_park: bool,
        ticket: Option<ParkingTicket>,
        room: Option<OwnedSemaphorePermit>,
        seat: Arc<ConnectionPermit>,
    ) -> Arc<Self> {
        let (is_at_work, memory, offered) = Default::default();
        let state = Mutex::new(SlotState { may_park, ticket, room, is_at_work, memory, offered });
        let (is_flushed, is_partial) = (AtomicBool::new(true), AtomicBool::new(false));
        Arc::new(Self { is_flushed, is_partial, seat, state })
    }

    /// Notes whether all that was written is flushed.
    pub(super) fn note_flushed(&self, is_flushed: bool) {
        let was_flushed = self.is_flushed.swap(is_flushed, Ordering::Relaxed);
        if is_flushed && !was_flushed {
            let mut state = self.state();
            // A stream continues; a response that is on its way as a whole is not kept any more.
            if !state.is_at_work {
                state.memory = None;
            }
        }
    }

    /// Notes that something was read.
    pub(super) fn note_read(&self) {
        self.is_partial.store(true, Ordering::Relaxed);
    }

    /// True if a part of a request was read, and the rest is missing.
    pub(super) fn is_partial(&self) -> bool {
        self.is_partial.load(Ordering::Relaxed)
    }

    /// Takes the offer, if there is one. None is taken while an earlier response is still being written.
    pub(super) fn take(&self) -> Option<ParkedRequest> {
        if self.is_flushed.load(Ordering::Relaxed) { self.state().offered.take() } else { None }
    }

    /// Notes that a request has arrived; returns its link to the connection.
    pub(super) fn begin(self: &Arc<Self>) -> RequestOrigin {
        self.is_partial.store(false, Ordering::Relaxed);
        let mut state = self.state();
        state.is_at_work = true;
        let may_park = std::mem::replace(&mut state.may_park, true);
        RequestOrigin { spot: self.clone(), may_park, ticket: state.ticket.take() }
    }

    /// Notes that the request is answered.
    pub(super) fn end(&self) {
        let mut state = self.state();
        (state.is_at_work, state.room) = (false, None);
    }

    /// Offers the request for parking. It waits, so it gives its permit back.
    fn offer(&self, parked: Option<ParkedRequest>) {
        let mut state = self.state();
        (state.offered, state.room) = (parked, None);
    }

    /// Gives the permit back if no whole request is there, for those that have sent one.
    pub(super) fn leave_unless_at_work(&self) {
        let mut state = self.state();
        if !state.is_at_work {
            state.room = None;
        }
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The link from a request to the connection it came by.
#[derive(Clone)]
pub(super) struct RequestOrigin {
    spot: Arc<ConnectionSlot>,
    may_park: bool,
    ticket: Option<ParkingTicket>,
}

impl RequestOrigin {
    /// Returns the time at which the request was received, if it was parked since.
    pub(super) fn came(&self) -> Option<ReceivedAt> {
        self.ticket.map(|ticket| ticket.came)
    }

    /// Notes that the whole request is there, from a caller with a good credential.
    pub(super) fn is_whole(&self) {
        self.spot.seat.settle();
    }

    /// Keeps memory for the response until it is read.
    pub(super) fn keep(&self, memory: MemoryPermit) {
        self.spot.state().memory = Some(memory);
    }

    pub(super) fn connections(&self) -> &ConnectionLimiter {
        self.spot.seat.connections()
    }
}

/// The wait of a request: where it is, or parked if its connection can.
#[derive(Clone)]
pub(super) struct RequestHold {
    came: ReceivedAt,
    ticket: Option<ParkingTicket>,
    spot: Option<Arc<ConnectionSlot>>,
    /// Its own bytes, if it may be parked.
    request: Option<Bytes>,
}

impl<S: Sync> FromRequestParts<S> for RequestHold {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts))
    }
}

impl RequestHold {
    /// Prepares the wait of a request without its body.
    pub(super) fn of(parts: &Parts) -> Self {
        let came = parts.extensions.get().copied().unwrap_or_else(ReceivedAt::now);
        let Some(RequestOrigin { spot, may_park, ticket }) = parts.extensions.get() else {
            return Self { came, ticket: None, spot: None, request: None };
        };
        let request = if *may_park { written(parts) } else { None };
        let (ticket, spot) = (*ticket, Some(spot.clone()));
        Self { came, ticket, spot, request: request.map(Bytes::from) }
    }

    /// Adds the body that came with the request.
    pub(super) fn with(mut self, body: &[u8]) -> Self {
        let is_short = |head: &Bytes| head.len() + body.len() <= REQUEST_BYTES_MAX;
        if !body.is_empty() {
            let head = self.request.take().filter(is_short);
            self.request = head.map(|head| [&head, body].concat().into());
        }
        self
    }

    /// Returns the end of the wait. A request that was parked waits no longer than it said when it came.
    pub(super) fn until(&self, hold: Duration) -> Instant {
        self.ticket.map_or_else(|| Instant::now() + hold, |ticket| ticket.until)
    }

    /// Returns the gate it waited for.
    pub(super) fn gate(&self) -> Option<GateId> {
        self.ticket.and_then(|ticket| ticket.gate)
    }

    /// Waits until there is a change, the time is over or the server ends. Its connection may be taken apart
    /// meanwhile: then this never returns, and the request is served again.
    pub(super) async fn wait(
        &self,
        hall: &AppState,
        woken: &Arc<ChangeSubscription>,
        gate: Option<GateId>,
        until: Instant,
    ) {
        let ticket = ParkingTicket { came: self.came, gate, until };
        let parked = |request| ParkedRequest { request, ticket, woken: woken.clone() };
        self.offer(self.request.clone().map(parked));
        tokio::select! {
            () = woken.heard() => {}
            () = tokio::time::sleep_until(until) => {}
            () = hall.ending() => {}
        }
        // An offer that was not taken is withdrawn: the wait is over.
        self.offer(None);
    }

    fn offer(&self, parked: Option<ParkedRequest>) {
        if let Some(spot) = &self.spot {
            spot.offer(parked);
        }
    }
}

/// Serializes a request as it came, up to its body. None for one that could not be read again the same way.
fn written(parts: &Parts) -> Option<Vec<u8>> {
    let Parts { method, uri, version, headers, .. } = parts;
    let is_known = matches!(*version, Version::HTTP_10 | Version::HTTP_11);
    let says_more = [TRANSFER_ENCODING, EXPECT, UPGRADE].iter().any(|it| headers.contains_key(it));
    if !is_known || says_more {
        return None;
    }
    let mut request = vec![];
    write!(request, "{method} {uri} {version:?}\r\n").ok()?;
    for (name, value) in headers {
        write!(request, "{name}:").ok()?;
        request.extend_from_slice(value.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    (request.len() <= REQUEST_BYTES_MAX).then_some(request)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn check(headers: &[(&str, &str)], expected: Option<&str>) {
        let mut request = Request::get("/v1/spaces/s/gates/g?wait=60s");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let found = written(&parts).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(found.as_deref(), expected, "{headers:?}");
    }

    #[test]
    fn a_request_is_written_as_it_came() {
        let line = "GET /v1/spaces/s/gates/g?wait=60s HTTP/1.1\r\n";
        check(&[], Some(&format!("{line}\r\n")));
        let headers = [("Host", "here"), ("cookie", "a"), ("accept", ""), ("cookie", "b")];
        let expected = format!("{line}host:here\r\ncookie:a\r\ncookie:b\r\naccept:\r\n\r\n");
        check(&headers, Some(&expected));
    }

    #[test]
    fn what_could_be_read_otherwise_is_not_written() {
        check(&[("transfer-encoding", "chunked")], None);
        check(&[("expect", "100-continue")], None);
        check(&[("upgrade", "h2c")], None);
        check(&[("x-long", &"x".repeat(REQUEST_BYTES_MAX))], None);
    }
}
