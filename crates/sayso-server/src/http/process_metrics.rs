//! Process metrics: requests and their latency since this process was started. Figures of the store are read from
//! there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The upper bounds of the latency buckets, in milliseconds.
pub(super) const STEPS_MS: [u64; 10] = [1, 5, 25, 100, 250, 500, 1_000, 2_500, 10_000, 60_000];

pub(super) struct ProcessMetrics {
    started_at: SystemTime,
    routes: Mutex<RouteMetricsMap>,
    parked: AtomicUsize,
}

/// Counts a parked request for as long as it is kept.
pub(super) struct ParkedCount<'m>(&'m AtomicUsize);

impl Drop for ParkedCount<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Requests by method and route template, of which there is a fixed number.
pub(super) type RouteMetricsMap = BTreeMap<(&'static str, String), RouteMetrics>;

/// The requests of one route.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RouteMetrics {
    /// The number of requests, by status.
    pub(super) by_status: BTreeMap<u16, u64>,
    /// The number of requests in each bucket of [`STEPS_MS`], those of the buckets before not counted.
    pub(super) steps: [u64; STEPS_MS.len()],
    pub(super) count: u64,
    pub(super) took: Duration,
}

impl Default for ProcessMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl ProcessMetrics {
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
    pub(super) fn park(&self) -> ParkedCount<'_> {
        self.parked.fetch_add(1, Ordering::Relaxed);
        ParkedCount(&self.parked)
    }

    /// Returns the number of parked requests.
    pub(super) fn parked(&self) -> usize {
        self.parked.load(Ordering::Relaxed)
    }

    /// Returns a copy of all counters.
    pub(super) fn read(&self) -> RouteMetricsMap {
        self.routes().clone()
    }

    /// Returns the time at which the process was started, in seconds of the epoch.
    pub(super) fn started_at(&self) -> f64 {
        self.started_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
    }

    fn routes(&self) -> MutexGuard<'_, RouteMetricsMap> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
