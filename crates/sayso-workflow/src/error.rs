//! Errors of running a workflow.

use crate::WorkflowDiagnostics;
use sayso_core::Code;
use sayso_core::flow::Flow;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of running a workflow. The flow stays as it was and can be resumed; only an expression that can never be
/// computed ([`Error::Uncomputed`]) ends it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The desk refused the call or could not be reached.
    #[error(transparent)]
    Desk(#[from] sayso_engine::Error),
    /// The workflow has mistakes.
    #[error(transparent)]
    Mistakes(#[from] WorkflowDiagnostics),
    /// An agent or command failed its step.
    #[error("flow {flow}, phase {phase:?}: {why}")]
    Step {
        /// The handle of the flow.
        flow: String,
        /// The phase of the flow.
        phase: String,
        /// The reason, in words.
        why: String,
    },
    /// An expression of the workflow can never be computed: the flow ends as failed.
    #[error("flow {flow}, phase {phase:?}: {why}")]
    Uncomputed {
        /// The handle of the flow.
        flow: String,
        /// The phase of the flow.
        phase: String,
        /// The expression, its place in the file, and the reason.
        why: String,
    },
    /// A step was stopped before it was done. It is no failure: the step begins anew when the flow is resumed.
    #[error("flow {flow}, phase {phase:?}: it was stopped")]
    Stopped {
        /// The handle of the flow.
        flow: String,
        /// The phase of the flow.
        phase: String,
    },
    /// A question was refused by the desk.
    #[error("flow {flow}, phase {phase:?}: {error}")]
    Asking {
        /// The handle of the flow.
        flow: String,
        /// The phase of the flow.
        phase: String,
        /// The refusal or failure.
        error: Box<sayso_engine::Error>,
    },
    /// The workflow cannot determine the next phase.
    #[error("flow {flow}, phase {phase:?}: {why}")]
    Lost {
        /// The handle of the flow.
        flow: String,
        /// The phase of the flow.
        phase: String,
        /// The reason, in words.
        why: String,
    },
    /// A flow was started with another version of its workflow.
    #[error(
        "flow {flow} was begun with version {begun} of {workflow:?}, and this is version {ours}"
    )]
    OtherVersion {
        /// The handle of the flow.
        flow: String,
        /// The name of its workflow.
        workflow: String,
        /// The version with which it was started.
        begun: String,
        /// The version of this program.
        ours: String,
    },
    /// A value cannot be serialized, and so could not be stored.
    #[error("{what} cannot be written: {why}")]
    Unwritten {
        /// The name of the value.
        what: String,
        /// The reason, in words.
        why: String,
    },
    /// A handler failed to ask people.
    #[error("{by} could not ask: {why}")]
    Handler {
        /// The name of the handler.
        by: String,
        /// The reason, in words.
        why: String,
    },
}

impl Error {
    pub(crate) fn lost(flow: &Flow, why: impl Into<String>) -> Self {
        let (name, phase) = (flow.started.handle.clone(), flow.phase.clone());
        Self::Lost { flow: name, phase, why: why.into() }
    }

    pub(crate) fn stopped(flow: &Flow) -> Self {
        Self::Stopped { flow: flow.started.handle.clone(), phase: flow.phase.clone() }
    }

    pub(crate) fn step(flow: &Flow, why: impl Into<String>) -> Self {
        let (name, phase) = (flow.started.handle.clone(), flow.phase.clone());
        Self::Step { flow: name, phase, why: why.into() }
    }

    /// Returns the error of the desk, if it is one.
    pub(crate) fn of_desk(&self) -> Option<&sayso_engine::Error> {
        match self {
            Error::Desk(error) => Some(error),
            Error::Asking { error, .. } => Some(error),
            Error::Mistakes(_)
            | Error::Step { .. }
            | Error::Lost { .. }
            | Error::Uncomputed { .. }
            | Error::Stopped { .. }
            | Error::OtherVersion { .. }
            | Error::Unwritten { .. }
            | Error::Handler { .. } => None,
        }
    }

    /// Returns the reason without the flow and the phase, for readers who know these.
    pub(crate) fn why(&self) -> String {
        if let Some(error) = self.of_desk() {
            return match self.hint() {
                Some(hint) => format!("{error}; {hint}"),
                None => error.to_string(),
            };
        }
        match self {
            Error::Step { why, .. } | Error::Lost { why, .. } | Error::Uncomputed { why, .. } => {
                why.clone()
            }
            Error::Stopped { .. } => "it was stopped".into(),
            Error::Desk(_)
            | Error::Asking { .. }
            | Error::Mistakes(_)
            | Error::OtherVersion { .. }
            | Error::Unwritten { .. }
            | Error::Handler { .. } => self.to_string(),
        }
    }

    /// Returns the stable error code.
    pub fn code(&self) -> Code {
        match self {
            Error::Desk(error) => error.code(),
            Error::Asking { error, .. } => error.code(),
            Error::Mistakes(_) => Code::Invalid,
            Error::Step { .. }
            | Error::Lost { .. }
            | Error::Uncomputed { .. }
            | Error::Stopped { .. }
            | Error::Unwritten { .. }
            | Error::Handler { .. } => Code::Failure,
            Error::OtherVersion { .. } => Code::OtherVersion,
        }
    }

    /// Returns a hint how to solve it, if there is one.
    pub fn hint(&self) -> Option<String> {
        if let Some(sayso_engine::Error::Refused(refusal)) = self.of_desk() {
            return refusal.hint.clone();
        }
        match self {
            Error::Step { .. } | Error::Stopped { .. } => {
                Some("go on with the flow to try that step again".into())
            }
            Error::OtherVersion { begun, .. } => Some(format!(
                "go on with it where version {begun} is, or say .goes_on_from({begun}) if this one can"
            )),
            Error::Desk(_)
            | Error::Asking { .. }
            | Error::Mistakes(_)
            | Error::Lost { .. }
            | Error::Uncomputed { .. }
            | Error::Unwritten { .. }
            | Error::Handler { .. } => None,
        }
    }
}
