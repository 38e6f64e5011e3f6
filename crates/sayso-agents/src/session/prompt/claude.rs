//! The prompt of Claude Code 2.1: between two rules, after `❯`, above a line about the mode.

use super::{PaneScreen, PromptState, is_all};

/// The beginnings of the last line below the prompt while only the prompt takes keys.
const FOOTERS: [&str; 3] = ["⏸", "⏵⏵", "? for shortcuts"];

/// The most rows between the prompt and that line, which users can fill.
const FOOTER_ROWS_MAX: usize = 3;

/// The text below the prompt while a turn runs.
const WORKING: &str = "interrupt";

pub(super) fn read(screen: &PaneScreen) -> Option<PromptState> {
    let is_rule = |row: &str| is_all(row, '─');
    let bottom = screen.last_row(screen.rows.len(), is_rule)?;
    let top = screen.last_row(bottom, is_rule)?;
    let footer: Vec<_> = screen.rows[bottom + 1..].iter().filter(|row| !row.is_empty()).collect();
    let last = footer.last()?.trim();
    let is_known = FOOTERS.iter().any(|mark| last.starts_with(mark));
    if !is_known || footer.len() > FOOTER_ROWS_MAX || footer.iter().any(|row| row.contains('❯')) {
        return None;
    }
    if footer.iter().any(|row| row.contains(WORKING)) {
        return Some(PromptState::Working);
    }
    let (column, row) = screen.cursor;
    let (first, rest) = screen.rows[top + 1..bottom].split_first()?;
    let first = first.strip_prefix('❯')?;
    if row <= top || row >= bottom {
        return None;
    }
    let state = PromptState::holding(&[&[first.to_owned()], rest].concat().join(" "));
    let is_at_start = (column, row) == (2, top + 1);
    (state != PromptState::Empty || is_at_start).then_some(state)
}
