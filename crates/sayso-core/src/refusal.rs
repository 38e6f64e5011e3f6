//! A refusal: why a command was not accepted. It is an answer to the caller, not a failure.

use crate::Code;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a command was not accepted, worded for the person who will act on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The stable number.
    pub code: Code,
    /// What happened, naming the thing: `gate g7k2 was answered at … by ann`.
    pub message: String,
    /// What to do now.
    pub hint: Option<String>,
}

impl Refusal {
    /// A refusal without a hint.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// The same refusal, with what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether this is about who the caller is. Such refusals are written to the audit.
    pub fn is_about_authority(&self) -> bool {
        matches!(
            self.code,
            Code::NotHuman
                | Code::NoPerson
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
