//! Diagnostics of files: the file, the line, the mistake and the fix, for people and scripts.

use crate::card;
use crate::context::Context;
use crate::exit::{Failure, Result};
use crate::out::{Look, Out};
use sayso_core::text::harmless_line;
use sayso_core::{Code, Exit};
use sayso_policy as policy;
use serde::Serialize;

/// The files that were checked, and their mistakes.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct Report {
    /// True if there are no mistakes.
    fine: bool,
    /// The number of files that were checked.
    files: usize,
    /// Everything that is wrong.
    mistakes: Vec<Mistake>,
}

/// A mistake in a file.
#[derive(Serialize, schemars::JsonSchema)]
struct Mistake {
    /// The path of the file.
    file: String,
    /// The line, counted from 1, if it is known.
    line: Option<u64>,
    /// The mistake, in words.
    what: String,
    /// The fix, in words.
    fix: String,
}

impl Report {
    pub(crate) fn new(files: usize, mistakes: Vec<policy::Mistake>) -> Self {
        let of = |policy::Mistake { file, line, what, fix }| Mistake { file, line, what, fix };
        let mistakes: Vec<_> = mistakes.into_iter().map(of).collect();
        Self { fine: mistakes.is_empty(), files, mistakes }
    }

    /// Prints the report, and returns the exit code.
    pub(crate) fn show(&self, context: &Context<'_>, code: Code) -> Result<Exit> {
        let out = context.out;
        match out.json {
            true => out.json(self),
            false => self.mistakes.iter().for_each(|mistake| mistake.print(out)),
        }
        let files = count(self.files, "file");
        if self.fine {
            if !out.json {
                let tick = out.paint(Look::Good, out.icon("✓", "ok:"));
                out.line(&format!("{tick} {files}, no mistakes"));
            }
            return Ok(Exit::Ok);
        }
        let what = format!("{} in {files}", count(self.mistakes.len(), "mistake"));
        Err(Failure::new(code, what).hint("mend what is named above, and check again"))
    }
}

impl Mistake {
    fn print(&self, out: &Out) {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let place = out.paint(Look::Name, &harmless_line(&format!("{}{line}", self.file)));
        out.line(&format!("{place}: {}", harmless_line(&self.what)));
        for line in card::indented(out, &self.fix, "    ") {
            out.line(&out.paint(Look::Faint, &line));
        }
    }
}

/// A count with its noun: `1 file`, `2 files`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}
