//! Table of API operations. One line of it makes both the route and its description in the OpenAPI document, from the
//! same types: so the two cannot differ.

use super::doorway::too_large;
use super::hall::Hall;
use super::health::blocking;
use super::openapi::{Described, Schemas, Shapes};
use super::parking::Parking;
use super::problem::Failed;
use super::session;
use super::visitor::{Errand, Knock, Visitor};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use sayso_core::text::{harmless_line, shorten};
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
pub(super) struct Asked<const N: usize, Q, B> {
    pub(super) names: [String; N],
    pub(super) query: Q,
    pub(super) body: B,
}

/// An empty query, or an empty body.
#[derive(Clone, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// A type that can be read from a request and described in the document.
pub(super) trait Input: DeserializeOwned + JsonSchema + Send + 'static {}
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Input for T {}

/// A type that can be sent in a response.
pub(super) trait Output: Serialize + JsonSchema + Send + 'static {}
impl<T: Serialize + JsonSchema + Send + 'static> Output for T {}

/// The verb of an operation: its method, and its status on success.
#[derive(Clone, Copy)]
pub(super) enum Verb {
    Get,
    Post,
    /// A new resource is created.
    Create,
    Put,
    Patch,
    Delete,
}

impl Verb {
    fn filter(self) -> MethodFilter {
        match self {
            Verb::Get => MethodFilter::GET,
            Verb::Post | Verb::Create => MethodFilter::POST,
            Verb::Put => MethodFilter::PUT,
            Verb::Patch => MethodFilter::PATCH,
            Verb::Delete => MethodFilter::DELETE,
        }
    }

    /// True if it only reads.
    pub(super) fn is_safe(self) -> bool {
        match self {
            Verb::Get => true,
            Verb::Post | Verb::Create | Verb::Put | Verb::Patch | Verb::Delete => false,
        }
    }

    /// Returns the method, as the document writes it.
    pub(super) fn method(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::Post | Verb::Create => "post",
            Verb::Put => "put",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
        }
    }

    pub(super) fn success(self) -> StatusCode {
        match self {
            Verb::Create => StatusCode::CREATED,
            Verb::Get | Verb::Post | Verb::Put | Verb::Patch | Verb::Delete => StatusCode::OK,
        }
    }
}

/// All operations, in the order of the document.
#[derive(Default)]
pub(super) struct Table {
    router: Router<Arc<Hall>>,
    described: Vec<Described>,
}

impl Table {
    /// Adds an operation that calls the desk and returns its result. `path` is the part behind the space.
    pub(super) fn add<const N: usize, Q: Input, B: Input, T: Output>(
        self,
        verb: Verb,
        path: &str,
        (name, says): (&'static str, &'static str),
        work: impl Fn(&Visitor, Asked<N, Q, B>) -> sayso_engine::Result<T>
        + Copy
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.held(verb, path, (name, says), move |knock: Knock, asked| {
            blocking(move || work(&knock.enter()?, asked))
        })
    }

    /// Adds an operation that is called all the time, authenticated from the cache: see [`Knock::quickly`].
    pub(super) fn quick<const N: usize, Q: Input + Clone, B: Input + Clone, T: Output>(
        self,
        verb: Verb,
        path: &str,
        (name, says): (&'static str, &'static str),
        work: impl Fn(&Visitor, Asked<N, Q, B>) -> sayso_engine::Result<T>
        + Copy
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.held(verb, path, (name, says), move |knock: Knock, asked: Asked<N, Q, B>| {
            blocking(move || knock.quickly(|at| work(at, asked.clone())))
        })
    }

