//! Joint answers: a mark has the conditions of an answer, and one approval for many contains nothing that was not
//! meant.

use super::*;
use crate::tui::state::{EditedText, EditorSession, InputMode};

fn three() -> Vec<Gate> {
    vec![verdict(1, "First?"), verdict(2, "Second?"), verdict(3, "Third?")]
}

/// A call whose arguments can be changed.
fn call(number: u128) -> Gate {
    let mut call = opened(number, GateKind::Tool, AnswerShape::Verdict, "May this run?");
    let fact = |name: &str, value: &str| CardFact {
        name: name.into(),
        value: value.into(),
        verified: true,
    };
    let arguments = "{\"command\": \"git push --force\"}";
    call.card.facts = vec![fact("tool", "Bash"), fact("arguments", arguments)];
    waits(call, 3)
}

fn written(stage: &Stage, text: &str) -> InboxEvent {
    let target = stage.state.here().unwrap().target();
    let written = EditorSession { target, what: EditedText::Arguments, has_sent: false };
    InboxEvent::Written(written, Ok(Some(text.into())))
}

/// A draft is never part of a joint approval, if it was written before the mark or after it.
#[test]
fn what_was_written_is_never_left_behind() {
    let changed = "{\"command\": \"git push --dry-run\"}";
    let mut tried = 0;
    for text in [changed, "{\"command\": "] {
        for is_marked_first in [false, true] {
            let mut stage = Stage::with((120, 40), vec![call(1), call(2)]);
            if is_marked_first {
                stage.keys(&["x"]);
            }
            let event = written(&stage, text);
            stage.happen(event);
            stage.settle();
            if !is_marked_first {
                stage.keys(&["x"]);
                let words = "g1k2m has something you wrote; answer it by itself";
                assert!(stage.draw().contains(words), "{text}");
            }
            stage.next();
            stage.keys(&["x", "a"]);
            stage.prove();
            if is_marked_first {
                let screen = stage.draw();
                assert!(screen.contains("approving g2k2m in 5 s"), "{screen}");
                assert!(screen.contains("left out: g1k2m has something you wrote"), "{screen}");
                assert!(stage.state.marks.contains_key(&call(1).opened.id));
            }
            stage.pass(5_100);
            let gates: Vec<_> = stage.said().iter().map(|say| say.gate).collect();
            assert_eq!(gates, [call(2).opened.id], "{text} {is_marked_first}");
            tried += 1;
        }
    }
    assert_eq!(tried, 4);
    // Words count as much, and alone it is approved with them.
    let mut stage = Stage::with((120, 40), three());
    stage.keys(&["e"]);
    stage.write("carefully");
    stage.keys(&["Enter", "x"]);
    assert!(stage.state.marks.is_empty());
    stage.keys(&["a"]);
    stage.prove();
    stage.pass(5_100);
    assert_eq!(stage.said()[0].answer.reason.as_deref(), Some("carefully"));
}

/// On a screen with the list alone no card was shown, so none is marked, approved or rejected.
#[test]
fn what_was_not_shown_is_not_marked() {
    let mut stage = Stage::with((60, 15), three());
    for keys in [&["x", "j", "x", "a"][..], &["a"], &["r"]] {
        stage.pass(1_000);
        stage.keys(keys);
        assert!(stage.state.marks.is_empty() && stage.state.mode == InputMode::Look, "{keys:?}");
        assert!(stage.draw().contains("Enter looks at the card first"), "{keys:?}");
    }
    stage.pass(1_000);
    stage.keys(&["Enter"]);
    stage.settle();
    stage.keys(&["x"]);
    assert_eq!(stage.state.marks.len(), 1);
    // Back in the list, the card must be opened again.
    stage.keys(&["Escape"]);
    stage.settle();
    stage.keys(&["a"]);
    assert!(stage.state.proving.is_empty());
}

/// Keys typed too soon mark nothing and approve nothing, also with earlier marks.
#[test]
fn a_mark_takes_its_time() {
    for (marked, keys) in [(0, &["j", "x", "a"][..]), (1, &["j", "x", "a"]), (1, &["j", "a"])] {
        let mut stage = Stage::with((120, 40), three());
        if marked > 0 {
            stage.mark(marked);
        }
        for key in keys {
            stage.keys(&[key]);
            stage.draw();
            stage.pass(50);
        }
        assert_eq!(stage.state.marks.len(), marked, "{keys:?}");
        assert!(stage.state.proving.is_empty(), "{keys:?}");
    }
}

/// A card hidden by the filter is not part of a joint answer, by neither verdict.
#[test]
fn what_is_hidden_is_left_out() {
    for key in ["a", "r"] {
        let mut stage = Stage::with((120, 40), three());
        stage.mark(2);
        stage.keys(&["/"]);
        stage.write("second");
        stage.keys(&["Enter"]);
        stage.settle();
        stage.keys(&[key]);
        let left_out = "left out: g1k2m is hidden by what you look for";
        if key == "r" {
            assert!(stage.draw().contains(left_out) && stage.draw().contains("Reject g2k2m"));
            stage.keys(&["Enter"]);
        }
        stage.prove();
        assert!(key == "r" || stage.draw().contains(left_out));
        stage.pass(5_100);
        let gates: Vec<_> = stage.said().iter().map(|say| say.gate).collect();
        assert_eq!(gates, [three()[1].opened.id], "{key}");
        assert!(stage.state.marks.keys().eq([&three()[0].opened.id]), "{key}");
    }
    // If all marked cards are hidden, nothing is sent.
    let mut stage = Stage::with((120, 40), three());
    stage.mark(2);
    stage.keys(&["/"]);
    stage.write("third");
    stage.keys(&["Enter"]);
    stage.settle();
    stage.keys(&["a"]);
    assert!(stage.state.proving.is_empty());
    assert!(stage.draw().contains("is hidden by what you look for"));
}

/// One card is called by its name, also among the marked.
#[test]
fn one_card_is_not_cards() {
    let mut stage = Stage::with((120, 40), three());
    stage.mark(1);
    stage.keys(&["a"]);
    stage.prove();
    assert!(stage.draw().contains("approving g1k2m in 5 s"));
}
