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
    /// What of a form does not fit, by the place it stands at. In a box: most refusals have none, and errors
    /// are carried around.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub misfits: Box<[Misfit]>,
    /// How long to wait before the same may be tried again, where time is what is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_secs: Option<u32>,
}

/// Something in a form that does not fit what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misfit {
    /// Where it stands, as a JSON pointer: `/proxy/port`; empty for the form as a whole.
    pub at: String,
    /// What is wrong with it.
    pub words: String,
}

fn is_empty(misfits: &[Misfit]) -> bool {
    misfits.is_empty()
}

impl Refusal {
    /// A refusal without a hint.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let (hint, misfits, wait_secs) = (None, Box::default(), None);
        Self { code, message: message.into(), hint, misfits, wait_secs }
    }

    /// The same refusal, with what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same refusal, of what may be tried again after a while.
    #[must_use]
    pub fn wait(mut self, secs: u32) -> Self {
        self.wait_secs = Some(secs);
        self
    }

    /// Whether this is about who the caller is. Such refusals are written to the audit.
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
