//! Points at which this process may be told to die, so that tests can kill it at each of them: every look at the
//! clock, of which each write has one while it is under way, and every look at a walk, of which each wait has one.
//! Only builds with debug assertions heed the word; what is shipped never dies by it.

use sayso_engine::World;
use std::future::{Future, poll_fn};
use std::pin::pin;

/// Where this process has its time and chance from.
pub(crate) fn world() -> World {
    let (clock, dice) = (World::real(), World::real());
    let now = move || {
        point::pass();
        clock.now()
    };
    World::new(now, move || dice.chance()).by_machine_clock()
}

/// Does something that waits.
pub(crate) async fn walk<T>(work: impl Future<Output = T>) -> T {
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

    /// How many points are passed; at the one behind them the process dies.
    const DIES_AFTER: &str = "SAYSO_DIES_AFTER";

    pub(super) fn pass() {
        static MOST: OnceLock<Option<u64>> = OnceLock::new();
        static PASSED: AtomicU64 = AtomicU64::new(0);
        let most = MOST.get_or_init(|| std::env::var(DIES_AFTER).ok()?.parse().ok());
        let Some(most) = most else { return };
        if PASSED.fetch_add(1, Ordering::SeqCst) >= *most {
            // Like a kill: nothing is cleaned up, nothing is said.
            std::process::abort();
        }
    }
}
