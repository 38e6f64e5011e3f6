//! Statistics of a space for its people: gates asked, answered, rejected, and response times.

use crate::policy::POLICY;
use crate::{LocalDesk, Result};
use sayso_core::gate::{Gate, GateEnding};
use sayso_core::{Actor, Permission, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The maximum number of gates that are evaluated.
const GATES_MAX: usize = 10_000;

/// The number of intervals of the time series.
const STRETCHES: usize = 48;

/// The maximum number of rules that are listed.
const RULES_MAX: usize = 20;

/// The bounds of the age classes of open gates, in minutes.
const AGES_MINUTES: [u64; 3] = [10, 60, 24 * 60];

/// The statistics of a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceMetrics {
    /// The start of the period.
    pub since: Timestamp,
    /// The end of the period.
    pub until: Timestamp,
    /// The number of gates that are open now.
    pub open: u64,
    /// The number of gates that were asked.
    pub asked: u64,
    /// The number of approvals by people.
    pub approved: u64,
    /// The number of answers with a text, a choice or a form.
    #[serde(default)]
    pub answered: u64,
    /// The number of rejections by people.
    pub rejected: u64,
    /// The number of approvals that came sooner than the card can be read.
    #[serde(default)]
    pub hasty: u64,
    /// The number of gates that ended without an answer.
    pub unanswered: u64,
    /// The response times; none without an answer.
    pub to_answer: Option<DurationStats>,
    /// True if there were more gates than are evaluated: then these are the latest.
    pub is_cut: bool,
    /// The time series of the period, in intervals of equal length.
    #[serde(default)]
    pub course: Vec<MetricsInterval>,
    /// The answers by the rule that asked for them, or by the kind of gate if no rule did.
    #[serde(default)]
    pub rules: Vec<RuleStats>,
    /// The number of open gates by age: up to ten minutes, an hour, a day, and longer.
    #[serde(default)]
    pub waiting: [u64; 4],
}

/// One interval of the time series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricsInterval {
    /// The start of the interval.
    pub from: Timestamp,
    /// The number of gates asked in the interval.
    pub asked: u64,
    /// The number of answers in the interval.
    pub answered: u64,
    /// The response times; none without an answer.
    pub to_answer: Option<DurationStats>,
}

/// The answers to gates that one rule asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleStats {
    /// The rule, or the kind of gate.
    pub name: String,
    pub approved: u64,
    /// The number of texts, choices and forms.
    #[serde(default)]
    pub answered: u64,
    pub rejected: u64,
    /// The number of approvals that came sooner than the card can be read.
    #[serde(default)]
    pub hasty: u64,
}

/// A distribution of durations, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurationStats {
    /// The median.
    pub half_ms: u64,
    /// The 90th percentile.
    pub most_ms: u64,
    /// The maximum.
    pub longest_ms: u64,
}

impl LocalDesk {
    /// Returns the statistics since a moment.
    pub fn metrics(&self, actor: &Actor, since: Timestamp) -> Result<SpaceMetrics> {
        self.check(actor, Permission::Read, "see the figures of a space")?;
        let until = self.now();
        self.read(|read| {
            let open = read.count_open_gates(self.space, GATES_MAX)?;
            let asked = read.count_open_since(self.space, since, GATES_MAX)?;
            let ended = read.gates_ended_since(self.space, since, GATES_MAX)?;
            let figures = SpaceMetrics {
                since,
                until,
                open: open as u64,
                asked: asked as u64,
                approved: 0,
                answered: 0,
                rejected: 0,
                hasty: 0,
                unanswered: 0,
                to_answer: None,
                is_cut: ended.more || open == GATES_MAX,
                course: vec![],
                rules: vec![],
                waiting: [0; 4],
            };
            let waiting = read.queued_gates(self.space, &[], None, GATES_MAX)?.items;
            let waiting: Vec<_> = waiting.iter().map(|gate| gate.opened_at).collect();
            Ok(figures.counting(&ended.items).over_time(&ended.items, &waiting))
        })
    }
}

impl SpaceMetrics {
    fn counting(mut self, ended: &[Gate]) -> Self {
        let mut took = vec![];
        for gate in ended {
            self.asked += u64::from(gate.opened_at >= self.since);
            let Some(GateEnding::Answered { answer, by }) = &gate.ending else {
                self.unanswered += 1;
                continue;
            };
            match answer.verdict {
                Verdict::Approved => self.approved += 1,
                Verdict::Answered => self.answered += 1,
                Verdict::Rejected => self.rejected += 1,
            }
            self.hasty += u64::from(gate.hasty_ms().is_some());
            took.push(milliseconds(gate.opened_at, by.at));
        }
        self.to_answer = DurationStats::of(took);
        self
    }
}

