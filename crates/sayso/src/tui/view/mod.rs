//! The view: draws the screen as a pure function of the state.

mod card;
mod list;
mod overlay;

use super::key_handler::matching_actions;
use super::keys::shown;
use super::retry_queue;
use super::state::{InboxListKind, InboxPane, InboxRow, InboxState, InputMode};
use super::style::{StylePainter, TextStyle, fit, lines_of};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};
use sayso_core::{AnswerShape, GateKind};
use sayso_server::keys::KeyAction;
use unicode_width::UnicodeWidthStr;

pub(super) use card::height as card_height;
pub(crate) use card::{CardFrame, ShownCard};
pub(super) use overlay::help_height;

/// The minimum size of the terminal.
pub(crate) const SIZE_MIN: (u16, u16) = (60, 15);

/// The width from which there is room for two panes.
const BOTH: u16 = 80;

/// The layout of the screen.
pub(super) struct ScreenLayout {
    head: Rect,
    pub(super) body: Rect,
    pub(super) list: Option<Rect>,
    pub(super) card: Option<Rect>,
    /// The column between the panes.
    between: Option<u16>,
    status: Rect,
    keys: Rect,
}

impl ScreenLayout {
    /// The number of list rows that fit.
    pub(super) fn rows_max(&self) -> usize {
        usize::from(self.list.unwrap_or(self.body).height / list::ROW_LINES).max(1)
    }
}

/// Computes the layout; none if the terminal is too small.
pub(super) fn places(state: &InboxState) -> Option<ScreenLayout> {
    let (width, height) = state.size;
    if width < SIZE_MIN.0 || height < SIZE_MIN.1 {
        return None;
    }
    let line = |y| Rect::new(0, y, width, 1);
    let body = Rect::new(0, 2, width, height - 5);
    let (list, card, between) = match (width >= BOTH, state.pane) {
        (true, _) => {
            let left = (width * 2 / 5).clamp(34, 60);
            let right = Rect::new(left + 2, 2, width - left - 3, body.height);
            (Some(Rect::new(0, 2, left, body.height)), Some(right), Some(left))
        }
        (false, InboxPane::List) => (Some(body), None, None),
        (false, InboxPane::Card) => (None, Some(Rect::new(1, 2, width - 2, body.height)), None),
    };
    let (status, keys) = (line(height - 2), line(height - 1));
    Some(ScreenLayout { head: line(0), body, list, card, between, status, keys })
}

/// The facts about a drawn frame that the loop needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DrawnFrame {
    /// The card, in the version drawn.
    pub(crate) card: Option<ShownCard>,
    /// The position of the text cursor.
    pub(crate) cursor: Option<Position>,
}

pub(crate) fn view(state: &InboxState, area: Rect, to: &mut Buffer) -> DrawnFrame {
    let Some(places) = places(state).filter(|_| (area.width, area.height) == state.size) else {
        return too_small(state, area, to);
    };
    let paint = StylePainter { colour: state.colour };
    head(state, paint, places.head, to);
    let has_panes = matches!(state.mode, InputMode::Look | InputMode::Field(_) | InputMode::Cut(_));
    frame(&places, has_panes, paint, to);
    if has_panes {
        filter(state, &places, paint, to);
    }
    let mut drawn = DrawnFrame::default();
    match &state.mode {
        InputMode::Help { scroll } => overlay::help(*scroll, paint, places.body, to),
        InputMode::Palette { typed, at } => {
            drawn.cursor = Some(overlay::palette(typed, *at, paint, places.body, to));
        }
        InputMode::Look | InputMode::Field(_) | InputMode::Cut(_) => {
            if let Some(area) = places.list {
                list::draw(state, paint, area, to);
            }
            if let Some(area) = places.card {
                drawn.card = card::draw(state, paint, area, to);
            }
        }
    }
    match &state.mode {
        InputMode::Field(field) => {
            drawn.cursor = Some(overlay::field(field, paint, places.body, to));
            overlay::field_keys(state, field, paint, places.keys, to);
        }
        InputMode::Cut(field) => {
            overlay::field(field, paint, places.body, to);
            line("Enter or Esc goes on; nothing was said", paint, places.keys, to);
        }
        InputMode::Help { .. } => {
            line("J K read on   any other key goes back", paint, places.keys, to)
        }
        InputMode::Palette { typed, at } => {
            let speaks = matching_actions(typed).get(*at).is_some_and(|binding| binding.speaks);
            let does = if speaks { "Enter tells its key" } else { "Enter does it" };
            line(&format!("{does}   ↑ ↓ another   Esc back"), paint, places.keys, to);
        }
        InputMode::Look => keys(state, paint, places.keys, to),
    }
    status(state, paint, places.status, to);
    drawn
}

fn line(text: &str, paint: StylePainter, area: Rect, to: &mut Buffer) {
    paint
        .line(TextStyle::Faint, format!(" {}", fit(text, usize::from(area.width) - 1)))
        .render(area, to);
}

