//! `cargo xtask generate [--check]`: writes the files that are generated from the program itself.
//!
//! The reference is written into a fresh folder first and then compared, so that a page whose command is gone
//! disappears, and `--check` and the real run cannot disagree.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

use crate::checksums::{self, ChecksumDifference};
use crate::scratch::ScratchFolder;
use crate::shell::{cargo, run as sh};
use crate::stop::{VerbError, VerbResult};

const REFERENCE: &str = "docs/reference/";

/// Files for other programs lie where those look for them, not among the pages.
const API: &str = "api/";

/// Files by path, relative to the folder they were read from.
type FileMap = BTreeMap<String, Vec<u8>>;

pub(crate) fn run(words: &[String]) -> VerbResult {
    let check = match words {
        [] => false,
        [word] if word == "--check" => true,
        _ => return Err(VerbError::usage("usage: cargo xtask generate [--check]")),
    };
    let made = reference()?;
    let mut kept = read(Path::new(REFERENCE))?;
    kept.extend(
        read(Path::new(API))?.into_iter().map(|(name, text)| (format!("{API}{name}"), text)),
    );
    let mut changes = compare(&made, &kept);
    changes.extend(checksum_changes()?);
    if !check {
        return apply(&changes);
    }
    for change in &changes {
        eprintln!("{}: {}", change.path, change.what);
    }
    if changes.is_empty() {
        return Ok(());
    }
    Err("generated files are not up to date: run `cargo xtask generate`".into())
}

/// A change to one file. No content means that the file is removed.
#[derive(Debug, PartialEq)]
struct FileChange {
    path: String,
    what: String,
    content: Option<Vec<u8>>,
}

/// Returns the reference as the program writes it today.
fn reference() -> VerbResult<FileMap> {
    let scratch = ScratchFolder::below(&env::temp_dir())?;
    let generator = ["run", "--quiet", "--locked", "--package", "sayso", "--", "__generate"];
    sh(cargo(&generator).arg(scratch.path()))?;
    let made = read(scratch.path())?;
    if made.is_empty() {
        return Err("`sayso __generate` wrote nothing".into());
    }
    Ok(made)
}

fn compare(made: &FileMap, kept: &FileMap) -> Vec<FileChange> {
    let wanted = made.iter().filter_map(|(name, content)| {
        let what = match kept.get(name) {
            Some(old) if old == content => return None,
            Some(old) => first_difference(old, content),
            None => "is missing".into(),
        };
        Some(FileChange { path: place(name), what, content: Some(content.clone()) })
    });
    let stale = kept.keys().filter(|name| !made.contains_key(*name)).map(|name| FileChange {
        path: place(name),
        what: "is not generated any more".into(),
        content: None,
    });
    wanted.chain(stale).collect()
}

/// Returns the path of a file that the program wrote.
fn place(name: &str) -> String {
    if name.starts_with(API) { name.to_owned() } else { format!("{REFERENCE}{name}") }
}

fn first_difference(old: &[u8], new: &[u8]) -> String {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let (mut old, mut new) = (old.lines(), new.lines());
    let mut number = 1;
    loop {
        match (old.next(), new.next()) {
            (None, None) => return "differs in line ends".into(),
            (have, want) if have == want => number += 1,
            (have, want) => {
                let show = |line: Option<&str>| line.map_or("nothing".into(), |l| format!("`{l}`"));
                return format!("line {number} is {}, should be {}", show(have), show(want));
            }
        }
    }
}

/// Adds lines for new files only. A changed migration is refused by `tidy`, and never accepted here.
fn checksum_changes() -> VerbResult<Option<FileChange>> {
    let mut files = read(Path::new(checksums::FOLDER))?;
    let list = files.remove(checksums::LIST).unwrap_or_default();
    let list = String::from_utf8_lossy(&list);
    let differences = checksums::compare(&list, &files);
    for difference in &differences {
        if let ChecksumDifference::Changed { name, .. } | ChecksumDifference::Gone { name, .. } =
            difference
        {
            eprintln!(
                "{}{name}: its line in {} is kept as it is",
                checksums::FOLDER,
                checksums::LIST
            );
        }
    }
    let extended = checksums::extended(&list, &differences);
    Ok((extended != list).then(|| FileChange {
        path: format!("{}{}", checksums::FOLDER, checksums::LIST),
        what: "lacks lines for new migrations".into(),
        content: Some(extended.into_bytes()),
    }))
}

fn apply(changes: &[FileChange]) -> VerbResult {
    for FileChange { path, content, .. } in changes {
        let written = match content {
            Some(content) => write(Path::new(path), content),
            None => fs::remove_file(path),
        };
        written.map_err(|e| VerbError::from(format!("{path}: {e}")))?;
        eprintln!("{path}: {}", if content.is_some() { "written" } else { "removed" });
    }
    Ok(())
}

fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, content)
}

/// Reads all files below a folder; none when there is no such folder.
fn read(folder: &Path) -> VerbResult<FileMap> {
    let mut files = FileMap::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                left.push(entry?.path());
            }
        } else if path.is_file() {
            let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            files.insert(name, fs::read(&path)?);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> FileMap {
        all.iter().map(|(name, text)| ((*name).into(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn equal_trees_need_no_change() {
        let tree = files(&[("cli/ask.md", "ask"), ("json/gate.json", "{}")]);
        assert_eq!(compare(&tree, &tree), []);
    }

    #[test]
    fn missing_changed_and_stale_files_are_each_named() {
        let made = files(&[("a.md", "one\ntwo\n"), ("api/x.json", "{}"), ("b.md", "new")]);
        let kept = files(&[("a.md", "one\n2\n"), ("c.md", "old")]);
        let said: Vec<_> = compare(&made, &kept).into_iter().map(|c| (c.path, c.what)).collect();
        let expected = [
            ("docs/reference/a.md", "line 2 is `2`, should be `two`"),
            ("api/x.json", "is missing"),
            ("docs/reference/b.md", "is missing"),
            ("docs/reference/c.md", "is not generated any more"),
        ];
        assert_eq!(said, expected.map(|(path, what)| (path.into(), what.into())));
    }

    #[test]
    fn a_folder_is_read_with_everything_below_it_and_written_back() {
        let scratch = ScratchFolder::below(&env::temp_dir()).unwrap();
        write(&scratch.path().join("deep/er/page.md"), b"text").unwrap();
        assert_eq!(read(scratch.path()).unwrap(), files(&[("deep/er/page.md", "text")]));
        assert_eq!(read(&scratch.path().join("nowhere")).unwrap(), FileMap::new());
    }
}
