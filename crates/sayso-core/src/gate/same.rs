//! The same question: which gates a person sees as one card, and in which order cards wait.
//!
//! Nothing here is guessed: two gates ask the same when everything a person reads and everything their
//! answer binds to is equal, character by character.

use super::unblocks::{Behind, Unblocks, unblocks};
use super::{Card, Gate, Held, Opened};
use crate::{Digest, FlowId, GateId, Kind, Risk, Shape, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// So many cards of one asker keep their place in a line.
const FOLD_MAX: usize = 20;

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

    /// What a flow asks is for that flow alone: two flows that ask alike are about different things, and one answer
    /// leads one of them on. A yes is leave for one piece of work, and without a task for whoever asked. What is
    /// known is known for all of them.
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
    /// The flow that is parked on it.
    #[serde(default)]
    pub flow: Option<FlowId>,
}

impl Waiting {
    /// What a list knows of this gate. Which flow is parked on it is not the gate's to say.
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

/// The gates of one card, and its place among the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InLine {
    /// The gates, oldest first.
    pub gates: Vec<GateId>,
    /// The asker of the oldest gate.
    pub asker: String,
    /// How much work goes on with an answer.
    pub unblocks: Unblocks,
    /// Since when it waits.
    pub since: Timestamp,
}

impl InLine {
    /// What unblocks most comes first, then what waits longest. The id decides between equals.
    fn rank(&self) -> (std::cmp::Reverse<usize>, Timestamp, Option<GateId>) {
        (std::cmp::Reverse(self.unblocks.count()), self.since, self.gates.first().copied())
    }
}

/// Open gates as cards, in the order in which they wait. With a moment, cards that are wholly put off
/// until after it are left out.
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

/// These gates as one card.
pub fn one_card(mut gates: Vec<&Waiting>, behind: &Behind) -> InLine {
    gates.sort_by_key(|gate| (gate.opened_at, gate.id));
    InLine {
        unblocks: unblocks(&gates, behind),
        since: gates.first().map_or(Timestamp::from_micros(0), |gate| gate.opened_at),
        asker: gates.first().map(|gate| gate.asker.clone()).unwrap_or_default(),
        gates: gates.into_iter().map(|gate| gate.id).collect(),
    }
}

/// A line in which the many cards of one asker stand behind those of the others: the first ones keep their place, the
/// rest comes last. With `last` it begins behind that card; one that has ended meanwhile is where it would be now.
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

/// The cards behind this one. Of one that has ended meanwhile the gates are given that ended together: it
/// stood where they would stand now, if they still waited.
pub fn behind(line: Vec<InLine>, last: &InLine) -> Vec<InLine> {
    let is_last = |card: &&InLine| last.gates.iter().any(|gate| card.gates.contains(gate));
    let place = line.iter().find(is_last).unwrap_or(last).rank();
    line.into_iter().filter(|card| card.rank() > place).collect()
}
