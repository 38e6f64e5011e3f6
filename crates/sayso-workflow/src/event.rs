//! The event stream of a flow: read from the log, so that a listener that starts late or in another process misses
//! nothing.

use crate::{AnswerRecord, Inbox, Result};
use sayso_core::flow::{self, FlowEndKind};
use sayso_core::{FlowId, GateId, Timestamp};
use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::time::Duration;

/// The poll interval of the log if no commit wakes us.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// An event of a flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event")]
pub enum WorkflowEvent {
    /// The flow started.
    #[serde(rename = "flow:started")]
    Started {
        /// The phase of the question.
        phase: String,
    },
    /// An agent did its step.
    #[serde(rename = "agent:completed")]
    AgentCompleted {
        /// The phase of the question.
        phase: String,
        /// The index of the item.
        item: u32,
        /// The output of the step.
        output: Value,
    },
    /// A person is asked.
    #[serde(rename = "input:requested")]
    InputRequested {
        /// The id of the question: the gate, or what stands for one.
        id: String,
        /// The phase of the question.
        phase: String,
        /// The index of the item it is about.
        item: u32,
        /// The text of the question.
        prompt: String,
        /// The names of the options.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    },
    /// A question ended, with or without an answer.
    #[serde(rename = "input:received")]
    InputReceived {
        /// The id of the question.
        id: String,
        /// The phase of the question.
        phase: String,
        /// The answer or the other end.
        said: Box<AnswerRecord>,
    },
    /// The flow entered another phase.
    #[serde(rename = "phase:entered")]
    PhaseEntered {
        /// The name of the phase.
        phase: String,
    },
    /// The flow ended.
    #[serde(rename = "flow:ended")]
    Ended {
        /// The way in which it ended.
        how: FlowEndKind,
        /// The reason, in words.
        note: String,
    },
}

impl WorkflowEvent {
    /// Returns the name of the event.
    pub const fn name(&self) -> &'static str {
        match self {
            WorkflowEvent::Started { .. } => "flow:started",
            WorkflowEvent::AgentCompleted { .. } => "agent:completed",
            WorkflowEvent::InputRequested { .. } => "input:requested",
            WorkflowEvent::InputReceived { .. } => "input:received",
            WorkflowEvent::PhaseEntered { .. } => "phase:entered",
            WorkflowEvent::Ended { .. } => "flow:ended",
        }
    }
}

/// Returns the id of a question of a flow: always the same for the same position and item.
pub fn question_id(flow: FlowId, position: u32, item: u32) -> GateId {
    crate::inbox::derived(&format!("{flow}\n{position}\n{item}"))
}

/// The events of a flow in order, from its beginning.
pub struct WorkflowEventStream {
    inbox: Inbox,
    flow: FlowId,
    /// The number of log entries read.
    seen: usize,
    /// The phase and position after them.
    place: (String, u32),
    ready: VecDeque<(Timestamp, WorkflowEvent)>,
    is_over: bool,
}

impl WorkflowEventStream {
    pub(crate) fn new(inbox: Inbox, flow: FlowId) -> Self {
        let (place, ready) = (Default::default(), VecDeque::new());
        Self { inbox, flow, seen: 0, place, ready, is_over: false }
    }

    /// Waits for the next event; none when the flow has ended and all events were returned.
    pub async fn next(&mut self) -> Result<Option<(Timestamp, WorkflowEvent)>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            // Subscribe first, look second: a commit in between wakes us.
            let woken = self.inbox.space_changed().await?;
            self.read().await?;
            if self.ready.is_empty() && !self.is_over {
                let _ = tokio::time::timeout(LOOK_AGAIN, woken).await;
            }
        }
    }

    async fn read(&mut self) -> Result<()> {
        let id = self.flow;
        let history = self.inbox.blocking_on_desk(move |desk, _| desk.flow_history(id)).await?;
        for (at, event) in history.into_iter().skip(self.seen) {
            self.seen += 1;
            for told in self.told(event).await? {
                self.is_over |= matches!(told, WorkflowEvent::Ended { .. });
                self.ready.push_back((at, told));
            }
        }
        Ok(())
    }

    async fn told(&mut self, event: flow::FlowLogEvent) -> Result<Vec<WorkflowEvent>> {
        let (phase, position) = self.place.clone();
        Ok(match event {
            flow::FlowLogEvent::Started(started) => {
                self.place = (started.phase.clone(), 0);
                vec![WorkflowEvent::Started { phase: started.phase }]
            }
            flow::FlowLogEvent::Completed { item, output, .. } => {
                vec![WorkflowEvent::AgentCompleted { phase, item, output }]
            }
            flow::FlowLogEvent::Asked { item, gate } => {
                let asked = self.inbox.blocking_on_desk(move |desk, _| desk.gate(gate)).await?;
                let options = crate::human::options(&asked.card.shape);
                let (id, prompt) = (gate.to_string(), asked.card.question);
                vec![WorkflowEvent::InputRequested { id, phase, item, prompt, options }]
            }
            flow::FlowLogEvent::Heard { item, heard, .. } => {
                let own = question_id(self.flow, position, item);
                let id = heard.gate.unwrap_or(own).to_string();
                let (prompt, options) = (heard.question.clone(), vec![]);
                let asked = heard.gate.is_none().then(|| {
                    let (id, phase) = (id.clone(), phase.clone());
                    WorkflowEvent::InputRequested { id, phase, item, prompt, options }
                });
                let said = Box::new(AnswerRecord::of(item, &heard));
                asked
                    .into_iter()
                    .chain([WorkflowEvent::InputReceived { id, phase, said }])
                    .collect()
            }
            flow::FlowLogEvent::Moved { to, .. } => {
                self.place = (to.clone(), position + 1);
                vec![WorkflowEvent::PhaseEntered { phase: to }]
            }
            flow::FlowLogEvent::Ended { how, note, .. } => vec![WorkflowEvent::Ended { how, note }],
            flow::FlowLogEvent::Taken { .. }
            | flow::FlowLogEvent::Adopted { .. }
            | flow::FlowLogEvent::Kept { .. }
            | flow::FlowLogEvent::Released
            | flow::FlowLogEvent::Stuck { .. }
            | flow::FlowLogEvent::Unknown => vec![],
        })
    }
}
