//! HTTP API for delegation and absence: people who let others answer one gate, or all of them while they are away.

use super::auth::RequestContext;
use super::gates::on_the_wire;
use super::route::{EmptyInput, OperationInput, OperationTable, OperationVerb};
use super::time::rfc3339;
use crate::wire;
use sayso_engine::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) fn operations(table: OperationTable) -> OperationTable {
    table
        .add(OperationVerb::Post, "/gates/{gate}/delegate", DELEGATE, delegate)
        .add(OperationVerb::Get, "/away", LIST, list)
        .add(OperationVerb::Put, "/away", GO, go)
        .add(OperationVerb::Delete, "/away", BACK, back)
}

type AbsenceOperationDoc = (&'static str, &'static str);
const DELEGATE: AbsenceOperationDoc = (
    "delegateGate",
    "Lets somebody else answer a gate in the caller's place. Their answer counts as the caller's would, and is written down as theirs.",
);
const LIST: AbsenceOperationDoc = ("listAway", "Who is away now, and who stands in for them.");
const GO: AbsenceOperationDoc = (
    "goAway",
    "Says that the caller is away. Until then what waits for them waits for whoever stands in for them.",
);
const BACK: AbsenceOperationDoc = ("comeBack", "Says that the caller is back.");

/// The person who is to answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Delegate")]
struct DelegateGate {
    /// The name of that person.
    to: String,
    /// The reason for the delegation.
    #[serde(default)]
    reason: String,
}

fn delegate(
    at: &RequestContext,
    asked: OperationInput<1, EmptyInput, DelegateGate>,
) -> Result<wire::GateJson> {
    let DelegateGate { to, reason } = asked.body;
    let id = at.gate(&asked.names[0])?;
    Ok(on_the_wire(&at.desk.delegate(&at.actor, id, &to, &reason)?))
}

/// All people who are away.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EverybodyAway")]
struct AbsenceList {
    /// The absences, by name.
    items: Vec<wire::AbsenceJson>,
}

fn list(at: &RequestContext, _: OperationInput<0, EmptyInput, EmptyInput>) -> Result<AbsenceList> {
    at.check("away")?;
    let away = at.desk.away()?;
    let items =
        away.iter().map(|(name, away)| wire::AbsenceJson::of(name, away, &rfc3339)).collect();
    Ok(AbsenceList { items })
}

/// The absence of the caller.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GoAway")]
struct StartAbsence {
    /// A moment such as 2026-12-24T18:00:00Z, or a span from now such as 3d. Within a year.
    until: String,
    /// The deputy who answers meanwhile; none, unless given.
    to: Option<String>,
}

fn go(
    at: &RequestContext,
    asked: OperationInput<0, EmptyInput, StartAbsence>,
) -> Result<wire::AbsenceJson> {
    let StartAbsence { until, to } = asked.body;
    let away = at.desk.go_away(&at.actor, at.moment(&until)?, to.as_deref())?;
    Ok(wire::AbsenceJson::of(&at.actor.name, &away, &rfc3339))
}

/// The outcome of coming back.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Back")]
struct ReturnOutcome {
    /// True if the caller was away.
    was_away: bool,
}

fn back(
    at: &RequestContext,
    _: OperationInput<0, EmptyInput, EmptyInput>,
) -> Result<ReturnOutcome> {
    Ok(ReturnOutcome { was_away: at.desk.come_back(&at.actor)? })
}
