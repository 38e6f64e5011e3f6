//! Budgets, limits and clocks: what a person thinks counts for nothing.

use super::{COMPLETE, Project, says, turns};
use crate::harness::{Backend, Space, Who, everywhere};
use std::time::{Duration, Instant};

#[test]
fn once_and_given_tasks_and_epics() {
    let space = Space::new(Backend::Sqlite);
    let project = Project::new(&space, &turns(&[&says(COMPLETE)]), "");
    let epic = space.create(&["Epic", "--type", "epic"]);
    let part = space.create(&["Part", "--parent", &epic]);
    let [a, b, c] = ["A", "B", "C"].map(|title| space.create(&[title]));
    project.work(&["--epic", &epic]).says("1 turn:").ok();
    assert_eq!(space.state(&part), "closed");
    project.work(&[&c]).says("1 turn:").ok();
    assert_eq!((space.state(&a), space.state(&c)), ("open".into(), "closed".into()));
    project.work(&["--once"]).says("1 turn:").ok();
    project.work(&[&c]).refused("SAY018");
    // A task that is named has to be ready, too.
    let late = space.create(&["Late", "--blocked-by", &b]);
    project.work(&[&late]).says("0 turns").ok();
    space.ann(&["delete", &late]).ok();
    let left =
        ["open", "closed"].map(|s| [&a, &b, &epic].iter().filter(|t| space.state(t) == s).count());
    assert_eq!(left, [2, 1]);
}

#[test]
fn budgets_end_the_work_and_lose_nothing() {
    let turn = format!("- spend: {{input: 900, output: 100, cost: 0.25}}\n{}", says(COMPLETE));
    for (args, done) in [
        (["--max-turns", "2"], 2),
        (["--max-tokens", "1500"], 2),
        (["--max-cost", "0.60"], 3),
        (["--max-cost", "$0.25"], 1),
    ] {
        let space = Space::new(Backend::Sqlite);
        let project = Project::new(&space, &turns(&[&turn]), "");
        for n in 0..4 {
            space.create(&[&format!("Task {n}")]);
        }
        let ran = project.work(&[&args[..], &["--json"]].concat()).exits(14);
        let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["completed"], done, "{args:?}");
        assert_eq!(report["spent"]["input_tokens"], 900 * done);
    }
}

everywhere! {
    /// Scenario W: while a live agent waits for a person, neither its own clock nor a budget runs.
    fn thinking_time_is_not_work_time(space: &Space) {
        let asks = format!("- ask: [\"Which?\", --wait]\n{}", says(COMPLETE));
        let project = Project::new(space, &turns(&[&asks]), "  turn: 6s");
        let task = space.create(&["Ask while you work"]);
        let mut worker = space.start(Who::Script, &["work", "--max-time", "1h"]);
        let gate = until(|| space.gates(&task).pop());
        std::thread::sleep(Duration::from_secs(10));
        assert_eq!(space.state(&task), "awaiting_input", "longer than a turn may take, and still there");
        space.ann(&["respond", &gate, "that one"]).ok();
        assert!(worker.wait().unwrap().success());
        assert_eq!(space.state(&task), "closed");
        let runs = project.runs(&task);
        let [work, waited] = ["work_seconds", "waited_seconds"].map(|s| runs[0]["spent"][s].as_f64().unwrap());
        assert!(waited >= 6.5 && work < 7.0, "{runs:?}");
    }
}

/// Who has asked and works on is at work.
#[test]
fn a_question_nobody_waits_for_stops_no_clock() {
    let space = Space::new(Backend::Sqlite);
    let script = turns(&["- run: sayso ask 'Anything?'\n- sleep: 30"]);
    let project = Project::new(&space, &script, "  turn: 2s");
    let task = space.create(&["Ask and work on"]);
    let began = Instant::now();
    project.work(&["--once"]).ok();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(project.runs(&task)[0]["spent"]["waited_seconds"], 0.0);
    assert_eq!(space.state(&task), "awaiting_input", "the question is still there");
}

#[test]
fn a_turn_that_takes_too_long_is_ended_with_all_its_processes() {
    let space = Space::new(Backend::Sqlite);
    let script = turns(&["- fork: {seconds: 300}\n- write: {half.txt: half}\n- hang: true"]);
    let project = Project::new(&space, &script, "  turn: 2s\n  fruitless: 1");
    let task = space.create(&["Hang"]);
    project.work(&[]).says("waits for a person").ok();
    let gate = space.show(&space.gate(&task)).to_string();
    assert!(gate.contains("took longer than"), "{gate}");
    let id = project.runs(&task)[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(marked(&id), 0, "nothing of it is left");
    assert_eq!(std::fs::read_to_string(project.tree(&task).join("half.txt")).unwrap(), "half");
}

#[test]
fn a_rate_limit_is_waited_for() {
    let space = Space::new(Backend::Sqlite);
    let script =
        turns(&["- limit: {seconds: 3, text: usage limit reached}\n- exit: 1", &says(COMPLETE)]);
    let project = Project::new(&space, &script, "");
    let task = space.create(&["Do it"]);
    let began = Instant::now();
    project.work(&[]).says("waiting_for_reset").says("completed").ok();
    assert!(began.elapsed() >= Duration::from_secs(2));
    assert_eq!(space.state(&task), "closed");
    assert_eq!(project.endings(&task), ["waiting_for_reset", "completed"]);
}

/// Waits until there is something.
pub fn until<T>(look: impl FnMut() -> Option<T>) -> T {
    until_in(Duration::from_secs(60), look)
}

/// The same, for so long.
pub fn until_in<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "nothing came of it");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// How many processes carry the mark of a run.
pub fn marked(run: &str) -> usize {
    processes(run).len()
}

/// The processes that carry the mark of a run.
pub fn processes(run: &str) -> Vec<u32> {
    let mark = format!("SAYSO_RUN={run}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let holds = |path: std::path::PathBuf| {
        let text = std::fs::read(path.join("environ")).unwrap_or_default();
        text.split(|b| *b == 0).any(|variable| variable == mark.as_bytes())
    };
    let marked = processes.filter(|process| holds(process.path()));
    marked.filter_map(|process| process.file_name().to_str()?.parse().ok()).collect()
}
