//! The table of pages: the path of each, and its permission (access control). An [`PageContext`] is made only here, so a
//! page without a row, and with it without a permission, has no caller to show anything to.

use super::super::auth::{IncomingRequest, RequestContext};
use super::super::health::blocking;
use super::super::problem::{self, ErrorResponse};
use super::super::route::{EmptyInput, OperationInput, RequestInput, read_request};
use super::super::state::AppState;
use super::frame::PageFrame;
use super::{HtmlPage, PART, login, refused_at};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect};
use axum::routing::{get, post};
use sayso_engine::{CallPermission, Result};
use serde::Serialize;
use std::sync::Arc;

/// A row of the page table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRow {
    pub method: &'static str,
    /// The template of its path.
    pub path: &'static str,
    /// The permission it takes. All that it shows is limited to what is visible to the caller.
    pub permission: CallPermission,
    /// The purpose, as it completes "may not …".
    what: &'static str,
}

/// The pages, with their routes.
#[derive(Default)]
pub(super) struct PageTable {
    router: Router<Arc<AppState>>,
    rows: Vec<PageRow>,
}

impl PageTable {
    /// Adds a page for people with a session. Others are redirected to the login page, and back from there.
    pub(super) fn page<const N: usize, Q: RequestInput>(
        mut self,
        path: &'static str,
        permission: CallPermission,
        what: &'static str,
        work: impl Fn(&PageContext, OperationInput<N, Q, EmptyInput>) -> Result<HtmlPage>
        + Copy
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let row = PageRow { method: "GET", path, permission, what };
        let route =
            get(move |State(hall): State<Arc<AppState>>, request: Request<Body>| async move {
                let (here, wants_part) =
                    (request.uri().to_string(), request.headers().contains_key(PART));
                let (knock, asked) = match read_request::<N, Q, EmptyInput>(hall, request).await {
                    Ok(taken) => taken,
                    Err(failed) => return refused_at(failed, &here),
                };
                let space = knock.space.clone();
                match blocking(move || work(&PageContext::authorize(&knock, &row)?, asked)).await {
                    Ok(html) => html.into_response(),
                    // A script that only wants a part of the page gets a problem, like a program.
                    Err(failed) if wants_part => failed.into_response(),
                    Err(ErrorResponse(error))
                        if problem::status(error.code()) == StatusCode::UNAUTHORIZED =>
                    {
                        Redirect::to(&login::login_path(&space, &here)).into_response()
                    }
                    Err(failed) => refused_at(failed, &here),
                }
            });
        self.router = self.router.route(path, route);
        self.rows.push(row);
        self
    }

    /// Adds a route for scripts of a page, which is answered as for programs.
    pub(super) fn script<const N: usize, B: RequestInput, T: Serialize + Send + 'static>(
        mut self,
        path: &'static str,
        permission: CallPermission,
        what: &'static str,
        work: impl Fn(&PageContext, OperationInput<N, EmptyInput, B>) -> Result<T>
        + Copy
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let row = PageRow { method: "POST", path, permission, what };
        let route =
            post(move |State(hall): State<Arc<AppState>>, request: Request<Body>| async move {
                let (knock, asked) = match read_request::<N, EmptyInput, B>(hall, request).await {
                    Ok(taken) => taken,
                    Err(failed) => return failed.into_response(),
                };
                match blocking(move || work(&PageContext::authorize(&knock, &row)?, asked)).await {
                    Ok(value) => axum::Json(value).into_response(),
                    Err(failed) => failed.into_response(),
                }
            });
        self.router = self.router.route(path, route);
        self.rows.push(row);
        self
    }

    pub(super) fn into_parts(self) -> (Router<Arc<AppState>>, Vec<PageRow>) {
        (self.router, self.rows)
    }
}

/// A caller who may read a page.
pub(super) struct PageContext(RequestContext);

impl PageContext {
    fn authorize(knock: &IncomingRequest, row: &PageRow) -> Result<Self> {
        let visitor = knock.authenticate()?;
        let PageRow { permission, what, .. } = *row;
        visitor.caller.check_permission(&visitor.local, permission, || what.to_owned())?;
        Ok(Self(visitor))
    }

    /// Returns the frame around the page of this name.
    pub(super) fn frame(&self, page: &'static str) -> Result<PageFrame> {
        PageFrame::of(&self.0, page)
    }
}

impl std::ops::Deref for PageContext {
    type Target = RequestContext;
    fn deref(&self) -> &RequestContext {
        &self.0
    }
}
