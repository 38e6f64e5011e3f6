//! The gate: one thing that waits for a person, answered at most once.
//!
//! `opened -> seen -> (claimed, snoozed, reminded, escalated) -> answered | expired | withdrawn |
//! superseded`, then its delivery: `pending -> delivered -> acknowledged`, or failed and shown.

mod alert;
mod decide;
mod event;
mod haste;
mod held;
mod receipt;
mod same;
mod schedule;
#[cfg(test)]
mod tests;
mod unblocks;
mod voices;

pub use alert::{
    Alert, Around, OVER_MICROS, Trouble, UNDELIVERED_MICROS, alerts, can_be_answered_by, could_hang,
};
pub use decide::{CARD_BYTES_MAX, Command, FACTS_MAX, check_deputy, check_is_open, decide};
pub use event::{Event, Opened, Signature};
pub use held::{Action, Held};
pub use receipt::{Happened, NEVER_DELIVERED, Onward, Receipt, Stage, Step, WENT_ON, onward};
pub use same::{InLine, Waiting, behind, folded, in_line, one_card};
pub use schedule::{Due, Level, Schedule};
pub use unblocks::{Behind, Unblocks};
pub use voices::{Absent, Delegation, Introduction, Whose};

use crate::{Answer, AtEnd, Content, Digest, GateId, Occasion, Outcome, Shape, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A gate as its events made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// What was asked, by whom, for whom.
    pub opened: Opened,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// What the person sees now; a revision replaces it.
    pub card: Card,
    /// Counts the cards, from 1.
    pub revision: u32,
    /// Names the card and everything a verdict binds to.
    pub digest: Digest,
    /// Who has seen which card, and when.
    pub seen: Vec<Seen>,
    /// Who said "mine", until when.
    pub claim: Option<Claim>,
    /// Hidden from the inbox until then.
    pub snoozed_until: Option<Timestamp>,
    /// How often the people of this level were told again.
    pub reminders: u32,
    /// When they were reminded last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminded_at: Option<Timestamp>,
    /// The level it was escalated to; 0 is where it began.
    pub escalation: u32,
    /// When its time is over, if that is not what it was at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_to: Option<Timestamp>,
    /// Whether people were told that its time is nearly over.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_warned: bool,
    /// Whether its time is over and it waits all the same.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_overdue: bool,
    /// Who handed it to whom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegations: Vec<Delegation>,
    /// The yeses so far, when more than one is needed.
    pub votes: Vec<Vote>,
    /// How it ended, once it has.
    pub ending: Option<Ending>,
    /// What became of what was held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acted: Option<Acted>,
    /// Where the ending is on its way to the asker.
    pub delivery: Delivery,
    /// How often handing it over failed; a later success does not set it back.
    #[serde(default)]
    pub attempts: u32,
}

impl Gate {
    /// Whether it still waits.
    pub fn is_open(&self) -> bool {
        self.ending.is_none()
    }

    /// What people call it.
    pub fn handle(&self) -> &str {
        &self.opened.handle
    }