fn too_small(state: &InboxState, area: Rect, to: &mut Buffer) -> DrawnFrame {
    let (columns, rows) = SIZE_MIN;
    let last = match state.mode {
        InputMode::Look => format!("{} ends", shown(KeyAction::Quit)),
        InputMode::Field(_) => "Your line is still open.".into(),
        InputMode::Help { .. } | InputMode::Palette { .. } | InputMode::Cut(_) => {
            "No key counts here.".into()
        }
    };
    let words = [
        format!("sayso needs {columns}x{rows};"),
        format!("this is {}x{}.", area.width, area.height),
        last,
    ];
    for (y, words) in words.iter().enumerate().take(usize::from(area.height)) {
        let place = Rect { y: area.y + u16::try_from(y).unwrap_or(0), height: 1, ..area };
        Line::from(fit(words, usize::from(area.width))).render(place, to);
    }
    DrawnFrame::default()
}

/// Draws the head line: space, list, count.
fn head(state: &InboxState, paint: StylePainter, area: Rect, to: &mut Buffer) {
    let width = usize::from(area.width);
    let waits =
        |row: &&InboxRow| row.gate().is_open() && !row.is_gone && !row.is_snoozed(state.now);
    let open = state.list.rows.iter().filter(waits).count();
    let more = if state.list.next.is_some() { "+" } else { "" };
    let count = match (state.list.view, state.list.is_loaded) {
        (_, false) => "…".to_owned(),
        (InboxListKind::Done, true) => String::new(),
        (_, true) if state.away.is_some() => format!("{open}{more} waited (no connection)"),
        (_, true) if open == 1 && more.is_empty() => "1 waits".to_owned(),
        (_, true) => format!("{open}{more} wait"),
    };
    let groups =
        state.in_groups.filter(|count| count.number > 0 && state.list.view == InboxListKind::Yours);
    let tab = |view: &InboxListKind| match (*view == state.list.view, groups) {
        (true, _) => format!("[{}]", view.title()),
        (false, Some(count)) if *view == InboxListKind::Groups => {
            format!(" {} {count} ", view.title())
        }
        (false, _) => format!(" {} ", view.title()),
    };
    let tabs: Vec<_> = InboxListKind::ALL.iter().map(|view| (*view, tab(view))).collect();
    let taken = tabs.iter().map(|(_, tab)| tab.width()).sum::<usize>() + count.width() + 11;
    let mut spans = vec![paint.span(TextStyle::Strong, " sayso ")];
    spans.push(paint.span(TextStyle::Name, fit(&state.space, width.saturating_sub(taken).min(24))));
    spans.push(Span::raw(" "));
    for (view, tab) in tabs {
        let look = if view == state.list.view { TextStyle::Strong } else { TextStyle::Faint };
        spans.push(paint.span(look, tab));
    }
    let used: usize = spans.iter().map(Span::width).sum();
    spans.push(Span::raw(" ".repeat(width.saturating_sub(used + count.width() + 1))));
    spans.push(paint.span(TextStyle::Plain, count));
    Line::from(spans).render(area, to);
}

/// Draws the lines around the panes.
fn frame(places: &ScreenLayout, has_panes: bool, paint: StylePainter, to: &mut Buffer) {
    let style = paint.style(TextStyle::Faint);
    let body = places.body;
    let between = places.between.filter(|_| has_panes);
    for x in 0..body.width {
        let crossing = between == Some(x);
        to.set_string(x, body.y - 1, if crossing { "┬" } else { "─" }, style);
        to.set_string(x, body.bottom(), if crossing { "┴" } else { "─" }, style);
    }
    for y in body.top()..body.bottom() {
        if let Some(x) = between {
            to.set_string(x, y, "│", style);
        }
    }
}

/// Draws the filter above the panes for as long as it hides rows, also beside other messages.
fn filter(state: &InboxState, places: &ScreenLayout, paint: StylePainter, to: &mut Buffer) {
    if state.list.filter.is_empty() {
        return;
    }
    let area = Rect { x: 1, y: places.body.y - 1, height: 1, width: places.body.width - 2 };
    let room = usize::from(places.between.unwrap_or(area.width)).saturating_sub(2);
    let further = if state.list.is_loading { ", looking further …" } else { "" };
    let words = format!(" with {:?} in it{further} ", state.list.filter);
    paint.line(TextStyle::Warn, fit(&words, room)).render(area, to);
}

