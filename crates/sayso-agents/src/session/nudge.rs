//! Nudges: typing a line to an agent, in steps that each check the screen first.
//!
//! A first snapshot shows an empty prompt, a second one the same screen, the line is pasted, a snapshot shows
//! exactly that line in the prompt, and only then Enter is pressed. Enter is the key that approves, so no other
//! text is ever entered. A line that could not be entered is left in the prompt: no key that deletes it is safe in
//! a menu, and the next attempt finds it there and continues.

use super::SessionError;
use super::prompt::{PromptKind, PromptState};
use super::tmux::{PaneSnapshot, TmuxServer};
use sayso_core::text::{sanitize_line, shorten};
use std::time::{Duration, Instant};

/// The longest line that is typed: clients show a longer paste as a placeholder, so the line could not be checked.
pub const LINE_CHARS_MAX: usize = 140;

/// The time for which a screen must stay the same: the spinner of a running turn changes faster.
const AT_REST: Duration = Duration::from_millis(400);

/// The longest wait until a client shows a pasted line, and the polling interval.
const SHOWN_WITHIN: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The pause before Enter: many agents treat keys at machine speed as pasted, with the line end.
const BEFORE_ENTER: Duration = Duration::from_millis(150);

/// The most rows of a screen in a report, and the most characters.
const SHOWN_ROWS_MAX: usize = 4;
const SHOWN_CHARS_MAX: usize = 300;

/// The outcome of a nudge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NudgeOutcome {
    /// The line was typed and entered.
    Entered,
    /// The line was not entered; a later attempt may succeed.
    NotNow {
        why: String,
        /// The end of the screen, sanitised. It may hold any text the agent works on.
        screen: String,
    },
    /// No line is ever typed to this agent.
    Never { why: String },
}

/// A nudge in progress.
struct NudgeAttempt<'a> {
    tmux: &'a TmuxServer,
    kind: &'a PromptKind,
    line: &'a str,
    holds_back: &'a mut dyn FnMut() -> Option<String>,
}

pub(super) fn nudge(
    tmux: &TmuxServer,
    kind: &PromptKind,
    text: &str,
    holds_back: &mut dyn FnMut() -> Option<String>,
) -> Result<NudgeOutcome, SessionError> {
    let line = sanitize_line(text);
    let chars = line.chars().count();
    if chars > LINE_CHARS_MAX {
        return Err(SessionError::LongLine { chars });
    }
    if line.trim().is_empty() {
        return Ok(NudgeOutcome::Never { why: "there is nothing to type".into() });
    }
    if *kind == PromptKind::Never {
        let why = "nothing is typed to it: its settings name no prompt (see `nudge` of an agent)";
        return Ok(NudgeOutcome::Never { why: why.into() });
    }
    NudgeAttempt { tmux, kind, line: line.trim(), holds_back }.run()
}

impl NudgeAttempt<'_> {
    fn run(mut self) -> Result<NudgeOutcome, SessionError> {
        let first = self.tmux.look()?;
        let state = match self.at_prompt(&first) {
            Ok(state) => state,
            Err(why) => return Ok(not_now(&first, &why)),
        };
        std::thread::sleep(AT_REST);
        let rested = self.tmux.look()?;
        if rested.screen != first.screen {
            return Ok(not_now(&rested, "its screen changes"));
        }
        if let Some(why) = self.held_back(&rested) {
            return Ok(not_now(&rested, &why));
        }
        if state == PromptState::Empty {
            self.tmux.paste(self.line)?;
        }
        let typed = self.shown()?;
        if !self.has_line(&typed) {
            return Ok(not_now(
                &typed,
                "the line was typed, but its prompt does not hold it alone",
            ));
        }
        std::thread::sleep(BEFORE_ENTER);
        if let Some(why) = (self.holds_back)() {
            return Ok(not_now(&typed, &format!("the line was typed and not entered: {why}")));
        }
        // The last action before Enter is a check.
        let last = self.tmux.look()?;
        if !self.has_line(&last) || self.occupied(&last).is_some() {
            return Ok(not_now(&last, "the line was typed and not entered: its screen changed"));
        }
        self.tmux.enter()?;
        Ok(NudgeOutcome::Entered)
    }

    /// Returns the prompt's state, if it is empty or holds our line from an earlier attempt.
    fn at_prompt(&self, look: &PaneSnapshot) -> Result<PromptState, String> {
        if let Some(why) = self.occupied(look) {
            return Err(why);
        }
        let kind = self.kind.in_words();
        match self.kind.read(&look.screen) {
            PromptState::Empty => Ok(PromptState::Empty),
            state if state.is_holding(self.line) => Ok(state),
            PromptState::Holds(_) => Err("its prompt holds a text that was typed there".into()),
            PromptState::Working => Err(format!("{kind} is at work")),
            PromptState::Unknown => {
                Err(format!("its screen does not show an empty prompt of {kind}"))
            }
        }
    }

    fn held_back(&mut self, look: &PaneSnapshot) -> Option<String> {
        self.occupied(look).or_else(|| (self.holds_back)())
    }

    /// Returns a reason if keys would go to tmux, or mix with those of a person.
    fn occupied(&self, look: &PaneSnapshot) -> Option<String> {
        match () {
            () if look.is_in_mode => Some("a person scrolls in its terminal".into()),
            () if look.has_person() => Some("a person is at its terminal".into()),
            () => None,
        }
    }

    fn has_line(&self, look: &PaneSnapshot) -> bool {
        self.kind.read(&look.screen).is_holding(self.line)
    }

    /// Polls until the line is shown.
    fn shown(&self) -> Result<PaneSnapshot, SessionError> {
        let began = Instant::now();
        loop {
            let look = self.tmux.look()?;
            if self.has_line(&look) || began.elapsed() > SHOWN_WITHIN {
                return Ok(look);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

fn not_now(look: &PaneSnapshot, why: &str) -> NudgeOutcome {
    let screen = shorten(&sanitize_line(&look.screen.end(SHOWN_ROWS_MAX)), SHOWN_CHARS_MAX);
    NudgeOutcome::NotNow { why: why.to_owned(), screen }
}
