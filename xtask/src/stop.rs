//! Why a verb ended early: a text for the person and a code for the shell.

use std::process::ExitCode;

/// What every verb returns.
pub(crate) type Outcome<T = ()> = Result<T, Stop>;

/// The end of a verb that did not succeed.
#[derive(Debug)]
pub(crate) struct Stop {
    /// The exit code of this process.
    pub(crate) code: u8,
    /// What to tell the person; empty when it has been told already.
    pub(crate) text: String,
}

impl Stop {
    /// The command line was wrong.
    pub(crate) fn usage(text: impl Into<String>) -> Stop {
        Stop { code: 2, text: text.into() }
    }

    /// Says why on stderr and gives the code to leave with.
    pub(crate) fn tell(&self) -> ExitCode {
        if !self.text.is_empty() {
            eprintln!("xtask: {}", self.text);
        }
        ExitCode::from(self.code)
    }
}

impl From<String> for Stop {
    fn from(text: String) -> Stop {
        Stop { code: 1, text }
    }
}

impl From<&str> for Stop {
    fn from(text: &str) -> Stop {
        Stop::from(text.to_owned())
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Stop {
        Stop::from(error.to_string())
    }
}

/// Refuses words a verb does not know, so that a mistyped flag is never silently ignored.
pub(crate) fn no_words(verb: &str, words: &[String]) -> Outcome {
    match words.first() {
        None => Ok(()),
        Some(word) => Err(Stop::usage(format!("`{verb}` takes no `{word}`"))),
    }
}
