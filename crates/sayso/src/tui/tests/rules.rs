//! The rules of the inbox, each tried by hand.

use super::*;
use crate::exit::Failure;
use crate::tui::state::{EditedText, ExitMessage, InboxListKind, InboxPane, InputMode};
use sayso_core::Code;
use sayso_engine::AnswerOutcome;
use sayso_server::keys::{KEYS, KeyAction};

fn three() -> Vec<Gate> {
    vec![verdict(1, "First?"), verdict(2, "Second?"), verdict(3, "Third?")]
}

fn here(stage: &Stage) -> String {
    stage.state.here().map(|row| row.gate().handle().to_owned()).unwrap_or_default()
}

#[test]
fn looking_around() {
    let mut stage = Stage::with((120, 40), three());
    for (key, place) in [
        ("j", "g2k2m"),
        ("ArrowDown", "g3k2m"),
        ("j", "g3k2m"),
        ("k", "g2k2m"),
        ("g", "g1k2m"),
        ("ArrowUp", "g1k2m"),
        ("G", "g3k2m"),
        ("Home", "g1k2m"),
        ("End", "g3k2m"),
    ] {
        stage.keys(&[key]);
        assert_eq!(here(&stage), place, "{key}");
    }
    assert_eq!(stage.sent(), 0);
}

/// Keys pressed before there was a card, right when it came, or with another one on the screen.
#[test]
fn keys_for_something_else_are_dropped() {
    let mut stage = Stage::opened((120, 40));
    stage.draw();
    stage.keys(&["a", "r", "1", "e", "h", "c", "@"]);
    stage.load(three(), None);
    // Fetched and not drawn.
    stage.keys(&["a", "r"]);
    assert_eq!(stage.state.mode, InputMode::Look);
    stage.draw();
    stage.pass(399);
    stage.keys(&["a", "r", "e", "c"]);
    assert!(stage.state.proving.is_empty() && stage.state.mode == InputMode::Look);
    // Further typing belongs to the same words: each dropped key starts the dead time again.
    for _ in 0..5 {
        stage.pass(399);
        stage.keys(&["a"]);
    }
    assert!(stage.state.proving.is_empty());
    stage.pass(400);
    stage.keys(&["a"]);
    assert!(!stage.state.proving.is_empty());
    // Another card, and it all begins again.
    let mut stage = Stage::with((120, 40), three());
    stage.keys(&["j", "a"]);
    assert!(stage.state.proving.is_empty());
    stage.draw();
    stage.pass(100);
    stage.keys(&["a"]);
    assert!(stage.state.proving.is_empty());
    stage.pass(400);
    stage.keys(&["a"]);
    assert!(!stage.state.proving.is_empty());
}

/// Enter, the space bar and Tab say nothing, wherever they are pressed on the way to an answer.
#[test]
fn enter_never_approves() {
    let choice = AnswerShape::Choice {
        options: options(&[("a", ""), ("b", "")]),
        multi: false,
        other: true,
    };
    let gates = vec![
        verdict(1, "Deploy?"),
        waits(opened(2, GateKind::Input, choice, "Which?"), 3),
        waits(opened(3, GateKind::Input, AnswerShape::Text, "What?"), 3),
        waits(opened(4, GateKind::Escalation, AnswerShape::Verdict, "Whereto?"), 3),
    ];
    for place in 0..gates.len() {
        for begun in [
            &[][..],
            &["1"],
            &["e"],
            &["e", "x"],
            &[":"],
            &[":", "a", "p", "p"],
            &["x"],
            &["/"],
            &["?"],
        ] {
            let mut stage = Stage::with((120, 40), gates.clone());
            stage.keys(&vec!["j"; place]);
            stage.settle();
            stage.keys(begun);
            for key in ["Enter", " ", "Tab", "Enter"] {
                stage.keys(&[key]);
                stage.settle();
                stage.prove();
            }
            stage.pass(10_000);
            assert_eq!(stage.sent(), 0, "{place} {begun:?}");
            assert!(stage.state.held.is_empty() && stage.state.proving.is_empty());
        }
    }
}

