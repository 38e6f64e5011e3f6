//! Whether a server is alive, and whether it can do its work.

use super::hall::Hall;
use super::problem::Failed;
use super::visit;
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use sayso_core::{Code, Refusal};
use std::sync::Arc;

pub(super) fn routes() -> Router<Arc<Hall>> {
    Router::new().route("/health/live", get(live)).route("/health/ready", get(ready))
}

/// The process answers.
async fn live() -> &'static str {
    "ok\n"
}

/// The store answers, too. Why it does not is for the log: whoever asks here has shown nothing of themselves.
async fn ready(State(hall): State<Arc<Hall>>) -> Result<&'static str, Failed> {
    let looked = blocking(move || {
        hall.desk().check_schema()?;
        hall.desk().is_deleted().map(drop)
    })
    .await;
    looked.map(|()| "ok\n").map_err(|Failed(error)| {
        tracing::error!(%error, "not ready");
        Refusal::new(error.code(), "the store does not answer")
            .hint("the log of the server says why")
            .into()
    })
}

/// Does something that may wait for the store, where it keeps nobody else waiting.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> sayso_engine::Result<T> + Send + 'static,
) -> Result<T, Failed> {
    match tokio::task::spawn_blocking(visit::carried(work)).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(Refusal::new(Code::Failure, "sayso failed; its log says more").into()),
    }
}
