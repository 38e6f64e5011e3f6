//! The login page: by passkey, passphrase or invitation code.

use super::super::session;
use super::super::state::AppState;
use super::frame::escaped;
use super::{HtmlPage, assets, refused};
use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use std::sync::Arc;

/// Returns the address of the login page for a space, with the page to return to.
pub(super) fn login_path(space: &str, to: &str) -> String {
    format!("/login?space={}&to={}", escaped(space), escaped(to))
}

/// Redirects to the space this server was started for. On a local server its name is no secret; with TLS a person
/// without a session names the space at the login.
pub(super) async fn home(State(hall): State<Arc<AppState>>, headers: HeaderMap) -> Redirect {
    let space = hall.desk().space_name();
    let has_session = session::of_browser(&hall, &headers, space).is_some();
    if has_session || !hall.is_secure() {
        Redirect::to(&format!("/s/{}/inbox", escaped(space)))
    } else {
        Redirect::to("/login")
    }
}

pub(super) async fn space(Path(space): Path<String>) -> Redirect {
    Redirect::to(&format!("/s/{}/inbox", escaped(&space)))
}

#[derive(Deserialize)]
pub(super) struct LoginPageQuery {
    #[serde(default)]
    space: String,
    #[serde(default)]
    to: String,
}

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    version: &'static str,
    space: String,
    to: String,
    /// The reason why the person was sent to the login page.
    why: &'static str,
}

pub(super) async fn page(
    State(hall): State<Arc<AppState>>,
    headers: HeaderMap,
    Query(wanted): Query<LoginPageQuery>,
) -> Response {
    // No open redirect: not to another site, nor to an address that only looks like ours.
    let is_ours = wanted.to.starts_with("/s/") && !wanted.to.contains(['\\', '\n', '\r']);
    let to = if is_ours { wanted.to } else { String::new() };
    let had_session = session::of_browser(&hall, &headers, &wanted.space).is_some();
    let why = match (to.is_empty(), had_session) {
        (true, _) => "",
        (false, true) => "Your session has ended. Log in, and you are back where you were.",
        (false, false) => "Log in, and you are where you wanted to go.",
    };
    let page = LoginPage { version: assets::VERSION.as_str(), space: wanted.space, to, why };
    HtmlPage::of(&page).map_or_else(|e| refused(e.into()), IntoResponse::into_response)
}
