//! Deduplication of questions (gates that a person sees as one card), and the order of the cards in the queue.
//!
//! No heuristics: two gates ask the same if everything a person reads and everything the answer is bound to is equal,
//! character by character.

use super::unblocks::{TaskDependents, UnblockedWork, unblocks};
use super::{Card, DeferredAction, Gate, GateSpec};
use crate::{AnswerShape, Digest, FlowId, GateId, GateKind, Risk, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// The number of cards of one asker that keep their place in the queue.
const FOLD_MAX: usize = 20;

impl Gate {
    /// Returns the dedup key of a question that others may ask as well; `None` for a gate that is never shared.
    pub fn dedup_key(&self) -> Option<Digest> {
        self.opened.dedup_key(&self.card)
    }
}

impl GateSpec {
    /// Returns the dedup key with this card, which leaves out the asker and the time.
    pub(super) fn dedup_key(&self, card: &Card) -> Option<Digest> {
        if !may_be_shared(self) {
            return None;
        }
        Some(Digest::of(&json!({
            "space": self.space,
            "kind": self.kind,
            "task": self.leave_for(card),
            "card": card,
            "approvers": self.approvers,
            "least_proof": self.least_proof,
            "launcher_excluded": self.launcher_excluded,
            "veto": self.veto,
            "risk": self.risk,
            "policy": self.policy,
        })))
    }

    /// Returns the scope of an answer. Questions of different flows stay separate, because one answer continues one
    /// flow. An approval applies to one task, or without a task to the asker. Information (text, choice, form)
    /// applies to everyone.
    fn leave_for(&self, card: &Card) -> Value {
        if let Some(flow) = self.flow {
            return json!({"flow": flow});
        }
        match (&card.shape, self.task) {
            (AnswerShape::Text | AnswerShape::Choice { .. } | AnswerShape::Form { .. }, _) => {
                Value::Null
            }
            (AnswerShape::Verdict, Some(task)) => json!(task),
            (AnswerShape::Verdict, None) => json!({"asker": self.lineage.asker}),
        }
    }
}

/// True for questions only. A sign-off concerns one piece of work, a deferred action is done once per approval, and a
/// risky decision is made each time.
fn may_be_shared(opened: &GateSpec) -> bool {
    let is_question = match opened.kind {
        GateKind::Input | GateKind::Decision | GateKind::Escalation => true,
        GateKind::Work
        | GateKind::Approval
        | GateKind::Review
        | GateKind::Content
        | GateKind::Checkpoint
        | GateKind::Tool
        | GateKind::Transition
        | GateKind::Lifecycle => false,
    };
    let holds_a_deed = match &opened.held {
        Some(DeferredAction::Move { .. } | DeferredAction::Lifecycle { .. }) => true,
        // A question through a client's tool holds the call that asks it, and nothing else.
        Some(DeferredAction::Call { .. }) | None => false,
    };
    is_question && !holds_a_deed && opened.risk <= Risk::Medium
}

/// The fields of an open gate that the queue needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedGate {
    /// The id of the gate.
    pub id: GateId,
    /// The dedup key, if others may ask the same.
    pub same: Option<String>,
    /// The task that waits for it.
    pub task: Option<TaskId>,
    /// The name of the asker.
    pub asker: String,
    /// The time at which it was opened.
    pub opened_at: Timestamp,
    /// The time until which it is snoozed.
    pub snoozed_until: Option<Timestamp>,
    /// The flow that is parked on it.
    #[serde(default)]
    pub flow: Option<FlowId>,
}

impl QueuedGate {
    /// Returns the fields of this gate. The flow parked on it is not known to the gate; the caller sets it.
    pub fn of(gate: &Gate) -> Self {
        Self {
            id: gate.opened.id,
            same: gate.dedup_key().map(|same| same.to_string()),
            task: gate.opened.task,
            asker: gate.opened.lineage.asker.clone(),
            opened_at: gate.opened_at,
            snoozed_until: gate.snoozed_until,
            flow: None,
        }
    }
}

