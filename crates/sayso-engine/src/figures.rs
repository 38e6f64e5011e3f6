//! Figures that are watched from afar, such as by Prometheus. They are the store's: every server of a space
//! tells the same, and so does one that was just started.

use crate::{LocalDesk, Result};
use sayso_core::gate::{Ending, Gate};
use sayso_core::{Actor, Deed, GateId, Timestamp};
use sayso_store::{WaitingGates, WaitingNotices};
use std::collections::BTreeMap;

/// The most gates and notices that are counted as waiting.
const WAITING_MAX: usize = 10_000;

/// How many endings are read at one time.
const PAGE: usize = 500;

/// How many pages are read for one look; who has more behind them catches up with the next.
const PAGES_MAX: usize = 40;

/// Until how many seconds people took, for each step of the histogram.
pub const STEPS_SECS: [u64; 12] =
    [5, 15, 60, 300, 900, 1_800, 3_600, 14_400, 28_800, 86_400, 259_200, 604_800];

/// What waits now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Questions, by kind.
    pub gates: Vec<WaitingGates>,
    /// What people are to be told, by channel.
    pub notices: Vec<WaitingNotices>,
}

/// What became of all gates of a space that ever ended. It goes on where it was left, and so costs what is new.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many ended, by kind and outcome.
    pub ended: BTreeMap<(&'static str, &'static str), u64>,
    /// How many were answered within each of [`STEPS_SECS`], those of the steps before not counted.
    pub steps: [u64; STEPS_SECS.len()],
    /// How many were answered at all.
    pub answered: u64,
    /// How long all of that took together.
    pub took_micros: u64,
    last: Option<(Timestamp, GateId)>,
}

impl LocalDesk {
    /// Figures are for whoever may read the space, and for a credential that is for nothing else.
    fn check_may_measure(&self, actor: &Actor) -> Result<()> {
        match actor.may(Deed::Read) {
            true => Ok(()),
            false => self.check(actor, Deed::Measure, "see the figures of a space"),
        }
    }

    /// What waits in the space.
    pub fn count_waiting(&self, actor: &Actor) -> Result<Waiting> {
        self.check_may_measure(actor)?;
        self.read(|read| {
            let gates = read.waiting_gates(self.space, WAITING_MAX)?;
            let notices = read.waiting_notices(self.space, WAITING_MAX)?;
            Ok(Waiting { gates, notices })
        })
    }

    /// Adds what ended since the tally was made up last.
    pub fn count_ended(&self, actor: &Actor, tally: &mut Tally) -> Result<()> {
        self.check_may_measure(actor)?;
        for _ in 0..PAGES_MAX {
            let last = tally.last;
            let page = self.read(|read| Ok(read.gates_ended_after(self.space, last, PAGE)?))?;
            page.iter().for_each(|gate| tally.count(gate));
            if page.len() < PAGE {
                break;
            }
        }
        Ok(())
    }
}

impl Tally {
    fn count(&mut self, gate: &Gate) {
        let Some(ending) = &gate.ending else { return };
        self.last = Some((ending.at(), gate.opened.id));
        let outcome = match ending {
            Ending::Answered { answer, by } => {
                self.note_time(gate.opened_at, by.at);
                answer.verdict.as_str()
            }
            Ending::Expired { .. } | Ending::Withdrawn { .. } | Ending::Superseded { .. } => {
                ending.as_str()
            }
        };
        *self.ended.entry((gate.opened.kind.as_str(), outcome)).or_default() += 1;
    }

    fn note_time(&mut self, from: Timestamp, to: Timestamp) {
        let micros = to.as_micros().saturating_sub(from.as_micros());
        let micros = u64::try_from(micros).unwrap_or(0);
        self.answered += 1;
        self.took_micros = self.took_micros.saturating_add(micros);
        let step = STEPS_SECS.iter().position(|secs| micros <= secs * 1_000_000);
        if let Some(step) = step {
            self.steps[step] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_into_steps() {
        let mut tally = Tally::default();
        let at = |secs: i64| Timestamp::from_micros(secs * 1_000_000);
        for (from, to) in [(0, 5), (0, 6), (10, 4), (0, 604_801)] {
            tally.note_time(at(from), at(to));
        }
        assert_eq!((tally.steps[0], tally.steps[1]), (2, 1));
        assert_eq!((tally.answered, tally.steps.iter().sum::<u64>()), (4, 3));
        assert_eq!(tally.took_micros, (5 + 6 + 604_801) * 1_000_000);
    }
}
