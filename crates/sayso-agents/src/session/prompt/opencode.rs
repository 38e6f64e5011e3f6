//! The prompt of opencode 1.18: right of a bar that ends in `╹`, above the agent and the model.

use super::{PaneScreen, PromptState};

/// The beginning of the placeholder of an empty prompt.
const PLACEHOLDER: &str = "Ask anything…";

/// The text below the prompt while a turn runs.
const WORKING: &str = "interrupt";

/// The separator of agent and model, in the row above the end of the bar. A shell prompt has none.
const LABEL: &str = " · ";

/// The distance of the text from the bar.
const INDENT: usize = 3;

pub(super) fn read(screen: &PaneScreen) -> Option<PromptState> {
    // Its dialogs hide the cursor, or have it themselves.
    if !screen.shows_cursor {
        return None;
    }
    let end = screen.last_row(screen.rows.len(), |row| row.trim_start().starts_with('╹'))?;
    let left = screen.rows[end].chars().position(|c| c == '╹')?;
    let width = screen.rows[end].chars().skip(left + 1).take_while(|c| *c == '▀').count();
    let is_bar = |row: &String| row.chars().nth(left) == Some('┃');
    let above = screen.rows[..end].iter().rev().take_while(|row| is_bar(row)).count();
    let top = end - above;
    // A sidebar may be next to the prompt.
    let inside = |row: &String| row.chars().skip(left + 1).take(width).collect::<String>();
    let rows: Vec<_> = screen.rows[top..end].iter().map(inside).collect();
    let (label, text) = rows.split_last()?;
    let (column, row) = screen.cursor;
    let is_inside = row >= top && row + 1 < end && column > left && column <= left + width;
    if !label.contains(LABEL) || !is_inside {
        return None;
    }
    if screen.rows[end..].iter().any(|row| row.contains(WORKING)) {
        return Some(PromptState::Working);
    }
    let text = text.join(" ");
    let text = text.trim();
    let is_at_start = (column, row) == (left + INDENT, top + 1);
    if text.is_empty() || text.starts_with(PLACEHOLDER) {
        is_at_start.then_some(PromptState::Empty)
    } else {
        Some(PromptState::holding(text))
    }
}
