//! Static assets of the pages: styles, scripts, the icon. All of them are embedded in the program.

use super::super::state::AppState;
use crate::keys::{DEAD_TIME, GRACE, KEYS};
use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sayso_core::Digest;
use serde_json::json;
use std::sync::{Arc, LazyLock};

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// Every file, by its name.
const FILES: [(&str, &str, &str); 18] = [
    ("style.css", CSS, include_str!("../../../assets/style.css")),
    ("app.js", JS, include_str!("../../../assets/app.js")),
    ("answer.js", JS, include_str!("../../../assets/answer.js")),
    ("ask.js", JS, include_str!("../../../assets/ask.js")),
    ("board.js", JS, include_str!("../../../assets/board.js")),
    ("card.js", JS, include_str!("../../../assets/card.js")),
    ("count.js", JS, include_str!("../../../assets/count.js")),
    ("drafts.js", JS, include_str!("../../../assets/drafts.js")),
    ("entry.js", JS, include_str!("../../../assets/entry.js")),
    ("form.js", JS, include_str!("../../../assets/form.js")),
    ("inbox.js", JS, include_str!("../../../assets/inbox.js")),
    ("live.js", JS, include_str!("../../../assets/live.js")),
    ("marks.js", JS, include_str!("../../../assets/marks.js")),
    ("passkey.js", JS, include_str!("../../../assets/passkey.js")),
    ("read.js", JS, include_str!("../../../assets/read.js")),
    ("server.js", JS, include_str!("../../../assets/server.js")),
    ("typing.js", JS, include_str!("../../../assets/typing.js")),
    ("icon.svg", "image/svg+xml", include_str!("../../../assets/icon.svg")),
];

/// The icon for phones, which cut it to their own shape.
const ICON: &[u8] = include_bytes!("../../../assets/icon.png");

/// A hash of all files, so that a browser may cache them for ever and never has old ones.
pub(super) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all: String = FILES.iter().map(|(_, _, text)| *text).collect();
    let all = [all.as_bytes(), keys().as_bytes(), ICON].concat();
    let digest = Digest::of_bytes(&all).to_string();
    digest.chars().filter(char::is_ascii_alphanumeric).rev().take(16).collect()
});

pub(super) fn routes() -> Router<Arc<AppState>> {
    Router::new()
        .route("/assets/{version}/{file}", get(file))
        .route("/manifest.webmanifest", get(manifest))
}

async fn file(Path((_, name)): Path<(String, String)>) -> Response {
    let found = FILES.iter().find(|(known, ..)| *known == name);
    let (kind, text) = match found {
        Some((_, kind, text)) => (*kind, text.as_bytes().to_vec()),
        None if name == "keys.js" => (JS, keys().into_bytes()),
        None if name == "icon.png" => ("image/png", ICON.to_vec()),
        None => return StatusCode::NOT_FOUND.into_response(),
    };
    let kept = "public, max-age=31536000, immutable";
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, kept)], text).into_response()
}

/// Returns the key bindings as a script: the same list as in the terminal.
fn keys() -> String {
    let key = |binding: &crate::keys::KeyBinding| {
        json!({
            "name": binding.name, "keys": binding.keys, "shown": binding.shown,
            "says": binding.says, "speaks": binding.speaks,
        })
    };
    let keys: Vec<_> = KEYS.iter().filter(|one| one.name != "quit").map(key).collect();
    let (dead, grace) = (DEAD_TIME.as_millis(), GRACE.as_millis());
    format!(
        "export const KEYS = {};\nexport const DEAD_TIME = {dead};\nexport const GRACE = {grace};\n",
        json!(keys)
    )
}

/// Returns the web app manifest, with which a phone installs the pages as an app.
async fn manifest() -> Response {
    let icon = |file: &str| format!("/assets/{}/{file}", VERSION.as_str());
    let text = json!({
        "id": "/", "name": "sayso", "short_name": "sayso", "start_url": "/", "scope": "/",
        "display": "standalone", "description": "What matters waits for your say-so.",
        "background_color": "#14161c", "theme_color": "#14161c",
        "icons": [
            {"src": icon("icon.svg"), "sizes": "any", "type": "image/svg+xml", "purpose": "any"},
            {"src": icon("icon.png"), "sizes": "512x512", "type": "image/png", "purpose": "any"},
            {"src": icon("icon.png"), "sizes": "512x512", "type": "image/png", "purpose": "maskable"},
        ],
    });
    ([(CONTENT_TYPE, "application/manifest+json")], text.to_string()).into_response()
}
