//! What Gemini CLI hears through its hooks: what was written to it, before its turn and at its end.

use super::Stage;
use crate::harness::SAYSO;
use serde_json::{Value, json};

fn connect(stage: &Stage<'_>) {
    let hook = |event: &str| {
        let command = format!("{SAYSO} hook gemini {event}");
        json!([{"matcher": "*", "hooks": [{"type": "command", "name": "sayso", "command": command, "timeout": 60_000}]}])
    };
    let path = stage.home().join(".gemini/settings.json");
    let mut all: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    all["hooks"] = json!({"BeforeAgent": hook("BeforeAgent"), "AfterAgent": hook("AfterAgent")});
    std::fs::write(path, all.to_string()).unwrap();
}

pub(super) fn before_and_after(stage: &Stage<'_>) {
    connect(stage);
    stage.space.ann(&["tell", "gemini", "Use the new port."]).ok();
    let tell = json!({"shell": "sayso tell gemini 'One thing more.'"});
    let steps = json!([tell, {"text": "That was it.\n\n"}, super::turns::completes()]);
    let task =
        stage.task(&["Paint the door"], &json!([{"when": "Paint the door", "steps": steps}]));
    stage.work().says("completed").ok();
    let begun = stage.model.request("Paint the door", 0);
    assert!(begun.holds("user", "Use the new port."), "{begun:#?}");
    let kept = stage.model.request("Paint the door", 2);
    assert!(kept.holds("user", "One thing more."), "{kept:#?}");
    stage.ends(&task);
}
