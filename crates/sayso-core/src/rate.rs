//! Rate limits: the rate at which an agent may write, as token buckets. A bucket is full at first, each write takes
//! tokens out of it, and time refills it.

use crate::Timestamp;

/// The size of text that costs one more token. A write of usual size costs one.
const BYTES_PER_TOKEN: usize = 8 * 1024;

const MINUTE_MICROS: f64 = 60e6;

/// A rate limit in tokens per minute, which is the capacity of the bucket, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The number of tokens added per minute.
    pub per_minute: u32,
}

/// The tokens that one agent has left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenBucket {
    left: f64,
    at: Timestamp,
}

/// Returns the cost of a write in tokens, by the size of its text.
pub const fn write_cost(text_bytes: usize) -> u32 {
    let more = text_bytes / BYTES_PER_TOKEN;
    // One write has at most some megabytes of text.
    if more > 10_000 { 10_001 } else { 1 + more as u32 }
}

impl RateLimit {
    /// Returns a full bucket.
    pub fn bucket(self, now: Timestamp) -> TokenBucket {
        TokenBucket { left: f64::from(self.per_minute), at: now }
    }

    /// Returns the number of seconds in which so many tokens are added.
    fn seconds_for(self, tokens: f64) -> u32 {
        let seconds = tokens * 60.0 / f64::from(self.per_minute.max(1));
        // At most an hour is reported, which also bounds the cast.
        seconds.ceil().clamp(1.0, 3_600.0) as u32
    }
}

impl TokenBucket {
    /// Refills the bucket and checks that it has a token. The error is the number of seconds until it has one.
    pub fn ready(&mut self, limit: RateLimit, now: Timestamp) -> Result<(), u32> {
        let most = f64::from(limit.per_minute);
        let past = now.as_micros().saturating_sub(self.at.as_micros()).max(0) as f64;
        self.left = (self.left + past * most / MINUTE_MICROS).min(most);
        self.at = now;
        if self.left >= 1.0 { Ok(()) } else { Err(limit.seconds_for(1.0 - self.left)) }
    }

    /// Takes the cost of a write. The cost is known only after the write, so the balance may become negative: then
    /// the next write waits longer.
    pub fn spend(&mut self, cost: u32) {
        self.left -= f64::from(cost);
    }

    /// True if it is full at this time, so that it can be dropped: a new one would be the same.
    pub fn is_full(&self, limit: RateLimit, now: Timestamp) -> bool {
        let past = now.as_micros().saturating_sub(self.at.as_micros()).max(0) as f64;
        let most = f64::from(limit.per_minute);
        self.left + past * most / MINUTE_MICROS >= most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: RateLimit = RateLimit { per_minute: 60 };

    fn second(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    /// Checks steps of a time in seconds, a cost, and the expected outcome.
    fn check(steps: &[(i64, u32, Result<(), u32>)]) {
        let mut bucket = LIMIT.bucket(second(0));
        for (number, (at, cost, expected)) in steps.iter().enumerate() {
            let ready = bucket.ready(LIMIT, second(*at));
            assert_eq!(ready, *expected, "step {number}");
            if ready.is_ok() {
                bucket.spend(*cost);
            }
        }
    }

    #[test]
    fn a_bucket_empties_and_fills_again() {
        check(&[(0, 59, Ok(())), (0, 1, Ok(())), (0, 1, Err(1)), (1, 1, Ok(())), (1, 1, Err(1))]);
        check(&[
            (0, 60, Ok(())),
            (5, 5, Ok(())),
            (5, 1, Err(1)),
            (600, 60, Ok(())),
            (600, 1, Err(1)),
        ]);
    }

    #[test]
    fn what_costs_more_than_there_is_is_paid_for_later() {
        check(&[(0, 90, Ok(())), (0, 1, Err(31)), (30, 1, Err(1)), (31, 1, Ok(()))]);
        check(&[(0, 59, Ok(())), (0, 90, Ok(())), (0, 1, Err(90))]);
    }

    #[test]
    fn a_clock_that_goes_back_gives_nothing() {
        check(&[(100, 60, Ok(())), (50, 1, Err(1)), (51, 1, Ok(()))]);
    }

    #[test]
    fn long_texts_cost_more() {
        let costs = [0, 8_191, 8_192, 100_000, 262_144].map(write_cost);
        assert_eq!(costs, [1, 1, 2, 13, 33]);
        assert_eq!(write_cost(usize::MAX), 10_001);
    }

    #[test]
    fn a_full_bucket_can_be_forgotten() {
        let mut bucket = LIMIT.bucket(second(0));
        assert!(bucket.is_full(LIMIT, second(0)));
        bucket.spend(30);
        assert!(!bucket.is_full(LIMIT, second(29)) && bucket.is_full(LIMIT, second(30)));
    }
}
