//! Table of API operations. One line of it makes both the route and its description in the OpenAPI document, from the
//! same types: so the two cannot differ.

use super::admission::too_large;
use super::auth::{IncomingRequest, KeyedRequest, RequestContext};
use super::health::blocking;
use super::openapi::{OperationDescription, OperationSchemas, SchemaCollector};
use super::parking::RequestHold;
use super::problem::ErrorResponse;
use super::session;
use super::state::AppState;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{Code, Refusal};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::sync::Arc;

/// The header with the idempotency key: a request under the same key is carried out once.
pub(super) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The longest body of a request.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// The longest name in a path.
const NAME_BYTES_MAX: usize = 200;

/// The path of a space, below which everything about it is.
pub(super) const SPACE: &str = "/v1/spaces/{space}";

/// The input of an operation: the names in the path behind the space, the query and the body.
#[derive(Clone)]
pub(super) struct OperationInput<const N: usize, Q, B> {
    pub(super) names: [String; N],
    pub(super) query: Q,
    pub(super) body: B,
}

/// An empty query, or an empty body.
#[derive(Clone, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EmptyInput {}

/// A type that can be read from a request and described in the document.
pub(super) trait RequestInput: DeserializeOwned + JsonSchema + Send + 'static {}
impl<T: DeserializeOwned + JsonSchema + Send + 'static> RequestInput for T {}

/// A type that can be sent in a response.
pub(super) trait ResponseOutput: Serialize + JsonSchema + Send + 'static {}
impl<T: Serialize + JsonSchema + Send + 'static> ResponseOutput for T {}

/// The verb of an operation: its method, and its status on success.
#[derive(Clone, Copy)]
pub(super) enum OperationVerb {
    Get,
    Post,
    /// A new resource is created.
    Create,
    Put,
    Patch,
    Delete,
}

impl OperationVerb {
    fn filter(self) -> MethodFilter {
        match self {
            OperationVerb::Get => MethodFilter::GET,
            OperationVerb::Post | OperationVerb::Create => MethodFilter::POST,
            OperationVerb::Put => MethodFilter::PUT,
            OperationVerb::Patch => MethodFilter::PATCH,
            OperationVerb::Delete => MethodFilter::DELETE,
        }
    }

    /// True if it only reads.
    pub(super) fn is_safe(self) -> bool {
        match self {
            OperationVerb::Get => true,
            OperationVerb::Post
            | OperationVerb::Create
            | OperationVerb::Put
            | OperationVerb::Patch
            | OperationVerb::Delete => false,
        }
    }

    /// Returns the method, as the document writes it.
    pub(super) fn method(self) -> &'static str {
        match self {
            OperationVerb::Get => "get",
            OperationVerb::Post | OperationVerb::Create => "post",
            OperationVerb::Put => "put",
            OperationVerb::Patch => "patch",
            OperationVerb::Delete => "delete",
        }
    }

    pub(super) fn success(self) -> StatusCode {
        match self {
            OperationVerb::Create => StatusCode::CREATED,
            OperationVerb::Get
            | OperationVerb::Post
            | OperationVerb::Put
            | OperationVerb::Patch
            | OperationVerb::Delete => StatusCode::OK,
        }
    }
}

/// All operations, in the order of the document.
#[derive(Default)]
pub(super) struct OperationTable {
    router: Router<Arc<AppState>>,
    described: Vec<OperationDescription>,
}

impl OperationTable {
    /// Adds an operation that calls the desk and returns its result. `path` is the part behind the space.
    pub(super) fn add<const N: usize, Q: RequestInput, B: RequestInput, T: ResponseOutput>(
        self,
        verb: OperationVerb,
        path: &str,
        (name, says): (&'static str, &'static str),
        work: impl Fn(&RequestContext, OperationInput<N, Q, B>) -> sayso_engine::Result<T>
        + Copy
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.add_held(verb, path, (name, says), move |knock: IncomingRequest, asked| {
            blocking(move || work(&knock.authenticate()?, asked))
        })
    }

