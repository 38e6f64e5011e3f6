//! The metrics page: questions per hour, response times, approval rates, and the age of the queue.

use super::super::route::{EmptyInput, OperationInput};
use super::charts;
use super::frame::PageFrame;
use super::{HtmlPage, PageContext};
use askama::Template;
use sayso_core::text::sanitize_line;
use sayso_engine::{MetricsInterval, Result, SpaceMetrics};
use schemars::JsonSchema;
use serde::Deserialize;

const HOUR_MICROS: i64 = 3_600 * 1_000_000;

#[derive(Deserialize, JsonSchema)]
pub(super) struct MetricsPageQuery {
    #[serde(default)]
    over: MetricsPeriod,
    part: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
enum MetricsPeriod {
    #[default]
    #[serde(rename = "1d")]
    Day,
    #[serde(rename = "7d")]
    Week,
    #[serde(rename = "30d")]
    Month,
}

impl MetricsPeriod {
    const ALL: [MetricsPeriod; 3] = [MetricsPeriod::Day, MetricsPeriod::Week, MetricsPeriod::Month];

    fn hours(self) -> i64 {
        match self {
            MetricsPeriod::Day => 24,
            MetricsPeriod::Week => 7 * 24,
            MetricsPeriod::Month => 30 * 24,
        }
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            MetricsPeriod::Day => ("1d", "a day"),
            MetricsPeriod::Week => ("7d", "a week"),
            MetricsPeriod::Month => ("30d", "a month"),
        }
    }
}

struct PeriodTab {
    name: &'static str,
    title: &'static str,
    is_here: bool,
}

#[derive(Template)]
#[template(path = "metrics.html")]
struct MetricsPage {
    frame: PageFrame,
    body: MetricsPart,
}

#[derive(Template)]
#[template(path = "metrics_body.html")]
struct MetricsPart {
    base: String,
    spans: Vec<PeriodTab>,
    tiles: Vec<(&'static str, String)>,
    asked: String,
    took: String,
    rates: String,
    queue: String,
    rules: Vec<RuleView>,
    is_cut: bool,
    is_empty: bool,
}

struct RuleView {
    name: String,
    approved: u64,
    rejected: u64,
    rate: String,
    hasty: u64,
    /// True if there never was a rejection: then a rule could say yes by itself.
    is_always_yes: bool,
}

/// The number of approvals, without a rejection, at which a rule is worth a thought.
const ALWAYS_MIN: u64 = 10;

pub(super) fn page(
    at: &PageContext,
    asked: OperationInput<0, MetricsPageQuery, EmptyInput>,
) -> Result<HtmlPage> {
    let MetricsPageQuery { over, part } = asked.query;
    let since = at.desk.now().plus_micros(-over.hours() * HOUR_MICROS);
    let metrics = at.desk.metrics(&at.actor, since)?;
    let frame = at.frame("metrics")?;
    let body = body(&metrics, over, frame.base.clone());
    match part {
        Some(_) => HtmlPage::of(&body),
        None => HtmlPage::of(&MetricsPage { frame, body }),
    }
}

fn body(metrics: &SpaceMetrics, over: MetricsPeriod, base: String) -> MetricsPart {
    let (_, words) = over.names();
    let ends = [&*format!("{words} ago"), "now"];
    let counts: Vec<_> =
        metrics.course.iter().map(|s| (s.asked as f64, s.answered as f64)).collect();
    let half = |s: &MetricsInterval| s.to_answer.map(|spread| spread.half_ms as f64);
    let took: Vec<_> = metrics.course.iter().map(half).collect();
    let tab = |it: MetricsPeriod| PeriodTab {
        name: it.names().0,
        title: it.names().1,
        is_here: it == over,
    };
    MetricsPart {
        base,
        spans: MetricsPeriod::ALL.map(tab).into(),
        tiles: tiles(metrics, over),
        asked: charts::bars("Asked, and answered, over time", &counts, ends),
        took: charts::line("Time to an answer, which half took at most", &took, ends, |ms| {
            span(ms as u64)
        }),
        rates: rates(metrics),
        queue: queue(metrics.waiting),
        rules: decided_rules(metrics).map(rule).collect(),
        is_cut: metrics.is_cut,
        is_empty: metrics.asked == 0 && metrics.open == 0,
    }
}

fn tiles(metrics: &SpaceMetrics, over: MetricsPeriod) -> Vec<(&'static str, String)> {
    let decided = metrics.approved + metrics.rejected;
    let none = || "–".to_owned();
    let took = |ms: fn(&sayso_engine::DurationStats) -> u64| {
        metrics.to_answer.as_ref().map_or_else(none, |spread| span(ms(spread)))
    };
    let rate = (decided > 0).then(|| percent(metrics.approved, decided));
    let per_hour = metrics.asked as f64 / over.hours() as f64;
    vec![
        ("wait now", metrics.open.to_string()),
        ("asked per hour", charts::figure(per_hour)),
        ("answered", (decided + metrics.answered).to_string()),
        ("too fast to be read", metrics.hasty.to_string()),
        ("unanswered", metrics.unanswered.to_string()),
        ("half answered within", took(|spread| spread.half_ms)),
        ("nine of ten within", took(|spread| spread.most_ms)),
        ("approved", rate.unwrap_or_else(none)),
    ]
}

fn rule(rule: &sayso_engine::RuleStats) -> RuleView {
    let all = rule.approved + rule.rejected;
    RuleView {
        name: sanitize_line(&rule.name),
        approved: rule.approved,
        rejected: rule.rejected,
        rate: percent(rule.approved, all),
        hasty: rule.hasty,
        is_always_yes: rule.rejected == 0 && rule.approved >= ALWAYS_MIN,
    }
}

/// Returns the rules with an approval or a rejection.
fn decided_rules(metrics: &SpaceMetrics) -> impl Iterator<Item = &sayso_engine::RuleStats> {
    metrics.rules.iter().filter(|rule| rule.approved + rule.rejected > 0)
}

/// Draws the number of waiting cards, by the time they have waited.
fn queue(waiting: [u64; 4]) -> String {
    let titles = ["up to 10 min", "up to 1 h", "up to 1 day", "longer"];
    let classes = ["fresh", "waiting", "old", "old"];
    let [a, b, c, d] = [0, 1, 2, 3].map(|at| (titles[at], classes[at], waiting[at]));
    charts::columns("How long what waits has waited", &[a, b, c, d])
}

/// Draws the share of approvals, by rule; empty where there was no decision.
fn rates(metrics: &SpaceMetrics) -> String {
    let names: Vec<_> = decided_rules(metrics).map(|rule| sanitize_line(&rule.name)).collect();
    let rows: Vec<_> = names
        .iter()
        .zip(decided_rules(metrics))
        .map(|(name, rule)| (name.as_str(), rule.approved, rule.rejected))
        .collect();
    if rows.is_empty() {
        String::new()
    } else {
        charts::shares("How often people said yes, by rule", &rows)
    }
}

fn percent(part: u64, all: u64) -> String {
    format!("{:.0} %", part as f64 * 100.0 / all.max(1) as f64)
}

/// Formats a span of time, as short as it can be.
fn span(ms: u64) -> String {
    match ms / 1_000 {
        0 => format!("{ms} ms"),
        s @ 1..60 => format!("{s} s"),
        s @ 60..3_600 => format!("{} min", s / 60),
        s @ 3_600..86_400 => format!("{} h", charts::figure((s as f64 / 360.0).round() / 10.0)),
        s => format!("{} days", charts::figure((s as f64 / 8_640.0).round() / 10.0)),
    }
}
