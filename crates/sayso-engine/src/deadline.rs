//! How long the caller of a write from elsewhere waits for it. What nobody waits for any more is not committed:
//! its caller was told that the outcome is unknown, and looks at what there is.

use crate::{LocalDesk, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The patience of one caller. Clones share whether the caller is gone.
#[derive(Debug, Clone, Default)]
pub struct CallDeadline {
    until: Option<Instant>,
    is_gone: Arc<AtomicBool>,
}

impl CallDeadline {
    /// A caller who waits this long from now; without a limit, until the connection closes.
    pub fn after(limit: Option<Duration>) -> Self {
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        Self { until, is_gone: Arc::default() }
    }

    /// Notes that the caller is gone.
    pub fn give_up(&self) {
        self.is_gone.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        let is_late = self.until.is_some_and(|until| Instant::now() >= until);
        is_late || self.is_gone.load(Ordering::Relaxed)
    }
}

impl LocalDesk {
    /// The same desk for a caller who waits no longer than this.
    #[must_use]
    pub fn within(mut self, deadline: Option<CallDeadline>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Until when its caller waits, if that is limited.
    pub(crate) fn expires(&self) -> Option<Instant> {
        self.deadline.as_ref().and_then(|deadline| deadline.until)
    }

    /// Refuses to go on with what its caller no longer waits for.
    pub(crate) fn check_is_awaited(&self) -> sayso_store::Result<()> {
        match self.deadline.as_ref().is_some_and(CallDeadline::is_over) {
            true => Err(sayso_store::Error::Expired),
            false => Ok(()),
        }
    }
}

/// The error of a call whose outcome may be unknown by now: `is_open` says that an earlier try may have counted.
pub(crate) fn settled<T>(outcome: Result<T>, is_open: bool) -> Result<T> {
    match outcome {
        Err(crate::Error::Store(error)) if is_open => {
            Err(sayso_store::Error::OutcomeUnknown(error.to_string()).into())
        }
        outcome => outcome,
    }
}
