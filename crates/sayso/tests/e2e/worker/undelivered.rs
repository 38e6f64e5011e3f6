//! Receipts say what happened: an answer whose agent never ran is never told as heard.

use super::{COMPLETE, Project, says, turns};
use crate::harness::{Space, Who, everywhere};
use serde_json::Value;

const ASKS: &str = "<promise>INPUT_NEEDED: Which colour?</promise>";

/// A project whose agent has asked on a task, and the gate.
fn asked<'a>(space: &'a Space, title: &str) -> (Project<'a>, String, String) {
    let project = Project::new(space, &turns(&[&says(ASKS), &says(COMPLETE)]), "");
    let task = space.create(&[title]);
    project.work(&[]).says("waits for a person").ok();
    let gate = space.gate(&task);
    (project, task, gate)
}

/// What the receipt of a gate ends with.
fn last(space: &Space, gate: &str) -> (String, String) {
    let shown = space.show(gate);
    let step = shown["receipt"].as_array().unwrap().last().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&step["step"]), text(&step["note"]))
}

everywhere! {
    fn a_closed_task_is_told_as_the_end_of_its_answer(space: &Space) {
        let (project, task, gate) = asked(space, "Paint the door");
        space.ann(&["respond", &gate, "blue"]).ok();
        space.run(Who::Agent("tester"), &["close", &task, "done"]).exits(6).refused("SAY061");
        space.ann(&["close", &task, "no door"]).ok();
        let never = format!("never delivered: task {task} closed by ann");
        assert_eq!(last(space, &gate), ("failed".into(), never.clone()));
        project.work(&[]).says("0 turns").ok();
        assert_eq!(last(space, &gate), ("failed".into(), never));
        let shown = space.show(&gate);
        assert_eq!(shown["delivery"]["state"], "never");
        assert!(!shown.to_string().contains("went on"), "{shown}");
        space.ann(&["show", &gate]).exits(0).says("never delivered").never_says("the asker went on");
        // Opened again, its agent gets what was said.
        space.ann(&["reopen", &task]).ok();
        project.work(&[]).says("completed").ok();
        assert!(project.prompts(&task)[1].contains("blue"));
        assert_eq!(space.show(&gate)["delivery"]["state"], "acknowledged");
        space.verify();
    }
}

everywhere! {
    fn a_no_and_a_question_taken_back_are_not_told_as_heard(space: &Space) {
        let (project, task, gate) = asked(space, "Paint the door");
        space.ann(&["reject", &gate, "no paint"]).ok();
        assert_eq!(space.state(&task), "closed");
        project.work(&[]).says("0 turns").ok();
        let never = format!("never delivered: task {task} closed by ann");
        assert_eq!(last(space, &gate), ("failed".into(), never));

        project.script(&turns(&[&says(ASKS), &says(COMPLETE)]));
        let task = space.create(&["Paint the wall"]);
        project.work(&[]).says("waits for a person").ok();
        let gate = space.gate(&task);
        space.ann(&["close", &task, "no wall"]).ok();
        project.work(&[]).says("0 turns").ok();
        let never = format!("never delivered: task {task} closed by ann");
        assert_eq!(last(space, &gate), ("failed".into(), never));
        space.verify();
    }
}
