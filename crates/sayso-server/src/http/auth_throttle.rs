//! Throttle for wrong credentials (brute force), counted by client address. Each further wrong one is answered later;
//! a right one is never delayed, so no client keeps others out from the same address.

use super::problem::KnownToken;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::{Extensions, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use sayso_core::login_backoff::pause_micros;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time without a wrong credential after which an address is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(10 * 60);

/// The longest delay of a response: a client that waits costs a connection.
const PAUSE_MAX: Duration = Duration::from_secs(8);

/// The most addresses that are counted at one time.
const ADDRESSES_MAX: usize = 4_096;

/// The address of a client.
#[derive(Clone, Copy)]
pub(super) struct PeerAddress(pub(super) IpAddr);

impl PeerAddress {
    /// Returns the key under which wrong passphrases of a client are counted. A network of IPv6 is one key: its
    /// addresses cost nothing.
    pub(super) fn place_of(extensions: &Extensions) -> String {
        match extensions.get::<ConnectInfo<PeerAddress>>().map(|peer| peer.0.0.to_canonical()) {
            None => "-".into(),
            Some(IpAddr::V4(address)) => address.to_string(),
            Some(IpAddr::V6(address)) => {
                let [a, b, c, d, ..] = address.segments();
                format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
            }
        }
    }
}

/// The wrong credentials, by address.
#[derive(Default)]
pub(super) struct AuthThrottle {
    wrong: Mutex<HashMap<IpAddr, FailedAttempts>>,
}

/// Consecutive wrong credentials from an address.
struct FailedAttempts {
    count: u32,
    last: Instant,
}

impl AuthThrottle {
    /// Counts a wrong credential; returns the delay of its response.
    fn count(&self, from: IpAddr, now: Instant) -> Duration {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong.len() >= ADDRESSES_MAX {
            wrong.retain(|_, it| now.duration_since(it.last) < FORGOTTEN);
        }
        // More addresses at once than honest clients have are counted as one.
        let from = if wrong.len() >= ADDRESSES_MAX && !wrong.contains_key(&from) {
            IpAddr::from([0, 0, 0, 0])
        } else {
            from
        };
        let known = wrong.entry(from).or_insert(FailedAttempts { count: 0, last: now });
        if now.duration_since(known.last) >= FORGOTTEN {
            known.count = 0;
        }
        known.count = known.count.saturating_add(1);
        known.last = now;
        let pause = u64::try_from(pause_micros(known.count)).unwrap_or_default();
        Duration::from_micros(pause).min(PAUSE_MAX)
    }
}

pub(super) async fn throttle(
    State(knocks): State<Arc<AuthThrottle>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let headers = request.headers();
    let brings_one = headers.contains_key(AUTHORIZATION) || headers.contains_key(COOKIE);
    let from = request.extensions().get::<ConnectInfo<PeerAddress>>().map(|peer| peer.0.0);
    let response = next.run(request).await;
    // A token that was revoked or has expired is no guess.
    let was_ours = response.extensions().get::<KnownToken>().is_some();
    let is_wrong = brings_one && response.status() == StatusCode::UNAUTHORIZED && !was_ours;
    let Some(from) = from.filter(|_| is_wrong) else { return response };
    let pause = knocks.count(from, Instant::now());
    if !pause.is_zero() {
        tracing::warn!(%from, "wrong credentials, again and again");
        tokio::time::sleep(pause).await;
    }
    response
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_place() {
        let place = |address: &str| {
            let mut extensions = Extensions::new();
            extensions.insert(ConnectInfo(PeerAddress(address.parse().unwrap())));
            PeerAddress::place_of(&extensions)
        };
        assert_eq!(place("10.0.0.7"), "10.0.0.7");
        assert_eq!(place("::ffff:10.0.0.7"), "10.0.0.7");
        assert_eq!(place("2001:db8:0:1:aaaa::1"), place("2001:db8:0:1:bbbb::2"));
        assert_ne!(place("2001:db8:0:1::1"), place("2001:db8:0:2::1"));
        assert_eq!(PeerAddress::place_of(&Extensions::new()), "-");
    }

    #[test]
    fn each_address_is_slowed_down_by_itself() {
        let (knocks, now) = (AuthThrottle::default(), Instant::now());
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let pauses: Vec<_> = (0..10).map(|_| knocks.count(one, now).as_secs()).collect();
        assert_eq!(pauses, [0, 0, 0, 0, 1, 2, 4, 8, 8, 8]);
        assert_eq!(knocks.count(other, now), Duration::ZERO);
        assert_eq!(knocks.count(one, now + FORGOTTEN), Duration::ZERO);
    }

    #[test]
    fn many_addresses_are_no_way_around_it() {
        let (knocks, now) = (AuthThrottle::default(), Instant::now());
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        for number in 0..ADDRESSES_MAX as u32 {
            knocks.count(address(number + 1), now);
        }
        let pauses = (0..9).map(|more| knocks.count(address(900_000 + more), now));
        assert!(pauses.last().is_some_and(|pause| pause == PAUSE_MAX));
        assert!(knocks.wrong.lock().is_ok_and(|wrong| wrong.len() <= ADDRESSES_MAX + 1));
    }
}
