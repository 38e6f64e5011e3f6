//! Claude Code without a person: it ends at a call that waits, nothing of it runs meanwhile, and it is
//! resumed at that call. What it has not heard reaches it through its hooks.

use super::Stage;
use crate::governed::policy;
use crate::harness::SAYSO;
use serde_json::{Value, json};

const POLICY: &str = "
rules:
  - {name: first, on: tool, match: {command: 'touch *asked.txt'}, then: ask, reason: Somebody looks first.}
";

/// Every hook the guide names.
fn connect(stage: &Stage<'_>) {
    let hook = |event: &str| {
        let command = format!("{SAYSO} hook claude-code {event} --hold 100s");
        json!([{"hooks": [{"type": "command", "command": command, "timeout": 120, "onFailure": "block"}]}])
    };
    let events =
        ["PreToolUse", "PostToolUse", "SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"];
    let hooks: serde_json::Map<_, _> =
        events.iter().map(|event| ((*event).to_owned(), hook(event))).collect();
    let path = stage.home().join(".claude/settings.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, json!({"hooks": hooks}).to_string()).unwrap();
}

fn touch(file: &str) -> Value {
    json!({"shell": format!("touch {{tree}}/{file}")})
}

/// Lets it work until its call waits; the task and the gate.
fn until_it_waits(stage: &Stage<'_>) -> (String, String) {
    policy(stage.space, "space", POLICY);
    connect(stage);
    let steps = json!([touch("free.txt"), touch("asked.txt"), super::turns::completes()]);
    let task = stage.task(&["Touch things"], &json!([{"when": "Touch things", "steps": steps}]));
    stage.work().says("waits for a person").ok();
    assert_eq!(stage.space.state(&task), "awaiting_input");
    let gate = stage.space.gate(&task);
    assert_eq!(stage.space.show(&gate)["kind"], "tool");
    let tree = stage.project.tree(&task);
    assert!(tree.join("free.txt").exists() && !tree.join("asked.txt").exists());
    stage.work().says("0 turns").ok();
    (task, gate)
}

/// It is told at its start how to ask; after the yes its call runs, once, and it goes on by itself.
pub(super) fn resumed_at_its_call(stage: &Stage<'_>) {
    let (task, gate) = until_it_waits(stage);
    let begun = stage.model.request("Touch things", 0);
    assert!(begun.holds("user", "Await a message, do not poll"), "{begun:#?}");
    stage.space.ann(&["tell", "claude-code", "Use the new port."]).ok();
    stage.space.ann(&["approve", &gate]).ok();
    stage.work().says("goes on with").says("completed").ok();
    assert_eq!(stage.project.endings(&task), ["asked", "completed"]);
    let runs = stage.project.runs(&task);
    assert_eq!(runs[0]["session"], runs[1]["session"], "the same conversation");
    assert_eq!(stage.space.show(&gate)["acted"]["done"], true, "the grant is used up");
    let resumed = stage.model.request("Touch things", 2);
    assert!(!resumed.holds("user", "A person has answered"), "no prompt of ours: {resumed:#?}");
    assert!(resumed.holds("user", "Use the new port."), "what was written to it: {resumed:#?}");
    stage.committed(&task, "asked.txt");
    stage.ends(&task);
}

/// After the no it hears why, and the call never runs.
pub(super) fn rejected_at_its_call(stage: &Stage<'_>) {
    let (task, gate) = until_it_waits(stage);
    stage.space.ann(&["reject", &gate, "that file is mine"]).ok();
    stage.work().says("completed").ok();
    let resumed = stage.model.request("Touch things", 2);
    assert!(resumed.holds("result", "that file is mine"), "{resumed:#?}");
    let files = stage.project.git(&["ls-tree", "--name-only", &stage.project.branch(&task)]);
    assert!(files.contains("free.txt") && !files.contains("asked.txt"), "{files}");
    stage.ends(&task);
}