#[test]
fn an_answer_is_held_and_can_be_taken_back() {
    let mut stage = Stage::with((120, 40), three());
    stage.keys(&["a"]);
    // Nothing is held before the identity check.
    assert!(stage.state.held.is_empty());
    stage.prove();
    stage.pass(4_900);
    assert_eq!(stage.sent(), 0);
    assert!(stage.draw().contains("approving g1k2m in 1 s: z takes it back, leaving sends it"));
    stage.keys(&["z"]);
    stage.pass(10_000);
    assert_eq!(stage.sent(), 0);
    assert!(stage.draw().contains("taken back: approving g1k2m; nothing was sent"));
    // Approved again, it is sent once, with the digest that was drawn, and is not shown as done.
    stage.keys(&["a"]);
    stage.prove();
    stage.keys(&["a", "a"]);
    stage.pass(5_000);
    stage.pass(5_000);
    assert_eq!(stage.sent(), 1);
    let gate = three().remove(0);
    let said = stage.done.iter().find_map(|effect| match effect {
        InboxEffect::Send(says) => says.first().cloned(),
        _ => None,
    });
    let said = said.unwrap();
    assert_eq!((said.gate, said.digest), (gate.opened.id, gate.digest.to_string()));
    assert!(!stage.draw().contains("approved by"));
    let done = answered(gate.clone(), "ann", Answer::approved());
    stage.happen(InboxEvent::Sent(
        vec![gate.opened.id],
        Ok(vec![AnswerOutcome::Answered(vec![done])]),
    ));
    assert!(stage.draw().contains("approved by ann"));
}

/// Each answer has its own five seconds, and the latest is undone first.
#[test]
fn every_answer_is_held_for_its_own_time() {
    let two = || {
        let mut stage = Stage::with((120, 40), three());
        stage.keys(&["a"]);
        stage.prove();
        stage.keys(&["j"]);
        stage.settle();
        stage.pass(2_000);
        stage.keys(&["a"]);
        stage.prove();
        assert_eq!(stage.sent(), 0);
        assert!(stage.draw().contains("approving g2k2m in 5 s (1 before it)"));
        stage
    };
    let mut stage = two();
    stage.pass(2_500);
    assert_eq!(stage.sent(), 1);
    assert!(stage.draw().contains("approving g2k2m in 3 s: z"));
    stage.pass(2_500);
    assert_eq!(stage.sent(), 2);
    // Undone one by one, from the last.
    let mut stage = two();
    stage.keys(&["z"]);
    assert!(stage.draw().contains("approving g1k2m in"));
    stage.keys(&["z"]);
    stage.pass(10_000);
    assert_eq!(stage.sent(), 0);
    // The first is sent although the second is not.
    let mut stage = two();
    stage.keys(&["z"]);
    stage.pass(10_000);
    assert_eq!(stage.sent(), 1);
    // Leaving sends both.
    let mut stage = two();
    stage.keys(&["q"]);
    assert_eq!(stage.sent(), 2);
}

/// An answer given during the identity check of another one replaces none.
#[test]
fn a_slow_desk_loses_no_answer() {
    let mut stage = Stage::with((120, 40), three());
    stage.keys(&["a", "j"]);
    stage.settle();
    stage.keys(&["a"]);
    stage.prove();
    stage.prove();
    assert_eq!(stage.state.held.len(), 2);
}

/// An undo restores the marks of a joint answer.
#[test]
fn marks_come_back() {
    let mut stage = Stage::with((120, 40), three());
    stage.mark(2);
    stage.keys(&["a"]);
    stage.prove();
    assert!(stage.state.marks.is_empty());
    stage.keys(&["z"]);
    assert_eq!(stage.state.marks.len(), 2);
}

