//! Remote calls (RPC): the protocol between sayso's own programs and a desk that is here. The calls are the desk's
//! own; they are no stable interface for others, who have the API.

use super::access_log;
use super::auth_throttle::PeerAddress;
use super::health::blocking;
use super::parking::{ChangeSubscription, RequestHold};
use super::problem::ErrorResponse;
use super::session::space_or_refusal;
use super::state::{AppState, RequestCredential, SpaceState};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Extensions, HeaderMap};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use sayso_core::{Actor, Code, GateId, Refusal};
use sayso_engine::{
    CallEnvelope, LINE_VERSION, LoginClient, Result, SpaceChanges, WaitOutcome, bad_code,
    bad_passphrase, take_call,
};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The header with the version of the protocol, so that another server's response is not taken for ours.
pub(crate) const LINE_HEADER: &str = "sayso-line";

/// The most a call may carry: what a command line may read from a file.
const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The longest time a call is held.
const HOLD_MAX: Duration = Duration::from_secs(60);

pub(super) fn routes() -> Router<Arc<AppState>> {
    Router::new()
        .route("/line/{space}/{call}", post(call))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

async fn call(
    State(hall): State<Arc<AppState>>,
    Path((space, call)): Path<(String, String)>,
    parking: RequestHold,
    extensions: Extensions,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (secret, name) = (RequestCredential::of_program(&headers), call.clone());
    let answer = match call.as_str() {
        "wait" => wait(hall, space, secret, body, parking).await,
        "changes" => changes(hall, space, secret, body, parking).await,
        "log_in" | "join" => {
            let from = PeerAddress::place_of(&extensions);
            blocking(move || let_in(&hall, &space, &call, &from, &body)).await
        }
        _ => blocking(move || take(&hall, &space, secret.as_ref(), &call, &body)).await,
    };
    if answer.is_ok() {
        access_log::note_call(name);
    }
    let line = (LINE_HEADER, LINE_VERSION.to_string());
    match answer {
        Ok(json) => ([line], [(CONTENT_TYPE, "application/json".to_owned())], json).into_response(),
        Err(failed) => ([line], failed).into_response(),
    }
}

fn take(
    hall: &AppState,
    space: &str,
    secret: Option<&RequestCredential>,
    call: &str,
    body: &[u8],
) -> Result<String> {
    let (room, caller) = hall.authenticate(space, secret)?;
    let handed: CallEnvelope<&RawValue> = read(body)?;
    let (claim, request) = (handed.claim.as_ref(), handed.request.as_deref());
    take_call(&room.desk, &caller, claim, request, call, handed.with.get())
}

/// Logs in a caller without a credential, by a passphrase or an invitation code. All wrong ones get the same
/// response, which does not tell whether there is such a space or person.
fn let_in(hall: &AppState, space: &str, call: &str, from: &str, body: &[u8]) -> Result<String> {
    let room = hall.room(space);
    let minted = match call {
        "join" => {
            let (code, name, passphrase): (String, String, String) =
                read::<CallEnvelope<_>>(body)?.with;
            space_or_refusal(room, bad_code)?.desk.join(
                &code,
                &name,
                &passphrase,
                LoginClient::Program,
            )?
        }
        _ => {
            let (name, passphrase): (String, String) = read::<CallEnvelope<_>>(body)?.with;
            space_or_refusal(room, bad_passphrase)?.desk.log_in(
                &name,
                &passphrase,
                from,
                LoginClient::Program,
            )?
        }
    };
    written(&minted)
}

/// Waits for a gate without a thread: the row is the truth, a wake-up only shortens the wait.
async fn wait(
    hall: Arc<AppState>,
    space: String,
    secret: Option<RequestCredential>,
    body: Bytes,
    parking: RequestHold,
) -> std::result::Result<String, ErrorResponse> {
    let CallEnvelope { with: (id, hold), .. }: CallEnvelope<(GateId, Duration)> = read(&body)?;
    access_log::note_gate(id);
    let parking = parking.with(&body);
    let until = parking.until(hold.min(HOLD_MAX));
    loop {
        let (hall_here, space, secret) = (hall.clone(), space.clone(), secret.clone());
        // A caller that lost its credential during the wait is refused.
        let look = move || {
            let (room, caller) = hall_here.authenticate(&space, secret.as_ref())?;
            // Subscribes first and reads second: a change in between wakes, too.
            let woken = ChangeSubscription::by(&room.waits, id);
            Ok((room.desk.gate_for(&caller.actor, id)?, woken))
        };
        let (gate, woken) = blocking(look).await?;
        if !gate.is_open() {
            return Ok(written(&WaitOutcome::Ended(Box::new(gate)))?);
        }
        if Instant::now() >= until || hall.is_ending() {
            return Ok(written(&WaitOutcome::TimedOut(Box::new(gate)))?);
        }
        // The gate is not needed while the request waits, and many may wait.
        drop(gate);
        parking.wait(&hall, &woken, None, until).await;
    }
}

/// Returns the changes of the space after an audit entry, as soon as there are any.
async fn changes(
    hall: Arc<AppState>,
    space: String,
    secret: Option<RequestCredential>,
    body: Bytes,
    parking: RequestHold,
) -> std::result::Result<String, ErrorResponse> {
    let CallEnvelope { with: (seen, hold), .. }: CallEnvelope<(Option<u64>, Duration)> =
        read(&body)?;
    let parking = parking.with(&body);
    let until = parking.until(hold.min(HOLD_MAX));
    loop {
        let (room, actor) = authenticate(&hall, &space, &secret).await?;
        let woken = ChangeSubscription::by_all(&room.waits);
        let changes = blocking(move || room.desk.changes_for(&actor, seen)).await?;
        let is_news = seen != Some(changes.seen);
        if is_news || Instant::now() >= until || hall.is_ending() {
            return Ok(written::<SpaceChanges>(&changes)?);
        }
        parking.wait(&hall, &woken, None, until).await;
    }
}

async fn authenticate(
    hall: &Arc<AppState>,
    space: &str,
    secret: &Option<RequestCredential>,
) -> std::result::Result<(Arc<SpaceState>, Actor), ErrorResponse> {
    let (hall, space, secret) = (hall.clone(), space.to_owned(), secret.clone());
    blocking(move || {
        let (room, caller) = hall.authenticate(&space, secret.as_ref())?;
        Ok((room, caller.actor))
    })
    .await
}

fn read<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|e| {
        let message = format!("the call cannot be read: {e}");
        Refusal::new(Code::BadValue, message).hint("is the program as old as the server?").into()
    })
}

fn written<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|e| Refusal::new(Code::Failure, format!("it cannot be written: {e}")).into())
}
