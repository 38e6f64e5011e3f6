//! The interface between the executor and a workflow in any notation. Each method is a function of the flow's state
//! alone, so that a process that resumes after a crash takes the same path.

use crate::{HumanQuestion, Result};
use sayso_core::flow::{Flow, FlowEndKind};
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;

/// The future of a step.
pub type WorkFuture = Pin<Box<dyn Future<Output = WorkOutcome> + Send>>;

/// The result of a step.
#[non_exhaustive]
pub enum WorkOutcome {
    /// It is done, with this output.
    Done(Value),
    /// The agent asks a person before it continues; it is not done.
    Waits,
    /// A person rejected a request of the step, with this reason: it is not done, and not to be done.
    Rejected(String),
    /// It failed, for this reason.
    Failed(String),
    /// The executor was told to stop before it was done: it has not failed, and begins anew.
    Stopped,
}

/// The transition out of a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PhaseTransition {
    /// To another phase.
    To(String),
    /// To an end of the flow.
    End(FlowEndKind, String),
}

/// A workflow, as the executor sees it.
pub(crate) trait ExecutionPlan: Send + Sync {
    /// Returns the name of the workflow.
    fn name(&self) -> &str;
    /// Returns the version of the workflow.
    fn version(&self) -> &str;
    /// True if a flow of that version can continue here.
    fn is_compatible_with(&self, version: &str) -> bool;
    /// True if the workflow has this phase.
    fn has(&self, phase: &str) -> bool;
    /// Returns the number of items of the work; none if the phase has no work.
    fn item_count(&self, flow: &Flow) -> Result<Option<u32>>;
    /// Returns the number of items that may be worked on in parallel.
    fn at_once(&self, flow: &Flow) -> usize;
    /// Begins the work on an item.
    fn work(&self, flow: &Flow, item: u32) -> Result<WorkFuture>;
    /// Returns the number of retries of a failed item.
    fn retries(&self, flow: &Flow) -> u32;
    /// Returns the state when all items are done.
    fn keep(&self, flow: &Flow) -> Result<Value>;
    /// Returns the questions of the phase, and the item of each.
    fn questions(&self, flow: &Flow) -> Result<Vec<(u32, HumanQuestion)>>;
    /// Returns the state when all questions have ended.
    fn hear(&self, flow: &Flow) -> Result<Value>;
    /// Returns the state on leaving the phase, where it differs from that on entering.
    fn leave(&self, _: &Flow) -> Result<Option<Value>> {
        Ok(None)
    }
    /// Returns the transition from here.
    fn transition(&self, flow: &Flow) -> Result<PhaseTransition>;
}
