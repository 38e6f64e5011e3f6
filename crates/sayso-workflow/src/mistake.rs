//! What is wrong with a workflow, found when it is built.

use std::fmt;

/// All that is wrong with a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes {
    /// Which workflow.
    pub workflow: String,
    /// What is wrong.
    pub mistakes: Vec<Mistake>,
}

/// Something that is wrong with a workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    /// There is nothing to walk through.
    #[error("it has no phases")]
    NoPhases,
    /// Two phases have one name.
    #[error("two phases are called {0:?}")]
    Twice(String),
    /// A name that cannot be one.
    #[error("{0:?} is no name: write a few words, without line breaks")]
    BadName(String),
    /// A phase in which nothing happens.
    #[error("phase {0:?} does nothing: give it an agent, or a question")]
    Empty(String),
    /// A way to a phase that is not there.
    #[error("phase {from:?} leads to {to:?}, which is not there")]
    Unknown {
        /// From where.
        from: String,
        /// To where.
        to: String,
    },
    /// A phase that leads nowhere and is not the end.
    #[error("phase {0:?} leads nowhere: say .next(…), .next_by(…) or .terminal()")]
    NoWayOn(String),
    /// A phase from which no end can be reached.
    #[error("from phase {0:?} no end can be reached")]
    NoEnd(String),
    /// A phase nobody comes to.
    #[error("nothing leads to phase {0:?}")]
    Unreached(String),
    /// Pieces are asked about, and there are none.
    #[error(
        "phase {0:?} asks about each piece, and its agent does not work piece by piece: say .agent_for_each(…)"
    )]
    NoPieces(String),
    /// A choice between nothing.
    #[error("phase {0:?} asks to choose and has no options")]
    NoOptions(String),
    /// Two options of one name.
    #[error("phase {phase:?} has the option {option:?} twice")]
    SameOption {
        /// Where.
        phase: String,
        /// Which.
        option: String,
    },
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workflow {:?}", self.workflow)?;
        for mistake in &self.mistakes {
            write!(f, "; {mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}
