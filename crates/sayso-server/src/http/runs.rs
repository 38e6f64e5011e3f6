//! HTTP API for runs: the executions of agents on tasks.

use super::auth::RequestContext;
use super::paging::{limit, page, part};
use super::route::{EmptyInput, OperationInput, OperationTable, OperationVerb};
use super::time::rfc3339;
use crate::wire;
use sayso_core::run::Run;
use sayso_engine::Result;
use schemars::JsonSchema;
use serde::Deserialize;

/// The most runs of a task that can be listed.
const RUNS_MAX: usize = 1_000;

pub(super) fn operations(table: OperationTable) -> OperationTable {
    table.add(OperationVerb::Get, "/runs", LIST, list)
}

const LIST: (&str, &str) = (
    "listRuns",
    "The turns agents took, a page at a time. Those of a task, newest first, or those under way.",
);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListRuns {
    /// Those of this task; those under way, unless given.
    task: Option<String>,
    /// Continue after this run, as `next` of the last page said.
    after: Option<String>,
    /// At most this many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

fn list(
    at: &RequestContext,
    asked: OperationInput<0, ListRuns, EmptyInput>,
) -> Result<wire::PageJson<wire::RunJson>> {
    at.check("live_runs")?;
    let ListRuns { task, after, limit: most } = asked.query;
    let all = match task {
        Some(name) => at.desk.runs_of(at.task(&name)?, RUNS_MAX)?,
        None => at.desk.live_runs()?,
    };
    let name = |run: &Run| run.started.id.to_string();
    let found = part(all, after.as_deref(), limit(most)?, name)?;
    Ok(page(&found, |run| wire::RunJson::of(run, &rfc3339), name))
}
