//! What happens to a flow, as it happens: read from the log, so that whoever listens late or elsewhere misses
//! nothing.

use crate::{Inbox, Result, Said};
use sayso_core::flow::{self, How};
use sayso_core::{FlowId, GateId, Timestamp};
use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::time::Duration;

/// How long is waited before the log is looked at again, if nothing wakes us.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Something that happened to a flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event")]
pub enum Event {
    /// It began.
    #[serde(rename = "flow:started")]
    Started {
        /// In which phase.
        phase: String,
    },
    /// An agent did its step.
    #[serde(rename = "agent:completed")]
    AgentCompleted {
        /// In which phase.
        phase: String,
        /// Which piece.
        item: u32,
        /// What it gave.
        output: Value,
    },
    /// A person is asked.
    #[serde(rename = "input:requested")]
    InputRequested {
        /// The name of the question: the gate, or what stands for one.
        id: String,
        /// In which phase.
        phase: String,
        /// About which piece.
        item: u32,
        /// What.
        prompt: String,
        /// The names of the options.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    },
    /// Something came of it.
    #[serde(rename = "input:received")]
    InputReceived {
        /// The name of the question it is the answer to.
        id: String,
        /// In which phase.
        phase: String,
        /// What was said.
        said: Box<Said>,
    },
    /// It entered another phase.
    #[serde(rename = "phase:entered")]
    PhaseEntered {
        /// Which.
        phase: String,
    },
    /// It ended.
    #[serde(rename = "flow:ended")]
    Ended {
        /// How.
        how: How,
        /// Why, in words.
        note: String,
    },
}

impl Event {
    /// Its name.
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

/// The name of a question of a flow: always the same for the same place in it.
pub fn question_id(flow: FlowId, position: u32, item: u32) -> GateId {
    crate::inbox::derived(&format!("{flow}\n{position}\n{item}"))
}

/// The events of a flow, one after the other, from its beginning.
pub struct Events {
    inbox: Inbox,
    flow: FlowId,
    /// How much of the log was read.
    seen: usize,
    /// Where that ended.
    place: (String, u32),
    ready: VecDeque<(Timestamp, Event)>,
    is_over: bool,
}

impl Events {
    pub(crate) fn new(inbox: Inbox, flow: FlowId) -> Self {
        let (place, ready) = (Default::default(), VecDeque::new());
        Self { inbox, flow, seen: 0, place, ready, is_over: false }
    }

    /// The next one, once it has happened; none when the flow is over and all was told.
    pub async fn next(&mut self) -> Result<Option<(Timestamp, Event)>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            // Listen first, look second: what happens in between wakes, too.
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