/// Quitting sends held answers and waits for their outcome.
#[test]
fn leaving_sends_what_is_held() {
    let mut stage = Stage::with((120, 40), three());
    stage.keys(&["a"]);
    stage.prove();
    stage.keys(&["q"]);
    assert_eq!(stage.sent(), 1);
    assert!(!stage.done.contains(&InboxEffect::Leave));
    let gate = three().remove(0);
    let done = answered(gate.clone(), "ann", Answer::approved());
    stage.happen(InboxEvent::Sent(
        vec![gate.opened.id],
        Ok(vec![AnswerOutcome::Answered(vec![done])]),
    ));
    assert!(stage.done.contains(&InboxEffect::Leave));
    assert_eq!(stage.state.farewell.len(), 1);
    // With nothing held it is over at once, by either key.
    for key in ["q", "Ctrl+c"] {
        let mut stage = Stage::with((120, 40), three());
        stage.keys(&[key]);
        assert!(stage.done.contains(&InboxEffect::Leave), "{key}");
        assert_eq!(stage.sent(), 0);
    }
    // On a signal or Ctrl+C nothing is sent, and that is reported.
    for is_key in [true, false] {
        let mut stage = Stage::with((120, 40), three());
        stage.keys(&["a"]);
        stage.prove();
        stage.keys(&["j"]);
        stage.settle();
        // For this one the identity check is not finished.
        stage.keys(&["a"]);
        if is_key {
            stage.keys(&["Ctrl+c"])
        } else {
            stage.happen(InboxEvent::Ended)
        }
        assert!(stage.done.contains(&InboxEffect::Leave));
        stage.prove();
        stage.pass(10_000);
        assert_eq!(stage.sent(), 0);
        let told = stage.state.farewell.iter().filter_map(|one| match one {
            ExitMessage::Bad(failure) => Some(failure.message.as_str()),
            ExitMessage::Good(_) | ExitMessage::Note(..) => None,
        });
        let told: Vec<_> = told.collect();
        assert!(told.iter().all(|words| words.contains("nothing was sent")), "{told:?}");
        assert!(told[0].contains("approving g1k2m"), "{told:?}");
        assert_eq!(told.len(), 2);
    }
}

#[test]
fn a_card_that_changed_is_looked_at_again() {
    let gates = three();
    let mut stage = Stage::with((120, 40), gates.clone());
    stage.keys(&["a"]);
    stage.prove();
    let now = revised(&gates[0], "Delete 4,000 files?");
    let list = vec![now.clone(), gates[1].clone(), gates[2].clone()];
    stage.refresh(list, vec![now]);
    assert!(stage.draw().contains("g1k2m has changed; look again"));
    stage.keys(&["a"]);
    stage.pass(10_000);
    assert_eq!(stage.sent(), 0);
    // A line opened for the earlier version is not sent to this one.
    let mut stage = Stage::with((120, 40), gates.clone());
    stage.keys(&["r"]);
    stage.write("no");
    let now = revised(&gates[0], "Delete 4,000 files?");
    stage.refresh(vec![now.clone()], vec![now]);
    stage.keys(&["Enter"]);
    stage.prove();
    stage.pass(10_000);
    assert_eq!(stage.sent(), 0);
    // Nor is it marked any more.
    let mut stage = Stage::with((120, 40), gates.clone());
    stage.keys(&["x"]);
    stage.refresh(gates.clone(), vec![revised(&gates[0], "Other?")]);
    assert!(stage.state.marks.is_empty());
}

/// Settled by another person while an answer was held: the answer is not sent, and the message names that person.
#[test]
fn whoever_was_first_is_named() {
    let gates = three();
    let mut stage = Stage::with((120, 40), gates.clone());
    stage.keys(&["a"]);
    stage.prove();
    let over = answered(gates[0].clone(), "bob", Answer::rejected(None));
    stage.refresh(gates[1..].to_vec(), vec![over]);
    stage.pass(10_000);
    assert_eq!(stage.sent(), 0);
    let words = "your yes to g1k2m was NOT sent: bob rejected g1k2m first";
    assert!(stage.draw().contains(words));
    assert!(
        stage
            .state
            .farewell
            .iter()
            .any(|one| matches!(one, ExitMessage::Note(_, it) if it == words))
    );
    assert_eq!(here(&stage), "g1k2m");
    stage.settle();
    stage.keys(&["a", "r"]);
    assert!(stage.state.proving.is_empty() && stage.state.mode == InputMode::Look);
}

#[test]
fn nothing_moves_under_the_cursor() {
    let gates = three();
    let mut stage = Stage::with((120, 40), gates.clone());
    stage.keys(&["j"]);
    stage.settle();
    let place = |stage: &mut Stage| {
        let screen = stage.draw();
        screen
            .lines()
            .position(|line| line.contains("▌  g2k2m") || line.contains("▌● g2k2m"))
            .unwrap()
    };
    let before = place(&mut stage);
    // One above is answered, and many new ones come with a higher priority.
    let over = answered(gates[0].clone(), "bob", Answer::approved());
    for round in 0..50u128 {
        let new: Vec<_> = (0..20).map(|n| verdict(100 + round * 20 + n, "Now?")).collect();
        let first: Vec<_> = new.into_iter().chain(gates[1..].to_vec()).collect();
        stage.refresh(first, vec![over.clone()]);
        assert_eq!(place(&mut stage), before);
        assert_eq!(here(&stage), "g2k2m");
    }
    assert_eq!(stage.state.list.rows.len(), 3 + 50 * 20);
    let order: Vec<_> = stage.state.list.rows[..3].iter().map(|row| row.gate().handle()).collect();
    assert_eq!(order, ["g1k2m", "g2k2m", "g3k2m"]);
    // The card never went away, so it may be answered.
    stage.keys(&["a"]);
    assert!(!stage.state.proving.is_empty());
}

