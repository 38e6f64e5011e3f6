//! Limits of the provider: the client says so, the worker waits, and others see for what.

use super::Stage;
use super::turns::completes;
use crate::worker::budgets::until;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub(super) fn of_claude_code(stage: &Stage<'_>) {
    let message = "This request would exceed your rate limit. Try again in 5 seconds.";
    let limit = json!({
        "status": 429, "headers": {"x-should-retry": "false"},
        "body": {"type": "error", "error": {"type": "rate_limit_error", "message": message}},
    });
    waited_for(stage, limit);
}

pub(super) fn of_codex(stage: &Stage<'_>) {
    let error = json!({"type": "usage_limit_reached", "message": "The usage limit has been reached",
        "plan_type": "plus", "resets_at": now() + 20, "resets_in_seconds": 20});
    waited_for(stage, json!({"status": 429, "body": {"error": error}}));
}

fn waited_for(stage: &Stage<'_>, limit: Value) {
    let space = stage.space;
    let limited = json!([
        {"when": "Paint the door", "steps": [limit]},
        {"when": "You were stopped by a rate limit", "steps": [completes()]},
    ]);
    let task = stage.task(&["Paint the door"], &limited);
    let mut worker = stage.start(&[]);
    until(|| (stage.project.endings(&task) == ["waiting_for_reset"]).then_some(()));
    println!("{} {}", space.show(&task), space.ann(&["runs", &task, "--json"]).ok());
    assert!(worker.wait().unwrap().success());
    assert_eq!(stage.project.endings(&task), ["waiting_for_reset", "completed"]);
    stage.ends(&task);
}
