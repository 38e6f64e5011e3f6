//! HTTP API for policies: the layers in force, and the ruling on a request that is only tried.

use super::auth::RequestContext;
use super::route::{EmptyInput, OperationInput, OperationTable, OperationVerb};
use super::time::rfc3339;
use crate::wire;
use sayso_core::Permission;
use sayso_engine::{PolicyRequest, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::borrow::Cow;

pub(super) fn operations(table: OperationTable) -> OperationTable {
    table.add(OperationVerb::Get, "/policy", SHOW, show).add(
        OperationVerb::Post,
        "/policy/explain",
        EXPLAIN,
        explain,
    )
}

type PolicyOperationDoc = (&'static str, &'static str);
const SHOW: PolicyOperationDoc =
    ("showPolicy", "What is in force, layer by layer, with its digest.");
const EXPLAIN: PolicyOperationDoc = (
    "explainPolicy",
    "Says what the policy makes of a request, by which rule, and why. Nothing is asked or done by it.",
);

fn show(
    at: &RequestContext,
    _: OperationInput<0, EmptyInput, EmptyInput>,
) -> Result<wire::ActivePolicies> {
    at.check("settings")?;
    wire::ActivePolicies::at(&at.desk, &rfc3339)
}

/// A request to a policy. Its words are the policy's own.
#[derive(Deserialize)]
#[serde(transparent)]
struct ExplainPolicy(PolicyRequest);

impl JsonSchema for ExplainPolicy {
    fn schema_name() -> Cow<'static, str> {
        "ExplainPolicy".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "What is to happen, in the words of policies: \
                {\"on\": \"tool\", \"tool\": \"Bash\", \"command\": \"git push\"}.",
            "properties": {
                "on": {"enum": ["tool", "transition", "lifecycle", "result", "ask"]},
            },
            "required": ["on"],
        })
    }
}

fn explain(
    at: &RequestContext,
    asked: OperationInput<0, EmptyInput, ExplainPolicy>,
) -> Result<wire::PolicyExplanation> {
    at.check("explain")?;
    let (explained, remembered) = at.desk.explain(asked.body.0)?;
    // An approval that was given to another agent is only for callers who may read it.
    let may_know = |agent: &str| at.actor.may(Permission::Read) || at.actor.name == agent;
    let remembered = remembered.filter(|it| may_know(&it.agent));
    Ok(wire::PolicyExplanation {
        remembered: remembered.map(|r| r.by),
        ..wire::PolicyExplanation::of(explained)
    })
}
