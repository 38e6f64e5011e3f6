//! Git worktrees: each task works in a tree and on a branch of its own, so that work that waits for a person stays
//! as it is while others go on.
//!
//! Git is the user's own program. Our commands never run a hook of the repository: an agent can write hooks, and
//! they would run as the worker.

use sayso_agents::process_tree::MARK;
use sayso_core::RunId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Git options that switch off the programs a repository could make Git run.
const HARMLESS: [&str; 8] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "diff.external=",
];

/// The number of attempts when another Git process holds its lock.
const ATTEMPTS_MAX: u32 = 5;

/// The timeout for another worker that makes a worktree or merges.
const TURN_MAX: Duration = Duration::from_secs(10 * 60);

/// The poll interval for the lock.
const TURN_LOOK: Duration = Duration::from_millis(5);

/// The maximum number of characters of a task's title in its branch.
const SLUG_CHARS_MAX: usize = 40;

/// An error of Git.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// Git is not installed.
    #[error("git is not installed or not on the PATH")]
    NoGit,
    /// The folder is in no repository.
    #[error("{0} is not in a git repository")]
    NoRepository(String),
    /// The repository has no commit to start from.
    #[error("the repository {0} has no commit yet")]
    NoCommit(String),
    /// Another failure of a Git command.
    #[error("git {what}: {why}")]
    Failed {
        /// The attempted operation.
        what: String,
        /// The message of Git.
        why: String,
    },
}

impl GitError {
    /// Returns a hint how to solve the problem.
    pub fn hint(&self) -> &'static str {
        match self {
            GitError::NoGit => "install git",
            GitError::NoRepository(_) => {
                "make one with: git init && git commit --allow-empty -m begin"
            }
            GitError::NoCommit(_) => "make the first one with: git commit --allow-empty -m begin",
            GitError::Failed { .. } => "see what git says in that folder with: git status",
        }
    }
}

type GitResult<T> = std::result::Result<T, GitError>;

/// The Git repository in which tasks are worked on.
#[derive(Debug, Clone)]
pub struct GitRepository {
    root: PathBuf,
    worktrees: PathBuf,
    base: String,
    run: Option<String>,
}

/// The worktree of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    pub folder: PathBuf,
    /// The branch that is checked out in it.
    pub branch: String,
    base: String,
    run: Option<String>,
}

/// The changes of a task, cut to what a person is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskDiff {
    /// The files with counts of lines (`git diff --stat`).
    pub summary: String,
    /// The diff, cut where it is too long.
    pub text: String,
    /// True if the diff was cut.
    pub is_cut: bool,
}

/// A path that differs between two trees: its mode and object id before and after; none where it does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathChange {
    pub path: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// The outcome of a merge into the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The branch is part of the base now.
    Merged,
    /// The base contained the branch already.
    Nothing,
    /// A merge conflict: both sides changed the same places.
    Conflict(String),
    /// An obstacle in the main tree, such as changes that are not committed.
    InTheWay(String),
}

impl GitRepository {
    /// Opens the repository around a folder. Worktrees go below `worktrees`; work starts from `base`, or from the
    /// checked-out branch.
    pub fn open(folder: &Path, worktrees: PathBuf, base: Option<&str>) -> GitResult<Self> {
        let here = || folder.display().to_string();
        let top = git(folder, ["rev-parse", "--show-toplevel"])
            .map_err(|e| if e == GitError::NoGit { e } else { GitError::NoRepository(here()) })?;
        let root = PathBuf::from(top);
        let wanted = base.map_or_else(|| "HEAD".to_owned(), str::to_owned);
        let is_there =
            git(&root, ["rev-parse", "--verify", "--quiet", &format!("{wanted}^{{commit}}")]);
        match (is_there, base) {
            (Err(_), None) => return Err(GitError::NoCommit(here())),
            (Err(_), Some(base)) => {
                return Err(failed("find the base", &format!("there is no branch {base}")));
            }
            (Ok(_), _) => {}
        }
        let base = match base {
            Some(base) => base.to_owned(),
            // With a detached HEAD the commit itself is the base.
            None => git(&root, ["symbolic-ref", "--quiet", "--short", "HEAD"])
                .or_else(|_| git(&root, ["rev-parse", "HEAD"]))?,
        };
        Ok(Self { root, worktrees, base, run: None })
    }

