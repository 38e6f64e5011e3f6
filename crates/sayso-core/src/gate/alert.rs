//! Alerts: stalled gates, such as an unseen question or an undelivered answer, each with a hint about the remedy.
//!
//! A person who has seen a question and has not answered is no reason for an alert, and neither is a running agent.

use super::{DeferredAction, DeliveryState, Gate, GateEnding};
use crate::run::{Run, RunEndKind, RunState};
use crate::task::{Task, TaskStatus};
use crate::{Approvers, Role, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

const MINUTE: i64 = 60 * 1_000_000;

/// The time a question may stay unseen.
const UNSEEN_MICROS: i64 = 30 * MINUTE;

/// The time an answer may stay undelivered to an asker that is not running.
pub const UNDELIVERED_MICROS: i64 = 5 * MINUTE;

/// The time an asker may have an answer without an acknowledgement.
const UNACKNOWLEDGED_MICROS: i64 = 30 * MINUTE;

/// The time an approved action may stay undone.
const UNDONE_MICROS: i64 = 5 * MINUTE;

/// The age after which an alert of an ended gate is dropped as history.
pub const OVER_MICROS: i64 = 7 * 24 * 60 * MINUTE;

/// A stalled step of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateAlert {
    /// The step that is stalled.
    pub trouble: AlertKind,
    /// The handle of the gate.
    pub gate: String,
    /// The time since which it is stalled.
    pub since: Timestamp,
    /// The description of the problem, as text.
    pub what: String,
    /// The remedy, as text.
    pub hint: String,
}

/// The step of a gate that is stalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertKind {
    /// No person has seen the question.
    Unseen,
    /// No person is left whose answer would count.
    Unanswerable,
    /// The run that asked is dead.
    AskerLost,
    /// There is an answer, and the asker does not pick it up.
    Undelivered,
    /// The delivery of the answer failed.
    DeliveryFailed,
    /// The asker has the answer and does not continue.
    Unacknowledged,
    /// The approved action is not done.
    Undone,
}

impl AlertKind {
    /// Returns the name used in the CLI and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            AlertKind::Unseen => "unseen",
            AlertKind::Unanswerable => "unanswerable",
            AlertKind::AskerLost => "asker_lost",
            AlertKind::Undelivered => "undelivered",
            AlertKind::DeliveryFailed => "delivery_failed",
            AlertKind::Unacknowledged => "unacknowledged",
            AlertKind::Undone => "undone",
        }
    }
}

/// The runs, the task and the people related to a gate.
#[derive(Debug, Clone, Copy, Default)]
pub struct GateContext<'a> {
    /// The run that asked.
    pub asked_in: Option<&'a Run>,
    /// The last run of its task.
    pub last_run: Option<&'a Run>,
    /// The task that waits, or waited.
    pub task: Option<&'a Task>,
    /// The people of the space, if they are known by name.
    pub people: Option<&'a BTreeSet<String>>,
}

impl GateContext<'_> {
    /// True if an agent is running that learns of the ending by itself.
    fn is_at_work(&self, now: Timestamp) -> bool {
        let runs = [self.asked_in, self.last_run];
        runs.into_iter()
            .flatten()
            .any(|run| run.state == RunState::Running && now < run.lease_until)
    }

    /// True if the task explains why the answer is not picked up: the task waits for another answer, or this answer
    /// ended it. A task that is deferred, stuck, closed or in progress explains nothing; a live run is recognised by
    /// itself.
    fn is_explained(&self, gate: &Gate) -> bool {
        let is_ended_by = |task: &Task| {
            let ended = task.closure.as_ref().map(|closure| closure.at);
            gate.opened.lineage.run.is_none() && ended == gate.ended_at()
        };
        self.task.is_some_and(|task| match task.status {
            TaskStatus::Open => task.is_waiting(),
            TaskStatus::InProgress
            | TaskStatus::Deferred
            | TaskStatus::Failed
            | TaskStatus::Blocked => false,
            TaskStatus::Closed | TaskStatus::Deleted => is_ended_by(task),
        })
    }

    /// Returns the remedy for an answer that the agent of a task does not pick up.
    fn how_it_gets_there(&self, gate: &Gate) -> String {
        let of_task = |task: &Task| match task.status {
            TaskStatus::Open | TaskStatus::InProgress => {
                "its task waits for a worker: sayso work".to_owned()
            }
            TaskStatus::Deferred
            | TaskStatus::Failed
            | TaskStatus::Blocked
            | TaskStatus::Closed => {
                let (handle, status) = (&task.handle, task.status);
                format!("its task is {status}; a worker hands it over after: sayso reopen {handle}")
            }
            TaskStatus::Deleted => format!("its task was deleted; see: sayso show {}", task.handle),
        };
        let asks_again = || {
            let handle = gate.handle();
            format!("it gets it when it asks again: sayso wait {handle}, or any call of its client")
        };
        let is_runs = gate.opened.lineage.run.is_some();
        match self.task {
            Some(task) if is_runs || !task.status.is_over() => of_task(task),
            Some(_) | None => asks_again(),
        }
    }
}

