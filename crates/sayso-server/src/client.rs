//! HTTP client for sayso's own programs: the transport of remote calls (RPC) to a server.

use crate::http::{LINE_HEADER, PROBLEM_JSON, ProblemDetails, TIMEOUT_HEADER, TraceParent};
use sayso_core::{Code, Refusal};
use sayso_engine::{CallError, LINE_VERSION, Result, RpcTransport};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::Duration;
use tokio_rustls::rustls;
use ureq::http::Response;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig};
use ureq::{Agent, Body, Error, Timeout};

/// The time limit for connecting to a server.
const CONNECT: Duration = Duration::from_secs(10);

/// The time limit for a call that is not held.
const REPLY: Duration = Duration::from_secs(60);

/// The most that is read from a server in one response.
const REPLY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The most that is read of a file with certificate authorities (CAs): all public ones together take a fifth of it.
const AUTHORITIES_BYTES_MAX: u64 = 1024 * 1024;

/// A transport to a server over HTTP.
pub struct HttpTransport {
    agent: Agent,
    server: String,
    space: String,
    trace: Option<String>,
    reply: Duration,
}

impl HttpTransport {
    /// Opens a transport to one space of a server, which is named by its address, such as `https://sayso.example`.
    /// The certificate authorities in a file are trusted beside the public ones.
    pub fn to(server: &str, space: &str, authorities: Option<&Path>) -> Result<Self> {
        let server = server.trim_end_matches('/').to_owned();
        check_address(&server)?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A credential is sent to the server it is for, and to no other.
            .max_redirects(0)
            .timeout_connect(Some(CONNECT))
            .tls_config(TlsConfig::builder().root_certs(trusted(authorities)?).build())
            .build();
        let (agent, space) = (config.new_agent(), space.to_owned());
        Ok(Self { agent, server, space, trace: None, reply: REPLY })
    }

    /// Sets the time limit for a call that is not held.
    #[must_use]
    pub fn with_limit(mut self, reply: Duration) -> Self {
        self.reply = reply;
        self
    }

    /// Makes calls part of this trace: a `traceparent` of W3C Trace Context. An invalid one is left out.
    pub fn within(mut self, trace: Option<String>) -> Self {
        self.trace = trace.filter(|text| TraceParent::read(text).is_some());
        self
    }
}

impl RpcTransport for HttpTransport {
    fn call(
        &self,
        secret: Option<&str>,
        call: &str,
        handed: &str,
        patience: Duration,
    ) -> std::result::Result<String, CallError> {
        let url = format!("{}/line/{}/{call}", self.server, self.space);
        let mut request = self.agent.post(&url).header("content-type", "application/json");
        if let Some(secret) = secret {
            request = request.header("authorization", format!("Bearer {secret}"));
        }
        if let Some(trace) = &self.trace {
            request = request.header("traceparent", trace);
        }
        let limit = self.reply + patience;
        // The server is to give up before this client does.
        let awaited = limit.saturating_sub(limit.min(CONNECT) / 2);
        let request = request.header(TIMEOUT_HEADER, awaited.as_millis().to_string());
        let request = request.config().timeout_global(Some(limit)).build();
        let response = request.send(handed).map_err(|error| self.unanswered(&error))?;
        self.read(response)
    }

    fn address(&self) -> String {
        self.server.clone()
    }
}

impl HttpTransport {
    fn read(&self, mut response: Response<Body>) -> std::result::Result<String, CallError> {
        let is_ours = response.headers().contains_key(LINE_HEADER);
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let is_problem = kind == Some(PROBLEM_JSON);
        let status = response.status();
        let read = response.body_mut().with_config().limit(REPLY_BYTES_MAX).read_to_string();
        let text = read.map_err(|error| CallError::Interrupted(self.away(&error)))?;
        if is_problem && let Ok(problem) = serde_json::from_str::<ProblemDetails>(&text) {
            return Err(refused(problem.into_refusal()));
        }
        if is_ours && status.is_success() {
            return Ok(text);
        }
        // A gateway answers like this when it lost the response: it does not know if the call took effect.
        if !is_ours && status.is_server_error() {
            return Err(CallError::Interrupted(self.not_ours(status.as_u16()).message));
        }
        Err(CallError::Refused(self.not_ours(status.as_u16())))
    }

    fn unanswered(&self, error: &Error) -> CallError {
        if let Some(why) = certificate_error(error) {
            let message = format!("the certificate of {} is not trusted: {why}", self.server);
            return CallError::Refused(Refusal::new(Code::Unreachable, message).hint(
                "nothing was sent. If its authority is your own, name it in SAYSO_CA_FILE or under `ca` in the settings",
            ));
        }
        let never_left = match error {
            Error::HostNotFound | Error::ConnectionFailed | Error::BadUri(_) => true,
            Error::Timeout(timeout) => matches!(timeout, Timeout::Resolve | Timeout::Connect),
            Error::Io(error) => error.kind() == ErrorKind::ConnectionRefused,
            _ => false,
        };
        if never_left {
            CallError::Unreachable(self.away(error))
        } else {
            CallError::Interrupted(self.away(error))
        }
    }

