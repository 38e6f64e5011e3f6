//! Scenario L: `kill -9` for the worker and the client. The next worker ends what is left of them, the
//! question is there once, and its answer resumes the client once.

use super::turns::{asks, completes, writes};
use super::{Stage, Working, until};
use crate::worker::budgets::processes;
use serde_json::json;
use std::process::Command;

const ANSWER: &str = "blue, of course";

/// While the model thinks; and once more while the question waits.
pub(super) fn at_work(stage: &Stage<'_>) {
    let space = stage.space;
    let thinks = json!({"delay": 600, "text": "too late"});
    let task = stage.task(
        &["Paint the door"],
        &json!([
            {"when": "Paint the door", "steps": [writes("half.txt", "half"), thinks]},
            {"when": "You were interrupted", "steps": [asks()]},
            {"when": ANSWER, "steps": [writes("done.txt", "done"), completes()]},
        ]),
    );
    let worker = stage.start(&[]);
    stage.model.await_request("Paint the door", 1);
    let first = run(stage, &task);
    kill(worker, &first);

    let worker = stage.start(&["--watch"]);
    let gate = until(|| space.gates(&task).pop());
    nothing_is_left(&first);
    let second = run(stage, &task);
    until(|| processes(&second).is_empty().then_some(()));
    worker.kill();

    stage.work().says("0 turns").ok();
    assert_eq!(space.gates(&task), [gate], "the same question, once");
    goes_on(stage, &task);
    assert_eq!(stage.project.endings(&task), ["lost", "asked", "completed"]);
    assert_eq!(stage.committed(&task, "half.txt"), "half");
    assert_eq!(stage.committed(&task, "done.txt"), "done");
    stage.ends(&task);
}

/// While it waits for its answer in the middle of its turn.
pub(super) fn while_it_waits(stage: &Stage<'_>) {
    let space = stage.space;
    let ask = json!({"shell": "sayso ask 'Which colour?' --wait"});
    let task = stage.task(
        &["Paint the door"],
        &json!([
            {"when": "Paint the door", "steps": [writes("half.txt", "half"), ask, asks()]},
            {"when": ANSWER, "steps": [completes()]},
        ]),
    );
    let worker = stage.start(&[]);
    let gate = until(|| space.gates(&task).pop());
    let first = run(stage, &task);
    kill(worker, &first);

    stage.work().says("0 turns").ok();
    nothing_is_left(&first);
    assert_eq!(space.gates(&task), [gate], "the same question, once");
    goes_on(stage, &task);
    assert_eq!(stage.project.endings(&task), ["lost", "completed"]);
    assert_eq!(stage.committed(&task, "half.txt"), "half");
    stage.ends(&task);
}

/// Asserts that no process of a run is alive.
#[track_caller]
fn nothing_is_left(run: &str) {
    let about =
        |pid: &u32, what: &str| std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
    let shown = |pid: u32| {
        let all = ["stat", "cmdline", "wchan"].map(|what| about(&pid, what)).concat();
        String::from_utf8_lossy(&all).replace('\0', " ")
    };
    let left: Vec<_> = processes(run).into_iter().map(shown).collect();
    assert!(left.is_empty(), "something of the old one is left: {left:#?}");
}

/// The newest run of a task.
fn run(stage: &Stage<'_>, task: &str) -> String {
    stage.project.runs(task).last().unwrap()["id"].as_str().unwrap().to_owned()
}

/// Kills the worker, and of its client the process it started itself.
fn kill(worker: Working, run: &str) {
    let parent = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let (_, rest) = stat.rsplit_once(") ").unwrap_or_default();
        rest.split(' ').nth(1).and_then(|pid| pid.parse::<u32>().ok())
    };
    let client = processes(run).into_iter().find(|pid| parent(pid) == Some(worker.0.id()));
    let client = client.expect("the client is at work").to_string();
    worker.kill();
    assert!(Command::new("kill").args(["-9", &client]).status().unwrap().success());
}

/// A person answers, and the client goes on, once.
fn goes_on(stage: &Stage<'_>, task: &str) {
    stage.space.ann(&["respond", task, ANSWER]).ok();
    stage.work().says("1 turn: 1 completed").ok();
    let told = stage.model.request(ANSWER, 0);
    assert!(told.last("user").contains("Which colour?"), "{told:#?}");
    assert!(told.holds("call", "half.txt"), "what it did before it was killed: {told:#?}");
    let runs = stage.project.runs(task);
    let is_same =
        runs.iter().all(|run| run["session"].is_string() && run["session"] == runs[0]["session"]);
    assert!(is_same, "the same conversation: {runs:?}");
    assert_eq!(stage.delivery(task), "acknowledged");
    stage.work().says("0 turns").ok();
}
