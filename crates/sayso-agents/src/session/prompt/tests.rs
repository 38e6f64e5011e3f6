//! Tests with screens of real clients, captured by tmux: `screens/CLIENT-STATE.txt`, with the cursor and the width in
//! the first line.

use super::*;
use std::path::PathBuf;

/// The line in the prompts of the `ours` screens.
const LINE: &str =
    "sayso has news for you: read it with `sayso messages`, and gates you asked with `sayso show`.";

const KINDS: [(&str, PromptKind); 4] = [
    ("claude", PromptKind::ClaudeCode),
    ("codex", PromptKind::Codex),
    ("gemini", PromptKind::Gemini),
    ("opencode", PromptKind::Opencode),
];

fn screens() -> Vec<(String, PaneScreen)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/session/prompt/screens");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let screen = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).unwrap();
        (file.file_stem().unwrap().to_str().unwrap().to_owned(), parsed(&text))
    };
    files.map(screen).collect()
}

fn parsed(text: &str) -> PaneScreen {
    let mut lines = text.lines();
    let numbers: Vec<usize> =
        lines.next().unwrap().split(' ').map(|number| number.parse().unwrap()).collect();
    let [column, row, flag, alternate, columns] = numbers[..] else { panic!("{numbers:?}") };
    PaneScreen {
        rows: lines.map(|row| row.trim_end().to_owned()).collect(),
        cursor: (column, row),
        shows_cursor: flag == 1,
        is_alternate: alternate == 1,
        columns,
    }
}

#[test]
fn screens_of_real_clients_are_told_apart() {
    let mut seen = 0;
    for (name, screen) in screens() {
        let (client, state) = name.split_once('-').unwrap();
        let (_, kind) = KINDS.iter().find(|(known, _)| *known == client).unwrap();
        let read = kind.read(&screen);
        let holds = |text: &str| PromptState::Holds(text.to_owned());
        let is_right = match state {
            "new" | "empty" | "after" => read == PromptState::Empty,
            "typed" => read == holds("half a line"),
            "ours" => read.is_holding(LINE) && !read.is_holding("half a line"),
            "working" | "working-on" => read == PromptState::Working,
            "menu" | "shell" => read == PromptState::Unknown,
            "slash" => matches!(read, PromptState::Holds(_) | PromptState::Unknown),
            other => panic!("{other}"),
        };
        assert!(is_right, "{name}: {read:?}\n{:#?}", screen.rows);
        seen += 1;
    }
    assert_eq!(seen, 36);
}

/// A screen is never an empty prompt of another client, and never without its cursor.
#[test]
fn what_is_not_recognised_takes_nothing() {
    let mut seen = 0;
    for (name, screen) in screens() {
        for (client, kind) in &KINDS {
            let other = kind.read(&screen);
            assert!(name.starts_with(client) || other != PromptState::Empty, "{name} is {client}");
            let (column, row) = screen.cursor;
            for cursor in [(column + 1, row), (0, 0), (column, row.saturating_sub(3))] {
                let moved = PaneScreen { cursor, ..screen.clone() };
                assert_ne!(kind.read(&moved), PromptState::Empty, "{name} {client} {cursor:?}");
            }
            let narrow = PaneScreen { columns: COLUMNS_MIN - 1, ..screen.clone() };
            assert_eq!(kind.read(&narrow), PromptState::Unknown);
            seen += 1;
        }
        assert_eq!(PromptKind::Never.read(&screen), PromptState::Unknown);
    }
    assert_eq!(seen, 36 * 4);
}

