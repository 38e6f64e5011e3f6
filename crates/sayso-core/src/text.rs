//! Sanitizes untrusted text for display (terminal escapes, bidi controls, invisible characters). No character of an
//! agent's text can move the cursor, change the title, hide, reorder or impersonate, and none is dropped silently.

use std::fmt::Write;

/// The maximum number of blank lines in a row; more are folded into one line with their count.
const BLANK_LINES_SHOWN_MAX: usize = 2;

/// The maximum number of combining marks on a character; more are spelt out, because a tower of them covers the lines
/// around it.
const MARKS_SHOWN_MAX: usize = 4;

/// A text that is safe to display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SanitizedText {
    /// The text to display. It has no control characters but newline and tab.
    pub text: String,
    /// The number of invisible or control characters that are now spelt out.
    pub spelt_out: usize,
}

/// Sanitizes a text of many lines.
pub fn sanitize(raw: &str) -> SanitizedText {
    let raw = raw.replace("\r\n", "\n");
    let mut shown = SanitizedText { text: String::with_capacity(raw.len()), spelt_out: 0 };
    let mut blank = 0;
    for line in raw.split('\n') {
        if line.trim().is_empty() {
            blank += 1;
            continue;
        }
        fold(&mut shown.text, blank);
        blank = 0;
        push_line(&mut shown, line);
        shown.text.push('\n');
    }
    // Blank lines at the very end carry only the last line break.
    if blank > 1 {
        fold(&mut shown.text, blank - 1);
    }
    shown.text.truncate(shown.text.trim_end_matches('\n').len());
    shown
}

/// Sanitizes a text for display in one line: line breaks are shown as `⏎`.
pub fn sanitize_line(raw: &str) -> String {
    let whole = sanitize(raw.trim());
    whole.text.replace('\n', " ⏎ ").replace('\t', " ")
}

/// Shortens a sanitized line to `width` characters, with the number of those left out.
pub fn shorten(line: &str, width: usize) -> String {
    let count = line.chars().count();
    if count <= width {
        return line.into();
    }
    let mark = |hidden: usize| format!("… (+{hidden})");
    let room = width.saturating_sub(mark(count).chars().count());
    let kept: String = line.chars().take(room).collect();
    kept + &mark(count - room)
}

fn fold(text: &mut String, blank: usize) {
    if blank <= BLANK_LINES_SHOWN_MAX {
        text.extend(std::iter::repeat_n('\n', blank));
    } else {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[{blank} blank lines]");
    }
}

fn push_line(shown: &mut SanitizedText, line: &str) {
    let mut before = None;
    // A mark without a base character would be drawn onto the text that we print before the line.
    let mut marks = MARKS_SHOWN_MAX;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        marks = if is_mark(c) { marks + 1 } else { 0 };
        let is_lone_selector = c == EMOJI_SELECTOR && !is_emoji(before, chars.peek());
        let spelling = match spell(c) {
            None if marks > MARKS_SHOWN_MAX || is_lone_selector => Some(by_number(c)),
            spelling => spelling,
        };
        match spelling {
            None => shown.text.push(c),
            Some(spelling) => {
                shown.text.push_str(&spelling);
                shown.spelt_out += 1;
            }
        }
        before = shown.text.chars().next_back();
    }
}

/// The variation selector for emoji style; after any other character it is invisible.
const EMOJI_SELECTOR: char = '\u{fe0f}';

fn is_emoji(before: Option<char>, after: Option<&char>) -> bool {
    match before {
        Some('0'..='9' | '#' | '*') => after == Some(&'\u{20e3}'),
        Some(c) if is_mark(c) => false,
        Some(c) => matches!(
            u32::from(c),
            0xa9 | 0xae | 0x203c..=0x2bff | 0x3030 | 0x303d | 0x3297 | 0x3299 | 0x1f000..=0x1faff
        ),
        None => false,
    }
}

