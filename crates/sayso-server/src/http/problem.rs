//! Error responses: problem details (RFC 9457), with the codes that the command line has.

use super::pages;
use axum::extract::Path;
use axum::http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use sayso_core::{Code, CommandExit, Refusal};
use sayso_engine::{Error, is_of_known_token};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The media type of a problem.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// The reason why a request was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct ProblemDetails {
    /// The page about this kind of problem, on this server.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of problem, in a few words.
    pub title: String,
    /// The status of the response.
    pub status: u16,
    /// The problem in detail, naming the thing.
    pub detail: String,
    /// The stable error code.
    #[schemars(with = "String", regex(pattern = "^SAY[0-9]{3}$"))]
    pub code: Code,
    /// The next step to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The errors of a form, by the place of the value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub misfits: Vec<FieldErrorJson>,
}

/// A value in a form that does not fit the question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Misfit")]
pub struct FieldErrorJson {
    /// The place of the value, as a JSON pointer; empty for the form as a whole.
    pub at: String,
    /// The error, in words.
    pub words: String,
}

impl ProblemDetails {
    pub(super) fn of(error: &Error) -> Self {
        let code = error.code();
        Self {
            kind: format!("/errors/{}", code.as_str()),
            title: code.title().into(),
            status: status(code).as_u16(),
            detail: error.to_string(),
            code,
            hint: error.hint().map(str::to_owned),
            misfits: misfits(error),
        }
    }

    /// Converts it back to the refusal it stands for.
    pub fn into_refusal(self) -> Refusal {
        let misfits = self.misfits.into_iter();
        let misfits = misfits.map(|it| sayso_core::FieldError { at: it.at, words: it.words });
        let refusal = Refusal::new(self.code, self.detail);
        Refusal { hint: self.hint, misfits: misfits.collect(), ..refusal }
    }
}

fn misfits(error: &Error) -> Vec<FieldErrorJson> {
    match error {
        Error::Refused(refusal) => {
            let misfits = refusal.misfits.iter();
            misfits
                .map(|it| FieldErrorJson { at: it.at.clone(), words: it.words.clone() })
                .collect()
        }
        Error::Store(_) => vec![],
    }
}

/// Returns the HTTP status of a code.
pub(super) fn status(code: Code) -> StatusCode {
    match (code, code.exit()) {
        (Code::TooLarge, _) => StatusCode::PAYLOAD_TOO_LARGE,
        (Code::NotJson, _) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        (Code::TooManyGuesses | Code::TooManyAsks | Code::TooManyWrites, _) => {
            StatusCode::TOO_MANY_REQUESTS
        }
        (Code::TooSlow, _) => StatusCode::REQUEST_TIMEOUT,
        (Code::Busy, _) => StatusCode::SERVICE_UNAVAILABLE,
        (Code::DiskFull, _) => StatusCode::INSUFFICIENT_STORAGE,
        (Code::Failure, _) => StatusCode::INTERNAL_SERVER_ERROR,
        (_, CommandExit::Usage) => StatusCode::BAD_REQUEST,
        (_, CommandExit::NotFound) => StatusCode::NOT_FOUND,
        (_, CommandExit::Login) => StatusCode::UNAUTHORIZED,
        (_, CommandExit::NotAllowed) => StatusCode::FORBIDDEN,
        (
            _,
            CommandExit::Conflict
            | CommandExit::Rejected
            | CommandExit::Unanswered
            | CommandExit::Held,
        ) => StatusCode::CONFLICT,
        (_, CommandExit::TimedOut) => StatusCode::REQUEST_TIMEOUT,
        (_, CommandExit::OutcomeUnknown) => StatusCode::GATEWAY_TIMEOUT,
        (
            _,
            CommandExit::Ok
            | CommandExit::Error
            | CommandExit::Unreachable
            | CommandExit::AuditBroken
            | CommandExit::Unfinished
            | CommandExit::HungUp
            | CommandExit::Interrupted
            | CommandExit::Terminated,
        ) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// An error as a response.
pub(crate) struct ErrorResponse(pub(crate) Error);

impl From<Error> for ErrorResponse {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<Refusal> for ErrorResponse {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.into())
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let problem = ProblemDetails::of(&self.0);
        let status = status(problem.code);
        let mut response = problem.into_response(status);
        if let Error::Refused(Refusal { wait_secs: Some(secs), .. }) = &self.0 {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(*secs));
        }
        if is_of_known_token(&self.0) {
            response.extensions_mut().insert(KnownToken);
        }
        response
    }
}

/// Marks a response: the token is known but revoked or expired, so the throttle does not count it as a guess.
#[derive(Clone, Copy)]
pub(super) struct KnownToken;

impl ProblemDetails {
    fn into_response(self, status: StatusCode) -> Response {
        let problem = Self { status: status.as_u16(), ..self };
        let body = serde_json::to_string(&problem).unwrap_or_default();
        let mut response = (status, [(CONTENT_TYPE, PROBLEM_JSON)], body).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
        }
        response
    }
}

/// Answers a request to an unknown path: with a page for a browser, with a problem for a program.
pub(super) async fn no_such_page(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let shown = sayso_core::text::shorten(&sayso_core::text::sanitize_line(uri.path()), 100);
    let refusal = Refusal::new(Code::NotFound, format!("there is nothing at {shown}"));
    let accepts = headers.get(ACCEPT).and_then(|accepts| accepts.to_str().ok());
    let is_browser = accepts.is_some_and(|accepts| accepts.contains("text/html"));
    if is_browser && method.is_safe() {
        pages::no_such_page(refusal, &uri)
    } else {
        ErrorResponse::from(refusal.hint("what there is stands in /v1/openapi.json"))
            .into_response()
    }
}

/// Serves the page that a problem names as its type. No credential is needed to read what an error means.
pub(super) async fn page(Path(code): Path<String>) -> Result<Response, ErrorResponse> {
    let found = Code::ALL.iter().find(|known| known.as_str() == code);
    let Some(found) = found else {
        return Err(Refusal::new(Code::NotFound, "there is no such error").into());
    };
    let kind = HeaderValue::from_static("text/markdown; charset=utf-8");
    Ok(([(CONTENT_TYPE, kind)], found.page()).into_response())
}

/// Answers a request whose method the path does not take.
pub(super) async fn no_such_method(method: Method, uri: Uri) -> Response {
    let shown = sayso_core::text::shorten(&sayso_core::text::sanitize_line(uri.path()), 100);
    let refusal = Refusal::new(Code::BadValue, format!("{shown} does not take {method}"))
        .hint("what it takes stands in /v1/openapi.json");
    ProblemDetails::of(&refusal.into()).into_response(StatusCode::METHOD_NOT_ALLOWED)
}