/// A card that comes into an empty list is not put under the cursor.
#[test]
fn the_first_card_to_come_is_not_under_the_cursor() {
    let mut stage = Stage::with((120, 40), vec![]);
    stage.refresh(three(), vec![]);
    stage.settle();
    stage.keys(&["a", "a", "r"]);
    assert_eq!(here(&stage), "");
    assert!(stage.state.proving.is_empty() && stage.state.mode == InputMode::Look);
    stage.keys(&["j"]);
    assert_eq!(here(&stage), "g1k2m");
}

#[test]
fn each_form_of_answer() {
    let one = |shape: AnswerShape, kind: GateKind| vec![waits(opened(1, kind, shape, "Well?"), 1)];
    let said = |stage: &mut Stage| {
        stage.prove();
        stage.pass(5_100);
        let sent = stage.done.iter().find_map(|effect| match effect {
            InboxEffect::Send(says) => says.first().map(|say| say.answer.clone()),
            _ => None,
        });
        sent.unwrap()
    };
    // A text; an empty one is none.
    let mut stage = Stage::with((120, 40), one(AnswerShape::Text, GateKind::Input));
    stage.keys(&["a"]);
    assert!(stage.state.proving.is_empty());
    stage.keys(&["e"]);
    stage.write("8080");
    stage.keys(&["Enter", "a"]);
    assert_eq!(said(&mut stage), Answer::text("8080"));
    // One option, several, and words of one's own.
    let choice = |multi| AnswerShape::Choice {
        options: options(&[("x", ""), ("y", ""), ("z", "")]),
        multi,
        other: true,
    };
    let mut stage = Stage::with((120, 40), one(choice(false), GateKind::Input));
    stage.keys(&["a", "1", "3", "9", "a"]);
    assert_eq!(said(&mut stage), Answer::choice(vec!["z".into()], None));
    let mut stage = Stage::with((120, 40), one(choice(true), GateKind::Input));
    stage.keys(&["1", "3", "1", "2", "a"]);
    assert_eq!(said(&mut stage), Answer::choice(vec!["y".into(), "z".into()], None));
    let mut stage = Stage::with((120, 40), one(choice(false), GateKind::Input));
    stage.keys(&["e"]);
    stage.write("neither");
    stage.keys(&["Enter", "a"]);
    assert_eq!(said(&mut stage), Answer::choice(vec![], Some("neither".into())));
    // An approval with a comment, and direction.
    let mut stage = Stage::with((120, 40), one(AnswerShape::Verdict, GateKind::Work));
    stage.keys(&["e"]);
    stage.write("by hand");
    stage.keys(&["Enter", "a"]);
    assert_eq!(said(&mut stage), Answer { reason: Some("by hand".into()), ..Answer::approved() });
    let mut stage = Stage::with((120, 40), one(AnswerShape::Verdict, GateKind::Escalation));
    stage.keys(&["e"]);
    stage.write("go left");
    stage.keys(&["Enter", "a"]);
    assert_eq!(said(&mut stage), Answer::text("go left"));
    // A rejection, with a reason.
    let mut stage = Stage::with((120, 40), one(AnswerShape::Verdict, GateKind::Approval));
    stage.keys(&["r"]);
    stage.write("not yet");
    stage.keys(&["Enter"]);
    assert_eq!(said(&mut stage), Answer::rejected(Some("not yet".into())));
}

