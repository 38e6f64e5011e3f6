//! Typed text belongs to the person: it never turns into keys, and it is not lost before it is sent or thrown away.

use super::*;
use crate::exit::Failure;
use crate::tui::drafts::unsent_drafts;
use crate::tui::state::{EditedText, EditorContent, EditorSession, InputMode};
use sayso_core::Code;

fn two() -> Vec<Gate> {
    vec![verdict(1, "First?"), verdict(2, "Second?")]
}

fn one(shape: AnswerShape, kind: GateKind) -> Gate {
    waits(opened(1, kind, shape, "Well?"), 1)
}

fn choice(names: &[&str], multi: bool, other: bool) -> Gate {
    let names: Vec<_> = names.iter().map(|name| (*name, "")).collect();
    one(AnswerShape::Choice { options: options(&names), multi, other }, GateKind::Input)
}

fn line(stage: &Stage) -> &str {
    match &stage.state.mode {
        InputMode::Field(field) | InputMode::Cut(field) => &field.text,
        InputMode::Look | InputMode::Help { .. } | InputMode::Palette { .. } => "",
    }
}

/// Types as people do, with a frame after each letter.
fn type_slowly(stage: &mut Stage, text: &str) {
    for letter in text.chars() {
        stage.keys(&[&letter.to_string()]);
        stage.draw();
        stage.pass(150);
    }
}

fn said(stage: &mut Stage) -> Answer {
    stage.prove();
    stage.pass(5_100);
    let sent = stage.done.iter().rev().find_map(|effect| match effect {
        InboxEffect::Send(says) => says.first().map(|say| say.answer.clone()),
        _ => None,
    });
    sent.unwrap()
}

fn opens_on(stage: &Stage) -> (EditorSession, String) {
    let opened = stage.done.iter().rev().find_map(|effect| match effect {
        InboxEffect::Write(written, EditorContent::Below { begun, .. }) => {
            Some((written.clone(), begun.clone()))
        }
        InboxEffect::Write(written, EditorContent::Json(text) | EditorContent::Form(text)) => {
            Some((written.clone(), text.clone()))
        }
        _ => None,
    });
    opened.unwrap()
}

/// A card that changes, or is answered by another person, under an open line: the rest of the typing is no key,
/// however slowly it comes, and nothing is sent to any card.
#[test]
fn what_is_typed_into_a_line_never_becomes_keys() {
    let rest = "nah, a jar; j a a hack a 1 z q v x @ c a";
    let mut tried = 0;
    for key in ["r", "e", "h", "@"] {
        for is_over in [false, true] {
            let gates = two();
            let mut stage = Stage::with((120, 40), gates.clone());
            stage.keys(&[key]);
            type_slowly(&mut stage, "because ");
            let now = if is_over {
                answered(gates[0].clone(), "bob", Answer::approved())
            } else {
                revised(&gates[0], "Delete 4,000 files?")
            };
            stage.refresh(vec![gates[1].clone()], vec![now]);
            assert!(matches!(stage.state.mode, InputMode::Cut(_)), "{key}");
            type_slowly(&mut stage, rest);
            stage.happen(InboxEvent::Pasted("a\n".into()));
            assert!(line(&stage).ends_with("because "), "{key}: {}", line(&stage));
            let screen = stage.draw();
            let title = if is_over {
                "g1k2m is settled; what you had typed is not sent"
            } else {
                "g1k2m has changed; what you had typed is kept"
            };
            assert!(screen.contains(title) && screen.contains("because"), "{screen}");
            // Keys typed right behind it do not count either.
            stage.keys(&["Enter"]);
            stage.draw();
            type_slowly(&mut stage, "aaara");
            assert_eq!(stage.state.mode, InputMode::Look, "{key}");
            assert!(stage.state.proving.is_empty() && !stage.state.is_leaving, "{key}");
            stage.prove();
            stage.pass(10_000);
            assert_eq!(stage.sent(), 0, "{key}");
            // The same key reopens it, if the card is open.
            stage.keys(&[key]);
            if is_over {
                assert_eq!(stage.state.mode, InputMode::Look)
            } else {
                assert!(line(&stage).ends_with("because "), "{key}: {}", line(&stage))
            }
            tried += 1;
        }
    }
    assert_eq!(tried, 8);
}

