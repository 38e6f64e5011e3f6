//! The prompt of Gemini CLI 0.61: between two bars, after `>`, with the cursor in it.

use super::{PaneScreen, PromptState, is_all};

/// The placeholder of an empty prompt.
const PLACEHOLDER: &str = "Type your message or @path/to/file";

/// The text above the prompt while a turn runs.
const WORKING: &str = "esc to cancel";

/// The character of the bars on a terminal with few colours.
const LINE_BAR: char = '─';

/// The marks of the prompt, and of the one in which every call runs without asking. The shell prompt has another
/// mark.
const MARKS: [&str; 2] = [">", "*"];

pub(super) fn read(screen: &PaneScreen) -> Option<PromptState> {
    let is_bar = |row: &str, edge| is_all(row, edge) || is_all(row, LINE_BAR);
    let bottom = screen.last_row(screen.rows.len(), |row| is_bar(row, '▀'))?;
    let top = screen.last_row(bottom, |row| is_bar(row, '▄'))?;
    let (column, row) = screen.cursor;
    // Earlier messages are between such bars, too.
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
