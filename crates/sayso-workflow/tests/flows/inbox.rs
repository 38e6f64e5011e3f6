//! A program asks, dies, asks again, and gets the answer that came meanwhile.
use crate::shared::ann;
use sayso_core::{Actor, Answer, Code, Role};
use sayso_engine::{Desk, GateFilter, RuntimeEnv, StoreLocation};
use sayso_workflow::{Inbox, InboxQuestion, QuestionReply};
use std::time::Duration;

fn space() -> (tempfile::TempDir, StoreLocation, Desk) {
    let dir = tempfile::tempdir().unwrap();
    let place = StoreLocation::Sqlite(dir.path().join("sayso.db"));
    let (desk, _) = Desk::create(place.clone(), "demo", &ann(), RuntimeEnv::real()).unwrap();
    (dir, place, desk)
}

#[test]
fn the_same_key_is_the_same_question_across_restarts() {
    let (_dir, place, desk) = space();
    let ask = || InboxQuestion::choice("Ship 1.2 today?", ["yes", "no"]).context("All tests pass.");
    let first = Inbox::at(place.clone(), "demo", "release-bot").unwrap();
    let asked = first.ask("ship-1.2", ask()).unwrap();
    assert_eq!(asked.wait(Some(Duration::ZERO)).unwrap(), QuestionReply::Pending);
    let handle = asked.handle().to_owned();
    drop(first);

    let open = desk.gates(&ann(), GateFilter { limit: 10, ..GateFilter::default() }).unwrap().items;
    assert_eq!(open.len(), 1);
    let gate = &open[0];
    let yes = Answer::choice(vec!["yes".into()], None);
    desk.answer(&ann(), gate.opened.id, yes, gate.digest.as_str()).unwrap();

    let second = Inbox::at(place, "demo", "release-bot").unwrap();
    let again = second.ask("ship-1.2", ask()).unwrap();
    assert_eq!(again.handle(), handle);
    assert_eq!(again.wait(None).unwrap(), QuestionReply::Answered("yes".into()));
    assert_eq!(desk.gate(gate.opened.id).unwrap().delivery.as_str(), "acknowledged");
}

#[test]
fn a_key_means_one_question_and_a_no_is_a_no() {
    let (_dir, place, desk) = space();
    let inbox = Inbox::at(place, "demo", "release-bot").unwrap();
    let asked = inbox.ask("drop", InboxQuestion::approval("Drop the table?")).unwrap();
    let other = inbox.ask("drop", InboxQuestion::approval("Drop everything?"));
    assert_eq!(other.err().map(|e| e.code()), Some(Code::Clash));

    let open = desk.gates(&ann(), GateFilter { limit: 10, ..GateFilter::default() }).unwrap().items;
    let no = Answer::rejected(Some("keep it".into()));
    desk.answer(&ann(), open[0].opened.id, no, open[0].digest.as_str()).unwrap();
    assert_eq!(asked.wait(None).unwrap(), QuestionReply::Rejected("keep it".into()));
}

#[test]
fn a_program_cannot_answer_itself() {
    let (_dir, place, desk) = space();
    let inbox = Inbox::at(place, "demo", "release-bot").unwrap();
    let asked = inbox.ask("drop", InboxQuestion::approval("Drop the table?")).unwrap();
    let id = desk.find_gate(asked.handle()).unwrap();
    let itself = Actor { role: Role::Service, name: "release-bot".into(), ..ann() };
    let refused =
        desk.answer(&itself, id, Answer::approved(), desk.gate(id).unwrap().digest.as_str());
    assert_eq!(refused.err().map(|e| e.code()), Some(Code::NotHuman));
}
