//! Origin guard: checks `Host`, `Origin` and the content type of every request (against CSRF and DNS rebinding), and
//! adds security headers to every response.

use super::problem::ErrorResponse;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sayso_core::{Code, Refusal};
use std::sync::Arc;

/// The headers of every response: it runs no scripts, cannot be framed, and is not cached.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// The host names the server answers to.
pub(super) struct OriginGuard {
    hosts: Vec<String>,
}

impl OriginGuard {
    pub(super) fn new(hosts: Vec<String>) -> Self {
        Self { hosts: hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect() }
    }

    /// True if this is a name of the server. Any other may be a name that a foreign page made up for the server's
    /// address (DNS rebinding).
    fn knows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let name = without_port(&host);
        let is_loopback = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
        is_loopback || self.hosts.iter().any(|known| known == name || *known == host)
    }

    fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut hosts = headers.get_all(header::HOST).iter();
        if hosts.next().is_some() && hosts.next().is_some() {
            return Err(refused("the request names two servers").hint("send one Host header"));
        }
        let host = text(headers, &header::HOST).unwrap_or_default();
        if !self.knows(host) {
            return Err(refused("this server is not known by that name")
                .hint("name it with: sayso serve --host NAME"));
        }
        // No browser, or a page that only reads.
        if matches!(*method, Method::GET | Method::HEAD) {
            return Ok(());
        }
        let site = headers.get("sec-fetch-site").and_then(|v| v.to_str().ok());
        if site.is_some_and(|site| site != "same-origin" && site != "none") {
            return Err(foreign());
        }
        if let Some(origin) = text(headers, &header::ORIGIN) {
            let from = origin.split_once("://").map(|(_, from)| from);
            if !from.is_some_and(|from| from.eq_ignore_ascii_case(host)) {
                return Err(foreign());
            }
        }
        check_is_json(headers)
    }
}

/// Checks that the content is JSON: a form that a page of another site sends never is.
fn check_is_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let kind = text(headers, &header::CONTENT_TYPE);
    let is_json =
        |kind: &str| kind.split(';').next().is_some_and(|k| k.trim() == "application/json");
    let is_empty = text(headers, &header::CONTENT_LENGTH).is_none_or(|length| length == "0")
        && !headers.contains_key(header::TRANSFER_ENCODING);
    match kind {
        Some(kind) if is_json(kind) => Ok(()),
        None if is_empty => Ok(()),
        Some(_) | None => Err(Refusal::new(Code::NotJson, "only JSON is taken here")
            .hint("send it with `Content-Type: application/json`")),
    }
}

pub(super) async fn guard_origin(
    State(guard): State<Arc<OriginGuard>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let mut response = match guard.check(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => ErrorResponse::from(refusal).into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

fn refused(why: &str) -> Refusal {
    Refusal::new(Code::Foreign, why)
}

fn foreign() -> Refusal {
    refused("a page of another site sent this")
        .hint("pages do this from the server's own address; programs send neither Origin nor Sec-Fetch-Site")
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = of
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn what_is_let_in() {
        let guard = OriginGuard::new(vec!["sayso.example".into()]);
        let json = ("content-type", "application/json");
        let host = ("host", "127.0.0.1:7411");
        for (method, of, is_fine) in [
            (Method::GET, vec![host], true),
            (Method::GET, vec![("host", "localhost")], true),
            (Method::GET, vec![("host", "[::1]:7411")], true),
            (Method::GET, vec![("host", "SAYSO.example")], true),
            (Method::GET, vec![("host", "sayso.example:443")], true),
            // A name that an attacker made up for the server's address.
            (Method::GET, vec![("host", "evil.example")], false),
            (Method::GET, vec![("host", "127.0.0.1.evil.example")], false),
            (Method::GET, vec![], false),
            (Method::GET, vec![host, ("host", "evil.example")], false),
            (Method::POST, vec![host, json], true),
            (Method::POST, vec![host, json, ("origin", "http://127.0.0.1:7411")], true),
            (Method::POST, vec![host, json, ("origin", "http://evil.example")], false),
            (Method::POST, vec![host, json, ("origin", "null")], false),
            (Method::POST, vec![host, json, ("sec-fetch-site", "cross-site")], false),
            (Method::POST, vec![host, json, ("sec-fetch-site", "same-site")], false),
            (Method::POST, vec![host, json, ("sec-fetch-site", "same-origin")], true),
            (Method::POST, vec![host, ("content-type", "text/plain")], false),
            (Method::POST, vec![host, ("content-length", "3")], false),
            (Method::POST, vec![host, ("content-length", "0")], true),
            (Method::DELETE, vec![host], true),
        ] {
            let headers = headers(&of);
            assert_eq!(guard.check(&method, &headers).is_ok(), is_fine, "{method} {headers:?}");
        }
    }
}