/// Rows that an agent writes look like a prompt only where no prompt is.
#[test]
fn an_agent_cannot_draw_a_prompt_for_itself() {
    let menu = screens().into_iter().filter(|(name, _)| name.ends_with("menu"));
    let mut seen = 0;
    for (name, menu) in menu {
        let kind = &KINDS.iter().find(|(client, _)| name.starts_with(client)).unwrap().1;
        for (of, empty) in screens().into_iter().filter(|(name, _)| name.ends_with("after")) {
            if of.split('-').next() != name.split('-').next() {
                continue;
            }
            // The rows of an empty prompt, above a menu.
            let rows = [empty.rows.clone(), menu.rows.clone()].concat();
            let cursor = (menu.cursor.0, menu.cursor.1 + empty.rows.len());
            let both = PaneScreen { rows, cursor, ..menu.clone() };
            assert_eq!(kind.read(&both), PromptState::Unknown, "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, 4);
}

#[test]
fn a_program_that_reads_lines_is_at_its_prompt_or_not() {
    let long = "y".repeat(25);
    let (first, rest) = long.split_at(18);
    let (broken, end) = (format!("> {first}"), rest.to_owned());
    let wrapped = [broken.as_str(), end.as_str()];
    let holds = |text: &str| PromptState::Holds(text.to_owned());
    for (prompt, rows, cursor, expected) in [
        ("> ", &["hello", ">"][..], (2, 1), PromptState::Empty),
        ("> ", &["hello", ">"], (1, 1), PromptState::Unknown),
        ("> ", &["hello", ">", ""], (2, 1), PromptState::Empty),
        ("> ", &["hello", ">", "1. Yes"], (2, 1), PromptState::Unknown),
        ("> ", &["> half"], (6, 0), holds("half")),
        ("> ", &["Proceed? [y/N]"], (15, 0), PromptState::Unknown),
        ("> ", &wrapped, (7, 1), holds(&long)),
        ("> ", &[">", "1. Yes"], (6, 1), PromptState::Unknown),
        ("", &["hello", ""], (0, 1), PromptState::Empty),
        ("", &["hello", "half"], (4, 1), holds("half")),
        ("", &["hello", "half"], (0, 0), PromptState::Unknown),
        ("ready> ", &["not ready>"], (11, 0), PromptState::Unknown),
    ] {
        let rows = rows.iter().map(|row| (*row).to_owned()).collect();
        let screen =
            PaneScreen { rows, cursor, shows_cursor: true, is_alternate: false, columns: 20 };
        let kind = PromptKind::Prompt(prompt.to_owned());
        assert_eq!(kind.read(&screen), expected, "{prompt:?} on {:?}", screen.rows);
        for drawn in [
            PaneScreen { is_alternate: true, ..screen.clone() },
            PaneScreen { shows_cursor: false, ..screen.clone() },
        ] {
            assert_eq!(kind.read(&drawn), PromptState::Unknown);
        }
    }
}

#[test]
fn a_kind_is_that_of_the_program_or_of_the_settings() {
    for (program, kind) in [
        ("claude", PromptKind::ClaudeCode),
        ("/opt/bin/codex", PromptKind::Codex),
        ("gemini", PromptKind::Gemini),
        ("./opencode", PromptKind::Opencode),
        ("sh", PromptKind::Never),
        ("", PromptKind::Never),
        ("claude-wrapper", PromptKind::Never),
    ] {
        assert_eq!(PromptKind::of_program(program), kind, "{program}");
    }
    for (text, kind) in [
        ("\"never\"", PromptKind::Never),
        ("\"claude-code\"", PromptKind::ClaudeCode),
        ("\"opencode\"", PromptKind::Opencode),
        ("{\"prompt\":\"> \"}", PromptKind::Prompt("> ".into())),
    ] {
        assert_eq!(serde_json::from_str::<PromptKind>(text).unwrap(), kind);
        assert_eq!(serde_json::to_string(&kind).unwrap(), text);
    }
}

#[test]
fn bars_of_gemini_are_lines_where_it_sees_few_colours() {
    let mut seen = 0;
    for (name, mut screen) in screens().into_iter().filter(|(name, _)| name.starts_with("gemini")) {
        let state = PromptKind::Gemini.read(&screen);
        screen.rows.iter_mut().for_each(|row| *row = row.replace(['▀', '▄'], "─"));
        assert_eq!(PromptKind::Gemini.read(&screen), state, "{name}");
        seen += 1;
    }
    assert!(seen >= 8, "{seen}");
}
