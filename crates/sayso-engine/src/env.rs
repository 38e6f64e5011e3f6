//! The clock and the random number generator, injected so that tests and simulations are deterministic.

use sayso_core::Timestamp;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The source of time and randomness.
#[derive(Clone)]
pub struct RuntimeEnv {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    chance: Arc<dyn Fn() -> u128 + Send + Sync>,
    /// True if the time is that of this machine's clock, which can be compared with the clocks of other machines.
    is_machines: bool,
}

impl RuntimeEnv {
    /// Returns the system clock and the random numbers of the operating system.
    pub fn real() -> Self {
        Self::new(system_now, system_chance).by_machine_clock()
    }

    /// Returns an environment with the given clock and random numbers.
    pub fn new(
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
        chance: impl Fn() -> u128 + Send + Sync + 'static,
    ) -> Self {
        Self { now: Arc::new(now), chance: Arc::new(chance), is_machines: false }
    }

    /// Marks the time as that of this machine's clock, so that it is checked against other clocks.
    #[must_use]
    pub fn by_machine_clock(mut self) -> Self {
        self.is_machines = true;
        self
    }

    pub(crate) fn is_by_machine_clock(&self) -> bool {
        self.is_machines
    }

    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// Returns 128 random bits.
    pub fn random_u128(&self) -> u128 {
        (self.chance)()
    }
}

impl Default for RuntimeEnv {
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
