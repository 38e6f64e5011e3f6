//! HTTP API for flows (executions of workflows): their state, their history, and their events as a stream.

use super::auth::{IncomingRequest, RequestContext};
use super::events::last_seen;
use super::gates::ReasonBody;
use super::health::blocking;
use super::openapi::{OperationDescription, OperationSchemas, SchemaCollector};
use super::paging::limit;
use super::problem::ErrorResponse;
use super::route::{
    EmptyInput, OperationInput, OperationTable, OperationVerb, SPACE, read_request,
};
use super::state::{AppState, SpaceState};
use super::time::rfc3339;
use crate::wire;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use sayso_core::FlowId;
use sayso_core::flow::{Flow, FlowLogEvent};
use sayso_engine::{FlowFilter, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// The interval of heartbeats on a silent stream.
const HEARTBEAT: Duration = Duration::from_secs(15);

pub(super) fn operations(table: OperationTable) -> OperationTable {
    let described = OperationDescription {
        verb: OperationVerb::Get,
        path: format!("{SPACE}/flows/{{flow}}/events"),
        name: "streamFlow",
        says: "What happens to a flow, from its beginning, as it happens. Server-sent events: the id counts them, \
            the event is flow:started, agent:completed, input:requested, input:received, phase:entered or \
            flow:ended. Goes on behind the header `Last-Event-ID`, and ends with the flow.",
        shapes,
    };
    table
        .add(OperationVerb::Get, "/flows", LIST, list)
        .add(OperationVerb::Get, "/flows/{flow}", SHOW, show)
        .add(OperationVerb::Post, "/flows/{flow}/cancel", CANCEL, cancel)
        .with(described, get(listen))
}

type FlowOperationDoc = (&'static str, &'static str);
const LIST: FlowOperationDoc =
    ("listFlows", "Flows, newest first, a page at a time: those under way, or all.");
const SHOW: FlowOperationDoc = ("showFlow", "A flow, with everything that happened to it.");
const CANCEL: FlowOperationDoc = ("cancelFlow", "Takes a flow back; what it asked is withdrawn.");

fn shapes(schemas: &mut SchemaCollector) -> OperationSchemas {
    let event = schemas.answer::<wire::FlowEvent>();
    let event = &event["application/json"]["schema"];
    OperationSchemas {
        query: schemas.parameters::<EmptyInput>(),
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

fn list(
    at: &RequestContext,
    asked: OperationInput<0, ListFlows, EmptyInput>,
) -> Result<wire::PageJson<wire::FlowJson>> {
    check_may_look(at)?;
    let ListFlows { all, workflow, after, limit: most } = asked.query;
    let after = after.map(|name| at.desk.find_flow(&name)).transpose()?;
    let found =
        at.desk.flows(&FlowFilter { all, over: false, workflow, after, limit: limit(most)? })?;
    let last = found.items.last().map(|flow| flow.started.id.to_string());
    let items = found.items.iter().map(|flow| told_of(at, flow)).collect::<Result<_>>()?;
    Ok(wire::PageJson { items, next: last.filter(|_| found.more) })
}

fn show(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, EmptyInput>,
) -> Result<wire::FlowDetail> {
    check_may_look(at)?;
    let id = at.desk.find_flow(&asked.names[0])?;
    let (flow, history) = (at.desk.flow(id)?, at.desk.flow_history(id)?);
    let stands = at.desk.flow_status(&flow)?;
    Ok(wire::FlowDetail::of(&flow, &stands, &history, &|gate| at.desk.gate(gate).ok(), &rfc3339))
}

fn told_of(at: &RequestContext, flow: &Flow) -> Result<wire::FlowJson> {
    Ok(wire::FlowJson::of(flow, &at.desk.flow_status(flow)?, &rfc3339))
}

fn cancel(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, ReasonBody>,
) -> Result<wire::FlowJson> {
    at.check("cancel_flow")?;
    let id = at.desk.find_flow(&asked.names[0])?;
    let flow = at.desk.cancel_flow(&at.actor, id, &asked.body.reason)?;
    told_of(at, &flow)
}

/// Checks that the caller may read flows. The work of others is not visible to an agent.
fn check_may_look(at: &RequestContext) -> Result<()> {
    at.check("flows")
}

async fn listen(
    State(hall): State<Arc<AppState>>,
    request: Request,
) -> std::result::Result<Response, ErrorResponse> {
    let last = request.headers().get("last-event-id").cloned();
    let (knock, asked): (_, OperationInput<1, EmptyInput, EmptyInput>) =
        read_request(hall, request).await?;
    let seen = last_seen(last.as_ref())?.unwrap_or_default();
    let [name] = asked.names;
    let (room, flow) = begin(knock.clone(), name).await?;
    let seen = usize::try_from(seen).unwrap_or(usize::MAX);
    let listener = FlowStream { knock, room, flow, seen, is_over: false };
    let body = Body::from_stream(stream::unfold(listener, FlowStream::next));
    let headers = [(CONTENT_TYPE.as_str(), "text/event-stream"), ("x-accel-buffering", "no")];
    Ok((headers, body).into_response())
}

async fn begin(
    knock: IncomingRequest,
    name: String,
) -> std::result::Result<(Arc<SpaceState>, FlowId), ErrorResponse> {
    blocking(move || {
        let at = knock.authenticate()?;
        check_may_look(&at)?;
        let flow = at.desk.find_flow(&name)?;
        Ok((at.room, flow))
    })
    .await
}

/// Returns the events of a flow after those that a client has, and whether the flow is over.
async fn look(
    knock: IncomingRequest,
    flow: FlowId,
    seen: usize,
) -> std::result::Result<(Vec<wire::FlowEvent>, bool), ErrorResponse> {
    blocking(move || {
        let at = knock.authenticate()?;
        check_may_look(&at)?;
        let history = at.desk.flow_history(flow)?;
        let is_over = history.iter().any(|(_, event)| matches!(event, FlowLogEvent::Ended { .. }));
        let gate_of = |gate| at.desk.gate(gate).ok();
        Ok((wire::flow_events(flow, &history, seen, &gate_of, &rfc3339), is_over))
    })
    .await
}

/// The state of one client's stream of a flow.
struct FlowStream {
    knock: IncomingRequest,
    room: Arc<SpaceState>,
    flow: FlowId,
    /// The number of events the client has.
    seen: usize,
    is_over: bool,
}

impl FlowStream {
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