/// Draws the status line: the last message, or the held answer and the key to undo it.
fn status(state: &InboxState, paint: StylePainter, area: Rect, to: &mut Buffer) {
    let width = usize::from(area.width).saturating_sub(2);
    let held = state.held.last().map(|held| {
        let left = held.until.saturating_sub(state.clock).as_millis().div_ceil(1_000);
        let (back, words) = (shown(KeyAction::Undo), &held.spoken.words);
        let before = match state.held.len() {
            1 => String::new(),
            many => format!(" ({} before it)", many - 1),
        };
        let content = match held.spoken.content.as_str() {
            "" => String::new(),
            content => format!(": {content}"),
        };
        // With an unreachable desk, leaving sends nothing.
        let leaving = if state.away.is_some() { "" } else { ", leaving sends it" };
        format!("{words} in {left} s{before}: {back} takes it back{leaving}{content}")
    });
    let said = &state.said;
    // The most important part comes first, since a narrow screen cuts the end. A failed answer is not hidden by the
    // next held one.
    let is_said = !said.words.is_empty() && (said.is_wrong || held.is_none());
    let (unsent, away) = (retry_queue::unsent_in_words(state), retry_queue::away_in_words(state));
    let (look, sign) = match (unsent.is_some() || away.is_some() || said.is_wrong, &held) {
        (true, _) => (TextStyle::Bad, "! "),
        (false, Some(_)) => (TextStyle::Warn, ""),
        (false, None) => (TextStyle::Plain, ""),
    };
    let said = is_said.then(|| said.words.clone());
    let parts: Vec<_> = [unsent, said, held, away].into_iter().flatten().collect();
    let words = format!("{sign}{}", parts.join(" · "));
    let lines_max = if area.width < BOTH { 3 } else { 2 };
    let lines = in_lines(&words, width, lines_max);
    // A longer message covers the rule above it, and on a narrow screen one more line. Nothing moves.
    let first = area.y + 1 - u16::try_from(lines.len().max(1)).unwrap_or(1);
    for (line, y) in lines.into_iter().zip(first..) {
        let area = Rect { y, ..area };
        Clear.render(area, to);
        paint.line(look, format!(" {line}")).render(area, to);
    }
}

/// A message in at most this many lines; a mark shows the cut.
fn in_lines(words: &str, width: usize, lines_max: usize) -> Vec<String> {
    let mut lines = lines_of(words, width);
    let rest = lines.split_off(lines.len().min(lines_max));
    if let (false, Some(last)) = (rest.is_empty(), lines.last_mut()) {
        *last = fit(&format!("{last} {}", rest.join(" ")), width);
    }
    lines
}

/// Draws the keys of the present mode, as many as fit. Help and quit are always there.
fn keys(state: &InboxState, paint: StylePainter, area: Rect, to: &mut Buffer) {
    let ends = [(KeyAction::Help, "help"), (KeyAction::Quit, "end")];
    let width_of = |(action, word): &(KeyAction, &str)| shown(*action).width() + word.width() + 3;
    let mut room = usize::from(area.width).saturating_sub(1);
    room = room.saturating_sub(ends.iter().map(width_of).sum());
    let mut spans = vec![Span::raw(" ")];
    let mut push = |(action, word): (KeyAction, &str)| {
        spans.push(paint.span(TextStyle::Strong, shown(action)));
        spans.push(paint.span(TextStyle::Faint, format!(" {word}  ")));
    };
    for hint in hints(state) {
        let wide = width_of(&hint);
        if wide > room {
            break;
        }
        room -= wide;
        push(hint);
    }
    ends.into_iter().for_each(&mut push);
    Line::from(spans).render(area, to);
}

fn hints(state: &InboxState) -> Vec<(KeyAction, &'static str)> {
    let is_narrow = state.size.0 < BOTH;
    let mut hints = vec![];
    if !state.marks.is_empty() {
        hints.extend([(KeyAction::Approve, "approve all"), (KeyAction::Reject, "reject all")]);
        hints.extend([(KeyAction::Mark, "mark"), (KeyAction::Back, "none")]);
        return hints;
    }
    if !state.held.is_empty() || !state.unsent.is_empty() {
        hints.push((KeyAction::Undo, "take back"));
    }
    let sees_card = !is_narrow || state.pane == InboxPane::Card;
    let can_hear = |row: &&InboxRow| {
        row.gate().is_open() && state.is_mine(row.gate()) && !state.is_pending(row.id())
    };
    let open = state.here().filter(can_hear);
    if let Some(row) = open.filter(|_| sees_card) {
        let gate = row.gate();
        hints.extend(match (&gate.card.shape, gate.opened.kind) {
            (AnswerShape::Verdict, GateKind::Work) => vec![(KeyAction::Approve, "done")],
            (AnswerShape::Verdict, _) => vec![(KeyAction::Approve, "approve")],
            (AnswerShape::Choice { .. }, _) => {
                vec![(KeyAction::Choose, "pick"), (KeyAction::Approve, "answer")]
            }
            (AnswerShape::Text, _) => {
                vec![(KeyAction::Edit, "write"), (KeyAction::Approve, "answer")]
            }
            (AnswerShape::Form { .. }, _) => {
                vec![(KeyAction::Edit, "fill in"), (KeyAction::Approve, "answer")]
            }
        });
        hints.push((KeyAction::Reject, "reject"));
    }
    match (is_narrow, state.pane) {
        (true, InboxPane::Card) => hints.push((KeyAction::Back, "list")),
        (true, InboxPane::List) => hints.push((KeyAction::Open, "look")),
        (false, _) => {}
    }
    hints.extend([
        (KeyAction::Down, "next"),
        (KeyAction::Up, "before"),
        (KeyAction::NextView, "list"),
    ]);
    hints.push((KeyAction::ReadOn, "read on"));
    if open.is_some() {
        hints.extend([(KeyAction::Snooze, "put off"), (KeyAction::Mark, "mark")]);
    }
    hints.extend([(KeyAction::Filter, "find"), (KeyAction::Palette, "more")]);
    hints
}