    /// Adds an operation that may be held, for which no thread is kept.
    pub(super) fn held<const N: usize, Q: Input, B: Input, T: Output, F>(
        self,
        verb: Verb,
        path: &str,
        (name, says): (&'static str, &'static str),
        work: impl Fn(Knock, Asked<N, Q, B>) -> F + Copy + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<T, Failed>> + Send,
    {
        let route = on(
            verb.filter(),
            move |State(hall): State<Arc<Hall>>, request: Request<Body>| async move {
                let (knock, asked) = take(hall, request).await?;
                json(verb.success(), &work(knock, asked).await?)
            },
        );
        let shapes = |schemas: &mut Schemas| Shapes {
            query: schemas.parameters::<Q>(),
            body: schemas.body::<B>(),
            answer: schemas.answer::<T>(),
        };
        self.with(Described { verb, path: format!("{SPACE}{path}"), name, says, shapes }, route)
    }

    /// Adds an operation that answers in its own way, as `shapes` says.
    pub(super) fn with(mut self, described: Described, route: MethodRouter<Arc<Hall>>) -> Self {
        self.router = self.router.route(&described.path, route);
        self.described.push(described);
        self
    }

    pub(super) fn into_parts(self) -> (Router<Arc<Hall>>, Vec<Described>) {
        (self.router, self.described)
    }
}

/// Reads the input of a request. Invalid input is refused, with the reason.
pub(super) async fn take<const N: usize, Q: Input, B: Input>(
    hall: Arc<Hall>,
    request: Request<Body>,
) -> Result<(Knock, Asked<N, Q, B>), Failed> {
    let (mut parts, body) = request.into_parts();
    let (space, names) = names(&mut parts).await?;
    let query = query(&parts)?;
    let bytes =
        axum::body::to_bytes(body, BODY_BYTES_MAX).await.map_err(|_| too_large(BODY_BYTES_MAX))?;
    let asked = Asked { names, query, body: read(&bytes)? };
    let errand = errand(&parts, &bytes)?;
    let credential = session::credential(&hall, &parts, &space);
    let parking = Parking::of(&parts).with(&bytes);
    Ok((Knock { hall, space, credential, errand, parking }, asked))
}

/// Reads the idempotency key of a request. A read needs none.
fn errand(parts: &Parts, body: &Bytes) -> Result<Option<Errand>, Refusal> {
    let Some(key) = parts.headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    if parts.method.is_safe() {
        return Ok(None);
    }
    let key = key.to_str().map_err(|_| bad(format!("{IDEMPOTENCY_KEY} is not plain text")))?;
    let body = String::from_utf8_lossy(body).into_owned();
    let what = [parts.method.to_string(), parts.uri.to_string(), body];
    Ok(Some(Errand { key: key.trim().to_owned(), what }))
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
            let shown = shorten(&harmless_line(name), 60);
            return Err(bad(format!("{shown:?} cannot be a name"))
                .hint("take the id or the handle that a response gave"));
        }
    }
    let space = if names.is_empty() { String::new() } else { names.remove(0) };
    let names = names.try_into().map_err(|_| wrong("it has other parts".into()))?;
    Ok((space, names))
}

fn query<Q: Input>(parts: &Parts) -> Result<Q, Refusal> {
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
    shorten(&harmless_line(&inner.to_string()), 300)
}

fn read<B: Input>(bytes: &Bytes) -> Result<B, Refusal> {
    let text: &[u8] = if bytes.is_empty() { b"{}" } else { bytes };
    // An array would be deserialized field by field.
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Err(bad("the body is a JSON object".into()));
    }
    if has_nul(text) {
        return Err(no_nul());
    }
    serde_json::from_slice(text).map_err(|error| {
        let why = shorten(&harmless_line(&error.to_string()), 300);
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

fn json<T: Output>(status: StatusCode, value: &T) -> Result<Response, Failed> {
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
        let is_read = |text: &'static str| read::<Nothing>(&Bytes::from_static(text.as_bytes()));
        assert!(is_read("").is_ok());
        assert!(is_read(" {}").is_ok());
        for wrong in ["[]", "null", "1", "{", "{\"more\": 1}", "\u{feff}{}"] {
            assert!(is_read(wrong).is_err(), "{wrong}");
        }
    }
}
