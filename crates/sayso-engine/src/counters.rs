//! Counters for monitoring systems such as Prometheus. They are computed from the store, so every server of a space,
//! even one that was just started, reports the same numbers.

use crate::{LocalDesk, Result};
use sayso_core::gate::{Gate, GateEnding};
use sayso_core::{Actor, GateId, Permission, Timestamp};
use sayso_store::{WaitingGates, WaitingNotices};
use std::collections::BTreeMap;

/// The maximum number of gates and notices that are counted.
const WAITING_MAX: usize = 10_000;

/// The number of endings per read.
const PAGE: usize = 500;

/// The maximum number of pages per scrape. A counter that is further behind catches up on the next scrape.
const PAGES_MAX: usize = 40;

/// The upper bounds of the histogram of response times, in seconds.
pub const STEPS_SECS: [u64; 12] =
    [5, 15, 60, 300, 900, 1_800, 3_600, 14_400, 28_800, 86_400, 259_200, 604_800];

/// The open gates and pending notices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BacklogCounts {
    /// The open gates by kind.
    pub gates: Vec<WaitingGates>,
    /// The pending notices by channel.
    pub notices: Vec<WaitingNotices>,
}

/// The counters of all ended gates of a space. They are updated from the last position, so an update costs only what
/// is new.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateCounters {
    /// The number of ended gates by kind and outcome.
    pub ended: BTreeMap<(&'static str, &'static str), u64>,
    /// The number of gates answered within each of [`STEPS_SECS`], not cumulative.
    pub steps: [u64; STEPS_SECS.len()],
    /// The number of answered gates.
    pub answered: u64,
    /// The sum of all response times.
    pub took_micros: u64,
    last: Option<(Timestamp, GateId)>,
}

impl LocalDesk {
    /// Checks that the actor may read the space, or has a credential for metrics only.
    fn check_may_measure(&self, actor: &Actor) -> Result<()> {
        if actor.may(Permission::Read) {
            Ok(())
        } else {
            self.check(actor, Permission::Measure, "see the figures of a space")
        }
    }

    /// Counts the open gates and pending notices of the space.
    pub fn count_waiting(&self, actor: &Actor) -> Result<BacklogCounts> {
        self.check_may_measure(actor)?;
        self.read(|read| {
            let gates = read.waiting_gates(self.space, WAITING_MAX)?;
            let notices = read.waiting_notices(self.space, WAITING_MAX)?;
            Ok(BacklogCounts { gates, notices })
        })
    }

    /// Adds the gates that ended since the last update.
    pub fn count_ended(&self, actor: &Actor, tally: &mut GateCounters) -> Result<()> {
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

impl GateCounters {
    fn count(&mut self, gate: &Gate) {
        let Some(ending) = &gate.ending else { return };
        self.last = Some((ending.at(), gate.opened.id));
        let outcome = match ending {
            GateEnding::Answered { answer, by } => {
                self.note_time(gate.opened_at, by.at);
                answer.verdict.as_str()
            }
            GateEnding::Expired { .. }
            | GateEnding::Withdrawn { .. }
            | GateEnding::Superseded { .. } => ending.as_str(),
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
        let mut tally = GateCounters::default();
        let at = |secs: i64| Timestamp::from_micros(secs * 1_000_000);
        for (from, to) in [(0, 5), (0, 6), (10, 4), (0, 604_801)] {
            tally.note_time(at(from), at(to));
        }
        assert_eq!((tally.steps[0], tally.steps[1]), (2, 1));
        assert_eq!((tally.answered, tally.steps.iter().sum::<u64>()), (4, 3));
        assert_eq!(tally.took_micros, (5 + 6 + 604_801) * 1_000_000);
    }
}