    /// Its state in one word: `open`, `answered`, `expired`, `withdrawn` or `superseded`.
    pub fn state(&self) -> &'static str {
        self.ending.as_ref().map_or("open", Ending::as_str)
    }

    /// The answer, if a person gave one.
    pub fn answer(&self) -> Option<(&Answer, &Signature)> {
        match &self.ending {
            Some(Ending::Answered { answer, by }) => Some((answer, by)),
            _ => None,
        }
    }

    /// The verdict of a person, or of what the policy makes of silence.
    pub fn verdict(&self) -> Option<Verdict> {
        match self.ending.as_ref()? {
            Ending::Answered { answer, .. } => Some(answer.verdict),
            Ending::Expired { at_end: AtEnd::Approve, .. } => Some(Verdict::Approved),
            Ending::Expired { .. } => Some(Verdict::Rejected),
            Ending::Withdrawn { .. } | Ending::Superseded { .. } => None,
        }
    }

    /// The verdict as its task hears it. Whoever picks an option that means no has answered a question of the agent,
    /// which goes on and knows it; only declining the question itself gives up what cannot be done without an answer.
    pub fn verdict_for_task(&self) -> Option<Verdict> {
        let verdict = self.verdict()?;
        let is_picked = |answer: &Answer| matches!(answer.content, Content::Choice { .. });
        let gives_up = self.opened.kind.outcome(verdict) == Outcome::Abandoned;
        let is_answer = gives_up && self.answer().is_some_and(|(answer, _)| is_picked(answer));
        Some(if is_answer { Verdict::Answered } else { verdict })
    }

    /// Whether something was held that may be done now and was not yet. A question that is asked through a client's
    /// tool holds the call that asks, and any answer lets that end; all else takes a yes.
    pub fn is_to_be_done(&self) -> bool {
        let may_be_done = match (&self.opened.held, self.verdict()) {
            (None, _) | (_, None) => false,
            (Some(Held::Call { .. }), Some(verdict)) => !verdict.is_no(),
            (Some(Held::Move { .. } | Held::Lifecycle { .. }), Some(verdict)) => {
                verdict == Verdict::Approved
            }
        };
        may_be_done && self.acted.is_none()
    }

    /// When it ended.
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.ending.as_ref().map(Ending::at)
    }

    /// The digest this person saw last, if any.
    pub fn seen_by(&self, name: &str) -> Option<&Seen> {
        self.seen.iter().rev().find(|s| s.by == name)
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// What a person sees. Facts were captured by the trusted side; the narrative is the asker's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The question, in the asker's words.
    pub question: String,
    /// What the asker says about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub narrative: String,
    /// What the trusted side captured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// The form the answer has to have.
    pub shape: Shape,
}

/// Something known about what is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// What it is: `command`, `diff`, `path`.
    pub name: String,
    /// What was captured.
    pub value: Value,
    /// Whether the trusted side captured it, or only the asker says so.
    #[serde(default)]
    pub verified: bool,
}

/// That somebody saw a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Who.
    pub by: String,
    /// Which card.
    pub digest: Digest,
    /// When.
    pub at: Timestamp,
}

/// That somebody is on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Who.
    pub by: String,
    /// Until when.
    pub until: Timestamp,
}

/// One person's yes, where several are needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vote {
    /// Who.
    pub by: Signature,
    /// What they said.
    pub answer: Answer,
}

impl Vote {
    /// Whether somebody has a part in it: it is theirs, or was given in their place.
    pub fn is_of(&self, name: &str) -> bool {
        self.by.name == name || self.by.stands_for.iter().any(|absent| absent == name)
    }
}

/// What became of what was held behind a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acted {
    /// Whether it was done.
    pub done: bool,
    /// What, or why not.
    pub what: String,
    /// When.
    pub at: Timestamp,
}

/// How a gate ended. Each is a different result for the asker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// A person answered.
    Answered {
        /// What they said.
        answer: Answer,
        /// Who, how and when.
        by: Signature,
    },
    /// Its time ran out.
    Expired {
        /// When.
        at: Timestamp,
        /// What that means.
        #[serde(default)]
        at_end: AtEnd,
    },
    /// It was taken back.
    Withdrawn {
        /// By whom.
        by: String,
        /// Why.
        reason: String,
        /// When.
        at: Timestamp,
    },
    /// Another gate took its place.
    Superseded {
        /// Which.
        by: GateId,
        /// When.
        at: Timestamp,
    },
}

impl Ending {
    /// In one word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Ending::Answered { .. } => "answered",
            Ending::Expired { .. } => "expired",
            Ending::Withdrawn { .. } => "withdrawn",
            Ending::Superseded { .. } => "superseded",
        }
    }

    /// When it ended.
    pub const fn at(&self) -> Timestamp {
        match self {
            Ending::Answered { by, .. } => by.at,
            Ending::Expired { at, .. }
            | Ending::Withdrawn { at, .. }
            | Ending::Superseded { at, .. } => *at,
        }
    }
}

