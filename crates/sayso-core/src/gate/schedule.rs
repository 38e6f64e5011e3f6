//! What time does to a gate: reminders, levels, the warning before the end, and the end itself.
//!
//! Moments are fixed when the gate opens. What is due is a function of the gate alone, so whoever
//! looks fires it, and the second one to look finds nothing left to fire.

use super::{Event, Gate};
use crate::{Approvers, AtEnd, Risk, Timestamp};
use serde::{Deserialize, Serialize};

/// When what happens, if nobody answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// When people are reminded, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remind_at: Vec<Timestamp>,
    /// Who may decide, too, from when on, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// How long before the end people are warned; 0 warns nobody.
    #[serde(default)]
    pub warn_micros: i64,
    /// How long people have, where a time begins anew.
    #[serde(default)]
    pub period_micros: i64,
    /// What the end of the time means.
    #[serde(default)]
    pub at_end: AtEnd,
}

/// One level up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// From when on. A level without a moment is reached when the time of the one below is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Whose yes is enough then.
    pub approvers: Approvers,
}

/// What is due. The order is the order in which things that are due at one moment happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// It was put off until now.
    Wake,
    /// People are reminded.
    Remind,
    /// It goes one level up.
    Escalate,
    /// People are told that its time is nearly over.
    Warn,
    /// Its time is over.
    End,
}

/// Nobody is asked again sooner than this.
const AGAIN_MICROS_MIN: i64 = 60 * 1_000_000;

impl Gate {
    /// When its time is over, as it stands now.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.extended_to.or(self.opened.deadline)
    }

    /// When it ends by itself. One that is kept, put off or taken up a level does not.
    pub fn ends_at(&self) -> Option<Timestamp> {
        match self.at_end() {
            AtEnd::Deny | AtEnd::Fail | AtEnd::Approve => self.deadline(),
            AtEnd::Keep | AtEnd::Defer | AtEnd::Escalate => None,
        }
    }

    /// What the end of its time means now. The last level has nobody above it, and silence is a yes
    /// for low risk only.
    pub fn at_end(&self) -> AtEnd {
        match &self.opened.schedule.at_end {
            AtEnd::Escalate if !self.has_level_left_at_the_end() => AtEnd::Deny,
            AtEnd::Approve if self.opened.risk > Risk::Low => AtEnd::Deny,
            at_end => *at_end,
        }
    }

    /// Whether there is a level that has not been reached when the time is over. Those with a moment of
    /// their own are reached by then, whether or not somebody has looked at the clock.
    fn has_level_left_at_the_end(&self) -> bool {
        let end = self.deadline();
        let left = self.opened.schedule.levels.iter().skip(self.escalation as usize);
        left.into_iter().any(|level| level.at.is_none_or(|at| end.is_some_and(|end| at > end)))
    }

    /// The sets of people any of which may decide: those who were asked first, and those of each level
    /// that was reached.
    pub fn approvers(&self) -> impl Iterator<Item = &Approvers> {
        let levels = self.opened.schedule.levels.iter().take(self.escalation as usize);
        std::iter::once(&self.opened.approvers).chain(levels.map(|level| &level.approvers))
    }

    /// Who is asked at a level: 0 is where it began.
    pub fn asked(&self, level: u32) -> &Approvers {
        let above = (level as usize).checked_sub(1);
        let found = above.and_then(|above| self.opened.schedule.levels.get(above));
        found.map_or(&self.opened.approvers, |level| &level.approvers)
    }

    /// What time does next, and when.
    pub fn next_due(&self) -> Option<(Timestamp, Due)> {
        if !self.is_open() {
            return None;
        }
        let schedule = &self.opened.schedule;
        // Nobody is reminded of what they put off.
        let awake = |at: Timestamp| self.snoozed_until.map_or(at, |until| at.max(until));
        let remind =
            schedule.remind_at.iter().find(|at| self.reminded_at.is_none_or(|last| **at > last));
        let level = schedule.levels.get(self.escalation as usize).and_then(|level| level.at);
        let end = self.deadline().filter(|_| !self.is_overdue);
        let warns = schedule.warn_micros > 0 && !self.is_warned;
        let warn = end.filter(|_| warns).map(|end| end.plus_micros(-schedule.warn_micros));
        let moments = [
            self.snoozed_until.map(|at| (at, Due::Wake)),
            remind.map(|at| (awake(*at), Due::Remind)),
            level.map(|at| (at, Due::Escalate)),
            warn.map(|at| (at, Due::Warn)),
            end.map(|at| (at, Due::End)),
        ];
        moments.into_iter().flatten().min()
    }
}

/// Everything that is due, in order. What was missed while nobody looked is made up for: each level
/// once, reminders all in one.
pub(super) fn tick(gate: &Gate, at: Timestamp) -> Vec<Event> {
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

fn happens(gate: &Gate, due: Due, at: Timestamp) -> Event {
    let schedule = &gate.opened.schedule;
    let level = gate.escalation.saturating_add(1);
    match due {
        Due::Wake => Event::Woken,
        Due::Remind => Event::Reminded,
        Due::Warn => Event::Warned,
        Due::Escalate => Event::Escalated { level, until: None },
        Due::End => {
            // A time that is over begins anew from now, not from when nobody looked.
            let until = at.plus_micros(schedule.period_micros.max(1));
            match gate.at_end() {
                AtEnd::Keep => Event::Overdue,
                AtEnd::Defer => {
                    Event::Deferred { until: until.max(at.plus_micros(AGAIN_MICROS_MIN)) }
                }
                AtEnd::Escalate => Event::Escalated { level, until: Some(until) },
                at_end @ (AtEnd::Deny | AtEnd::Fail | AtEnd::Approve) => Event::Expired { at_end },
            }
        }
    }
}
