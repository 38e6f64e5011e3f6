//! Timers: reminders, escalations and deadlines fire when a process waits for the gate or calls `fire_due`. There is
//! no scheduler that could stop, and nothing fires twice, since the next due time is part of the gate.

use crate::{Calendar, LocalDesk, Result, gates};
use sayso_core::gate::{EscalationLevel, Gate, GateCommand, GateSchedule};
use sayso_core::{Actor, EntryPoint, GateId, IdentityProof, Permission, Role, Timestamp};
use sayso_policy::{AskDemands, DeadlineHours};
use sayso_store::WriteTransaction;
use std::time::Duration;

/// The number of due gates per read.
const AT_ONCE: usize = 200;

/// People are warned when a tenth of the time is left, at most an hour before the deadline. Gates with a deadline
/// shorter than this have no warning.
const WARNED_FROM_MICROS: i64 = 5 * 60 * 1_000_000;
const WARNING_MICROS_MAX: i64 = 60 * 60 * 1_000_000;

impl LocalDesk {
    /// Returns the actor of timers in the audit.
    fn clock(&self) -> Actor {
        Actor::new(Role::Service, "clock", IdentityProof::None, self.level(), EntryPoint::Worker)
    }

    /// Fires the timers of a gate that are due.
    pub fn tick(&self, id: GateId) -> Result<Gate> {
        if self.limited_reader().is_some() {
            self.gate(id)?;
        }
        self.check_file_clock()?;
        self.submit(&self.clock(), move |batch| {
            let changed = batch.on_gate(id, &GateCommand::Tick)?;
            batch.is_approved = true;
            gates::settle_task(batch, id, changed)
        })
    }

    /// Fires all timers of the space that are due. Returns the number of gates that were due.
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

    /// Refuses a clock that cannot be right: one that is years ahead would expire every gate on the next read. It is
    /// compared with the server's clock on PostgreSQL, and with the newest audit entry on SQLite, since a long time
    /// without entries is rare and a person can confirm it.
    pub(crate) fn check_clock(
        &self,
        write: &WriteTransaction<'_>,
        at: Timestamp,
    ) -> sayso_store::Result<()> {
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

    /// Compares the clock of this process with that of the file system before a deadline ends a gate.
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

    /// Records that a person confirms the clock of this machine after a long time without entries. The clock of a
    /// database server cannot be overridden.
    pub fn accept_clock(&self, actor: &Actor) -> Result<()> {
        self.check(actor, Permission::Answer, "vouch for the clock")?;
        let desk = Self { accepts_clock: true, ..self.clone() };
        desk.submit(actor, |batch| {
            let at = batch.at;
            if let Some(theirs) = batch.write.database_clock().filter(|theirs| is_far(at, *theirs))
            {
                return Err(off(at, theirs, DATABASE).into());
            }
            let space = batch.desk.space_name.clone();
            batch.set_audit_subject("clock.accepted", &space, None, "");
            Ok(())
        })
    }

    /// Returns the time at which the next timer of the space is due.
    pub fn next_due(&self) -> Result<Option<Timestamp>> {
        self.read(|read| Ok(read.next_due(self.space)?))
    }

    /// Moves the deadline of a gate.
    pub fn extend(&self, actor: &Actor, id: GateId, until: Timestamp) -> Result<Gate> {
        self.check_sees(actor, id)?;
        self.submit(actor, move |batch| {
            batch.on_gate(id, &GateCommand::Extend { until })?;
            gates::gate_in(batch, id)
        })
    }
}

/// The maximum skew between the clocks of two machines.
const SKEW_MICROS_MAX: i64 = 5 * 60 * 1_000_000;

/// The maximum time without an audit entry on one machine before a person has to confirm the clock.
const SILENCE_MICROS_MAX: i64 = 90 * 24 * 3_600 * 1_000_000;

/// The reference clock on PostgreSQL, in words.
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

/// Returns the deadline of a gate, and the schedule of its reminders and escalations.
pub(crate) fn schedule(
    demands: &AskDemands,
    at: Timestamp,
    calendar: &Calendar,
) -> (Option<Timestamp>, GateSchedule) {
    let after = |ms: u64| moment(demands.hours, at, ms, calendar);
    let deadline = demands.deadline_ms.map(after);
    let period = deadline.map_or(0, |end| end.as_micros().saturating_sub(at.as_micros()));
    let warn = if period < WARNED_FROM_MICROS { 0 } else { period / 10 };
    let levels = demands.escalate.iter().map(|level| EscalationLevel {
        at: Some(after(level.after_ms)),
        approvers: level.approvers.clone(),
    });
    let remind = demands.remind_ms.iter().map(|ms| calendar.out_of_quiet(after(*ms)));
    let schedule = GateSchedule {
        remind_at: remind.collect(),
        levels: levels.collect(),
        warn_micros: warn.min(WARNING_MICROS_MAX),
        period_micros: period,
        at_end: demands.at_end,
    };
    (deadline, schedule)
}

/// Returns the time that is so many milliseconds after another. If no working hours are set, all hours count.
fn moment(hours: DeadlineHours, at: Timestamp, ms: u64, calendar: &Calendar) -> Timestamp {
    let working = match hours {
        DeadlineHours::Working => calendar.working_after(at, Duration::from_millis(ms)),
        DeadlineHours::All => None,
    };
    let micros = i64::try_from(ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
    working.unwrap_or_else(|| at.plus_micros(micros))
}
