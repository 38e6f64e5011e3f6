//! Nothing that is not finished ends with 0.

use super::budgets::until;
use super::{COMPLETE, Project, says, turns};
use crate::harness::{Backend, Ran, Space, Who};
use std::process::{Child, Command};

/// Sends a signal to a command that was started, and says how it ended.
fn end(child: Child, signal: &str) -> Ran {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    Ran::of(&child.wait_with_output().unwrap())
}

#[test]
fn a_signal_is_no_success() {
    let mut checked = 0;
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        for command in [&["run"][..], &["work"], &["work", "--watch"]] {
            let space = Space::new(Backend::Sqlite);
            let _project = Project::new(&space, &turns(&["- hang: true"]), "");
            let task = space.create(&["Hang"]);
            let mut words = command.to_vec();
            words.extend((command == ["run"]).then_some(task.as_str()));
            let child = space.start(Who::Script, &words);
            until(|| (space.state(&task) == "in_progress").then_some(()));
            end(child, signal).exits(code);
            assert_eq!(space.state(&task), "open", "{command:?}");
            checked += 1;
        }
    }
    assert_eq!(checked, 9);
}

/// A worker that stays has nothing else that ends it.
#[test]
fn a_worker_that_stays_and_has_nothing_to_do_ends_well() {
    let space = Space::new(Backend::Sqlite);
    let _project = Project::new(&space, &turns(&[&says(COMPLETE)]), "");
    let task = space.create(&["Do it"]);
    let child = space.start(Who::Script, &["work", "--watch"]);
    until(|| (space.state(&task) == "closed").then_some(()));
    std::thread::sleep(std::time::Duration::from_secs(1));
    end(child, "-TERM").exits(0);
}

#[test]
fn a_budget_that_leaves_tasks_is_no_success() {
    let space = Space::new(Backend::Sqlite);
    let project = Project::new(&space, &turns(&[&says(COMPLETE)]), "");
    let tasks = [space.create(&["One"]), space.create(&["Two"])];
    project.work(&["--max-turns", "1"]).exits(14);
    let ran = project.work(&["--max-turns", "0", "--json"]).exits(14);
    assert!(ran.stdout.contains("\"budget_used_up\":true"), "{}", ran.stdout);
    // What is enough is enough.
    project.work(&["--max-turns", "1"]).exits(0);
    assert_eq!(tasks.map(|task| space.state(&task)), ["closed", "closed"]);
}

#[test]
fn a_task_that_failed_is_no_success() {
    let space = Space::new(Backend::Sqlite);
    let project = Project::new(&space, &turns(&["- exit: 3"]), "");
    let task = space.create(&["Fail"]);
    project.work(&[]).exits(14);
    assert_ne!(space.state(&task), "closed");
    // What is left alone from then on is not failed again.
    project.work(&[]).exits(0);
}
