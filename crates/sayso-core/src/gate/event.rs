//! What can happen to a gate, as it is written to the log.

use super::{Card, Held, Schedule};
use crate::{
    Actor, Answer, Approvers, AtEnd, Digest, Door, FlowId, GateId, Kind, Level, Lineage, Proof,
    Risk, SpaceId, TaskId, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;

/// What can happen to a gate. Events are never changed, only added to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// It was asked.
    Opened(Box<Opened>),
    /// The asker changed the card; votes fall away.
    Revised {
        /// The new card.
        card: Card,
        /// Its number.
        revision: u32,
        /// Its digest.
        digest: Digest,
    },
    /// Somebody saw the card.
    Seen {
        /// Who.
        by: String,
        /// Which card.
        digest: Digest,
    },
    /// Somebody is on it.
    Claimed {
        /// Who.
        by: String,
        /// Until when.
        until: Timestamp,
    },
    /// Nobody is on it any more.
    Released,
    /// Somebody put it off.
    Snoozed {
        /// Who.
        by: String,
        /// Until when.
        until: Timestamp,
    },
    /// It was put off until now.
    Woken,
    /// People were reminded.
    Reminded,
    /// It went one level up.
    Escalated {
        /// The level.
        level: u32,
        /// Until when that level has time, if its time began anew.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// People were told that its time is nearly over.
    Warned,
    /// Somebody gave it more time.
    Extended {
        /// Who.
        by: String,
        /// Until when.
        until: Timestamp,
    },
    /// Its time was over and began anew.
    Deferred {
        /// Until when.
        until: Timestamp,
    },
    /// Its time was over; it waits all the same.
    Overdue,
    /// Somebody handed it to another.
    Delegated {
        /// Who.
        by: String,
        /// To whom.
        to: String,
        /// Why.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// One of several needed said yes.
    Voted {
        /// What they said.
        answer: Answer,
        /// Who, how and when.
        by: Signature,
    },
    /// Votes in which somebody had a part who is no longer here count no more.
    VotesDropped {
        /// Who.
        of: String,
    },
    /// It was answered.
    Answered {
        /// The answer.
        answer: Answer,
        /// Who, how and when.
        by: Signature,
    },
    /// Its time ran out.
    Expired {
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
    },
    /// Another gate took its place.
    Superseded {
        /// Which.
        by: GateId,
    },
    /// What was held was done, or could not be done any more.
    Acted {
        /// Whether it was done.
        done: bool,
        /// What, or why not.
        what: String,
    },
    /// The asker was handed the ending.
    Delivered,
    /// The asker went on with it.
    Acknowledged,
    /// It could not be handed over.
    DeliveryFailed {
        /// What happened.
        why: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// Its task ended before the asker was handed it: nothing came of it.
    NeverDelivered {
        /// What ended the task, and who did.
        why: String,
    },
    /// Written by a later version; it says nothing to this one.
    #[serde(other)]
    Unknown,
}

impl Event {
    /// Its name, as it stands in the audit.
    pub const fn name(&self) -> &'static str {
        match self {
            Event::Opened(_) => "gate.opened",
            Event::Revised { .. } => "gate.revised",
            Event::Seen { .. } => "gate.seen",
            Event::Claimed { .. } => "gate.claimed",
            Event::Released => "gate.released",
            Event::Snoozed { .. } => "gate.snoozed",
            Event::Woken => "gate.woken",
            Event::Reminded => "gate.reminded",
            Event::Escalated { .. } => "gate.escalated",
            Event::Delegated { .. } => "gate.delegated",
            Event::Voted { .. } => "gate.voted",
            Event::VotesDropped { .. } => "gate.votes_dropped",
            Event::Answered { .. } => "gate.answered",
            Event::Warned => "gate.warned",
            Event::Extended { .. } => "gate.extended",
            Event::Deferred { .. } => "gate.deferred",
            Event::Overdue => "gate.overdue",
            Event::Expired { .. } => "gate.expired",
            Event::Withdrawn { .. } => "gate.withdrawn",
            Event::Superseded { .. } => "gate.superseded",
            Event::Acted { .. } => "gate.acted",
            Event::Delivered => "gate.delivered",
            Event::Acknowledged => "gate.acknowledged",
            Event::DeliveryFailed { .. } => "gate.delivery_failed",
            Event::NeverDelivered { .. } => "gate.never_delivered",
            Event::Unknown => "gate.unknown",
        }
    }
}

/// What was asked, by whom, and who may answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Made by the caller, so that asking again is the same question.
    pub id: GateId,
    /// The space it belongs to.
    pub space: SpaceId,
    /// What people call it.
    pub handle: String,
    /// What sort of gate.
    pub kind: Kind,
    /// The task that waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The flow that asks, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowId>,
    /// What the person sees first.
    pub card: Card,
    /// Who asked.
    pub lineage: Lineage,
    /// Whose yes is needed.
    #[serde(default)]
    pub approvers: Approvers,
    /// The least proof a verdict needs.
    pub least_proof: Proof,
    /// Whether the person who launched the asker is left out.
    #[serde(default)]
    pub launcher_excluded: bool,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// What else time does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub schedule: Schedule,
    /// Whose no counts, though their yes does not.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub veto: BTreeSet<String>,
    /// How bad it would be to be wrong.
    #[serde(default, skip_serializing_if = "is_default")]
    pub risk: Risk,
    /// What happens when it is approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// The version of the policy that had a say in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Digest>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Opened {
    /// A question anyone with a credential may answer, whenever they come to it.
    pub fn new(
        id: GateId,
        space: SpaceId,
        handle: &str,
        kind: Kind,
        card: Card,
        lineage: Lineage,
    ) -> Self {
        Self {
            id,
            space,
            handle: handle.into(),
            kind,
            task: None,
            flow: None,
            card,
            lineage,
            approvers: Approvers::Anyone,
            least_proof: Proof::Token,
            launcher_excluded: false,
            deadline: None,
            schedule: Schedule::default(),
            veto: BTreeSet::new(),
            risk: Risk::default(),
            held: None,
            policy: None,
        }
    }

    /// Names everything a verdict binds to. Who may answer is part of it: a verdict given under one
    /// set of rules does not count under another.
    pub fn digest(&self, card: &Card, revision: u32) -> Digest {
        let mut names = json!({
            "id": self.id,
            "revision": revision,
            "kind": self.kind,
            "task": self.task,
            "card": card,
            "approvers": self.approvers,
            "least_proof": self.least_proof,
            "launcher_excluded": self.launcher_excluded,
        });
        // What was added later is named where it is there, so that gates from before keep their names.
        let is_governed = self.policy.is_some() || self.held.is_some() || !self.veto.is_empty();
        if is_governed || self.risk != Risk::default() {
            names["held"] = json!(self.held);
            names["veto"] = json!(self.veto);
            names["risk"] = json!(self.risk);
            names["policy"] = json!(self.policy);
        }
        Digest::of(&names)
    }
}

/// Who said it, how they showed to be themselves, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// Their name.
    pub name: String,
    /// Their proof.
    pub proof: Proof,
    /// How well the place was guarded.
    pub level: Level,
    /// The way in.
    pub door: Door,
    /// When.
    pub at: Timestamp,
    /// For whom they stood in, then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stands_for: Vec<String>,
    /// Who let them in after the gate was asked, or those they stood in for: with each of these they count as one person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub let_in_by: Vec<String>,
}

impl Signature {
    /// The signature of an actor, now.
    pub fn of(actor: &Actor, at: Timestamp) -> Self {
        let Actor { name, proof, level, door, .. } = actor;
        let (name, stands_for, let_in_by) = (name.clone(), vec![], vec![]);
        Self { name, proof: *proof, level: *level, door: *door, at, stands_for, let_in_by }
    }

    /// The names that may be theirs: their own, and of those who let them in since the gate was asked.
    pub fn names(&self) -> BTreeSet<&str> {
        self.let_in_by.iter().chain([&self.name]).map(String::as_str).collect()
    }

    /// Whether this and another count as one person: one was let in by the other or both by a third, or one let in
    /// the other and handed their own voice on.
    pub fn is_one_with(&self, other: &Self) -> bool {
        let handed_on =
            |from: &Self, to: &Self| from.let_in_by.iter().any(|by| to.stands_for.contains(by));
        !self.names().is_disjoint(&other.names())
            || handed_on(self, other)
            || handed_on(other, self)
    }

    /// Whose voice they had.
    pub fn voices(&self) -> BTreeSet<&str> {
        self.stands_for.iter().chain([&self.name]).map(String::as_str).collect()
    }
}
