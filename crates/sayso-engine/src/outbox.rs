//! The outbox: what the world is to be told, at least once, under a key that stays the same.
//!
//! A notice is claimed under a lease, sent, and then settled. A crash in between repeats it and
//! never loses it; whoever receives it tells repetitions by the id.

use crate::{LocalDesk, NoticeText, Result};
use sayso_core::{Occasion, Timestamp};
use sayso_store::Write;
use serde::{Deserialize, Serialize};
use std::sync::PoisonError;

/// How long a claimed notice is left alone before somebody else may send it.
const LEASE_MICROS: i64 = 60_000_000;

/// The longest pause between two tries.
const BACK_OFF_MICROS_MAX: i64 = 3_600_000_000;

/// How often it is tried to say that something waits no more. What waits is tried for as long as it does.
const SETTLED_TRIES_MAX: u32 = 5;

/// How long a notice is kept after it was settled: long enough to look into what was told.
const KEPT_MICROS: i64 = 30 * 24 * 3_600 * 1_000_000;

/// So many notices are looked at for old ones with each that is settled.
const SWEPT_AT_ONCE: usize = 50;

/// How much of a stranger's error is kept.
const ERROR_CHARS_MAX: usize = 300;

/// A notice somebody has taken to send it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispatch {
    /// What it is settled by.
    pub key: String,
    /// How often it was tried, this time included.
    pub attempts: u32,
    /// What is said.
    pub text: NoticeText,
}

impl LocalDesk {
    /// When the first notice on one of these channels is due.
    pub fn next_notice(&self, channels: &[String]) -> Result<Option<Timestamp>> {
        let channels: Vec<_> = channels.iter().map(String::as_str).collect();
        self.read(|read| Ok(read.next_notice(self.space, &channels)?))
    }

    /// Takes notices that are due on a channel. What nobody needs to hear any more is left out.
    pub fn claim_notices(&self, channel: &str, limit: usize) -> Result<Vec<Dispatch>> {
        let (space, now) = (self.space, self.now());
        let (channel, lease) = (channel.to_owned(), now.plus_micros(LEASE_MICROS));
        let taken = self.store.write(move |write| {
            write.claim_notices(space, &[channel.as_str()], now, lease, limit)
        })?;
        let mut dispatches = vec![];
        for notice in taken {
            match self.notice_text(&notice) {
                Ok(Some(text)) => {
                    let (key, attempts) = (notice.id, notice.attempts);
                    dispatches.push(Dispatch { key, attempts, text });
                }
                Ok(None) => self.drop_notice(&notice.id, "settled before it was sent")?,
                // One that cannot be read is shown as failing and holds up no other.
                Err(error) => {
                    self.put_off_notice(&notice.id, notice.attempts, &error.to_string())?
                }
            }
        }
        Ok(dispatches)
    }

    /// A notice was sent.
    pub fn settle_notice(&self, key: &str) -> Result<()> {
        let (key, now) = (key.to_owned(), self.now());
        Ok(self.sweeping(move |write| write.settle_notice(&key, now))?)
    }

    /// Settles something, and sweeps a piece of the outbox in the same breath: it grows by one and may shrink by
    /// many, so what was told long ago does not pile up.
    fn sweeping(
        &self,
        settle: impl Fn(&mut Write<'_>) -> sayso_store::Result<()> + Send + 'static,
    ) -> sayso_store::Result<()> {
        let before = self.now().plus_micros(-KEPT_MICROS);
        let from = self.swept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let until = self.store.write(move |write| {
            settle(write)?;
            write.sweep_notices(&from, before, SWEPT_AT_ONCE)
        })?;
        // At its end it begins anew.
        *self.swept.lock().unwrap_or_else(PoisonError::into_inner) = until.unwrap_or_default();
        Ok(())
    }

    /// A notice could not be sent; the pause before the next try doubles each time.
    pub fn fail_notice(&self, dispatch: &Dispatch, error: &str) -> Result<()> {
        let error = sayso_core::text::shorten(error, ERROR_CHARS_MAX);
        let is_over = dispatch.text.occasion == Some(Occasion::Settled);
        match is_over && dispatch.attempts >= SETTLED_TRIES_MAX {
            true => self.drop_notice(&dispatch.key, &error),
            false => self.put_off_notice(&dispatch.key, dispatch.attempts, &error),
        }
    }

    fn drop_notice(&self, key: &str, why: &str) -> Result<()> {
        let (key, why, now) = (key.to_owned(), why.to_owned(), self.now());
        Ok(self.sweeping(move |write| write.drop_notice(&key, &why, now))?)
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
