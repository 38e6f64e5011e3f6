//! Worktrees: each task works in a tree and on a branch of its own, so that what waits for a person
//! stays as it is while others go on.
//!
//! Git is the user's own program. No hook of the repository is run by what we do: an agent can write
//! hooks, and they would run as the worker.

use sayso_agents::process::MARK;
use sayso_core::RunId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Switches off what a repository could make git run.
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

/// How often git is asked again when another git held its lock.
const ATTEMPTS_MAX: u32 = 5;

/// How long a worker waits for another one that makes a tree or merges.
const TURN_MAX: Duration = Duration::from_secs(10 * 60);

/// How often it looks whether it can go on.
const TURN_LOOK: Duration = Duration::from_millis(5);

/// The longest name of a task in a branch.
const SLUG_CHARS_MAX: usize = 40;

/// What git could not do, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("git is not installed or not on the PATH")]
    NoGit,
    /// The folder is in no repository.
    #[error("{0} is not in a git repository")]
    NoRepository(String),
    /// Nothing to start from.
    #[error("the repository {0} has no commit yet")]
    NoCommit(String),
    /// Anything else.
    #[error("git {what}: {why}")]
    Failed {
        /// What it was to do.
        what: String,
        /// What it said.
        why: String,
    },
}

impl GitError {
    /// What to do about it.
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

type Result<T> = std::result::Result<T, GitError>;

/// The repository tasks are worked on in.
#[derive(Debug, Clone)]
pub struct Repository {
    root: PathBuf,
    worktrees: PathBuf,
    base: String,
    run: Option<String>,
}

/// A tree of a task's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Where it is.
    pub folder: PathBuf,
    /// The branch that is checked out in it.
    pub branch: String,
    base: String,
    run: Option<String>,
}

/// What a task changed, as far as a person is shown it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// The files, with counts of lines.
    pub summary: String,
    /// The change itself, cut where it is too long.
    pub text: String,
    /// Whether it was cut.
    pub is_cut: bool,
}

/// One path that differs: what was there and what is, by git's own names; none where there is nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Where.
    pub path: String,
    /// What was there.
    pub before: Option<String>,
    /// What is there.
    pub after: Option<String>,
}

/// How bringing a branch home went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// It is part of the base now.
    Merged,
    /// There was nothing to bring.
    Nothing,
    /// The same places were changed on both sides.
    Conflict(String),
    /// Something is in the way that is nobody's fault, such as changes that are not committed.
    InTheWay(String),
}

