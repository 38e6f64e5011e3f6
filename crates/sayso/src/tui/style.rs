//! Text styles, and fitting text to a width.

use crate::card::broken;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use sayso_core::text::sanitize;
use sayso_server::text::{DiffLineKind, WaitingAge};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The role of a piece of text, which decides its style. Colour alone carries no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextStyle {
    Plain,
    Strong,
    Faint,
    Good,
    Bad,
    Warn,
    Name,
}

impl From<WaitingAge> for TextStyle {
    fn from(age: WaitingAge) -> Self {
        match age {
            WaitingAge::Fresh => TextStyle::Good,
            WaitingAge::Waiting => TextStyle::Warn,
            WaitingAge::Old => TextStyle::Bad,
        }
    }
}

impl From<DiffLineKind> for TextStyle {
    fn from(part: DiffLineKind) -> Self {
        match part {
            DiffLineKind::File => TextStyle::Strong,
            DiffLineKind::Place => TextStyle::Name,
            DiffLineKind::Added => TextStyle::Good,
            DiffLineKind::Removed => TextStyle::Bad,
            DiffLineKind::Same => TextStyle::Plain,
        }
    }
}

/// Applies styles to pieces of text, with colours or without.
#[derive(Debug, Clone, Copy)]
pub(super) struct StylePainter {
    pub(super) colour: bool,
}

impl StylePainter {
    pub(super) fn style(self, look: TextStyle) -> Style {
        let colour =
            |colour: Color| if self.colour { Style::new().fg(colour) } else { Style::new() };
        match look {
            TextStyle::Plain => Style::new(),
            TextStyle::Strong => Style::new().add_modifier(Modifier::BOLD),
            TextStyle::Faint => Style::new().add_modifier(Modifier::DIM),
            TextStyle::Good => colour(Color::Green),
            TextStyle::Bad => colour(Color::Red),
            TextStyle::Warn => colour(Color::Yellow),
            TextStyle::Name => colour(Color::Cyan),
        }
    }

    pub(super) fn span(self, look: TextStyle, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.style(look))
    }

    pub(super) fn line(self, look: TextStyle, text: impl Into<String>) -> Line<'static> {
        Line::from(self.span(look, text))
    }
}

/// A text of many lines, made harmless and broken to a width.
pub(super) fn lines_of(raw: &str, width: usize) -> Vec<String> {
    let text = sanitize(raw).text.replace('\t', "    ");
    text.lines().flat_map(|line| broken(line, width.max(1))).collect()
}

/// A harmless line, cut to a width; a mark shows the cut.
pub(super) fn fit(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in line.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// The end of a line, cut to a width, for the field that is typed in.
pub(super) fn fit_end(line: &str, width: usize) -> String {
    let mut kept: Vec<char> = vec![];
    let mut used = 0;
    for c in line.chars().rev() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    kept.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_says_so() {
        assert_eq!(fit("deploy", 6), "deploy");
        assert_eq!(fit("deploy", 5), "depl…");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("x", 0), "");
        assert_eq!(fit_end("deploy", 3), "loy");
    }
}
