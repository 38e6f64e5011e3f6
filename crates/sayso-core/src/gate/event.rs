//! The events of a gate, as they are stored in the log, and the digest that an answer is bound to.

use super::{Card, DeferredAction, GateSchedule};
use crate::{
    Actor, Answer, Approvers, AssuranceLevel, Digest, EntryPoint, FlowId, GateId, GateKind,
    IdentityProof, Lineage, Risk, SpaceId, TaskId, TimeoutAction, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;

/// An event of a gate. Events are only appended, never changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum GateEvent {
    /// The question was asked.
    Opened(Box<GateSpec>),
    /// The asker changed the card; votes are cleared.
    Revised {
        /// The new card of the gate.
        card: Card,
        /// The number of the revision.
        revision: u32,
        /// The digest of the revision.
        digest: Digest,
    },
    /// A person saw the card.
    Seen {
        /// The name of the person who delegates.
        by: String,
        /// The digest of the card that was shown.
        digest: Digest,
    },
    /// A person claimed the gate.
    Claimed {
        /// The name of the person who delegates.
        by: String,
        /// The new deadline of the gate.
        until: Timestamp,
    },
    /// The claim was released.
    Released,
    /// A person snoozed the gate.
    Snoozed {
        /// The name of the person who delegates.
        by: String,
        /// The new deadline of the gate.
        until: Timestamp,
    },
    /// The snooze is over.
    Woken,
    /// The approvers were reminded.
    Reminded,
    /// It escalated by one level.
    Escalated {
        /// The new escalation level.
        level: u32,
        /// The deadline of that level, if it got a new one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// People were warned that the deadline is near.
    Warned,
    /// A person extended the deadline.
    Extended {
        /// The name of the person who delegates.
        by: String,
        /// The new deadline of the gate.
        until: Timestamp,
    },
    /// The deadline passed and a new one was set.
    Deferred {
        /// The new deadline of the gate.
        until: Timestamp,
    },
    /// The deadline passed; the gate stays open.
    Overdue,
    /// A person delegated it to another.
    Delegated {
        /// The name of the person who delegates.
        by: String,
        /// The name of the person who may answer instead.
        to: String,
        /// The reason of the delegation.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// One of several required approvals was given.
    Voted {
        /// The answer of the person.
        answer: Answer,
        /// The person, their proof and the time.
        by: AnswerSignature,
    },
    /// The votes that count for a removed person were dropped.
    VotesDropped {
        /// The name of the removed person.
        of: String,
    },
    /// The gate was answered.
    Answered {
        /// The answer that counts.
        answer: Answer,
        /// The person, their proof and the time.
        by: AnswerSignature,
    },
    /// The deadline passed without an answer.
    Expired {
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
    },
    /// Another gate replaced it.
    Superseded {
        /// The gate that replaces it.
        by: GateId,
    },
    /// The deferred action was done, or can no longer be done.
    Acted {
        /// True if it was done.
        done: bool,
        /// The action, or the reason why it was not done.
        what: String,
    },
    /// The ending was delivered to the asker.
    Delivered,
    /// The asker continued with it.
    Acknowledged,
    /// The delivery failed.
    DeliveryFailed {
        /// The error of the delivery.
        why: String,
        /// The number of attempts so far.
        attempts: u32,
    },
    /// The task ended before the delivery, so the ending has no effect.
    NeverDelivered {
        /// The event that ended the task, and its actor.
        why: String,
    },
    /// An event of a later version, which this one ignores.
    #[serde(other)]
    Unknown,
}

impl GateEvent {
    /// Returns the name used in the audit log.
    pub const fn name(&self) -> &'static str {
        match self {
            GateEvent::Opened(_) => "gate.opened",
            GateEvent::Revised { .. } => "gate.revised",
            GateEvent::Seen { .. } => "gate.seen",
            GateEvent::Claimed { .. } => "gate.claimed",
            GateEvent::Released => "gate.released",
            GateEvent::Snoozed { .. } => "gate.snoozed",
            GateEvent::Woken => "gate.woken",
            GateEvent::Reminded => "gate.reminded",
            GateEvent::Escalated { .. } => "gate.escalated",
            GateEvent::Delegated { .. } => "gate.delegated",
            GateEvent::Voted { .. } => "gate.voted",
            GateEvent::VotesDropped { .. } => "gate.votes_dropped",
            GateEvent::Answered { .. } => "gate.answered",
            GateEvent::Warned => "gate.warned",
            GateEvent::Extended { .. } => "gate.extended",
            GateEvent::Deferred { .. } => "gate.deferred",
            GateEvent::Overdue => "gate.overdue",
            GateEvent::Expired { .. } => "gate.expired",
            GateEvent::Withdrawn { .. } => "gate.withdrawn",
            GateEvent::Superseded { .. } => "gate.superseded",
            GateEvent::Acted { .. } => "gate.acted",
            GateEvent::Delivered => "gate.delivered",
            GateEvent::Acknowledged => "gate.acknowledged",
            GateEvent::DeliveryFailed { .. } => "gate.delivery_failed",
            GateEvent::NeverDelivered { .. } => "gate.never_delivered",
            GateEvent::Unknown => "gate.unknown",
        }
    }
}

/// The parameters of a gate: the question, the asker, the approvers and the rules for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateSpec {
    /// The id, chosen by the caller, so that a repeated request gives the same gate (idempotency).
    pub id: GateId,
    /// The space it belongs to.
    pub space: SpaceId,
    /// The handle that people use.
    pub handle: String,
    /// The kind of gate.
    pub kind: GateKind,
    /// The task that waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The flow that asks, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowId>,
    /// The first card, which a revision may replace.
    pub card: Card,
    /// The asker and the launcher.
    pub lineage: Lineage,
    /// The approvers whose approval is needed.
    #[serde(default)]
    pub approvers: Approvers,
    /// The minimum proof of identity for a verdict.
    pub least_proof: IdentityProof,
    /// True if the person who launched the asker may not answer.
    #[serde(default)]
    pub launcher_excluded: bool,
    /// The time at which it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The reminders, escalation levels and timeout action.
    #[serde(default, skip_serializing_if = "is_default")]
    pub schedule: GateSchedule,
    /// The people with a veto: their rejection counts, even if their approval does not.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub veto: BTreeSet<String>,
    /// The risk of a wrong decision.
    #[serde(default, skip_serializing_if = "is_default")]
    pub risk: Risk,
    /// The action that is deferred until the approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<DeferredAction>,
    /// The version of the policy that applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Digest>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl GateSpec {
    /// Returns a question without a deadline that any person may answer.
    pub fn new(
        id: GateId,
        space: SpaceId,
        handle: &str,
        kind: GateKind,
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
            least_proof: IdentityProof::Token,
            launcher_excluded: false,
            deadline: None,
            schedule: GateSchedule::default(),
            veto: BTreeSet::new(),
            risk: Risk::default(),
            held: None,
            policy: None,
        }
    }

    /// Returns the digest of everything a verdict is bound to. The approvers are part of it: a verdict given under
    /// one set of rules does not count under another.
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
        // Fields of later versions are included only where they are set, so that older gates keep their digests.
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

