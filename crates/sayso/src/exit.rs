//! How the program ends: exit codes, and errors worded for the person who will act.

use crate::out::Out;
use sayso_core::{Code, Exit, Refusal};
use std::process::ExitCode;

/// Anything a command can fail with.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// The result of a command.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<sayso_engine::Error> for Failure {
    fn from(error: sayso_engine::Error) -> Self {
        let hint = error.hint().map(Into::into);
        Self { code: error.code(), message: error.to_string(), hint }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { code: refusal.code, message: refusal.message, hint: refusal.hint }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let code = match error.kind() {
            std::io::ErrorKind::InvalidData => Code::InvalidText,
            std::io::ErrorKind::StorageFull => Code::DiskFull,
            _ => Code::Failure,
        };
        Self::new(code, error.to_string())
    }
}

pub(crate) fn code(exit: Exit) -> ExitCode {
    ExitCode::from(exit as u8)
}

/// Prints a failure: code, what happened, what to do. With `--json` the same as data, on stderr:
/// stdout is only ever a result.
pub(crate) fn failure(failure: &Failure, out: &Out) -> ExitCode {
    let Failure { code, message, hint } = failure;
    if out.json {
        let error = serde_json::json!({
            "error": { "code": code.as_str(), "title": code.title(), "message": message,
                       "hint": hint, "exit": code.exit() as u8 }
        });
        out.talk(&error.to_string());
    } else {
        out.error(code.as_str(), message, hint.as_deref());
    }
    self::code(code.exit())
}

/// Help and version are results; a wrong command line is usage. Text that is not UTF-8 has a code
/// of its own, since the shell shows nothing wrong with it.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // There is nowhere left to report that the terminal is gone.
    let _ = error.print();
    match error.kind() {
        clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion => {
            code(Exit::Ok)
        }
        _ => code(Exit::Usage),
    }
}
