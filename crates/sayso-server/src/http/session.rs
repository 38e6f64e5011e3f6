//! Sessions of browsers. The credential is in a cookie that no script reads and no other site sends. But cookies are
//! not scoped to a port, and another port of the host may be an agent's: so a cookie alone grants read access. A
//! write also needs the CSRF token that was issued at the login and is kept where only pages of this very origin find
//! it.

use super::auth::IncomingRequest;
use super::auth_throttle::PeerAddress;
use super::health::blocking;
use super::passkeys::{self, SignedChallenge};
use super::problem::ErrorResponse;
use super::route::{EmptyInput, OperationInput, RequestInput, read_request};
use super::state::{AppState, CsrfToken, RequestCredential, SpaceState};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use sayso_core::{Code, Digest, EntryPoint, Refusal};
use sayso_engine::{IssuedToken, LoginClient, Result, bad_code, bad_passkey, bad_passphrase};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The header with the CSRF token.
const WORD: &str = "sayso-word";

/// The time for which a browser keeps the cookie; the login behind it expires by itself.
const KEPT_SECONDS: u32 = 30 * 24 * 3_600;

pub(super) fn routes() -> Router<Arc<AppState>> {
    Router::new()
        .route("/session/{space}", post(log_in).delete(log_out))
        .route("/session/{space}/join", post(join))
        .route("/session/{space}/code", post(by_code))
        .route("/session/{space}/touch/begin", post(begin_touch))
        .route("/session/{space}/touch", post(by_touch))
        .route("/session/{space}/unlock", post(unlock).delete(lock))
}

/// Reads the credential of a request: a program's token, or a browser's cookie. A write from a browser needs the CSRF
/// token.
pub(super) fn credential(hall: &AppState, parts: &Parts, space: &str) -> Option<RequestCredential> {
    if parts.headers.contains_key(AUTHORIZATION) {
        return RequestCredential::of_program(&parts.headers);
    }
    let credential = of_browser(hall, &parts.headers, space)?;
    let said = parts.headers.get(WORD).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let word = if parts.method.is_safe() {
        CsrfToken::NotNeeded
    } else {
        CsrfToken::Sent(said.to_owned())
    };
    Some(RequestCredential { csrf_token: word, ..credential })
}

/// Reads the cookie of a browser.
pub(super) fn of_browser(
    hall: &AppState,
    headers: &HeaderMap,
    space: &str,
) -> Option<RequestCredential> {
    let name = cookie_name(hall, space);
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|all| all.split(';')).filter_map(|pair| pair.split_once('='));
    let (_, secret) = pairs.find(|(key, _)| key.trim() == name)?;
    let secret = secret.trim().to_owned();
    Some(RequestCredential { secret, door: EntryPoint::Web, csrf_token: CsrfToken::NotNeeded })
}

/// Returns the name of the cookie. A name with this prefix is accepted by browsers only from this very host, and only
/// by TLS. Without TLS they would not accept it at all, so on this machine it is a plain one.
fn cookie_name(hall: &AppState, space: &str) -> String {
    let prefix = if hall.is_secure() { "__Host-sayso-" } else { "sayso-" };
    // The name of a space may have letters that a cookie's must not have.
    let digest = Digest::of_bytes(space.as_bytes()).to_string();
    let digest: String = digest.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{prefix}{}", &digest[digest.len() - 16..])
}

fn cookie(hall: &AppState, space: &str, secret: &str, seconds: u32) -> String {
    let name = cookie_name(hall, space);
    let secure = if hall.is_secure() { "; Secure" } else { "" };
    format!("{name}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

type SessionResult = std::result::Result<Response, ErrorResponse>;

/// A name and a passphrase.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LogInBody {
    name: String,
    passphrase: String,
}

async fn log_in(State(hall): State<Arc<AppState>>, request: Request<Body>) -> SessionResult {
    let from = PeerAddress::place_of(request.extensions());
    let_in(hall, request, move |room, LogInBody { name, passphrase }| {
        space_or_refusal(room, bad_passphrase)?.desk.log_in(
            &name,
            &passphrase,
            &from,
            LoginClient::Browser,
        )
    })
    .await
}

/// An invitation code, and the name and passphrase of the new person.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct JoinBody {
    code: String,
    name: String,
    passphrase: String,
}

async fn join(State(hall): State<Arc<AppState>>, request: Request<Body>) -> SessionResult {
    let_in(hall, request, |room, JoinBody { code, name, passphrase }| {
        space_or_refusal(room, bad_code)?.desk.join(&code, &name, &passphrase, LoginClient::Browser)
    })
    .await
}

/// A login code from the person's own terminal.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CodeLogInBody {
    code: String,
}

async fn by_code(State(hall): State<Arc<AppState>>, request: Request<Body>) -> SessionResult {
    let_in(hall, request, |room, CodeLogInBody { code }| {
        space_or_refusal(room, bad_code)?.desk.log_in_by_entry(&code)
    })
    .await
}

