//! A circuit breaker in front of a database that has stopped responding. The first exchange finds this out, within
//! the timeout that each exchange has; later callers fail at once, and one at a time is let through as a trial.

use crate::{Error, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The least duration of a failure that counts as a timeout. A refused connection fails at once and needs no breaker.
const SILENCE_MIN: Duration = Duration::from_secs(2);

/// The time for which all callers fail at once after the database was found unresponsive.
const REST: Duration = Duration::from_secs(1);

/// The longest time for which one trial keeps the other callers out.
const TRIAL_MAX: Duration = Duration::from_secs(15);

/// The circuit breaker: remembers if the database responds. Short-lived commands have none.
#[derive(Debug, Default)]
pub(crate) struct CircuitBreaker {
    /// The time until which all callers but the trial fail at once. None while the database responds (closed).
    open_until: Mutex<Option<Instant>>,
}

/// One use of the database, from start to outcome.
pub(crate) struct BreakerTrial {
    began: Instant,
}

impl CircuitBreaker {
    /// Starts one use of the database, or fails if the breaker is open.
    pub(crate) fn begin(&self, now: Instant) -> Result<BreakerTrial> {
        let mut open_until = self.open_until();
        match *open_until {
            Some(until) if now < until => {
                let why = "PostgreSQL does not answer: it went silent a moment ago";
                return Err(Error::Unreachable(why.into()));
            }
            Some(_) => *open_until = Some(now + TRIAL_MAX),
            None => {}
        }
        Ok(BreakerTrial { began: now })
    }

    /// Records the outcome of one use, and opens or closes the breaker.
    pub(crate) fn end<T>(&self, trial: &BreakerTrial, outcome: &Result<T>, now: Instant) {
        let mut open_until = self.open_until();
        match outcome {
            Err(Error::Unreachable(_)) => {
                let was_silent = now.duration_since(trial.began) >= SILENCE_MIN;
                if was_silent || open_until.is_some() {
                    *open_until = Some(now + REST);
                }
            }
            // Any other error is a response, too.
            Ok(_) | Err(_) => *open_until = None,
        }
    }

    fn open_until(&self) -> MutexGuard<'_, Option<Instant>> {
        self.open_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn unreachable() -> Result<()> {
        Err(Error::Unreachable("gone".into()))
    }

    #[test]
    fn after_a_silence_one_at_a_time_tries_again() {
        let (breaker, start) = (CircuitBreaker::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        let trial = breaker.begin(at(0)).unwrap();
        breaker.end(&trial, &unreachable(), at(8_000));
        assert!(breaker.begin(at(8_500)).is_err(), "the others fail at once");
        let second = breaker.begin(at(9_100)).unwrap();
        assert!(breaker.begin(at(9_200)).is_err(), "one tries");
        breaker.end(&second, &unreachable(), at(9_300));
        assert!(
            breaker.begin(at(9_400)).is_err(),
            "it is gone still, however quickly that was said"
        );
        let third = breaker.begin(at(10_400)).unwrap();
        breaker.end(&third, &Ok(()), at(10_500));
        assert!(breaker.begin(at(10_500)).is_ok() && breaker.begin(at(10_500)).is_ok());
    }

    #[test]
    fn a_quick_no_and_other_errors_keep_nobody_out() {
        let (breaker, start) = (CircuitBreaker::default(), Instant::now());
        let trial = breaker.begin(start).unwrap();
        breaker.end(&trial, &unreachable(), start + Duration::from_millis(10));
        assert!(breaker.begin(start).is_ok());
        breaker.end(&trial, &Err::<(), _>(Error::Busy(5)), start + Duration::from_secs(6));
        assert!(breaker.begin(start).is_ok());
    }
}
