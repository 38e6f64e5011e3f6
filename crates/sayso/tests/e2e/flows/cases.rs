//! The six use cases, from the shipped examples: parked, answered from the command line, over the API and on
//! the page, and gone on with.

use super::{begin, count, example, flow, gate, resume};
use crate::api::Server;
use crate::harness::{everywhere, in_places, on_both};
use crate::pages::Desk;
use serde_json::json;

everywhere! {
    /// Planned: a no leads back to the plan with the reason, a yes leads on.
    fn a_planned_checkpoint(space: &Space) {
        let file = example(space, "planned-checkpoint");
        begin(space, &[&file, "--set", "goal=a quiet office"]).says("a quiet office").exits(7);
        space.ann(&["reject", &gate(space), "mind the plants"]).ok();
        resume(space).says("a quiet office").exits(7);
        let shown = space.show(&gate(space));
        assert!(shown["context"].as_str().unwrap().contains("Minding: mind the plants"), "{shown}");
        space.ann(&["approve", &gate(space)]).ok();
        resume(space).says("done").exits(0);
        let flow = flow(space);
        assert_eq!((count(&flow, "input:requested"), count(&flow, "input:received")), (2, 2));
        assert!(std::fs::read_to_string(space.path().join("plan.txt")).unwrap().contains("plants"));
        space.verify();
    }
}

everywhere! {
    /// Branching: each option leads elsewhere; what is no option is refused; a no leads where the file says.
    fn branching_on_a_choice(space: &Space) {
        let file = example(space, "branching");
        begin(space, &[&file, "--key", "one"]).exits(7);
        space.ann(&["choose", &gate(space), "Slow"]).refused("SAY008");
        space.ann(&["choose", &gate(space), "Custom"]).ok();
        resume(space).says("How, then?").exits(7);
        space.ann(&["respond", &gate(space), "by hand"]).ok();
        resume(space).exits(0);
        let flow = flow(space);
        assert_eq!((&flow["phase"], &flow["state"]["state"]["how"]), (&json!("as-told"), &json!("by hand")));
        // The same key is the same flow: there is nothing left to do.
        begin(space, &[&file, "--key", "one"]).exits(0);
        space.verify();
    }
}

on_both! {
    /// Conditional: nobody is asked where it is sure; several: each asks in its turn.
    fn asked_only_when_unsure_and_several_in_turn(space: &Space) {
        let file = example(space, "conditional");
        let ran = begin(space, &[&file]);
        assert!(ran.code == 0 || ran.code == 7, "{}", ran.said());
        let several = example(space, "several-approvals");
        // It watches what is written.
        let project = crate::worker::Project::new(space, "scenes: []\n", "");
        while let Some(card) = space.ann(&["inbox", "--json"]).json()["items"].as_array().unwrap().first() {
            space.ann(&["approve", card["handle"].as_str().unwrap()]).ok();
            resume(space);
        }
        begin(space, &[&several]).exits(7);
        let (mut asked, mut last) = (0, String::new());
        while let Some(card) = space.ann(&["inbox", "--json"]).json()["items"].as_array().unwrap().first() {
            asked += 1;
            space.ann(&["approve", card["handle"].as_str().unwrap()]).ok();
            last = resume(space).said();
        }
        assert_eq!(asked, 2, "{last}");
        assert!(project.read("published.md").is_some_and(|text| text.contains("lighthouses")));
        space.verify();
    }
}

in_places! {
    [sqlite: Sqlite, postgres: Postgres]
    /// Refinement, answered over the API: words of one's own lead to another draft, until it is good.
    fn refined_over_the_api(space: &Space) {
        let file = example(space, "refinement");
        crate::worker::Project::new(space, "scenes: []\n", "");
        let server = Server::of(space);
        begin(space, &[&file]).exits(7);
        let waits = || server.get("ann", "/gates").json()["items"][0].clone();
        let answer = |value| server.answer("ann", &waits(), value).is(200);
        answer(json!({"verdict": "approved", "other": "shorter"}));
        resume(space).exits(7);
        assert!(waits()["context"].as_str().unwrap().contains("It minds: shorter"), "{}", waits());
        answer(json!({"verdict": "approved", "picked": ["It is good"]}));
        resume(space).exits(0);
        assert_eq!(flow(space)["state"]["state"]["rounds"], 2);
    }
}

in_places! {
    [sqlite: Sqlite]
    /// Dynamic, answered on the page: what the step found out is the question, and the page's answer leads on.
    fn asked_by_the_step_and_answered_on_the_page(space: &Space) {
        let file = example(space, "dynamic");
        let desk = Desk::of(space);
        begin(space, &[&file]).exits(7);
        let card = space.ann(&["inbox", "--json"]).json()["items"][0].clone();
        desk.look_at(&card);
        desk.browser.press("1");
        desk.browser.press("a");
        crate::worker::budgets::until(|| {
            let gate = space.show(card["handle"].as_str().unwrap());
            (gate["state"] == "answered").then_some(())
        });
        let ran = resume(space);
        assert!(ran.code == 0 || ran.code == 7, "{}", ran.said());
        assert_eq!(count(&flow(space), "input:received"), 1);
        desk.is_content();
    }
}
