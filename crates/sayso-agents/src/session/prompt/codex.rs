//! The prompt of Codex 0.166: after `›`, with the cursor in it, above a line about the model.

use super::{PaneScreen, PromptState};

/// The placeholder of an empty prompt.
const PLACEHOLDER: &str = "Ask Codex to do anything";

/// The text above the prompt while a turn runs.
const WORKING: &str = "esc to interrupt";

/// The separator in the line below the prompt, between the model and the folder.
const FOOTER: &str = " · ";

pub(super) fn read(screen: &PaneScreen) -> Option<PromptState> {
    // Menus hide the cursor, and begin their rows with the same mark.
    if !screen.shows_cursor {
        return None;
    }
    let top = screen.last_row(screen.rows.len(), |row| row.starts_with('›'))?;
    let length = screen.rows[top..].iter().position(|row| row.is_empty())?;
    let bottom = top + length;
    let footer = screen.rows[bottom..].iter().find(|row| !row.is_empty())?;
    let (column, row) = screen.cursor;
    if !footer.contains(FOOTER) || row < top || row >= bottom {
        return None;
    }
    if screen.has(WORKING) {
        return Some(PromptState::Working);
    }
    let text = screen.rows[top..bottom].join(" ");
    let text = text.strip_prefix('›')?.trim();
    let is_at_start = (column, row) == (2, top);
    match text {
        "" | PLACEHOLDER => is_at_start.then_some(PromptState::Empty),
        text => Some(PromptState::holding(text)),
    }
}
