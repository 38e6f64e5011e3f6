//! Receipts: asked, seen, answered, delivered, acted, each with when, who and where (F2).

use crate::harness::{Space, Who, on_both};
use serde_json::Value;

fn steps(space: &Space, gate: &str) -> Vec<String> {
    let shown = space.show(gate);
    let step = |step: &Value| {
        let word = |name: &str| step[name].as_str().unwrap().to_owned();
        assert!(word("at").ends_with('Z'), "{step}");
        format!("{} {} {}", word("step"), word("by"), word("door"))
    };
    shown["receipt"].as_array().unwrap().iter().map(step).collect()
}

on_both! {
    /// Every step is there, in order, and in one line for people.
    fn the_whole_way_of_a_question(space: &Space) {
        let gate = space.ask("coder", &["Which port?"]);
        assert_eq!(steps(space, &gate), ["asked coder cli"]);
        // Looking is a step, noted after it was shown.
        assert_eq!(steps(space, &gate), ["asked coder cli", "seen ann cli"]);
        space.run(Who::Human("bob"), &["respond", &gate, "80"]).ok();
        space.ann(&["show", &gate]).says("seen by ann").says("answered by bob").never_says("went on").exits(0);
        assert_eq!(space.coder(&["wait", &gate]).ok(), "80");
        assert_eq!(steps(space, &gate), [
            "asked coder cli", "seen ann cli", "answered bob cli", "delivered coder cli", "acted coder cli",
        ]);
        let text = space.ann(&["show", &gate]).ok();
        let line = text.lines().find(|line| line.contains(" · ")).unwrap();
        let places: Vec<_> = ["asked ", "seen by ann ", "answered by bob ", "delivered ", "the agent went on "]
            .iter()
            .map(|word| line.find(word).unwrap_or_else(|| panic!("no {word:?} in {line}")))
            .collect();
        assert!(places.is_sorted(), "{line}");
        assert_eq!(space.show(&gate)["alerts"].as_array().unwrap().len(), 0);
        // An agent reads the receipts of its own questions, and of no others.
        space.coder(&["show", &gate]).says("the agent went on").exits(0);
        space.run(Who::Agent("tester"), &["show", &gate]).refused("SAY");
        space.verify();
    }
}

on_both! {
    /// A question that was taken back has its end, and nobody is alarmed.
    fn the_way_of_one_that_was_taken_back(space: &Space) {
        let gate = space.ask("coder", &["Which port?"]);
        space.coder(&["withdraw", &gate, "found it"]).ok();
        assert_eq!(steps(space, &gate), ["asked coder cli", "ended coder cli"]);
        let report = space.ann(&["doctor", "--json", "--quick"]).json();
        let checks = report["checks"].as_array().unwrap();
        let receipts = checks.iter().find(|check| check["name"] == "receipts").unwrap();
        assert_eq!(receipts["result"], "ok", "{receipts}");
    }
}