/// The signature of an answer: the person, their proof of identity, and the time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerSignature {
    /// The name of the person.
    pub name: String,
    /// The proof of identity given.
    pub proof: IdentityProof,
    /// The assurance level of the place.
    pub level: AssuranceLevel,
    /// The interface that was used.
    pub door: EntryPoint,
    /// The time of the answer.
    pub at: Timestamp,
    /// The people whose votes it includes, as their deputy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stands_for: Vec<String>,
    /// The people who introduced the signer, or those they stood in for, after the gate was asked: with each of these
    /// they count as one person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub let_in_by: Vec<String>,
}

impl AnswerSignature {
    /// Returns the signature of an actor at a time.
    pub fn of(actor: &Actor, at: Timestamp) -> Self {
        let Actor { name, proof, level, door, .. } = actor;
        let (name, stands_for, let_in_by) = (name.clone(), vec![], vec![]);
        Self { name, proof: *proof, level: *level, door: *door, at, stands_for, let_in_by }
    }

    /// The names that may be theirs: their own, and of those who let them in since the gate was asked.
    pub fn names(&self) -> BTreeSet<&str> {
        self.let_in_by.iter().chain([&self.name]).map(String::as_str).collect()
    }

    /// True if this and another signature count as one person: one introduced the other, a third introduced both, or
    /// one introduced the other and delegated their own voice.
    pub fn is_one_with(&self, other: &Self) -> bool {
        let handed_on =
            |from: &Self, to: &Self| from.let_in_by.iter().any(|by| to.stands_for.contains(by));
        !self.names().is_disjoint(&other.names())
            || handed_on(self, other)
            || handed_on(other, self)
    }

    /// Returns all people whose vote it includes, the person among them.
    pub fn represented(&self) -> BTreeSet<&str> {
        self.stands_for.iter().chain([&self.name]).map(String::as_str).collect()
    }
}
