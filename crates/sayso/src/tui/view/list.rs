//! The list pane: two lines for each card.

use super::super::keys::shown;
use super::super::paint::{Look, Paint, fit};
use super::super::state::{Row, State, View};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use sayso_core::text::harmless_line;
use sayso_core::{Risk, Verdict};
use sayso_server::keys::Action;
use sayso_server::prose::{
    age, ending_in_words, hurry, relative, silence, silence_in_short, unblocks,
};
use unicode_width::UnicodeWidthStr;

/// The height of a row.
pub(super) const ROW_LINES: u16 = 2;

pub(super) fn draw(state: &State, paint: Paint, area: Rect, to: &mut Buffer) {
    let shown = state.list.shown();
    if shown.is_empty() {
        let place = Rect { x: area.x + 1, y: area.y + 1, width: area.width - 1, height: 1 };
        for (words, y) in empty(state).into_iter().zip(place.y..) {
            let line = paint.line(Look::Faint, fit(&words, usize::from(place.width)));
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
fn empty(state: &State) -> Vec<String> {
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
    let groups = state.in_groups.filter(|count| count.number > 0 && list.view == View::Yours);
    let groups =
        groups.map(|count| format!("{count} in your groups ({})", shown(Action::NextView)));
    [list.view.is_empty().to_owned()].into_iter().chain(groups).collect()
}

/// Draws the line below the rows, if there is room: an alert, or the number of further rows.
fn foot(state: &State, count: usize, paint: Paint, area: Rect, to: &mut Buffer) {
    let room = usize::from(area.height / ROW_LINES);
    let below = count.saturating_sub(state.list.top + room);
    let (look, words) = match (state.list.alerts.first(), below) {
        (Some(alert), 0) => (Look::Warn, format!("! {alert}")),
        (None, 0) => return,
        (_, more) => {
            let and_more = if state.list.next.is_some() { "+" } else { "" };
            (Look::Faint, format!("{more}{and_more} more below"))
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
    state: &State,
    row: &Row,
    is_here: bool,
    paint: Paint,
    width: usize,
) -> [Line<'static>; 2] {
    let gate = row.gate();
    let bar = if is_here { "▌" } else { " " };
    let (mark, mark_look) = mark(state, row);
    let head = vec![
        paint.span(Look::Name, bar),
        paint.span(mark_look, mark),
        Span::raw(" "),
        paint.span(Look::Name, gate.handle().to_owned()),
        Span::raw("  "),
    ];
    let used: usize = head.iter().map(Span::width).sum();
    let (first, left) = match gate.is_open() {
        true => open(state, row, head, paint, width - used),
        false => {
            let words = fit(&ending_in_words(gate), (width - used).saturating_sub(1));
            let words = paint.span(verdict_look(row), words);
            (Line::from_iter(head.into_iter().chain([words])), vec![])
        }
    };
    let risk = match gate.opened.risk > Risk::Medium && gate.is_open() {
        true => format!("{} risk: ", gate.opened.risk.as_str()),
        false => String::new(),
    };
    let left: String = left.iter().map(|left| format!("{left}: ")).collect();
    let room = width.saturating_sub(5 + risk.width() + left.width());
    let question = fit(&harmless_line(&gate.card.question), room);
    let waits = gate.is_open() && !row.is_gone && !row.is_put_off(state.now);
    let look = match (waits, is_here) {
        (false, _) => Look::Faint,
        (true, true) => Look::Strong,
        (true, false) => Look::Plain,
    };
    let second = Line::from(vec![
        paint.span(Look::Name, bar),
        Span::raw("   "),
        paint.span(Look::Bad, risk),
        paint.span(Look::Warn, left),
        paint.span(look, question),
    ]);
    match is_here {
        true => [first, second].map(|line| line.patch_style(Modifier::BOLD)),
        false => [first, second],
    }
}

/// The row of an open card: its head and question, and at the right its age or the end of its snooze. Returned beside
/// it: the texts that have no room, the deadline, and the tasks it unblocks, which explain its place in the order.
fn open(
    state: &State,
    row: &Row,
    head: Vec<Span<'static>>,
    paint: Paint,
    room: usize,
) -> (Line<'static>, Vec<String>) {
    let gate = row.gate();
    let waited = match gate.snoozed_until.filter(|_| row.is_put_off(state.now)) {
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
    if row.is_gone && !row.is_put_off(state.now) {
        about.push("waits for others".into());
    }
    about.extend(hurry(gate, state.now));
    // A text that does not fit whole is on the card.
    while about.len() > 1 && about.join(" · ").width() > room {
        about.pop();
    }
    let is_told = silence(gate, state.now).is_some_and(|silence| about.contains(&silence));
    let silence = silence_in_short(gate, state.now).filter(|_| !is_told);
    let unblocks = unblocks.filter(|unblocks| !about.contains(unblocks));
    let left = silence.into_iter().chain(unblocks).collect();
    let about = fit(&about.join(" · "), room);
    let gap = " ".repeat(room.saturating_sub(about.width()) + 1);
    let tail = [
        paint.span(Look::Faint, about),
        Span::raw(gap),
        paint.span(age(gate.opened_at, state.now).into(), waited),
    ];
    (Line::from_iter(head.into_iter().chain(tail)), left)
}

/// The mark of a row: marked, being sent, ended, snoozed, or new to this person.
fn mark(state: &State, row: &Row) -> (&'static str, Look) {
    let is_new = row.asked.askers.iter().any(|asker| !asker.is_seen);
    match row.gate().is_open() {
        true if state.marks.contains_key(&row.id()) => ("x", Look::Warn),
        true if state.is_going(row.id()) => ("»", Look::Warn),
        true if row.is_put_off(state.now) => ("h", Look::Faint),
        true if is_new => ("●", Look::Name),
        true => (" ", Look::Plain),
        false => match row.gate().verdict() {
            Some(Verdict::Approved | Verdict::Answered) => ("✓", Look::Good),
            Some(Verdict::Rejected) => ("✗", Look::Bad),
            None => ("–", Look::Faint),
        },
    }
}

fn verdict_look(row: &Row) -> Look {
    match row.gate().verdict() {
        Some(Verdict::Approved | Verdict::Answered) => Look::Good,
        Some(Verdict::Rejected) => Look::Bad,
        None => Look::Faint,
    }
}
