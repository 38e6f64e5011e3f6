//! What this one process has served since it was started. What the store knows is read from there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Until how many milliseconds requests took, for each step.
pub(super) const STEPS_MS: [u64; 10] = [1, 5, 25, 100, 250, 500, 1_000, 2_500, 10_000, 60_000];

pub(super) struct Meter {
    started_at: SystemTime,
    routes: Mutex<Routes>,
    parked: AtomicUsize,
}

/// A request that is parked, counted for as long as this is kept.
pub(super) struct Parked<'m>(&'m AtomicUsize);

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// By method and template, of which there is a fixed number.
pub(super) type Routes = BTreeMap<(&'static str, String), Served>;

/// What was served at one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Served {
    /// How many, by status.
    pub(super) by_status: BTreeMap<u16, u64>,
    /// How many took until each of [`STEPS_MS`], those of the steps before not counted.
    pub(super) steps: [u64; STEPS_MS.len()],
    pub(super) count: u64,
    pub(super) took: Duration,
}

impl Default for Meter {
    fn default() -> Self {
        Self::new()
    }
}

impl Meter {
    pub(super) fn new() -> Self {
        let (routes, parked) = Default::default();
        Self { started_at: SystemTime::now(), routes, parked }
    }

    pub(super) fn note(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let mut routes = self.routes();
        let served = routes.entry((method, route.to_owned())).or_default();
        *served.by_status.entry(status).or_default() += 1;
        let step = STEPS_MS.iter().position(|ms| took <= Duration::from_millis(*ms));
        if let Some(step) = step {
            served.steps[step] += 1;
        }
        served.count += 1;
        served.took += took;
    }

    /// Counts a request that is parked.
    pub(super) fn park(&self) -> Parked<'_> {
        self.parked.fetch_add(1, Ordering::Relaxed);
        Parked(&self.parked)
    }

    /// How many are.
    pub(super) fn parked(&self) -> usize {
        self.parked.load(Ordering::Relaxed)
    }

    /// All of it, as it is now.
    pub(super) fn read(&self) -> Routes {
        self.routes().clone()
    }

    /// When the process was started, in seconds of the epoch.
    pub(super) fn started_at(&self) -> f64 {
        self.started_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
    }

    fn routes(&self) -> MutexGuard<'_, Routes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
