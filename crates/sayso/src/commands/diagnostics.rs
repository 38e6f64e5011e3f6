//! Diagnostics of files: the file, the line, the mistake and the fix, for people and scripts.

use crate::card;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::output::{CliOutput, OutputStyle};
use sayso_core::text::sanitize_line;
use sayso_core::{Code, CommandExit};
use sayso_policy as policy;
use serde::Serialize;

/// The files that were checked, and their mistakes.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Report")]
pub(crate) struct DiagnosticReport {
    /// True if there are no mistakes.
    fine: bool,
    /// The number of files that were checked.
    files: usize,
    /// Everything that is wrong.
    mistakes: Vec<DiagnosticJson>,
}

/// A mistake in a file.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Mistake")]
struct DiagnosticJson {
    /// The path of the file.
    file: String,
    /// The line, counted from 1, if it is known.
    line: Option<u64>,
    /// The mistake, in words.
    what: String,
    /// The fix, in words.
    fix: String,
}

impl DiagnosticReport {
    pub(crate) fn new(files: usize, mistakes: Vec<policy::FileDiagnostic>) -> Self {
        let of = |policy::FileDiagnostic { file, line, what, fix }| DiagnosticJson {
            file,
            line,
            what,
            fix,
        };
        let mistakes: Vec<_> = mistakes.into_iter().map(of).collect();
        Self { fine: mistakes.is_empty(), files, mistakes }
    }

    /// Prints the report, and returns the exit code.
    pub(crate) fn show(&self, context: &CliContext<'_>, code: Code) -> Result<CommandExit> {
        let out = context.out;
        if out.json {
            out.json(self)
        } else {
            self.mistakes.iter().for_each(|mistake| mistake.print(out))
        }
        let files = count(self.files, "file");
        if self.fine {
            if !out.json {
                let tick = out.paint(OutputStyle::Good, out.icon("✓", "ok:"));
                out.line(&format!("{tick} {files}, no mistakes"));
            }
            return Ok(CommandExit::Ok);
        }
        let what = format!("{} in {files}", count(self.mistakes.len(), "mistake"));
        Err(Failure::new(code, what).hint("mend what is named above, and check again"))
    }
}

impl DiagnosticJson {
    fn print(&self, out: &CliOutput) {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let place = out.paint(OutputStyle::Name, &sanitize_line(&format!("{}{line}", self.file)));
        out.line(&format!("{place}: {}", sanitize_line(&self.what)));
        for line in card::indented(out, &self.fix, "    ") {
            out.line(&out.paint(OutputStyle::Faint, &line));
        }
    }
}

/// A count with its noun: `1 file`, `2 files`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}
