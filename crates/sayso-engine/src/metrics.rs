//! How asking and answering went: figures for people who look after a space.

use crate::policy::POLICY;
use crate::{LocalDesk, Result};
use sayso_core::gate::{Ending, Gate};
use sayso_core::{Actor, Deed, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most gates that are looked at for one set of figures.
const GATES_MAX: usize = 10_000;

/// So many stretches the course of time has.
const STRETCHES: usize = 48;

/// So many rules are told apart.
const RULES_MAX: usize = 20;

/// Where the ages of what waits part, in minutes.
const AGES_MINUTES: [u64; 3] = [10, 60, 24 * 60];

/// How asking and answering went in a span of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    /// From when.
    pub since: Timestamp,
    /// Until when.
    pub until: Timestamp,
    /// How many gates wait now.
    pub open: u64,
    /// How many were asked.
    pub asked: u64,
    /// How many people said yes to.
    pub approved: u64,
    /// How many people gave a text, a choice or a form to.
    #[serde(default)]
    pub answered: u64,
    /// How many people said no to.
    pub rejected: u64,
    /// How many people said yes to sooner than they can be read.
    #[serde(default)]
    pub hasty: u64,
    /// How many ended without an answer.
    pub unanswered: u64,
    /// How long people took; none where nobody answered.
    pub to_answer: Option<Spread>,
    /// Whether there was more than is looked at: then these are the latest.
    pub is_cut: bool,
    /// How it went in the course of that time, in stretches of the same length.
    #[serde(default)]
    pub course: Vec<Stretch>,
    /// What people said, by the rule that asked them; where no rule did, by the kind of gate.
    #[serde(default)]
    pub rules: Vec<OfRule>,
    /// How many gates wait now, by how long they have: up to ten minutes, an hour, a day, and longer.
    #[serde(default)]
    pub waiting: [u64; 4],
}

/// A stretch of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// When it began.
    pub from: Timestamp,
    /// How many were asked in it.
    pub asked: u64,
    /// How many people answered in it.
    pub answered: u64,
    /// How long they took; none where nobody answered.
    pub to_answer: Option<Spread>,
}

/// What people said where one rule asked them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfRule {
    /// The rule, or the kind of gate.
    pub name: String,
    /// Yeses.
    pub approved: u64,
    /// Texts, choices and forms.
    #[serde(default)]
    pub answered: u64,
    /// Noes.
    pub rejected: u64,
    /// Yeses that came sooner than what was asked can be read.
    #[serde(default)]
    pub hasty: u64,
}

/// How long something took, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// Half of them took no longer.
    pub half_ms: u64,
    /// Nine of ten took no longer.
    pub most_ms: u64,
    /// The longest.
    pub longest_ms: u64,
}

impl LocalDesk {
    /// How asking and answering went since a moment.
    pub fn metrics(&self, actor: &Actor, since: Timestamp) -> Result<Metrics> {
        self.check(actor, Deed::Read, "see the figures of a space")?;
        let until = self.now();
        self.read(|read| {
            let open = read.count_open_gates(self.space, GATES_MAX)?;
            let asked = read.count_open_since(self.space, since, GATES_MAX)?;
            let ended = read.gates_ended_since(self.space, since, GATES_MAX)?;
            let figures = Metrics {
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
            let waiting = read.waiting(self.space, &[], None, GATES_MAX)?.items;
            let waiting: Vec<_> = waiting.iter().map(|gate| gate.opened_at).collect();
            Ok(figures.counting(&ended.items).over_time(&ended.items, &waiting))
        })
    }
}

impl Metrics {
    fn counting(mut self, ended: &[Gate]) -> Self {
        let mut took = vec![];
        for gate in ended {
            self.asked += u64::from(gate.opened_at >= self.since);
            let Some(Ending::Answered { answer, by }) = &gate.ending else {
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
        self.to_answer = Spread::of(took);
        self
    }
}

impl Metrics {
    /// How it went in the course of the time, and how long what waits has waited.
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
        let stretch = |(at, took): (usize, Vec<u64>)| Stretch {
            from: self.since.plus_micros(length * at as i64),
            asked: asked[at],
            answered: took.len() as u64,
            to_answer: Spread::of(took),
        };
        self.course = took.into_iter().enumerate().map(stretch).collect();
        self.rules = by_rule(ended);
        self
    }
}

/// What people said, by who asked them, the most asked first.
fn by_rule(ended: &[Gate]) -> Vec<OfRule> {
    let mut rules: BTreeMap<String, OfRule> = BTreeMap::new();
    for gate in ended {
        let Some((answer, _)) = gate.answer() else { continue };
        let rule = gate.card.facts.iter().find(|fact| fact.verified && fact.name == POLICY);
        // Where the rule stands comes first, then what it says.
        let rule = rule.and_then(|fact| fact.value.as_str()?.split(": ").next());
        let rule = rule.map(str::to_owned);
        let name = rule.unwrap_or_else(|| format!("{} (no rule)", gate.opened.kind));
        let new = || OfRule { name: name.clone(), approved: 0, answered: 0, rejected: 0, hasty: 0 };
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

impl Spread {
    fn of(mut all: Vec<u64>) -> Option<Self> {
        all.sort_unstable();
        let longest_ms = *all.last()?;
        // The smallest of them that this share took no longer than.
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
    use super::Spread;

    #[test]
    fn shares_of_what_took_how_long() {
        let spread =
            |all: &[u64]| Spread::of(all.to_vec()).map(|s| (s.half_ms, s.most_ms, s.longest_ms));
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[7]), Some((7, 7, 7)));
        assert_eq!(spread(&[3, 1, 2]), Some((2, 3, 3)));
        assert_eq!(spread(&(1..=100).collect::<Vec<_>>()), Some((50, 90, 100)));
    }
}
