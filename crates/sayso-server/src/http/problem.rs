//! How a server says no: problem details (RFC 9457), with the codes the command line has.

use axum::extract::Path;
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use sayso_core::{Code, Exit, Refusal};
use sayso_engine::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The media type of a problem.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// Why a request was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The page about this sort of problem, on this server.
    #[serde(rename = "type")]
    pub kind: String,
    /// What sort of problem, in a few words.
    pub title: String,
    /// The status of the response.
    pub status: u16,
    /// What happened, naming the thing.
    pub detail: String,
    /// The stable number.
    #[schemars(with = "String", regex(pattern = "^SAY[0-9]{3}$"))]
    pub code: Code,
    /// What to do now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    pub(super) fn of(error: &Error) -> Self {
        let code = error.code();
        Self {
            kind: format!("/errors/{}", code.as_str()),
            title: code.title().into(),
            status: status(code).as_u16(),
            detail: error.to_string(),
            code,
            hint: error.hint().map(str::to_owned),
        }
    }

    /// The refusal it stands for.
    pub fn into_refusal(self) -> Refusal {
        Refusal { code: self.code, message: self.detail, hint: self.hint }
    }
}

/// What a response says of a code.
pub(super) fn status(code: Code) -> StatusCode {
    match (code, code.exit()) {
        (Code::TooLarge, _) => StatusCode::PAYLOAD_TOO_LARGE,
        (Code::NotJson, _) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        (Code::TooManyGuesses | Code::TooManyAsks, _) => StatusCode::TOO_MANY_REQUESTS,
        (Code::Busy, _) => StatusCode::SERVICE_UNAVAILABLE,
        (Code::DiskFull, _) => StatusCode::INSUFFICIENT_STORAGE,
        (Code::Failure, _) => StatusCode::INTERNAL_SERVER_ERROR,
        (_, Exit::Usage) => StatusCode::BAD_REQUEST,
        (_, Exit::NotFound) => StatusCode::NOT_FOUND,
        (_, Exit::Login) => StatusCode::UNAUTHORIZED,
        (_, Exit::NotAllowed) => StatusCode::FORBIDDEN,
        (_, Exit::Conflict | Exit::Rejected | Exit::Unanswered | Exit::Held) => {
            StatusCode::CONFLICT
        }
        (_, Exit::TimedOut) => StatusCode::REQUEST_TIMEOUT,
        (_, Exit::Ok | Exit::Error | Exit::Unreachable | Exit::AuditBroken) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

/// An error on its way out.
pub(crate) struct Failed(pub(crate) Error);

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.into())
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let problem = Problem::of(&self.0);
        let status = status(problem.code);
        problem.into_response(status)
    }
}

impl Problem {
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

/// A page that is not there.
pub(super) async fn no_such_page(uri: Uri) -> Failed {
    let shown = sayso_core::text::shorten(&sayso_core::text::harmless_line(uri.path()), 100);
    Refusal::new(Code::NotFound, format!("there is nothing at {shown}"))
        .hint("what there is stands in /v1/openapi.json")
        .into()
}

/// The page a problem names as its type. Nobody needs a credential to read what an error means.
pub(super) async fn page(Path(code): Path<String>) -> Result<Response, Failed> {
    let found = Code::ALL.iter().find(|known| known.as_str() == code);
    let Some(found) = found else {
        return Err(Refusal::new(Code::NotFound, "there is no such error").into());
    };
    let kind = HeaderValue::from_static("text/markdown; charset=utf-8");
    Ok(([(CONTENT_TYPE, kind)], found.page()).into_response())
}

/// A page that is there, and takes something else.
pub(super) async fn no_such_method(method: Method, uri: Uri) -> Response {
    let shown = sayso_core::text::shorten(&sayso_core::text::harmless_line(uri.path()), 100);
    let refusal = Refusal::new(Code::BadValue, format!("{shown} does not take {method}"))
        .hint("what it takes stands in /v1/openapi.json");
    Problem::of(&refusal.into()).into_response(StatusCode::METHOD_NOT_ALLOWED)
}
