//! Task files that go through a workflow one after the other, on one branch. The next one is looked up each time: a
//! file that a step added while the sequence runs counts.

use sayso_policy::PathPatterns;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The maximum number of task files of a sequence.
const FILES_MAX: usize = 1_000;

/// Folders, and patterns of the files in them.
#[derive(Debug)]
pub struct TaskSequence {
    parts: Vec<SequencePart>,
}

#[derive(Debug)]
struct SequencePart {
    /// The prefix of the names of its files.
    shown: String,
    folder: PathBuf,
    files: PathPatterns,
}

/// A task file of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceFile {
    /// Its path from the root of the sequence: its key in the set of done files.
    pub name: String,
    /// The path to open it.
    pub path: PathBuf,
}

/// The reason for which a sequence cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SequenceError {
    /// The pattern cannot be used.
    #[error("`{pattern}` is no sequence: {why}")]
    Pattern {
        /// The pattern as it was given.
        pattern: String,
        /// The reason, in words.
        why: String,
    },
    /// The folder cannot be read.
    #[error("{folder}: {why}")]
    Folder {
        /// The path of the folder.
        folder: String,
        /// The reason, in words.
        why: String,
    },
    /// The folder has too many task files.
    #[error("{folder} has more than {FILES_MAX} task files")]
    TooMany {
        /// The path of the folder.
        folder: String,
    },
}

impl TaskSequence {
    /// Creates a sequence of the files below `root` that fit patterns such as `tasks/*.md`, one pattern after the
    /// other; a folder stands for all `.md` files in it.
    pub fn new<S: AsRef<str>>(root: &Path, patterns: &[S]) -> Result<Self, SequenceError> {
        let parts = patterns.iter().map(|pattern| SequencePart::new(root, pattern.as_ref()));
        Ok(Self { parts: parts.collect::<Result<_, _>>()? })
    }

    /// Lists the files that exist now, in order: numbers count as numbers, so `2-b.md` comes before `10-a.md`.
    pub fn files(&self) -> Result<Vec<SequenceFile>, SequenceError> {
        let mut files: Vec<SequenceFile> = vec![];
        for part in &self.parts {
            for file in part.files()? {
                if !files.contains(&file) {
                    files.push(file);
                }
            }
        }
        Ok(files)
    }

    /// Returns the first file that was not done yet, looked up anew. `done` are names of files.
    pub fn next(&self, done: &BTreeSet<String>) -> Result<Option<SequenceFile>, SequenceError> {
        Ok(self.files()?.into_iter().find(|file| !done.contains(&file.name)))
    }
}

impl SequencePart {
    fn new(root: &Path, pattern: &str) -> Result<Self, SequenceError> {
        let wrong = |why: String| SequenceError::Pattern { pattern: pattern.into(), why };
        let (folder, name) = check_pattern(pattern).map_err(wrong)?;
        if root.join(pattern).is_dir() {
            return Self::new(root, &format!("{}/*.md", pattern.trim_end_matches('/')));
        }
        let files = PathPatterns::new(&[name]).map_err(wrong)?;
        let shown = if folder == "." { String::new() } else { format!("{folder}/") };
        Ok(Self { shown, folder: root.join(folder), files })
    }

    fn files(&self) -> Result<Vec<SequenceFile>, SequenceError> {
        let shown = || self.folder.display().to_string();
        let unread =
            |e: std::io::Error| SequenceError::Folder { folder: shown(), why: e.to_string() };
        let mut names = vec![];
        for entry in std::fs::read_dir(&self.folder).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            // A link could lead anywhere.
            let is_file = entry.file_type().is_ok_and(|sort| sort.is_file());
            if is_file && self.files.fit(&name) && !name.starts_with('.') {
                names.push(name);
            }
            if names.len() > FILES_MAX {
                return Err(SequenceError::TooMany { folder: shown() });
            }
        }
        names.sort_by(|a, b| by_number(a, b));
        let file = |name: String| SequenceFile {
            path: self.folder.join(&name),
            name: format!("{}{name}", self.shown),
        };
        Ok(names.into_iter().map(file).collect())
    }
}

