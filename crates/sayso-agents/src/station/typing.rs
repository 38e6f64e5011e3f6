//! Typing a line to an agent, in steps that each look first.
//!
//! A look finds an empty prompt, a second look finds the same screen, the line is pasted, a look finds
//! exactly that line in the prompt, and only then Enter is pressed. Enter is the key that approves, so
//! nothing else is ever entered. A line that could not be entered is left where it is: no key that takes
//! it back is safe at a menu, and the next try finds it in the prompt and goes on from there.

use super::StationError;
use super::prompt::{PromptKind, PromptState};
use super::tmux::{PaneLook, Tmux};
use sayso_core::text::{harmless_line, shorten};
use std::time::{Duration, Instant};

/// The longest line that is typed: clients show a longer paste as a mark, and no line can be seen in it.
pub const LINE_CHARS_MAX: usize = 140;

/// A screen that stays the same for so long is at rest: marks of a turn at work move faster.
const AT_REST: Duration = Duration::from_millis(400);

/// How long a client may take to show what was pasted, and how often that is looked at.
const SHOWN_WITHIN: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What comes as fast as a machine types, many agents take for pasted, and the end of the line too.
const BEFORE_ENTER: Duration = Duration::from_millis(150);

/// So many rows of a screen are told, and so many characters of them.
const SHOWN_ROWS_MAX: usize = 4;
const SHOWN_CHARS_MAX: usize = 300;

/// The outcome of a nudge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NudgeOutcome {
    /// The line was typed and entered.
    Entered,
    /// It was not entered. It may be another time.
    NotNow {
        /// The reason.
        why: String,
        /// The end of the screen, made harmless. It may hold anything an agent works on.
        screen: String,
    },
    /// It is never typed to this agent.
    Never {
        /// The reason.
        why: String,
    },
}

/// One nudge under way.
struct Typing<'a> {
    tmux: &'a Tmux,
    kind: &'a PromptKind,
    line: &'a str,
    holds_back: &'a mut dyn FnMut() -> Option<String>,
}

pub(super) fn nudge(
    tmux: &Tmux,
    kind: &PromptKind,
    text: &str,
    holds_back: &mut dyn FnMut() -> Option<String>,
) -> Result<NudgeOutcome, StationError> {
    let line = harmless_line(text);
    let chars = line.chars().count();
    if chars > LINE_CHARS_MAX {
        return Err(StationError::LongLine { chars });
    }
    if line.trim().is_empty() {
        return Ok(NudgeOutcome::Never { why: "there is nothing to type".into() });
    }
    if *kind == PromptKind::Never {
        let why = "nothing is typed to it: its settings name no prompt (see `nudge` of an agent)";
        return Ok(NudgeOutcome::Never { why: why.into() });
    }
    Typing { tmux, kind, line: line.trim(), holds_back }.run()
}

impl Typing<'_> {
    fn run(mut self) -> Result<NudgeOutcome, StationError> {
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
        // The last thing before Enter is a look.
        let last = self.tmux.look()?;
        if !self.has_line(&last) || self.occupied(&last).is_some() {
            return Ok(not_now(&last, "the line was typed and not entered: its screen changed"));
        }
        self.tmux.enter()?;
        Ok(NudgeOutcome::Entered)
    }

    /// The prompt, if it is empty, or holds our line from a try before.
    fn at_prompt(&self, look: &PaneLook) -> Result<PromptState, String> {
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

    fn held_back(&mut self, look: &PaneLook) -> Option<String> {
        self.occupied(look).or_else(|| (self.holds_back)())
    }

    /// Whether keys would go elsewhere, or between those of a person.
    fn occupied(&self, look: &PaneLook) -> Option<String> {
        match () {
            () if look.is_in_mode => Some("a person scrolls in its terminal".into()),
            () if look.has_person() => Some("a person is at its terminal".into()),
            () => None,
        }
    }

    fn has_line(&self, look: &PaneLook) -> bool {
        self.kind.read(&look.screen).is_holding(self.line)
    }

    /// Looks until the line is shown.
    fn shown(&self) -> Result<PaneLook, StationError> {
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

fn not_now(look: &PaneLook, why: &str) -> NudgeOutcome {
    let screen = shorten(&harmless_line(&look.screen.end(SHOWN_ROWS_MAX)), SHOWN_CHARS_MAX);
    NudgeOutcome::NotNow { why: why.to_owned(), screen }
}
