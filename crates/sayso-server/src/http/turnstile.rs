//! The turnstile: how many logins of one address are under way, and how many come in a minute. Logging in takes much
//! work and has a lane of its own, which one address cannot fill.

use super::auth_throttle::PeerAddress;
use super::request_lanes::overloaded;
use axum::http::Extensions;
use sayso_core::{RateLimit, Refusal, Timestamp, TokenBucket};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// So many logins of one address are under way at one time.
const AT_ONCE_MAX: usize = 4;

/// So many come from one address in a minute: enough for all who sit behind one proxy.
const LIMIT: RateLimit = RateLimit { per_minute: 600 };

/// So many addresses are known at one time.
const ADDRESSES_MAX: usize = 4_096;

/// More addresses at once than people have are one to us.
const ALL_OTHERS: &str = "";

static GATE: LazyLock<LoginTurnstile> = LazyLock::new(LoginTurnstile::default);

struct LoginTurnstile {
    began: Instant,
    addresses: Mutex<HashMap<String, LoginSource>>,
}

impl Default for LoginTurnstile {
    fn default() -> Self {
        Self { began: Instant::now(), addresses: Mutex::default() }
    }
}

/// Those who come from one address.
struct LoginSource {
    inside: usize,
    bucket: TokenBucket,
}

/// One who is inside, until this is dropped.
pub(super) struct LoginTurn {
    turnstile: &'static LoginTurnstile,
    address: String,
}

impl Drop for LoginTurn {
    fn drop(&mut self) {
        if let Some(coming) = self.turnstile.addresses().get_mut(&self.address) {
            coming.inside = coming.inside.saturating_sub(1);
        }
    }
}

/// Lets a login in, or sheds it where its address has too many.
pub(super) fn enter(extensions: &Extensions) -> Result<LoginTurn, Refusal> {
    GATE.enter(&PeerAddress::place_of(extensions), GATE.now())
}

impl LoginTurnstile {
    fn addresses(&self) -> MutexGuard<'_, HashMap<String, LoginSource>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Timestamp {
        let micros = self.began.elapsed().as_micros();
        Timestamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    fn enter(&'static self, from: &str, now: Timestamp) -> Result<LoginTurn, Refusal> {
        let mut addresses = self.addresses();
        if addresses.len() >= ADDRESSES_MAX {
            addresses.retain(|_, it| it.inside > 0 || !it.bucket.is_full(LIMIT, now));
        }
        let is_crowded = addresses.len() >= ADDRESSES_MAX && !addresses.contains_key(from);
        let address = if is_crowded { ALL_OTHERS } else { from }.to_owned();
        let new = || LoginSource { inside: 0, bucket: LIMIT.bucket(now) };
        let coming = addresses.entry(address.clone()).or_insert_with(new);
        if let Err(seconds) = coming.bucket.ready(LIMIT, now) {
            return Err(overloaded().wait(seconds));
        }
        // One that is turned away counts, too.
        coming.bucket.spend(1);
        if coming.inside >= AT_ONCE_MAX {
            return Err(overloaded());
        }
        coming.inside += 1;
        Ok(LoginTurn { turnstile: self, address })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn turnstile() -> &'static LoginTurnstile {
        Box::leak(Box::default())
    }

    #[test]
    fn an_address_has_few_inside_and_keeps_no_other_out() {
        let (all, now) = (turnstile(), Timestamp::from_micros(0));
        let mut inside: Vec<_> =
            (0..AT_ONCE_MAX).map(|_| all.enter("10.0.0.1", now).unwrap()).collect();
        assert!(all.enter("10.0.0.1", now).is_err());
        assert!(all.enter("10.0.0.2", now).is_ok());
        inside.pop();
        assert!(all.enter("10.0.0.1", now).is_ok());
    }

    #[test]
    fn many_one_after_the_other_are_slowed_down() {
        let (all, second) = (turnstile(), |at: i64| Timestamp::from_micros(at * 1_000_000));
        let taken = |at| (0..1_000).filter(|_| all.enter("10.0.0.1", second(at)).is_ok()).count();
        assert_eq!((taken(0), taken(1), taken(2)), (600, 10, 10));
        assert!(all.enter("10.0.0.2", second(2)).is_ok());
    }

    #[test]
    fn many_addresses_take_no_more_memory() {
        let (all, now) = (turnstile(), Timestamp::from_micros(0));
        for number in 0..2 * ADDRESSES_MAX {
            let _ = all.enter(&number.to_string(), now);
        }
        assert!(all.addresses().len() <= ADDRESSES_MAX + 1);
    }
}
