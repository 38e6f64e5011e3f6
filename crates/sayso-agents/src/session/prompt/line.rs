//! The prompt of a program that reads lines: a text from the settings at the end of the screen.

use super::{PaneScreen, PromptState};

/// The most rows that one long line may span.
const ROWS_MAX: usize = 8;

pub(super) fn read(screen: &PaneScreen, prompt: &str) -> Option<PromptState> {
    // A program that draws the whole screen reads keys and no lines.
    if screen.is_alternate || !screen.shows_cursor {
        return None;
    }
    let (column, row) = screen.cursor;
    let below = screen.rows.get(row + 1..).unwrap_or_default();
    if below.iter().any(|row| !row.is_empty()) {
        return None;
    }
    let current = screen.rows.get(row).map_or("", String::as_str);
    let is_empty = current.trim_end() == prompt.trim_end() && column == prompt.chars().count();
    if is_empty {
        return Some(PromptState::Empty);
    }
    // The line begins at the nearest row that starts with the prompt; a row that is not full ends it.
    let first = row.saturating_sub(ROWS_MAX);
    let is_full = |row: &String| row.chars().count() == screen.columns;
    for start in (first..=row).rev() {
        if start < row && !is_full(screen.rows.get(start)?) {
            return None;
        }
        let text = screen.rows.get(start..=row)?.concat();
        match text.strip_prefix(prompt) {
            Some(text) if start == row || !prompt.is_empty() => {
                return Some(PromptState::holding(text));
            }
            _ => {}
        }
    }
    None
}
