//! Scenario L for workflows: killed while it waits, while a step runs, and at every point between.

use super::{begin, count, flow, flows, gate, resume, write};
use crate::harness::{Ran, Space, Who, everywhere, on_both};
use crate::reliability::{ann, desk};
use crate::worker::budgets::until;
use crate::worker::{COMPLETE, Project, turns, writes};
use sayso_engine::{GateFilter, TaskFilter};
use serde_json::Value;

const SLOW: &str = "workflow: slow\nphases:\n  - name: first\n    run: echo first >> log.txt\n    \
                    ask: {approval: Go on?}\n  - name: second\n    run: echo begun >> log.txt; sleep ${NAP:-0}; \
                    echo second >> log.txt\n  - name: third\n    run: echo third >> log.txt\n    \
                    ask: {choice: Which?, options: [a, b]}\n    set: {picked: human.value}\n";

everywhere! {
    /// Whatever is killed: the question is there once, finished steps are not done again, the answer goes on.
    fn killed_and_gone_on_with(space: &Space) {
        write(space, "slow.yaml", SLOW);
        let mut waiting = space.start(Who::Script, &["flow", "run", "slow.yaml", "--key", "k", "--wait"]);
        let first = until(|| {
            let inbox = space.ann(&["inbox", "--json"]).json();
            inbox["items"][0]["handle"].as_str().map(str::to_owned)
        });
        waiting.kill().unwrap();
        waiting.wait().unwrap();
        begin(space, &["slow.yaml", "--key", "k"]).exits(7);
        assert_eq!(gate(space), first, "the same question, once");
        space.ann(&["approve", &first]).ok();

        // Killed in the middle of a step: that step begins anew, and no other.
        let mut command = space.command(Who::Script, &["flow", "resume", "--all"]);
        let mut at_work = command.env("NAP", "60").spawn().unwrap();
        let log = || std::fs::read_to_string(space.path().join("log.txt")).unwrap_or_default();
        until(|| log().contains("begun").then_some(()));
        at_work.kill().unwrap();
        at_work.wait().unwrap();
        // Whoever went on with it is known to be dead, and what to do is said.
        space.ann(&["flow", "list"]).says("idle in second").says("sayso flow resume").exits(0);
        assert_eq!(flow(space)["standing"], "idle");
        resume(space).says("Which?").exits(7);
        assert_eq!(log().matches("first").count(), 1, "{}", log());
        assert_eq!(log().matches("second").count(), 1, "{}", log());
        space.ann(&["choose", &gate(space), "b"]).ok();
        resume(space).exits(0);
        let flow = flow(space);
        assert_eq!(flow["state"]["state"]["picked"], "b");
        assert_eq!(count(&flow, "agent:completed"), 3);
        assert_eq!(count(&flow, "input:requested"), 2);
        space.verify();
    }
}

/// Five phases, two of which ask.
const FIVE: &str = "workflow: five
phases:
  - {name: plan, run: echo a plan, set: {plan: output.text}, ask: {approval: Plan?}}
  - {name: fetch, run: echo 3, set: {count: output.json}}
  - name: write
    run: echo words
    ask: {choice: Which?, options: [red, blue]}
    set: {picked: human.value}
  - {name: check, run: 'true'}
  - {name: finish, run: echo the end, set: {last: output.text}}
";

/// How many parts its way has: to the first question, to the second, to the end.
const PARTS: usize = 3;

/// No part has so many points; whoever passes more goes round in circles.
const POINTS_MAX: u64 = 2_000;

/// Goes on with the flow of a key: begins it, or what was answered.
fn go_on(space: &Space, part: usize, key: &str, dies_after: Option<u64>) -> Ran {
    let args = match part {
        0 => vec!["flow", "run", "five.yaml", "--key", key],
        _ => vec!["flow", "resume", "--all"],
    };
    let mut command = space.command(Who::Script, &args);
    if let Some(points) = dies_after {
        command.env("SAYSO_DIES_AFTER", points.to_string());
    }
    space.finish(&mut command)
}

/// Answers the one question there is in a part.
fn people(space: &Space, part: usize) {
    match part {
        0 => space.ann(&["approve", &gate(space)]).ok(),
        1 => space.ann(&["choose", &gate(space), "blue"]).ok(),
        _ => return,
    };
}

