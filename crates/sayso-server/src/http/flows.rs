//! HTTP API for flows (executions of workflows): their state, their history, and their events as a stream.

use super::events::last_seen;
use super::gates::Reason;
use super::hall::{Hall, Room};
use super::health::blocking;
use super::openapi::{Described, Schemas, Shapes};
use super::paging::limit;
use super::problem::Failed;
use super::route::{Asked, Nothing, SPACE, Table, Verb, take};
use super::visitor::{Knock, Visitor};
use super::when::rfc3339;
use crate::wire;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use sayso_core::FlowId;
use sayso_core::flow::{Event, Flow};
use sayso_engine::{FlowFilter, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// The interval of heartbeats on a silent stream.
const HEARTBEAT: Duration = Duration::from_secs(15);

pub(super) fn operations(table: Table) -> Table {
    let described = Described {
        verb: Verb::Get,
        path: format!("{SPACE}/flows/{{flow}}/events"),
        name: "streamFlow",
        says: "What happens to a flow, from its beginning, as it happens. Server-sent events: the id counts them, \
            the event is flow:started, agent:completed, input:requested, input:received, phase:entered or \
            flow:ended. Goes on behind the header `Last-Event-ID`, and ends with the flow.",
        shapes,
    };
    table
        .add(Verb::Get, "/flows", LIST, list)
        .add(Verb::Get, "/flows/{flow}", SHOW, show)
        .add(Verb::Post, "/flows/{flow}/cancel", CANCEL, cancel)
        .with(described, get(listen))
}

type Says = (&'static str, &'static str);
const LIST: Says = ("listFlows", "Flows, newest first, a page at a time: those under way, or all.");
const SHOW: Says = ("showFlow", "A flow, with everything that happened to it.");
const CANCEL: Says = ("cancelFlow", "Takes a flow back; what it asked is withdrawn.");

fn shapes(schemas: &mut Schemas) -> Shapes {
    let event = schemas.answer::<wire::FlowEvent>();
    let event = &event["application/json"]["schema"];
    Shapes {
        query: schemas.parameters::<Nothing>(),
        body: None,
        answer: json!({"text/event-stream": {"schema": {"type": "string"}, "itemSchema": event}}),
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListFlows {
    /// Flows that are over, too.
    #[serde(default)]
    all: bool,
    /// Only flows of this workflow.
    workflow: Option<String>,
    /// Continue after this flow, as `next` of the last page said.
    after: Option<String>,
    /// At most this many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

fn list(at: &Visitor, asked: Asked<0, ListFlows, Nothing>) -> Result<wire::Page<wire::Flow>> {
    check_may_look(at)?;
    let ListFlows { all, workflow, after, limit: most } = asked.query;
    let after = after.map(|name| at.desk.find_flow(&name)).transpose()?;
    let found =
        at.desk.flows(&FlowFilter { all, over: false, workflow, after, limit: limit(most)? })?;
    let last = found.items.last().map(|flow| flow.started.id.to_string());
    let items = found.items.iter().map(|flow| told_of(at, flow)).collect::<Result<_>>()?;
    Ok(wire::Page { items, next: last.filter(|_| found.more) })
}

fn show(at: &Visitor, asked: Asked<1, Nothing, Nothing>) -> Result<wire::FlowDetail> {
    check_may_look(at)?;
    let id = at.desk.find_flow(&asked.names[0])?;
    let (flow, history) = (at.desk.flow(id)?, at.desk.flow_history(id)?);
    let stands = at.desk.stands(&flow)?;
    Ok(wire::FlowDetail::of(&flow, &stands, &history, &|gate| at.desk.gate(gate).ok(), &rfc3339))
}

fn told_of(at: &Visitor, flow: &Flow) -> Result<wire::Flow> {
    Ok(wire::Flow::of(flow, &at.desk.stands(flow)?, &rfc3339))
}

fn cancel(at: &Visitor, asked: Asked<1, Nothing, Reason>) -> Result<wire::Flow> {
    at.check("cancel_flow")?;
    let id = at.desk.find_flow(&asked.names[0])?;
    let flow = at.desk.cancel_flow(&at.actor, id, &asked.body.reason)?;
    told_of(at, &flow)
}

/// Checks that the caller may read flows. The work of others is not visible to an agent.
fn check_may_look(at: &Visitor) -> Result<()> {
    at.check("flows")
}

async fn listen(
    State(hall): State<Arc<Hall>>,
    request: Request,
) -> std::result::Result<Response, Failed> {
    let last = request.headers().get("last-event-id").cloned();
    let (knock, asked): (_, Asked<1, Nothing, Nothing>) = take(hall, request).await?;
    let seen = last_seen(last.as_ref())?.unwrap_or_default();
    let [name] = asked.names;
    let (room, flow) = begin(knock.clone(), name).await?;
    let seen = usize::try_from(seen).unwrap_or(usize::MAX);
    let listener = Listener { knock, room, flow, seen, is_over: false };
    let body = Body::from_stream(stream::unfold(listener, Listener::next));
    let headers = [(CONTENT_TYPE.as_str(), "text/event-stream"), ("x-accel-buffering", "no")];
    Ok((headers, body).into_response())
}

async fn begin(knock: Knock, name: String) -> std::result::Result<(Arc<Room>, FlowId), Failed> {
    blocking(move || {
        let at = knock.enter()?;
        check_may_look(&at)?;
        let flow = at.desk.find_flow(&name)?;
        Ok((at.room, flow))
    })
    .await
}

/// Returns the events of a flow after those that a client has, and whether the flow is over.
async fn look(
    knock: Knock,
    flow: FlowId,
    seen: usize,
) -> std::result::Result<(Vec<wire::FlowEvent>, bool), Failed> {
    blocking(move || {
        let at = knock.enter()?;
        check_may_look(&at)?;
        let history = at.desk.flow_history(flow)?;
        let is_over = history.iter().any(|(_, event)| matches!(event, Event::Ended { .. }));
        let gate_of = |gate| at.desk.gate(gate).ok();
        Ok((wire::flow_events(flow, &history, seen, &gate_of, &rfc3339), is_over))
    })
    .await
}

/// The state of one client's stream of a flow.
struct Listener {
    knock: Knock,
    room: Arc<Room>,
    flow: FlowId,
    /// The number of events the client has.
    seen: usize,
    is_over: bool,
}

impl Listener {
    /// Returns the next chunk of the stream; None when it is over.
    async fn next(mut self) -> Option<(std::result::Result<Bytes, Infallible>, Self)> {
        if self.is_over {
            return None;
        }
        loop {
            let (wake, woken) = tokio::sync::oneshot::channel();
            let _listening = self.room.waits.listen_to_all(move || {
                let _ = wake.send(());
            });
            // Subscribed first, so earlier events are seen here.
            let (events, is_over) = look(self.knock.clone(), self.flow, self.seen).await.ok()?;
            self.is_over = is_over;
            if !events.is_empty() || is_over {
                let text: String = events.iter().zip(self.seen + 1..).map(told).collect();
                self.seen += events.len();
                return Some((Ok(text.into()), self));
            }
            tokio::select! {
                _ = woken => {}
                () = tokio::time::sleep(HEARTBEAT) => {
                    return Some((Ok(Bytes::from_static(b": still here\n\n")), self));
                }
                () = self.knock.hall.ending() => return None,
            }
        }
    }
}

fn told((event, number): (&wire::FlowEvent, usize)) -> String {
    let data = serde_json::to_string(event).unwrap_or_default();
    format!("id: {number}\nevent: {}\ndata: {data}\n\n", event.event)
}
