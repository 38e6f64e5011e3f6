//! The policy page: the layers in force, the standing approvals, and the rules that answers suggest.

use super::super::route::{Asked, Nothing};
use super::super::when::rfc3339;
use super::frame::Frame;
use super::{Html, Onlooker};
use crate::wire;
use askama::Template;
use sayso_core::text::{harmless, harmless_line};
use sayso_engine::{Result, Suggestion};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Template)]
#[template(path = "policy.html")]
struct PolicyPage {
    frame: Frame,
    digest: String,
    layers: Vec<LayerView>,
    remembered: Vec<RememberedView>,
    /// Agents that are known by name.
    agents: Vec<String>,
}

struct LayerView {
    layer: String,
    rules: usize,
    tests: usize,
    set_by: String,
    set_at: String,
    text: String,
}

struct RememberedView {
    gate: String,
    request: String,
    by: String,
    until: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Query {
    /// Only the suggested rules, for a page that is already loaded.
    part: Option<String>,
}

/// The rules that answers suggest.
#[derive(Template)]
#[template(path = "suggested.html")]
struct Suggested {
    rules: Vec<SuggestedRule>,
}

struct SuggestedRule {
    place: String,
    approved: usize,
    people: String,
    examples: Vec<String>,
    text: String,
}

/// The period of answers that are looked at, and the number of approvals at which a rule is suggested.
const SINCE_MICROS: i64 = 30 * 24 * 3_600 * 1_000_000;
const YESES_MIN: usize = 5;

fn suggested(at: &Onlooker) -> Result<Html> {
    let since = at.desk.now().plus_micros(-SINCE_MICROS);
    let rules = at.local.suggestions(&at.actor, since, YESES_MIN)?;
    Html::of(&Suggested { rules: rules.into_iter().map(rule).collect() })
}

fn rule(suggestion: Suggestion) -> SuggestedRule {
    let Suggestion { rule, exception_of, approved, people, examples } = suggestion;
    let people: Vec<_> = people.iter().map(|name| harmless_line(name)).collect();
    SuggestedRule {
        place: match exception_of {
            Some(rule) => format!("for the rule {}", harmless_line(&rule)),
            None => "a rule of its own".into(),
        },
        approved,
        people: people.join(", "),
        examples: examples.iter().map(|example| harmless_line(example)).collect(),
        text: harmless(&rule).text,
    }
}

pub(super) fn page(at: &Onlooker, asked: Asked<0, Query, Nothing>) -> Result<Html> {
    if asked.query.part.is_some() {
        return suggested(at);
    }
    let wire::InForce { digest, layers } = wire::InForce::at(&at.desk, &rfc3339)?;
    let layer = |it: wire::Layer| LayerView {
        layer: it.layer,
        rules: it.rules,
        tests: it.tests,
        set_by: it.set_by,
        set_at: it.set_at,
        text: harmless(&it.text).text,
    };
    let remembered = at.desk.remembered()?.into_iter().map(|(gate, it)| RememberedView {
        gate,
        request: harmless_line(&it.request),
        by: it.by,
        until: rfc3339(it.until),
    });
    Html::of(&PolicyPage {
        frame: at.frame("policy")?,
        digest,
        layers: layers.into_iter().map(layer).collect(),
        remembered: remembered.collect(),
        agents: at.desk.members()?.into_iter().map(|member| member.name).collect(),
    })
}
