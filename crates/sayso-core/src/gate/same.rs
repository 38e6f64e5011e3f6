//! The same question: which gates a person sees as one card, and in which order cards wait.
//!
//! Nothing here is guessed: two gates ask the same when everything a person reads and everything their
//! answer binds to is equal, character by character.

use super::{Card, Gate, Held, Opened};
use crate::{Digest, GateId, Kind, Risk, Shape, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

impl Gate {
    /// Names what is asked, for a question that others may ask as well. Nothing for what is never the
    /// same as something else.
    pub fn same(&self) -> Option<Digest> {
        self.opened.same(&self.card)
    }
}

impl Opened {
    /// Names what is asked with this card, apart from who asks and when.
    pub(super) fn same(&self, card: &Card) -> Option<Digest> {
        if !may_be_shared(self) {
            return None;
        }
        Some(Digest::of(&json!({
            "space": self.space,
            "kind": self.kind,
            // A yes is leave for one piece of work; what is known is known for all of them.
            "task": self.task.filter(|_| card.shape == Shape::Verdict),
            "card": card,
            "approvers": self.approvers,
            "least_proof": self.least_proof,
            "launcher_excluded": self.launcher_excluded,
            "veto": self.veto,
            "risk": self.risk,
            "policy": self.policy,
        })))
    }
}

/// Only questions are shared. A sign-off is about one piece of work, what is held is done once for each
/// yes, and what is risky is decided each time.
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
        // A question asked through a client's tool holds the call that asks it, and nothing else.
        Some(Held::Call { .. }) | None => false,
    };
    is_question && !holds_a_deed && opened.risk <= Risk::Medium
}

/// What a list knows of an open gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Which gate.
    pub id: GateId,
    /// What is asked, where others may ask it as well.
    pub same: Option<String>,
    /// The task that waits for it.
    pub task: Option<TaskId>,
    /// Who asked.
    pub asker: String,
    /// When it was asked.
    pub opened_at: Timestamp,
    /// Put off until then.
    pub snoozed_until: Option<Timestamp>,
}

/// The gates of one card, and its place among the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InLine {
    /// The gates, oldest first.
    pub gates: Vec<GateId>,
    /// How much work goes on with an answer: tasks, and askers without a task.
    pub unblocks: usize,
    /// Since when it waits.
    pub since: Timestamp,
}

impl InLine {
    /// What unblocks most comes first, then what waits longest. The id decides between equals.
    fn rank(&self) -> (std::cmp::Reverse<usize>, Timestamp, Option<GateId>) {
        (std::cmp::Reverse(self.unblocks), self.since, self.gates.first().copied())
    }
}

/// Open gates as cards, in the order in which they wait. With a moment, cards that are wholly put off
/// until after it are left out.
pub fn in_line(waiting: &[Waiting], awake_at: Option<Timestamp>) -> Vec<InLine> {
    let mut cards: BTreeMap<(Option<&str>, Option<GateId>), Vec<&Waiting>> = BTreeMap::new();
    for gate in waiting {
        let alone = gate.same.is_none().then_some(gate.id);
        cards.entry((gate.same.as_deref(), alone)).or_default().push(gate);
    }
    let is_awake = |gate: &&Waiting| {
        awake_at.is_none_or(|now| gate.snoozed_until.is_none_or(|until| until <= now))
    };
    let shown = cards.into_values().filter(|gates| gates.iter().any(is_awake));
    let mut line: Vec<_> = shown.map(card).collect();
    line.sort_by_key(InLine::rank);
    line
}

fn card(mut gates: Vec<&Waiting>) -> InLine {
    gates.sort_by_key(|gate| (gate.opened_at, gate.id));
    let work = |gate: &&Waiting| match gate.task {
        Some(task) => (Some(task), None),
        None => (None, Some(gate.asker.clone())),
    };
    InLine {
        unblocks: gates.iter().map(work).collect::<BTreeSet<_>>().len(),
        since: gates.first().map_or(Timestamp::from_micros(0), |gate| gate.opened_at),
        gates: gates.into_iter().map(|gate| gate.id).collect(),
    }
}

/// The cards behind the one this gate is in. One that has ended meanwhile stood where a gate alone
/// stands: what it waited with is not known any more, and what is shown twice is better than what is
/// never shown.
pub fn behind(line: Vec<InLine>, last: &Waiting) -> Vec<InLine> {
    let place = line.iter().find(|card| card.gates.contains(&last.id)).map(InLine::rank);
    let place = place.unwrap_or_else(|| card(vec![last]).rank());
    line.into_iter().filter(|card| card.rank() > place).collect()
}