impl Repository {
    /// The repository around a folder. Trees go below `worktrees`; work starts from `base`, or from
    /// what is checked out.
    pub fn open(folder: &Path, worktrees: PathBuf, base: Option<&str>) -> Result<Self> {
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
            // Without a branch the commit itself is the base.
            None => git(&root, ["symbolic-ref", "--quiet", "--short", "HEAD"])
                .or_else(|_| git(&root, ["rev-parse", "HEAD"]))?,
        };
        Ok(Self { root, worktrees, base, run: None })
    }

    /// The same for one run: what git does to its tree carries the run's mark, so that whoever takes the
    /// run from us ends it before somebody else works there.
    #[must_use]
    pub fn for_run(&self, run: RunId) -> Self {
        Self { run: Some(run.to_string()), ..self.clone() }
    }

    /// The main tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The main tree, for looking at what a command changed in it. Nobody works there for a task.
    pub fn main_tree(&self) -> Worktree {
        let (folder, branch) = (self.root.clone(), self.base.clone());
        Worktree { folder, branch, base: self.base.clone(), run: None }
    }

    /// What work starts from and comes home to.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// How many files of the main tree have changes that are not committed. No agent sees those.
    pub fn uncommitted(&self) -> Result<usize> {
        Ok(git(&self.root, ["status", "--porcelain", "--untracked-files=no"])?.lines().count())
    }

    /// The tree of a task: the one it has, or a new one on a branch of its own.
    pub fn prepare(&self, name: &str, title: &str) -> Result<Worktree> {
        self.prepare_from(name, title, &self.base)
    }

    /// The branch a task's work is on, if there is one and it did not come home.
    pub fn left_on(&self, name: &str, title: &str) -> Option<String> {
        let branch = branch_of(name, title);
        let name = format!("refs/heads/{branch}");
        git(&self.root, ["rev-parse", "--verify", "--quiet", &name]).ok()?;
        let is_home = ["merge-base", "--is-ancestor", &name, &self.base];
        git(&self.root, is_home).is_err().then_some(branch)
    }

    /// The same, where a new one starts from another branch than the base.
    pub fn prepare_from(&self, name: &str, title: &str, from: &str) -> Result<Worktree> {
        let folder = self.worktrees.join(name);
        let branch = branch_of(name, title);
        // Git itself stumbles over trees that others are just making, and a tree that is there may be
        // one that somebody is just taking away.
        let turn = self.turn("trees.lock")?;
        if let Some(tree) = self.existing(name)? {
            return Ok(tree);
        }
        let here = self.here().in_turn(&turn);
        if folder.exists() {
            clear(here, &folder)?;
        }
        let (path, base) = (folder.as_os_str(), OsStr::new(from));
        let new = ["worktree", "add", "--no-track", "-b", &branch].map(OsStr::new);
        let made = patiently(|| git(here, new.into_iter().chain([path, base])));
        made.or_else(|error| {
            // The branch is there from an earlier time, its tree is not: the work goes on.
            let name = format!("refs/heads/{branch}");
            if git(here, ["rev-parse", "--verify", "--quiet", &name]).is_err() {
                return Err(error);
            }
            clear(here, &folder)?;
            let old = ["worktree", "add"].map(OsStr::new);
            patiently(|| git(here, old.into_iter().chain([path, OsStr::new(&branch)])))
        })?;
        let mark = self.mark(name);
        std::fs::write(&mark, &branch)
            .map_err(|e| failed("make a worktree", &format!("{}: {e}", mark.display())))?;
        Ok(Worktree { folder, branch, base: self.base.clone(), run: self.run.clone() })
    }

    /// Says that a tree is whole. One that was being made when the machine died has half of its files,
    /// and an agent would be taken to have deleted the others.
    fn mark(&self, name: &str) -> PathBuf {
        self.worktrees.join(format!("{name}.ready"))
    }

    /// Where a step of a task began: noted when `id` is first heard of, with what `begin` gives, and found
    /// again as long as no other step began.
    pub fn step_began(
        &self,
        name: &str,
        id: &str,
        begin: impl FnOnce() -> Result<String>,
    ) -> Result<String> {
        if let Ok(since) = self.step_since(name, id) {
            return Ok(since);
        }
        let (since, path) = (begin()?, self.step_mark(name));
        let half = path.with_extension("step-half");
        // Whole or not at all: half a name of a commit would be another one.
        std::fs::create_dir_all(&self.worktrees)
            .and_then(|()| std::fs::write(&half, format!("{since}\n{id}\n")))
            .and_then(|()| std::fs::rename(&half, &path))
            .map_err(|e| failed("begin a step", &format!("{}: {e}", path.display())))?;
        Ok(since)
    }

    /// Where a step of a task began that has begun.
    pub fn step_since(&self, name: &str, id: &str) -> Result<String> {
        let path = self.step_mark(name);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        match text.split_once('\n') {
            Some((since, noted)) if noted.trim_end() == id && is_commit(since) => Ok(since.into()),
            _ => Err(failed("find where the step began", &format!("see {}", path.display()))),
        }
    }

    /// Where it is noted what the attempts at a command changed.
    pub fn watch_note(&self, name: &str) -> PathBuf {
        self.worktrees.join(format!("{name}.watch"))
    }

    fn step_mark(&self, name: &str) -> PathBuf {
        self.worktrees.join(format!("{name}.step"))
    }

    fn here(&self) -> At<'_> {
        At { folder: &self.root, run: self.run.as_deref(), turn: None }
    }

    /// The tree a task has, if it has one.
    pub fn existing(&self, name: &str) -> Result<Option<Worktree>> {
        let folder = self.worktrees.join(name);
        if !folder.join(".git").exists() || !self.mark(name).exists() {
            return Ok(None);
        }
        // What it was made with, wherever an agent has left it.
        let made = std::fs::read_to_string(self.mark(name)).unwrap_or_default();
        let branch = match made.trim() {
            "" => git(&folder, ["symbolic-ref", "--quiet", "--short", "HEAD"])?,
            branch => branch.to_owned(),
        };
        Ok(Some(Worktree { folder, branch, base: self.base.clone(), run: self.run.clone() }))
    }

    /// Brings a branch home into the base. The main tree is touched only if the base is checked out
    /// there, and never over changes somebody made in it.
    pub fn merge(&self, branch: &str, message: &str) -> Result<Merge> {
        let turn = self.turn("merge.lock")?;
        let here = At::from(&self.root).in_turn(&turn);
        let home = format!("refs/heads/{}", self.base);
        let Ok(ours) = git(here, ["rev-parse", "--verify", "--quiet", &home]) else {
            return Ok(Merge::InTheWay(format!(
                "{} is no branch that could be merged to",
                self.base
            )));
        };
        let theirs = git(here, ["rev-parse", "--verify", branch])?;
        if git(here, ["merge-base", "--is-ancestor", &theirs, &ours]).is_ok() {
            return Ok(Merge::Nothing);
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
            Some(1) => return Ok(Merge::Conflict(lines.collect::<Vec<_>>().join(", "))),
            _ => return Err(failed("merge", &text(&merged.stderr))),
        }
        let commit = with_identity(
            here,
            &["commit-tree", &tree, "-p", &ours, "-p", &theirs, "-m", message],
        )?;
        self.advance(here, &home, &ours, &commit)
    }

    fn advance(&self, here: At<'_>, home: &str, from: &str, to: &str) -> Result<Merge> {
        let head = git(here, ["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
        if head != home {
            git(here, ["update-ref", home, to, from])?;
            return Ok(Merge::Merged);
        }
        match patiently(|| git(here, ["merge", "--ff-only", "--quiet", to])) {
            Ok(_) => Ok(Merge::Merged),
            Err(error) => Ok(Merge::InTheWay(error.to_string())),
        }
    }

    /// One at a time, whichever process it is in. One that was stopped in its tracks holds the others up
    /// for a while, not for ever.
    fn turn(&self, name: &str) -> Result<File> {
        let began = Instant::now();
        loop {
            if let Some(file) = self.try_turn(name)? {
                return Ok(file);
            }
            if began.elapsed() > TURN_MAX {
                let why = format!("another worker holds {}", self.worktrees.join(name).display());
                return Err(failed("wait for its turn", &why));
            }
            std::thread::sleep(TURN_LOOK);
        }
    }

    /// The same; none if somebody else is at it.
    pub(crate) fn try_turn(&self, name: &str) -> Result<Option<File>> {
        let file = self.lock_file(name)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(failed("wait for its turn", &e.to_string())),
        }
    }

    fn lock_file(&self, name: &str) -> Result<File> {
        let path = self.worktrees.join(name);
        let file = std::fs::create_dir_all(&self.worktrees).and_then(|()| {
            File::options().read(true).write(true).create(true).truncate(false).open(&path)
        });
        file.map_err(|e| failed("wait for its turn", &format!("{}: {e}", path.display())))
    }

    /// Takes a tree away if nobody needs it; its branch stays. Commit first what is to be kept. Whether
    /// it is needed is looked up when it is our turn: a run that begins later waits until it is gone.
    pub fn remove(&self, tree: &Worktree, is_needed: impl FnOnce() -> bool) -> Result<()> {
        let turn = self.turn("trees.lock")?;
        if is_needed() {
            return Ok(());
        }
        let name = tree.folder.file_name().unwrap_or_default().to_string_lossy();
        // From now on it is not whole any more, also if we die over it.
        let _ = std::fs::remove_file(self.mark(&name));
        clear(self.here().in_turn(&turn), &tree.folder)
    }
}

