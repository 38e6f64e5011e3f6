//! Flows on the wire.

use super::Clock;
use sayso_core::flow::{Event, Flow as CoreFlow};
use sayso_engine::FlowHistory;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// One walk through a workflow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Flow {
    /// The full id, a ULID.
    pub id: String,
    /// What people call it.
    pub handle: String,
    /// The name of the workflow.
    pub workflow: String,
    /// Which version of it.
    pub version: String,
    /// What it is about.
    pub title: String,
    /// The full id of the task its agents work on.
    pub task: Option<String>,
    /// running, waiting, done, rejected, failed or cancelled.
    pub standing: String,
    /// The phase it is in, or ended in.
    pub phase: String,
    /// How many phases it entered before this one.
    pub position: u32,
    /// The full ids of the gates it waits for.
    pub waits_for: Vec<String>,
    /// What it carries along.
    pub state: Value,
    /// Who started it.
    pub started_by: String,
    /// When.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// Why it ended, in words.
    pub note: String,
    /// Why it did not go on when somebody last tried. It can be tried again.
    pub stuck: Option<String>,
}

impl Flow {
    /// A flow on the wire.
    pub fn of(flow: &CoreFlow, time: Clock<'_>) -> Self {
        let started = &flow.started;
        Self {
            id: started.id.to_string(),
            handle: started.handle.clone(),
            workflow: started.workflow.clone(),
            version: started.version.clone(),
            title: started.title.clone(),
            task: started.task.map(|task| task.to_string()),
            standing: flow.standing().into(),
            phase: flow.phase.clone(),
            position: flow.position,
            waits_for: flow.waits_for().map(|(_, gate)| gate.to_string()).collect(),
            state: flow.state.clone(),
            started_by: started.launcher.clone(),
            started_at: time(flow.started_at),
            ended_at: flow.ending.as_ref().map(|ending| time(ending.at)),
            note: flow.ending.as_ref().map(|ending| ending.note.clone()).unwrap_or_default(),
            stuck: flow.stuck.as_ref().map(|stuck| stuck.why.clone()),
        }
    }
}

/// A flow with everything that happened to it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FlowDetail {
    /// The flow.
    #[serde(flatten)]
    pub flow: Flow,
    /// What happened, in order.
    pub events: Vec<FlowEvent>,
}

/// Something that happened to a flow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FlowEvent {
    /// When.
    pub at: String,
    /// flow:started, agent:completed, input:requested, input:received, phase:entered, flow:stuck or
    /// flow:ended.
    pub event: String,
    /// The phase it happened in.
    pub phase: String,
    /// The question it is about: the full id of the gate.
    pub gate: Option<String>,
    /// Which piece of the work, where there are several.
    pub item: u32,
    /// What the step gave, what was said, why it did not go on, or how it ended.
    pub value: Value,
}

impl FlowDetail {
    /// A flow with its history on the wire.
    pub fn of(flow: &CoreFlow, history: &FlowHistory, time: Clock<'_>) -> Self {
        Self { flow: Flow::of(flow, time), events: events(history, time) }
    }
}

/// What happened to a flow. Who goes on with it just now is nobody else's business.
pub fn events(history: &FlowHistory, time: Clock<'_>) -> Vec<FlowEvent> {
    let mut phase = String::new();
    let mut told = vec![];
    for (at, event) in history {
        match event {
            Event::Started(started) => phase = started.phase.clone(),
            Event::Moved { to, .. } => phase = to.clone(),
            _ => {}
        }
        let (name, gate, item, value) = match event {
            Event::Started(_) => ("flow:started", None, 0, Value::Null),
            Event::Completed { item, output, .. } => {
                ("agent:completed", None, *item, output.clone())
            }
            Event::Asked { item, gate } => ("input:requested", Some(*gate), *item, Value::Null),
            Event::Heard { item, heard, .. } => {
                let said = serde_json::to_value(heard).unwrap_or_default();
                ("input:received", heard.gate, *item, said)
            }
            Event::Moved { .. } => ("phase:entered", None, 0, Value::Null),
            Event::Ended { how, .. } => ("flow:ended", None, 0, how.as_str().into()),
            Event::Stuck { why } => ("flow:stuck", None, 0, why.as_str().into()),
            Event::Taken { .. } | Event::Kept { .. } | Event::LetGo | Event::Unknown => continue,
        };
        let (at, gate) = (time(*at), gate.map(|gate| gate.to_string()));
        told.push(FlowEvent { at, event: name.into(), phase: phase.clone(), gate, item, value });
    }
    told
}
