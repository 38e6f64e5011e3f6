//! Failures and exit codes: errors are worded for the person who will act.

use crate::output::CliOutput;
use sayso_core::{Code, CommandExit, Refusal};
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// Anything a command can fail with.
#[derive(Debug, Clone)]
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

impl From<sayso_workflow::Error> for Failure {
    fn from(error: sayso_workflow::Error) -> Self {
        Self { code: error.code(), message: error.to_string(), hint: error.hint() }
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

pub(crate) fn code(exit: CommandExit) -> ExitCode {
    ExitCode::from(exit as u8)
}

/// Prints a failure: code, message, hint. With `--json` the same as data, on stderr: stdout carries only results.
pub(crate) fn failure(failure: &Failure, out: &CliOutput) -> ExitCode {
    let Failure { code, message, hint } = failure;
    if out.json {
        print_json(failure)
    } else {
        out.error(code.as_str(), message, hint.as_deref())
    }
    self::code(code.exit())
}

/// The error that `--json` prints on stderr when a command fails.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Report")]
pub(crate) struct ErrorReport {
    /// The error that occurred.
    error: ErrorDetail,
}

/// An error of a command.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Problem")]
struct ErrorDetail {
    /// Its stable number, such as SAY004; each has a page in docs/errors.
    code: String,
    /// The meaning of the number.
    title: String,
    /// The message, naming the thing.
    message: String,
    /// The next step, if there is one.
    hint: Option<String>,
    /// The exit code of the command.
    exit: u8,
}

fn print_json(failure: &Failure) {
    let Failure { code, message, hint } = failure.clone();
    let (title, exit) = (code.title().into(), code.exit() as u8);
    let error = ErrorDetail { code: code.as_str().into(), title, message, hint, exit };
    let text = serde_json::to_string(&ErrorReport { error }).unwrap_or_default();
    // If the terminal is gone, there is no place left to report that.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Help and version are results; a wrong command line is a usage error. Text that is not UTF-8 has a code of its own,
/// since the shell shows nothing wrong with it.
pub(crate) fn usage(error: &clap::Error, json: bool) -> ExitCode {
    use clap::error::ErrorKind;
    let failure = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            return code(CommandExit::Ok);
        }
        ErrorKind::InvalidUtf8 => Failure::new(Code::InvalidText, "an argument is not UTF-8 text")
            .hint("convert it first, for example with: iconv -t utf-8"),
        _ => Failure::new(Code::BadValue, in_a_line(error)).hint("see: sayso --help"),
    };
    match (json, failure.code) {
        (true, _) => print_json(&failure),
        (false, Code::InvalidText) => {
            let (name, message) = (failure.code.as_str(), &failure.message);
            let hint = failure.hint.as_deref().unwrap_or_default();
            let _ = writeln!(std::io::stderr(), "error[{name}]: {message}\nhint: {hint}");
        }
        (false, _) => drop(error.print()),
    }
    code(failure.code.exit())
}

/// The first paragraph of clap's message.
fn in_a_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let first: Vec<_> = text.lines().take_while(|l| !l.trim().is_empty()).map(str::trim).collect();
    first.join(" ").trim_start_matches("error: ").to_owned()
}
