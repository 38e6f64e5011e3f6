//! A refusal: the answer to a command that was not accepted. It is a result for the caller, not a failure.

use crate::Code;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A refused command, with a code, a message and a hint for the person who will act on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The error code with its stable number.
    pub code: Code,
    /// The message, which names the object: `gate g7k2 was answered at … by ann`.
    pub message: String,
    /// The next step for the caller.
    pub hint: Option<String>,
    /// The invalid fields of a form. In a box, because most refusals have none and errors should be small.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub misfits: Box<[FieldError]>,
    /// The number of seconds after which a retry may succeed, for rate limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_secs: Option<u32>,
}

/// An invalid field of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldError {
    /// The JSON pointer of the field: `/proxy/port`; empty for the form as a whole.
    pub at: String,
    /// The description of the error.
    pub words: String,
}

fn is_empty(misfits: &[FieldError]) -> bool {
    misfits.is_empty()
}

impl Refusal {
    /// Returns a refusal without a hint.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let (hint, misfits, wait_secs) = (None, Box::default(), None);
        Self { code, message: message.into(), hint, misfits, wait_secs }
    }

    /// Returns the same refusal with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the same refusal with a time to wait before a retry.
    #[must_use]
    pub fn wait(mut self, secs: u32) -> Self {
        self.wait_secs = Some(secs);
        self
    }

    /// True if it concerns permissions or authentication. Such refusals are written to the audit log.
    pub fn is_about_authority(&self) -> bool {
        matches!(
            self.code,
            Code::NotHuman
                | Code::NoPerson
                | Code::PersonInDoubt
                | Code::ProofTooLow
                | Code::NotAnApprover
                | Code::NotAllowed
                | Code::Denied
                | Code::BadToken
                | Code::Passphrase
                | Code::NoTouch
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}
