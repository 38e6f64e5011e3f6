//! Health checks: liveness of the process, and readiness of the server and its store.

use super::access_log;
use super::problem::ErrorResponse;
use super::request_lanes;
use super::state::AppState;
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use sayso_core::{Code, Refusal};
use sayso_engine::{Error, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// The time the store has to take a write. The client is a machine that asks again.
const PROBE_MAX: Duration = Duration::from_secs(4);

/// The time for which the last write counts. Clients show no credential here, so it costs one write a second at most.
const FRESH: Duration = Duration::from_secs(1);

pub(super) fn routes() -> Router<Arc<AppState>> {
    Router::new().route("/health/live", get(live)).route("/health/ready", get(ready))
}

async fn live() -> &'static str {
    "ok\n"
}

/// The outcome of the last write that was made to see whether the store takes one.
#[derive(Default)]
pub(super) struct ReadinessProbe(Mutex<Option<(Instant, std::result::Result<(), Code>)>>);

impl ReadinessProbe {
    /// Returns the outcome of one more write, unless the last one is fresh. One at a time.
    async fn outcome(&self, hall: &Arc<AppState>) -> std::result::Result<(), Code> {
        let mut last = self.0.lock().await;
        let fresh = last.filter(|(at, _)| at.elapsed() < FRESH);
        if let Some((_, Err(code))) = fresh {
            return Err(code);
        }
        let (desk, is_written) = (hall.desk().clone(), fresh.is_some());
        // A newer program may have migrated the store further than this one knows. To read that costs little.
        let probe = tokio::task::spawn_blocking(move || match desk.check_schema() {
            Ok(()) if !is_written => (desk.probe(), true),
            read => (read, false),
        });
        let (outcome, counts) = match tokio::time::timeout(PROBE_MAX, probe).await {
            Ok(Ok((outcome, is_write))) => (outcome.map_err(|error| said(&error)), is_write),
            Ok(Err(_)) => (Err(Code::Failure), true),
            Err(_) => {
                let limit = PROBE_MAX.as_secs();
                tracing::error!("not ready: the store took no write within {limit} s");
                (Err(Code::Unreachable), true)
            }
        };
        if counts {
            *last = Some((Instant::now(), outcome));
        }
        outcome
    }
}

/// Logs the reason why the store takes no write; the response has none, since the client has shown no credential.
fn said(error: &Error) -> Code {
    tracing::error!(%error, "not ready");
    error.code()
}

/// Checks that the store takes a write. That it can be read says little: a full disk, a file that became read-only
/// and a lock that is never given back leave reading as it was.
async fn ready(
    State(hall): State<Arc<AppState>>,
) -> std::result::Result<&'static str, ErrorResponse> {
    hall.readiness().outcome(&hall).await.map(|()| "ok\n").map_err(|code| {
        Refusal::new(code, "the store takes no write").hint("the log of the server says why").into()
    })
}

/// Runs work that may wait for the store on a thread of its own, in the lane of the caller, so it delays no other
/// request.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> std::result::Result<T, ErrorResponse> {
    let room = request_lanes::acquire_permit().await?;
    let work = access_log::for_this_request(work);
    let done = tokio::task::spawn_blocking(move || {
        let _room = room;
        work()
    });
    match done.await {
        Ok(done) => Ok(done?),
        Err(_) => Err(Refusal::new(Code::Failure, "sayso failed; its log says more").into()),
    }
}