/// Splits a pattern into the folder and the pattern of names, or says why it is none.
pub(super) fn check_pattern(pattern: &str) -> Result<(&str, &str), String> {
    let trimmed = pattern.trim_end_matches('/');
    let (folder, name) = trimmed.rsplit_once('/').unwrap_or((".", trimmed));
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if name.is_empty() || !Path::new(trimmed).components().all(is_inside) {
        return Err("it is not inside the folder".into());
    }
    if folder.contains(['*', '?', '[', '{']) {
        return Err("only the name of the files can be a pattern".into());
    }
    PathPatterns::new(&[name])?;
    Ok((folder, name))
}

/// Compares names in natural order: runs of digits by their value, the rest by its letters.
fn by_number(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    while let (Some(x), Some(y)) = (left.chars().next(), right.chars().next()) {
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (m, rest_left) = digits(left);
            let (n, rest_right) = digits(right);
            // Numbers may exceed every integer type: without leading zeros, longer is greater.
            match m.len().cmp(&n.len()).then_with(|| m.cmp(n)) {
                Ordering::Equal => (left, right) = (rest_left, rest_right),
                other => return other,
            }
            continue;
        }
        if x != y {
            return x.cmp(&y);
        }
        (left, right) = (&left[x.len_utf8()..], &right[y.len_utf8()..]);
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Splits a text into its leading number, without leading zeros, and the rest.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].trim_start_matches('0'), &text[end..])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_as_numbers() {
        let mut names = ["10-a.md", "2-b.md", "02-a.md", "a.md", "1.md", "b2.md", "b10.md"];
        names.sort_by(|a, b| by_number(a, b));
        assert_eq!(names, ["1.md", "02-a.md", "2-b.md", "10-a.md", "a.md", "b2.md", "b10.md"]);
    }

    #[test]
    fn a_file_that_came_later_counts() {
        let root = tempfile::tempdir().unwrap();
        let tasks = root.path().join("tasks");
        std::fs::create_dir(&tasks).unwrap();
        let write = |name: &str| std::fs::write(tasks.join(name), "# Do it").unwrap();
        write("1-begin.md");
        write("10-end.md");
        write("notes.txt");
        std::os::unix::fs::symlink("/etc/hostname", tasks.join("0-link.md")).unwrap();
        let lists: [&[&str]; 4] =
            [&["tasks/*.md"], &["tasks"], &["tasks/"], &["tasks/[12]*.md", "tasks/10-end.md"]];
        for pattern in lists {
            let sequence = TaskSequence::new(root.path(), pattern).unwrap();
            let mut done = BTreeSet::new();
            let mut next = || {
                let file = sequence.next(&done).unwrap()?;
                assert!(file.path.is_file(), "{file:?}");
                done.insert(file.name.clone());
                Some(file.name)
            };
            assert_eq!(next().as_deref(), Some("tasks/1-begin.md"), "{pattern:?}");
            write("2-more.md");
            assert_eq!(next().as_deref(), Some("tasks/2-more.md"), "{pattern:?}");
            assert_eq!(next().as_deref(), Some("tasks/10-end.md"), "{pattern:?}");
            assert_eq!(next(), None, "{pattern:?}");
            std::fs::remove_file(tasks.join("2-more.md")).unwrap();
        }
    }

    #[test]
    fn only_files_inside_the_folder() {
        let root = tempfile::tempdir().unwrap();
        for pattern in ["../x/*.md", "/etc/*.md", "", "*/x.md", "tasks/[", "a/../b/*.md"] {
            assert!(TaskSequence::new(root.path(), &[pattern]).is_err(), "{pattern}");
        }
        let missing = TaskSequence::new(root.path(), &["none/*.md"]).unwrap();
        assert!(matches!(missing.files(), Err(SequenceError::Folder { .. })));
    }
}