    /// Returns the repository for one run: its Git processes carry the run's mark, so that a worker that takes over
    /// the run ends them before it uses the worktree.
    #[must_use]
    pub fn for_run(&self, run: RunId) -> Self {
        Self { run: Some(run.to_string()), ..self.clone() }
    }

    /// Returns the folder of the main worktree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the main worktree, for detecting changes by a command. No task is worked on there.
    pub fn main_tree(&self) -> Worktree {
        let (folder, branch) = (self.root.clone(), self.base.clone());
        Worktree { folder, branch, base: self.base.clone(), run: None }
    }

    /// Returns the branch or commit from which work starts and into which it is merged.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Returns the number of files with uncommitted changes in the main tree. Agents do not see those.
    pub fn uncommitted(&self) -> GitResult<usize> {
        Ok(git(&self.root, ["status", "--porcelain", "--untracked-files=no"])?.lines().count())
    }

    /// Returns the worktree of a task, or makes one on a new branch.
    pub fn prepare(&self, name: &str, title: &str) -> GitResult<Worktree> {
        self.prepare_from(name, title, &self.base)
    }

    /// Returns the branch of a task's work if it exists and is not merged into the base.
    pub fn unmerged_branch(&self, name: &str, title: &str) -> Option<String> {
        let branch = branch_of(name, title);
        let name = format!("refs/heads/{branch}");
        git(&self.root, ["rev-parse", "--verify", "--quiet", &name]).ok()?;
        let is_home = ["merge-base", "--is-ancestor", &name, &self.base];
        git(&self.root, is_home).is_err().then_some(branch)
    }

    /// Like `prepare`, but a new worktree starts from another branch than the base.
    pub fn prepare_from(&self, name: &str, title: &str, from: &str) -> GitResult<Worktree> {
        let folder = self.worktrees.join(name);
        let branch = branch_of(name, title);
        // Git itself fails on worktrees that another process is making, and an existing one may be about to be
        // removed.
        let turn = self.lock("trees.lock")?;
        if let Some(tree) = self.existing(name)? {
            return Ok(tree);
        }
        let here = self.here().in_turn(&turn);
        if folder.exists() {
            clear(here, &folder)?;
        }
        let (path, base) = (folder.as_os_str(), OsStr::new(from));
        let new = ["worktree", "add", "--no-track", "-b", &branch].map(OsStr::new);
        let made = with_lock_retry(|| git(here, new.into_iter().chain([path, base])));
        made.or_else(|error| {
            // The branch remains from an earlier time, its worktree does not: the work continues on it.
            let name = format!("refs/heads/{branch}");
            if git(here, ["rev-parse", "--verify", "--quiet", &name]).is_err() {
                return Err(error);
            }
            clear(here, &folder)?;
            let old = ["worktree", "add"].map(OsStr::new);
            with_lock_retry(|| git(here, old.into_iter().chain([path, OsStr::new(&branch)])))
        })?;
        let mark = self.mark(name);
        std::fs::write(&mark, &branch)
            .map_err(|e| failed("make a worktree", &format!("{}: {e}", mark.display())))?;
        Ok(Worktree { folder, branch, base: self.base.clone(), run: self.run.clone() })
    }

    /// The file that marks a worktree as complete. One that was being made when the machine died has half of its
    /// files, and it would look as if the agent had deleted the others.
    fn mark(&self, name: &str) -> PathBuf {
        self.worktrees.join(format!("{name}.ready"))
    }

    /// Returns the commit at which a step of a task began: `begin` supplies it at the first call with `id`, and it is
    /// found again as long as no other step began.
    pub fn step_began(
        &self,
        name: &str,
        id: &str,
        begin: impl FnOnce() -> GitResult<String>,
    ) -> GitResult<String> {
        if let Ok(since) = self.step_since(name, id) {
            return Ok(since);
        }
        let (since, path) = (begin()?, self.step_mark(name));
        let half = path.with_extension("step-half");
        // Written atomically: half a commit id would name another commit.
        std::fs::create_dir_all(&self.worktrees)
            .and_then(|()| std::fs::write(&half, format!("{since}\n{id}\n")))
            .and_then(|()| std::fs::rename(&half, &path))
            .map_err(|e| failed("begin a step", &format!("{}: {e}", path.display())))?;
        Ok(since)
    }