    fn away(&self, error: &Error) -> String {
        format!("{} cannot be reached: {error}{}", self.server, self.other_scheme(error))
    }

    /// Returns a hint for a server that answers and cannot be understood: one of the two speaks TLS, and the other
    /// does not.
    fn other_scheme(&self, error: &Error) -> &'static str {
        let kind = match error {
            Error::Io(error) => Some(error.kind()),
            _ => None,
        };
        let is_gibberish = matches!(error, Error::Protocol(_) | Error::Http(_) | Error::Rustls(_))
            || matches!(kind, Some(ErrorKind::InvalidData | ErrorKind::UnexpectedEof));
        match (is_gibberish, self.server.starts_with("https://")) {
            (false, _) => "",
            (true, true) => "; if it speaks no TLS, its address begins with http://",
            (true, false) => "; if it speaks TLS, try https://",
        }
    }

    /// Returns the refusal for a response that no sayso server sent.
    fn not_ours(&self, status: u16) -> Refusal {
        let message = format!("what answers at {} is no sayso server ({status})", self.server);
        Refusal::new(Code::Unreachable, message)
            .hint(format!("is the address right? This program speaks line {LINE_VERSION}"))
    }
}

/// Converts a refusal by the server. A server that lacks its own store is treated as if it were not there.
fn refused(refusal: Refusal) -> CallError {
    match refusal.code {
        Code::Unreachable => CallError::StoreUnavailable(refusal.message),
        Code::OutcomeUnknown | Code::Expired => CallError::Interrupted(refusal.message),
        _ => CallError::Refused(refusal),
    }
}

/// Returns the certificate authorities that are trusted: the public ones, and those of a file.
fn trusted(authorities: Option<&Path>) -> Result<RootCerts> {
    let Some(path) = authorities else { return Ok(RootCerts::WebPki) };
    let wrong = |why: &dyn std::fmt::Display| {
        let message = format!("the authorities in {} cannot be used: {why}", path.display());
        Refusal::new(Code::BadConfig, message)
            .hint("SAYSO_CA_FILE, or `ca` in the settings, names a file with certificates in PEM")
    };
    let mut bytes = vec![];
    let file = File::open(path).map_err(|e| wrong(&e))?;
    file.take(AUTHORITIES_BYTES_MAX).read_to_end(&mut bytes).map_err(|e| wrong(&e))?;
    let mut all = vec![];
    for item in ureq::tls::parse_pem(&bytes) {
        match item {
            Ok(PemItem::Certificate(certificate)) => all.push(certificate),
            Ok(_) => {}
            Err(_) => return Err(wrong(&"it is no PEM").into()),
        }
    }
    if all.is_empty() {
        return Err(wrong(&"there is no certificate in it").into());
    }
    let public = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
    all.extend(public.map(|der| Certificate::from_der(der.as_ref())));
    Ok(RootCerts::from(all))
}

/// Returns the reason why a server's certificate is not trusted, if that is the failure.
fn certificate_error(error: &ureq::Error) -> Option<String> {
    let found = match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref().and_then(|inner| inner.downcast_ref()),
        _ => None,
    };
    match found? {
        rustls::Error::InvalidCertificate(why) => Some(why.to_string()),
        _ => None,
    }
}

/// Checks that this can be the address of a server. A remote server needs TLS.
pub fn check_address(server: &str) -> Result<()> {
    let wrong = |why: &str| {
        let shown = sayso_core::text::shorten(&sayso_core::text::sanitize_line(server), 200);
        Refusal::new(Code::BadValue, format!("{shown} cannot be the address of a server: {why}"))
    };
    let (scheme, rest) =
        server.split_once("://").ok_or_else(|| wrong("it begins with no scheme"))?;
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() || host.contains('@') || rest.contains(['?', '#', ' ']) {
        return Err(wrong("write it as https://HOST or http://127.0.0.1:PORT").into());
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    match scheme {
        "https" => Ok(()),
        "http" if matches!(name, "localhost" | "127.0.0.1" | "[::1]") => Ok(()),
        "http" => Err(wrong("a credential would go over the network for all to read")
            .hint("use https://, or a tunnel to a port of this machine")
            .into()),
        _ => Err(wrong("it is neither https:// nor http://").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::check_address;

    #[test]
    fn which_addresses_are_taken() {
        for (address, is_fine) in [
            ("https://sayso.example", true),
            ("https://sayso.example:8443/under/here", true),
            ("http://127.0.0.1:7411", true),
            ("http://localhost:7411", true),
            ("http://[::1]:7411", true),
            ("http://sayso.example", false),
            ("http://127.0.0.1.evil.example", false),
            ("http://127.0.0.1@evil.example", false),
            ("https://", false),
            ("ftp://sayso.example", false),
            ("sayso.example", false),
            ("https://a b", false),
        ] {
            assert_eq!(check_address(address).is_ok(), is_fine, "{address}");
        }
    }
}
