//! Event stream (server-sent events): one event for each audit entry that is visible to the caller.
//!
//! The id of an event is the number of its entry. A client that was cut off resumes after the last event it has,
//! at this server or at another one, without a gap and without a duplicate: events are read from the audit log,
//! and a wake-up only shortens the wait.

use super::audit::SEQ_MAX;
use super::auth::IncomingRequest;
use super::gates::bad;
use super::health::blocking;
use super::openapi::{OperationDescription, OperationSchemas, SchemaCollector};
use super::problem::ErrorResponse;
use super::route::{
    EmptyInput, OperationInput, OperationTable, OperationVerb, SPACE, read_request,
};
use super::state::{AppState, SpaceState};
use super::time::{rfc3339, span};
use crate::wire;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use sayso_core::Refusal;
use sayso_core::audit::ChainEntry;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// The number of entries in memory for one client: those that are not sent yet stay in the log.
const ENTRIES_AT_ONCE: usize = 16;

/// The interval of heartbeats on a silent stream, unless the request sets another one.
const HEARTBEAT: Duration = Duration::from_secs(15);
const HEARTBEAT_MIN: Duration = Duration::from_secs(1);
const HEARTBEAT_MAX: Duration = Duration::from_secs(60);

pub(super) fn operations(table: OperationTable) -> OperationTable {
    let described = OperationDescription {
        verb: OperationVerb::Get,
        path: format!("{SPACE}/events"),
        name: "streamEvents",
        says: "What happens, as it happens. Server-sent events: the id is the number of an entry of the audit, the \
            event its action, the data the entry. Goes on behind the header `Last-Event-ID`, behind `after`, or \
            from now on. Whoever has seen more than there is (a backup was put back) hears `reset` first, with \
            `after`, where they were, and `end`, where it ends: they look anew. An agent hears of its own gates and messages.",
        shapes,
    };
    table.with(described, get(listen))
}

fn shapes(schemas: &mut SchemaCollector) -> OperationSchemas {
    let entry = schemas.answer::<wire::AuditEntry>();
    let entry = &entry["application/json"]["schema"];
    OperationSchemas {
        query: schemas.parameters::<StreamEvents>(),
        body: None,
        answer: json!({"text/event-stream": {"schema": {"type": "string"}, "itemSchema": entry}}),
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StreamEvents {
    /// Continue after the entry of this number; from now on, unless given.
    #[schemars(range(max = 9_007_199_254_740_992_u64))]
    after: Option<u64>,
    /// The interval of heartbeats on a silent stream: 1s to 60s.
    heartbeat: Option<String>,
}

async fn listen(
    State(hall): State<Arc<AppState>>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let last = request.headers().get("last-event-id").cloned();
    let (knock, asked): (_, OperationInput<0, StreamEvents, EmptyInput>) =
        read_request(hall, request).await?;
    let after = last_seen(last.as_ref())?.or(asked.query.after);
    if after.is_some_and(|after| after > SEQ_MAX) {
        return Err(bad(format!("an entry's number is at most {SEQ_MAX}")).into());
    }
    let heartbeat = asked.query.heartbeat.as_deref().map_or(Ok(HEARTBEAT), span)?;
    let heartbeat = heartbeat.clamp(HEARTBEAT_MIN, HEARTBEAT_MAX);
    // A caller without access gets an ordinary refusal instead of a stream.
    let (room, end) = begin(knock.clone()).await?;
    let seen = after.unwrap_or(end);
    let listener = EventStream { knock, room, seen, heartbeat, has_begun: false };
    let body = Body::from_stream(stream::unfold(listener, EventStream::next));
    let headers = [(CONTENT_TYPE.as_str(), "text/event-stream"), ("x-accel-buffering", "no")];
    Ok((headers, body).into_response())
}

/// Parses `Last-Event-ID`: the last event a client has.
pub(super) fn last_seen(said: Option<&HeaderValue>) -> Result<Option<u64>, Refusal> {
    let Some(value) = said else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| bad("Last-Event-ID is no number of an entry".into()))
}

/// Returns the space, and the present end of its audit log.
async fn begin(knock: IncomingRequest) -> Result<(Arc<SpaceState>, u64), ErrorResponse> {
    blocking(move || {
        let at = knock.authenticate()?;
        let end = at.desk.happened(&at.actor, None, 0)?.seen;
        Ok((at.room, end))
    })
    .await
}

/// Returns the activity after an entry, if the caller's credential is still good.
async fn look(
    knock: IncomingRequest,
    seen: u64,
) -> Result<sayso_engine::ActivityPage, ErrorResponse> {
    blocking(move || {
        let at = knock.authenticate()?;
        at.desk.happened(&at.actor, Some(seen), ENTRIES_AT_ONCE)
    })
    .await
}

/// The state of one client's event stream.
struct EventStream {
    knock: IncomingRequest,
    room: Arc<SpaceState>,
    /// The last entry that was read for this client.
    seen: u64,
    heartbeat: Duration,
    has_begun: bool,
}

impl EventStream {
    /// Returns the next chunk of the stream; None when it is over.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if !self.has_begun {
            self.has_begun = true;
            // The delay after which a client that is cut off should reconnect.
            return Some((Ok(Bytes::from_static(b"retry: 1000\n\n")), self));
        }
        loop {
            let (wake, woken) = tokio::sync::oneshot::channel();
            let _listening = self.room.waits.listen_to_all(move || {
                let _ = wake.send(());
            });
            // Subscribed first, so earlier events are seen here. Any error, of the credential or the store, ends the
            // stream; a client that reconnects gets the refusal, or continues.
            let happened = look(self.knock.clone(), self.seen).await.ok()?;
            let is_further = happened.seen > self.seen;
            let was = std::mem::replace(&mut self.seen, happened.seen);
            if happened.seen < was {
                return Some((Ok(reset(was, happened.seen).into()), self));
            }
            if !happened.entries.is_empty() {
                let text: String = happened.entries.iter().map(event).collect();
                return Some((Ok(text.into()), self));
            }
            if is_further {
                continue;
            }
            tokio::select! {
                _ = woken => {}
                () = tokio::time::sleep(self.heartbeat) => {
                    return Some((Ok(Bytes::from_static(b": still here\n\n")), self));
                }
                () = self.knock.hall.ending() => return None,
            }
        }
    }
}

/// Returns the event for a client that has seen more than there is; the events from now on follow it.
fn reset(after: u64, end: u64) -> String {
    let data = json!({"after": after, "end": end});
    format!("id: {end}\nevent: reset\ndata: {data}\n\n")
}

fn event(entry: &ChainEntry) -> String {
    let data = serde_json::to_string(&wire::AuditEntry::of(entry, &rfc3339)).unwrap_or_default();
    format!("id: {}\nevent: {}\ndata: {data}\n\n", entry.seq, entry.action)
}