    /// Returns the commit at which a step began that has begun already.
    pub fn step_since(&self, name: &str, id: &str) -> GitResult<String> {
        let path = self.step_mark(name);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        match text.split_once('\n') {
            Some((since, noted)) if noted.trim_end() == id && is_commit(since) => Ok(since.into()),
            _ => Err(failed("find where the step began", &format!("see {}", path.display()))),
        }
    }

    /// The file that records the changes by the attempts at a command.
    pub fn watch_note(&self, name: &str) -> PathBuf {
        self.worktrees.join(format!("{name}.watch"))
    }

    fn step_mark(&self, name: &str) -> PathBuf {
        self.worktrees.join(format!("{name}.step"))
    }

    fn here(&self) -> GitContext<'_> {
        GitContext { folder: &self.root, run: self.run.as_deref(), turn: None }
    }

    /// Returns the complete worktree of a task, if it has one.
    pub fn existing(&self, name: &str) -> GitResult<Option<Worktree>> {
        let folder = self.worktrees.join(name);
        if !folder.join(".git").exists() || !self.mark(name).exists() {
            return Ok(None);
        }
        // The branch it was made with, even if an agent has switched to another.
        let made = std::fs::read_to_string(self.mark(name)).unwrap_or_default();
        let branch = match made.trim() {
            "" => git(&folder, ["symbolic-ref", "--quiet", "--short", "HEAD"])?,
            branch => branch.to_owned(),
        };
        Ok(Some(Worktree { folder, branch, base: self.base.clone(), run: self.run.clone() }))
    }

    /// Merges a branch into the base. The main tree is changed only if the base is checked out there, and uncommitted
    /// changes in it are never overwritten.
    pub fn merge(&self, branch: &str, message: &str) -> GitResult<MergeOutcome> {
        let turn = self.lock("merge.lock")?;
        let here = GitContext::from(&self.root).in_turn(&turn);
        let home = format!("refs/heads/{}", self.base);
        let Ok(ours) = git(here, ["rev-parse", "--verify", "--quiet", &home]) else {
            return Ok(MergeOutcome::InTheWay(format!(
                "{} is no branch that could be merged to",
                self.base
            )));
        };
        let theirs = git(here, ["rev-parse", "--verify", branch])?;
        if git(here, ["merge-base", "--is-ancestor", &theirs, &ours]).is_ok() {
            return Ok(MergeOutcome::Nothing);
        }
        let merged = run(
            here,
            ["merge-tree", "--write-tree", "--name-only", "--no-messages", &ours, &theirs],
        )?;
        let said = text(&merged.stdout);
        let mut lines = said.lines();
        let tree = lines.next().unwrap_or_default().to_owned();
        match merged.status.code() {
            Some(0) => {}
            Some(1) => return Ok(MergeOutcome::Conflict(lines.collect::<Vec<_>>().join(", "))),
            _ => return Err(failed("merge", &text(&merged.stderr))),
        }
        let commit = with_identity(
            here,
            &["commit-tree", &tree, "-p", &ours, "-p", &theirs, "-m", message],
        )?;
        self.fast_forward(here, &home, &ours, &commit)
    }

    fn fast_forward(
        &self,
        here: GitContext<'_>,
        home: &str,
        from: &str,
        to: &str,
    ) -> GitResult<MergeOutcome> {
        let head = git(here, ["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
        if head != home {
            git(here, ["update-ref", home, to, from])?;
            return Ok(MergeOutcome::Merged);
        }
        match with_lock_retry(|| git(here, ["merge", "--ff-only", "--quiet", to])) {
            Ok(_) => Ok(MergeOutcome::Merged),
            Err(error) => Ok(MergeOutcome::InTheWay(error.to_string())),
        }
    }

    /// Takes a file lock that holds across processes. A stopped process delays the others up to a timeout, not for
    /// ever.
    fn lock(&self, name: &str) -> GitResult<File> {
        let began = Instant::now();
        loop {
            if let Some(file) = self.try_lock(name)? {
                return Ok(file);
            }
            if began.elapsed() > TURN_MAX {
                let why = format!("another worker holds {}", self.worktrees.join(name).display());
                return Err(failed("wait for its turn", &why));
            }
            std::thread::sleep(TURN_LOOK);
        }
    }

    /// Takes the lock; none if another process holds it.
    pub(crate) fn try_lock(&self, name: &str) -> GitResult<Option<File>> {
        let file = self.lock_file(name)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(failed("wait for its turn", &e.to_string())),
        }
    }

    fn lock_file(&self, name: &str) -> GitResult<File> {
        let path = self.worktrees.join(name);
        let file = std::fs::create_dir_all(&self.worktrees).and_then(|()| {
            File::options().read(true).write(true).create(true).truncate(false).open(&path)
        });
        file.map_err(|e| failed("wait for its turn", &format!("{}: {e}", path.display())))
    }

    /// Removes a worktree that is not needed any more; its branch stays. Commit first what is to be kept. `is_needed`
    /// is called under the lock: a run that begins later waits until the worktree is gone.
    pub fn remove(&self, tree: &Worktree, is_needed: impl FnOnce() -> bool) -> GitResult<()> {
        let turn = self.lock("trees.lock")?;
        if is_needed() {
            return Ok(());
        }
        let name = tree.folder.file_name().unwrap_or_default().to_string_lossy();
        // From now on it counts as incomplete, also if we die before it is removed.
        let _ = std::fs::remove_file(self.mark(&name));
        clear(self.here().in_turn(&turn), &tree.folder)
    }
}

