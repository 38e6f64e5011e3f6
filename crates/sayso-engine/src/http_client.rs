//! An HTTP client for outgoing calls that guards against SSRF: every address that a name resolves to is checked, and
//! exactly the checked address is called; no proxy, no redirect; limits on time and size.

use crate::NetworkScope;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc;
use std::time::Duration;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// The maximum number of addresses of one name.
const ADDRESSES_MAX: usize = 16;

/// The maximum number of bytes read of a response: its beginning says what went wrong.
const ANSWER_BYTES_MAX: u64 = 2_048;

/// The maximum size of the response headers.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// An HTTP client with checked destinations.
#[derive(Debug, Clone)]
pub struct HttpClient {
    agent: ureq::Agent,
}

/// The status and text of an HTTP response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpReply {
    pub status: u16,
    /// The beginning of the body of an error response.
    pub text: String,
}

impl HttpClient {
    /// Creates a client for the given networks, with a timeout for the whole call.
    pub fn new(reach: NetworkScope, timeout: Duration) -> Self {
        let config = Config::builder()
            // A proxy would resolve names by itself, past our check.
            .proxy(None)
            .https_only(reach == NetworkScope::Public)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .timeout_global(Some(timeout))
            .max_response_header_size(HEAD_BYTES_MAX)
            .max_idle_connections(0)
            .user_agent(concat!("sayso/", env!("CARGO_PKG_VERSION")))
            .build();
        let agent =
            ureq::Agent::with_parts(config, DefaultConnector::default(), SsrfResolver { reach });
        Self { agent }
    }

    /// Posts JSON. A response of any status is a result; all other failures are errors in words.
    pub fn post(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<HttpReply, String> {
        let mut request = self.agent.post(url).content_type("application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut answer = request.send(body).map_err(|error| in_words(&error))?;
        let status = answer.status().as_u16();
        // The text is for display; an unreadable one changes nothing.
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let text = match status {
            200..=299 => String::new(),
            _ => body.lossy_utf8(true).read_to_string().unwrap_or_default(),
        };
        Ok(HttpReply { status, text })
    }
}

/// Describes an error, never with the URL: there may be a secret in it.
fn in_words(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(what) => format!("no answer in time ({what})"),
        ureq::Error::HostNotFound => "the host is not known".into(),
        ureq::Error::ConnectionFailed => "no connection".into(),
        ureq::Error::RequireHttpsOnly(_) => "https is needed unless private is allowed".into(),
        ureq::Error::BadUri(_) => "this is no URL that can be called".into(),
        ureq::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// Resolves names and checks the addresses. One forbidden address refuses the name: we do not choose which of them is
/// called.
#[derive(Debug)]
struct SsrfResolver {
    reach: NetworkScope,
}

impl Resolver for SsrfResolver {
    fn resolve(
        &self,
        uri: &Uri,
        _: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().ok_or(ureq::Error::HostNotFound)?.to_owned();
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port =
            uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
        let found =
            look_up(host, port, *timeout.after).ok_or(ureq::Error::Timeout(timeout.reason))??;
        let refused = found.iter().find_map(|at| Some((at.ip(), self.reach.refuses(at.ip())?)));
        if let Some((address, why)) = refused {
            let message = format!("{address} may not be called: it is {why}");
            return Err(std::io::Error::other(message).into());
        }
        let mut addresses = self.empty();
        found.into_iter().take(ADDRESSES_MAX).for_each(|address| addresses.push(address));
        if addresses.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(addresses) }
    }
}

/// Resolves a name on a thread of its own with a timeout, since a lookup cannot be cancelled.
fn look_up(host: String, port: u16, timeout: Duration) -> Option<std::io::Result<Vec<SocketAddr>>> {
    let (sender, found) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let found = (host.as_str(), port).to_socket_addrs();
        let _ = sender.send(found.map(|all| all.take(ADDRESSES_MAX).collect()));
    });
    found.recv_timeout(timeout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check is on the address, for every spelling of it.
    #[test]
    fn what_is_near_is_not_called() {
        let public = HttpClient::new(NetworkScope::Public, Duration::from_secs(5));
        let hosts = [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f.0.0.1",
            "0177.0.0.1",
            "localhost",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "10.0.0.1",
            "192.168.0.1",
            "169.254.169.254",
            "2852039166",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "0.0.0.0",
            "0",
        ];
        for host in hosts {
            let said = public.post(&format!("https://{host}:1/"), &[], "{}");
            assert!(
                said.as_ref().is_err_and(|why| why.contains("may not be called")),
                "{host}: {said:?}"
            );
        }
        let private = HttpClient::new(NetworkScope::Private, Duration::from_secs(5));
        for host in ["169.254.169.254", "2852039166", "[::ffff:169.254.169.254]", "0.0.0.0"] {
            let said = private.post(&format!("http://{host}:1/"), &[], "{}");
            assert!(
                said.as_ref().is_err_and(|why| why.contains("may not be called")),
                "{host}: {said:?}"
            );
        }
        let said = public.post("http://127.0.0.1:1/", &[], "{}");
        assert_eq!(said, Err("https is needed unless private is allowed".into()));
    }
}
