//! A refusal is an answer, a failure is the world's. Both reach the caller with a code and a hint.

use sayso_core::{Code, Refusal};

/// The result of anything the desk does.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a command did not go through.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It was not accepted.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] sayso_store::Error),
}

impl Error {
    /// Its stable number.
    pub const fn code(&self) -> Code {
        match self {
            Error::Refused(refusal) => refusal.code,
            Error::Store(error) => error.code(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::Refused(refusal) => refusal.hint.as_deref(),
            Error::Store(error) => Some(error.hint()),
        }
    }

    /// Whether nobody was there to ask. That may be otherwise a moment later.
    pub const fn is_unreachable(&self) -> bool {
        let Error::Store(error) = self else { return false };
        matches!(error, sayso_store::Error::Unreachable(_) | sayso_store::Error::OutcomeUnknown(_))
    }
}
