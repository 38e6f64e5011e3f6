//! A workflow in Rust: phases by name, validated as a whole before a flow runs.

use crate::phase::{PhaseBody, PhaseNext, PhaseOutputs, read};
use crate::plan::{ExecutionPlan, PhaseTransition, WorkFuture, WorkOutcome};
use crate::{
    AnswerRecord, Error, FlowState, HumanQuestion, Phase, Result, WorkflowDiagnostic,
    WorkflowDiagnostics,
};
use sayso_core::flow::{Flow, FlowEndKind, QuestionOutcome};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A workflow over a state `S`. Clones share it.
pub struct Workflow<S> {
    pub(crate) inner: Arc<WorkflowParts<S>>,
}

impl<S> Clone for Workflow<S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

/// A builder of a workflow.
pub struct WorkflowBuilder<S>(WorkflowParts<S>);

pub(crate) struct WorkflowParts<S> {
    name: String,
    version: String,
    compatible_versions: BTreeSet<String>,
    phases: Vec<PhaseBody<S>>,
}

impl<S> Workflow<S> {
    /// Begins a workflow. Increase the version when existing flows could not continue with it.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(name: impl Into<String>, version: u32) -> WorkflowBuilder<S> {
        let (name, version) = (name.into(), version.to_string());
        WorkflowBuilder(WorkflowParts {
            name,
            version,
            compatible_versions: BTreeSet::new(),
            phases: vec![],
        })
    }

    /// Returns the name of the workflow.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the names of its phases, in their order.
    pub fn phases(&self) -> impl Iterator<Item = &str> {
        self.inner.phases.iter().map(|phase| phase.name.as_str())
    }

    pub(crate) fn first(&self) -> &str {
        self.inner.phases.first().map_or("", |phase| phase.name.as_str())
    }
}

impl<S> WorkflowBuilder<S> {
    /// Adds a phase. A flow begins with the first.
    #[must_use]
    pub fn phase<O>(mut self, phase: Phase<S, O>) -> Self {
        self.0.phases.push(phase.body);
        self
    }

    /// Declares that flows of an earlier version can continue with this one: their state can be read, and the phases
    /// they may be in still exist.
    #[must_use]
    pub fn is_compatible_with(mut self, version: u32) -> Self {
        self.0.compatible_versions.insert(version.to_string());
        self
    }

    /// Returns the workflow, or all of its mistakes at once.
    pub fn build(self) -> std::result::Result<Workflow<S>, WorkflowDiagnostics> {
        let mistakes = self.0.mistakes();
        if mistakes.is_empty() {
            Ok(Workflow { inner: Arc::new(self.0) })
        } else {
            Err(WorkflowDiagnostics { workflow: self.0.name, mistakes })
        }
    }
}

impl<S> WorkflowParts<S> {
    fn mistakes(&self) -> Vec<WorkflowDiagnostic> {
        let mut mistakes = vec![];
        if self.name.trim().is_empty() || self.name.chars().any(char::is_control) {
            mistakes.push(WorkflowDiagnostic::BadName(self.name.clone()));
        }
        let Some(first) = self.phases.first() else {
            mistakes.push(WorkflowDiagnostic::NoPhases);
            return mistakes;
        };
        let mut names = BTreeSet::new();
        for phase in &self.phases {
            if !names.insert(phase.name.as_str()) {
                mistakes.push(WorkflowDiagnostic::Twice(phase.name.clone()));
            }
            mistakes.extend(phase.mistakes());
        }
        for phase in &self.phases {
            let unknown = phase.targets().into_iter().filter(|to| !names.contains(to));
            let unknown: BTreeSet<_> = unknown.collect();
            mistakes.extend(unknown.iter().map(|to| WorkflowDiagnostic::Unknown {
                from: phase.name.clone(),
                to: (*to).into(),
            }));
        }
        let reached = self.reached(&first.name);
        let unreached = names.iter().filter(|name| !reached.contains(*name));
        mistakes.extend(unreached.map(|name| WorkflowDiagnostic::Unreached((*name).into())));
        // Any other mistake would make each of these a dead end, too.
        if mistakes.is_empty() {
            let is_dead = |phase: &&PhaseBody<S>| {
                let ahead = self.reached(&phase.name);
                !self.phases.iter().any(|p| ahead.contains(p.name.as_str()) && p.is_end())
            };
            let dead = self.phases.iter().filter(is_dead);
            mistakes.extend(dead.map(|phase| WorkflowDiagnostic::NoEnd(phase.name.clone())));
        }
        mistakes
    }

    /// Returns all phases that can be reached from one, itself included.
    fn reached<'a>(&'a self, from: &'a str) -> BTreeSet<&'a str> {
        let (mut reached, mut ahead) = (BTreeSet::new(), vec![from]);
        while let Some(name) = ahead.pop() {
            if reached.insert(name) {
                let found = self.phases.iter().filter(|phase| phase.name == name);
                ahead.extend(found.flat_map(PhaseBody::targets));
            }
        }
        reached
    }
}

impl<S> PhaseBody<S> {
    fn is_end(&self) -> bool {
        matches!(self.next, PhaseNext::End)
    }

    fn outputs<'a>(&self, flow: &'a Flow) -> PhaseOutputs<'a> {
        PhaseOutputs::of(flow, self.items.is_some())
    }
}

