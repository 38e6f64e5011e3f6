//! Turns: a client asks, is answered, and goes on in the same conversation and worktree.

use super::{Stage, until};
use crate::worker::COMPLETE;
use serde_json::{Value, json};

const QUESTION: &str = "Which colour?\nRed is loud, blue is calm.";
const ANSWER: &str = "blue, of course";

pub(super) fn asks() -> Value {
    json!({"text": format!("<promise>INPUT_NEEDED: {QUESTION}</promise>")})
}

pub(super) fn completes() -> Value {
    json!({"text": COMPLETE})
}

pub(super) fn writes(file: &str, text: &str) -> Value {
    json!({"write": [format!("{{tree}}/{file}"), text]})
}

/// Scenario A.
pub(super) fn answered(stage: &Stage<'_>) {
    let space = stage.space;
    let task = stage.task(
        &["Paint the door"],
        &json!([
            {"when": "Paint the door", "steps": [writes("half.txt", "half"), asks()]},
            {"when": ANSWER, "steps": [writes("done.txt", "done"), completes()]},
        ]),
    );
    stage.work().says("waits for a person").says("Which colour?").ok();
    assert_eq!(space.state(&task), "awaiting_input");
    let tree = stage.project.tree(&task);
    assert_eq!(std::fs::read_to_string(tree.join("half.txt")).unwrap(), "half");
    stage.work().says("0 turns").ok();

    space.ann(&["respond", &task, ANSWER]).ok();
    stage.work().says("goes on with").says("completed").ok();
    assert_eq!(stage.project.endings(&task), ["asked", "completed"]);
    let runs = stage.project.runs(&task);
    assert!(runs[0]["session"].is_string(), "{runs:?}");
    assert_eq!(runs[0]["session"], runs[1]["session"], "the same conversation");
    let resumed = stage.model.request(ANSWER, 0);
    assert!(resumed.holds("call", "half.txt"), "what it did before: {resumed:#?}");
    assert!(resumed.holds("model", QUESTION), "what it asked before: {resumed:#?}");
    let told = resumed.last("user");
    assert!(told.contains(QUESTION) && told.contains(ANSWER), "{told}");
    assert_eq!(stage.delivery(&task), "acknowledged");
    assert_eq!(stage.committed(&task, "half.txt"), "half");
    assert_eq!(stage.committed(&task, "done.txt"), "done");
    for run in &runs {
        let spent = &run["spent"];
        assert_eq!(
            (&spent["input_tokens"], &spent["output_tokens"]),
            (&json!(20), &json!(10)),
            "{run}"
        );
    }
    stage.ends(&task);
}

/// Scenario B.
pub(super) fn rejected(stage: &Stage<'_>) {
    let space = stage.space;
    let feedback = "it drips at the hinges";
    let task = stage.task(
        &["Paint the door", "--requires", "approval"],
        &json!([
            {"when": "Paint the door", "steps": [writes("one.txt", "one"), completes()]},
            {"when": feedback, "steps": [writes("two.txt", "two"), completes()]},
        ]),
    );
    stage.work().says("waits for a person").ok();
    let gate = space.gate(&task);
    let shown = space.show(&gate);
    assert_eq!(shown["kind"], "approval");
    assert!(shown["facts"].to_string().contains("+one"), "the person sees the work: {shown}");
    space.ann(&["reject", &gate, feedback]).ok();
    stage.work().says("waits for a person").ok();
    let told = stage.model.request(feedback, 0);
    assert!(told.last("user").contains(feedback) && told.holds("call", "one.txt"), "{told:#?}");
    assert_ne!(space.gate(&task), gate, "it is asked anew");
    space.ann(&["approve", &task]).ok();
    stage.work().says("its work is on").ok();
    assert_eq!(stage.committed(&task, "one.txt"), "one");
    assert_eq!(stage.committed(&task, "two.txt"), "two");
    assert_eq!(stage.project.endings(&task), ["completed", "completed"]);
    stage.ends(&task);
}

/// Through its shell, in the middle of its turn.
pub(super) fn asks_while_it_works(stage: &Stage<'_>) {
    let space = stage.space;
    let ask = json!({"shell": "sayso ask 'Which colour?' --wait"});
    let scenes = json!([{"when": "Paint the door", "steps": [ask, completes()]}]);
    let task = stage.task(&["Paint the door"], &scenes);
    let worker = stage.start(&[]);
    let gate = until(|| space.gates(&task).pop());
    assert_eq!(space.show(&gate)["asked_by"], stage.client.name());
    space.ann(&["respond", &gate, ANSWER]).ok();
    worker.ends();
    let told = stage.model.request("Paint the door", 1);
    assert!(told.last("result").contains(ANSWER), "{told:#?}");
    assert_eq!(stage.delivery(&task), "acknowledged");
    assert_eq!(stage.project.endings(&task), ["completed"]);
    stage.ends(&task);
}

/// A sandbox without network keeps it from the server: it is told so, and nothing is lost.
pub(super) fn cannot_ask_a_server(stage: &Stage<'_>) {
    let ask = json!({"shell": "sayso ask 'Which colour?' --wait; echo it ended with $?"});
    let scenes = json!([
        {"when": "Paint the door", "steps": [ask, asks()]},
        {"when": ANSWER, "steps": [completes()]},
    ]);
    let task = stage.task(&["Paint the door"], &scenes);
    stage.work().says("waits for a person").ok();
    let told = stage.model.request("Paint the door", 1);
    assert!(told.last("result").contains("it ended with 9"), "{told:#?}");
    stage.space.ann(&["respond", &task, ANSWER]).ok();
    stage.work().says("completed").ok();
    stage.ends(&task);
}