async fn begin_touch(State(hall): State<Arc<AppState>>, request: Request<Body>) -> SessionResult {
    let from = PeerAddress::place_of(request.extensions());
    let (knock, _): (IncomingRequest, OperationInput<0, EmptyInput, EmptyInput>) =
        read_request(hall, request).await?;
    let begun = blocking(move || {
        let room = space_or_refusal(knock.hall.room(&knock.space), bad_passkey)?;
        passkeys::begin_login(&room.desk, knock.hall.webauthn(), &from)
    });
    said(&json!(begun.await?))
}

async fn by_touch(State(hall): State<Arc<AppState>>, request: Request<Body>) -> SessionResult {
    let relying = hall.clone();
    let_in(hall, request, move |room, touched: SignedChallenge| {
        passkeys::finish_login(
            &space_or_refusal(room, bad_passkey)?.desk,
            relying.webauthn(),
            touched,
        )
    })
    .await
}

/// Logs in a caller without a credential. The response to a wrong one does not tell whether there is such a space or
/// person.
async fn let_in<B: RequestInput>(
    hall: Arc<AppState>,
    request: Request<Body>,
    work: impl FnOnce(Result<Arc<SpaceState>>, B) -> Result<IssuedToken> + Send + 'static,
) -> SessionResult {
    let (knock, asked): (IncomingRequest, OperationInput<0, EmptyInput, B>) =
        read_login_request(hall, request).await?;
    let (hall, space) = (knock.hall.clone(), knock.space.clone());
    let minted = blocking(move || work(knock.hall.room(&knock.space), asked.body)).await?;
    let mut response = said(&json!({"name": minted.token.name, "word": minted.word}))?;
    keep(&mut response, &cookie(&hall, &space, &minted.secret, KEPT_SECONDS))?;
    Ok(response)
}

/// Reads a login request without its cookie: an old one has a CSRF token that the page cannot know.
async fn read_login_request<B: RequestInput>(
    hall: Arc<AppState>,
    mut request: Request<Body>,
) -> std::result::Result<(IncomingRequest, OperationInput<0, EmptyInput, B>), ErrorResponse> {
    request.headers_mut().remove(COOKIE);
    read_request(hall, request).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UnlockBody {
    passphrase: String,
}

/// Checks the passphrase again, for actions that need more than a cookie.
async fn unlock(State(hall): State<Arc<AppState>>, request: Request<Body>) -> SessionResult {
    let (knock, asked): (IncomingRequest, OperationInput<0, EmptyInput, UnlockBody>) =
        read_request(hall, request).await?;
    let until = blocking(move || {
        let at = knock.authenticate()?;
        at.caller.unlock(&at.local, &asked.body.passphrase)
    });
    let until = super::time::rfc3339(until.await?);
    said(&json!({"until": until}))
}

/// Ends that proof, for a person who leaves their desk.
async fn lock(State(hall): State<Arc<AppState>>, request: Request<Body>) -> SessionResult {
    let (knock, _): (IncomingRequest, OperationInput<0, EmptyInput, EmptyInput>) =
        read_request(hall, request).await?;
    let locked = blocking(move || {
        let at = knock.authenticate()?;
        at.caller.lock(&at.local)
    });
    locked.await?;
    said(&json!({}))
}

async fn log_out(State(hall): State<Arc<AppState>>, request: Request<Body>) -> SessionResult {
    let (knock, _): (IncomingRequest, OperationInput<0, EmptyInput, EmptyInput>) =
        read_request(hall, request).await?;
    let gone = cookie(&knock.hall, &knock.space, "", 0);
    let ended = blocking(move || {
        let at = knock.authenticate()?;
        at.caller.log_out(&at.local)
    });
    let mut response = match ended.await {
        Ok(()) => said(&json!({}))?,
        // A cookie that is not valid any more is removed all the same.
        Err(failed) => failed.into_response(),
    };
    keep(&mut response, &gone)?;
    Ok(response)
}

/// Returns the space, or the other refusal: the caller may not learn whether there is one.
pub(super) fn space_or_refusal(
    room: Result<Arc<SpaceState>>,
    otherwise: fn() -> Refusal,
) -> Result<Arc<SpaceState>> {
    room.map_err(|error| match error.code() {
        Code::NoSpace => otherwise().into(),
        _ => error,
    })
}

fn said(value: &Value) -> SessionResult {
    Ok(axum::Json(value).into_response())
}

fn keep(response: &mut Response, cookie: &str) -> std::result::Result<(), ErrorResponse> {
    let value = HeaderValue::from_str(cookie)
        .map_err(|_| Refusal::new(Code::Failure, "the session cannot be written"))?;
    response.headers_mut().append(SET_COOKIE, value);
    Ok(())
}
