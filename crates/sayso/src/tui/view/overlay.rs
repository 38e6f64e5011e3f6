//! Overlays: the help, the list of actions, and the input line.

use super::super::key_handler::{description, matching_actions};
use super::super::state::{InboxState, InputLine, LinePurpose};
use super::super::style::{StylePainter, TextStyle, fit, fit_end};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};
use sayso_server::keys::{KEYS, KeyBinding, MOVING, SPEAKING};
use unicode_width::UnicodeWidthStr;

/// Draws the key bindings, from the list shared with the pages.
pub(super) fn help(scroll: usize, paint: StylePainter, area: Rect, to: &mut Buffer) {
    let lines = help_lines(paint, area.width);
    let room = usize::from(area.height);
    let first = scroll.min(lines.len().saturating_sub(room));
    for (line, y) in lines.into_iter().skip(first).take(room).zip(area.y..) {
        line.render(Rect { y, height: 1, ..area }, to);
    }
}

/// The number of lines of the help.
pub(in crate::tui) fn help_height(state: &InboxState) -> usize {
    help_lines(StylePainter { colour: false }, state.size.0).len()
}

fn help_lines(paint: StylePainter, width: u16) -> Vec<Line<'static>> {
    let half = |title: &'static str, speaks: bool| {
        let heading = paint.line(TextStyle::Strong, format!(" {title}"));
        let keys = KEYS.iter().filter(move |binding| binding.speaks == speaks);
        let key = move |binding: &KeyBinding| {
            Line::from(vec![
                Span::raw(format!("   {:>5}  ", binding.shown)),
                paint.span(TextStyle::Plain, description(binding)),
            ])
        };
        [heading].into_iter().chain(keys.map(key)).collect::<Vec<_>>()
    };
    let (left, right) = (half(MOVING, false), half(SPEAKING, true));
    let rules = [
        "Enter looks, and never approves. What was typed before a card was on the screen",
        "for a moment is dropped. An answer is held for 5 s and can be taken back until",
        "then; leaving and opening an editor send it, Ctrl+C takes all of it back and ends.",
        "Nothing is shown as done before the desk said so.",
    ];
    let column = usize::from(width / 2);
    let mut lines = if width >= 100 {
        beside(left, right, column)
    } else {
        left.into_iter().chain([Line::default()]).chain(right).collect()
    };
    lines.push(Line::default());
    let rules = rules.join(" ");
    let rules =
        super::super::style::lines_of(&rules, usize::from(width).saturating_sub(4).min(100));
    lines.extend(rules.into_iter().map(|line| paint.line(TextStyle::Faint, format!(" {line}"))));
    lines
}

fn beside(
    left: Vec<Line<'static>>,
    right: Vec<Line<'static>>,
    column: usize,
) -> Vec<Line<'static>> {
    let count = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let next = |_| {
        let mut line = left.next().unwrap_or_default();
        let gap = column.saturating_sub(line.width());
        line.push_span(Span::raw(" ".repeat(gap)));
        line.extend(right.next().unwrap_or_default());
        line
    };
    (0..count).map(next).collect()
}

/// Draws the list of all actions.
pub(super) fn palette(
    typed: &str,
    at: usize,
    paint: StylePainter,
    area: Rect,
    to: &mut Buffer,
) -> Position {
    let width = usize::from(area.width);
    let prompt = " What to do: ";
    let shown = fit_end(typed, width.saturating_sub(prompt.width() + 2));
    let cursor = area.x + u16::try_from(prompt.width() + shown.width()).unwrap_or(0);
    let line = Line::from(vec![paint.span(TextStyle::Strong, prompt), Span::raw(shown)]);
    line.render(Rect { height: 1, ..area }, to);
    let room = usize::from(area.height).saturating_sub(2);
    let first = at.saturating_sub(room.saturating_sub(1));
    for (index, thing) in matching_actions(typed).into_iter().enumerate().skip(first).take(room) {
        let sign = if index == at { "▌" } else { " " };
        let look = if index == at { TextStyle::Strong } else { TextStyle::Plain };
        let words = fit(description(thing), width.saturating_sub(12));
        let line = Line::from(vec![
            paint.span(TextStyle::Name, format!(" {sign}")),
            paint.span(TextStyle::Faint, format!("{:>5}  ", thing.shown)),
            paint.span(look, words),
        ]);
        let y = area.y + 2 + u16::try_from(index - first).unwrap_or(0);
        line.render(Rect { y, height: 1, ..area }, to);
    }
    Position::new(cursor, area.y)
}

/// Draws the input line, in a box at the foot of the panes.
pub(super) fn field(
    field: &InputLine,
    paint: StylePainter,
    body: Rect,
    to: &mut Buffer,
) -> Position {
    let area = Rect { y: body.bottom() - 3, height: 3, ..body };
    Clear.render(area, to);
    let width = usize::from(area.width);
    let faint = paint.style(TextStyle::Faint);
    let title = fit(&field.title, width.saturating_sub(8));
    let rule = "─".repeat(width.saturating_sub(title.width() + 5));
    let above = Line::from(vec![
        Span::styled("┌─ ", faint),
        paint.span(TextStyle::Strong, title),
        Span::styled(format!(" {rule}┐"), faint),
    ]);
    above.render(Rect { height: 1, ..area }, to);
    let label = format!("{}: ", field.label);
    let room = width.saturating_sub(label.width() + 5);
    let visible = |text: &str| text.replace('\n', "⏎");
    let before: String = field.text.chars().take(field.at).collect();
    let after: String = field.text.chars().skip(field.at).collect();
    let before = fit_end(&visible(&before), room);
    let after = fit(&visible(&after), room.saturating_sub(before.width()));
    let x = area.x + u16::try_from(2 + label.width() + before.width()).unwrap_or(0);
    let used = 2 + label.width() + before.width() + after.width();
    let gap = " ".repeat(width.saturating_sub(used + 1));
    let middle = Line::from(vec![
        Span::styled("│ ", faint),
        paint.span(TextStyle::Faint, label),
        Span::raw(before),
        Span::raw(after),
        Span::styled(format!("{gap}│"), faint),
    ]);
    middle.render(Rect { y: area.y + 1, height: 1, ..area }, to);
    let rule = "─".repeat(width.saturating_sub(2));
    let below = Line::from(Span::styled(format!("└{rule}┘"), faint));
    below.render(Rect { y: area.y + 2, height: 1, ..area }, to);
    Position::new(x, area.y + 1)
}

/// Draws the keys of the input line.
pub(super) fn field_keys(
    state: &InboxState,
    field: &InputLine,
    paint: StylePainter,
    area: Rect,
    to: &mut Buffer,
) {
    let words = match &field.purpose {
        LinePurpose::Text(_) if !state.held.is_empty() => {
            "Enter keeps it, a answers   Tab opens your editor and sends what is held   Esc leaves it"
        }
        LinePurpose::Filter => "Enter keeps it   Esc shows all",
        LinePurpose::Reject(_) => "Enter rejects   Esc leaves it",
        LinePurpose::Snooze(_) => "Enter puts it off (2h, 3d, tomorrow; now: back)   Esc leaves it",
        LinePurpose::Delegate(_) => "Enter hands it on   Esc leaves it",
        LinePurpose::Text(_) => "Enter keeps it, a answers   Tab opens your editor   Esc leaves it",
        LinePurpose::Pick(_) | LinePurpose::Reason(_) => {
            "Enter keeps it, a answers   Esc leaves it"
        }
    };
    super::line(words, paint, area, to);
}
