//! The event stream of a flow: read from the log, so that a listener that starts late or in another process misses
//! nothing.

use crate::{Inbox, Result, Said};
use sayso_core::flow::{self, How};
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
pub enum Event {
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
        said: Box<Said>,
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
        how: How,
        /// The reason, in words.
        note: String,
    },
}

impl Event {
    /// Returns the name of the event.
    pub const fn name(&self) -> &'static str {
        match self {
            Event::Started { .. } => "flow:started",
            Event::AgentCompleted { .. } => "agent:completed",
            Event::InputRequested { .. } => "input:requested",
            Event::InputReceived { .. } => "input:received",
            Event::PhaseEntered { .. } => "phase:entered",
            Event::Ended { .. } => "flow:ended",
        }
    }
}

/// Returns the id of a question of a flow: always the same for the same position and item.
pub fn question_id(flow: FlowId, position: u32, item: u32) -> GateId {
    crate::inbox::derived(&format!("{flow}\n{position}\n{item}"))
}

/// The events of a flow in order, from its beginning.
pub struct Events {
    inbox: Inbox,
    flow: FlowId,
    /// The number of log entries read.
    seen: usize,
    /// The phase and position after them.
    place: (String, u32),
    ready: VecDeque<(Timestamp, Event)>,
    is_over: bool,
}

impl Events {
    pub(crate) fn new(inbox: Inbox, flow: FlowId) -> Self {
        let (place, ready) = (Default::default(), VecDeque::new());
        Self { inbox, flow, seen: 0, place, ready, is_over: false }
    }

    /// Waits for the next event; none when the flow has ended and all events were returned.
    pub async fn next(&mut self) -> Result<Option<(Timestamp, Event)>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            // Subscribe first, look second: a commit in between wakes us.
            let woken = self.inbox.when_something_happens().await?;
            self.read().await?;
            if self.ready.is_empty() && !self.is_over {
                let _ = tokio::time::timeout(LOOK_AGAIN, woken).await;
            }
        }
    }

    async fn read(&mut self) -> Result<()> {
        let id = self.flow;
        let history = self.inbox.on_desk(move |desk, _| desk.flow_history(id)).await?;
        for (at, event) in history.into_iter().skip(self.seen) {
            self.seen += 1;
            for told in self.told(event).await? {
                self.is_over |= matches!(told, Event::Ended { .. });
                self.ready.push_back((at, told));
            }
        }
        Ok(())
    }

    async fn told(&mut self, event: flow::Event) -> Result<Vec<Event>> {
        let (phase, position) = self.place.clone();
        Ok(match event {
            flow::Event::Started(started) => {
                self.place = (started.phase.clone(), 0);
                vec![Event::Started { phase: started.phase }]
            }
            flow::Event::Completed { item, output, .. } => {
                vec![Event::AgentCompleted { phase, item, output }]
            }
            flow::Event::Asked { item, gate } => {
                let asked = self.inbox.on_desk(move |desk, _| desk.gate(gate)).await?;
                let options = crate::human::options(&asked.card.shape);
                let (id, prompt) = (gate.to_string(), asked.card.question);
                vec![Event::InputRequested { id, phase, item, prompt, options }]
            }
            flow::Event::Heard { item, heard, .. } => {
                let own = question_id(self.flow, position, item);
                let id = heard.gate.unwrap_or(own).to_string();
                let (prompt, options) = (heard.question.clone(), vec![]);
                let asked = heard.gate.is_none().then(|| {
                    let (id, phase) = (id.clone(), phase.clone());
                    Event::InputRequested { id, phase, item, prompt, options }
                });
                let said = Box::new(Said::of(item, &heard));
                asked.into_iter().chain([Event::InputReceived { id, phase, said }]).collect()
            }
            flow::Event::Moved { to, .. } => {
                self.place = (to.clone(), position + 1);
                vec![Event::PhaseEntered { phase: to }]
            }
            flow::Event::Ended { how, note, .. } => vec![Event::Ended { how, note }],
            flow::Event::Taken { .. }
            | flow::Event::Adopted { .. }
            | flow::Event::Kept { .. }
            | flow::Event::LetGo
            | flow::Event::Stuck { .. }
            | flow::Event::Unknown => vec![],
        })
    }
}