impl SpaceMetrics {
    /// Adds the time series, the age classes and the answers by rule.
    fn over_time(mut self, ended: &[Gate], waiting: &[Timestamp]) -> Self {
        for since in waiting {
            let minutes = milliseconds(*since, self.until) / 60_000;
            let age = AGES_MINUTES.iter().filter(|age| minutes >= **age).count();
            self.waiting[age] += 1;
        }
        let (since, until) = (self.since.as_micros(), self.until.as_micros());
        let length = (until.saturating_sub(since) / STRETCHES as i64).max(1);
        let place = |at: Timestamp| {
            let place = at.as_micros().checked_sub(since).filter(|past| *past >= 0)? / length;
            Some(usize::try_from(place).ok()?.min(STRETCHES - 1))
        };
        let mut took = vec![vec![]; STRETCHES];
        let mut asked = [0; STRETCHES];
        let asked_at = waiting.iter().copied().chain(ended.iter().map(|gate| gate.opened_at));
        asked_at.filter_map(place).for_each(|at| asked[at] += 1);
        for gate in ended {
            let by = gate.answer().map(|(_, by)| by.at);
            if let Some((at, by)) = by.and_then(|by| Some((place(by)?, by))) {
                took[at].push(milliseconds(gate.opened_at, by));
            }
        }
        let stretch = |(at, took): (usize, Vec<u64>)| MetricsInterval {
            from: self.since.plus_micros(length * at as i64),
            asked: asked[at],
            answered: took.len() as u64,
            to_answer: DurationStats::of(took),
        };
        self.course = took.into_iter().enumerate().map(stretch).collect();
        self.rules = by_rule(ended);
        self
    }
}

/// Returns the answers by rule, the rule with most answers first.
fn by_rule(ended: &[Gate]) -> Vec<RuleStats> {
    let mut rules: BTreeMap<String, RuleStats> = BTreeMap::new();
    for gate in ended {
        let Some((answer, _)) = gate.answer() else { continue };
        let rule = gate.card.facts.iter().find(|fact| fact.verified && fact.name == POLICY);
        // The fact has the place of the rule first, then its text.
        let rule = rule.and_then(|fact| fact.value.as_str()?.split(": ").next());
        let rule = rule.map(str::to_owned);
        let name = rule.unwrap_or_else(|| format!("{} (no rule)", gate.opened.kind));
        let new =
            || RuleStats { name: name.clone(), approved: 0, answered: 0, rejected: 0, hasty: 0 };
        let said = rules.entry(name.clone()).or_insert_with(new);
        match answer.verdict {
            Verdict::Approved => said.approved += 1,
            Verdict::Answered => said.answered += 1,
            Verdict::Rejected => said.rejected += 1,
        }
        said.hasty += u64::from(gate.hasty_ms().is_some());
    }
    let mut rules: Vec<_> = rules.into_values().collect();
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.approved + rule.answered + rule.rejected));
    rules.truncate(RULES_MAX);
    rules
}

impl DurationStats {
    fn of(mut all: Vec<u64>) -> Option<Self> {
        all.sort_unstable();
        let longest_ms = *all.last()?;
        // The smallest duration that this share of all did not exceed.
        let share = |percent: usize| all[(all.len() * percent).div_ceil(100).max(1) - 1];
        Some(Self { half_ms: share(50), most_ms: share(90), longest_ms })
    }
}

fn milliseconds(from: Timestamp, to: Timestamp) -> u64 {
    let micros = to.as_micros().saturating_sub(from.as_micros());
    u64::try_from(micros / 1_000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::DurationStats;

    #[test]
    fn shares_of_what_took_how_long() {
        let spread = |all: &[u64]| {
            DurationStats::of(all.to_vec()).map(|s| (s.half_ms, s.most_ms, s.longest_ms))
        };
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[7]), Some((7, 7, 7)));
        assert_eq!(spread(&[3, 1, 2]), Some((2, 3, 3)));
        assert_eq!(spread(&(1..=100).collect::<Vec<_>>()), Some((50, 90, 100)));
    }
}
