//! HTTP API for metrics: response times, questions and approvals.

use super::auth::RequestContext;
use super::gates::bad;
use super::route::{EmptyInput, OperationInput, OperationTable, OperationVerb};
use super::time::rfc3339;
use crate::wire;
use sayso_engine::Result;
use schemars::JsonSchema;
use serde::Deserialize;

const HOURS_MAX: u16 = 8_784;

pub(super) fn operations(table: OperationTable) -> OperationTable {
    table.add(OperationVerb::Get, "/metrics", SHOW, show)
}

const SHOW: (&str, &str) = (
    "showMetrics",
    "How asking and answering went. How long people took, how much was asked, how much of it was approved, and what waits.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShowMetrics {
    /// The last hours; 24, unless given, and at most a year.
    #[schemars(range(min = 1, max = 8784))]
    hours: Option<u16>,
}

fn show(
    at: &RequestContext,
    asked: OperationInput<0, ShowMetrics, EmptyInput>,
) -> Result<wire::MetricsJson> {
    let hours = match asked.query.hours.unwrap_or(24) {
        hours @ 1..=HOURS_MAX => i64::from(hours),
        _ => return Err(bad(format!("hours is from 1 to {HOURS_MAX}")).into()),
    };
    let since = at.desk.now().plus_micros(-hours * 3_600_000_000);
    Ok(wire::MetricsJson::of(&at.desk.metrics(&at.actor, since)?, &rfc3339))
}
