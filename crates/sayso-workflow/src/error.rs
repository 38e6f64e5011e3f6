//! What can go wrong on the way.

use crate::Mistakes;
use sayso_core::Code;
use sayso_core::flow::Flow;

/// The result of anything here.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong. The flow stays as it was, and can be gone on with; only what can never be computed
/// ([`Error::Uncomputed`]) ends it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The desk said no, or could not be reached.
    #[error(transparent)]
    Desk(#[from] sayso_engine::Error),
    /// The workflow has mistakes.
    #[error(transparent)]
    Mistakes(#[from] Mistakes),
    /// An agent did not do its step.
    #[error("flow {flow}, phase {phase:?}: {why}")]
    Step {
        /// What people call the flow.
        flow: String,
        /// Where.
        phase: String,
        /// Why.
        why: String,
    },
    /// Something the workflow says can never be computed: the flow ends as failed.
    #[error("flow {flow}, phase {phase:?}: {why}")]
    Uncomputed {
        /// What people call the flow.
        flow: String,
        /// Where.
        phase: String,
        /// What, where in the file, and why.
        why: String,
    },
    /// A step was stopped before it was done. It is no failure: whoever goes on with the flow begins it anew.
    #[error("flow {flow}, phase {phase:?}: it was stopped")]
    Stopped {
        /// What people call the flow.
        flow: String,
        /// Where.
        phase: String,
    },
    /// A question was refused.
    #[error("flow {flow}, phase {phase:?}: {error}")]
    Asking {
        /// What people call the flow.
        flow: String,
        /// Where.
        phase: String,
        /// Why.
        error: Box<sayso_engine::Error>,
    },
    /// The workflow cannot say what is next.
    #[error("flow {flow}, phase {phase:?}: {why}")]
    Lost {
        /// What people call the flow.
        flow: String,
        /// Where.
        phase: String,
        /// Why.
        why: String,
    },
    /// A flow was begun with another version of its workflow.
    #[error(
        "flow {flow} was begun with version {begun} of {workflow:?}, and this is version {ours}"
    )]
    OtherVersion {
        /// What people call the flow.
        flow: String,
        /// Its workflow.
        workflow: String,
        /// The version it began with.
        begun: String,
        /// The one there is.
        ours: String,
    },
    /// Something cannot be written down, and so could not be kept.
    #[error("{what} cannot be written: {why}")]
    Unwritten {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
    /// What asks people did not work.
    #[error("{by} could not ask: {why}")]
    Handler {
        /// Which.
        by: String,
        /// Why.
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

    /// What the desk said, if it was the desk.
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

    /// Why, for whoever knows which flow and which phase it is about.
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

    /// The stable number.
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

    /// What to do about it, if there is something to say.
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