/// Forms and arguments are written in the editor; text that is not JSON is not stored.
#[test]
fn what_was_written_in_the_editor() {
    let schema = serde_json::json!({"type": "object", "required": ["port"], "properties": {"port": {"type": "integer"}}});
    let mut stage = Stage::with(
        (120, 40),
        vec![waits(opened(1, GateKind::Input, AnswerShape::Form { schema }, "Where?"), 1)],
    );
    stage.keys(&["e"]);
    let written = stage.done.iter().find_map(|effect| match effect {
        InboxEffect::Write(written, _) => Some(written.clone()),
        _ => None,
    });
    let written = written.unwrap();
    assert_eq!(written.what, EditedText::Form);
    let all = [
        ("{\"port\": ", false),
        ("{\"port\": \"x\"}", false),
        // A field that stayed null is left out, and it is required.
        ("// a comment\n{\n  \"port\": null\n}", false),
        ("// a comment\n{\n  // port: whole number\n  \"port\": 80\n}", true),
    ];
    for (text, is_kept) in all {
        stage.happen(InboxEvent::Written(written.clone(), Ok(Some(text.into()))));
        stage.settle();
        stage.keys(&["a"]);
        assert_eq!(!stage.state.proving.is_empty(), is_kept, "{text}");
    }
    // The card changed while it was written.
    let gates = vec![verdict(1, "Deploy?")];
    let mut stage = Stage::with((120, 40), gates.clone());
    let target = stage.state.here().unwrap().target();
    let now = revised(&gates[0], "Deploy twice?");
    stage.refresh(vec![now.clone()], vec![now]);
    let written =
        crate::tui::state::EditorSession { target, what: EditedText::Arguments, has_sent: false };
    stage.happen(InboxEvent::Written(written, Ok(Some("{}".into()))));
    let gate = stage.state.here().unwrap().gate().clone();
    assert!(stage.state.draft(&gate).arguments.is_none());
}