/// True if this gate could have an alert now. It saves loading the related objects if none is possible.
pub fn may_have_alerts(gate: &Gate, now: Timestamp) -> bool {
    let is_asked_by_run = gate.is_open() && gate.opened.lineage.run.is_some();
    let is_for_some = gate.is_open() && gate.opened.approvers != Approvers::Anyone;
    is_asked_by_run || is_for_some || !alerts(gate, &GateContext::default(), now).is_empty()
}

/// Returns the alerts of a gate.
pub fn alerts(gate: &Gate, around: &GateContext<'_>, now: Timestamp) -> Vec<GateAlert> {
    let found = match &gate.ending {
        None => vec![unseen(gate, now), unanswerable(gate, around), asker_lost(gate, around, now)],
        Some(ending) => vec![on_its_way(gate, ending, around, now), undone(gate, now)],
    };
    let is_of_now = |alert: &GateAlert| now < alert.since.plus_micros(OVER_MICROS);
    let mut alerts: Vec<_> = found.into_iter().flatten().collect();
    // An open gate is never history.
    alerts.retain(|alert| gate.is_open() || is_of_now(alert));
    alerts
}

fn alert(
    gate: &Gate,
    trouble: AlertKind,
    since: Timestamp,
    what: String,
    hint: String,
) -> GateAlert {
    GateAlert { trouble, gate: gate.handle().into(), since, what, hint }
}

/// Alerts if no person knows of the gate. Once it is seen, claimed, snoozed or voted on, people may take as long as
/// they like.
fn unseen(gate: &Gate, now: Timestamp) -> Option<GateAlert> {
    let is_known = !gate.seen.is_empty() || !gate.votes.is_empty() || gate.claim.is_some();
    let is_put_off = gate.snoozed_until.is_some();
    let is_late = now >= gate.opened_at.plus_micros(UNSEEN_MICROS);
    if is_known || is_put_off || !is_late {
        return None;
    }
    let handle = gate.handle();
    let what = format!("nobody has looked at gate {handle}");
    let hint = format!("look at it with: sayso show {handle}");
    Some(alert(gate, AlertKind::Unseen, gate.opened_at, what, hint))
}

/// Alerts if the approvers have left and no deputy has their vote. A later escalation level may still bring in
/// others, and then there is no alert.
fn unanswerable(gate: &Gate, around: &GateContext<'_>) -> Option<GateAlert> {
    if can_be_answered_by(gate, around.people?) {
        return None;
    }
    let handle = gate.handle();
    let asked = gate.opened.approvers.in_words();
    let what = format!("nobody is left who could answer gate {handle}: it is for {asked}");
    let hint = format!(
        "invite them again (sayso people invite NAME), or take it back (sayso withdraw {handle}) and ask anew"
    );
    Some(alert(gate, AlertKind::Unanswerable, gate.opened_at, what, hint))
}

/// True if enough of these people could still answer a gate: with their own vote or a delegated one, now or at a
/// later escalation level.
pub fn can_be_answered_by(gate: &Gate, people: &BTreeSet<String>) -> bool {
    let mut here: BTreeSet<&str> = people.iter().map(String::as_str).collect();
    let handed = gate.delegations.iter().filter(|d| people.contains(&d.to));
    here.extend(handed.map(|d| d.from.as_str()));
    here.extend(gate.votes.iter().map(|vote| vote.by.name.as_str()));
    here.retain(|name| !gate.excludes(name));
    let levels = gate.opened.schedule.levels.iter().map(|level| &level.approvers);
    let mut asked = std::iter::once(&gate.opened.approvers).chain(levels);
    asked.any(|approvers| *approvers == Approvers::Anyone || approvers.satisfied_by(&here))
}