/// Walks to the end, and dies once after so many points of a part. Whether it died at all.
fn walk(space: &Space, key: &str, dies: Option<(usize, u64)>) -> bool {
    let mut has_died = false;
    for part in 0..PARTS {
        let after = dies.filter(|(at, _)| *at == part).map(|(_, after)| after);
        let mut ran = go_on(space, part, key, after);
        // Whoever is killed has no exit code, and says nothing.
        if ran.code == -1 {
            has_died = true;
            assert!(!ran.said().contains("panicked"), "{key}: {}", ran.said());
            ran = go_on(space, part, key, None);
            assert!([0, 7].contains(&ran.code), "{key} goes on: {}", ran.said());
        } else {
            let expected = if part + 1 == PARTS { 0 } else { 7 };
            assert_eq!(ran.code, expected, "{key} comes through: {}", ran.said());
        }
        people(space, part);
    }
    has_died
}

/// A flow, as far as it has to be the same however often it was killed: how it ended, what it carried, and what
/// happened, in order.
fn shown(space: &Space, key: &str) -> Value {
    let all = flows(space);
    let is_it = |flow: &&Value| flow["title"] == key;
    let found: Vec<_> = all.iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{key}: one flow for one key");
    let mut flow =
        space.ann(&["flow", "show", found[0]["handle"].as_str().unwrap(), "--json"]).json();
    let fields = |event: &mut Value| {
        // Each flow has gates of its own.
        if let Some(heard) = event["value"].as_object_mut() {
            heard.remove("gate");
        }
        ["event", "phase", "item", "value"].map(|key| event[key].take())
    };
    let events: Vec<_> = flow["events"].as_array_mut().unwrap().iter_mut().map(fields).collect();
    serde_json::json!({"standing": flow["standing"], "state": flow["state"], "events": events})
}

/// Kills at every `stride`-th point of each part until a part comes through, and says how often that was.
fn killed_everywhere(space: &Space, stride: u64) -> usize {
    walk(space, "whole", None);
    let whole = shown(space, "whole");
    assert_eq!(whole["standing"], "done", "{whole}");
    assert_eq!(whole["state"]["state"]["picked"], "blue", "{whole}");
    let told = |name: &str| {
        let events = whole["events"].as_array().unwrap();
        events.iter().filter(|event| event[0] == name).count()
    };
    assert_eq!((told("agent:completed"), told("input:requested")), (5, 2), "{whole}");
    let mut kills = 0;
    for part in 0..PARTS {
        for after in (0..POINTS_MAX).step_by(stride as usize) {
            let key = format!("part-{part}-point-{after}");
            let has_died = walk(space, &key, Some((part, after)));
            assert_eq!(shown(space, &key), whole, "{key}");
            if !has_died {
                assert!(after > 0, "part {part} was never killed");
                break;
            }
            kills += 1;
        }
    }
    let flows = kills + PARTS + 1;
    let filter = GateFilter { ended: true, limit: 10_000, ..GateFilter::default() };
    let asked = desk(space).gates(&ann(), filter).unwrap().items;
    assert_eq!(asked.len(), flows * 2, "each question was asked once");
    assert!(asked.iter().all(|gate| gate.delivery.as_str() == "acknowledged"));
    space.verify();
    kills
}

on_both! {
    /// Wherever a flow is killed, afterwards it is as if it had not been: the same state, each step written
    /// down once, each question asked once.
    fn killed_at_every_point(space: &Space) {
        write(space, "five.yaml", FIVE);
        let kills = killed_everywhere(space, 1);
        assert!(kills >= 45, "only {kills} kills");
    }
}

on_both! {
    /// The same with an agent in it: one task, one turn that counts, and work that comes home once.
    fn killed_around_an_agent(space: &Space) {
        let project = Project::new(space, &turns(&[&writes("work.txt", "done", COMPLETE)]), "  land: merge");
        project.write("five.yaml", &FIVE.replace("run: echo 3, set: {count: output.json}", "prompt: Write work.txt."));
        let kills = killed_everywhere(space, 4);
        assert!(kills >= 20, "only {kills} kills");
        let filter = TaskFilter { all: true, limit: 10_000, ..TaskFilter::default() };
        let tasks = desk(space).tasks(&filter).unwrap().items;
        assert_eq!(tasks.len(), kills + PARTS + 1, "one task for each flow");
        assert!(tasks.iter().all(|row| row.task.status.is_over()), "{tasks:?}");
    }
}
