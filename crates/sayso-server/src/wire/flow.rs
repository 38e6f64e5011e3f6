//! Wire types of flows and their events.

use super::TimeFormatter;
use sayso_core::flow::{Flow as CoreFlow, FlowLogEvent};
use sayso_core::gate::Gate;
use sayso_core::{FlowId, GateId};
use sayso_engine::{FlowHistory, FlowStatusReport};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// One execution of a workflow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Flow")]
pub struct FlowJson {
    /// The full id, a ULID.
    pub id: String,
    /// The short id people type.
    pub handle: String,
    /// The name of the workflow.
    pub workflow: String,
    /// The version of the workflow.
    pub version: String,
    /// The title: what it is about.
    pub title: String,
    /// The full id of the task its agents work on.
    pub task: Option<String>,
    /// The state of the flow. Under way: running (a process runs it), waiting (for people), answered (what it asked
    /// has ended and it was not resumed yet), stuck (the last attempt to resume it failed) or idle (no process runs
    /// it). Over: done, rejected, failed or cancelled. There may be more words later.
    pub standing: String,
    /// The phase it is in, or ended in.
    pub phase: String,
    /// The number of phases it entered before this one.
    pub position: u32,
    /// The full ids of the open gates it waits for: its own, or those of the agent that works for it.
    pub waits_for: Vec<String>,
    /// The data it carries along.
    pub state: Value,
    /// The actor who started it.
    pub started_by: String,
    /// The time at which it was started.
    pub started_at: String,
    /// The time at which it ended.
    pub ended_at: Option<String>,
    /// The reason why it ended, in words.
    pub note: String,
    /// The reason why the last attempt to resume it failed. It can be tried again.
    pub stuck: Option<String>,
}

impl FlowJson {
    /// Converts a flow to its wire form.
    pub fn of(flow: &CoreFlow, stands: &FlowStatusReport, time: TimeFormatter<'_>) -> Self {
        let started = &flow.started;
        Self {
            id: started.id.to_string(),
            handle: started.handle.clone(),
            workflow: started.workflow.clone(),
            version: started.version.clone(),
            title: started.title.clone(),
            task: started.task.map(|task| task.to_string()),
            standing: stands.standing.as_str().into(),
            phase: flow.phase.clone(),
            position: flow.position,
            waits_for: stands.waits.iter().map(|gate| gate.opened.id.to_string()).collect(),
            state: flow.state.clone(),
            started_by: started.launcher.clone(),
            started_at: time(flow.started_at),
            ended_at: flow.ending.as_ref().map(|ending| time(ending.at)),
            note: flow.ending.as_ref().map(|ending| ending.note.clone()).unwrap_or_default(),
            stuck: flow.stuck.as_ref().map(|stuck| stuck.why.clone()),
        }
    }
}

/// A flow with all its events.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FlowDetail {
    /// The fields of the flow.
    #[serde(flatten)]
    pub flow: FlowJson,
    /// The events, in order.
    pub events: Vec<FlowEvent>,
}

/// An event of a flow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FlowEvent {
    /// The time of the event.
    pub at: String,
    /// flow:started, agent:completed, input:requested, input:received, phase:entered, flow:stuck or
    /// flow:ended.
    pub event: String,
    /// The phase it happened in.
    pub phase: String,
    /// The name of the question: the same when it is asked and when it has an outcome.
    pub id: Option<String>,
    /// The full id of the gate, where it was asked through the inbox.
    pub gate: Option<String>,
    /// The piece of the work, where there are several.
    pub item: u32,
    /// The question that is asked.
    pub prompt: Option<String>,
    /// The names of the options there are.
    pub options: Vec<String>,
    /// The output of the step, the answer, the reason why it is stuck, or the ending.
    pub value: Value,
}

/// A function that finds the gate of a question, if it is visible to the caller.
pub type GateFinder<'a> = &'a dyn Fn(GateId) -> Option<Gate>;

impl FlowDetail {
    /// Converts a flow with its history to its wire form.
    pub fn of(
        flow: &CoreFlow,
        stands: &FlowStatusReport,
        history: &FlowHistory,
        gate_of: GateFinder<'_>,
        time: TimeFormatter<'_>,
    ) -> Self {
        let events = events(flow.started.id, history, 0, gate_of, time);
        Self { flow: FlowJson::of(flow, stands, time), events }
    }
}

/// Returns the events of a flow, behind the first `seen`. The process that runs it just now concerns no client.
pub fn events(
    flow: FlowId,
    history: &FlowHistory,
    seen: usize,
    gate_of: GateFinder<'_>,
    time: TimeFormatter<'_>,
) -> Vec<FlowEvent> {
    let (mut place, mut told) = (FlowPosition { flow, phase: String::new(), position: 0 }, vec![]);
    for (at, event) in history {
        place.enter(event);
        let events = place.told(event);
        told.extend(events.into_iter().map(|event| FlowEvent { at: time(*at), ..event }));
    }
    let mut behind = told.split_off(seen.min(told.len()));
    for event in behind.iter_mut().filter(|event| event.event == REQUESTED) {
        let gate = event.gate.as_deref().and_then(|gate| gate.parse().ok()).and_then(gate_of);
        if let Some(Gate { card, .. }) = gate {
            event.options = sayso_workflow::options_of(&card.shape);
            event.prompt = Some(card.question);
        }
    }
    behind
}

