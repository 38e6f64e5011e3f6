//! Admission of requests: what every request passes before its handler runs. The credential is checked before the
//! body is read, the body is read as a whole and within a time limit, and only a whole request takes room from
//! others.

use super::connection_limit::LossReason;
use super::health::blocking;
use super::parking::RequestOrigin;
use super::problem::ErrorResponse;
use super::request_lanes::{MemoryPermit, RequestLane, overloaded, unkept};
use super::session;
use super::state::{AppState, RequestCredential, no_credential};
use super::turnstile::{self, LoginTurn};
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequestParts, MatchedPath, RawPathParams, Request, State};
use axum::http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sayso_core::{Code, Refusal};
use std::sync::Arc;
use std::time::Duration;

/// The time limit for a body to arrive.
const BODY_PATIENCE: Duration = Duration::from_secs(20);

/// The same limit for a client that has shown no credential.
const STRANGERS_PATIENCE: Duration = Duration::from_secs(10);

/// The longest body, by the kind of route.
const BODY_BYTES_MAX: usize = 1024 * 1024;
const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
const MCP_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The longest body from a client that has shown no credential: a name and a passphrase, or the assertion of a
/// passkey.
const STRANGERS_BYTES_MAX: usize = 64 * 1024;

/// A request that was admitted.
struct AdmittedRequest {
    request: Request<Body>,
    lane: RequestLane,
    /// True if the request can be sent again without a second effect.
    may_repeat: bool,
    arrival: Option<RequestOrigin>,
    /// The memory of its body, held until it is answered.
    _memory: Option<MemoryPermit>,
    /// Of one who logs in.
    _turn: Option<LoginTurn>,
}

pub(super) async fn admit(
    State(hall): State<Arc<AppState>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    match admit_request(&hall, request).await {
        Ok(AdmittedRequest { request, lane, may_repeat, arrival, _memory, _turn }) => {
            let response = lane.scope(next.run(request)).await;
            within_memory(response, lane, may_repeat, arrival.as_ref())
        }
        Err(failed) => {
            // The rest of the request is not read.
            let mut response = failed.into_response();
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            response
        }
    }
}

async fn admit_request(
    hall: &Arc<AppState>,
    request: Request<Body>,
) -> Result<AdmittedRequest, ErrorResponse> {
    let (mut parts, body) = request.into_parts();
    let arrival = parts.extensions.get::<RequestOrigin>().cloned();
    let lane = lane(hall, &mut parts).await?;
    let _turn = match lane {
        RequestLane::Logins => Some(turnstile::enter(&parts.extensions)?),
        RequestLane::People
        | RequestLane::Agents
        | RequestLane::Programs
        | RequestLane::Strangers
        | RequestLane::Streams => None,
    };
    // A parked request was admitted before; it continues to wait, or has its answer.
    let is_back = arrival.as_ref().and_then(RequestOrigin::came).is_some();
    if !is_back {
        check_load(&parts, lane, arrival.as_ref())?;
    }
    let (body, _memory) = if has_body(&parts.headers) && is_known(&parts) {
        let (bytes, memory) = whole(&parts, body, lane, arrival.as_ref()).await?;
        (Body::from(bytes), memory)
    } else {
        (body, None)
    };
    // A client that has shown no credential stays a newcomer, also while its response is delayed.
    if let Some(arrival) = arrival.as_ref().filter(|_| lane.is_known()) {
        arrival.is_whole();
    }
    // A remote call has an idempotency key, and is executed once.
    let may_repeat = parts.method.is_safe() || template(&parts).starts_with("/line/");
    let request = Request::from_parts(parts, body);
    Ok(AdmittedRequest { request, lane, may_repeat, arrival, _memory, _turn })
}

/// Returns the lane of a request. If it has a body, its credential is checked here, and refused if it is wrong.
async fn lane(hall: &Arc<AppState>, parts: &mut Parts) -> Result<RequestLane, ErrorResponse> {
    if is_login(parts) {
        return Ok(RequestLane::Logins);
    }
    let Some(space) = space(parts).await else { return Ok(RequestLane::Strangers) };
    let needs_one = has_body(&parts.headers) && !is_public(parts);
    match session::credential(hall, parts, &space) {
        Some(credential) => match lane_of_credential(hall, space, credential).await {
            Ok(lane) => Ok(lane),
            Err(failed) if needs_one => Err(failed),
            // The handler that uses it refuses it, in the words for that.
            Err(_) => Ok(RequestLane::Strangers),
        },
        None if needs_one => Err(no_credential().into()),
        None => Ok(RequestLane::Strangers),
    }
}

/// Returns the lane of a credential: from the cache if it was good before, and then it is checked again by the call
/// that uses it.
async fn lane_of_credential(
    hall: &Arc<AppState>,
    space: String,
    credential: RequestCredential,
) -> Result<RequestLane, ErrorResponse> {
    if let Some(role) = hall.cached_role(&space, &credential) {
        return Ok(RequestLane::of(role));
    }
    let hall = hall.clone();
    let judged = blocking(move || hall.role_of(&space, &credential));
    Ok(RequestLane::of(RequestLane::Strangers.scope(judged).await?))
}

