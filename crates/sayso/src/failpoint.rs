//! Failpoints for crash tests: the process aborts at the Nth point. Each clock read is a point (each write reads the
//! clock once while it is under way), and so is each poll of a flow. Only builds with debug assertions read the
//! variable; a released program never aborts here.

use sayso_engine::RuntimeEnv;
use std::future::{Future, poll_fn};
use std::pin::pin;

/// The clock and random source of this process, with a failpoint at each clock read.
pub(crate) fn failpoint_env() -> RuntimeEnv {
    let (clock, dice) = (RuntimeEnv::real(), RuntimeEnv::real());
    let now = move || {
        point::pass();
        clock.now()
    };
    RuntimeEnv::new(now, move || dice.random_u128()).by_machine_clock()
}

/// Runs a future with a failpoint at each poll.
pub(crate) async fn with_failpoints<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let look = poll_fn(|context| {
        point::pass();
        work.as_mut().poll(context)
    });
    look.await
}

#[cfg(not(debug_assertions))]
mod point {
    pub(super) const fn pass() {}
}

#[cfg(debug_assertions)]
mod point {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// The number of points that are passed; the process aborts at the next one.
    const DIES_AFTER: &str = "SAYSO_DIES_AFTER";

    pub(super) fn pass() {
        static MOST: OnceLock<Option<u64>> = OnceLock::new();
        static PASSED: AtomicU64 = AtomicU64::new(0);
        let most = MOST.get_or_init(|| std::env::var(DIES_AFTER).ok()?.parse().ok());
        let Some(most) = most else { return };
        if PASSED.fetch_add(1, Ordering::SeqCst) >= *most {
            // Like SIGKILL: no cleanup, no message.
            std::process::abort();
        }
    }
}
