//! Checks that migrations are only added: a file that was run on any database stays as it was.

use std::collections::BTreeMap;

use super::CheckFindings;
use super::tree::SourceTree;
use crate::checksums::{ChecksumDifference, FOLDER, LIST, compare};

pub(super) fn check(tree: &SourceTree) -> CheckFindings {
    let inside =
        tree.files.iter().filter_map(|(path, bytes)| Some((path.strip_prefix(FOLDER)?, bytes)));
    let files: BTreeMap<String, Vec<u8>> = inside
        .filter(|(name, _)| *name != LIST)
        .map(|(name, bytes)| (name.to_owned(), bytes.clone()))
        .collect();
    let list_path = format!("{FOLDER}{LIST}");
    let list = tree.text(&list_path).unwrap_or_default();
    let mut findings = CheckFindings { seen: files.len(), ..CheckFindings::default() };
    for difference in compare(&list, &files) {
        match difference {
            ChecksumDifference::New { name, .. } => {
                let what = format!("the migration has no line in {LIST}");
                findings.problem(format!("{FOLDER}{name}"), 1, what, "cargo xtask generate");
            }
            ChecksumDifference::Changed { name, at } => {
                let what = format!("the migration was changed (line {at} of {LIST})");
                let fix = "put it back as it was and add a new migration instead";
                findings.problem(format!("{FOLDER}{name}"), 1, what, fix);
            }
            ChecksumDifference::Gone { name, at } => {
                let what = format!("the migration `{name}` is gone");
                findings.problem(&list_path, at, what, "bring it back: databases may have run it");
            }
            ChecksumDifference::Garbled { at } => {
                let what = "the line is not `hash  name`, or names a file for the second time";
                findings.problem(&list_path, at, what, "bring the committed line back");
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::expect;

    // The SHA-256 of "abc".
    const LINE: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  1.sql\n";
    const LIST_PATH: &str = "crates/sayso-store/migrations/CHECKSUMS";

    fn tree(first: &str, list: &str) -> SourceTree {
        SourceTree::of(&[("crates/sayso-store/migrations/1.sql", first), (LIST_PATH, list)])
    }

    #[test]
    fn an_untouched_migration_passes() {
        expect(check, &tree("abc", LINE), &[]);
    }

    #[test]
    fn a_changed_migration_is_refused() {
        let problem = "crates/sayso-store/migrations/1.sql:1: \
                       the migration was changed (line 1 of CHECKSUMS)";
        expect(check, &tree("abd", LINE), &[problem]);
    }

    #[test]
    fn a_new_migration_needs_its_line() {
        let problem = "crates/sayso-store/migrations/1.sql:1: \
                       the migration has no line in CHECKSUMS";
        expect(check, &tree("abc", ""), &[problem]);
    }

    #[test]
    fn a_removed_migration_is_missed() {
        let list = LINE.replace("1.sql", "0.sql") + LINE;
        let problem = format!("{LIST_PATH}:1: the migration `0.sql` is gone");
        expect(check, &tree("abc", &list), &[&problem]);
    }
}
