//! The outbox: what the world is to be told, at least once, under a key that stays the same.
//!
//! A notice is claimed under a lease, sent, and then settled. A crash in between repeats it and
//! never loses it; whoever receives it tells repetitions by the id.

use crate::{LocalDesk, Result};
use sayso_core::Timestamp;
use sayso_store::Notice;

/// How long a claimed notice is left alone before somebody else may send it.
const LEASE_MICROS: i64 = 60_000_000;

/// The longest pause between two tries.
const BACK_OFF_MICROS_MAX: i64 = 3_600_000_000;

impl LocalDesk {
    /// Takes notices that are due on the channels of this desk.
    pub fn claim_notices(&self, limit: usize) -> Result<Vec<Notice>> {
        let (space, channels, now) = (self.space, self.channels.clone(), self.now());
        let lease = now.plus_micros(LEASE_MICROS);
        Ok(self.store.write(move |write| {
            let channels: Vec<_> = channels.iter().map(String::as_str).collect();
            write.claim_notices(space, &channels, now, lease, limit)
        })?)
    }

    /// A notice was sent.
    pub fn settle_notice(&self, id: &str) -> Result<()> {
        let (id, now) = (id.to_owned(), self.now());
        Ok(self.store.write(move |write| write.settle_notice(&id, now))?)
    }

    /// A notice could not be sent; the pause before the next try doubles each time.
    pub fn fail_notice(&self, notice: &Notice, error: &str) -> Result<()> {
        self.put_off_notice(&notice.id, notice.attempts, error)
    }

    pub(crate) fn put_off_notice(&self, id: &str, attempts: u32, error: &str) -> Result<()> {
        let retry = retry_at(self.now(), attempts);
        let (id, error) = (id.to_owned(), error.to_owned());
        Ok(self.store.write(move |write| write.fail_notice(&id, &error, retry))?)
    }
}

fn retry_at(now: Timestamp, attempts: u32) -> Timestamp {
    let pause = 1_000_000_i64.saturating_mul(1 << attempts.min(20));
    now.plus_micros(pause.min(BACK_OFF_MICROS_MAX))
}
