//! Agents that speak MCP, at the server itself: a door for each space. Who is let in there is that door's
//! business; that there is no such space nobody learns who has no token for it.

use super::hall::{Hall, unknown_credential};
use super::health::blocking;
use super::problem::Failed;
use super::when::rfc3339;
use crate::mcp::{PATH, Setup, door};
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use sayso_core::Code;
use sayso_engine::{LocalDesk, Waits};
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceExt;

/// How long a question waits for a person before the call comes back without an answer: shorter than most
/// clients wait for one.
const HOLD: Duration = Duration::from_secs(4 * 60);

pub(super) fn routes() -> Router<Arc<Hall>> {
    Router::new().route("/mcp/{space}", any(knock))
}

/// The door of a space, closed when the server ends.
pub(super) fn of(hall: &Arc<Hall>, desk: &LocalDesk, waits: &Waits) -> Router {
    let desk = desk.clone().into();
    let (door, close) = door(Setup { desk, hold: HOLD, root: None, time: rfc3339 }, waits.clone());
    let hall = hall.clone();
    tokio::spawn(async move {
        hall.ending().await;
        close();
    });
    door
}

async fn knock(
    State(hall): State<Arc<Hall>>,
    Path(space): Path<String>,
    mut request: Request,
) -> Response {
    let looked = hall.clone();
    let room = match blocking(move || looked.room(&space)).await {
        Ok(room) => room,
        Err(failed) if failed.0.code() == Code::NoSpace => {
            return Failed::from(unknown_credential()).into_response();
        }
        Err(failed) => return failed.into_response(),
    };
    let door = room.mcp(&hall);
    *request.uri_mut() = Uri::from_static(PATH);
    door.oneshot(request).await.unwrap_or_else(|never| match never {})
}
