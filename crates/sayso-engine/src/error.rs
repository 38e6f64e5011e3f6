//! The error type of the engine: a refusal (the command was understood and not accepted) or a failure of the store.
//! Both have a stable code and a hint.

use sayso_core::{Code, Refusal};

pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a command was not executed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command was refused.
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("{0}")]
    Store(#[from] sayso_store::Error),
}

impl Error {
    pub const fn code(&self) -> Code {
        match self {
            Error::Refused(refusal) => refusal.code,
            Error::Store(error) => error.code(),
        }
    }

    /// Returns the suggested next action.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::Refused(refusal) => refusal.hint.as_deref(),
            Error::Store(error) => Some(error.hint()),
        }
    }

    /// True if the store could not be reached. A retry may succeed.
    pub const fn is_unreachable(&self) -> bool {
        let Error::Store(error) = self else { return false };
        matches!(error, sayso_store::Error::Unreachable(_) | sayso_store::Error::OutcomeUnknown(_))
    }
}
