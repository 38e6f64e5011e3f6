//! Time: whoever looks fires what is due. There is no loop that must not die, and nothing that is due
//! happens twice, since what is due is written in the gate itself.

use crate::{Calendar, LocalDesk, Result, gates};
use sayso_core::gate::{Command, Gate, Level, Schedule};
use sayso_core::{Actor, Door, GateId, Proof, Role, Timestamp};
use sayso_policy::{Demands, Hours};
use std::time::Duration;

/// How many gates are looked at together.
const AT_ONCE: usize = 200;

/// People are warned when a tenth of the time is left, but not for less than this, and at most an hour
/// before the end.
const WARNED_FROM_MICROS: i64 = 5 * 60 * 1_000_000;
const WARNING_MICROS_MAX: i64 = 60 * 60 * 1_000_000;

impl LocalDesk {
    /// Who time is in the audit.
    fn clock(&self) -> Actor {
        Actor::new(Role::Service, "clock", Proof::None, self.level(), Door::Worker)
    }

    /// Lets happen what is due to one gate.
    pub fn tick(&self, id: GateId) -> Result<Gate> {
        self.submit(&self.clock(), move |batch| {
            let changed = batch.on_gate(id, &Command::Tick)?;
            batch.is_approved = true;
            gates::settle_task(batch, id, changed)
        })
    }

    /// Lets happen everything that is due, and says to how many gates something happened.
    pub fn fire_due(&self) -> Result<usize> {
        let mut fired = 0;
        loop {
            let now = self.now();
            let due = self.look(|read| Ok(read.gates_due(self.space, now, AT_ONCE)?))?;
            for id in &due {
                self.tick(*id)?;
            }
            fired += due.len();
            if due.len() < AT_ONCE {
                return Ok(fired);
            }
        }
    }

    /// When something is due next.
    pub fn next_due(&self) -> Result<Option<Timestamp>> {
        self.read(|read| Ok(read.next_due(self.space)?))
    }

    /// Gives a gate more time.
    pub fn extend(&self, actor: &Actor, id: GateId, until: Timestamp) -> Result<Gate> {
        self.submit(actor, move |batch| {
            batch.on_gate(id, &Command::Extend { until })?;
            gates::gate_in(batch, id)
        })
    }
}

/// When a question's time is over, and what happens until then.
pub(crate) fn schedule(
    demands: &Demands,
    at: Timestamp,
    calendar: &Calendar,
) -> (Option<Timestamp>, Schedule) {
    let after = |ms: u64| moment(demands.hours, at, ms, calendar);
    let deadline = demands.deadline_ms.map(after);
    let period = deadline.map_or(0, |end| end.as_micros().saturating_sub(at.as_micros()));
    let warn = if period < WARNED_FROM_MICROS { 0 } else { period / 10 };
    let levels = demands
        .escalate
        .iter()
        .map(|level| Level { at: Some(after(level.after_ms)), approvers: level.approvers.clone() });
    let remind = demands.remind_ms.iter().map(|ms| calendar.out_of_quiet(after(*ms)));
    let schedule = Schedule {
        remind_at: remind.collect(),
        levels: levels.collect(),
        warn_micros: warn.min(WARNING_MICROS_MAX),
        period_micros: period,
        at_end: demands.at_end,
    };
    (deadline, schedule)
}

/// The moment so much time after another. Who has no working hours has all of them.
fn moment(hours: Hours, at: Timestamp, ms: u64, calendar: &Calendar) -> Timestamp {
    let working = match hours {
        Hours::Working => calendar.working_after(at, Duration::from_millis(ms)),
        Hours::All => None,
    };
    let micros = i64::try_from(ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
    working.unwrap_or_else(|| at.plus_micros(micros))
}