/// The gates of one card, and its place in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedCard {
    /// The gates, oldest first.
    pub gates: Vec<GateId>,
    /// The asker of the oldest gate.
    pub asker: String,
    /// The amount of work that an answer unblocks.
    pub unblocks: UnblockedWork,
    /// The time at which the oldest gate was opened.
    pub since: Timestamp,
}

impl QueuedCard {
    /// Returns the sort key: first the cards that unblock most, then the oldest. The id decides between equals.
    fn rank(&self) -> (std::cmp::Reverse<usize>, Timestamp, Option<GateId>) {
        (std::cmp::Reverse(self.unblocks.count()), self.since, self.gates.first().copied())
    }
}

/// Returns the open gates as cards, in queue order. With `awake_at`, cards whose gates are all snoozed beyond it are
/// left out.
pub fn queued_cards(
    waiting: &[QueuedGate],
    behind: &TaskDependents,
    awake_at: Option<Timestamp>,
) -> Vec<QueuedCard> {
    let mut cards: BTreeMap<(Option<&str>, Option<GateId>), Vec<&QueuedGate>> = BTreeMap::new();
    for gate in waiting {
        let alone = gate.same.is_none().then_some(gate.id);
        cards.entry((gate.same.as_deref(), alone)).or_default().push(gate);
    }
    let is_awake = |gate: &&QueuedGate| {
        awake_at.is_none_or(|now| gate.snoozed_until.is_none_or(|until| until <= now))
    };
    let shown = cards.into_values().filter(|gates| gates.iter().any(is_awake));
    let mut line: Vec<_> = shown.map(|gates| card_of_gates(gates, behind)).collect();
    line.sort_by_key(QueuedCard::rank);
    line
}

/// Returns these gates as one card.
pub fn card_of_gates(mut gates: Vec<&QueuedGate>, behind: &TaskDependents) -> QueuedCard {
    gates.sort_by_key(|gate| (gate.opened_at, gate.id));
    QueuedCard {
        unblocks: unblocks(&gates, behind),
        since: gates.first().map_or(Timestamp::from_micros(0), |gate| gate.opened_at),
        asker: gates.first().map(|gate| gate.asker.clone()).unwrap_or_default(),
        gates: gates.into_iter().map(|gate| gate.id).collect(),
    }
}

/// Returns a queue in which one asker with many cards does not crowd out the others: its first cards keep their
/// place, the rest comes last. With `last` it begins after that card (pagination); a card that has ended meanwhile
/// counts with the place it would have now.
pub fn limit_per_asker(mut line: Vec<QueuedCard>, last: Option<&QueuedCard>) -> Vec<QueuedCard> {
    let is_last = |card: &QueuedCard| {
        last.is_some_and(|last| last.gates.iter().any(|gate| card.gates.contains(gate)))
    };
    if let Some(last) = last.filter(|_| !line.iter().any(is_last)) {
        let place = line.partition_point(|card| card.rank() < last.rank());
        line.insert(place, last.clone());
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    let (mut line, rest): (Vec<_>, Vec<_>) = line.into_iter().partition(|card| {
        let count = counts.entry(card.asker.clone()).or_default();
        *count += 1;
        *count <= FOLD_MAX
    });
    line.extend(rest);
    match line.iter().position(is_last) {
        Some(place) => line.split_off(place + 1),
        None => line,
    }
}

/// Returns the cards after this one (pagination). For a card that has ended meanwhile, pass the gates that ended
/// together: its place is the one they would have now.
pub fn cards_after(line: Vec<QueuedCard>, last: &QueuedCard) -> Vec<QueuedCard> {
    let is_last = |card: &&QueuedCard| last.gates.iter().any(|gate| card.gates.contains(gate));
    let place = line.iter().find(is_last).unwrap_or(last).rank();
    line.into_iter().filter(|card| card.rank() > place).collect()
}
