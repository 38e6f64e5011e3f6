//! Prompt detection: decides from a client's screen if its prompt accepts a line.
//!
//! It is an allow-list. A client is recognised by screens of its real versions; any other screen accepts nothing.
//! So a menu, a dialog, a running turn and a version that looks different are all "not now".

mod claude;
mod codex;
mod gemini;
mod line;
mod opencode;

use crate::AgentAdapter;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The narrowest pane that is read: below it clients cut off the texts that tell their states apart.
const COLUMNS_MIN: usize = 60;

/// The kind of prompt an agent has, as settings name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptKind {
    /// An unknown prompt: no line is ever typed.
    Never,
    ClaudeCode,
    Codex,
    Gemini,
    Opencode,
    /// A program that reads lines. It shows this text before the cursor while it waits for one, and at no other time.
    Prompt(String),
}

impl PromptKind {
    /// Returns the kind of prompt that a program is known to have.
    pub fn of_program(program: &str) -> Self {
        let name = Path::new(program).file_name().unwrap_or_default();
        match AgentAdapter::ALL.into_iter().find(|adapter| name == adapter.program()) {
            Some(AgentAdapter::ClaudeCode) => PromptKind::ClaudeCode,
            Some(AgentAdapter::Codex) => PromptKind::Codex,
            Some(AgentAdapter::Gemini) => PromptKind::Gemini,
            Some(AgentAdapter::Opencode) => PromptKind::Opencode,
            Some(AgentAdapter::Command) | None => PromptKind::Never,
        }
    }

    /// Returns the client's name for messages.
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

    /// Returns the state of the prompt on a screen.
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

/// A screen as tmux reports it: text without colours, and the position of the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PaneScreen {
    /// The rows from the top, without trailing blanks.
    pub(super) rows: Vec<String>,
    /// The cursor's column and row, from 0.
    pub(super) cursor: (usize, usize),
    /// True if the program shows the cursor.
    pub(super) shows_cursor: bool,
    /// True if the program uses the alternate screen.
    pub(super) is_alternate: bool,
    /// The width in characters.
    pub(super) columns: usize,
}

impl PaneScreen {
    /// Returns the last rows that are not blank, for people. Untrusted text: sanitise it before it is shown.
    pub(super) fn end(&self, rows_max: usize) -> String {
        let rows: Vec<_> = self.rows.iter().filter(|row| !row.trim().is_empty()).collect();
        let rows: Vec<_> = rows[rows.len().saturating_sub(rows_max)..]
            .iter()
            .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        rows.join(" ⏎ ")
    }

    /// True if a row contains this text.
    fn has(&self, text: &str) -> bool {
        self.rows.iter().any(|row| row.contains(text))
    }

    /// Returns the last row above a row that meets a condition.
    fn last_row(&self, above: usize, is_it: impl Fn(&str) -> bool) -> Option<usize> {
        self.rows.get(..above)?.iter().rposition(|row| is_it(row))
    }
}

/// The state of the prompt on a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PromptState {
    /// An empty prompt, and no turn runs.
    Empty,
    /// A prompt that holds this text, and no turn runs.
    Holds(String),
    /// A turn is running.
    Working,
    Unknown,
}

impl PromptState {
    /// Returns the state of a prompt with this text.
    fn holding(text: &str) -> Self {
        match text.trim() {
            "" => PromptState::Empty,
            text => PromptState::Holds(text.to_owned()),
        }
    }

    /// True if a prompt holds this line and no other text. Clients wrap lines as they like.
    pub(super) fn is_holding(&self, line: &str) -> bool {
        match self {
            PromptState::Holds(held) => squeezed(held) == squeezed(line),
            PromptState::Empty | PromptState::Working | PromptState::Unknown => false,
        }
    }
}

/// True if a row consists of this character.
fn is_all(row: &str, mark: char) -> bool {
    !row.is_empty() && row.chars().all(|c| c == mark)
}

/// Returns a text without its blanks.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