impl Worktree {
    /// Commits everything in it, if there is something to commit, and gives the last commit.
    pub fn commit(&self, message: &str, author: &str) -> Result<String> {
        patiently(|| git(self.here(), ["add", "--all"]))?;
        if !run(self.here(), ["diff", "--cached", "--quiet", "--no-ext-diff"])?.status.success() {
            let author = format!("--author={author} <{author}@localhost>");
            let words = ["commit", "--quiet", "--no-verify", &author, "-m", message];
            with_identity(self.here(), &words)?;
        }
        let head = git(self.here(), ["rev-parse", "HEAD"])?;
        self.keep(&head)?;
        Ok(head)
    }

    /// An agent may have left the branch and committed elsewhere: the branch goes after it, or it is
    /// said that it cannot.
    fn keep(&self, head: &str) -> Result<()> {
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

    /// The last commit.
    pub fn head(&self) -> Result<String> {
        git(self.here(), ["rev-parse", "--verify", "HEAD^{commit}"])
    }

    /// The paths that differ from a commit: in a later commit, or in the folder as it is. What an agent
    /// told its own index to overlook is seen all the same.
    pub fn changed_since(&self, since: &str, commit: Option<&str>) -> Result<Vec<String>> {
        let names = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"];
        if let Some(commit) = commit {
            let args = [&names[..], &[since, commit]].concat();
            return paths(&run(self.here(), &args)?, &args);
        }
        let tree = self.snapshot_over(since)?;
        self.changed_since(since, Some(&tree))
    }

    /// What differs between two trees of git's own.
    pub fn changes(&self, since: &str, now: &str) -> Result<Vec<Change>> {
        let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", since, now];
        let found = paths(&run(self.here(), args)?, &args)?;
        let change = |pair: &[String]| {
            let [about, path] = pair else { return None };
            let about: Vec<&str> = about.trim_start_matches(':').split(' ').collect();
            let [mode, mode_now, id, id_now, ..] = about[..] else { return None };
            let content = |mode: &str, id: &str| match id.bytes().all(|byte| byte == b'0') {
                true => None,
                false => Some(format!("{mode} {id}")),
            };
            let (before, after) = (content(mode, id), content(mode_now, id_now));
            Some(Change { path: path.clone(), before, after })
        };
        let wrong = || failed("see what was changed", "it said something else");
        found.chunks(2).map(|pair| change(pair).ok_or_else(wrong)).collect()
    }

    /// What is at each path of a tree of git's own, as [`Change`] names it.
    pub fn contents(&self, tree: &str) -> Result<BTreeMap<String, String>> {
        let args = ["ls-tree", "-r", "-z", "--full-tree", tree];
        let found = paths(&run(self.here(), args)?, &args)?;
        let entry = |line: String| {
            let (about, path) = line.split_once('\t')?;
            let [mode, _, id] = about.split(' ').collect::<Vec<_>>()[..] else { return None };
            Some((path.to_owned(), format!("{mode} {id}")))
        };
        Ok(found.into_iter().filter_map(entry).collect())
    }

    /// All that is in the folder, as a tree of git's own. The index stays as it is.
    pub fn snapshot(&self) -> Result<String> {
        self.snapshot_over(&self.head()?)
    }

    /// The same, begun from what was there before: what is tracked and ignored stays tracked.
    fn snapshot_over(&self, before: &str) -> Result<String> {
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

    /// What the task changed so far, committed or not. The tree and its index stay as they are.
    pub fn diff(&self, bytes_max: usize) -> Result<Diff> {
        let from = git(self.here(), ["merge-base", &self.base, "HEAD"])?;
        // An index of our own, begun as a copy of theirs so that git need not read every file.
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
        Ok(Diff { summary, text, is_cut })
    }

    fn here(&self) -> At<'_> {
        At { folder: &self.folder, run: self.run.as_deref(), turn: None }
    }
}

/// Where git is to work, for which run, and whose turn it is.
#[derive(Clone, Copy)]
struct At<'a> {
    folder: &'a Path,
    run: Option<&'a str>,
    turn: Option<&'a File>,
}

