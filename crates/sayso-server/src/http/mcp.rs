//! MCP over HTTP: an endpoint at the server for each space. The endpoint authenticates the agent; a client without a
//! token for a space does not learn whether it exists.

use super::health::blocking;
use super::problem::ErrorResponse;
use super::state::{AppState, unknown_credential};
use super::time::rfc3339;
use crate::mcp::{McpSetup, PATH, endpoint};
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use sayso_core::Code;
use sayso_engine::{GateWaiters, LocalDesk};
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceExt;

/// The time a question waits for a person before the call returns without an answer: shorter than the timeout of most
/// clients.
const HOLD: Duration = Duration::from_secs(4 * 60);

pub(super) fn routes() -> Router<Arc<AppState>> {
    Router::new().route("/mcp/{space}", any(knock))
}

/// Builds the endpoint of a space, closed when the server ends.
pub(super) fn of(hall: &Arc<AppState>, desk: &LocalDesk, waits: &GateWaiters) -> Router {
    let desk = desk.clone().into();
    let (door, close) =
        endpoint(McpSetup { desk, hold: HOLD, root: None, time: rfc3339 }, waits.clone());
    let hall = hall.clone();
    tokio::spawn(async move {
        hall.ending().await;
        close();
    });
    door
}

async fn knock(
    State(hall): State<Arc<AppState>>,
    Path(space): Path<String>,
    mut request: Request,
) -> Response {
    let looked = hall.clone();
    let room = match blocking(move || looked.room(&space)).await {
        Ok(room) => room,
        Err(failed) if failed.0.code() == Code::NoSpace => {
            return ErrorResponse::from(unknown_credential()).into_response();
        }
        Err(failed) => return failed.into_response(),
    };
    let door = room.mcp(&hall);
    *request.uri_mut() = Uri::from_static(PATH);
    door.oneshot(request).await.unwrap_or_else(|never| match never {})
}
