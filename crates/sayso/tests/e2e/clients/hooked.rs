//! Hooks: the client itself asks before a call runs. What is denied does not run and the model hears
//! why; what is asked about runs when a person has said yes (scenario R).

use super::{Stage, until};
use crate::governed::policy;
use crate::harness::Who;
use serde_json::json;

const POLICY: &str = "
rules:
  - {name: never, on: tool, match: {command: 'touch *denied.txt'}, then: deny, reason: That file is not yours.}
  - {name: first, on: tool, match: {command: 'touch *asked.txt'}, then: ask, reason: Somebody looks first.}
";

const REASON: &str = "That file is not yours.";

/// Lets the client ask sayso before every call, as its user would.
fn connect(stage: &Stage<'_>) {
    let args = ["connect", stage.client.name(), "--scope", "user", "--yes"];
    let mut command = stage.at_home(stage.space.command(Who::Terminal, &args));
    let said = stage.space.finish(&mut command).says("is connected").never_says("does not trust");
    said.ok();
}

pub(super) fn ruled_on(stage: &Stage<'_>) {
    let space = stage.space;
    policy(space, "space", POLICY);
    connect(stage);
    let touch = |file: &str| json!({"shell": format!("touch {{tree}}/{file}")});
    let steps = json!([
        touch("free.txt"),
        touch("denied.txt"),
        touch("asked.txt"),
        super::turns::completes()
    ]);
    let task = stage.task(&["Touch things"], &json!([{"when": "Touch things", "steps": steps}]));
    let working = stage.start(&["--once"]);
    let gate = until(|| {
        let open = space.ann(&["inbox", "--json"]).json();
        open["items"][0]["handle"].as_str().map(str::to_owned)
    });
    let card = space.show(&gate);
    assert_eq!(card["kind"], "tool");
    assert!(card["facts"].to_string().contains("asked.txt"), "{card}");
    let tree = stage.project.tree(&task);
    let is_there = |file: &str| tree.join(file).exists();
    assert!(is_there("free.txt") && !is_there("denied.txt") && !is_there("asked.txt"));
    space.ann(&["approve", &gate]).ok();
    working.ends();
    assert_eq!(space.show(&gate)["acted"]["done"], true, "the grant is used up");
    stage.committed(&task, "asked.txt");
    let files = stage.project.git(&["ls-tree", "--name-only", &stage.project.branch(&task)]);
    assert!(!files.contains("denied.txt"), "{files}");
    let told = stage.model.request("Touch things", 2);
    assert!(told.holds("result", REASON), "the model hears why: {told:#?}");
    stage.ends(&task);
}
