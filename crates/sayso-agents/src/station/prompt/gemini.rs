//! The prompt of Gemini CLI 0.61: between two bars, behind `>`, with the cursor in it.

use super::{PaneScreen, PromptState, is_all};

/// In an empty prompt stands this.
const PLACEHOLDER: &str = "Type your message or @path/to/file";

/// Above the prompt while a turn is at work.
const WORKING: &str = "esc to cancel";

/// The bars where it sees few colours.
const LINE_BAR: char = '─';

/// The prompt, and the one where every call runs without a question. That of its shell is another.
const MARKS: [&str; 2] = [">", "*"];

pub(super) fn read(screen: &PaneScreen) -> Option<PromptState> {
    let is_bar = |row: &str, edge| is_all(row, edge) || is_all(row, LINE_BAR);
    let bottom = screen.last_row(screen.rows.len(), |row| is_bar(row, '▀'))?;
    let top = screen.last_row(bottom, |row| is_bar(row, '▄'))?;
    let (column, row) = screen.cursor;
    // What was said before stands between such bars, too.
    if row <= top || row >= bottom {
        return None;
    }
    if screen.has(WORKING) {
        return Some(PromptState::Working);
    }
    let text = screen.rows[top + 1..bottom].join(" ");
    let text = MARKS.iter().find_map(|mark| text.trim_start().strip_prefix(mark))?.trim();
    let is_at_start = (column, row) == (3, top + 1);
    match text {
        "" | PLACEHOLDER => is_at_start.then_some(PromptState::Empty),
        text => Some(PromptState::holding(text)),
    }
}