/// True for combining marks, which are drawn onto the character before them.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c),
        0x300..=0x36f
        | 0x483..=0x489
        | 0x591..=0x5bd | 0x5bf | 0x5c1..=0x5c2 | 0x5c4..=0x5c5 | 0x5c7
        | 0x610..=0x61a | 0x64b..=0x65f | 0x670 | 0x6d6..=0x6dc | 0x6df..=0x6e8 | 0x6ea..=0x6ed
        | 0x730..=0x74a
        | 0xe31 | 0xe34..=0xe3a | 0xe47..=0xe4e
        | 0xeb1 | 0xeb4..=0xebc | 0xec8..=0xece
        | 0xf71..=0xf84 | 0xf8d..=0xfbc
        | 0x1ab0..=0x1aff
        | 0x1dc0..=0x1dff
        | 0x20d0..=0x20ff
        | 0x302a..=0x302f
        | 0x3099..=0x309a
        | 0xa66f..=0xa672 | 0xa674..=0xa67d
        | 0xfe20..=0xfe2f
    )
}

fn by_number(c: char) -> String {
    format!("[U+{:04X}]", u32::from(c))
}

/// Returns the replacement of a character that must not be displayed.
fn spell(c: char) -> Option<String> {
    let code = u32::from(c);
    match code {
        // Tab is harmless; the other C0 controls have Unicode pictures.
        0x09 => None,
        0x00..=0x1f => char::from_u32(0x2400 + code).map(String::from),
        0x7f => Some('\u{2421}'.into()),
        _ if is_unseen(code) => Some(by_number(c)),
        _ => None,
    }
}

/// True for C1 controls, and for characters that are invisible or change the text direction.
fn is_unseen(code: u32) -> bool {
    matches!(code,
        0x80..=0x9f            // C1 controls
        | 0xad                 // soft hyphen
        | 0x34f                // combining grapheme joiner
        | 0x61c                // Arabic letter mark
        | 0x115f..=0x1160      // Hangul fillers
        | 0x17b4..=0x17b5      // Khmer inherent vowels
        | 0x180b..=0x180f      // Mongolian selectors
        | 0x200b..=0x200f      // zero width, direction marks
        | 0x2028..=0x202e      // line and paragraph separators, bidi embedding
        | 0x2060..=0x206f      // joiners, bidi isolates, deprecated controls
        | 0x2800               // Braille without dots
        | 0x3164               // Hangul filler
        | 0xfe00..=0xfe0e      // variation selectors but for the emoji one
        | 0xfeff               // byte order mark
        | 0xffa0               // half-width Hangul filler
        | 0xfff0..=0xfffb      // interlinear annotation
        | 0x13430..=0x1345f    // Egyptian joiners
        | 0x16fe4              // Khitan filler
        | 0x1bca0..=0x1bca3    // shorthand controls
        | 0x1d159              // musical null note
        | 0x1d173..=0x1d17a    // musical controls
        | 0xe0000..=0xe0fff    // tags, variation selectors
        | 0xe000..=0xf8ff      // private use
        | 0xf0000..=0x10ffff   // private use planes
    )
}

