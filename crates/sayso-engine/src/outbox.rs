//! The outbox: notifications that are delivered at least once, under an id that stays the same.
//!
//! A notice is claimed under a lease, sent, and then settled. A crash in between repeats it and never loses it; the
//! receiver deduplicates by the id.

use crate::{LocalDesk, NoticeText, Result};
use sayso_core::{NoticeReason, Timestamp};
use sayso_store::WriteTransaction;
use serde::{Deserialize, Serialize};
use std::sync::PoisonError;

/// The lease of a claimed notice: after it another process may send the notice.
const LEASE_MICROS: i64 = 60_000_000;

/// The maximum back-off between two attempts.
const BACK_OFF_MICROS_MAX: i64 = 3_600_000_000;

/// The number of attempts to notify that a request is settled. Notices of an open request are retried for as long as
/// it is open.
const SETTLED_TRIES_MAX: u32 = 5;

/// The retention of settled notices: long enough to look into what was sent.
const KEPT_MICROS: i64 = 30 * 24 * 3_600 * 1_000_000;

/// The number of notices that are swept for old ones with each settlement.
const SWEPT_AT_ONCE: usize = 50;

/// The maximum number of characters of a remote error that are kept.
const ERROR_CHARS_MAX: usize = 300;

/// A notice that was claimed for sending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedNotice {
    /// The id by which it is settled.
    pub key: String,
    /// The number of attempts, this one included.
    pub attempts: u32,
    pub text: NoticeText,
}

impl LocalDesk {
    /// Returns the time at which the first notice on one of these channels is due.
    pub fn next_notice(&self, channels: &[String]) -> Result<Option<Timestamp>> {
        let channels: Vec<_> = channels.iter().map(String::as_str).collect();
        self.read(|read| Ok(read.next_notice(self.space, &channels)?))
    }

    /// Claims notices that are due on a channel. Notices that are not needed any more are dropped.
    pub fn claim_notices(&self, channel: &str, limit: usize) -> Result<Vec<ClaimedNotice>> {
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
                    dispatches.push(ClaimedNotice { key, attempts, text });
                }
                Ok(None) => self.drop_notice(&notice.id, "settled before it was sent")?,
                // An unreadable notice is shown as failing and delays no other.
                Err(error) => {
                    self.put_off_notice(&notice.id, notice.attempts, &error.to_string())?
                }
            }
        }
        Ok(dispatches)
    }

    /// Settles a notice that was sent.
    pub fn settle_notice(&self, key: &str) -> Result<()> {
        let (key, now) = (key.to_owned(), self.now());
        Ok(self.sweeping(move |write| write.settle_notice(&key, now))?)
    }

    /// Settles a notice and sweeps a part of the outbox in the same transaction: it grows by one and may shrink by
    /// many, so old notices do not pile up.
    fn sweeping(
        &self,
        settle: impl Fn(&mut WriteTransaction<'_>) -> sayso_store::Result<()> + Send + 'static,
    ) -> sayso_store::Result<()> {
        let before = self.now().plus_micros(-KEPT_MICROS);
        let from = self.swept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let until = self.store.write(move |write| {
            settle(write)?;
            write.sweep_notices(&from, before, SWEPT_AT_ONCE)
        })?;
        // At the end of the outbox the sweep starts over.
        *self.swept.lock().unwrap_or_else(PoisonError::into_inner) = until.unwrap_or_default();
        Ok(())
    }

    /// Records a failed attempt at a notice; the back-off doubles each time.
    pub fn fail_notice(&self, dispatch: &ClaimedNotice, error: &str) -> Result<()> {
        let error = sayso_core::text::shorten(error, ERROR_CHARS_MAX);
        let is_over = dispatch.text.occasion == Some(NoticeReason::Settled);
        if is_over && dispatch.attempts >= SETTLED_TRIES_MAX {
            self.drop_notice(&dispatch.key, &error)
        } else {
            self.put_off_notice(&dispatch.key, dispatch.attempts, &error)
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
