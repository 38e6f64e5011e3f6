//! The gate: the durable record of one request to a person, with at most one answer.
//!
//! `opened -> seen -> (claimed, snoozed, reminded, escalated) -> answered | expired | withdrawn |
//! superseded`, then its delivery: `pending -> delivered -> acknowledged`, or failed and shown.

mod alert;
mod decide;
mod dedup;
mod deferred;
mod delegation;
mod event;
mod reading_time;
mod receipt;
mod schedule;
#[cfg(test)]
mod tests;
mod unblocks;

pub use alert::{
    AlertKind, GateAlert, GateContext, OVER_MICROS, UNDELIVERED_MICROS, alerts, can_be_answered_by,
    may_have_alerts,
};
pub use decide::{CARD_BYTES_MAX, FACTS_MAX, GateCommand, check_deputy, check_is_open, decide};
pub use dedup::{
    QueuedCard, QueuedGate, card_of_gates, cards_after, limit_per_asker, queued_cards,
};
pub use deferred::{DeferredAction, LifecycleAction};
pub use delegation::{Absentee, GateAudience, GateDelegation, Introduction};
pub use event::{AnswerSignature, GateEvent, GateSpec};
pub use receipt::{
    FollowUpRun, LoggedEvent, NEVER_DELIVERED, Receipt, ReceiptStage, ReceiptStep, WENT_ON,
    follow_up_run,
};
pub use schedule::{EscalationLevel, GateSchedule, TimerKind};
pub use unblocks::{TaskDependents, UnblockedWork};

use crate::{
    Answer, AnswerContent, AnswerShape, Digest, GateId, NoticeReason, TaskOutcome, TimeoutAction,
    Timestamp, Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A gate, folded from its events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// The parameters with which it was opened.
    pub opened: GateSpec,
    /// The time at which it was opened.
    pub opened_at: Timestamp,
    /// The current card; a revision replaces it.
    pub card: Card,
    /// The number of the card, from 1.
    pub revision: u32,
    /// The digest of the card and everything else a verdict is bound to.
    pub digest: Digest,
    /// The people who saw a card, with its digest and the time.
    pub seen: Vec<ViewRecord>,
    /// The current claim, if a person made one.
    pub claim: Option<GateClaim>,
    /// The time until which it is hidden from the inbox.
    pub snoozed_until: Option<Timestamp>,
    /// The number of reminders at this escalation level.
    pub reminders: u32,
    /// The time of the last reminder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminded_at: Option<Timestamp>,
    /// The escalation level; 0 is the first.
    pub escalation: u32,
    /// The present deadline, if it differs from the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_to: Option<Timestamp>,
    /// True if people were warned that the deadline is near.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_warned: bool,
    /// True if the deadline has passed and the gate stays open.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_overdue: bool,
    /// The delegations from one person to another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegations: Vec<GateDelegation>,
    /// The approvals so far, if more than one is required.
    pub votes: Vec<Vote>,
    /// The ending, once it is over.
    pub ending: Option<GateEnding>,
    /// The outcome of the deferred action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acted: Option<ActionOutcome>,
    /// The state of the delivery to the asker.
    pub delivery: DeliveryState,
    /// The number of failed deliveries; a later success does not reset it.
    #[serde(default)]
    pub attempts: u32,
}

impl Gate {
    /// True if it has not ended.
    pub fn is_open(&self) -> bool {
        self.ending.is_none()
    }

    /// Returns the handle that people use.
    pub fn handle(&self) -> &str {
        &self.opened.handle
    }

