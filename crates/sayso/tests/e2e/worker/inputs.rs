//! Bad input: clear errors, and nothing is lost or half done.

use super::{COMPLETE, Project, says, turns};
use crate::harness::{Backend, Space, Who};

#[test]
fn what_is_wrong_is_said_before_anything_is_taken() {
    let space = Space::new(Backend::Sqlite);
    let task = space.create(&["Do it"]);
    space.run(Who::Script, &["work"]).refused("SAY045").says("claude");
    space.run(Who::Script, &["work", "--agent", "nobody"]).refused("SAY032").says("claude-code");
    let project = Project::new(&space, &turns(&[&says(COMPLETE)]), "");
    std::fs::remove_dir_all(space.path().join(".git")).unwrap();
    project.work(&[]).refused("SAY044").says("git init");
    project.git(&["init", "--quiet"]);
    project.work(&[]).refused("SAY044").says("no commit");
    project.settings("  base: nowhere");
    project.git(&[
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "x",
    ]);
    project.work(&[]).refused("SAY044").says("nowhere");
    for (settings, says) in [
        ("  threshold: 7", "5 (always)"),
        ("  jobs: many", "line 5"),
        ("  land: somewhere", "leave, merge, command at line 5"),
        ("  land: command", "land_command"),
        ("  sure: 101", "0 to 100"),
        ("  turn: soon", "turn"),
        ("  lease: 0s", "lease"),
        ("  tunr: 1h", "tunr"),
    ] {
        project.settings(settings);
        project.work(&[]).refused("SAY032").says(says);
    }
    project.settings("");
    space.coder(&["work"]).refused("SAY037");
    project.work(&["--jobs", "0"]).exits(2);
    project.work(&["--threshold", "7"]).exits(2).says("5 (always)");
    assert_eq!(space.state(&task), "open");
}

#[test]
fn task_files_with_mistakes() {
    let space = Space::new(Backend::Sqlite);
    let project = Project::new(&space, &turns(&[&says(COMPLETE)]), "");
    let run = |text: &str| {
        project.write("task.md", text);
        space.run(Who::Script, &["run", "task.md"])
    };
    run("---\nthreshold: 7\n---\n# Do it\n").refused("SAY046").says("line 2").says("5 (always)");
    run("---\nrole: magician\n---\n# Do it\n")
        .refused("SAY046")
        .says("magician")
        .says("roles/magician.md");
    run("---\nagent: nobody\n---\n# Do it\n").refused("SAY046").says("nobody");
    run("---\npriority: [1]\n---\n# Do it\n").refused("SAY046").says("line 2");
    run("").refused("SAY046").says("no title");
    space.run(Who::Script, &["run", "nothing.md"]).refused("SAY001");
    let list = space.ann(&["list", "--json"]).json();
    assert_eq!(list["items"].as_array().unwrap().len(), 0, "no task was made");
}

#[test]
fn an_agent_that_exits_with_an_error_completes_nothing() {
    let space = Space::new(Backend::Sqlite);
    let script = turns(&[&format!("- say: working\n{}\n- exit: 1", says(COMPLETE))]);
    let project = Project::new(&space, &script, "  fruitless: 2");
    let task = space.create(&["Do it"]);
    project.work(&[]).says("exited with code 1").ok();
    assert_eq!(space.state(&task), "awaiting_input");
}

#[test]
fn an_agent_that_prints_without_end_costs_little() {
    let space = Space::new(Backend::Sqlite);
    let script = turns(&[&format!("- print: {{bytes: 1000000000}}\n{}", says(COMPLETE))]);
    let project = Project::new(&space, &script, "");
    let task = space.create(&["Shout"]);
    project.work(&[]).ok();
    assert_eq!(space.state(&task), "closed");
    let id = project.runs(&task)[0]["id"].as_str().unwrap().to_owned();
    let log = std::fs::metadata(space.path().join(format!(".sayso/logs/{id}.log"))).unwrap();
    assert!(log.len() < 64 * 1024 * 1024, "{} bytes", log.len());
}

#[test]
fn a_branch_that_is_in_use_elsewhere_is_said_and_the_work_can_go_on_later() {
    let space = Space::new(Backend::Sqlite);
    let project = Project::new(&space, &turns(&[&says(COMPLETE)]), "");
    let task = space.create(&["Do it"]);
    let branch = format!("sayso/{task}-do-it");
    let elsewhere = tempfile::tempdir().unwrap();
    let there = elsewhere.path().join("there");
    project.git(&["worktree", "add", "--quiet", "-b", &branch, there.to_str().unwrap()]);
    project.work(&[]).says("blocked").exits(14);
    assert_eq!(space.state(&task), "blocked");
    project.git(&["worktree", "remove", there.to_str().unwrap()]);
    space.ann(&["reopen", &task]).ok();
    project.work(&[]).says("completed").ok();
}

#[test]
fn logs_show_what_the_agent_said() {
    let space = Space::new(Backend::Sqlite);
    let script = turns(&[&format!("- say: I look around\n- does: ls\n{}", says(COMPLETE))]);
    let project = Project::new(&space, &script, "");
    let task = space.create(&["Do it"]);
    space.ann(&["logs", &task]).refused("SAY001");
    project.work(&[]).ok();
    space.ann(&["logs", &task]).says("I look around").says("ls").ok();
    space.ann(&["logs", &task, "--raw"]).says("\"sayso\"").ok();
    space.ann(&["logs", &task, "--follow"]).says("I look around").ok();
    space.ann(&["logs", &task, "--back", "3"]).refused("SAY001");
}

/// What a task asks for and nobody has is not replaced by something else; the others go on.
#[test]
fn a_task_that_asks_for_what_is_not_there_is_blocked() {
    let space = Space::new(Backend::Sqlite);
    let project = Project::new(&space, &turns(&[&says(COMPLETE)]), "");
    let cases = [
        ("role:magician", "roles/magician.md"),
        ("agent:nobody", "scripted"),
        ("threshold:7", "5 (always)"),
    ];
    let wrong = cases.map(|(label, says)| (space.create(&["Do it", "--label", label]), says));
    let right = space.create(&["Do it", "--label", "threshold:always", "--label", "role:test"]);
    project.work(&[]).says("1 turn: 1 completed, 0 asked, 3 failed").exits(14);
    for (task, says) in wrong {
        assert_eq!(space.state(&task), "blocked");
        let why = space.show(&task)["closed_because"].to_string();
        assert!(why.contains(says) && why.contains("sayso reopen"), "{why}");
    }
    assert_eq!(space.state(&right), "closed");
    let prompt = project.prompts(&right).remove(0);
    assert!(prompt.contains("5 (always)") && prompt.contains("test engineer"), "{prompt}");
}
