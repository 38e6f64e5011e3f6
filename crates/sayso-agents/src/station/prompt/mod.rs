//! The prompts of clients: whether a screen shows one that takes a line.
//!
//! It is an allow-list. A client is recognised by what its real versions show; a screen that shows
//! anything else takes nothing. So a menu, a dialog, a turn at work and a version that looks different
//! are all "not now".

mod claude;
mod codex;
mod gemini;
mod line;
mod opencode;

use crate::Adapter;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The narrowest pane that is read: below it clients cut off what tells their states apart.
const COLUMNS_MIN: usize = 60;

/// The kind of prompt an agent has, as settings name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptKind {
    /// None that is known: nothing is ever typed.
    Never,
    /// That of Claude Code.
    ClaudeCode,
    /// That of Codex.
    Codex,
    /// That of Gemini CLI.
    Gemini,
    /// That of opencode.
    Opencode,
    /// A program that reads lines. It shows this text before the cursor while it waits for one, and at
    /// no other time.
    Prompt(String),
}

impl PromptKind {
    /// The kind a program is known to have.
    pub fn of_program(program: &str) -> Self {
        let name = Path::new(program).file_name().unwrap_or_default();
        match Adapter::ALL.into_iter().find(|adapter| name == adapter.program()) {
            Some(Adapter::ClaudeCode) => PromptKind::ClaudeCode,
            Some(Adapter::Codex) => PromptKind::Codex,
            Some(Adapter::Gemini) => PromptKind::Gemini,
            Some(Adapter::Opencode) => PromptKind::Opencode,
            Some(Adapter::Command) | None => PromptKind::Never,
        }
    }

    /// The client, in words.
    pub(super) fn in_words(&self) -> &str {
        match self {
            PromptKind::Never => "an unknown program",
            PromptKind::ClaudeCode => "Claude Code",
            PromptKind::Codex => "Codex",
            PromptKind::Gemini => "Gemini CLI",
            PromptKind::Opencode => "opencode",
            PromptKind::Prompt(_) => "this agent",
        }
    }

    /// The state of a screen.
    pub(super) fn read(&self, screen: &PaneScreen) -> PromptState {
        let is_client = !matches!(self, PromptKind::Prompt(_));
        if is_client && screen.columns < COLUMNS_MIN {
            return PromptState::Unknown;
        }
        let read = match self {
            PromptKind::Never => None,
            PromptKind::ClaudeCode => claude::read(screen),
            PromptKind::Codex => codex::read(screen),
            PromptKind::Gemini => gemini::read(screen),
            PromptKind::Opencode => opencode::read(screen),
            PromptKind::Prompt(text) => line::read(screen, text),
        };
        read.unwrap_or(PromptState::Unknown)
    }
}

/// A screen, as tmux tells it: text without colours, and where the cursor is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PaneScreen {
    /// The rows from the top, without blanks at their ends.
    pub(super) rows: Vec<String>,
    /// The cursor's column and row, from 0.
    pub(super) cursor: (usize, usize),
    /// Whether the program shows the cursor.
    pub(super) shows_cursor: bool,
    /// Whether the program has taken over the whole screen.
    pub(super) is_alternate: bool,
    /// How wide it is.
    pub(super) columns: usize,
}

impl PaneScreen {
    /// The last rows with something on them, for people. Hostile: to be made harmless before it is shown.
    pub(super) fn end(&self, rows_max: usize) -> String {
        let rows: Vec<_> = self.rows.iter().filter(|row| !row.trim().is_empty()).collect();
        let rows: Vec<_> = rows[rows.len().saturating_sub(rows_max)..]
            .iter()
            .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        rows.join(" ⏎ ")
    }

    /// Whether some row has this text.
    fn has(&self, text: &str) -> bool {
        self.rows.iter().any(|row| row.contains(text))
    }

    /// The last row that is this, above a row.
    fn last_row(&self, above: usize, is_it: impl Fn(&str) -> bool) -> Option<usize> {
        self.rows.get(..above)?.iter().rposition(|row| is_it(row))
    }
}

/// The state of the prompt on a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PromptState {
    /// An empty prompt, with nothing going on.
    Empty,
    /// A prompt that holds this text, with nothing going on.
    Holds(String),
    /// A turn is at work.
    Working,
    /// Anything else.
    Unknown,
}

impl PromptState {
    /// Empty or not, by what a prompt holds.
    fn holding(text: &str) -> Self {
        match text.trim() {
            "" => PromptState::Empty,
            text => PromptState::Holds(text.to_owned()),
        }
    }

    /// Whether a prompt holds this line and nothing else. Clients break lines where they like.
    pub(super) fn is_holding(&self, line: &str) -> bool {
        match self {
            PromptState::Holds(held) => squeezed(held) == squeezed(line),
            PromptState::Empty | PromptState::Working | PromptState::Unknown => false,
        }
    }
}

/// Whether a row consists of this character.
fn is_all(row: &str, mark: char) -> bool {
    !row.is_empty() && row.chars().all(|c| c == mark)
}

/// A text without its blanks.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