    /// Adds an operation that is called all the time, authenticated from the cache: see [`IncomingRequest::with_cached_auth`].
    pub(super) fn add_cached<
        const N: usize,
        Q: RequestInput + Clone,
        B: RequestInput + Clone,
        T: ResponseOutput,
    >(
        self,
        verb: OperationVerb,
        path: &str,
        (name, says): (&'static str, &'static str),
        work: impl Fn(&RequestContext, OperationInput<N, Q, B>) -> sayso_engine::Result<T>
        + Copy
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.add_held(
            verb,
            path,
            (name, says),
            move |knock: IncomingRequest, asked: OperationInput<N, Q, B>| {
                blocking(move || knock.with_cached_auth(|at| work(at, asked.clone())))
            },
        )
    }

    /// Adds an operation that may be held, for which no thread is kept.
    pub(super) fn add_held<const N: usize, Q: RequestInput, B: RequestInput, T: ResponseOutput, F>(
        self,
        verb: OperationVerb,
        path: &str,
        (name, says): (&'static str, &'static str),
        work: impl Fn(IncomingRequest, OperationInput<N, Q, B>) -> F + Copy + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<T, ErrorResponse>> + Send,
    {
        let route = on(
            verb.filter(),
            move |State(hall): State<Arc<AppState>>, request: Request<Body>| async move {
                let (knock, asked) = read_request(hall, request).await?;
                json(verb.success(), &work(knock, asked).await?)
            },
        );
        let shapes = |schemas: &mut SchemaCollector| OperationSchemas {
            query: schemas.parameters::<Q>(),
            body: schemas.body::<B>(),
            answer: schemas.answer::<T>(),
        };
        self.with(
            OperationDescription { verb, path: format!("{SPACE}{path}"), name, says, shapes },
            route,
        )
    }

    /// Adds an operation that answers in its own way, as `shapes` says.
    pub(super) fn with(
        mut self,
        described: OperationDescription,
        route: MethodRouter<Arc<AppState>>,
    ) -> Self {
        self.router = self.router.route(&described.path, route);
        self.described.push(described);
        self
    }

    pub(super) fn into_parts(self) -> (Router<Arc<AppState>>, Vec<OperationDescription>) {
        (self.router, self.described)
    }
}

/// Reads the input of a request. Invalid input is refused, with the reason.
pub(super) async fn read_request<const N: usize, Q: RequestInput, B: RequestInput>(
    hall: Arc<AppState>,
    request: Request<Body>,
) -> Result<(IncomingRequest, OperationInput<N, Q, B>), ErrorResponse> {
    let (mut parts, body) = request.into_parts();
    let (space, names) = names(&mut parts).await?;
    let query = query(&parts)?;
    let bytes =
        axum::body::to_bytes(body, BODY_BYTES_MAX).await.map_err(|_| too_large(BODY_BYTES_MAX))?;
    let asked = OperationInput { names, query, body: read(&bytes)? };
    let errand = keyed_request(&parts, &bytes)?;
    let credential = session::credential(&hall, &parts, &space);
    let parking = RequestHold::of(&parts).with(&bytes);
    Ok((IncomingRequest { hall, space, credential, errand, parking }, asked))
}

/// Reads the idempotency key of a request. A read needs none.
fn keyed_request(parts: &Parts, body: &Bytes) -> Result<Option<KeyedRequest>, Refusal> {
    let Some(key) = parts.headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    if parts.method.is_safe() {
        return Ok(None);
    }
    let key = key.to_str().map_err(|_| bad(format!("{IDEMPOTENCY_KEY} is not plain text")))?;
    let body = String::from_utf8_lossy(body).into_owned();
    let what = [parts.method.to_string(), parts.uri.to_string(), body];
    Ok(Some(KeyedRequest { key: key.trim().to_owned(), what }))
}

async fn names<const N: usize>(parts: &mut Parts) -> Result<(String, [String; N]), Refusal> {
    let wrong = |why: String| bad(format!("the path cannot be read: {why}"));
    let found: Path<Vec<(String, String)>> = Path::from_request_parts(parts, &())
        .await
        .map_err(|rejection| wrong(rejection.body_text()))?;
    let mut names: Vec<_> = found.0.into_iter().map(|(_, name)| name).collect();
    for name in &names {
        let is_plain = !name.is_empty() && !name.chars().any(char::is_control);
        if !is_plain || name.len() > NAME_BYTES_MAX {
            let shown = shorten(&sanitize_line(name), 60);
            return Err(bad(format!("{shown:?} cannot be a name"))
                .hint("take the id or the handle that a response gave"));
        }
    }
    let space = if names.is_empty() { String::new() } else { names.remove(0) };
    let names = names.try_into().map_err(|_| wrong("it has other parts".into()))?;
    Ok((space, names))
}

fn query<Q: RequestInput>(parts: &Parts) -> Result<Q, Refusal> {
    let typed = parts.uri.query().unwrap_or_default();
    if typed.contains("%00") {
        return Err(no_nul());
    }
    let read = Query::try_from_uri(&parts.uri);
    read.map(|Query(query)| query).map_err(|rejection| {
        bad(format!("the query cannot be read: {}", cause(&rejection)))
            .hint("what it takes stands in /v1/openapi.json")
    })
}

/// Returns the innermost cause of an error: what is wrong, not that something is.
fn cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    shorten(&sanitize_line(&inner.to_string()), 300)
}

