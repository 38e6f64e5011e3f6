//! The list pane: two lines for each card.

use super::super::keys::shown;
use super::super::state::{InboxListKind, InboxRow, InboxState};
use super::super::style::{StylePainter, TextStyle, fit};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use sayso_core::text::sanitize_line;
use sayso_core::{Risk, Verdict};
use sayso_server::keys::KeyAction;
use sayso_server::text::{
    age, ending_in_words, list_notes, relative, timeout_text, timeout_text_short, unblocks,
};
use unicode_width::UnicodeWidthStr;

/// The height of a row.
pub(super) const ROW_LINES: u16 = 2;

pub(super) fn draw(state: &InboxState, paint: StylePainter, area: Rect, to: &mut Buffer) {
    let shown = state.list.shown();
    if shown.is_empty() {
        let place = Rect { x: area.x + 1, y: area.y + 1, width: area.width - 1, height: 1 };
        for (words, y) in empty(state).into_iter().zip(place.y..) {
            let line = paint.line(TextStyle::Faint, fit(&words, usize::from(place.width)));
            line.render(Rect { y, ..place }, to);
        }
    }
    let room = usize::from(area.height / ROW_LINES);
    for (at, index) in shown.iter().skip(state.list.top).take(room).enumerate() {
        let Some(row) = state.list.rows.get(*index) else { continue };
        let y = area.y + u16::try_from(at).unwrap_or(0) * ROW_LINES;
        let is_here = state.list.cursor == Some(*index);
        let lines = lines(state, row, is_here, paint, usize::from(area.width));
        for (line, y) in lines.into_iter().zip(y..) {
            line.render(Rect { y, height: 1, ..area }, to);
        }
    }
    foot(state, shown.len(), paint, area, to);
}

/// The message of a list without rows.
fn empty(state: &InboxState) -> Vec<String> {
    let list = &state.list;
    match (list.is_loaded, list.filter.is_empty()) {
        (false, _) => return vec!["…".into()],
        (true, false) if list.is_loading => return vec!["Looking further …".into()],
        (true, false) if list.next.is_some() => {
            return vec![format!("None of the first {} has that in it.", list.rows.len())];
        }
        (true, false) => return vec!["No card has that in it.".into()],
        (true, true) => {}
    }
    let groups =
        state.in_groups.filter(|count| count.number > 0 && list.view == InboxListKind::Yours);
    let groups =
        groups.map(|count| format!("{count} in your groups ({})", shown(KeyAction::NextView)));
    [list.view.empty_message().to_owned()].into_iter().chain(groups).collect()
}

/// Draws the line below the rows, if there is room: an alert, or the number of further rows.
fn foot(state: &InboxState, count: usize, paint: StylePainter, area: Rect, to: &mut Buffer) {
    let room = usize::from(area.height / ROW_LINES);
    let below = count.saturating_sub(state.list.top + room);
    let (look, words) = match (state.list.alerts.first(), below) {
        (Some(alert), 0) => (TextStyle::Warn, format!("! {alert}")),
        (None, 0) => return,
        (_, more) => {
            let and_more = if state.list.next.is_some() { "+" } else { "" };
            (TextStyle::Faint, format!("{more}{and_more} more below"))
        }
    };
    // Only below the rows: with an odd number of lines, or with few rows.
    let used = count.saturating_sub(state.list.top).min(room) * usize::from(ROW_LINES);
    if used < usize::from(area.height) {
        let y = area.bottom() - 1;
        let words = fit(&words, usize::from(area.width).saturating_sub(2));
        paint.line(look, format!(" {words}")).render(Rect { y, height: 1, ..area }, to);
    }
}

