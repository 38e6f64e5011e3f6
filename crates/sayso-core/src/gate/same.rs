//! Deduplication of questions (gates that a person sees as one card), and the order of the cards in the queue.
//!
//! No heuristics: two gates ask the same if everything a person reads and everything the answer is bound to is equal,
//! character by character.

use super::unblocks::{Behind, Unblocks, unblocks};
use super::{Card, Gate, Held, Opened};
use crate::{Digest, FlowId, GateId, Kind, Risk, Shape, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// The number of cards of one asker that keep their place in the queue.
const FOLD_MAX: usize = 20;

impl Gate {
    /// Returns the dedup key of a question that others may ask as well; `None` for a gate that is never shared.
    pub fn same(&self) -> Option<Digest> {
        self.opened.same(&self.card)
    }
}

impl Opened {
    /// Returns the dedup key with this card, which leaves out the asker and the time.
    pub(super) fn same(&self, card: &Card) -> Option<Digest> {
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
            (Shape::Text | Shape::Choice { .. } | Shape::Form { .. }, _) => Value::Null,
            (Shape::Verdict, Some(task)) => json!(task),
            (Shape::Verdict, None) => json!({"asker": self.lineage.asker}),
        }
    }
}

/// True for questions only. A sign-off concerns one piece of work, a deferred action is done once per approval, and a
/// risky decision is made each time.
fn may_be_shared(opened: &Opened) -> bool {
    let is_question = match opened.kind {
        Kind::Input | Kind::Decision | Kind::Escalation => true,
        Kind::Work
        | Kind::Approval
        | Kind::Review
        | Kind::Content
        | Kind::Checkpoint
        | Kind::Tool
        | Kind::Transition
        | Kind::Lifecycle => false,
    };
    let holds_a_deed = match &opened.held {
        Some(Held::Move { .. } | Held::Lifecycle { .. }) => true,
        // A question through a client's tool holds the call that asks it, and nothing else.
        Some(Held::Call { .. }) | None => false,
    };
    is_question && !holds_a_deed && opened.risk <= Risk::Medium
}

/// The fields of an open gate that the queue needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
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

impl Waiting {
    /// Returns the fields of this gate. The flow parked on it is not known to the gate; the caller sets it.
    pub fn of(gate: &Gate) -> Self {
        Self {
            id: gate.opened.id,
            same: gate.same().map(|same| same.to_string()),
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
pub struct InLine {
    /// The gates, oldest first.
    pub gates: Vec<GateId>,
    /// The asker of the oldest gate.
    pub asker: String,
    /// The amount of work that an answer unblocks.
    pub unblocks: Unblocks,
    /// The time at which the oldest gate was opened.
    pub since: Timestamp,
}

impl InLine {
    /// Returns the sort key: first the cards that unblock most, then the oldest. The id decides between equals.
    fn rank(&self) -> (std::cmp::Reverse<usize>, Timestamp, Option<GateId>) {
        (std::cmp::Reverse(self.unblocks.count()), self.since, self.gates.first().copied())
    }
}

/// Returns the open gates as cards, in queue order. With `awake_at`, cards whose gates are all snoozed beyond it are
/// left out.
pub fn in_line(waiting: &[Waiting], behind: &Behind, awake_at: Option<Timestamp>) -> Vec<InLine> {
    let mut cards: BTreeMap<(Option<&str>, Option<GateId>), Vec<&Waiting>> = BTreeMap::new();
    for gate in waiting {
        let alone = gate.same.is_none().then_some(gate.id);
        cards.entry((gate.same.as_deref(), alone)).or_default().push(gate);
    }
    let is_awake = |gate: &&Waiting| {
        awake_at.is_none_or(|now| gate.snoozed_until.is_none_or(|until| until <= now))
    };
    let shown = cards.into_values().filter(|gates| gates.iter().any(is_awake));
    let mut line: Vec<_> = shown.map(|gates| one_card(gates, behind)).collect();
    line.sort_by_key(InLine::rank);
    line
}

/// Returns these gates as one card.
pub fn one_card(mut gates: Vec<&Waiting>, behind: &Behind) -> InLine {
    gates.sort_by_key(|gate| (gate.opened_at, gate.id));
    InLine {
        unblocks: unblocks(&gates, behind),
        since: gates.first().map_or(Timestamp::from_micros(0), |gate| gate.opened_at),
        asker: gates.first().map(|gate| gate.asker.clone()).unwrap_or_default(),
        gates: gates.into_iter().map(|gate| gate.id).collect(),
    }
}

/// Returns a queue in which one asker with many cards does not crowd out the others: its first cards keep their
/// place, the rest comes last. With `last` it begins after that card (pagination); a card that has ended meanwhile
/// counts with the place it would have now.
pub fn folded(mut line: Vec<InLine>, last: Option<&InLine>) -> Vec<InLine> {
    let is_last = |card: &InLine| {
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
pub fn behind(line: Vec<InLine>, last: &InLine) -> Vec<InLine> {
    let is_last = |card: &&InLine| last.gates.iter().any(|gate| card.gates.contains(gate));
    let place = line.iter().find(is_last).unwrap_or(last).rank();
    line.into_iter().filter(|card| card.rank() > place).collect()
}