/// Several were marked, and one of them changed: the line about all of them is cut off, too.
#[test]
fn a_line_about_several_is_cut_off_by_each() {
    let gates = two();
    let mut stage = Stage::with((120, 40), gates.clone());
    stage.mark(2);
    stage.keys(&["r"]);
    stage.write("not ");
    let now = revised(&gates[0], "Other?");
    stage.refresh(vec![now.clone(), gates[1].clone()], vec![now]);
    type_slowly(&mut stage, "a a");
    assert!(matches!(stage.state.mode, InputMode::Cut(_)));
}

/// The filter line is about no card, so it stays open.
#[test]
fn finding_goes_on_when_a_card_changes() {
    let gates = two();
    let mut stage = Stage::with((120, 40), gates.clone());
    stage.keys(&["/"]);
    stage.write("fir");
    stage.refresh(vec![gates[1].clone()], vec![revised(&gates[0], "First, and more?")]);
    stage.write("st, a");
    assert_eq!(line(&stage), "first, a");
    assert_eq!(stage.state.list.shown().len(), 1);
}

/// A card that is not in the list is not under the cursor, is not shown, and is not answered.
#[test]
fn what_is_not_found_is_not_answered() {
    let mut stage = Stage::with((120, 40), two());
    stage.keys(&["j", "/"]);
    stage.write("second");
    stage.settle();
    stage.write(" x");
    stage.keys(&["Enter"]);
    stage.settle();
    let screen = stage.draw();
    assert!(screen.contains("No card has that in it.") && !screen.contains("Your answer"));
    stage.keys(&["a", "r"]);
    assert!(stage.state.proving.is_empty() && line(&stage) == "second xar");
    // The cursor returns to its row.
    stage.keys(&["Escape"]);
    assert_eq!(stage.state.here().unwrap().gate().handle(), "g2k2m");
}

/// Left with Esc, the text is there again; left with the program, it is printed.
#[test]
fn what_was_typed_is_kept() {
    let gate = one(AnswerShape::Text, GateKind::Input);
    let mut stage = Stage::with((120, 40), vec![gate.clone()]);
    stage.keys(&["e"]);
    stage.write("first words");
    stage.keys(&["Escape"]);
    assert!(stage.draw().contains("e goes on with what you had typed"));
    stage.keys(&["e"]);
    assert_eq!(line(&stage), "first words");
    // The editor cannot be started, or ends with an error.
    stage.keys(&["Tab"]);
    let (written, begun) = opens_on(&stage);
    assert_eq!(begun, "first words");
    let failure = Failure::new(Code::Editor, "the editor cannot be started");
    stage.happen(InboxEvent::Written(written.clone(), Err(failure)));
    stage.settle();
    stage.keys(&["e"]);
    assert_eq!(line(&stage), "first words");
    // It is left without saving.
    stage.keys(&["Tab"]);
    stage.happen(InboxEvent::Written(written, Ok(None)));
    assert!(stage.draw().contains("not saved in the editor"));
    stage.settle();
    stage.keys(&["a"]);
    assert!(stage.state.proving.is_empty());
    stage.keys(&["e", "Enter"]);
    assert_eq!(unsent_drafts(&stage.state).len(), 1);
    assert!(
        unsent_drafts(&stage.state)[0].contains("g1k2m")
            && unsent_drafts(&stage.state)[0].ends_with("words")
    );
    // A card that changed has no draft, and the text for its earlier version reopens with the same key.
    let now = revised(&gate, "Well, then?");
    stage.refresh(vec![now.clone()], vec![now]);
    assert!(stage.draw().contains("what you had written is kept"));
    stage.settle();
    stage.keys(&["a"]);
    assert!(stage.state.proving.is_empty());
    stage.keys(&["e"]);
    assert_eq!(line(&stage), "first words");
    stage.keys(&["Enter", "a"]);
    assert_eq!(said(&mut stage), Answer::text("first words"));
}

/// An undone rejection has its reason again.
#[test]
fn a_reason_comes_back() {
    let mut stage = Stage::with((120, 40), two());
    stage.keys(&["r"]);
    stage.write("not yet");
    stage.keys(&["Enter"]);
    stage.prove();
    assert!(
        stage
            .draw()
            .contains("rejecting g1k2m in 5 s: z takes it back, leaving sends it: \"not yet\"")
    );
    stage.keys(&["z", "r"]);
    assert_eq!(line(&stage), "not yet");
}

