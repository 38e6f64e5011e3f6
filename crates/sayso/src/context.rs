//! What every command has at hand: where it works, who asks, how to print.

use crate::cli::Globals;
use crate::config;
use crate::exit::{Failure, Result};
use crate::out::Out;
use crate::reach::{self, How};
use crate::who;
use sayso_core::{Actor, Code};
use sayso_engine::Desk;
use std::io::Read;

/// The most that is read from standard input.
const INPUT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What every command has at hand.
pub(crate) struct Context<'a> {
    pub(crate) globals: Globals,
    pub(crate) out: &'a Out,
}

impl Context<'_> {
    /// The desk of the space this command works in.
    pub(crate) fn desk(&self) -> Result<Desk> {
        let location = config::locate(&self.globals)?;
        let desk = reach::open(&location, How::Usual)?;
        Ok(desk.with_threshold(location.work.threshold))
    }

    /// The desk of a space that may have been deleted, for commands that only look.
    pub(crate) fn kept_desk(&self) -> Result<Desk> {
        let location = config::locate(&self.globals)?;
        reach::open(&location, How::Kept)
    }

    /// The same, and who asks.
    pub(crate) fn sit_down_to_look(&self) -> Result<(Desk, Actor)> {
        let desk = self.kept_desk()?;
        look_at_the_clock(&desk)?;
        let actor = who::actor(&desk)?;
        Ok((desk.seen_by(&actor), actor))
    }

    /// The desk, and who asks.
    pub(crate) fn sit_down(&self) -> Result<(Desk, Actor)> {
        let desk = self.desk()?;
        let actor = who::actor(&desk)?;
        Ok((desk.seen_by(&actor), actor))
    }

    /// The desk, and a person who may give a verdict.
    pub(crate) fn sit_down_as_person(&self) -> Result<(Desk, Actor)> {
        let desk = self.desk()?;
        look_at_the_clock(&desk)?;
        let actor = who::person(self, &desk)?;
        Ok((desk, actor))
    }

    /// The same, where nothing but an answer is asked for.
    pub(crate) fn sit_down_to_answer(&self) -> Result<(Desk, Actor)> {
        let (desk, actor) = self.sit_down_as_person()?;
        who::check_may_answer(&desk, &actor, "answer")?;
        Ok((desk, actor))
    }

    /// A text that was typed, or standard input where a dash stands for it.
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

    /// Words that were typed one after the other, as one text.
    pub(crate) fn words(&self, typed: &[String]) -> Result<String> {
        match typed {
            [only] => self.text(only),
            many => Ok(many.join(" ")),
        }
    }
}

/// Lets happen what is due. There may be no other process that does: whoever comes looks.
fn look_at_the_clock(desk: &Desk) -> Result<()> {
    match desk.fire_due() {
        // Where nothing can be written, one may still look.
        Err(error) if error.code() != Code::ReadOnly => Err(error.into()),
        _ => Ok(()),
    }
}