const REQUESTED: &str = "input:requested";

/// The position of a flow while its history is converted.
struct FlowPosition {
    flow: FlowId,
    phase: String,
    position: u32,
}

impl FlowPosition {
    fn enter(&mut self, event: &FlowLogEvent) {
        match event {
            FlowLogEvent::Started(started) => self.phase = started.phase.clone(),
            FlowLogEvent::Moved { to, .. } => {
                (self.phase, self.position) = (to.clone(), self.position + 1)
            }
            FlowLogEvent::Completed { .. }
            | FlowLogEvent::Asked { .. }
            | FlowLogEvent::Heard { .. }
            | FlowLogEvent::Ended { .. }
            | FlowLogEvent::Stuck { .. }
            | FlowLogEvent::Taken { .. }
            | FlowLogEvent::Adopted { .. }
            | FlowLogEvent::Kept { .. }
            | FlowLogEvent::Released
            | FlowLogEvent::Unknown => {}
        }
    }

    fn told(&self, event: &FlowLogEvent) -> Vec<FlowEvent> {
        match event {
            FlowLogEvent::Started(_) => vec![self.event("flow:started")],
            FlowLogEvent::Completed { item, output, .. } => {
                let value = output.clone();
                vec![FlowEvent { item: *item, value, ..self.event("agent:completed") }]
            }
            FlowLogEvent::Asked { item, gate } => vec![self.asked(*item, Some(*gate))],
            FlowLogEvent::Heard { item, heard, .. } => {
                let asked = self.asked(*item, heard.gate);
                let value = serde_json::to_value(heard).unwrap_or_default();
                let (id, gate) = (asked.id.clone(), asked.gate.clone());
                let event = self.event("input:received");
                let received = FlowEvent { id, gate, item: *item, value, ..event };
                // A question that the program asked in a way of its own is known when it has an outcome.
                let prompt = Some(heard.question.clone());
                let before = heard.gate.is_none().then_some(FlowEvent { prompt, ..asked });
                before.into_iter().chain([received]).collect()
            }
            FlowLogEvent::Moved { .. } => vec![self.event("phase:entered")],
            FlowLogEvent::Ended { how, .. } => {
                vec![FlowEvent { value: how.as_str().into(), ..self.event("flow:ended") }]
            }
            FlowLogEvent::Stuck { why } => {
                vec![FlowEvent { value: why.as_str().into(), ..self.event("flow:stuck") }]
            }
            FlowLogEvent::Taken { .. }
            | FlowLogEvent::Adopted { .. }
            | FlowLogEvent::Kept { .. }
            | FlowLogEvent::Released
            | FlowLogEvent::Unknown => vec![],
        }
    }

    fn asked(&self, item: u32, gate: Option<GateId>) -> FlowEvent {
        let id =
            gate.unwrap_or_else(|| sayso_workflow::question_id(self.flow, self.position, item));
        let (id, gate) = (Some(id.to_string()), gate.map(|gate| gate.to_string()));
        FlowEvent { id, gate, item, ..self.event(REQUESTED) }
    }

    fn event(&self, name: &str) -> FlowEvent {
        FlowEvent {
            at: String::new(),
            event: name.into(),
            phase: self.phase.clone(),
            id: None,
            gate: None,
            item: 0,
            prompt: None,
            options: vec![],
            value: Value::Null,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use sayso_core::flow::QuestionOutcome;
    use sayso_core::{Answer, Timestamp};

    /// A question that a program asked in a way of its own has a name, too, in the request and in its outcome; and a
    /// client that has some events gets those behind them.
    #[test]
    fn a_request_and_its_answer_have_one_name() {
        let flow = FlowId::mint(Timestamp::from_micros(1), 1);
        let heard = QuestionOutcome {
            gate: None,
            answer: Some(Answer::approved()),
            by: "terminal".into(),
            question: "Ship it?".into(),
            more: false,
            ended: "answered".into(),
        };
        let moved = FlowLogEvent::Moved { to: "ship".into(), state: None };
        let heard = FlowLogEvent::Heard { item: 2, heard: Box::new(heard), state: None };
        let history: FlowHistory =
            [moved, heard].map(|event| (Timestamp::from_micros(2), event)).into();
        let told = |seen| events(flow, &history, seen, &|_| None, &|_| String::new());
        let [entered, asked, received] = told(0).try_into().unwrap();
        assert_eq!((entered.event.as_str(), entered.id), ("phase:entered", None));
        assert_eq!((asked.event.as_str(), asked.prompt.as_deref()), (REQUESTED, Some("Ship it?")));
        let own = sayso_workflow::question_id(flow, 1, 2).to_string();
        assert_eq!((asked.id, received.id), (Some(own.clone()), Some(own)));
        assert_eq!((received.event.as_str(), told(2).len()), ("input:received", 1));
    }
}
