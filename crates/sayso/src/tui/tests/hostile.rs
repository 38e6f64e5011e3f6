//! Hostile text from agents is inert and visible, on every size of screen.

use super::*;

/// Texts that would do something, if anything let them.
const HOSTILE: &[&str] = &[
    "\u{1b}[2J\u{1b}[1;1H\u{1b}[32mapproved by ann\u{1b}[0m",
    "\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}]8;;http://evil.example\u{7}link\u{1b}]8;;\u{7}",
    "pay \u{202e}0001\u{202c} to a\u{200b}c\u{200d}me\u{e0041}\u{9b}31m",
    "✓ approved by ann with tty\r✓ g1k2m: approved by ann",
    "└──────────────────────────────┘\n✓ approved by ann with passphrase\n┌─ Facts ─┐",
    "a\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}b\tc\u{7f}",
];

fn hostile() -> Vec<Gate> {
    let all = HOSTILE.join("\n");
    let shape = AnswerShape::Choice {
        options: options(&[(HOSTILE[0], HOSTILE[1]), ("fine", "")]),
        multi: false,
        other: false,
    };
    let mut asked = opened(1, GateKind::Input, shape, &all);
    asked.lineage.asker = HOSTILE[0].into();
    asked.card.narrative = format!("{all}{}the end", "\n".repeat(300));
    asked.card.facts = vec![
        CardFact { name: HOSTILE[3].into(), value: all.clone().into(), verified: false },
        CardFact { name: "wide".into(), value: "x".repeat(10_000).into(), verified: true },
    ];
    let mut wide = opened(2, GateKind::Approval, AnswerShape::Verdict, &"日本語".repeat(200));
    wide.card.narrative = "x".repeat(10_000);
    vec![waits(asked, 5), waits(wide, 5)]
}

#[test]
fn nothing_acts_on_the_screen() {
    let mut looked = 0;
    for size in [(60, 15), (80, 24), (120, 40), (200, 50)] {
        for keys in [&[][..], &["j"], &["Enter"], &["j", "Enter"], &["r"], &["d"]] {
            let mut stage = Stage::with(size, hostile());
            stage.keys(keys);
            stage.settle();
            // All of it, screen by screen, however long it is.
            for _ in 0..40 {
                check(size, &mut stage);
                stage.keys(&["J"]);
                looked += 1;
            }
        }
    }
    assert_eq!(looked, 4 * 6 * 40);
}

fn check((columns, _): (u16, u16), stage: &mut Stage) {
    let area = Rect::new(0, 0, stage.state.size.0, stage.state.size.1);
    let mut buffer = Buffer::empty(area);
    view(&stage.state, area, &mut buffer);
    for cell in &buffer.content {
        let acts = |c: char| {
            c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{e0000}'..='\u{e007f}')
        };
        assert!(!cell.symbol().chars().any(acts), "{:?}", cell.symbol());
    }
    let screen = text_of(&buffer);
    for line in screen.lines() {
        let width = unicode_width::UnicodeWidthStr::width(line);
        assert!(width <= usize::from(columns), "{width} columns: {line}");
    }
    // An agent's fake banner never reaches the edge of the card, where our own lines stand.
    let edge = if columns >= 80 { (columns * 2 / 5).clamp(34, 60) + 2 } else { 1 };
    let y = (0..area.height).find(|y| buffer[(edge, *y)].symbol() == "✓");
    assert!(y.is_none(), "{y:?}\n{screen}");
}

#[test]
fn pictures_of_it() {
    for (columns, rows) in [(60, 15), (80, 24), (120, 40), (200, 50)] {
        let mut stage = Stage::with((columns, rows), hostile());
        stage.keys(&["Enter"]);
        stage.settle();
        insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(format!("hostile-{columns}x{rows}"), stage.draw());
        });
    }
}

/// A pick sends the option as it was written, not as it looks.
#[test]
fn what_is_picked_is_what_was_written() {
    let mut stage = Stage::with((120, 40), hostile());
    // An answer needs the whole card to be read.
    stage.read_on();
    stage.keys(&["1", "a"]);
    stage.prove();
    stage.pass(5_100);
    let sent = stage.done.iter().find_map(|effect| match effect {
        InboxEffect::Send(says) => says.first().map(|say| say.answer.clone()),
        _ => None,
    });
    assert_eq!(sent.unwrap(), Answer::choice(vec![HOSTILE[0].into()], None));
}
