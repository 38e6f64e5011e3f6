//! What can happen to a flow, and what becomes of it.

use super::{Ending, Flow, FlowHome, Heard, Hold, How, Started, Stuck};
use crate::run::Holder;
use crate::{GateId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What can happen to a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// It began.
    Started(Box<Started>),
    /// Somebody took it.
    Taken {
        /// The number they hold it under.
        fence: u64,
        /// Who.
        holder: Holder,
        /// Until when.
        until: Timestamp,
    },
    /// It was taken over from its home, and goes on elsewhere from now on.
    Adopted {
        /// Where, and by whom.
        home: FlowHome,
    },
    /// They are still at it.
    Kept {
        /// Until when.
        until: Timestamp,
    },
    /// They let it go.
    LetGo,
    /// They could not go on.
    Stuck {
        /// Why, in words.
        why: String,
    },
    /// The agent's work gave something.
    Completed {
        /// Which piece of it.
        item: u32,
        /// What it gave.
        output: Value,
        /// What the flow carries along from now on, if that changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Value>,
    },
    /// People were asked.
    Asked {
        /// About which piece.
        item: u32,
        /// At which gate.
        gate: GateId,
    },
    /// Something came of that.
    Heard {
        /// About which piece.
        item: u32,
        /// What.
        heard: Box<Heard>,
        /// What the flow carries along from now on, if that changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Value>,
    },
    /// It entered another phase.
    Moved {
        /// Which.
        to: String,
        /// What the flow carries along from now on, if that changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Value>,
    },
    /// It ended.
    Ended {
        /// How.
        how: How,
        /// Why, in words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
        /// What it carried along at its end, if that changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Value>,
    },
    /// Written by a later version; it says nothing to this one.
    #[serde(other)]
    Unknown,
}

impl Event {
    /// Its name, as it stands in the audit.
    pub const fn name(&self) -> &'static str {
        match self {
            Event::Started(_) => "flow.started",
            Event::Taken { .. } => "flow.taken",
            Event::Adopted { .. } => "flow.adopted",
            Event::Kept { .. } => "flow.kept",
            Event::LetGo => "flow.let_go",
            Event::Stuck { .. } => "flow.stuck",
            Event::Completed { .. } => "flow.completed",
            Event::Asked { .. } => "flow.asked",
            Event::Heard { .. } => "flow.heard",
            Event::Moved { .. } => "flow.moved",
            Event::Ended { .. } => "flow.ended",
            Event::Unknown => "flow.unknown",
        }
    }

    /// Whether it only says who goes on with the flow, and nothing of the flow itself.
    pub const fn is_about_holding(&self) -> bool {
        match self {
            Event::Taken { .. } | Event::Kept { .. } | Event::LetGo | Event::Unknown => true,
            Event::Started(_)
            | Event::Adopted { .. }
            | Event::Stuck { .. }
            | Event::Completed { .. }
            | Event::Asked { .. }
            | Event::Heard { .. }
            | Event::Moved { .. }
            | Event::Ended { .. } => false,
        }
    }
}

/// Folds an event into a flow. Total: an event that says nothing to this version changes nothing.
pub fn apply(flow: Option<Flow>, event: &Event, at: Timestamp) -> Option<Flow> {
    let Some(mut flow) = flow else {
        return match event {
            Event::Started(started) => Some(begun(started, at)),
            _ => None,
        };
    };
    // A flow ends once.
    if flow.ending.is_some() {
        return Some(flow);
    }
    match event {
        Event::Started(_) | Event::Unknown => {}
        Event::Taken { fence, holder, until } => {
            flow.fence = *fence;
            flow.hold = Some(Hold { holder: holder.clone(), until: *until });
            flow.stuck = None;
        }
        Event::Adopted { home } => flow.home = Some(home.clone()),
        Event::Kept { until } => {
            if let Some(hold) = &mut flow.hold {
                hold.until = *until;
            }
        }
        Event::LetGo => flow.hold = None,
        Event::Stuck { why } => flow.stuck = Some(Stuck { why: why.clone(), at }),
        Event::Completed { item, output, state } => {
            flow.outputs.insert(*item, output.clone());
            carry(&mut flow, state);
        }
        Event::Asked { item, gate } => {
            flow.asked.insert(*item, *gate);
        }
        Event::Heard { item, heard, state } => {
            flow.heard.insert(*item, (**heard).clone());
            carry(&mut flow, state);
        }
        Event::Moved { to, state } => {
            flow.phase = to.clone();
            flow.position = flow.position.saturating_add(1);
            (flow.outputs, flow.asked, flow.heard) = Default::default();
            carry(&mut flow, state);
        }
        Event::Ended { how, note, state } => {
            carry(&mut flow, state);
            (flow.hold, flow.stuck) = (None, None);
            flow.ending = Some(Ending { how: *how, note: note.clone(), at });
        }
    }
    Some(flow)
}

fn begun(started: &Started, at: Timestamp) -> Flow {
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
