//! Seven kinds of waiting, two verdicts, and every way to give them.

use crate::harness::{Space, Who, everywhere};

/// Every kind with what a yes and a no make of the task.
const MATRIX: [(&str, &str, &str); 7] = [
    ("work", "closed", "open"),
    ("approval", "closed", "open"),
    ("input", "open", "closed"),
    ("review", "closed", "open"),
    ("content", "closed", "open"),
    ("escalation", "open", "closed"),
    ("checkpoint", "open", "open"),
];

/// Says yes in the way that fits the kind: a question takes words.
fn yes<'a>(kind: &str, task: &'a str) -> Vec<&'a str> {
    match kind {
        "input" => vec!["respond", task, "the answer"],
        "work" => vec!["done", task, "the answer"],
        _ => vec!["approve", task, "the answer"],
    }
}

/// What a verdict must leave behind on the task.
#[track_caller]
fn check(space: &Space, task: &str, kind: &str, verdict: &str, state: &str, note: &str) {
    // A text is answered and not approved.
    let verdict = if (kind, verdict) == ("input", "approved") { "answered" } else { verdict };
    let shown = space.show(task);
    assert_eq!(shown["state"], state, "{kind} {verdict}");
    assert_eq!(shown["verdict"], verdict, "{kind}");
    assert_eq!(shown["awaiting"].as_array().unwrap().len(), 0, "{kind} {verdict}");
    let question = &shown["questions"][0];
    assert_eq!(question["kind"], kind);
    assert_eq!(question["state"], "answered");
    assert_eq!(question["answer"]["verdict"], verdict);
    assert_eq!(question["answer"]["by"], "ann");
    assert_eq!(shown["notes"][0]["text"], note, "{kind} {verdict}");
    assert_eq!(shown["notes"][0]["role"], "human");
    handoffs(&shown["history"], kind, verdict);
}

/// Who asked for what, who said what: the hand-offs are on the task.
#[track_caller]
fn handoffs(history: &serde_json::Value, kind: &str, verdict: &str) {
    let history = history.as_array().unwrap();
    let asked = history.iter().find(|h| h["what"] == "task.asked").unwrap();
    assert_eq!(asked["kind"], kind);
    assert!(asked["at"].as_str().unwrap().ends_with('Z'));
    let settled = history.iter().find(|h| h["what"] == "task.settled").unwrap();
    assert_eq!(settled["verdict"], verdict);
    assert_eq!(settled["by"], "ann");
}

everywhere! {
    /// `create --awaiting`, then the verb of the kind.
    fn the_matrix_by_verb(space: &Space) {
        for (kind, approved, rejected) in MATRIX {
            let task = space.create(&["Build it", "--awaiting", kind]);
            assert_eq!(space.show(&task)["awaiting"][0], kind);
            assert_eq!(space.state(&task), "awaiting_input");
            space.ann(&yes(kind, &task)).ok();
            check(space, &task, kind, "approved", approved, "the answer");

            let task = space.create(&["Build it", "--awaiting", kind]);
            space.ann(&["reject", &task, "not", "like", "this"]).ok();
            check(space, &task, kind, "rejected", rejected, "not like this");
        }
        space.verify();
    }
}

everywhere! {
    /// `update --awaiting`, a note, `update --verdict`: the way of the second seed.
    fn the_matrix_by_update(space: &Space) {
        for (kind, approved, rejected) in MATRIX {
            for (verdict, state) in [("approved", approved), ("rejected", rejected)] {
                let task = space.create(&["Build it"]);
                space.coder(&["update", &task, "--awaiting", kind]).ok();
                assert_eq!(space.state(&task), "awaiting_input");
                space.ann(&["note", &task, "said before", "--from", "human"]).ok();
                let given = space.ann(&["update", &task, "--verdict", verdict]);
                if (kind, verdict) == ("work", "rejected") {
                    given.exits(2).refused("SAY019").says("sayso reject");
                    assert_eq!(space.state(&task), "awaiting_input");
                    continue;
                }
                given.ok();
                check(space, &task, kind, verdict, state, "said before");
            }
        }
        space.verify();
    }
}

