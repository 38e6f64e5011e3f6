//! Time and chance, handed in so that tests and simulations can hold them.

use sayso_core::Timestamp;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where time and chance come from.
#[derive(Clone)]
pub struct World {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    chance: Arc<dyn Fn() -> u128 + Send + Sync>,
    /// Whether the time is that of this machine's clock, which can be compared with others.
    is_machines: bool,
}

impl World {
    /// The machine's clock and its random numbers.
    pub fn real() -> Self {
        Self::new(system_now, system_chance).by_machine_clock()
    }

    /// A world of one's own.
    pub fn new(
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
        chance: impl Fn() -> u128 + Send + Sync + 'static,
    ) -> Self {
        Self { now: Arc::new(now), chance: Arc::new(chance), is_machines: false }
    }

    /// The same world, whose time is that of this machine's clock: it is checked against other clocks.
    #[must_use]
    pub fn by_machine_clock(mut self) -> Self {
        self.is_machines = true;
        self
    }

    pub(crate) fn is_by_machine_clock(&self) -> bool {
        self.is_machines
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// 128 bits of chance.
    pub fn chance(&self) -> u128 {
        (self.chance)()
    }
}

impl Default for World {
    fn default() -> Self {
        Self::real()
    }
}

fn system_now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

#[allow(clippy::expect_used, reason = "without random numbers ids and secrets would be guessable")]
fn system_chance() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system has no random numbers");
    u128::from_le_bytes(bytes)
}
