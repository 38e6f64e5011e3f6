//! The events of a flow, and the function that folds them into its state.

use super::{
    Flow, FlowEndKind, FlowEnding, FlowHome, FlowLease, FlowSpec, FlowStall, QuestionOutcome,
};
use crate::run::LeaseHolder;
use crate::{GateId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// An event of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum FlowLogEvent {
    /// The flow was started.
    Started(Box<FlowSpec>),
    /// A runner took the lease of the flow.
    Taken {
        /// The fencing number of the lease.
        fence: u64,
        /// The process that holds the lease.
        holder: LeaseHolder,
        /// The time at which the lease expires.
        until: Timestamp,
    },
    /// The flow was taken over from its home, and is run in another place from now on.
    Adopted {
        /// The new home: the place and the actor.
        home: FlowHome,
    },
    /// The holder renewed the lease.
    Kept {
        /// The time at which the lease expires.
        until: Timestamp,
    },
    /// The holder released the lease.
    #[serde(rename = "let_go")]
    Released,
    /// The holder could not continue the flow.
    Stuck {
        /// The reason, as text.
        why: String,
    },
    /// The agent's work on an item returned an output.
    Completed {
        /// The index of the item.
        item: u32,
        /// The output of the item.
        output: Value,
        /// The new state of the flow, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Value>,
    },
    /// A gate was opened for people.
    Asked {
        /// The index of the item.
        item: u32,
        /// The gate with the question.
        gate: GateId,
    },
    /// The outcome of a question was recorded.
    Heard {
        /// The index of the item.
        item: u32,
        /// The outcome of the question.
        heard: Box<QuestionOutcome>,
        /// The new state of the flow, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Value>,
    },
    /// The flow entered another phase.
    Moved {
        /// The name of the phase.
        to: String,
        /// The new state of the flow, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Value>,
    },
    /// The flow ended.
    Ended {
        /// The kind of ending.
        how: FlowEndKind,
        /// The reason, as text.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
        /// The final state of the flow, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Value>,
    },
    /// An event of a later version, which this one ignores.
    #[serde(other)]
    Unknown,
}

impl FlowLogEvent {
    /// Returns the name used in the audit log.
    pub const fn name(&self) -> &'static str {
        match self {
            FlowLogEvent::Started(_) => "flow.started",
            FlowLogEvent::Taken { .. } => "flow.taken",
            FlowLogEvent::Adopted { .. } => "flow.adopted",
            FlowLogEvent::Kept { .. } => "flow.kept",
            FlowLogEvent::Released => "flow.let_go",
            FlowLogEvent::Stuck { .. } => "flow.stuck",
            FlowLogEvent::Completed { .. } => "flow.completed",
            FlowLogEvent::Asked { .. } => "flow.asked",
            FlowLogEvent::Heard { .. } => "flow.heard",
            FlowLogEvent::Moved { .. } => "flow.moved",
            FlowLogEvent::Ended { .. } => "flow.ended",
            FlowLogEvent::Unknown => "flow.unknown",
        }
    }

    /// True if the event concerns only the lease, and not the flow itself.
    pub const fn is_lease_event(&self) -> bool {
        match self {
            FlowLogEvent::Taken { .. }
            | FlowLogEvent::Kept { .. }
            | FlowLogEvent::Released
            | FlowLogEvent::Unknown => true,
            FlowLogEvent::Started(_)
            | FlowLogEvent::Adopted { .. }
            | FlowLogEvent::Stuck { .. }
            | FlowLogEvent::Completed { .. }
            | FlowLogEvent::Asked { .. }
            | FlowLogEvent::Heard { .. }
            | FlowLogEvent::Moved { .. }
            | FlowLogEvent::Ended { .. } => false,
        }
    }
}

/// Folds an event into a flow. Total: an event unknown to this version changes nothing.
pub fn apply(flow: Option<Flow>, event: &FlowLogEvent, at: Timestamp) -> Option<Flow> {
    let Some(mut flow) = flow else {
        return match event {
            FlowLogEvent::Started(started) => Some(begun(started, at)),
            _ => None,
        };
    };
    // A flow ends once.
    if flow.ending.is_some() {
        return Some(flow);
    }
    match event {
        FlowLogEvent::Started(_) | FlowLogEvent::Unknown => {}
        FlowLogEvent::Taken { fence, holder, until } => {
            flow.fence = *fence;
            flow.hold = Some(FlowLease { holder: holder.clone(), until: *until });
            flow.stuck = None;
        }
        FlowLogEvent::Adopted { home } => flow.home = Some(home.clone()),
        FlowLogEvent::Kept { until } => {
            if let Some(hold) = &mut flow.hold {
                hold.until = *until;
            }
        }
        FlowLogEvent::Released => flow.hold = None,
        FlowLogEvent::Stuck { why } => flow.stuck = Some(FlowStall { why: why.clone(), at }),
        FlowLogEvent::Completed { item, output, state } => {
            flow.outputs.insert(*item, output.clone());
            carry(&mut flow, state);
        }
        FlowLogEvent::Asked { item, gate } => {
            flow.asked.insert(*item, *gate);
        }
        FlowLogEvent::Heard { item, heard, state } => {
            flow.heard.insert(*item, (**heard).clone());
            carry(&mut flow, state);
        }
        FlowLogEvent::Moved { to, state } => {
            flow.phase = to.clone();
            flow.position = flow.position.saturating_add(1);
            (flow.outputs, flow.asked, flow.heard) = Default::default();
            carry(&mut flow, state);
        }
        FlowLogEvent::Ended { how, note, state } => {
            carry(&mut flow, state);
            (flow.hold, flow.stuck) = (None, None);
            flow.ending = Some(FlowEnding { how: *how, note: note.clone(), at });
        }
    }
    Some(flow)
}

fn begun(started: &FlowSpec, at: Timestamp) -> Flow {
    let home = started.place.clone().zip(started.launcher_role);
    let home = home.map(|(place, role)| FlowHome { place, name: started.launcher.clone(), role });
    Flow {
        home,
        started: started.clone(),
        started_at: at,
        state: started.state.clone(),
        phase: started.phase.clone(),
        position: 0,
        outputs: BTreeMap::new(),
        asked: BTreeMap::new(),
        heard: BTreeMap::new(),
        fence: 0,
        hold: None,
        stuck: None,
        ending: None,
    }
}

fn carry(flow: &mut Flow, state: &Option<Value>) {
    if let Some(state) = state {
        flow.state = state.clone();
    }
}
