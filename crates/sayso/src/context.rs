//! The context of a command: global options, output, and access to the desk with the acting identity.

use crate::cli::GlobalArgs;
use crate::config;
use crate::exit::{Failure, Result};
use crate::identity;
use crate::open_desk::{self, DeskPurpose};
use crate::output::CliOutput;
use sayso_core::{Actor, Code};
use sayso_engine::Desk;
use std::io::Read;

/// The most bytes read from standard input.
const INPUT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The context of a running command.
pub(crate) struct CliContext<'a> {
    pub(crate) globals: GlobalArgs,
    pub(crate) out: &'a CliOutput,
}

impl CliContext<'_> {
    /// Opens the desk of the space this command works in.
    pub(crate) fn desk(&self) -> Result<Desk> {
        let location = config::locate(&self.globals)?;
        let desk = open_desk::open(&location, DeskPurpose::Usual)?;
        Ok(desk.with_threshold(location.work.threshold))
    }

    /// Opens the desk of a space that may have been deleted, for commands that only read.
    pub(crate) fn desk_read_only(&self) -> Result<Desk> {
        let location = config::locate(&self.globals)?;
        open_desk::open(&location, DeskPurpose::Kept)
    }

    /// Opens a desk for reading, also of a deleted space, and identifies the caller.
    pub(crate) fn open_read_only(&self) -> Result<(Desk, Actor)> {
        let desk = self.desk_read_only()?;
        fire_due_timers(&desk)?;
        let actor = identity::actor(&desk)?;
        Ok((desk.as_reader(&actor), actor))
    }

    /// Opens the desk and identifies the caller.
    pub(crate) fn open(&self) -> Result<(Desk, Actor)> {
        let desk = self.desk()?;
        let actor = identity::actor(&desk)?;
        Ok((desk.as_reader(&actor), actor))
    }

    /// Opens the desk and identifies a person who may give a verdict.
    pub(crate) fn open_as_person(&self) -> Result<(Desk, Actor)> {
        let desk = self.desk()?;
        fire_due_timers(&desk)?;
        let actor = identity::person(self, &desk)?;
        Ok((desk, actor))
    }

    /// Opens the desk and identifies a person, and checks that they may answer.
    pub(crate) fn open_to_answer(&self) -> Result<(Desk, Actor)> {
        let (desk, actor) = self.open_as_person()?;
        identity::check_may_answer(&desk, &actor, "answer")?;
        Ok((desk, actor))
    }

    /// A text from the command line, or standard input where a dash stands for it.
    pub(crate) fn text(&self, typed: &str) -> Result<String> {
        if typed != "-" {
            return Ok(typed.to_owned());
        }
        let mut bytes = vec![];
        std::io::stdin().lock().take(INPUT_BYTES_MAX).read_to_end(&mut bytes)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Failure::new(Code::InvalidText, "standard input is not UTF-8 text")
                .hint("convert it first, for example with: iconv -t utf-8")
        })?;
        Ok(text.trim_end().to_owned())
    }

    /// Joins words from the command line to one text.
    pub(crate) fn words(&self, typed: &[String]) -> Result<String> {
        match typed {
            [only] => self.text(only),
            many => Ok(many.join(" ")),
        }
    }
}

/// Fires due timers. There may be no other process that does, so commands that read the space or act as a person do
/// it first.
fn fire_due_timers(desk: &Desk) -> Result<()> {
    match desk.fire_due() {
        // A read-only store may still be read.
        Err(error) if error.code() != Code::ReadOnly => Err(error.into()),
        _ => Ok(()),
    }
}
