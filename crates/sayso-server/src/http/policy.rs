//! HTTP API for policies: the layers in force, and the ruling on a request that is only tried.

use super::route::{Asked, Nothing, Table, Verb};
use super::visitor::Visitor;
use super::when::rfc3339;
use crate::wire;
use sayso_core::Deed;
use sayso_engine::{Request, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::borrow::Cow;

pub(super) fn operations(table: Table) -> Table {
    table.add(Verb::Get, "/policy", SHOW, show).add(Verb::Post, "/policy/explain", EXPLAIN, explain)
}

type Says = (&'static str, &'static str);
const SHOW: Says = ("showPolicy", "What is in force, layer by layer, with its digest.");
const EXPLAIN: Says = (
    "explainPolicy",
    "Says what the policy makes of a request, by which rule, and why. Nothing is asked or done by it.",
);

fn show(at: &Visitor, _: Asked<0, Nothing, Nothing>) -> Result<wire::InForce> {
    at.check("settings")?;
    wire::InForce::at(&at.desk, &rfc3339)
}

/// A request to a policy. Its words are the policy's own.
#[derive(Deserialize)]
#[serde(transparent)]
struct ExplainPolicy(Request);

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

fn explain(at: &Visitor, asked: Asked<0, Nothing, ExplainPolicy>) -> Result<wire::Explained> {
    at.check("explain")?;
    let (explained, remembered) = at.desk.explain(asked.body.0)?;
    // An approval that was given to another agent is only for callers who may read it.
    let may_know = |agent: &str| at.actor.may(Deed::Read) || at.actor.name == agent;
    let remembered = remembered.filter(|it| may_know(&it.agent));
    Ok(wire::Explained { remembered: remembered.map(|r| r.by), ..wire::Explained::of(explained) })
}
