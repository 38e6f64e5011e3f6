//! The pages that people see in a browser. They only show; for actions their scripts call the API, like any other
//! client.

mod account;
mod agents;
mod assets;
mod audit;
mod card;
mod charts;
mod fields;
mod flows;
mod frame;
mod gate;
mod inbox;
mod live;
mod login;
mod markdown;
mod metrics;
mod page_table;
mod people;
mod policy;
mod tasks;

use super::problem::{self, ErrorResponse};
use super::state::AppState;
use askama::Template;
use axum::Router;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
pub use page_table::PageRow;
use page_table::{PageContext, PageTable};
use sayso_core::{Code, Refusal};
use sayso_engine::{CallPermission, Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// The content security policy: a page runs and shows what this server sent, and loads nothing from another host.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

fn table() -> PageTable {
    use CallPermission::{Anyone, Auditors, Readers, Trackers};
    PageTable::default()
        .page("/s/{space}/inbox", Anyone, "see the inbox", inbox::page)
        .page("/s/{space}/gates/{gate}", Anyone, "read gates", gate::page)
        .script("/s/{space}/gates/{gate}/try", Anyone, "read gates", gate::check_answer)
        .page("/s/{space}/tasks", Trackers, "read tasks", tasks::page)
        .page("/s/{space}/tasks/{task}", Trackers, "read tasks", tasks::one)
        .page("/s/{space}/flows", Readers, "read flows", flows::page)
        .page("/s/{space}/flows/{flow}", Readers, "read flows", flows::one)
        .page("/s/{space}/live", Trackers, "read runs", live::page)
        .page("/s/{space}/agents", Trackers, "list agents", agents::page)
        .page("/s/{space}/policy", Readers, "read what was remembered", policy::page)
        .page("/s/{space}/audit", Auditors, "read the audit", audit::page)
        .page("/s/{space}/metrics", Readers, "see the figures of a space", metrics::page)
        .page("/s/{space}/you", Readers, "see who is away", account::page)
        .page("/s/{space}/waiting", Anyone, "see the inbox", frame::count)
}

/// Returns every page that needs a credential.
pub fn page_rows() -> Vec<PageRow> {
    table().into_parts().1
}

pub(super) fn routes() -> Router<Arc<AppState>> {
    let (router, _) = table().into_parts();
    router
        .route("/", get(login::home))
        .route("/login", get(login::page))
        .route("/s/{space}", get(login::space))
        .merge(assets::routes())
}

/// The query of a page that needs no parameter. Pages are linked to from many places, so none of them refuses an
/// unknown parameter in its address.
#[derive(Deserialize, JsonSchema)]
struct IgnoredQuery {}

/// Answers a browser at an address without a page: redirects to the address without its trailing slash, or shows an
/// error.
pub(super) fn no_such_page(refusal: Refusal, uri: &Uri) -> Response {
    let path = uri.path().trim_end_matches('/');
    // Only within a space: another address could lead to another site.
    if path.len() < uri.path().len() && path.starts_with("/s/") {
        let query = uri.query().map_or(String::new(), |query| format!("?{query}"));
        return Redirect::temporary(&format!("{path}{query}")).into_response();
    }
    let hint = "the address is wrong, or what was there is called otherwise now";
    titled("nothing is here", refusal.hint(hint).into(), uri.path())
}

/// The header of a request for a part of a page.
const PART: &str = "sayso-part";

/// A page that was rendered.
struct HtmlPage(String);

impl HtmlPage {
    fn of(page: &impl Template) -> Result<Self> {
        let made = page.render();
        made.map(Self).map_err(|e| {
            Refusal::new(Code::Failure, format!("the page cannot be made: {e}")).into()
        })
    }
}

impl IntoResponse for HtmlPage {
    fn into_response(self) -> Response {
        let headers = [
            (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
            (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        ];
        (headers, self.0).into_response()
    }
}

/// The error page, for people.
#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    version: &'static str,
    code: &'static str,
    title: &'static str,
    detail: String,
    hint: Option<String>,
    /// The path of the space's pages, where it is known.
    base: Option<String>,
}

fn refused(failed: ErrorResponse) -> Response {
    refused_at(failed, "")
}

/// Renders an error for a person at this address, with links to continue from there.
fn refused_at(failed: ErrorResponse, here: &str) -> Response {
    titled(failed.0.code().title(), failed, here)
}

fn titled(title: &'static str, ErrorResponse(error): ErrorResponse, here: &str) -> Response {
    let status = problem::status(error.code());
    let space = here.strip_prefix("/s/").and_then(|rest| rest.split(['/', '?']).next());
    let base = space.filter(|name| !name.is_empty()).map(|name| format!("/s/{name}"));
    match HtmlPage::of(&ProblemPage { title, base, ..ProblemPage::of(&error) }) {
        Ok(html) => (status, html).into_response(),
        Err(error) => ErrorResponse(error).into_response(),
    }
}

impl ProblemPage {
    fn of(error: &Error) -> Self {
        let code = error.code();
        Self {
            version: assets::VERSION.as_str(),
            code: code.as_str(),
            title: code.title(),
            detail: error.to_string(),
            hint: error.hint().map(Into::into),
            base: None,
        }
    }
}
