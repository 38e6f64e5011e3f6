//! Wire types of metrics: questions, answers and response times.

use super::TimeFormatter;
use sayso_engine::{
    MetricsInterval as CoreStretch, RuleStats as CoreOfRule, SpaceMetrics as CoreMetrics,
};
use schemars::JsonSchema;
use serde::Serialize;

/// The metrics of a span of time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Metrics")]
pub struct MetricsJson {
    /// The beginning of the span.
    pub since: String,
    /// The end of the span.
    pub until: String,
    /// The number of gates that wait now.
    pub open: u64,
    /// The number that were asked.
    pub asked: u64,
    /// The same per hour.
    pub asked_per_hour: f64,
    /// The number that people answered.
    pub answered: u64,
    /// The number of these that are a yes and came sooner than what was asked can be read.
    pub hasty: u64,
    /// The number that ended without an answer.
    pub unanswered: u64,
    /// The share of yeses among the answers, from 0 to 1; none without an answer.
    pub approval_rate: Option<f64>,
    /// The time people took; none without an answer.
    pub to_answer: Option<ResponseTimesJson>,
    /// True if there was more than is looked at: then these are the latest.
    pub cut: bool,
    /// The course of that time, in stretches of the same length.
    pub course: Vec<MetricsIntervalJson>,
    /// The answers of people, by the rule that asked them; where no rule did, by the kind of gate.
    pub rules: Vec<RuleStatsJson>,
    /// The number of gates that wait now, by their age: up to ten minutes, an hour, a day, and longer.
    pub waiting: Vec<u64>,
}

/// A stretch of time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Stretch")]
pub struct MetricsIntervalJson {
    /// The time at which it began.
    pub from: String,
    /// The number that were asked in it.
    pub asked: u64,
    /// The number that people answered in it.
    pub answered: u64,
    /// The median response time: half of them took at most this long; none without an answer.
    pub half_seconds: Option<f64>,
}

/// The answers of people where one rule asked them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "OfRule")]
pub struct RuleStatsJson {
    /// The rule, or the kind of gate.
    pub name: String,
    /// The number of yeses.
    pub approved: u64,
    /// Texts, choices and forms.
    pub answered: u64,
    /// The number of noes.
    pub rejected: u64,
    /// Yeses that came sooner than what was asked can be read.
    pub hasty: u64,
}

/// The time people took to answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ToAnswer")]
pub struct ResponseTimesJson {
    /// Half of the answers took no longer.
    pub half_seconds: f64,
    /// Nine of ten took no longer.
    pub most_seconds: f64,
    /// The longest of them all.
    pub longest_seconds: f64,
}

impl MetricsJson {
    /// Converts metrics to their wire form.
    pub fn of(metrics: &CoreMetrics, time: TimeFormatter<'_>) -> Self {
        let span = metrics.until.as_micros().saturating_sub(metrics.since.as_micros()).max(1);
        let hours = span as f64 / 3.6e9;
        let decided = metrics.approved + metrics.rejected;
        let seconds = |ms: u64| ms as f64 / 1e3;
        Self {
            since: time(metrics.since),
            until: time(metrics.until),
            open: metrics.open,
            asked: metrics.asked,
            asked_per_hour: metrics.asked as f64 / hours,
            answered: decided + metrics.answered,
            hasty: metrics.hasty,
            unanswered: metrics.unanswered,
            approval_rate: (decided > 0).then(|| metrics.approved as f64 / decided as f64),
            to_answer: metrics.to_answer.map(|spread| ResponseTimesJson {
                half_seconds: seconds(spread.half_ms),
                most_seconds: seconds(spread.most_ms),
                longest_seconds: seconds(spread.longest_ms),
            }),
            cut: metrics.is_cut,
            course: metrics
                .course
                .iter()
                .map(|stretch| MetricsIntervalJson::of(stretch, time))
                .collect(),
            rules: metrics.rules.iter().map(RuleStatsJson::of).collect(),
            waiting: metrics.waiting.into(),
        }
    }
}

impl MetricsIntervalJson {
    fn of(stretch: &CoreStretch, time: TimeFormatter<'_>) -> Self {
        Self {
            from: time(stretch.from),
            asked: stretch.asked,
            answered: stretch.answered,
            half_seconds: stretch.to_answer.map(|spread| spread.half_ms as f64 / 1e3),
        }
    }
}

impl RuleStatsJson {
    fn of(rule: &CoreOfRule) -> Self {
        let CoreOfRule { name, approved, answered, rejected, hasty } = rule.clone();
        Self { name, approved, answered, rejected, hasty }
    }
}
