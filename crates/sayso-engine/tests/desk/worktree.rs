//! Worktrees with the real git: what is made, kept, shown, brought home, and what is left alone.

use sayso_engine::worktree::{GitError, GitRepository, MergeOutcome};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

struct Project {
    folder: TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { folder: TempDir::new().unwrap() };
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.git(&["config", "user.name", "ann"]);
        project.git(&["config", "user.email", "ann@localhost"]);
        project.write("a.txt", "one\n");
        project.git(&["add", "--all"]);
        project.git(&["commit", "--quiet", "-m", "begin"]);
        project
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn open(&self) -> GitRepository {
        GitRepository::open(self.path(), self.path().join(".git/trees"), None).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.path().join(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path().join(path)).unwrap()
    }

    #[track_caller]
    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git").arg("-C").arg(self.path()).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

#[test]
fn a_tree_is_made_once_and_found_again() {
    let project = Project::new();
    let repository = project.open();
    let tree = repository.prepare("t1", "Fix: the Login/Page, ÄÖ!").unwrap();
    assert_eq!(tree.branch, "sayso/t1-fix-the-login-page");
    std::fs::write(tree.folder.join("half.txt"), "half").unwrap();
    // Another title later changes nothing: the work is where it was.
    assert_eq!(repository.prepare("t1", "Something else").unwrap(), tree);
    assert!(tree.folder.join("half.txt").exists());
    assert_eq!(repository.existing("t2").unwrap(), None);
    // The tree is lost, the branch is not.
    std::fs::remove_dir_all(&tree.folder).unwrap();
    let again = repository.prepare("t1", "Fix: the Login/Page, ÄÖ!").unwrap();
    assert_eq!(again.branch, tree.branch);
    assert_eq!(repository.prepare("t3", "日本").unwrap().branch, "sayso/t3");
}

/// A tree that was being made when the machine died is not taken for the work of an agent.
#[test]
fn a_tree_that_was_never_whole_is_made_again() {
    let project = Project::new();
    let repository = project.open();
    let tree = repository.prepare("t1", "x").unwrap();
    std::fs::remove_file(tree.folder.join("a.txt")).unwrap();
    std::fs::remove_file(project.path().join(".git/trees/t1.ready")).unwrap();
    assert_eq!(repository.existing("t1").unwrap(), None);
    let again = repository.prepare("t1", "x").unwrap();
    assert_eq!(std::fs::read_to_string(again.folder.join("a.txt")).unwrap(), "one\n");
}

/// However little of it git had made, and locked.
#[test]
fn a_tree_is_made_again_from_whatever_is_left() {
    for left in ["everything", "no .git", "no folder", "no note of git's"] {
        let project = Project::new();
        let repository = project.open();
        let tree = repository.prepare("t1", "x").unwrap();
        let note = project.path().join(".git/worktrees/t1");
        std::fs::write(note.join("locked"), "initializing").unwrap();
        std::fs::remove_file(project.path().join(".git/trees/t1.ready")).unwrap();
        std::fs::remove_file(tree.folder.join("a.txt")).unwrap();
        match left {
            "no .git" => std::fs::remove_file(tree.folder.join(".git")).unwrap(),
            "no folder" => std::fs::remove_dir_all(&tree.folder).unwrap(),
            "no note of git's" => std::fs::remove_dir_all(&note).unwrap(),
            _ => {}
        }
        let again = repository.prepare("t1", "x").unwrap_or_else(|e| panic!("{left}: {e}"));
        assert_eq!(again, tree, "{left}");
        assert_eq!(std::fs::read_to_string(again.folder.join("a.txt")).unwrap(), "one\n", "{left}");
    }
}

#[test]
fn where_there_is_nothing_to_start_from() {
    let folder = TempDir::new().unwrap();
    let open = |base| GitRepository::open(folder.path(), folder.path().join("x"), base);
    assert!(matches!(open(None), Err(GitError::NoRepository(_))));
    Command::new("git").arg("-C").arg(folder.path()).args(["init", "--quiet"]).status().unwrap();
    assert!(matches!(open(None), Err(GitError::NoCommit(_))));
    let project = Project::new();
    let named = GitRepository::open(project.path(), project.path().join("x"), Some("nowhere"));
    assert!(named.unwrap_err().to_string().contains("nowhere"));
}

#[test]
fn a_diff_shows_everything_and_touches_nothing() {
    let project = Project::new();
    let tree = project.open().prepare("t1", "x").unwrap();
    std::fs::write(tree.folder.join("a.txt"), "two\n").unwrap();
    tree.commit("first", "agent").unwrap();
    std::fs::write(tree.folder.join("new.txt"), "new\n").unwrap();
    let status = || {
        let output = Command::new("git")
            .arg("-C")
            .arg(&tree.folder)
            .args(["status", "--porcelain"])
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let before = status();
    let diff = tree.diff(10_000).unwrap();
    assert!(diff.text.contains("-one") && diff.text.contains("+two"), "{}", diff.text);
    assert!(diff.text.contains("+new"), "{}", diff.text);
    assert!(diff.summary.contains("2 files changed"), "{}", diff.summary);
    assert_eq!((status(), before.as_str()), (before.clone(), "?? new.txt\n"));
    let short = tree.diff(10).unwrap();
    assert!(short.is_cut && short.text.len() <= 10);
    let second = tree.commit("second", "agent").unwrap();
    assert_eq!(tree.commit("third", "agent").unwrap(), second, "there was nothing more");
}

#[test]
fn a_branch_comes_home_and_conflicts_are_named() {
    let project = Project::new();
    let repository = project.open();
    let [first, second, none] =
        ["t1", "t2", "t3"].map(|name| repository.prepare(name, "").unwrap());
    std::fs::write(first.folder.join("a.txt"), "first\n").unwrap();
    std::fs::write(second.folder.join("a.txt"), "second\n").unwrap();
    for tree in [&first, &second] {
        tree.commit("change", "agent").unwrap();
    }
    assert_eq!(repository.merge(&none.branch, "m").unwrap(), MergeOutcome::Nothing);
    assert_eq!(repository.merge(&first.branch, "m").unwrap(), MergeOutcome::Merged);
    assert_eq!(project.read("a.txt"), "first\n");
    assert_eq!(repository.merge(&first.branch, "m").unwrap(), MergeOutcome::Nothing, "once");
    assert_eq!(
        repository.merge(&second.branch, "m").unwrap(),
        MergeOutcome::Conflict("a.txt".into())
    );
    assert_eq!(project.read("a.txt"), "first\n");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_somebody_has_not_committed_is_never_overwritten() {
    let project = Project::new();
    let repository = project.open();
    let tree = repository.prepare("t1", "").unwrap();
    std::fs::write(tree.folder.join("a.txt"), "agent\n").unwrap();
    tree.commit("change", "agent").unwrap();
    project.write("a.txt", "mine\n");
    assert!(matches!(repository.merge(&tree.branch, "m").unwrap(), MergeOutcome::InTheWay(_)));
    assert_eq!(project.read("a.txt"), "mine\n");
    assert_eq!(project.git(&["log", "--format=%s"]), "begin");
    // Elsewhere in the tree it is in nobody's way.
    project.git(&["checkout", "--quiet", "a.txt"]);
    project.write("b.txt", "mine, too\n");
    assert_eq!(repository.merge(&tree.branch, "m").unwrap(), MergeOutcome::Merged);
    assert_eq!(
        (project.read("a.txt").as_str(), project.read("b.txt").as_str()),
        ("agent\n", "mine, too\n")
    );
}

#[test]
fn many_trees_at_once() {
    let project = Project::new();
    let repository = &project.open();
    std::thread::scope(|scope| {
        for n in 0..12 {
            scope.spawn(move || {
                let tree = repository.prepare(&format!("t{n}"), "at once").unwrap();
                std::fs::write(tree.folder.join(format!("{n}.txt")), "x").unwrap();
                tree.commit("x", "agent").unwrap();
                assert_eq!(repository.merge(&tree.branch, "m").unwrap(), MergeOutcome::Merged);
                repository.remove(&tree, || false).unwrap();
            });
        }
    });
    for n in 0..12 {
        assert_eq!(project.read(&format!("{n}.txt")), "x");
    }
}

/// Wherever an agent leaves HEAD, what it committed is on the task's branch, or it is said that it is not.
#[test]
fn work_committed_off_the_branch_is_kept_on_it() {
    for (leaves, is_kept) in [
        (vec!["checkout", "--quiet", "--detach"], true),
        (vec!["checkout", "--quiet", "-b", "other"], true),
        (vec!["checkout", "--quiet", "--orphan", "nothing"], false),
    ] {
        let project = Project::new();
        let repository = project.open();
        let tree = repository.prepare("t1", "").unwrap();
        std::fs::write(tree.folder.join("b.txt"), "first").unwrap();
        tree.commit("first", "agent").unwrap();
        Command::new("git").arg("-C").arg(&tree.folder).args(&leaves).status().unwrap();
        std::fs::write(tree.folder.join("b.txt"), "second").unwrap();
        let tree = repository.existing("t1").unwrap().unwrap();
        assert_eq!(tree.branch, "sayso/t1");
        let committed = tree.commit("second", "agent");
        assert_eq!(committed.is_ok(), is_kept, "{leaves:?}: {committed:?}");
        let kept = if is_kept { "second" } else { "first" };
        assert_eq!(project.git(&["show", "sayso/t1:b.txt"]), kept, "{leaves:?}");
    }
}
