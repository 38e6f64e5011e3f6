//! The pages: what people see in a browser. They show; what somebody wants done they send to the API, like
//! everybody.

mod account;
mod agents;
mod assets;
mod audit;
mod card;
mod entry;
mod fields;
mod flows;
mod frame;
mod gate;
mod inbox;
mod live;
mod metrics;
mod people;
mod plot;
mod policy;
mod tasks;
mod text;

use super::hall::Hall;
use super::health::blocking;
use super::problem::{self, Failed};
use super::route::{Asked, Input, Nothing, take};
use super::visitor::Visitor;
use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get, post};
use frame::Frame;
use sayso_core::{Code, Refusal};
use sayso_engine::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// A page runs and shows what comes from here, and asks nobody else for anything.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

pub(super) fn routes() -> Router<Arc<Hall>> {
    Router::new()
        .route("/", get(entry::home))
        .route("/login", get(entry::page))
        .route("/s/{space}", get(entry::space))
        .route("/s/{space}/inbox", page(inbox::page))
        .route("/s/{space}/gates/{gate}", page(gate::page))
        .route("/s/{space}/gates/{gate}/try", post(gate::attempt))
        .route("/s/{space}/tasks", page(tasks::page))
        .route("/s/{space}/tasks/{task}", page(tasks::one))
        .route("/s/{space}/flows", page(flows::page))
        .route("/s/{space}/flows/{flow}", page(flows::one))
        .route("/s/{space}/live", page(live::page))
        .route("/s/{space}/agents", page(agents::page))
        .route("/s/{space}/policy", page(policy::page))
        .route("/s/{space}/audit", page(audit::page))
        .route("/s/{space}/metrics", page(metrics::page))
        .route("/s/{space}/you", page(account::page))
        .route("/s/{space}/waiting", page(frame::count))
        .merge(assets::routes())
}

/// A page that needs to be told nothing. Pages are linked to from everywhere, so none of them minds what
/// somebody else added to its address.
#[derive(Deserialize, JsonSchema)]
struct Anything {}

/// Somebody who looks at a page.
struct Onlooker(Visitor);

impl Onlooker {
    /// What is around the page of this name.
    fn frame(&self, page: &'static str) -> Result<Frame> {
        Frame::of(&self.0, page)
    }
}

impl std::ops::Deref for Onlooker {
    type Target = Visitor;
    fn deref(&self) -> &Visitor {
        &self.0
    }
}

/// A page for whoever has a session. Others are shown the way in, and brought back from there.
fn page<const N: usize, Q: Input>(
    work: impl Fn(&Onlooker, Asked<N, Q, Nothing>) -> Result<Html> + Copy + Send + Sync + 'static,
) -> MethodRouter<Arc<Hall>> {
    get(move |State(hall): State<Arc<Hall>>, request: Request<Body>| async move {
        let (here, wants_part) = (request.uri().to_string(), request.headers().contains_key(PART));
        let (knock, asked) = match take::<N, Q, Nothing>(hall, request).await {
            Ok(taken) => taken,
            Err(failed) => return refused_at(failed, &here),
        };
        let space = knock.space.clone();
        match blocking(move || work(&Onlooker(knock.enter()?), asked)).await {
            Ok(html) => html.into_response(),
            // A script that only wants a part of the page is told as programs are.
            Err(failed) if wants_part => failed.into_response(),
            Err(Failed(error)) if problem::status(error.code()) == StatusCode::UNAUTHORIZED => {
                Redirect::to(&entry::way_in(&space, &here)).into_response()
            }
            Err(failed) => refused_at(failed, &here),
        }
    })
}

/// What a browser gets where no page is: the page without the slash behind it, or what there is instead.
pub(super) fn not_there(refusal: Refusal, uri: &Uri) -> Response {
    let path = uri.path().trim_end_matches('/');
    // Only within a space: what begins otherwise could lead to another site.
    if path.len() < uri.path().len() && path.starts_with("/s/") {
        let query = uri.query().map_or(String::new(), |query| format!("?{query}"));
        return Redirect::temporary(&format!("{path}{query}")).into_response();
    }
    let hint = "the address is wrong, or what was there is called otherwise now";
    titled("nothing is here", refusal.hint(hint).into(), uri.path())
}

/// Says that only a part of a page is wanted.
const PART: &str = "sayso-part";

/// A page that was made.
struct Html(String);

impl Html {
    fn of(page: &impl Template) -> Result<Self> {
        let made = page.render();
        made.map(Self).map_err(|e| {
            Refusal::new(Code::Failure, format!("the page cannot be made: {e}")).into()
        })
    }
}

impl IntoResponse for Html {
    fn into_response(self) -> Response {
        let headers = [
            (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
            (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        ];
        (headers, self.0).into_response()
    }
}

/// What went wrong, for people.
#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    version: &'static str,
    code: &'static str,
    title: &'static str,
    detail: String,
    hint: Option<String>,
    /// Where the pages of the space are, where it is known.
    base: Option<String>,
}

fn refused(failed: Failed) -> Response {
    refused_at(failed, "")
}

/// The same for somebody who was at this address, with the ways on from there.
fn refused_at(failed: Failed, here: &str) -> Response {
    titled(failed.0.code().title(), failed, here)
}

fn titled(title: &'static str, Failed(error): Failed, here: &str) -> Response {
    let status = problem::status(error.code());
    let space = here.strip_prefix("/s/").and_then(|rest| rest.split(['/', '?']).next());
    let base = space.filter(|name| !name.is_empty()).map(|name| format!("/s/{name}"));
    match Html::of(&ProblemPage { title, base, ..ProblemPage::of(&error) }) {
        Ok(html) => (status, html).into_response(),
        Err(error) => Failed(error).into_response(),
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
