//! What becomes of completed and failed work: checks, commits, merges, conflicts.

use super::budgets::until;
use super::killed::Worker;
use super::{COMPLETE, Project, says, turns, writes};
use crate::harness::{Backend, Space, Who, everywhere};
use rustix::process::{Pid, Signal, kill_process};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn failed_work_stays_on_its_branch() {
    let space = Space::new(Backend::Sqlite);
    let failed = writes(
        "half.txt",
        "half",
        "```json\n{\"status\": \"failed\", \"summary\": \"no compiler\"}\n```",
    );
    let project = Project::new(&space, &turns(&[&failed]), "  land: merge");
    let task = space.create(&["Build it"]);
    project.work(&[]).says("failed").says("no compiler").exits(14);
    assert_eq!(space.state(&task), "failed");
    assert_eq!(project.read("half.txt"), None);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(project.git(&["show", &format!("{}:half.txt", project.branch(&task))]), "half");
}

#[test]
fn completed_work_is_committed_on_its_branch_and_left_there() {
    let space = Space::new(Backend::Sqlite);
    let project = Project::new(&space, &turns(&[&writes("new.txt", "new", COMPLETE)]), "");
    let task = space.create(&["Make a new thing!"]);
    project.work(&[]).says("its work is on").ok();
    let branch = project.branch(&task);
    assert_eq!(branch, format!("sayso/{task}-make-a-new-thing"));
    assert_eq!(
        project.git(&["log", "-1", "--format=%s|%an", &branch]),
        "Make a new thing!|scripted"
    );
    assert_eq!(
        project.git(&["rev-parse", "main"]),
        project.git(&["rev-parse", &format!("{branch}~1")])
    );
    assert!(!project.tree(&task).exists());
}