/// Returns the space that a path names.
async fn space(parts: &mut Parts) -> Option<String> {
    let names = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    let (_, space) = names.iter().find(|(name, _)| *name == "space")?;
    Some(space.to_owned())
}

/// True if a route matches the path.
fn is_known(parts: &Parts) -> bool {
    parts.extensions.get::<MatchedPath>().is_some()
}

fn template(parts: &Parts) -> &str {
    parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str)
}

/// True if the request is a login, from a client without a credential.
fn is_login(parts: &Parts) -> bool {
    let path = parts.uri.path();
    let is_of_browser = is_public(parts) && !path.ends_with("/unlock") && parts.method == "POST";
    let is_of_program = template(parts).starts_with("/line/")
        && (path.ends_with("/log_in") || path.ends_with("/join"));
    is_of_browser || is_of_program
}

/// True if a client with no credential, or an old one, may send a body.
fn is_public(parts: &Parts) -> bool {
    template(parts).starts_with("/session/")
}

fn has_body(headers: &HeaderMap) -> bool {
    let is_empty = headers.get(CONTENT_LENGTH).is_none_or(|length| length == "0");
    !is_empty || headers.contains_key(TRANSFER_ENCODING)
}

/// Sheds requests that would only queue (load shedding). Reads and held requests are admitted as long as there is
/// room.
fn check_load(
    parts: &Parts,
    lane: RequestLane,
    arrival: Option<&RequestOrigin>,
) -> Result<(), Refusal> {
    let path = parts.uri.path();
    let is_wait = path.ends_with("/wait") || path.ends_with("/changes");
    if !parts.method.is_safe() && !is_wait {
        lane.check_depth()?;
    }
    match (lane, arrival) {
        (
            RequestLane::People
            | RequestLane::Logins
            | RequestLane::Strangers
            | RequestLane::Streams,
            _,
        )
        | (_, None) => Ok(()),
        (RequestLane::Agents | RequestLane::Programs, Some(arrival)) => {
            if arrival.connections().is_crowded() {
                arrival.connections().note(LossReason::Full);
                Err(overloaded())
            } else {
                Ok(())
            }
        }
    }
}

/// Reads a whole body, and reserves the memory it takes.
async fn whole(
    parts: &Parts,
    body: Body,
    lane: RequestLane,
    arrival: Option<&RequestOrigin>,
) -> Result<(Bytes, Option<MemoryPermit>), ErrorResponse> {
    let (most, patience) = match template(parts) {
        _ if !lane.is_known() => (STRANGERS_BYTES_MAX, STRANGERS_PATIENCE),
        path if path.starts_with("/line/") => (LINE_BYTES_MAX, BODY_PATIENCE),
        path if path.starts_with("/mcp/") => (MCP_BYTES_MAX, BODY_PATIENCE),
        _ => (BODY_BYTES_MAX, BODY_PATIENCE),
    };
    // A body without a declared length may be as long as any.
    let said = body.size_hint().exact().and_then(|len| usize::try_from(len).ok());
    let bytes = said.unwrap_or(most);
    if bytes > most {
        return Err(too_large(most).into());
    }
    let memory = lane.memory(bytes)?;
    match tokio::time::timeout(patience, axum::body::to_bytes(body, most)).await {
        Ok(Ok(bytes)) => Ok((bytes, memory)),
        Ok(Err(_)) => Err(too_large(most).into()),
        Err(_) => {
            if let Some(arrival) = arrival {
                arrival.connections().note(LossReason::Slow);
            }
            let message =
                format!("the body of the request did not arrive within {} s", patience.as_secs());
            Err(Refusal::new(Code::TooSlow, message)
                .hint("nothing was done; send it again, over a better connection")
                .into())
        }
    }
}

/// Reserves memory for a long response, which stays in memory until it is read. Each lane has a limit of its own.
fn within_memory(
    response: Response,
    lane: RequestLane,
    may_repeat: bool,
    arrival: Option<&RequestOrigin>,
) -> Response {
    let bytes = response.body().size_hint().exact().and_then(|len| usize::try_from(len).ok());
    // Strangers get responses that are the same for all, which take no memory.
    let Some(arrival) = arrival.filter(|_| lane.is_known()) else { return response };
    match lane.memory(bytes.unwrap_or_default()) {
        Ok(None) => response,
        Ok(Some(memory)) => {
            arrival.keep(memory);
            response
        }
        Err(_) if may_repeat && response.status().is_success() => {
            ErrorResponse::from(unkept()).into_response()
        }
        Err(_) => response,
    }
}

pub(super) fn too_large(most: usize) -> Refusal {
    Refusal::new(Code::TooLarge, format!("a request has at most {most} bytes"))
        .hint("put the long part in a file of the project and name it")
}