#[test]
fn several_at_once_if_they_are_alike() {
    let mut risky = opened(3, GateKind::Approval, AnswerShape::Verdict, "Third?");
    risky.risk = Risk::High;
    let gates = vec![verdict(1, "First?"), verdict(2, "Second?"), waits(risky, 3)];
    let mut stage = Stage::with((120, 40), gates.clone());
    stage.mark(2);
    stage.keys(&["a"]);
    stage.prove();
    stage.pass(5_100);
    let said = stage.done.iter().find_map(|effect| match effect {
        InboxEffect::Send(says) => Some(says.iter().map(|say| say.gate).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(said.unwrap(), [gates[0].opened.id, gates[1].opened.id]);
    let mut stage = Stage::with((120, 40), gates);
    stage.keys(&["x", "j"]);
    stage.next();
    stage.keys(&["x", "a"]);
    assert!(stage.state.proving.is_empty());
    assert!(stage.draw().contains("these differ in risk"));
    stage.keys(&["r"]);
    assert_eq!(stage.state.mode, InputMode::Look);
}

/// A locked terminal asks for the passphrase before anything is held; a refusal is shown and holds nothing.
#[test]
fn who_speaks_is_known_first() {
    let mut stage = Stage::with((120, 40), three());
    stage.keys(&["a"]);
    stage.happen(InboxEvent::Proved(Ok(true)));
    assert!(stage.done.contains(&InboxEffect::Unlock));
    assert!(stage.state.held.is_empty());
    stage.happen(InboxEvent::Proved(Err(Failure::new(Code::ProofTooLow, "wrong passphrase"))));
    stage.pass(10_000);
    assert_eq!(stage.sent(), 0);
    assert!(stage.draw().contains("wrong passphrase"));
    let mut stage = Stage::with((120, 40), three());
    stage.keys(&["c"]);
    let is_claim = |effect: &InboxEffect| matches!(effect, InboxEffect::Claim(_));
    assert!(!stage.done.iter().any(is_claim));
    stage.prove();
    assert!(stage.done.iter().any(is_claim));
}

/// Suspended with an answer held: the person could not undo it meanwhile, so it is not sent.
#[test]
fn stopped_with_an_answer_held() {
    let mut stage = Stage::with((120, 40), three());
    stage.keys(&["a"]);
    stage.prove();
    stage.keys(&["Ctrl+z"]);
    assert!(!stage.done.contains(&InboxEffect::Suspend));
    stage.happen(InboxEvent::Resumed);
    stage.pass(10_000);
    assert_eq!(stage.sent(), 0);
    stage.keys(&["Ctrl+z"]);
    assert!(stage.done.contains(&InboxEffect::Suspend));
}

/// Pasted text is letters in a field, and nothing anywhere else.
#[test]
fn pasted_lines_are_no_keys() {
    let mut stage = Stage::with((120, 40), three());
    stage.happen(InboxEvent::Pasted("aaaa\nq\n".into()));
    assert!(stage.state.proving.is_empty() && !stage.state.is_leaving);
    stage.keys(&["r"]);
    stage.happen(InboxEvent::Pasted("two\nlines\u{1b}".into()));
    assert!(matches!(&stage.state.mode, InputMode::Field(field) if field.text == "two\nlines"));
}

#[test]
fn finding_and_other_lists() {
    let mut stage = Stage::with((120, 40), three());
    stage.keys(&["/"]);
    stage.write("SECOND");
    assert_eq!(stage.state.list.shown().len(), 1);
    assert_eq!(here(&stage), "g2k2m");
    stage.keys(&["Enter", "Escape"]);
    assert_eq!(stage.state.list.shown().len(), 3);
    assert_eq!(here(&stage), "g2k2m");
    for view in
        [InboxListKind::Groups, InboxListKind::All, InboxListKind::Done, InboxListKind::Yours]
    {
        stage.keys(&["v"]);
        let list = stage.state.list.number;
        assert_eq!(stage.done.last(), Some(&InboxEffect::Load { list, view, after: None }));
        // A page fetched for the list before is dropped.
        let page = Ok(LoadedPage {
            rows: three().into_iter().map(row).collect(),
            next: None,
            alerts: vec![],
            in_groups: None,
        });
        stage.happen(InboxEvent::Page { list: list - 1, is_first: true, page });
        assert!(stage.state.list.rows.is_empty());
    }
}

/// The next page is fetched before the end is reached, once.
#[test]
fn a_long_list_comes_in_pages() {
    let gates: Vec<_> = (0..50).map(|number| verdict(number, "Go?")).collect();
    let mut stage = Stage::opened((120, 40));
    let next = gates[49].opened.id;
    stage.load(gates, Some(next));
    stage.settle();
    let pages = |stage: &Stage| {
        stage
            .done
            .iter()
            .filter(|effect| matches!(effect, InboxEffect::Load { after: Some(_), .. }))
            .count()
    };
    stage.keys(&["j"; 30]);
    assert_eq!(pages(&stage), 0);
    stage.keys(&["j"; 10]);
    assert_eq!(pages(&stage), 1);
    // The details of cards are loaded one at a time.
    assert_eq!(
        stage.done.iter().filter(|effect| matches!(effect, InboxEffect::Look(_))).count(),
        1
    );
}

/// Changes during a refresh are loaded after it, together.
#[test]
fn a_crowd_is_looked_at_together() {
    let mut stage = Stage::with((120, 40), three());
    let refreshes = |stage: &Stage| {
        stage.done.iter().filter(|effect| matches!(effect, InboxEffect::Refresh { .. })).count()
    };
    for number in 0..1_000 {
        stage.happen(InboxEvent::Changed(vec![GateId::mint(noon(), number)]));
    }
    assert_eq!(refreshes(&stage), 1);
    stage.refresh(three(), vec![]);
    assert_eq!(refreshes(&stage), 2);
    stage.refresh(three(), vec![]);
    assert_eq!(refreshes(&stage), 2);
}

/// A card counts as seen when it was on the screen for a moment, and only then.
#[test]
fn what_was_shown_was_seen() {
    let seen =
        |stage: &Stage| stage.done.iter().filter(|e| matches!(e, InboxEffect::See(_))).count();
    let mut stage = Stage::with((60, 15), three());
    stage.settle();
    // Only the list is there.
    assert_eq!(seen(&stage), 0);
    stage.keys(&["Enter"]);
    assert_eq!(stage.state.pane, InboxPane::Card);
    stage.draw();
    stage.pass(100);
    assert_eq!(seen(&stage), 0);
    stage.pass(400);
    stage.pass(400);
    assert_eq!(seen(&stage), 1);
    // The help was over the card: it must be drawn again before keys count.
    stage.keys(&["?"]);
    stage.settle();
    stage.keys(&["Escape", "a"]);
    assert!(stage.state.proving.is_empty());
}

/// Every key of the list has an effect here, or a message; none of them approves by itself but one.
#[test]
fn every_key_is_heard() {
    let mut count = 0;
    for binding in KEYS {
        for key in binding.keys {
            let mut stage = Stage::with((120, 40), usual());
            stage.keys(&["j"]);
            stage.settle();
            let before = (stage.draw(), stage.done.len());
            stage.keys(&[key]);
            let after = (stage.draw(), stage.done.len());
            let is_quiet = matches!(
                binding.action,
                KeyAction::Back
                    | KeyAction::Open
                    | KeyAction::ReadOn
                    | KeyAction::ReadBack
                    | KeyAction::Diff
            );
            assert!(before != after || is_quiet, "{key} does nothing");
            stage.pass(10_000);
            assert_eq!(stage.sent(), 0, "{key}");
            count += 1;
        }
    }
    assert!(count > 30);
}

/// An answer to an unreachable desk is kept and marked, not retried while the desk is away, and sent again once.
#[test]
fn an_answer_that_meets_no_desk_is_kept() {
    let gate = verdict(1, "First?");
    let id = gate.opened.id;
    let mut stage = Stage::with((120, 40), vec![gate]);
    let away = || Failure::new(Code::Unreachable, "nobody is there");
    stage.happen(InboxEvent::Reached(Some(("nobody is there".into(), Duration::from_secs(4)))));
    stage.keys(&["a"]);
    stage.happen(InboxEvent::Proved(Err(away())));
    assert_eq!((stage.state.unsent.len(), stage.state.is_pending(id)), (1, true));
    stage.pass(60_000);
    stage.keys(&["a"]);
    assert_eq!((stage.state.unsent.len(), stage.state.proving.len()), (1, 0));
    stage.happen(InboxEvent::Reached(None));
    stage.happen(InboxEvent::Tick(noon()));
    assert_eq!((stage.state.unsent.len(), stage.state.proving.len()), (0, 1));
    stage.happen(InboxEvent::Proved(Ok(false)));
    assert_eq!(stage.state.held.len(), 1, "it can be taken back again");
    stage.pass(6_000);
    stage.happen(InboxEvent::Tick(noon()));
    assert_eq!((stage.state.held.len(), stage.state.sending.len()), (0, 1));
    // Cut off half-way: the outcome is unknown.
    stage.happen(InboxEvent::Sent(vec![id], Err(away())));
    assert_eq!((stage.state.unsent.len(), stage.state.is_pending(id)), (1, true));
    stage.keys(&["z"]);
    assert_eq!((stage.state.unsent.len(), stage.state.is_pending(id)), (0, false));
}

/// An approval covers what was on the screen: neither the rest of a card nor an option below its edge is answered
/// unread.
#[test]
fn what_was_not_on_the_screen_is_not_answered() {
    let mut long = verdict(1, "Drop the table?");
    long.opened.card.narrative = (0..40).map(|n| format!("Line {n}.\n\n")).collect();
    long.card = long.opened.card.clone();
    let names: Vec<(String, &str)> = (1..=60).map(|n| (format!("host {n}"), "")).collect();
    let names: Vec<(&str, &str)> = names.iter().map(|(name, to)| (name.as_str(), *to)).collect();
    let shape = AnswerShape::Choice { options: options(&names), multi: false, other: false };
    let choice = waits(opened(2, GateKind::Decision, shape, "Which host?"), 1);
    let mut checked = 0;
    for (gate, first) in [(long.clone(), &["a"][..]), (choice, &["9", "a"][..]), (long, &["x"][..])]
    {
        let mut stage = Stage::with((80, 24), vec![gate]);
        stage.keys(first);
        assert!(stage.state.proving.is_empty() && stage.state.marks.is_empty(), "{first:?}");
        assert!(stage.draw().contains("below: J reads on"), "{}", stage.draw());
        // A rejection needs no reading.
        stage.keys(&["r"]);
        assert!(matches!(stage.state.mode, InputMode::Field(_)));
        stage.keys(&["Escape"]);
        // Nor what flew by while a key was held down, not even from its end.
        for _ in 0..20 {
            stage.keys(&["J"]);
            stage.draw();
            stage.pass(30);
        }
        stage.pass(500);
        stage.keys(&first[first.len() - 1..]);
        assert!(stage.state.proving.is_empty() && stage.state.marks.is_empty(), "{first:?}");
        assert!(stage.draw().contains("passed over: J reads on"), "{}", stage.draw());
        stage.read_on();
        // A line once read counts as read.
        stage.keys(&["K", "K"]);
        stage.settle();
        stage.keys(&first[first.len() - 1..]);
        assert_eq!(stage.state.proving.len() + stage.state.marks.len(), 1, "{first:?}");
        checked += 1;
    }
    assert_eq!(checked, 3);
}