/// Where the ending is on its way to the asker. Answered and delivered are two facts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Delivery {
    /// Nothing to deliver yet.
    #[default]
    None,
    /// Waits for the asker.
    Pending {
        /// Since when.
        since: Timestamp,
    },
    /// The asker was handed it.
    Delivered {
        /// When.
        at: Timestamp,
    },
    /// The asker went on with it.
    Acknowledged {
        /// When.
        at: Timestamp,
    },
    /// It could not be handed over; it is shown and may be tried again.
    Failed {
        /// When.
        at: Timestamp,
        /// How often it was tried.
        attempts: u32,
        /// What happened.
        why: String,
    },
    /// Its task ended before the asker was handed it. One that goes on all the same is handed it then.
    Never {
        /// When.
        at: Timestamp,
        /// What ended the task, and who did.
        why: String,
    },
}

impl Delivery {
    /// In one word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Delivery::None => "none",
            Delivery::Pending { .. } => "pending",
            Delivery::Delivered { .. } => "delivered",
            Delivery::Acknowledged { .. } => "acknowledged",
            Delivery::Failed { .. } => "failed",
            Delivery::Never { .. } => "never",
        }
    }
}

/// What an event makes the world do. The list is closed: sayso does nothing else because of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Tell the people of this level that something waits.
    Notify {
        /// The escalation level.
        level: u32,
        /// Counts the reminders at this level; 0 is the first notice.
        reminder: u32,
        /// Why.
        occasion: Occasion,
    },
    /// Update what people were told: it is settled.
    Retract,
    /// Hand the ending to the asker.
    Deliver,
}

/// Folds an event into a gate. Total: an event that says nothing to this version changes nothing.
pub fn apply(gate: Option<Gate>, event: &Event, at: Timestamp) -> Option<Gate> {
    let Some(mut gate) = gate else {
        return match event {
            Event::Opened(opened) => Some(open(opened, at)),
            _ => None,
        };
    };
    if !counts(&gate, event) {
        return Some(gate);
    }
    match event {
        Event::Opened(_) | Event::Unknown => {}
        Event::Revised { card, revision, digest } => {
            gate.card = card.clone();
            gate.revision = *revision;
            gate.digest = digest.clone();
            gate.votes.clear();
        }
        Event::Seen { by, digest } => {
            gate.seen.push(Seen { by: by.clone(), digest: digest.clone(), at });
        }
        Event::Claimed { by, until } => {
            gate.claim = Some(Claim { by: by.clone(), until: *until });
        }
        Event::Released => gate.claim = None,
        Event::Snoozed { until, .. } => {
            gate.snoozed_until = Some(*until).filter(|until| *until > at)
        }
        Event::Woken | Event::Reminded => {
            gate.reminders += 1;
            gate.reminded_at = Some(at);
            gate.snoozed_until = None;
        }
        Event::Escalated { level, until } => {
            (gate.escalation, gate.reminders) = (*level, 0);
            gate.snoozed_until = None;
            until.iter().for_each(|until| extend(&mut gate, *until));
        }
        Event::Warned => {
            gate.reminders += 1;
            gate.is_warned = true;
        }
        Event::Extended { until, .. } => extend(&mut gate, *until),
        Event::Deferred { until } => {
            gate.reminders += 1;
            extend(&mut gate, *until);
        }
        Event::Overdue => {
            gate.reminders += 1;
            gate.is_overdue = true;
        }
        Event::Delegated { by, to, reason } => {
            let (from, to, reason) = (by.clone(), to.clone(), reason.clone());
            gate.delegations.retain(|d| d.from != from);
            gate.claim.take_if(|claim| claim.by == from);
            gate.delegations.push(Delegation { from, to, reason, at });
            gate.reminders += 1;
            gate.snoozed_until = None;
        }
        Event::Voted { answer, by } => {
            gate.votes.retain(|v| v.by.name != by.name);
            gate.votes.push(Vote { by: by.clone(), answer: answer.clone() });
        }
        Event::VotesDropped { of } => {
            gate.votes.retain(|vote| !vote.is_of(of));
            gate.delegations.retain(|handed| handed.from != *of);
        }
        Event::Answered { answer, by } => {
            end(&mut gate, Ending::Answered { answer: answer.clone(), by: by.clone() }, at);
        }
        Event::Expired { at_end } => {
            end(&mut gate, Ending::Expired { at, at_end: *at_end }, at);
        }
        Event::Withdrawn { by, reason } => {
            end(&mut gate, Ending::Withdrawn { by: by.clone(), reason: reason.clone(), at }, at);
        }
        Event::Superseded { by } => end(&mut gate, Ending::Superseded { by: *by, at }, at),
        Event::Acted { done, what } => {
            gate.acted = Some(Acted { done: *done, what: what.clone(), at });
        }
        Event::Delivered => gate.delivery = Delivery::Delivered { at },
        Event::Acknowledged => gate.delivery = Delivery::Acknowledged { at },
        Event::DeliveryFailed { why, attempts } => {
            gate.attempts = *attempts;
            gate.delivery = Delivery::Failed { at, attempts: *attempts, why: why.clone() };
        }
        Event::NeverDelivered { why } => {
            gate.delivery = Delivery::Never { at, why: why.clone() };
        }
    }
    Some(gate)
}