    /// Returns the state as one word: `open`, `answered`, `expired`, `withdrawn` or `superseded`.
    pub fn state(&self) -> &'static str {
        self.ending.as_ref().map_or("open", GateEnding::as_str)
    }

    /// Returns the answer and its signature, if a person gave one.
    pub fn answer(&self) -> Option<(&Answer, &AnswerSignature)> {
        match &self.ending {
            Some(GateEnding::Answered { answer, by }) => Some((answer, by)),
            _ => None,
        }
    }

    /// Returns the verdict of a person, or the one of the timeout action.
    pub fn verdict(&self) -> Option<Verdict> {
        match self.ending.as_ref()? {
            GateEnding::Answered { answer, .. } => Some(answer.verdict),
            GateEnding::Expired { at_end: TimeoutAction::Approve, .. } => Some(Verdict::Approved),
            GateEnding::Expired { .. } => Some(Verdict::Rejected),
            GateEnding::Withdrawn { .. } | GateEnding::Superseded { .. } => None,
        }
    }

    /// Returns the verdict for the task. An option that counts as a rejection still answers the agent's question, and
    /// the agent continues with it; only a rejection of the question itself abandons a task that needs the answer.
    pub fn verdict_for_task(&self) -> Option<Verdict> {
        let verdict = self.verdict()?;
        let is_picked = |answer: &Answer| matches!(answer.content, AnswerContent::Choice { .. });
        let gives_up = self.opened.kind.outcome(verdict) == TaskOutcome::Abandoned;
        let is_answer = gives_up && self.answer().is_some_and(|(answer, _)| is_picked(answer));
        Some(if is_answer { Verdict::Answered } else { verdict })
    }

    /// True if a deferred action may be carried out now and was not yet. A question through a client's tool holds the
    /// call that asks, and any answer that is no rejection lets that call end; everything else requires an approval.
    pub fn is_to_be_done(&self) -> bool {
        let may_be_done = match (&self.opened.held, self.verdict()) {
            (None, _) | (_, None) => false,
            (Some(DeferredAction::Call { .. }), Some(verdict)) => !verdict.is_no(),
            (
                Some(DeferredAction::Move { .. } | DeferredAction::Lifecycle { .. }),
                Some(verdict),
            ) => verdict == Verdict::Approved,
        };
        may_be_done && self.acted.is_none()
    }

    /// Returns the time at which it ended.
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.ending.as_ref().map(GateEnding::at)
    }

    /// Returns the last record of this person seeing a card.
    pub fn seen_by(&self, name: &str) -> Option<&ViewRecord> {
        self.seen.iter().rev().find(|s| s.by == name)
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The card: everything a person is shown. sayso captured the facts; the narrative is the asker's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The question, in the asker's words.
    pub question: String,
    /// The asker's explanation (API: context).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub narrative: String,
    /// The facts beside the narrative.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<CardFact>,
    /// The form that the answer must have.
    pub shape: AnswerShape,
}

/// A fact about the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CardFact {
    /// The name of the fact: `command`, `diff`, `path`.
    pub name: String,
    /// The value that was captured.
    pub value: Value,
    /// True if sayso captured it, false if only the asker claims it.
    #[serde(default)]
    pub verified: bool,
}

/// The record that a person saw a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewRecord {
    /// The name of the person.
    pub by: String,
    /// The digest of the card.
    pub digest: Digest,
    /// The time of the outcome.
    pub at: Timestamp,
}

/// A person's claim of a gate, which tells others that it is taken care of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateClaim {
    /// The name of the person.
    pub by: String,
    /// The time at which it ends.
    pub until: Timestamp,
}

/// One person's approval, if several are required.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vote {
    /// The person, their proof and the time.
    pub by: AnswerSignature,
    /// The answer of the person.
    pub answer: Answer,
}

impl Vote {
    /// True if the vote counts for this person: it is theirs, or a deputy gave it.
    pub fn is_of(&self, name: &str) -> bool {
        self.by.name == name || self.by.stands_for.iter().any(|absent| absent == name)
    }
}

/// The outcome of a deferred action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionOutcome {
    /// True if it was done.
    pub done: bool,
    /// The action, or the reason why it was not done.
    pub what: String,
    /// The time of the outcome.
    pub at: Timestamp,
}

/// The ending of a gate. Each is a different result for the asker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateEnding {
    /// A person gave the answer.
    Answered {
        /// The answer that counts.
        answer: Answer,
        /// The person, their proof and the time.
        by: AnswerSignature,
    },
    /// The deadline passed without an answer.
    Expired {
        /// The time at which it was given up.
        at: Timestamp,
        /// The timeout action that applies.
        #[serde(default)]
        at_end: TimeoutAction,
    },
    /// The question was withdrawn.
    Withdrawn {
        /// The name of the actor.
        by: String,
        /// The reason of the withdrawal.
        reason: String,
        /// The time at which it was given up.
        at: Timestamp,
    },
    /// Another gate replaced it.
    Superseded {
        /// The gate that replaces it.
        by: GateId,
        /// The time at which it was given up.
        at: Timestamp,
    },
}

impl GateEnding {
    /// Returns the state as one word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            GateEnding::Answered { .. } => "answered",
            GateEnding::Expired { .. } => "expired",
            GateEnding::Withdrawn { .. } => "withdrawn",
            GateEnding::Superseded { .. } => "superseded",
        }
    }

    /// Returns the time of the ending.
    pub const fn at(&self) -> Timestamp {
        match self {
            GateEnding::Answered { by, .. } => by.at,
            GateEnding::Expired { at, .. }
            | GateEnding::Withdrawn { at, .. }
            | GateEnding::Superseded { at, .. } => *at,
        }
    }
}

