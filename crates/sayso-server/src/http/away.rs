//! HTTP API for delegation and absence: people who let others answer one gate, or all of them while they are away.

use super::gates::on_the_wire;
use super::route::{Asked, Nothing, Table, Verb};
use super::visitor::Visitor;
use super::when::rfc3339;
use crate::wire;
use sayso_engine::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) fn operations(table: Table) -> Table {
    table
        .add(Verb::Post, "/gates/{gate}/delegate", DELEGATE, delegate)
        .add(Verb::Get, "/away", LIST, list)
        .add(Verb::Put, "/away", GO, go)
        .add(Verb::Delete, "/away", BACK, back)
}

type Says = (&'static str, &'static str);
const DELEGATE: Says = (
    "delegateGate",
    "Lets somebody else answer a gate in the caller's place. Their answer counts as the caller's would, and is written down as theirs.",
);
const LIST: Says = ("listAway", "Who is away now, and who stands in for them.");
const GO: Says = (
    "goAway",
    "Says that the caller is away. Until then what waits for them waits for whoever stands in for them.",
);
const BACK: Says = ("comeBack", "Says that the caller is back.");

/// The person who is to answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Delegate {
    /// The name of that person.
    to: String,
    /// The reason for the delegation.
    #[serde(default)]
    reason: String,
}

fn delegate(at: &Visitor, asked: Asked<1, Nothing, Delegate>) -> Result<wire::Gate> {
    let Delegate { to, reason } = asked.body;
    let id = at.gate(&asked.names[0])?;
    Ok(on_the_wire(&at.desk.delegate(&at.actor, id, &to, &reason)?))
}

/// All people who are away.
#[derive(Serialize, JsonSchema)]
struct EverybodyAway {
    /// The absences, by name.
    items: Vec<wire::Away>,
}

fn list(at: &Visitor, _: Asked<0, Nothing, Nothing>) -> Result<EverybodyAway> {
    at.check("away")?;
    let away = at.desk.away()?;
    let items = away.iter().map(|(name, away)| wire::Away::of(name, away, &rfc3339)).collect();
    Ok(EverybodyAway { items })
}

/// The absence of the caller.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GoAway {
    /// A moment such as 2026-12-24T18:00:00Z, or a span from now such as 3d. Within a year.
    until: String,
    /// The deputy who answers meanwhile; none, unless given.
    to: Option<String>,
}

fn go(at: &Visitor, asked: Asked<0, Nothing, GoAway>) -> Result<wire::Away> {
    let GoAway { until, to } = asked.body;
    let away = at.desk.go_away(&at.actor, at.moment(&until)?, to.as_deref())?;
    Ok(wire::Away::of(&at.actor.name, &away, &rfc3339))
}

/// The outcome of coming back.
#[derive(Serialize, JsonSchema)]
struct Back {
    /// True if the caller was away.
    was_away: bool,
}

fn back(at: &Visitor, _: Asked<0, Nothing, Nothing>) -> Result<Back> {
    Ok(Back { was_away: at.desk.come_back(&at.actor)? })
}
