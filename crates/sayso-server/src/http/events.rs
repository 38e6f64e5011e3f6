//! What happens, as it happens: one event for each entry of the audit that the caller may know of.
//!
//! The number of the entry is the event's id. Whoever was cut off goes on behind the last one they have, at
//! this server or at another one, without a gap and without hearing anything twice: what is sent is read
//! from the audit, and what wakes us only shortens the wait.

use super::audit::SEQ_MAX;
use super::gates::bad;
use super::hall::{Hall, Room};
use super::health::blocking;
use super::openapi::{Described, Schemas, Shapes};
use super::problem::Failed;
use super::route::{Asked, Nothing, SPACE, Table, Verb, take};
use super::visitor::Knock;
use super::when::{rfc3339, span};
use crate::wire;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use sayso_core::Refusal;
use sayso_core::audit::Entry;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// How many entries are in memory for one listener: what is not sent yet stays where it is.
const ENTRIES_AT_ONCE: usize = 16;

/// How often a silent stream says that it is there, unless the request says otherwise.
const HEARTBEAT: Duration = Duration::from_secs(15);
const HEARTBEAT_MIN: Duration = Duration::from_secs(1);
const HEARTBEAT_MAX: Duration = Duration::from_secs(60);

pub(super) fn operations(table: Table) -> Table {
    let described = Described {
        verb: Verb::Get,
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

fn shapes(schemas: &mut Schemas) -> Shapes {
    let entry = schemas.answer::<wire::AuditEntry>();
    let entry = &entry["application/json"]["schema"];
    Shapes {
        query: schemas.parameters::<StreamEvents>(),
        body: None,
        answer: json!({"text/event-stream": {"schema": {"type": "string"}, "itemSchema": entry}}),
    }
}

/// From where on.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StreamEvents {
    /// Go on behind the entry of this number; from now on, unless given.
    #[schemars(range(max = 9_007_199_254_740_992_u64))]
    after: Option<u64>,
    /// How often a silent stream says that it is there: 1s to 60s.
    heartbeat: Option<String>,
}

async fn listen(State(hall): State<Arc<Hall>>, request: Request) -> Result<Response, Failed> {
    let last = request.headers().get("last-event-id").cloned();
    let (knock, asked): (_, Asked<0, StreamEvents, Nothing>) = take(hall, request).await?;
    let after = last_seen(last.as_ref())?.or(asked.query.after);
    if after.is_some_and(|after| after > SEQ_MAX) {
        return Err(bad(format!("an entry's number is at most {SEQ_MAX}")).into());
    }
    let heartbeat = asked.query.heartbeat.as_deref().map_or(Ok(HEARTBEAT), span)?;
    let heartbeat = heartbeat.clamp(HEARTBEAT_MIN, HEARTBEAT_MAX);
    // Whoever may not come in is told so as by any other page.
    let (room, end) = begin(knock.clone()).await?;
    let seen = after.unwrap_or(end);
    let listener = Listener { knock, room, seen, heartbeat, has_begun: false };
    let body = Body::from_stream(stream::unfold(listener, Listener::next));
    let headers = [(CONTENT_TYPE.as_str(), "text/event-stream"), ("x-accel-buffering", "no")];
    Ok((headers, body).into_response())
}

/// The last event somebody has, as browsers say it.
pub(super) fn last_seen(said: Option<&HeaderValue>) -> Result<Option<u64>, Refusal> {
    let Some(value) = said else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| bad("Last-Event-ID is no number of an entry".into()))
}

/// The space, and where its audit ends now.
async fn begin(knock: Knock) -> Result<(Arc<Room>, u64), Failed> {
    blocking(move || {
        let at = knock.enter()?;
        let end = at.desk.happened(&at.actor, None, 0)?.seen;
        Ok((at.room, end))
    })
    .await
}

/// What happened behind an entry, for whoever still has a credential that is good.
async fn look(knock: Knock, seen: u64) -> Result<sayso_engine::Happened, Failed> {
    blocking(move || {
        let at = knock.enter()?;
        at.desk.happened(&at.actor, Some(seen), ENTRIES_AT_ONCE)
    })
    .await
}

/// Somebody who listens.
struct Listener {
    knock: Knock,
    room: Arc<Room>,
    /// The last entry that was looked at for them.
    seen: u64,
    heartbeat: Duration,
    has_begun: bool,
}

impl Listener {
    /// The next piece of the stream; none when it is over.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if !self.has_begun {
            self.has_begun = true;
            // How soon somebody who is cut off should come again.
            return Some((Ok(Bytes::from_static(b"retry: 1000\n\n")), self));
        }
        loop {
            let (wake, woken) = tokio::sync::oneshot::channel();
            let _listening = self.room.waits.listen_to_all(move || {
                let _ = wake.send(());
            });
            // Listening now: what happened before that is seen here. Whatever stands in the way, the
            // credential or the store, ends the stream; who comes again is told, or goes on.
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

/// What a listener hears who has seen more than there is, before they hear what happens from now on.
fn reset(after: u64, end: u64) -> String {
    let data = json!({"after": after, "end": end});
    format!("id: {end}\nevent: reset\ndata: {data}\n\n")
}

fn event(entry: &Entry) -> String {
    let data = serde_json::to_string(&wire::AuditEntry::of(entry, &rfc3339)).unwrap_or_default();
    format!("id: {}\nevent: {}\ndata: {data}\n\n", entry.seq, entry.action)
}