/// The state of the delivery to the asker. Answered and delivered are separate facts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum DeliveryState {
    /// Nothing to deliver yet.
    #[default]
    None,
    /// The ending waits for the asker.
    Pending {
        /// The time since which it waits.
        since: Timestamp,
    },
    /// The ending was delivered to the asker.
    Delivered {
        /// The time at which it was given up.
        at: Timestamp,
    },
    /// The asker continued with it.
    Acknowledged {
        /// The time at which it was given up.
        at: Timestamp,
    },
    /// The delivery failed; this is shown and may be retried.
    Failed {
        /// The time at which it was given up.
        at: Timestamp,
        /// The number of attempts so far.
        attempts: u32,
        /// The error of the last attempt.
        why: String,
    },
    /// The task ended before the delivery. If the task is resumed, the ending is delivered then.
    Never {
        /// The time at which it was given up.
        at: Timestamp,
        /// The event that ended the task, and its actor.
        why: String,
    },
}

impl DeliveryState {
    /// Returns the state as one word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            DeliveryState::None => "none",
            DeliveryState::Pending { .. } => "pending",
            DeliveryState::Delivered { .. } => "delivered",
            DeliveryState::Acknowledged { .. } => "acknowledged",
            DeliveryState::Failed { .. } => "failed",
            DeliveryState::Never { .. } => "never",
        }
    }
}

/// A side effect of an event. The list is closed: a gate causes no others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum GateEffect {
    /// Notify the people of this level.
    Notify {
        /// The escalation level of the gate.
        level: u32,
        /// The number of the reminder at this level; 0 is the first notice.
        reminder: u32,
        /// The reason of the notice.
        occasion: NoticeReason,
    },
    /// Update the notices: the gate is settled.
    Retract,
    /// Deliver the ending to the asker.
    Deliver,
}

/// Folds an event into a gate. Total: an event unknown to this version changes nothing.
pub fn apply(gate: Option<Gate>, event: &GateEvent, at: Timestamp) -> Option<Gate> {
    let Some(mut gate) = gate else {
        return match event {
            GateEvent::Opened(opened) => Some(open(opened, at)),
            _ => None,
        };
    };
    if !counts(&gate, event) {
        return Some(gate);
    }
    match event {
        GateEvent::Opened(_) | GateEvent::Unknown => {}
        GateEvent::Revised { card, revision, digest } => {
            gate.card = card.clone();
            gate.revision = *revision;
            gate.digest = digest.clone();
            gate.votes.clear();
        }
        GateEvent::Seen { by, digest } => {
            gate.seen.push(ViewRecord { by: by.clone(), digest: digest.clone(), at });
        }
        GateEvent::Claimed { by, until } => {
            gate.claim = Some(GateClaim { by: by.clone(), until: *until });
        }
        GateEvent::Released => gate.claim = None,
        GateEvent::Snoozed { until, .. } => {
            gate.snoozed_until = Some(*until).filter(|until| *until > at)
        }
        GateEvent::Woken | GateEvent::Reminded => {
            gate.reminders += 1;
            gate.reminded_at = Some(at);
            gate.snoozed_until = None;
        }
        GateEvent::Escalated { level, until } => {
            (gate.escalation, gate.reminders) = (*level, 0);
            gate.snoozed_until = None;
            until.iter().for_each(|until| extend(&mut gate, *until));
        }
        GateEvent::Warned => {
            gate.reminders += 1;
            gate.is_warned = true;
        }
        GateEvent::Extended { until, .. } => extend(&mut gate, *until),
        GateEvent::Deferred { until } => {
            gate.reminders += 1;
            extend(&mut gate, *until);
        }
        GateEvent::Overdue => {
            gate.reminders += 1;
            gate.is_overdue = true;
        }
        GateEvent::Delegated { by, to, reason } => {
            let (from, to, reason) = (by.clone(), to.clone(), reason.clone());
            gate.delegations.retain(|d| d.from != from);
            gate.claim.take_if(|claim| claim.by == from);
            gate.delegations.push(GateDelegation { from, to, reason, at });
            gate.reminders += 1;
            gate.snoozed_until = None;
        }
        GateEvent::Voted { answer, by } => {
            gate.votes.retain(|v| v.by.name != by.name);
            gate.votes.push(Vote { by: by.clone(), answer: answer.clone() });
        }
        GateEvent::VotesDropped { of } => {
            gate.votes.retain(|vote| !vote.is_of(of));
            gate.delegations.retain(|handed| handed.from != *of);
        }
        GateEvent::Answered { answer, by } => {
            end(&mut gate, GateEnding::Answered { answer: answer.clone(), by: by.clone() }, at);
        }
        GateEvent::Expired { at_end } => {
            end(&mut gate, GateEnding::Expired { at, at_end: *at_end }, at);
        }
        GateEvent::Withdrawn { by, reason } => {
            end(
                &mut gate,
                GateEnding::Withdrawn { by: by.clone(), reason: reason.clone(), at },
                at,
            );
        }
        GateEvent::Superseded { by } => end(&mut gate, GateEnding::Superseded { by: *by, at }, at),
        GateEvent::Acted { done, what } => {
            gate.acted = Some(ActionOutcome { done: *done, what: what.clone(), at });
        }
        GateEvent::Delivered => gate.delivery = DeliveryState::Delivered { at },
        GateEvent::Acknowledged => gate.delivery = DeliveryState::Acknowledged { at },
        GateEvent::DeliveryFailed { why, attempts } => {
            gate.attempts = *attempts;
            gate.delivery = DeliveryState::Failed { at, attempts: *attempts, why: why.clone() };
        }
        GateEvent::NeverDelivered { why } => {
            gate.delivery = DeliveryState::Never { at, why: why.clone() };
        }
    }
    Some(gate)
}