everywhere! {
    /// Work handed back without a word helps nobody.
    fn work_is_rejected_with_a_reason(space: &Space) {
        let task = space.create(&["Order the keys", "--awaiting", "work"]);
        space.ann(&["reject", &task]).exits(2).refused("SAY019").says("hint:");
        space.ann(&["reject", &task, "  "]).exits(2).refused("SAY019");
        assert_eq!(space.state(&task), "awaiting_input");
        space.ann(&["reject", &task, "the shop is closed"]).ok();
        assert_eq!(space.state(&task), "open");
    }
}

everywhere! {
    /// What the person wrote is there before the verdict counts, in one transaction.
    fn the_note_comes_before_the_verdict(space: &Space) {
        let task = space.create(&["Write the page", "--awaiting", "content"]);
        let before = space.verify();
        space.ann(&["reject", &task, "softer, please"]).ok();
        let shown = space.show(&task);
        let noted = shown["notes"][0]["at"].as_str().unwrap();
        let history = shown["history"].as_array().unwrap();
        let settled = history.iter().find(|h| h["what"] == "task.settled").unwrap();
        assert_eq!(noted, settled["at"].as_str().unwrap(), "they happen at one moment");
        assert_eq!(space.verify(), before + 1, "and have one entry");
        let text = space.ann(&["notes", &task]).ok();
        assert!(text.contains("softer, please") && text.contains("ann (human)"), "{text}");
    }
}

everywhere! {
    /// An answer of an escalation may be words; a sign-off may not be taken from words.
    fn words_are_no_sign_off(space: &Space) {
        let task = space.create(&["Rename it", "--awaiting", "escalation"]);
        space.ann(&["respond", &task, "go left"]).ok();
        assert_eq!(space.show(&task)["questions"][0]["answer"]["text"], "go left");
        for kind in ["approval", "review", "content", "checkpoint", "work"] {
            let task = space.create(&["Rename it", "--awaiting", kind]);
            space.ann(&["respond", &task, "not yet: change the title"]).exits(2).refused("SAY006");
            assert_eq!(space.state(&task), "awaiting_input", "{kind}");
        }
    }
}

everywhere! {
    /// Clearing what a task waits for ends it without a verdict, and whoever asked is told.
    fn awaiting_is_cleared_by_a_person(space: &Space) {
        let task = space.create(&["Build it"]);
        let gate = space.ask("coder", &["Which way?", "--task", &task]);
        space.ann(&["update", &task, "--awaiting=null"]).ok();
        let shown = space.show(&task);
        assert_eq!(shown["state"], "open");
        assert_eq!(shown["verdict"], serde_json::Value::Null);
        assert_eq!(shown["questions"][0]["state"], "withdrawn");
        space.coder(&["wait", &gate]).exits(11).says("withdrawn by ann");
        space.ann(&["update", &task, "--awaiting=null"]).exits(6).refused("SAY003");
        space.run(Who::Script, &["update", &task, "--awaiting", "nonsense"]).exits(2).refused("SAY038");
    }
}

everywhere! {
    /// Text and JSON of an answered gate, and the words a person gets back.
    fn a_verdict_is_reported(space: &Space) {
        let task = space.create(&["Build it", "--awaiting", "approval"]);
        let gate = space.gate(&task);
        space.ann(&["approve", &task]).exits(0).says(&format!("gate {gate} approved by ann")).says("is closed");
        let task = space.create(&["Build it", "--awaiting", "input"]);
        space.ann(&["respond", &task, "blue"]).exits(0).says("returned to 'open'");
        let task = space.create(&["Build it", "--awaiting", "approval"]);
        let given = space.ann(&["reject", &task, "no", "--json"]).json();
        assert_eq!(given["answer"]["reason"], "no");
        assert_eq!(given["answer"]["proof"], "token");
        assert_eq!(given["answer"]["level"], "S0");
        assert_eq!(given["answer"]["door"], "cli");
        // A person may also take it back from everybody by closing the task.
        let task = space.create(&["Build it", "--awaiting", "review"]);
        space.ann(&["close", &task, "not needed"]).ok();
        assert_eq!(space.show(&task)["questions"][0]["state"], "withdrawn");
    }
}
