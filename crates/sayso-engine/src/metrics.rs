//! How asking and answering went: figures for people who look after a space.

use crate::{LocalDesk, Result};
use sayso_core::gate::{Ending, Gate};
use sayso_core::{Actor, Deed, Timestamp, Verdict};
use serde::{Deserialize, Serialize};

/// The most gates that are looked at for one set of figures.
const GATES_MAX: usize = 10_000;

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
    /// How many people said no to.
    pub rejected: u64,
    /// How many ended without an answer.
    pub unanswered: u64,
    /// How long people took; none where nobody answered.
    pub to_answer: Option<Spread>,
    /// Whether there was more than is looked at: then these are the latest.
    pub is_cut: bool,
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
                rejected: 0,
                unanswered: 0,
                to_answer: None,
                is_cut: ended.more || open == GATES_MAX,
            };
            Ok(figures.counting(&ended.items))
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
                Verdict::Rejected => self.rejected += 1,
            }
            took.push(milliseconds(gate.opened_at, by.at));
        }
        self.to_answer = Spread::of(took);
        self
    }
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
