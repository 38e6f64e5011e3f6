//! Flows through workflow files: start, resume and drawing. A flow keeps the text it began with, so a later change of
//! the file affects no running flow.

use super::definition::{PhaseWork, WorkflowDefinition};
use super::plan::{FilePlan, StepExecutor, begin};
use crate::executor::{FlowProgress, advance};
use crate::graph::{GraphProgress, WorkflowGraph};
use crate::handler::HumanInput;
use crate::{Error, Inbox, Result};
use sayso_core::flow::{Flow, FlowLogEvent};
use sayso_core::{FlowId, TaskId, Timestamp};
use sayso_engine::NewFlow;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The texts of a workflow, as they are stored with a flow.
#[derive(Serialize, Deserialize)]
struct StoredWorkflow {
    text: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    prompts: BTreeMap<String, String>,
}

/// The parameters of a new flow through a file.
#[derive(Debug, Clone)]
pub struct NewFileFlow {
    /// Its id: starting again with the same id finds the same flow.
    pub id: FlowId,
    /// The subject of the flow, in words.
    pub title: String,
    /// The input values; see [`WorkflowDefinition::input_from`].
    pub input: Map<String, Value>,
    /// The task that its agents work on.
    pub task: Option<TaskId>,
}

impl WorkflowDefinition {
    /// True if agents work in it: then a flow has a task and a worktree.
    pub fn has_agents(&self) -> bool {
        self.phases.iter().any(|phase| matches!(phase.work, PhaseWork::Agent { .. }))
    }

    /// Returns the version, which is derived from the text alone.
    pub fn version(&self) -> String {
        self.digest().as_str().chars().rev().take(12).collect()
    }

    /// Reads the workflow that a flow was started with; none if a program started it.
    pub fn of(flow: &Flow) -> Result<Option<WorkflowDefinition>> {
        let Some(kept) = &flow.started.definition else { return Ok(None) };
        let unread = |why: String| Error::lost(flow, format!("its workflow cannot be read: {why}"));
        let StoredWorkflow { text, prompts } =
            serde_json::from_str(kept).map_err(|e| unread(e.to_string()))?;
        let read = WorkflowDefinition::parse_kept(&flow.started.workflow, &text, &prompts);
        read.map(Some).map_err(|mistakes| {
            unread(mistakes.first().map(ToString::to_string).unwrap_or_default())
        })
    }
}

impl Inbox {
    /// Starts a flow through a workflow file and holds its lease from the beginning, so that another executor that
    /// looks for ready flows does not take it. The flag is false if the flow already existed: then it is only found.
    pub async fn start_file_held(
        &self,
        definition: &WorkflowDefinition,
        new: NewFileFlow,
    ) -> Result<(Flow, bool)> {
        let kept =
            StoredWorkflow { text: definition.text.clone(), prompts: definition.prompts.clone() };
        let kept = serde_json::to_string(&kept)
            .map_err(|e| Error::Unwritten { what: "the workflow".into(), why: e.to_string() })?;
        let new = NewFlow {
            id: new.id,
            workflow: definition.name.clone(),
            version: definition.version(),
            definition: Some(kept),
            title: new.title,
            task: new.task,
            phase: definition.first().name.clone(),
            state: begin(new.input),
            place: self.place(),
        };
        let claim = self.claim(None);
        self.blocking_on_desk(move |desk, asker| desk.lead_flow(asker, new, claim)).await
    }

    /// Advances a flow through a workflow file as far as possible. The crew does the steps. `is_led` is true if we
    /// hold the lease already: see [`Inbox::start_file_held`].
    pub async fn advance_file(
        &self,
        flow: &Flow,
        is_led: bool,
        crew: Arc<dyn StepExecutor>,
        input: &HumanInput,
    ) -> Result<FlowProgress> {
        let Some(definition) = WorkflowDefinition::of(flow)? else {
            return Err(Error::lost(flow, "it was begun by a program, which goes on with it"));
        };
        let version = flow.started.version.clone();
        let filed = FilePlan { definition, version, crew };
        advance(self, Arc::new(filed), flow.started.id, input, is_led.then(|| flow.clone())).await
    }
}

/// Returns the graph of a flow: its workflow, and its present position.
pub fn flow_graph(
    definition: &WorkflowDefinition,
    flow: &Flow,
    history: &[(Timestamp, FlowLogEvent)],
) -> (WorkflowGraph, GraphProgress) {
    let mut done = vec![];
    let mut here = flow.started.phase.clone();
    for (_, event) in history {
        if let FlowLogEvent::Moved { to, .. } = event {
            done.push(std::mem::replace(&mut here, to.clone()));
        }
    }
    let (here, waits) = if flow.is_live() {
        (Some(here), flow.is_waiting())
    } else {
        done.push(here);
        (None, false)
    };
    (WorkflowGraph::from(definition), GraphProgress { done, here, waits })
}