#[test]
fn hooks_of_the_repository_are_not_run() {
    let space = Space::new(Backend::Sqlite);
    let project =
        Project::new(&space, &turns(&[&writes("new.txt", "new", COMPLETE)]), "  land: merge");
    let trap = space.path().join("trapped");
    for hook in [
        "pre-commit",
        "post-commit",
        "post-checkout",
        "post-merge",
        "commit-msg",
        "reference-transaction",
    ] {
        let path = space.path().join(".git/hooks").join(hook);
        std::fs::write(&path, format!("#!/bin/sh\ntouch {}\n", trap.display())).unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    space.create(&["Make it"]);
    project.work(&[]).says("merged into main").ok();
    assert_eq!(project.read("new.txt").as_deref(), Some("new"));
    assert!(!trap.exists(), "a hook was run");
}

everywhere! {
    /// The check is run before the work counts; what it printed goes back to the agent.
    fn a_check_has_to_pass(space: &Space) {
        let script = turns(&[&writes("n.txt", "wrong", COMPLETE), &writes("n.txt", "right", COMPLETE)]);
        let check = "  check: \"grep -q right n.txt || { echo it says $(cat n.txt); exit 1; }\"";
        let project = Project::new(space, &script, check);
        let task = space.create(&["Count"]);
        project.work(&[]).says("completed").ok();
        assert_eq!(space.state(&task), "closed");
        let prompts = project.prompts(&task);
        assert!(prompts[1].contains("it says wrong"), "{}", prompts[1]);
        assert_eq!(project.endings(&task), ["completed"], "one turn, in which it was mended");
    }
}

#[test]
fn work_that_never_passes_its_check_is_not_complete() {
    let space = Space::new(Backend::Sqlite);
    let project = Project::new(
        &space,
        &turns(&[&says(COMPLETE)]),
        "  check: \"false\"\n  check_retries: 1\n  fruitless: 2",
    );
    let task = space.create(&["Count"]);
    project.work(&[]).ok();
    assert_eq!(space.state(&task), "awaiting_input");
    assert_eq!(space.show(&space.gate(&task))["kind"], "escalation");
    assert_eq!(project.prompts(&task).len(), 4, "two turns, each mended once");
}

#[test]
fn a_conflict_goes_back_to_the_agent() {
    let space = Space::new(Backend::Sqlite);
    let resolves = format!(
        "- run: \"git merge main || true; echo both > README.md; git add README.md\"\n{}",
        says(COMPLETE)
    );
    let moves = "- run: \"cd ../../.. && echo theirs > README.md && git commit -qam theirs\"\n";
    let first = format!("{moves}{}", writes("README.md", "ours", COMPLETE));
    let project = Project::new(&space, &turns(&[&first, &resolves]), "  land: merge");
    let task = space.create(&["Change the readme"]);
    project.work(&[]).says("conflicts with main").says("merged into main").ok();
    assert_eq!(space.state(&task), "closed");
    assert_eq!(project.read("README.md").as_deref(), Some("both\n"));
}

/// What is in the way of a merge is somebody's: they are asked to make way, and then it comes home.
#[test]
fn nobodys_changes_are_overwritten_by_a_merge() {
    let space = Space::new(Backend::Sqlite);
    let project =
        Project::new(&space, &turns(&[&writes("README.md", "agent", COMPLETE)]), "  land: merge");
    project.write("README.md", "my own, not committed\n");
    let task = space.create(&["Change the readme"]);
    project.work(&[]).says("not committed").says("waits for a person").ok();
    assert_eq!(project.read("README.md").as_deref(), Some("my own, not committed\n"));
    let gate = space.gate(&task);
    assert_eq!(space.show(&gate)["kind"], "work");
    assert_eq!(project.git(&["show", &format!("{}:README.md", project.branch(&task))]), "agent");
    project.git(&["checkout", "--quiet", "README.md"]);
    space.ann(&["done", &gate, "out of the way"]).ok();
    project.work(&[]).says("merged into main").ok();
    assert_eq!(project.read("README.md").as_deref(), Some("agent"));
}

everywhere! {
    /// A yes is for what was shown: what came into the tree or onto the branch since stays there.
    fn only_what_was_shown_comes_home(space: &Space) {
        let script = turns(&[&writes("good.txt", "good", COMPLETE)]);
        let project = Project::new(space, &script, "  land: merge");
        let tasks = ["First", "Second"].map(|title| space.create(&[title, "--requires", "approval"]));
        project.work(&[]).ok();
        std::fs::write(project.tree(&tasks[0]).join("evil.txt"), "evil").unwrap();
        std::fs::write(project.tree(&tasks[1]).join("evil.txt"), "evil").unwrap();
        let tree = project.tree(&tasks[1]);
        let git = |args: &[&str]| {
            let ran = std::process::Command::new("git").arg("-C").arg(&tree).args(args).output();
            assert!(ran.unwrap().status.success());
        };
        git(&["add", "--all"]);
        git(&["-c", "user.name=x", "-c", "user.email=x@x", "commit", "--quiet", "-m", "more"]);
        for task in &tasks {
            space.ann(&["approve", task]).ok();
        }
        project.work(&[]).says("what came after it stays on").ok();
        assert_eq!(project.read("good.txt").as_deref(), Some("good"));
        assert_eq!(project.read("evil.txt"), None);
        for task in &tasks {
            let branch = project.branch(task);
            assert_eq!(project.git(&["show", &format!("{branch}:evil.txt")]), "evil", "nothing is lost");
        }
    }
}

/// An agent that asks for the sign-off in the middle of its turn gets no yes for what it does later.
#[test]
fn a_sign_off_without_a_commit_brings_nothing_home() {
    let space = Space::new(Backend::Sqlite);
    let close = "sayso close \"$SAYSO_TASK\" 'a tiny change' || test $? = 12";
    let turn = format!("- write: {{a.txt: a}}\n- run: {close}\n- write: {{b.txt: b}}");
    let script = turns(&[&format!("{turn}\n{}", says(COMPLETE))]);
    let project = Project::new(&space, &script, "  land: merge");
    let task = space.create(&["Do it", "--requires", "approval"]);
    project.work(&[]).ok();
    space.ann(&["approve", &task]).ok();
    project.work(&[]).says("its work is on").ok();
    assert_eq!((project.read("a.txt"), project.read("b.txt")), (None, None));
    assert_eq!(project.git(&["show", &format!("{}:b.txt", project.branch(&task))]), "b");
}

/// A sign-off cannot be shaken off by making another task of the rest.
#[test]
fn tasks_an_agent_makes_require_what_its_own_does() {
    let space = Space::new(Backend::Sqlite);
    let script = turns(&[&format!(
        "- run: test -e made || {{ touch made; sayso create Helper; }}\n{}",
        says(COMPLETE)
    )]);
    let project = Project::new(&space, &script, "  land: merge");
    space.create(&["Do it", "--requires", "review"]);
    project.work(&["--max-turns", "2"]).exits(14).says("2 turns: 0 completed, 2 asked");
    assert_eq!(project.read("made"), None);
}

#[test]
fn a_command_of_the_users_may_take_the_work() {
    let space = Space::new(Backend::Sqlite);
    let land = "  land: command\n  land_command: 'echo \"$SAYSO_TITLE on $SAYSO_BRANCH\" > \"$OLDPWD\"/handed; true'";
    let land = land.replace("\"$OLDPWD\"", &space.path().display().to_string());
    let project = Project::new(&space, &turns(&[&writes("new.txt", "new", COMPLETE)]), &land);
    let task = space.create(&["Fix $(it); now"]);
    project.work(&[]).says("handed over by").ok();
    let handed = project.read("handed").unwrap();
    assert_eq!(handed.trim(), format!("Fix $(it); now on {}", project.branch(&task)));
}

/// A worker that slept after it brought the work home wakes up when the task is another's: what it would
/// have tidied away is where the other one works.
#[test]
fn a_tree_somebody_works_in_is_not_taken_away() {
    let space = Space::new(Backend::Sqlite);
    // The first time, bringing it home takes until the store is held.
    let home = "test -e ../../held || { touch ../../landing; until test -e ../../held; do sleep 0.01; done; }";
    let settings = format!("  lease: 4s\n  land: command\n  land_command: '{home}'");
    let slow = writes("second.txt", "second", COMPLETE).replace(
        "- final",
        "- run: \"touch ../../begun; until test -e ../../go; do sleep 0.05; done\"\n- final",
    );
    let project =
        Project::new(&space, &turns(&[&writes("first.txt", "first", COMPLETE), &slow]), &settings);
    let task = space.create(&["Do it"]);
    let start = || {
        let mut command = space.command(Who::Script, &["work", "--watch"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Worker(command.spawn().unwrap())
    };
    let first = start();
    let is_there = |file: &str| space.path().join(".sayso").join(file).exists().then_some(());
    until(|| is_there("landing"));
    let hold = rusqlite::Connection::open(space.file()).unwrap();
    hold.execute_batch("BEGIN IMMEDIATE").unwrap();
    project.write(".sayso/held", "");
    // Now it is about to say that the task is done, and falls asleep over it.
    std::thread::sleep(Duration::from_millis(500));
    kill_process(Pid::from_child(&first.0), Signal::STOP).unwrap();
    // It is asleep when each of its threads is; before that it could still take the store.
    until(|| is_asleep(first.0.id()).then_some(()));
    hold.execute_batch("ROLLBACK").unwrap();
    let _second = start();
    until(|| is_there("begun"));
    kill_process(Pid::from_child(&first.0), Signal::CONT).unwrap();
    // It sees that the run is not its own any more, and would tidy up.
    std::thread::sleep(Duration::from_secs(1));
    assert!(project.tree(&task).exists(), "the other one works there");
    project.write(".sayso/go", "");
    until(|| (space.state(&task) == "closed").then_some(()));
    until(|| (!project.tree(&task).exists()).then_some(()));
    assert_eq!(project.endings(&task), ["lost", "completed"]);
    let files = project.git(&["ls-tree", "--name-only", &project.branch(&task)]);
    assert!(files.contains("first.txt") && files.contains("second.txt"), "{files}");
}

/// Whether every thread of a process was stopped.
fn is_asleep(process: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    threads.into_iter().all(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    })
}