/// A form with a mistake in it opens again as it was written, with the mistake above it and by the number of the
/// line that the editor shows. Until then nothing is sent, also nothing that was written before.
#[test]
fn what_cannot_be_read_opens_again() {
    let schema = serde_json::json!({"type": "object", "properties": {"port": {"type": "integer"}}});
    let mut stage =
        Stage::with((120, 40), vec![one(AnswerShape::Form { schema }, GateKind::Input)]);
    stage.keys(&["e"]);
    let (written, _) = opens_on(&stage);
    stage.happen(InboxEvent::Written(written.clone(), Ok(Some("{\"port\": 80}".into()))));
    stage.settle();
    let text = "// Well?\n{\n  // port\n  \"port\": 8080x\n}\n";
    stage.happen(InboxEvent::Written(written.clone(), Ok(Some(text.into()))));
    let screen = stage.draw();
    assert!(screen.contains("not JSON yet") && screen.contains("line 4"), "{screen}");
    stage.settle();
    stage.keys(&["a"]);
    assert!(stage.state.proving.is_empty());
    for _ in 0..2 {
        stage.keys(&["e"]);
        let (_, again) = opens_on(&stage);
        assert!(again.starts_with("// ! not JSON yet: ") && again.contains("line 5"), "{again}");
        assert!(again.ends_with(text), "{again}");
        stage.happen(InboxEvent::Written(written.clone(), Ok(Some(again))));
        stage.settle();
    }
    stage.happen(InboxEvent::Written(written, Ok(Some(text.replace('x', "")))));
    stage.settle();
    stage.keys(&["a"]);
    let form = serde_json::json!({"port": 8080});
    assert_eq!(said(&mut stage).content, sayso_core::AnswerContent::Form(form));
}

/// Arguments that cannot be read: a yes does not run the call as it was asked instead.
#[test]
fn a_yes_waits_for_arguments_that_can_be_read() {
    let mut call = opened(1, GateKind::Tool, AnswerShape::Verdict, "May this run?");
    call.card.facts =
        vec![CardFact { name: "command".into(), value: "rm -r build".into(), verified: true }];
    let mut stage = Stage::with((120, 40), vec![waits(call, 1)]);
    stage.keys(&["e"]);
    let (written, _) = opens_on(&stage);
    assert_eq!(written.what, EditedText::Arguments);
    stage.happen(InboxEvent::Written(written.clone(), Ok(Some("{\"command\": \"ls}".into()))));
    stage.settle();
    stage.keys(&["a"]);
    assert!(stage.state.proving.is_empty());
    assert!(stage.draw().contains("not in the answer yet"));
    // Emptied, the arguments are the original ones.
    stage.happen(InboxEvent::Written(written, Ok(Some("\n".into()))));
    stage.settle();
    stage.keys(&["a"]);
    assert_eq!(said(&mut stage), Answer::approved());
}

/// All that is wrong with a form can be read.
#[test]
fn every_mistake_is_on_the_card() {
    let names: Vec<_> = (0..5).map(|n| format!("a-rather-long-name-{n}")).collect();
    let properties: serde_json::Map<_, _> =
        names.iter().map(|name| (name.clone(), serde_json::json!({"type": "integer"}))).collect();
    let schema = serde_json::json!({"type": "object", "required": names, "properties": properties});
    let mut stage =
        Stage::with((120, 50), vec![one(AnswerShape::Form { schema }, GateKind::Input)]);
    stage.keys(&["e"]);
    let (written, _) = opens_on(&stage);
    stage.happen(InboxEvent::Written(written, Ok(Some("{}".into()))));
    stage.settle();
    stage.keys(&["a"]);
    let screen = stage.draw();
    assert!(screen.contains("Your answer was not taken"), "{screen}");
    for name in &names {
        assert!(screen.contains(&format!("/{name}: ")), "{name}\n{screen}");
    }
}