fn open(opened: &GateSpec, at: Timestamp) -> Gate {
    Gate {
        opened_at: at,
        card: opened.card.clone(),
        revision: 1,
        digest: opened.digest(&opened.card, 1),
        opened: opened.clone(),
        seen: vec![],
        claim: None,
        snoozed_until: None,
        reminders: 0,
        reminded_at: None,
        escalation: 0,
        extended_to: None,
        is_warned: false,
        is_overdue: false,
        delegations: vec![],
        votes: vec![],
        ending: None,
        acted: None,
        delivery: DeliveryState::None,
        attempts: 0,
    }
}

/// True if an event may still change the gate. A gate ends once and is delivered once: a later event in the log, from
/// any source, neither undoes that nor changes the answer.
fn counts(gate: &Gate, event: &GateEvent) -> bool {
    match event {
        GateEvent::Opened(_) | GateEvent::Unknown => false,
        // A deferred action is done once.
        GateEvent::Acted { .. } => gate.is_to_be_done(),
        GateEvent::Delivered
        | GateEvent::Acknowledged
        | GateEvent::DeliveryFailed { .. }
        | GateEvent::NeverDelivered { .. } => {
            !gate.is_open() && !matches!(gate.delivery, DeliveryState::Acknowledged { .. })
        }
        GateEvent::Revised { .. }
        | GateEvent::Seen { .. }
        | GateEvent::Claimed { .. }
        | GateEvent::Released
        | GateEvent::Snoozed { .. }
        | GateEvent::Woken
        | GateEvent::Reminded
        | GateEvent::Escalated { .. }
        | GateEvent::Warned
        | GateEvent::Extended { .. }
        | GateEvent::Deferred { .. }
        | GateEvent::Overdue
        | GateEvent::Delegated { .. }
        | GateEvent::Voted { .. }
        | GateEvent::VotesDropped { .. }
        | GateEvent::Answered { .. }
        | GateEvent::Expired { .. }
        | GateEvent::Withdrawn { .. }
        | GateEvent::Superseded { .. } => gate.is_open(),
    }
}

/// Sets a new deadline and enables its warning again.
fn extend(gate: &mut Gate, until: Timestamp) {
    gate.extended_to = Some(until);
    (gate.is_warned, gate.is_overdue) = (false, false);
}

fn end(gate: &mut Gate, ending: GateEnding, at: Timestamp) {
    gate.ending = Some(ending);
    gate.delivery = DeliveryState::Pending { since: at };
}

/// Returns the side effects of an event; `gate` is the state after it.
pub fn effects(gate: &Gate, event: &GateEvent) -> Vec<GateEffect> {
    let tell = |occasion| {
        vec![GateEffect::Notify { level: gate.escalation, reminder: gate.reminders, occasion }]
    };
    match event {
        GateEvent::Opened(_) => tell(NoticeReason::Asked),
        GateEvent::Revised { .. } => tell(NoticeReason::Changed),
        GateEvent::Woken => tell(NoticeReason::Woken),
        GateEvent::Reminded => tell(NoticeReason::Reminded),
        GateEvent::Escalated { .. } => tell(NoticeReason::Escalated),
        GateEvent::Warned => tell(NoticeReason::ExpiresSoon),
        GateEvent::Deferred { .. } => tell(NoticeReason::AskedAgain),
        GateEvent::Overdue => tell(NoticeReason::Overdue),
        GateEvent::Delegated { .. } => tell(NoticeReason::Delegated),
        GateEvent::Answered { .. }
        | GateEvent::Expired { .. }
        | GateEvent::Withdrawn { .. }
        | GateEvent::Superseded { .. } => vec![GateEffect::Retract, GateEffect::Deliver],
        GateEvent::Seen { .. }
        | GateEvent::Claimed { .. }
        | GateEvent::Released
        | GateEvent::Snoozed { .. }
        | GateEvent::Extended { .. }
        | GateEvent::Voted { .. }
        | GateEvent::VotesDropped { .. }
        | GateEvent::Acted { .. }
        | GateEvent::Delivered
        | GateEvent::Acknowledged
        | GateEvent::DeliveryFailed { .. }
        | GateEvent::NeverDelivered { .. }
        | GateEvent::Unknown => vec![],
    }
}