fn open(opened: &Opened, at: Timestamp) -> Gate {
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
        delivery: Delivery::None,
        attempts: 0,
    }
}

/// Whether an event may still change the gate. A gate ends once and is delivered once: nothing that
/// stands behind that in the log, however it came there, undoes it or changes what was answered.
fn counts(gate: &Gate, event: &Event) -> bool {
    match event {
        Event::Opened(_) | Event::Unknown => false,
        // What was held is done once.
        Event::Acted { .. } => gate.is_to_be_done(),
        Event::Delivered
        | Event::Acknowledged
        | Event::DeliveryFailed { .. }
        | Event::NeverDelivered { .. } => {
            !gate.is_open() && !matches!(gate.delivery, Delivery::Acknowledged { .. })
        }
        Event::Revised { .. }
        | Event::Seen { .. }
        | Event::Claimed { .. }
        | Event::Released
        | Event::Snoozed { .. }
        | Event::Woken
        | Event::Reminded
        | Event::Escalated { .. }
        | Event::Warned
        | Event::Extended { .. }
        | Event::Deferred { .. }
        | Event::Overdue
        | Event::Delegated { .. }
        | Event::Voted { .. }
        | Event::VotesDropped { .. }
        | Event::Answered { .. }
        | Event::Expired { .. }
        | Event::Withdrawn { .. }
        | Event::Superseded { .. } => gate.is_open(),
    }
}

/// More time: the warning before the end comes again.
fn extend(gate: &mut Gate, until: Timestamp) {
    gate.extended_to = Some(until);
    (gate.is_warned, gate.is_overdue) = (false, false);
}

fn end(gate: &mut Gate, ending: Ending, at: Timestamp) {
    gate.ending = Some(ending);
    gate.delivery = Delivery::Pending { since: at };
}

/// What an event makes the world do; `gate` is the state after it.
pub fn effects(gate: &Gate, event: &Event) -> Vec<Effect> {
    let tell = |occasion| {
        vec![Effect::Notify { level: gate.escalation, reminder: gate.reminders, occasion }]
    };
    match event {
        Event::Opened(_) => tell(Occasion::Asked),
        Event::Revised { .. } => tell(Occasion::Changed),
        Event::Woken => tell(Occasion::Woken),
        Event::Reminded => tell(Occasion::Reminded),
        Event::Escalated { .. } => tell(Occasion::Escalated),
        Event::Warned => tell(Occasion::ExpiresSoon),
        Event::Deferred { .. } => tell(Occasion::AskedAgain),
        Event::Overdue => tell(Occasion::Overdue),
        Event::Delegated { .. } => tell(Occasion::Delegated),
        Event::Answered { .. }
        | Event::Expired { .. }
        | Event::Withdrawn { .. }
        | Event::Superseded { .. } => vec![Effect::Retract, Effect::Deliver],
        Event::Seen { .. }
        | Event::Claimed { .. }
        | Event::Released
        | Event::Snoozed { .. }
        | Event::Extended { .. }
        | Event::Voted { .. }
        | Event::VotesDropped { .. }
        | Event::Acted { .. }
        | Event::Delivered
        | Event::Acknowledged
        | Event::DeliveryFailed { .. }
        | Event::NeverDelivered { .. }
        | Event::Unknown => vec![],
    }
}
