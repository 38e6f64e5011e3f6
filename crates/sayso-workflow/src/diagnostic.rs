//! Mistakes in a workflow, found when it is built.

use std::fmt;

/// All mistakes in a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowDiagnostics {
    /// The name of the workflow.
    pub workflow: String,
    /// The mistakes, in order of phases.
    pub mistakes: Vec<WorkflowDiagnostic>,
}

/// A mistake in a workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkflowDiagnostic {
    /// The workflow has no phases.
    #[error("it has no phases")]
    NoPhases,
    /// Two phases have one name.
    #[error("two phases are called {0:?}")]
    Twice(String),
    /// A name that cannot be used.
    #[error("{0:?} is no name: write a few words, without line breaks")]
    BadName(String),
    /// A phase in which nothing happens.
    #[error("phase {0:?} does nothing: give it an agent, or a question")]
    Empty(String),
    /// A branch to a phase that does not exist.
    #[error("phase {from:?} leads to {to:?}, which is not there")]
    Unknown {
        /// The phase with the branch.
        from: String,
        /// The name that does not exist.
        to: String,
    },
    /// A phase that leads nowhere and is not the end.
    #[error("phase {0:?} leads nowhere: say .next(…), .next_by(…) or .terminal()")]
    NoWayOn(String),
    /// A phase from which no end can be reached.
    #[error("from phase {0:?} no end can be reached")]
    NoEnd(String),
    /// A phase that cannot be reached.
    #[error("nothing leads to phase {0:?}")]
    Unreached(String),
    /// A phase asks about each item, and has none.
    #[error(
        "phase {0:?} asks about each piece, and its agent does not work piece by piece: say .agent_for_each(…)"
    )]
    NoPieces(String),
    /// A choice without options.
    #[error("phase {0:?} asks to choose and has no options")]
    NoOptions(String),
    /// Two options have one name.
    #[error("phase {phase:?} has the option {option:?} twice")]
    SameOption {
        /// The name of the phase.
        phase: String,
        /// The name of the option.
        option: String,
    },
}

impl fmt::Display for WorkflowDiagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workflow {:?}", self.workflow)?;
        for mistake in &self.mistakes {
            write!(f, "; {mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for WorkflowDiagnostics {}
