//! The table of pages: the path of each, and its permission (access control). An [`Onlooker`] is made only here, so a
//! page without a row, and with it without a permission, has no caller to show anything to.

use super::super::hall::Hall;
use super::super::health::blocking;
use super::super::problem::{self, Failed};
use super::super::route::{Asked, Input, Nothing, take};
use super::super::visitor::{Knock, Visitor};
use super::frame::Frame;
use super::{Html, PART, entry, refused_at};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect};
use axum::routing::{get, post};
use sayso_engine::{Permission, Result};
use serde::Serialize;
use std::sync::Arc;

/// A row of the page table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRow {
    pub method: &'static str,
    /// The template of its path.
    pub path: &'static str,
    /// The permission it takes. All that it shows is limited to what is visible to the caller.
    pub permission: Permission,
    /// The purpose, as it completes "may not …".
    what: &'static str,
}

/// The pages, with their routes.
#[derive(Default)]
pub(super) struct PageTable {
    router: Router<Arc<Hall>>,
    rows: Vec<PageRow>,
}

impl PageTable {
    /// Adds a page for people with a session. Others are redirected to the login page, and back from there.
    pub(super) fn page<const N: usize, Q: Input>(
        mut self,
        path: &'static str,
        permission: Permission,
        what: &'static str,
        work: impl Fn(&Onlooker, Asked<N, Q, Nothing>) -> Result<Html> + Copy + Send + Sync + 'static,
    ) -> Self {
        let row = PageRow { method: "GET", path, permission, what };
        let route = get(move |State(hall): State<Arc<Hall>>, request: Request<Body>| async move {
            let (here, wants_part) =
                (request.uri().to_string(), request.headers().contains_key(PART));
            let (knock, asked) = match take::<N, Q, Nothing>(hall, request).await {
                Ok(taken) => taken,
                Err(failed) => return refused_at(failed, &here),
            };
            let space = knock.space.clone();
            match blocking(move || work(&Onlooker::enter(&knock, &row)?, asked)).await {
                Ok(html) => html.into_response(),
                // A script that only wants a part of the page gets a problem, like a program.
                Err(failed) if wants_part => failed.into_response(),
                Err(Failed(error)) if problem::status(error.code()) == StatusCode::UNAUTHORIZED => {
                    Redirect::to(&entry::way_in(&space, &here)).into_response()
                }
                Err(failed) => refused_at(failed, &here),
            }
        });
        self.router = self.router.route(path, route);
        self.rows.push(row);
        self
    }

    /// Adds a route for scripts of a page, which is answered as for programs.
    pub(super) fn script<const N: usize, B: Input, T: Serialize + Send + 'static>(
        mut self,
        path: &'static str,
        permission: Permission,
        what: &'static str,
        work: impl Fn(&Onlooker, Asked<N, Nothing, B>) -> Result<T> + Copy + Send + Sync + 'static,
    ) -> Self {
        let row = PageRow { method: "POST", path, permission, what };
        let route = post(move |State(hall): State<Arc<Hall>>, request: Request<Body>| async move {
            let (knock, asked) = match take::<N, Nothing, B>(hall, request).await {
                Ok(taken) => taken,
                Err(failed) => return failed.into_response(),
            };
            match blocking(move || work(&Onlooker::enter(&knock, &row)?, asked)).await {
                Ok(value) => axum::Json(value).into_response(),
                Err(failed) => failed.into_response(),
            }
        });
        self.router = self.router.route(path, route);
        self.rows.push(row);
        self
    }

    pub(super) fn into_parts(self) -> (Router<Arc<Hall>>, Vec<PageRow>) {
        (self.router, self.rows)
    }
}

/// A caller who may read a page.
pub(super) struct Onlooker(Visitor);

impl Onlooker {
    fn enter(knock: &Knock, row: &PageRow) -> Result<Self> {
        let visitor = knock.enter()?;
        let PageRow { permission, what, .. } = *row;
        visitor.caller.check_permission(&visitor.local, permission, || what.to_owned())?;
        Ok(Self(visitor))
    }

    /// Returns the frame around the page of this name.
    pub(super) fn frame(&self, page: &'static str) -> Result<Frame> {
        Frame::of(&self.0, page)
    }
}

impl std::ops::Deref for Onlooker {
    type Target = Visitor;
    fn deref(&self) -> &Visitor {
        &self.0
    }
}
