//! The pages: what people see in a browser. They show; what somebody wants done they send to the API, like
//! everybody.

mod account;
mod agents;
mod assets;
mod audit;
mod card;
mod entry;
mod flows;
mod frame;
mod gate;
mod inbox;
mod live;
mod metrics;
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
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get};
use frame::Frame;
use sayso_core::{Code, Refusal};
use sayso_engine::{Error, Result};
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
        .merge(assets::routes())
}

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
            Err(failed) => return refused(failed),
        };
        let space = knock.space.clone();
        match blocking(move || work(&Onlooker(knock.enter()?), asked)).await {
            Ok(html) => html.into_response(),
            // A script that only wants a part of the page is told as programs are.
            Err(failed) if wants_part => failed.into_response(),
            Err(Failed(error)) if problem::status(error.code()) == StatusCode::UNAUTHORIZED => {
                Redirect::to(&entry::way_in(&space, &here)).into_response()
            }
            Err(failed) => refused(failed),
        }
    })
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
}

fn refused(Failed(error): Failed) -> Response {
    let status = problem::status(error.code());
    match Html::of(&ProblemPage::of(&error)) {
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
        }
    }
}