/// Alerts if the worker of the run is gone. A run that ended with its question is parked, which is fine.
fn asker_lost(gate: &Gate, around: &GateContext<'_>, now: Timestamp) -> Option<GateAlert> {
    let run = around.asked_in?;
    let since = match &run.state {
        RunState::Running => Some(run.lease_until).filter(|until| now >= *until),
        RunState::Ended { how: RunEndKind::Lost, at, .. } => Some(*at),
        RunState::Ended {
            how:
                RunEndKind::Completed
                | RunEndKind::Asked
                | RunEndKind::Unclear
                | RunEndKind::Failed
                | RunEndKind::Limited
                | RunEndKind::Stopped,
            ..
        } => None,
    }?;
    let is_taken_up = around.last_run.is_some_and(|last| last.started.fence > run.started.fence);
    if is_taken_up {
        return None;
    }
    let asker = &gate.opened.lineage.asker;
    let what = format!("the run of {asker} that asked gate {} was lost", gate.handle());
    let hint = "its task is taken up again by: sayso work; the answer goes to that run".into();
    Some(alert(gate, AlertKind::AskerLost, since, what, hint))
}

fn on_its_way(
    gate: &Gate,
    ending: &GateEnding,
    around: &GateContext<'_>,
    now: Timestamp,
) -> Option<GateAlert> {
    let asker = &gate.opened.lineage.asker;
    let handle = gate.handle();
    match (&gate.delivery, is_waited_for(gate, ending)) {
        (DeliveryState::Failed { at, attempts, why }, _) => {
            let what = format!(
                "the answer to gate {handle} could not be handed to {asker} ({attempts} times): {why}"
            );
            let hint = "a worker tries again: sayso work".into();
            Some(alert(gate, AlertKind::DeliveryFailed, *at, what, hint))
        }
        (DeliveryState::Pending { since }, true) => {
            let is_late = now >= since.plus_micros(UNDELIVERED_MICROS);
            if !is_late || around.is_at_work(now) || around.is_explained(gate) {
                return None;
            }
            let what = format!("{asker} has not come for the answer to gate {handle}");
            let hint = around.how_it_gets_there(gate);
            Some(alert(gate, AlertKind::Undelivered, *since, what, hint))
        }
        (DeliveryState::Delivered { at }, true) => {
            let is_late = now >= at.plus_micros(UNACKNOWLEDGED_MICROS);
            if !is_late || around.is_at_work(now) || around.is_explained(gate) {
                return None;
            }
            let what =
                format!("{asker} was handed the answer to gate {handle} and has not gone on");
            let hint = format!("look what it does, and write to it with: sayso tell {asker} \"…\"");
            Some(alert(gate, AlertKind::Unacknowledged, *at, what, hint))
        }
        (
            DeliveryState::None | DeliveryState::Acknowledged { .. } | DeliveryState::Never { .. },
            _,
        )
        | (DeliveryState::Pending { .. } | DeliveryState::Delivered { .. }, false) => None,
    }
}

/// True if an agent waits for this ending. People look by themselves, and an asker that withdrew its question knows.
fn is_waited_for(gate: &Gate, ending: &GateEnding) -> bool {
    let is_agents = gate.opened.lineage.role == Role::Agent;
    is_agents
        && match ending {
            GateEnding::Answered { .. } | GateEnding::Expired { .. } => true,
            GateEnding::Withdrawn { .. } | GateEnding::Superseded { .. } => false,
        }
}

/// Alerts if an action deferred by sayso was not carried out after its approval; a tool call is up to its agent.
fn undone(gate: &Gate, now: Timestamp) -> Option<GateAlert> {
    let since = gate.ended_at()?;
    let is_ours = match &gate.opened.held {
        Some(DeferredAction::Move { .. } | DeferredAction::Lifecycle { .. }) => true,
        Some(DeferredAction::Call { .. }) | None => false,
    };
    let is_late = now >= since.plus_micros(UNDONE_MICROS);
    if !is_ours || !gate.is_to_be_done() || !is_late {
        return None;
    }
    let what = format!("what gate {} approved has not been done", gate.handle());
    let hint = "it is done by: sayso work, on the machine it is for; see: sayso agent list".into();
    Some(alert(gate, AlertKind::Undone, since, what, hint))
}
