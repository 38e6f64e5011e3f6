//! MCP: the model calls `ask_human`, a person answers, and the model hears it in the same turn; and when
//! everything was killed in between, it asks again in the same words and hears it then (scenarios A and L).

use super::hooked::connect;
use super::{Stage, until};
use serde_json::json;

const QUESTION: &str = "Which colour shall the door have?";

fn waiting(stage: &Stage<'_>) -> String {
    until(|| {
        let open = stage.space.ann(&["inbox", "--json"]).json();
        open["items"][0]["handle"].as_str().map(str::to_owned)
    })
}

pub(super) fn answered(stage: &Stage<'_>) {
    connect(stage, "user");
    let ask = json!({"tool": ["ask_human", {"question": QUESTION, "options": ["red", "blue"]}]});
    let scene = json!({"when": "Paint the door", "steps": [ask, super::turns::completes()]});
    let task = stage.task(&["Paint the door"], &json!([scene]));
    let working = stage.start(&["--once"]);
    let gate = waiting(stage);
    let card = stage.space.show(&gate);
    assert_eq!((&card["question"], &card["asked_by_role"]), (&json!(QUESTION), &json!("agent")));
    stage.space.ann(&["choose", &gate, "blue"]).ok();
    working.ends();
    let told = stage.model.request("Paint the door", 1);
    assert!(told.last("result").contains("blue"), "the model hears it: {told:#?}");
    stage.ends(&task);
}
