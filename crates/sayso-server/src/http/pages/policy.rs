//! The policy page: the layers in force, the standing approvals, and the rules that answers suggest.

use super::super::route::{EmptyInput, OperationInput};
use super::super::time::rfc3339;
use super::frame::PageFrame;
use super::{HtmlPage, PageContext};
use crate::wire;
use askama::Template;
use sayso_core::text::{sanitize, sanitize_line};
use sayso_engine::{Result, RuleSuggestion};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Template)]
#[template(path = "policy.html")]
struct PolicyPage {
    frame: PageFrame,
    digest: String,
    layers: Vec<LayerView>,
    remembered: Vec<StandingApprovalView>,
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

struct StandingApprovalView {
    gate: String,
    request: String,
    by: String,
    until: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct PolicyPageQuery {
    /// Only the suggested rules, for a page that is already loaded.
    part: Option<String>,
}

/// The rules that answers suggest.
#[derive(Template)]
#[template(path = "suggested.html")]
struct SuggestedPart {
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

fn suggested(at: &PageContext) -> Result<HtmlPage> {
    let since = at.desk.now().plus_micros(-SINCE_MICROS);
    let rules = at.local.suggestions(&at.actor, since, YESES_MIN)?;
    HtmlPage::of(&SuggestedPart { rules: rules.into_iter().map(rule).collect() })
}

fn rule(suggestion: RuleSuggestion) -> SuggestedRule {
    let RuleSuggestion { rule, exception_of, approved, people, examples } = suggestion;
    let people: Vec<_> = people.iter().map(|name| sanitize_line(name)).collect();
    SuggestedRule {
        place: match exception_of {
            Some(rule) => format!("for the rule {}", sanitize_line(&rule)),
            None => "a rule of its own".into(),
        },
        approved,
        people: people.join(", "),
        examples: examples.iter().map(|example| sanitize_line(example)).collect(),
        text: sanitize(&rule).text,
    }
}

pub(super) fn page(
    at: &PageContext,
    asked: OperationInput<0, PolicyPageQuery, EmptyInput>,
) -> Result<HtmlPage> {
    if asked.query.part.is_some() {
        return suggested(at);
    }
    let wire::ActivePolicies { digest, layers } = wire::ActivePolicies::at(&at.desk, &rfc3339)?;
    let layer = |it: wire::PolicyLayerJson| LayerView {
        layer: it.layer,
        rules: it.rules,
        tests: it.tests,
        set_by: it.set_by,
        set_at: it.set_at,
        text: sanitize(&it.text).text,
    };
    let remembered = at.desk.remembered()?.into_iter().map(|(gate, it)| StandingApprovalView {
        gate,
        request: sanitize_line(&it.request),
        by: it.by,
        until: rfc3339(it.until),
    });
    HtmlPage::of(&PolicyPage {
        frame: at.frame("policy")?,
        digest,
        layers: layers.into_iter().map(layer).collect(),
        remembered: remembered.collect(),
        agents: at.desk.members()?.into_iter().map(|member| member.name).collect(),
    })
}
