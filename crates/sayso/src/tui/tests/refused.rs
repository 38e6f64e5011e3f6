//! A refused line stays open with its text: further typing goes into the line and is no key.

use super::*;
use crate::exit::Failure;
use crate::tui::state::InputMode;
use sayso_core::Code;

/// Everything that would do something if it were keys.
const REST: &str = "no, a jar x a r q z v c";

struct Case {
    gate: Gate,
    key: &'static str,
    typed: &'static str,
    /// The reply of the desk, if it is asked.
    refused: Option<&'static str>,
    told: &'static str,
}

fn one(shape: AnswerShape, kind: GateKind) -> Gate {
    waits(opened(1, kind, shape, "Well?"), 1)
}

fn choice() -> Gate {
    let shape = AnswerShape::Choice {
        options: options(&[("a", ""), ("b", "")]),
        multi: false,
        other: false,
    };
    one(shape, GateKind::Input)
}

fn cases() -> Vec<Case> {
    let yes_or_no = || verdict(1, "Deploy?");
    let case = |gate, key, typed, refused, told| Case { gate, key, typed, refused, told };
    vec![
        case(one(AnswerShape::Verdict, GateKind::Work), "r", "", None, "reason"),
        case(one(AnswerShape::Verdict, GateKind::Work), "r", "  ", None, "reason"),
        case(yes_or_no(), "h", "noonish", None, "\"noonish\" is no time"),
        case(yes_or_no(), "h", "", None, "until when?"),
        case(yes_or_no(), "h", "1h", Some("it is too late for that"), "it is too late for that"),
        case(yes_or_no(), "@", "", None, "to whom?"),
        case(yes_or_no(), "@", "nobody", Some("nobody here is called"), "nobody here is called"),
        case(choice(), "e", "9", None, "is not one of the options"),
        case(yes_or_no(), "/", "zebra", None, "no card has that in it"),
        case(yes_or_no(), ":", "zebra", None, "there is nothing of that name"),
    ]
}

fn typed(stage: &Stage) -> String {
    match &stage.state.mode {
        InputMode::Field(field) => field.text.clone(),
        InputMode::Palette { typed, .. } => typed.clone(),
        InputMode::Look | InputMode::Help { .. } | InputMode::Cut(_) => "(no line)".into(),
    }
}

#[test]
fn what_is_refused_keeps_its_line_open() {
    for Case { gate, key, typed: text, refused, told } in cases() {
        let id = gate.opened.id;
        let mut stage = Stage::with((120, 40), vec![gate]);
        stage.keys(&[key, "Ctrl+u"]);
        stage.write(text);
        stage.keys(&["Enter"]);
        if let Some(refused) = refused {
            // Until the desk has replied, keys have no effect.
            stage.write("aq");
            stage.prove();
            stage.write("aq");
            let failure = Failure::new(Code::BadValue, refused);
            stage.happen(InboxEvent::Done(id, Err(failure)));
        }
        let screen = stage.draw();
        assert!(screen.contains(told), "{key} {text:?}: {screen}");
        assert_eq!(typed(&stage), text, "{key}");
        for letter in REST.chars() {
            stage.keys(&[&letter.to_string()]);
            stage.draw();
            stage.pass(150);
        }
        assert_eq!(typed(&stage), format!("{text}{REST}"), "{key}");
        assert!(stage.state.proving.is_empty() && !stage.state.is_leaving, "{key}");
        stage.pass(10_000);
        assert_eq!(stage.sent(), 0, "{key}");
        stage.keys(&["Escape"]);
        assert_eq!(stage.state.mode, InputMode::Look, "{key}");
    }
    assert_eq!(cases().len(), 10);
}

/// An accepted line is closed, and keys typed right behind it are dropped.
#[test]
fn what_is_taken_closes_its_line() {
    let gate = verdict(1, "Deploy?");
    for (key, text) in [("h", "2h"), ("@", "bob")] {
        let mut stage = Stage::with((120, 40), vec![gate.clone()]);
        stage.keys(&[key, "Ctrl+u"]);
        stage.write(text);
        stage.keys(&["Enter"]);
        assert_eq!(typed(&stage), text);
        stage.prove();
        stage.happen(InboxEvent::Done(gate.opened.id, Ok("done".into())));
        assert_eq!(stage.state.mode, InputMode::Look);
        for _ in 0..5 {
            stage.draw();
            stage.pass(150);
            stage.keys(&["a"]);
        }
        assert!(stage.state.proving.is_empty(), "{key}");
    }
}

/// A line can be left while the desk does not reply, or rejects the person.
#[test]
fn a_line_is_left_while_the_desk_is_asked() {
    let mut stage = Stage::with((120, 40), vec![verdict(1, "Deploy?")]);
    stage.keys(&["h", "Enter", "Escape"]);
    assert_eq!(stage.state.mode, InputMode::Look);
    let mut stage = Stage::with((120, 40), vec![verdict(1, "Deploy?")]);
    stage.keys(&["h", "Enter"]);
    stage.happen(InboxEvent::Proved(Err(Failure::new(Code::ProofTooLow, "wrong passphrase"))));
    stage.write("m");
    assert_eq!(typed(&stage), "1hm");
}