impl Worktree {
    /// Commits all changes in the worktree, if there are any, and returns the last commit.
    pub fn commit(&self, message: &str, author: &str) -> GitResult<String> {
        with_lock_retry(|| git(self.here(), ["add", "--all"]))?;
        if !run(self.here(), ["diff", "--cached", "--quiet", "--no-ext-diff"])?.status.success() {
            let author = format!("--author={author} <{author}@localhost>");
            let words = ["commit", "--quiet", "--no-verify", &author, "-m", message];
            with_identity(self.here(), &words)?;
        }
        let head = git(self.here(), ["rev-parse", "HEAD"])?;
        self.update_branch(&head)?;
        Ok(head)
    }

    /// Moves the task's branch to the commit if the agent left the branch, or fails if the branch cannot be moved
    /// forward to it.
    fn update_branch(&self, head: &str) -> GitResult<()> {
        let ours = format!("refs/heads/{}", self.branch);
        let is_on = git(self.here(), ["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
        if is_on == ours {
            return Ok(());
        }
        if git(self.here(), ["merge-base", "--is-ancestor", &ours, head]).is_err() {
            let why =
                format!("the agent left {} for something else; its work is at {head}", self.branch);
            return Err(failed("keep the work", &why));
        }
        git(self.here(), ["update-ref", &ours, head])?;
        git(self.here(), ["symbolic-ref", "HEAD", &ours]).map(drop)
    }

    /// Returns the last commit.
    pub fn head(&self) -> GitResult<String> {
        git(self.here(), ["rev-parse", "--verify", "HEAD^{commit}"])
    }

    /// Returns the paths that differ from a commit: in a later commit, or in the folder as it is. Changes that the
    /// agent told its own index to ignore are seen all the same.
    pub fn changed_since(&self, since: &str, commit: Option<&str>) -> GitResult<Vec<String>> {
        let names = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"];
        if let Some(commit) = commit {
            let args = [&names[..], &[since, commit]].concat();
            return paths(&run(self.here(), &args)?, &args);
        }
        let tree = self.snapshot_over(since)?;
        self.changed_since(since, Some(&tree))
    }

    /// Returns the paths that differ between two Git trees.
    pub fn changes(&self, since: &str, now: &str) -> GitResult<Vec<PathChange>> {
        let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", since, now];
        let found = paths(&run(self.here(), args)?, &args)?;
        let change = |pair: &[String]| {
            let [about, path] = pair else { return None };
            let about: Vec<&str> = about.trim_start_matches(':').split(' ').collect();
            let [mode, mode_now, id, id_now, ..] = about[..] else { return None };
            let content = |mode: &str, id: &str| {
                if id.bytes().all(|byte| byte == b'0') {
                    None
                } else {
                    Some(format!("{mode} {id}"))
                }
            };
            let (before, after) = (content(mode, id), content(mode_now, id_now));
            Some(PathChange { path: path.clone(), before, after })
        };
        let wrong = || failed("see what was changed", "it said something else");
        found.chunks(2).map(|pair| change(pair).ok_or_else(wrong)).collect()
    }

    /// Returns the content of each path of a Git tree, in the notation of [`PathChange`].
    pub fn contents(&self, tree: &str) -> GitResult<BTreeMap<String, String>> {
        let args = ["ls-tree", "-r", "-z", "--full-tree", tree];
        let found = paths(&run(self.here(), args)?, &args)?;
        let entry = |line: String| {
            let (about, path) = line.split_once('\t')?;
            let [mode, _, id] = about.split(' ').collect::<Vec<_>>()[..] else { return None };
            Some((path.to_owned(), format!("{mode} {id}")))
        };
        Ok(found.into_iter().filter_map(entry).collect())
    }

    /// Writes the content of the folder as a Git tree and returns its id. The index stays as it is.
    pub fn snapshot(&self) -> GitResult<String> {
        self.snapshot_over(&self.head()?)
    }

    /// Writes the tree on top of an earlier one: a path that is tracked and ignored stays tracked.
    fn snapshot_over(&self, before: &str) -> GitResult<String> {
        let theirs = git(self.here(), ["rev-parse", "--git-path", "index"])?;
        let index = self.folder.join(format!("{theirs}.sayso-step-{}", std::process::id()));
        let with_index = |args: &[&str]| {
            let mut command = command(self.here(), args);
            command.env("GIT_INDEX_FILE", &index);
            output(command, args).and_then(|output| checked(&output, args))
        };
        let read = || {
            with_index(&["read-tree", before])?;
            with_index(&["add", "--all"])?;
            with_index(&["write-tree"])
        };
        let tree = read();
        let _ = std::fs::remove_file(&index);
        tree
    }

    /// Returns the changes of the task so far, committed or not. The worktree and its index stay as they are.
    pub fn diff(&self, bytes_max: usize) -> GitResult<TaskDiff> {
        let from = git(self.here(), ["merge-base", &self.base, "HEAD"])?;
        // A copy of the agent's index, so that Git need not read every file.
        let theirs = git(self.here(), ["rev-parse", "--git-path", "index"])?;
        let index = self.folder.join(format!("{theirs}.sayso-{}", std::process::id()));
        let _ = std::fs::copy(self.folder.join(&theirs), &index);
        let with_index = |args: &[&str]| {
            let mut command = command(self.here(), args);
            command.env("GIT_INDEX_FILE", &index);
            output(command, args).and_then(|o| checked(&o, args))
        };
        let read = || {
            with_index(&["add", "--all"])?;
            let plain = ["--cached", "--no-ext-diff", "--no-textconv", "--no-color", from.as_str()];
            let of = |first: &[&str]| with_index(&[&["diff"], first, &plain[..]].concat());
            Ok((of(&["--stat"])?, of(&[])?))
        };
        let both = read();
        let _ = std::fs::remove_file(&index);
        let (summary, mut text) = both?;
        let is_cut = text.len() > bytes_max;
        if is_cut {
            let end = (0..=bytes_max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
        }
        Ok(TaskDiff { summary, text, is_cut })
    }

    fn here(&self) -> GitContext<'_> {
        GitContext { folder: &self.folder, run: self.run.as_deref(), turn: None }
    }
}

/// The folder, run and lock under which a Git command runs.
#[derive(Clone, Copy)]
struct GitContext<'a> {
    folder: &'a Path,
    run: Option<&'a str>,
    turn: Option<&'a File>,
}

impl<'a> GitContext<'a> {
    /// Passes the lock on to Git: if we die, the lock is free when Git has ended, not before.
    fn in_turn(self, turn: &'a File) -> Self {
        Self { turn: Some(turn), ..self }
    }
}

impl<'a> From<&'a Path> for GitContext<'a> {
    fn from(folder: &'a Path) -> Self {
        Self { folder, run: None, turn: None }
    }
}