fn read<B: RequestInput>(bytes: &Bytes) -> Result<B, Refusal> {
    let text: &[u8] = if bytes.is_empty() { b"{}" } else { bytes };
    // An array would be deserialized field by field.
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Err(bad("the body is a JSON object".into()));
    }
    if has_nul(text) {
        return Err(no_nul());
    }
    serde_json::from_slice(text).map_err(|error| {
        let why = shorten(&sanitize_line(&error.to_string()), 300);
        bad(format!("the body cannot be read: {why}"))
            .hint("what it takes stands in /v1/openapi.json")
    })
}

/// True if a text in it holds a NUL, which not every database takes.
fn has_nul(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let escape = &rest[at + 1..];
        if escape.starts_with(b"u0000") {
            return true;
        }
        rest = escape.get(1..).unwrap_or_default();
    }
    false
}

fn json<T: ResponseOutput>(status: StatusCode, value: &T) -> Result<Response, ErrorResponse> {
    let text = serde_json::to_string(value)
        .map_err(|e| Refusal::new(Code::Failure, format!("the answer cannot be written: {e}")))?;
    Ok((status, [(CONTENT_TYPE, "application/json")], text).into_response())
}

fn bad(message: String) -> Refusal {
    Refusal::new(Code::BadValue, message)
}

fn no_nul() -> Refusal {
    Refusal::new(Code::InvalidText, "a text holds a NUL character, which is no text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_is_found_where_it_is_one() {
        assert!(has_nul(br#"{"a": "x\u0000"}"#));
        assert!(has_nul(br#"{"a": "\\\u0000"}"#));
        assert!(!has_nul(br#"{"a": "\\u0000 \u0001"}"#));
        assert!(!has_nul(br#"{"a": "x"}\"#));
    }

    #[test]
    fn only_an_object_is_a_body() {
        let is_read = |text: &'static str| read::<EmptyInput>(&Bytes::from_static(text.as_bytes()));
        assert!(is_read("").is_ok());
        assert!(is_read(" {}").is_ok());
        for wrong in ["[]", "null", "1", "{", "{\"more\": 1}", "\u{feff}{}"] {
            assert!(is_read(wrong).is_err(), "{wrong}");
        }
    }
}