#[test]
fn options_and_words() {
    let answer = |gate: Gate, keys: &[&str], typed: &str, more: &[&str]| {
        let mut stage = Stage::with((120, 40), vec![gate]);
        stage.keys(keys);
        stage.write(typed);
        stage.keys(&["Enter"]);
        stage.keys(more);
        stage.keys(&["a"]);
        said(&mut stage)
    };
    let names = ["New York", "Rome", "Oslo"];
    let picked = |names: &[&str], other: Option<&str>| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Answer::choice(names, other.map(Into::into))
    };
    let cases = [
        // A custom answer is added to the picked options where several may be picked, and replaces them where one
        // may.
        (
            true,
            &["1", "3", "e"][..],
            "and Bonn",
            &[][..],
            picked(&["New York", "Oslo"], Some("and Bonn")),
        ),
        (false, &["1", "e"], "Bonn", &[], picked(&[], Some("Bonn"))),
        (false, &["e"], "Bonn", &["1"], picked(&["New York"], None)),
        // A name with a space in it is a name.
        (true, &["e"], "New York", &[], picked(&["New York"], None)),
        (true, &["e"], "Oslo, New York", &[], picked(&["New York", "Oslo"], None)),
        (true, &["e"], "2 3", &[], picked(&["Rome", "Oslo"], None)),
        (false, &["e"], "2", &[], picked(&["Rome"], None)),
    ];
    for (multi, keys, typed, more, wanted) in cases {
        let gate = choice(&names, multi, true);
        assert_eq!(answer(gate, keys, typed, more), wanted, "{multi} {keys:?} {typed}");
    }
    // A text that is no option leaves the line open, and the message lists the options.
    for (typed, other) in [("9", true), ("Bonn", false), ("1 9", true)] {
        let mut stage = Stage::with((120, 40), vec![choice(&names, true, other)]);
        stage.keys(&["e"]);
        stage.write(typed);
        stage.keys(&["Enter"]);
        assert_eq!(line(&stage), typed);
        let screen = stage.draw();
        assert!(
            screen.contains("is not one of the options") && screen.contains("\"Rome\""),
            "{screen}"
        );
    }
    // With numbers as options, another number is a custom answer.
    let gate = choice(&["80", "443"], false, true);
    assert_eq!(answer(gate, &["e"], "8080", &[]), picked(&[], Some("8080")));
}

#[test]
fn a_line_is_edited() {
    let mut stage = Stage::with((120, 40), two());
    stage.keys(&["r"]);
    stage.write("one two  three");
    stage.keys(&["Ctrl+w"]);
    assert_eq!(line(&stage), "one two  ");
    stage.keys(&["Ctrl+w"]);
    assert_eq!(line(&stage), "one ");
    stage.keys(&["Home", "Delete", "Delete"]);
    assert_eq!(line(&stage), "e ");
    stage.keys(&["End", "Delete"]);
    assert_eq!(line(&stage), "e ");
}

/// In a window that is too small to show the line, keys still go into it, and end nothing.
#[test]
fn a_line_outlives_a_small_window() {
    let mut stage = Stage::with((120, 40), two());
    stage.keys(&["r"]);
    stage.happen(InboxEvent::Resized(40, 10));
    stage.write("quite a risk");
    stage.keys(&["Enter", "Escape", "Tab", "Ctrl+c"]);
    assert!(!stage.state.is_leaving && stage.state.proving.is_empty());
    stage.happen(InboxEvent::Resized(120, 40));
    assert_eq!(line(&stage), "quite a risk");
    stage.keys(&["Escape"]);
    stage.happen(InboxEvent::Resized(40, 10));
    stage.keys(&["q"]);
    assert!(stage.state.is_leaving);
}

/// A message about one card does not stay under another; an error stays until there was time to read it.
#[test]
fn a_message_goes_with_its_card() {
    let mut stage = Stage::with((120, 40), two());
    stage.keys(&["e"]);
    stage.write("fine");
    stage.keys(&["Enter"]);
    assert!(stage.draw().contains("kept; a answers with it"));
    stage.keys(&["j"]);
    assert!(!stage.draw().contains("kept; a answers with it"));
    stage.state.set_error("refused");
    stage.keys(&["k"]);
    assert!(stage.draw().contains("refused"));
    stage.pass(3_000);
    stage.keys(&["j"]);
    assert!(!stage.draw().contains("refused"));
}

/// The message that an answer is not sent comes first, on the narrowest screen, too.
#[test]
fn not_sent_can_be_seen() {
    for columns in [60, 80, 120] {
        let mut stage = Stage::with((columns, 24), two());
        stage.keys(&["Enter"]);
        stage.settle();
        let why = "http://127.0.0.1:7777 does not answer: connection refused".to_owned();
        stage.happen(InboxEvent::Reached(Some((why, Duration::from_secs(4)))));
        assert!(stage.draw().contains("the server cannot be reached since"));
        stage.keys(&["a"]);
        stage.happen(InboxEvent::Proved(Err(Failure::new(Code::Unreachable, "nobody is there"))));
        let screen = stage.draw();
        assert!(screen.contains("! NOT SENT: approving g1k2m (z takes it back)"), "{screen}");
        assert!(screen.contains("z take back") && !screen.contains("leaving sends it"), "{screen}");
        stage.keys(&["z"]);
        let screen = stage.draw();
        assert!(screen.contains("taken back: approving g1k2m"), "{screen}");
    }
}

