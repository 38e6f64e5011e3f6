//! The HTTP API: all operations, their router, and the OpenAPI document of them.

use super::openapi::{self, OperationDescription, OperationSchemas};
use super::problem;
use super::route::{OperationTable, OperationVerb};
use super::state::AppState;
use super::{
    absence, agents, audit, events, flows, gates, messages, metrics, passkeys, policy, runs, tasks,
    tokens,
};
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

/// The OpenAPI document, as it is served.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

fn table() -> OperationTable {
    let table = gates::operations(OperationTable::default());
    let table = absence::operations(table);
    let table = passkeys::operations(table);
    let table = tasks::operations(table);
    let table = agents::operations(table);
    let table = messages::operations(table);
    let table = runs::operations(table);
    let table = flows::operations(table);
    let table = policy::operations(table);
    let table = audit::operations(table);
    let table = events::operations(table);
    let table = metrics::operations(table);
    let table = tokens::operations(table);
    let itself = OperationDescription {
        verb: OperationVerb::Get,
        path: "/v1/openapi.json".into(),
        name: "showApi",
        says: "This document. Nobody needs a credential for it.",
        shapes: |_| OperationSchemas {
            query: vec![],
            body: None,
            answer: json!({"application/json": {"schema": {"type": "object"}}}),
        },
    };
    let show = || async { ([(CONTENT_TYPE, "application/json")], DOCUMENT.as_str()) };
    table.with(itself, get(show))
}

pub(super) fn routes() -> Router<Arc<AppState>> {
    let (router, _) = table().into_parts();
    router.method_not_allowed_fallback(problem::no_such_method)
}

/// Returns the OpenAPI document of all operations.
pub fn document() -> Value {
    openapi::document(&operations())
}

/// Returns the operations that the document describes.
pub(super) fn operations() -> Vec<OperationDescription> {
    table().into_parts().1
}
