//! Pictures of the screen, for people to read.

use super::*;

const SIZES: [(u16, u16); 4] = [(60, 15), (80, 24), (120, 40), (200, 50)];

fn picture(name: &str, (columns, rows): (u16, u16), stage: &mut Stage) {
    let screen = stage.draw();
    let widest = screen.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap_or(0);
    assert!(widest <= usize::from(columns), "{name}: {widest} columns on {columns}");
    assert_eq!(screen.split('\n').count(), usize::from(rows), "{name}");
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(format!("{name}-{columns}x{rows}"), screen);
    });
}

fn looked_at(stage: &mut Stage) {
    let row = stage.state.here().unwrap();
    let (gate, asked, receipt) = (row.id(), row.asked.clone(), way(row.gate()));
    stage.happen(InboxEvent::Looked { gate, found: Ok(Box::new((asked, receipt))) });
}

#[test]
fn what_usually_waits() {
    for size in SIZES {
        let mut stage = Stage::with(size, usual());
        looked_at(&mut stage);
        picture("usual", size, &mut stage);
    }
}

/// The picture in the guide is really drawn.
#[test]
fn the_picture_in_the_guide() {
    let mut deploy =
        opened(7, GateKind::Approval, AnswerShape::Verdict, "Deploy 1.2 to production?");
    let fact = |name: &str, value: &str| CardFact {
        name: name.into(),
        value: value.into(),
        verified: true,
    };
    deploy.card.facts = vec![
        fact("commit", "4f2c6a6"),
        fact(
            "diff",
            "--- a/deploy.sh\n+++ b/deploy.sh\n@@ -1,2 +1,2 @@\n set -e\n-make staging\n+make production",
        ),
    ];
    deploy.card.narrative =
        "All tests are green. The old version stays up until the new one answers.".into();
    deploy.deadline = Some(noon().plus_micros(90 * MINUTE));
    let choices = options(&[("Firefox", ""), ("Chrome", "")]);
    let shape = AnswerShape::Choice { options: choices, multi: true, other: true };
    let gates = vec![
        waits(deploy, 95),
        waits(opened(3, GateKind::Input, shape, "Which browsers?"), 12),
        waits(opened(9, GateKind::Decision, AnswerShape::Text, "Which port is free?"), 0),
    ];
    let mut stage = Stage::with((92, 30), gates);
    stage.keys(&["a"]);
    stage.prove();
    let screen = stage.draw();
    let guide = include_str!("../../../../../docs/guide/inbox.md");
    assert!(guide.contains(&screen), "the guide shows something else than:\n{screen}");
}

#[test]
fn a_card_where_there_is_room_for_one_pane() {
    let mut stage = Stage::with((60, 15), usual());
    stage.keys(&["j", "Enter"]);
    stage.settle();
    stage.keys(&["1"]);
    picture("card", (60, 15), &mut stage);
    stage.keys(&["J"]);
    picture("card-read-on", (60, 15), &mut stage);
}

/// A form with every sort of field, and a call that changes a file.
#[test]
fn what_a_form_asks_for() {
    let schema = serde_json::json!({"type": "object", "required": ["zone"], "properties": {
        "zone": {"enum": ["eu", "us"], "title": "Zone", "description": "Customers of the other one wait longer."},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "tags": {"type": "array", "items": {"type": "string"}},
        "day": {"type": "string", "format": "date"},
        "proxy": {"type": "object", "required": ["host"], "properties": {"host": {"type": "string"}}}}});
    let gate =
        waits(opened(1, GateKind::Input, AnswerShape::Form { schema }, "Where, and how many?"), 3);
    for size in [(60, 15), (120, 40)] {
        let mut stage = Stage::with(size, vec![gate.clone()]);
        stage.keys(&["Enter"]);
        stage.settle();
        picture("form", size, &mut stage);
    }
}

#[test]
fn a_call_that_changes_a_file() {
    let mut call = opened(1, GateKind::Tool, AnswerShape::Verdict, "Edit src/main.rs?");
    let edit = serde_json::json!({"file_path": "src/main.rs", "new_string": "let port = 8080;\n\nrun(port);",
        "old_string": "let port = 80;\n\nrun(port);", "replace_all": true});
    let fact = |name: &str, value: String| CardFact {
        name: name.into(),
        value: value.into(),
        verified: true,
    };
    let edit = serde_json::to_string_pretty(&edit).unwrap();
    call.card.facts = vec![fact("tool", "Edit".into()), fact("arguments", edit)];
    let mut stage = Stage::with((100, 30), vec![waits(call, 3)]);
    picture("change", (100, 30), &mut stage);
    stage.keys(&["d"]);
    picture("change-as-given", (100, 30), &mut stage);
}

#[test]
fn nothing_waits() {
    for size in [(60, 15), (120, 40)] {
        picture("empty", size, &mut Stage::with(size, vec![]));
    }
}

#[test]
fn the_help_is_the_list_of_keys() {
    for size in [(60, 15), (80, 24), (120, 40)] {
        let mut stage = Stage::with(size, usual());
        stage.keys(&["?"]);
        picture("help", size, &mut stage);
    }
}

#[test]
fn everything_there_is_to_do() {
    let mut stage = Stage::with((80, 24), usual());
    stage.keys(&[":"]);
    stage.write("car");
    picture("palette", (80, 24), &mut stage);
}

#[test]
fn a_no_asks_for_a_reason() {
    for size in [(60, 15), (120, 40)] {
        let mut stage = Stage::with(size, usual());
        stage.keys(&["Enter"]);
        stage.settle();
        stage.keys(&["r"]);
        stage.write("not on a Friday");
        picture("reject", size, &mut stage);
    }
}

#[test]
fn an_answer_that_is_held_says_so() {
    let mut stage = Stage::with((100, 24), vec![verdict(1, "Deploy?")]);
    stage.keys(&["a"]);
    stage.prove();
    stage.pass(1_200);
    picture("held", (100, 24), &mut stage);
}

#[test]
fn settled_elsewhere_it_stays_and_says_by_whom() {
    let gates = vec![verdict(1, "Deploy?"), verdict(2, "Tag the release?")];
    let mut stage = Stage::with((100, 24), gates.clone());
    let no = answered(gates[0].clone(), "bob", Answer::rejected(Some("not on a Friday".into())));
    stage.refresh(vec![gates[1].clone()], vec![no]);
    looked_at(&mut stage);
    picture("elsewhere", (100, 24), &mut stage);
}

#[test]
fn a_terminal_that_is_too_small_is_told_so() {
    let mut stage = Stage::with((80, 24), vec![verdict(1, "Deploy?")]);
    stage.happen(InboxEvent::Resized(40, 10));
    picture("small", (40, 10), &mut stage);
    // Nothing that is not seen is answered.
    stage.pass(1_000);
    stage.keys(&["a"]);
    stage.prove();
    stage.pass(9_000);
    assert_eq!(stage.sent(), 0);
}

/// Colour alone carries no meaning: without colours the text is the same.
#[test]
fn without_colours_the_same_is_said() {
    let mut stage = Stage::with((120, 40), usual());
    let coloured = stage.draw();
    stage.state.colour = false;
    assert_eq!(stage.draw(), coloured);
    let area = Rect::new(0, 0, 120, 40);
    let mut buffer = Buffer::empty(area);
    view(&stage.state, area, &mut buffer);
    let plain = ratatui::style::Color::Reset;
    assert!(buffer.content.iter().all(|cell| cell.fg == plain && cell.bg == plain));
}