impl<'a> At<'a> {
    /// Git holds the lock as we do: if we die, it is the next one's turn when git is done, not before.
    fn in_turn(self, turn: &'a File) -> Self {
        Self { turn: Some(turn), ..self }
    }
}

impl<'a> From<&'a Path> for At<'a> {
    fn from(folder: &'a Path) -> Self {
        Self { folder, run: None, turn: None }
    }
}

impl<'a> From<&'a PathBuf> for At<'a> {
    fn from(folder: &'a PathBuf) -> Self {
        folder.as_path().into()
    }
}

/// Paths as git gives them with a zero byte behind each: any name can be told.
fn paths<S: AsRef<OsStr>>(output: &Output, args: &[S]) -> Result<Vec<String>> {
    checked(output, args)?;
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

fn is_commit(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Takes a tree away, whatever state it is in: there, half made, or only known to git.
fn clear(here: At<'_>, folder: &Path) -> Result<()> {
    let path = folder.as_os_str();
    // Twice, since git locks a tree while it makes it.
    let remove = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
    if patiently(|| git(here, remove.into_iter().chain([path]))).is_ok() {
        return Ok(());
    }
    if folder.exists() {
        let why = |e| failed("remove a worktree", &format!("{}: {e}", folder.display()));
        std::fs::remove_dir_all(folder).map_err(why)?;
    }
    git(here, ["worktree", "prune"]).map(drop)
}

/// A branch should say what it is about.
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

/// Tries again while another git has the lock.
fn patiently<T>(mut work: impl FnMut() -> Result<T>) -> Result<T> {
    for attempt in 1.. {
        match work() {
            Err(GitError::Failed { why, .. })
                if attempt < ATTEMPTS_MAX && is_in_anothers_way(&why) =>
            {
                std::thread::sleep(Duration::from_millis(20 << attempt));
            }
            other => return other,
        }
    }
    unreachable!("the last attempt returns")
}

/// Whether git met another git: at a lock, or at a tree that was just being made.
fn is_in_anothers_way(why: &str) -> bool {
    ["could not lock", ".lock", "failed to read"].iter().any(|sign| why.contains(sign))
}

/// Commits under the user's name, or under ours where git knows none.
fn with_identity<'a>(at: impl Into<At<'a>>, args: &[&str]) -> Result<String> {
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

/// Runs git and gives what it printed, trimmed.
fn git<'a, S: AsRef<OsStr>>(
    at: impl Into<At<'a>>,
    args: impl IntoIterator<Item = S>,
) -> Result<String> {
    let args: Vec<_> = args.into_iter().map(|a| a.as_ref().to_owned()).collect();
    checked(&run(at, &args)?, &args)
}

fn run<'a, S: AsRef<OsStr>>(
    at: impl Into<At<'a>>,
    args: impl IntoIterator<Item = S>,
) -> Result<Output> {
    let args: Vec<_> = args.into_iter().map(|a| a.as_ref().to_owned()).collect();
    output(command(at.into(), &args), &args)
}

fn command<S: AsRef<OsStr>>(at: At<'_>, args: &[S]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(at.folder).args(HARMLESS).args(args);
    command.envs(at.run.map(|run| (MARK, run)));
    // A lock belongs to everybody who has the file open, and this is how git gets it.
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

fn output<S: AsRef<OsStr>>(mut command: Command, args: &[S]) -> Result<Output> {
    command.output().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => GitError::NoGit,
        _ => failed(&words(args), &e.to_string()),
    })
}

fn checked<S: AsRef<OsStr>>(output: &Output, args: &[S]) -> Result<String> {
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let said = [text(&output.stderr), text(&output.stdout)];
    let why = said.into_iter().find(|t| !t.is_empty()).unwrap_or_else(|| output.status.to_string());
    Err(failed(&words(args), &why))
}

/// The verb and its first words: enough to know what was tried.
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
