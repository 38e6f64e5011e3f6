//! Limits of the provider: the client says so, and the worker waits for as long as it says.

use super::turns::completes;
use super::{Stage, Working, until};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Told to the second, as to those who have a subscription.
pub(super) fn of_claude_code(stage: &Stage<'_>) {
    let reset = (now() + 6).to_string();
    let error = json!({"type": "rate_limit_error", "message": "Please try again later."});
    let limit = json!({
        "status": 429,
        "headers": {
            "anthropic-ratelimit-unified-status": "rejected",
            "anthropic-ratelimit-unified-reset": reset,
            "anthropic-ratelimit-unified-representative-claim": "five_hour",
            "x-should-retry": "false",
        },
        "body": {"type": "error", "error": error},
    });
    let (task, worker) = waits(stage, &limit);
    worker.ends();
    assert!(now() >= reset.parse().unwrap(), "it did not wait");
    assert_eq!(stage.project.endings(&task), ["waiting_for_reset", "completed"]);
    stage.ends(&task);
}

/// Told to the minute, which has already begun.
pub(super) fn of_codex(stage: &Stage<'_>) {
    let error =
        json!({"type": "usage_limit_reached", "plan_type": "plus", "resets_at": now() + 10});
    let (task, worker) = waits(stage, &json!({"status": 429, "body": {"error": error}}));
    let until = stage.space.show(&task)["deferred_until"].as_str().unwrap().to_owned();
    let until: jiff::Timestamp = until.parse().unwrap();
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(2);
    assert!(until < soon, "{until} is not what it said");
    drop(worker);
    stage.space.verify();
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Lets the worker run into a limit; it waits for its end.
fn waits(stage: &Stage<'_>, limit: &Value) -> (String, Working) {
    let scenes = json!([
        {"when": "Paint the door", "steps": [limit]},
        {"when": "You were stopped by a rate limit", "steps": [completes()]},
    ]);
    let task = stage.task(&["Paint the door"], &scenes);
    let worker = stage.start(&[]);
    until(|| (stage.project.endings(&task) == ["waiting_for_reset"]).then_some(()));
    (task, worker)
}