fn lines(
    state: &InboxState,
    row: &InboxRow,
    is_here: bool,
    paint: StylePainter,
    width: usize,
) -> [Line<'static>; 2] {
    let gate = row.gate();
    let bar = if is_here { "▌" } else { " " };
    let (mark, mark_look) = mark(state, row);
    let head = vec![
        paint.span(TextStyle::Name, bar),
        paint.span(mark_look, mark),
        Span::raw(" "),
        paint.span(TextStyle::Name, gate.handle().to_owned()),
        Span::raw("  "),
    ];
    let used: usize = head.iter().map(Span::width).sum();
    let (first, left) = if gate.is_open() {
        open(state, row, head, paint, width - used)
    } else {
        let words = fit(&ending_in_words(gate), (width - used).saturating_sub(1));
        let words = paint.span(verdict_look(row), words);
        (Line::from_iter(head.into_iter().chain([words])), vec![])
    };
    let risk = if gate.opened.risk > Risk::Medium && gate.is_open() {
        format!("{} risk: ", gate.opened.risk.as_str())
    } else {
        String::new()
    };
    let left: String = left.iter().map(|left| format!("{left}: ")).collect();
    let room = width.saturating_sub(5 + risk.width() + left.width());
    let question = fit(&sanitize_line(&gate.card.question), room);
    let waits = gate.is_open() && !row.is_gone && !row.is_snoozed(state.now);
    let look = match (waits, is_here) {
        (false, _) => TextStyle::Faint,
        (true, true) => TextStyle::Strong,
        (true, false) => TextStyle::Plain,
    };
    let second = Line::from(vec![
        paint.span(TextStyle::Name, bar),
        Span::raw("   "),
        paint.span(TextStyle::Bad, risk),
        paint.span(TextStyle::Warn, left),
        paint.span(look, question),
    ]);
    if is_here {
        [first, second].map(|line| line.patch_style(Modifier::BOLD))
    } else {
        [first, second]
    }
}

/// The row of an open card: its head and question, and at the right its age or the end of its snooze. Returned beside
/// it: the texts that have no room, the deadline, and the tasks it unblocks, which explain its place in the order.
fn open(
    state: &InboxState,
    row: &InboxRow,
    head: Vec<Span<'static>>,
    paint: StylePainter,
    room: usize,
) -> (Line<'static>, Vec<String>) {
    let gate = row.gate();
    let waited = match gate.snoozed_until.filter(|_| row.is_snoozed(state.now)) {
        Some(until) => format!("back {}", relative(until, state.now)),
        None => relative(gate.opened_at, state.now),
    };
    let room = room.saturating_sub(waited.width() + 2);
    let mut about = vec![gate.opened.kind.as_str().to_owned()];
    let askers = row.asked.askers.len();
    if askers > 1 {
        about.push(format!("{askers} ask this"));
    }
    let unblocks = unblocks(&row.asked);
    about.extend(unblocks.clone());
    if row.is_gone && !row.is_snoozed(state.now) {
        about.push("waits for others".into());
    }
    about.extend(list_notes(gate, state.now));
    // A text that does not fit whole is on the card.
    while about.len() > 1 && about.join(" · ").width() > room {
        about.pop();
    }
    let is_told = timeout_text(gate, state.now).is_some_and(|silence| about.contains(&silence));
    let silence = timeout_text_short(gate, state.now).filter(|_| !is_told);
    let unblocks = unblocks.filter(|unblocks| !about.contains(unblocks));
    let left = silence.into_iter().chain(unblocks).collect();
    let about = fit(&about.join(" · "), room);
    let gap = " ".repeat(room.saturating_sub(about.width()) + 1);
    let tail = [
        paint.span(TextStyle::Faint, about),
        Span::raw(gap),
        paint.span(age(gate.opened_at, state.now).into(), waited),
    ];
    (Line::from_iter(head.into_iter().chain(tail)), left)
}

/// The mark of a row: marked, being sent, ended, snoozed, or new to this person.
fn mark(state: &InboxState, row: &InboxRow) -> (&'static str, TextStyle) {
    let is_new = row.asked.askers.iter().any(|asker| !asker.is_seen);
    match row.gate().is_open() {
        true if state.marks.contains_key(&row.id()) => ("x", TextStyle::Warn),
        true if state.is_pending(row.id()) => ("»", TextStyle::Warn),
        true if row.is_snoozed(state.now) => ("h", TextStyle::Faint),
        true if is_new => ("●", TextStyle::Name),
        true => (" ", TextStyle::Plain),
        false => match row.gate().verdict() {
            Some(Verdict::Approved | Verdict::Answered) => ("✓", TextStyle::Good),
            Some(Verdict::Rejected) => ("✗", TextStyle::Bad),
            None => ("–", TextStyle::Faint),
        },
    }
}

fn verdict_look(row: &InboxRow) -> TextStyle {
    match row.gate().verdict() {
        Some(Verdict::Approved | Verdict::Answered) => TextStyle::Good,
        Some(Verdict::Rejected) => TextStyle::Bad,
        None => TextStyle::Faint,
    }
}
