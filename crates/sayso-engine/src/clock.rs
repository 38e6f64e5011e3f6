//! Time: whoever looks fires what is due. There is no loop that must not die, and nothing that is due
//! happens twice, since what is due is written in the gate itself.

use crate::{Calendar, LocalDesk, Result, gates};
use sayso_core::gate::{Command, Gate, Level, Schedule};
use sayso_core::{Actor, Deed, Door, GateId, Proof, Role, Timestamp};
use sayso_policy::{Demands, Hours};
use sayso_store::Write;
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
        if self.limited_reader().is_some() {
            self.gate(id)?;
        }
        self.check_file_clock()?;
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

    /// Refuses a time that cannot be right. A clock that is years ahead would end every question at a look: on
    /// PostgreSQL the server's clock says so, and on SQLite the newest entry of the audit, since long silence is
    /// rare and can be vouched for.
    pub(crate) fn check_clock(&self, write: &Write<'_>, at: Timestamp) -> sayso_store::Result<()> {
        if !self.world.is_by_machine_clock() || self.accepts_clock {
            return Ok(());
        }
        match (write.database_clock(), write.newest_entry(self.space)) {
            (Some(theirs), _) if is_far(at, theirs) => Err(off(at, theirs, DATABASE)),
            (None, Some(newest)) if at > newest.plus_micros(SILENCE_MICROS_MAX) => {
                Err(off(at, newest, "the newest entry of the audit"))
            }
            _ => Ok(()),
        }
    }

    /// Compares the clock of this process with that of the file system before a deadline ends something.
    fn check_file_clock(&self) -> Result<()> {
        if !self.world.is_by_machine_clock() || self.accepts_clock {
            return Ok(());
        }
        match (self.store.file_clock(), self.now()) {
            (Some(theirs), at) if is_far(at, theirs) => {
                Err(off(at, theirs, "that of the file system of the database").into())
            }
            _ => Ok(()),
        }
    }

    /// Notes that a person vouches for the clock of this machine, though nothing happened for long. That of a
    /// database's server is vouched for by nobody.
    pub fn accept_clock(&self, actor: &Actor) -> Result<()> {
        self.check(actor, Deed::Answer, "vouch for the clock")?;
        let desk = Self { accepts_clock: true, ..self.clone() };
        desk.submit(actor, |batch| {
            let at = batch.at;
            if let Some(theirs) = batch.write.database_clock().filter(|theirs| is_far(at, *theirs))
            {
                return Err(off(at, theirs, DATABASE).into());
            }
            let space = batch.desk.space_name.clone();
            batch.about("clock.accepted", &space, None, "");
            Ok(())
        })
    }

    /// When something is due next.
    pub fn next_due(&self) -> Result<Option<Timestamp>> {
        self.read(|read| Ok(read.next_due(self.space)?))
    }

    /// Gives a gate more time.
    pub fn extend(&self, actor: &Actor, id: GateId, until: Timestamp) -> Result<Gate> {
        self.check_sees(actor, id)?;
        self.submit(actor, move |batch| {
            batch.on_gate(id, &Command::Extend { until })?;
            gates::gate_in(batch, id)
        })
    }
}

/// How far the clocks of two machines may be apart.
const SKEW_MICROS_MAX: i64 = 5 * 60 * 1_000_000;

/// How long nothing may have happened in a space on this machine before a person says that the clock is right.
const SILENCE_MICROS_MAX: i64 = 90 * 24 * 3_600 * 1_000_000;

/// Whose clock counts on PostgreSQL.
const DATABASE: &str = "that of the database's server";

fn is_far(mine: Timestamp, theirs: Timestamp) -> bool {
    mine.as_micros().abs_diff(theirs.as_micros()) > SKEW_MICROS_MAX.unsigned_abs()
}

fn off(mine: Timestamp, theirs: Timestamp, whose: &str) -> sayso_store::Error {
    let minutes = mine.as_micros().abs_diff(theirs.as_micros()) / 60_000_000;
    let far = match minutes {
        0..=120 => format!("{minutes} minutes"),
        121..=2_880 => format!("{} hours", minutes / 60),
        _ => format!("{} days", minutes / 1_440),
    };
    let way = if mine > theirs { "ahead of" } else { "behind" };
    sayso_store::Error::ClockOff(format!(
        "the clock of this machine is {far} {way} {whose}, so nothing is written by it"
    ))
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
