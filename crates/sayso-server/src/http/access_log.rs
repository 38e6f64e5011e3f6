//! Access log: each request, from its beginning to its end, is counted, written to the log, and exported as a span.
//!
//! A line of the log has the template of a path and never the path: what people and agents typed is in there,
//! and so may be a secret.

use super::parking::{ReceivedAt, RequestOrigin};
use super::state::AppState;
use super::trace_export::{RequestSpan, TraceParent};
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{Actor, GateId};
use sayso_engine::{CallDeadline, RuntimeEnv};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The header that names a request, in the response and in the log.
const REQUEST_ID: &str = "x-request-id";

/// The header with the time the caller waits, in milliseconds.
pub(crate) const TIMEOUT_HEADER: &str = "sayso-timeout-ms";

/// The most of a name that is logged.
const NAME_CHARS_MAX: usize = 80;

tokio::task_local! {
    static VISIT: Arc<RequestRecord>;
}

/// The facts that become known of a request while it is served.
#[derive(Default)]
struct RequestRecord {
    actor: OnceLock<String>,
    gate: OnceLock<GateId>,
    call: OnceLock<String>,
    deadline: CallDeadline,
}

/// Notes that the caller is gone when the request is dropped with its connection.
struct DisconnectGuard(CallDeadline);

impl Drop for DisconnectGuard {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

/// Returns the deadline of this request: the time its caller waits.
pub(super) fn deadline() -> Option<CallDeadline> {
    VISIT.try_with(|visit| visit.deadline.clone()).ok()
}

fn deadline_of(request: &Request<Body>) -> CallDeadline {
    let limit = request.headers().get(TIMEOUT_HEADER).and_then(|value| value.to_str().ok());
    CallDeadline::after(limit.and_then(|ms| ms.trim().parse().ok()).map(Duration::from_millis))
}

/// Wraps work for another thread, where it belongs to the same request.
pub(super) fn for_this_request<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let visit = VISIT.try_with(Arc::clone).ok();
    move || match visit {
        Some(visit) => VISIT.sync_scope(visit, work),
        None => work(),
    }
}

/// Notes the actor of the request.
pub(super) fn note_actor(actor: &Actor) {
    let name = || {
        let name = format!("{} {}", actor.role.as_str(), actor.name);
        shorten(&sanitize_line(&name), NAME_CHARS_MAX)
    };
    // The first authentication counts; a held request is authenticated again.
    let _ = VISIT.try_with(|visit| visit.actor.set(name()));
}

/// Notes the gate of the request.
pub(super) fn note_gate(gate: GateId) {
    let _ = VISIT.try_with(|visit| visit.gate.set(gate));
}

/// Notes the name of the remote call. Only of one that succeeded: a client can make up any number of names.
pub(super) fn note_call(call: String) {
    let _ = VISIT.try_with(|visit| visit.call.set(call));
}

/// Serves a request and records its outcome.
pub(super) async fn log_request(
    State(hall): State<Arc<AppState>>,
    mut request: Request<Body>,
    next: Next,
) -> Response {
    // A parked request is served a second time, and is still the one that came.
    let came =
        request.extensions().get().and_then(RequestOrigin::came).unwrap_or_else(ReceivedAt::now);
    request.extensions_mut().insert(came);
    let method = name_of(request.method());
    let template = request.extensions().get::<MatchedPath>();
    let template = template.map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned());
    let parent = TraceParent::of(request.headers());
    // One of the 2^64 is as good as another, and none is zero.
    let id = (RuntimeEnv::real().random_u128() as u64).max(1);
    let deadline = deadline_of(&request);
    let leaving = DisconnectGuard(deadline.clone());
    let visit = Arc::new(RequestRecord { deadline, ..RequestRecord::default() });
    let mut response = VISIT.scope(visit.clone(), next.run(request)).await;
    drop(leaving);
    let span = visit.ended(RequestSpan {
        id,
        parent,
        method,
        route: template,
        status: response.status().as_u16(),
        actor: "nobody".into(),
        gate: None,
        began_at: came.began_at,
        took: came.began.elapsed(),
    });
    hall.meter().note(method, &span.route, span.status, span.took);
    let id = format!("{id:016x}");
    write_log_line(&span, &id);
    if let Some(traces) = hall.traces() {
        traces.send(span);
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

impl RequestRecord {
    /// Completes the span of a request, with all that became known while it was served.
    fn ended(&self, mut span: RequestSpan) -> RequestSpan {
        if let Some(call) = self.call.get() {
            span.route = span.route.replace("{call}", call);
        }
        if let Some(actor) = self.actor.get() {
            span.actor.clone_from(actor);
        }
        span.gate = self.gate.get().map(GateId::to_string);
        span
    }
}

/// Writes one line of the log.
fn write_log_line(span: &RequestSpan, request: &str) {
    let RequestSpan { method, route, status, actor, parent, took, .. } = span;
    let trace = parent.as_ref().map_or("none", |parent| parent.trace.as_str());
    let ms = took.as_millis() as u64;
    // The level of a line is fixed where it is written.
    match (status, is_quiet(route)) {
        (500.., _) => tracing::warn!(method, route, status, ms, actor, request, trace, "request"),
        (_, true) => tracing::debug!(method, route, status, ms, actor, request, trace, "request"),
        (_, false) => tracing::info!(method, route, status, ms, actor, request, trace, "request"),
    }
}

/// True if machines ask for it every few seconds.
fn is_quiet(route: &str) -> bool {
    route.starts_with("/health/") || route == "/metrics"
}

/// Returns the name of a method. A caller can make up any number of others, so only these have one.
fn name_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "OTHER",
    }
}