impl<'a> From<&'a PathBuf> for GitContext<'a> {
    fn from(folder: &'a PathBuf) -> Self {
        folder.as_path().into()
    }
}

/// Reads paths separated by zero bytes: any file name can be read.
fn paths<S: AsRef<OsStr>>(output: &Output, args: &[S]) -> GitResult<Vec<String>> {
    checked(output, args)?;
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

fn is_commit(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Removes a worktree in any state: complete, half made, or only known to Git.
fn clear(here: GitContext<'_>, folder: &Path) -> GitResult<()> {
    let path = folder.as_os_str();
    // Forced twice, since Git locks a worktree while it makes it.
    let remove = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
    if with_lock_retry(|| git(here, remove.into_iter().chain([path]))).is_ok() {
        return Ok(());
    }
    if folder.exists() {
        let why = |e| failed("remove a worktree", &format!("{}: {e}", folder.display()));
        std::fs::remove_dir_all(folder).map_err(why)?;
    }
    git(here, ["worktree", "prune"]).map(drop)
}

/// Returns the branch name of a task, with its title for readers.
fn branch_of(name: &str, title: &str) -> String {
    format!("sayso/{name}{}", slug(title))
}

fn slug(title: &str) -> String {
    let words: String = title
        .chars()
        .take(SLUG_CHARS_MAX)
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let parts: Vec<_> = words.split('-').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { format!("-{}", parts.join("-")) }
}

/// Retries with a back-off while another Git process has the lock.
fn with_lock_retry<T>(mut work: impl FnMut() -> GitResult<T>) -> GitResult<T> {
    for attempt in 1.. {
        match work() {
            Err(GitError::Failed { why, .. })
                if attempt < ATTEMPTS_MAX && is_lock_conflict(&why) =>
            {
                std::thread::sleep(Duration::from_millis(20 << attempt));
            }
            other => return other,
        }
    }
    unreachable!("the last attempt returns")
}

/// True if Git met another Git process: at a lock, or at a worktree that was being made.
fn is_lock_conflict(why: &str) -> bool {
    ["could not lock", ".lock", "failed to read"].iter().any(|sign| why.contains(sign))
}

/// Commits under the user's name, or under `sayso` where Git knows none.
fn with_identity<'a>(at: impl Into<GitContext<'a>>, args: &[&str]) -> GitResult<String> {
    let at = at.into();
    git(at, args).or_else(|error| {
        let unknown = error.to_string();
        if !unknown.contains("tell me who you are") && !unknown.contains("empty ident") {
            return Err(error);
        }
        let named = [&["-c", "user.name=sayso", "-c", "user.email=sayso@localhost"], args].concat();
        git(at, &named)
    })
}

/// Runs Git and returns its output, trimmed.
fn git<'a, S: AsRef<OsStr>>(
    at: impl Into<GitContext<'a>>,
    args: impl IntoIterator<Item = S>,
) -> GitResult<String> {
    let args: Vec<_> = args.into_iter().map(|a| a.as_ref().to_owned()).collect();
    checked(&run(at, &args)?, &args)
}