/// Held while the desk is unreachable: leaving would not send it, so the message does not say so.
#[test]
fn leaving_sends_nothing_where_nobody_is() {
    let mut stage = Stage::with((120, 40), two());
    stage.keys(&["a"]);
    stage.prove();
    stage.happen(InboxEvent::Reached(Some(("gone".into(), Duration::from_secs(4)))));
    let screen = stage.draw();
    assert!(screen.contains("z takes it back") && !screen.contains("leaving sends it"), "{screen}");
}

/// Of several joint answers, one gate was settled by another person: none is sent, and the others are marked.
#[test]
fn one_of_several_was_settled_elsewhere() {
    let gates = two();
    let mut stage = Stage::with((120, 40), gates.clone());
    stage.mark(2);
    stage.keys(&["a"]);
    stage.prove();
    let over = answered(gates[0].clone(), "bob", Answer::approved());
    stage.refresh(vec![gates[1].clone()], vec![over]);
    stage.pass(10_000);
    assert_eq!(stage.sent(), 0);
    assert!(stage.draw().contains("approving 2 cards was NOT sent: bob approved g1k2m first"));
    assert!(stage.state.marks.keys().eq([&gates[1].opened.id]));
}

/// Opening the editor sends held answers, and the label says so.
#[test]
fn the_editor_sends_what_is_held() {
    let gates = vec![verdict(2, "First?"), one(AnswerShape::Text, GateKind::Input)];
    let mut stage = Stage::with((120, 40), gates);
    stage.keys(&["a"]);
    stage.prove();
    stage.keys(&["j"]);
    stage.settle();
    stage.keys(&["e"]);
    assert!(stage.draw().contains("Tab opens your editor and sends what is held"));
    stage.keys(&["Tab"]);
    assert_eq!(stage.sent(), 1);
    let (written, _) = opens_on(&stage);
    stage.happen(InboxEvent::Written(written, Ok(Some("text".into()))));
    assert!(stage.draw().contains("what was held was sent when the editor opened"));
}

/// Every invisible character on a card is counted, in each of its fields.
#[test]
fn what_is_spelt_out_is_counted() {
    let shape = AnswerShape::Choice {
        options: options(&[("a\u{200b}", "b\u{200b}"), ("c", "")]),
        multi: false,
        other: false,
    };
    let mut asked = opened(1, GateKind::Input, shape, "Which\u{200b}?");
    asked.card.narrative = "so\u{200b}".into();
    asked.card.facts = vec![
        CardFact { name: "f\u{200b}".into(), value: "x\u{202e}y".into(), verified: true },
        CardFact {
            name: "g".into(),
            value: serde_json::json!({"k\u{200b}": ["\u{200b}"]}),
            verified: false,
        },
    ];
    let mut stage = Stage::with((120, 50), vec![waits(asked, 1)]);
    let screen = stage.draw();
    assert!(screen.contains("! 8 invisible or control characters are spelt out"), "{screen}");
}

/// A snoozed row shows it, and a row that unblocks others says so at every age.
#[test]
fn rows_say_what_matters() {
    let gate = waits(opened(1, GateKind::Approval, AnswerShape::Verdict, "Deploy?"), 125);
    let mut stage = Stage::with((120, 40), vec![gate.clone()]);
    stage.state.list.rows[0].asked.gate.snoozed_until = Some(noon().plus_micros(60 * MINUTE));
    let screen = stage.draw();
    assert!(screen.contains("▌h g1k2m") && screen.contains("back in 1 hour"), "{screen}");
    let mut stage = Stage::with(
        (80, 24),
        vec![waits(opened(1, GateKind::Escalation, AnswerShape::Verdict, "Deploy?"), 12)],
    );
    stage.state.list.rows[0].asked.unblocks.tasks = 3;
    let screen = stage.draw();
    let mut rows = screen.lines().filter_map(|line| line.split('│').next());
    assert!(rows.any(|row| row.contains("unblocks 3 tasks: ")), "{screen}");
}

/// Only our own command is put on the clipboard.
#[test]
fn the_command_is_copied() {
    let mut stage = Stage::with((120, 40), two());
    stage.keys(&["y"]);
    assert_eq!(stage.done.last(), Some(&InboxEffect::Copy("sayso approve g1k2m".into())));
}
