//! Deadlines of remote writes: a write whose caller has given up is not committed. The caller was told that the
//! outcome is unknown, and reads the state again.

use crate::{LocalDesk, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time that one caller waits. Clones share the flag that the caller is gone.
#[derive(Debug, Clone, Default)]
pub struct CallDeadline {
    until: Option<Instant>,
    is_gone: Arc<AtomicBool>,
}

impl CallDeadline {
    /// Returns a deadline after this duration; without a limit, the caller waits until the connection closes.
    pub fn after(limit: Option<Duration>) -> Self {
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        Self { until, is_gone: Arc::default() }
    }

    /// Marks the caller as gone.
    pub fn give_up(&self) {
        self.is_gone.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        let is_late = self.until.is_some_and(|until| Instant::now() >= until);
        is_late || self.is_gone.load(Ordering::Relaxed)
    }
}

impl LocalDesk {
    /// Returns the desk for a caller with this deadline.
    #[must_use]
    pub fn within(mut self, deadline: Option<CallDeadline>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Returns the deadline of the caller, if there is one.
    pub(crate) fn expires(&self) -> Option<Instant> {
        self.deadline.as_ref().and_then(|deadline| deadline.until)
    }

    /// Refuses to continue a call whose caller no longer waits.
    pub(crate) fn check_is_awaited(&self) -> sayso_store::Result<()> {
        if self.deadline.as_ref().is_some_and(CallDeadline::is_over) {
            Err(sayso_store::Error::Expired)
        } else {
            Ok(())
        }
    }
}

/// Maps a store failure to an unknown outcome if `is_open` is set, that is, if an earlier try may have been
/// committed.
pub(crate) fn or_outcome_unknown<T>(outcome: Result<T>, is_open: bool) -> Result<T> {
    match outcome {
        Err(crate::Error::Store(error)) if is_open => {
            Err(sayso_store::Error::OutcomeUnknown(error.to_string()).into())
        }
        outcome => outcome,
    }
}