fn run<'a, S: AsRef<OsStr>>(
    at: impl Into<GitContext<'a>>,
    args: impl IntoIterator<Item = S>,
) -> GitResult<Output> {
    let args: Vec<_> = args.into_iter().map(|a| a.as_ref().to_owned()).collect();
    output(command(at.into(), &args), &args)
}

fn command<S: AsRef<OsStr>>(at: GitContext<'_>, args: &[S]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(at.folder).args(HARMLESS).args(args);
    command.envs(at.run.map(|run| (MARK, run)));
    // A lock belongs to each process that has the file open, and this is how Git gets it.
    let turn = at.turn.and_then(|file| file.try_clone().ok());
    command
        .stdin(turn.map_or_else(Stdio::null, Stdio::from))
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C");
    for inherited in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(inherited);
    }
    command
}

fn output<S: AsRef<OsStr>>(mut command: Command, args: &[S]) -> GitResult<Output> {
    command.output().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => GitError::NoGit,
        _ => failed(&words(args), &e.to_string()),
    })
}

fn checked<S: AsRef<OsStr>>(output: &Output, args: &[S]) -> GitResult<String> {
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let said = [text(&output.stderr), text(&output.stdout)];
    let why = said.into_iter().find(|t| !t.is_empty()).unwrap_or_else(|| output.status.to_string());
    Err(failed(&words(args), &why))
}

/// Returns the subcommand and its first argument, for error messages.
fn words<S: AsRef<OsStr>>(args: &[S]) -> String {
    let plain = args.iter().map(|a| a.as_ref().to_string_lossy());
    plain.filter(|a| !a.starts_with('-')).take(2).collect::<Vec<_>>().join(" ")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn failed(what: &str, why: &str) -> GitError {
    GitError::Failed { what: what.into(), why: why.into() }
}