impl<S> WorkflowParts<S>
where
    S: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    fn at(&self, flow: &Flow) -> Result<&PhaseBody<S>> {
        let found = self.phases.iter().find(|phase| phase.name == flow.phase);
        found.ok_or_else(|| Error::lost(flow, "this version of the workflow has no such phase"))
    }

    fn state(&self, flow: &Flow) -> Result<FlowState<S>> {
        read(flow, "its state", flow.state.clone())
    }

    /// Returns the state on leaving a phase. If it may ask and asked no question, the answer of an earlier phase is
    /// cleared: it is no answer to this one.
    fn leaving(&self, flow: &Flow) -> Result<FlowState<S>> {
        let (phase, mut state) = (self.at(flow)?, self.state(flow)?);
        if phase.ask.is_some() && flow.heard.is_empty() {
            state.hear(vec![]);
        }
        Ok(state)
    }

    fn write(&self, flow: &Flow, state: &FlowState<S>) -> Result<Value> {
        serde_json::to_value(state)
            .map_err(|e| Error::lost(flow, format!("its state cannot be written: {e}")))
    }
}

impl<S> ExecutionPlan for WorkflowParts<S>
where
    S: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn is_compatible_with(&self, version: &str) -> bool {
        self.version == version || self.compatible_versions.contains(version)
    }

    fn has(&self, phase: &str) -> bool {
        self.phases.iter().any(|known| known.name == phase)
    }

    fn item_count(&self, flow: &Flow) -> Result<Option<u32>> {
        let phase = self.at(flow)?;
        if phase.agent.is_none() {
            return Ok(None);
        }
        let Some(items) = &phase.items else { return Ok(Some(1)) };
        let count = items(&self.state(flow)?.data);
        Ok(Some(u32::try_from(count).unwrap_or(u32::MAX)))
    }

    fn at_once(&self, flow: &Flow) -> usize {
        self.at(flow).map_or(1, |phase| phase.at_once)
    }

    fn work(&self, flow: &Flow, item: u32) -> Result<WorkFuture> {
        let phase = self.at(flow)?;
        let agent = phase.agent.as_ref().ok_or_else(|| Error::lost(flow, "it has no agent"))?;
        let work = agent(self.state(flow)?, item);
        Ok(Box::pin(async move {
            match work.await {
                Ok(output) => WorkOutcome::Done(output),
                Err(why) => WorkOutcome::Failed(why),
            }
        }))
    }

    fn retries(&self, flow: &Flow) -> u32 {
        self.at(flow).map_or(0, |phase| phase.retries)
    }

    fn keep(&self, flow: &Flow) -> Result<Value> {
        let (phase, mut state) = (self.at(flow)?, self.state(flow)?);
        if let Some(keep) = &phase.keep {
            keep(&mut state.data, &phase.outputs(flow))?;
        }
        self.write(flow, &state)
    }

    fn questions(&self, flow: &Flow) -> Result<Vec<(u32, HumanQuestion)>> {
        let (phase, state) = (self.at(flow)?, self.state(flow)?);
        let Some(ask) = &phase.ask else { return Ok(vec![]) };
        let asks = ask(&state, &phase.outputs(flow))?;
        let mistake = asks.iter().find_map(|(_, human)| human.mistake(&phase.name));
        match mistake {
            Some(mistake) => Err(Error::lost(flow, mistake.to_string())),
            None => Ok(asks),
        }
    }

    fn hear(&self, flow: &Flow) -> Result<Value> {
        let (phase, mut state) = (self.at(flow)?, self.state(flow)?);
        let said: Vec<_> =
            flow.heard.iter().map(|(item, heard)| AnswerRecord::of(*item, heard)).collect();
        if let Some(hear) = &phase.hear {
            said.iter().for_each(|said| hear(&mut state.data, said));
        }
        state.hear(said);
        self.write(flow, &state)
    }

    fn leave(&self, flow: &Flow) -> Result<Option<Value>> {
        Ok(Some(self.write(flow, &self.leaving(flow)?)?))
    }

    fn transition(&self, flow: &Flow) -> Result<PhaseTransition> {
        let (phase, state) = (self.at(flow)?, self.leaving(flow)?);
        let is_silent = flow.heard.values().any(|heard| heard.answer.is_none());
        let is_no = flow.heard.values().any(QuestionOutcome::is_rejected);
        match (&phase.next, &phase.on_silence, &phase.on_reject) {
            (_, Some(to), _) if is_silent => Ok(PhaseTransition::To(to.clone())),
            (_, None, _) if is_silent => {
                let why = format!("the question in {:?} ended without an answer", phase.name);
                Ok(PhaseTransition::End(FlowEndKind::Failed, why))
            }
            (_, _, Some(to)) if is_no => Ok(PhaseTransition::To(to.clone())),
            (PhaseNext::By(names, route), _, _) => {
                let to = route(&state, &phase.outputs(flow))?;
                if names.contains(&to) {
                    Ok(PhaseTransition::To(to))
                } else {
                    Err(Error::lost(
                        flow,
                        format!("it leads to {to:?}, which it did not say it might"),
                    ))
                }
            }
            // A no never continues by itself.
            (PhaseNext::To(_) | PhaseNext::End | PhaseNext::Unsaid, _, None) if is_no => {
                Ok(PhaseTransition::End(FlowEndKind::Rejected, rejected(flow, &phase.name)))
            }
            (PhaseNext::To(to), _, _) => Ok(PhaseTransition::To(to.clone())),
            (PhaseNext::End | PhaseNext::Unsaid, _, _) => {
                Ok(PhaseTransition::End(FlowEndKind::Done, String::new()))
            }
        }
    }
}

/// Describes a rejection: the person, the phase and the comment.
pub(crate) fn rejected(flow: &Flow, phase: &str) -> String {
    let no = flow.heard.values().find(|heard| heard.is_rejected());
    let by = no.map_or("", |heard| heard.by.as_str());
    let reason =
        no.and_then(|heard| heard.answer.as_ref()).and_then(|answer| answer.reason.clone());
    match reason {
        Some(reason) => format!("{by} said no in {phase:?}: {reason}"),
        None => format!("{by} said no in {phase:?}"),
    }
}
