//! Timers of a gate: reminders, escalation levels, the warning before the deadline, and the deadline itself.
//!
//! Times are fixed when the gate opens. Due timers are a function of the gate alone, so any process may
//! fire them, and a second one finds nothing left to fire.

use super::{Gate, GateEvent};
use crate::{Approvers, Risk, TimeoutAction, Timestamp};
use serde::{Deserialize, Serialize};

/// The timers of a gate without an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateSchedule {
    /// The times of the reminders, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remind_at: Vec<Timestamp>,
    /// The escalation levels, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<EscalationLevel>,
    /// The time between the warning and the deadline; 0 means no warning.
    #[serde(default)]
    pub warn_micros: i64,
    /// The length of a new period, if the deadline is renewed.
    #[serde(default)]
    pub period_micros: i64,
    /// The timeout action at the deadline.
    #[serde(default)]
    pub at_end: TimeoutAction,
}

/// An escalation level, with the approvers who may decide as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscalationLevel {
    /// The time at which it is reached. Without one it is reached at the deadline of the level below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The approvers whose approval suffices from then on.
    pub approvers: Approvers,
}

/// A timer. The order is the order in which timers due at the same time fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimerKind {
    /// The end of a snooze.
    Wake,
    /// A reminder to the approvers.
    Remind,
    /// An escalation by one level.
    Escalate,
    /// The warning that the deadline is near.
    Warn,
    /// The deadline of the gate.
    End,
}

/// The minimum time until a deferred question is asked again.
const AGAIN_MICROS_MIN: i64 = 60 * 1_000_000;

impl Gate {
    /// Returns the present deadline.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.extended_to.or(self.opened.deadline)
    }

    /// Returns the time at which it ends by itself. A gate that is kept, deferred or escalated at its deadline does
    /// not.
    pub fn ends_at(&self) -> Option<Timestamp> {
        match self.at_end() {
            TimeoutAction::Deny | TimeoutAction::Fail | TimeoutAction::Approve => self.deadline(),
            TimeoutAction::Keep | TimeoutAction::Defer | TimeoutAction::Escalate => None,
        }
    }

    /// Returns the timeout action that applies now. The last level cannot escalate, and a timeout approves low risk
    /// only.
    pub fn at_end(&self) -> TimeoutAction {
        match &self.opened.schedule.at_end {
            TimeoutAction::Escalate if !self.has_level_left_at_the_end() => TimeoutAction::Deny,
            TimeoutAction::Approve if self.opened.risk > Risk::Low => TimeoutAction::Deny,
            at_end => *at_end,
        }
    }

    /// True if a level is still unreached at the deadline. Levels with a time of their own are reached by then,
    /// whether or not their timer has fired.
    fn has_level_left_at_the_end(&self) -> bool {
        let end = self.deadline();
        let left = self.opened.schedule.levels.iter().skip(self.escalation as usize);
        left.into_iter().any(|level| level.at.is_none_or(|at| end.is_some_and(|end| at > end)))
    }

    /// Returns the approver rules of which any may decide: the first, and those of each level that was reached.
    pub fn approvers(&self) -> impl Iterator<Item = &Approvers> {
        let levels = self.opened.schedule.levels.iter().take(self.escalation as usize);
        std::iter::once(&self.opened.approvers).chain(levels.map(|level| &level.approvers))
    }

    /// Returns the approvers of a level; 0 is the first.
    pub fn approvers_at_level(&self, level: u32) -> &Approvers {
        let above = (level as usize).checked_sub(1);
        let found = above.and_then(|above| self.opened.schedule.levels.get(above));
        found.map_or(&self.opened.approvers, |level| &level.approvers)
    }

    /// Returns the next timer and its time.
    pub fn next_due(&self) -> Option<(Timestamp, TimerKind)> {
        if !self.is_open() {
            return None;
        }
        let schedule = &self.opened.schedule;
        // A snoozed gate sends no reminders.
        let awake = |at: Timestamp| self.snoozed_until.map_or(at, |until| at.max(until));
        let remind =
            schedule.remind_at.iter().find(|at| self.reminded_at.is_none_or(|last| **at > last));
        let level = schedule.levels.get(self.escalation as usize).and_then(|level| level.at);
        let end = self.deadline().filter(|_| !self.is_overdue);
        let warns = schedule.warn_micros > 0 && !self.is_warned;
        let warn = end.filter(|_| warns).map(|end| end.plus_micros(-schedule.warn_micros));
        let moments = [
            self.snoozed_until.map(|at| (at, TimerKind::Wake)),
            remind.map(|at| (awake(*at), TimerKind::Remind)),
            level.map(|at| (at, TimerKind::Escalate)),
            warn.map(|at| (at, TimerKind::Warn)),
            end.map(|at| (at, TimerKind::End)),
        ];
        moments.into_iter().flatten().min()
    }
}

/// Returns the events of all timers that are due, in order. Missed timers fire late: each level once, reminders as
/// one.
pub(super) fn tick(gate: &Gate, at: Timestamp) -> Vec<GateEvent> {
    let mut now = Some(gate.clone());
    let mut events = vec![];
    while let Some(due) =
        now.as_ref().and_then(Gate::next_due).filter(|(when, _)| *when <= at).map(|(_, due)| due)
    {
        let Some(gate) = now.take() else { break };
        let event = happens(&gate, due, at);
        now = super::apply(Some(gate), &event, at);
        events.push(event);
    }
    events
}

fn happens(gate: &Gate, due: TimerKind, at: Timestamp) -> GateEvent {
    let schedule = &gate.opened.schedule;
    let level = gate.escalation.saturating_add(1);
    match due {
        TimerKind::Wake => GateEvent::Woken,
        TimerKind::Remind => GateEvent::Reminded,
        TimerKind::Warn => GateEvent::Warned,
        TimerKind::Escalate => GateEvent::Escalated { level, until: None },
        TimerKind::End => {
            // A new period starts now, not at the deadline, in case the timer fired late.
            let until = at.plus_micros(schedule.period_micros.max(1));
            match gate.at_end() {
                TimeoutAction::Keep => GateEvent::Overdue,
                TimeoutAction::Defer => {
                    GateEvent::Deferred { until: until.max(at.plus_micros(AGAIN_MICROS_MIN)) }
                }
                TimeoutAction::Escalate => GateEvent::Escalated { level, until: Some(until) },
                at_end @ (TimeoutAction::Deny | TimeoutAction::Fail | TimeoutAction::Approve) => {
                    GateEvent::Expired { at_end }
                }
            }
        }
    }
}