/// Returns the edit distance (Levenshtein) of two names, which are cut at 64 characters.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_spelt_out() {
        let tower = format!("Z{}", "\u{301}".repeat(50));
        for (name, hostile) in [
            ("ansi", "\x1b[31mred\x1b[0m"),
            ("osc 52", "\x1b]52;c;ZXZpbA==\x07"),
            ("osc 8", "\x1b]8;;http://evil\x07click\x1b]8;;\x07"),
            ("c1 csi", "\u{9b}2J"),
            ("carriage return", "rm -rf /\rls     "),
            ("backspace", "deny\x08\x08\x08\x08allow"),
            ("bidi", "\u{202e}gnp.exe"),
            ("isolate", "\u{2066}x\u{2069}"),
            ("zero width", "ap\u{200b}prove"),
            ("tag", "x\u{e0041}\u{e0042}"),
            ("separator", "a\u{2028}b"),
            ("lone emoji selector", "ap\u{fe0f}prove"),
            ("emoji selector in front", "\u{fe0f}approve"),
            ("digit with a selector", "rm 1\u{fe0f}2"),
            ("tower of marks", &tower),
            ("mark on our frame", "\u{338}approved"),
            ("blank Braille", "safe\u{2800}\u{2800}"),
            ("emoji joiner", "\u{1f468}\u{200d}\u{1f469}"),
        ] {
            let shown = sanitize(hostile);
            assert!(shown.spelt_out > 0, "{name}");
            let stays = |c: char| c == '\n' || c == '\t' || !(c.is_control() || spell(c).is_some());
            assert!(shown.text.chars().all(stays), "{name}: {:?}", shown.text);
        }
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for plain in [
            "",
            "hello",
            "ä ß 日本語 🚀 ❤️ 1️⃣ ©️",
            "a\u{308}\u{304} ไม่มีที่ שָׁלוֹם",
            "שלום 5",
            "a\n\nb\tc",
            "  indented\n    more",
        ] {
            assert_eq!(sanitize(plain), SanitizedText { text: plain.into(), spelt_out: 0 });
        }
    }

    #[test]
    fn floods_of_blank_lines_are_folded_with_a_mark() {
        let flood = format!("safe{}rm -rf /", "\n".repeat(300));
        assert_eq!(sanitize(&flood).text, "safe\n[299 blank lines]\nrm -rf /");
    }

    #[test]
    fn a_line_says_what_it_leaves_out() {
        assert_eq!(sanitize_line("a\nb\r\nc"), "a ⏎ b ⏎ c");
        assert_eq!(shorten("short", 10), "short");
        assert_eq!(shorten(&"x".repeat(30), 20), format!("{}… (+17)", "x".repeat(13)));
        assert_eq!(shorten(&"x".repeat(3_000), 20), format!("{}… (+2989)", "x".repeat(11)));
        assert_eq!(shorten(&"x".repeat(30), 3), "… (+30)");
    }

    #[test]
    fn a_tower_of_marks_is_cut_at_four() {
        let shown = sanitize(&format!("Z{}", "\u{301}".repeat(6)));
        assert_eq!(shown.text, format!("Z{}[U+0301][U+0301]", "\u{301}".repeat(4)));
        assert_eq!(shown.spelt_out, 2);
    }

    #[test]
    fn nothing_hostile_gets_through() {
        use proptest::prelude::*;
        let texts = prop::collection::vec(hostile_char(), 0..60);
        crate::testing::explore(500, &texts, |raw| {
            let raw = String::from_iter(raw);
            let shown = sanitize(&raw);
            let stays = |c: char| c == '\n' || spell(c).is_none();
            prop_assert!(shown.text.chars().all(stays), "{:?}", shown.text);
            prop_assert_eq!(&sanitize(&shown.text).text, &shown.text, "made harmless once more");
            let line = sanitize_line(&raw);
            prop_assert!(!line.contains(['\n', '\t']), "{:?}", line);
            for width in [8, 20, 40] {
                prop_assert!(shorten(&line, width).chars().count() <= width, "{:?}", line);
            }
            Ok(())
        });
    }

    fn hostile_char() -> impl proptest::strategy::Strategy<Value = char> {
        use proptest::prelude::*;
        prop_oneof![
            any::<char>(),
            prop::char::range('\0', '\u{ff}'),
            prop::char::range('\u{300}', '\u{36f}'),
            prop::char::range('\u{2000}', '\u{206f}'),
            prop::sample::select(vec![
                '\n', '\r', ' ', 'a', '1', '\u{fe0f}', '\u{20e3}', '❤', '\u{202e}'
            ]),
        ]
    }
}
