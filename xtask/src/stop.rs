//! The error type of verbs: a text for the person and a code for the shell.

use std::process::ExitCode;

/// The result of every verb.
pub(crate) type VerbResult<T = ()> = Result<T, VerbError>;

/// The end of a verb that did not succeed.
#[derive(Debug)]
pub(crate) struct VerbError {
    /// The exit code of this process.
    pub(crate) code: u8,
    /// The message for the person; empty when it has been printed already.
    pub(crate) text: String,
}

impl VerbError {
    /// Builds the error for a wrong command line.
    pub(crate) fn usage(text: impl Into<String>) -> VerbError {
        VerbError { code: 2, text: text.into() }
    }

    /// Prints the message on stderr and returns the exit code.
    pub(crate) fn tell(&self) -> ExitCode {
        if !self.text.is_empty() {
            eprintln!("xtask: {}", self.text);
        }
        ExitCode::from(self.code)
    }
}

impl From<String> for VerbError {
    fn from(text: String) -> VerbError {
        VerbError { code: 1, text }
    }
}

impl From<&str> for VerbError {
    fn from(text: &str) -> VerbError {
        VerbError::from(text.to_owned())
    }
}

impl From<std::io::Error> for VerbError {
    fn from(error: std::io::Error) -> VerbError {
        VerbError::from(error.to_string())
    }
}

/// Refuses words a verb does not know, so that a mistyped flag is never silently ignored.
pub(crate) fn no_words(verb: &str, words: &[String]) -> VerbResult {
    match words.first() {
        None => Ok(()),
        Some(word) => Err(VerbError::usage(format!("`{verb}` takes no `{word}`"))),
    }
}
