//! The checksums of migrations: written once for each file, never changed.
//!
//! A migration that was run on any database must stay as it was, or two databases of the same version differ.
//! `CHECKSUMS` holds one line per file in the form of `sha256sum`, so that tool can check it too.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// The folder of migrations, from the root.
pub(crate) const FOLDER: &str = "crates/sayso-store/migrations/";
/// The name of the list inside that folder.
pub(crate) const LIST: &str = "CHECKSUMS";

/// A difference between a migration and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChecksumDifference {
    /// A file without a line.
    New { name: String, line: String },
    /// A file whose content is not what its line says.
    Changed { name: String, at: usize },
    /// A line without a file.
    Gone { name: String, at: usize },
    /// A line that is not `hash  name`, or names a file for the second time.
    Garbled { at: usize },
}

/// Compares the list with the files; both are relative to the folder.
pub(crate) fn compare(list: &str, files: &BTreeMap<String, Vec<u8>>) -> Vec<ChecksumDifference> {
    let mut differences = Vec::new();
    let mut listed = BTreeMap::new();
    for (index, line) in list.lines().enumerate() {
        let at = index + 1;
        match parse(line) {
            Some((hash, name)) if !listed.contains_key(name) => {
                listed.insert(name, hash);
                match files.get(name) {
                    None => differences.push(ChecksumDifference::Gone { name: name.into(), at }),
                    Some(bytes) if hex(bytes) != hash => {
                        differences.push(ChecksumDifference::Changed { name: name.into(), at });
                    }
                    Some(_) => {}
                }
            }
            _ => differences.push(ChecksumDifference::Garbled { at }),
        }
    }
    let unlisted = files.iter().filter(|(name, _)| !listed.contains_key(name.as_str()));
    differences.extend(unlisted.map(|(name, bytes)| ChecksumDifference::New {
        name: name.clone(),
        line: format!("{}  {name}", hex(bytes)),
    }));
    differences
}

/// Returns the list with lines for new files appended. Existing lines stay as they are.
pub(crate) fn extended(list: &str, differences: &[ChecksumDifference]) -> String {
    let mut text = list.to_owned();
    for difference in differences {
        if let ChecksumDifference::New { line, .. } = difference {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

fn parse(line: &str) -> Option<(&str, &str)> {
    let (hash, name) = line.split_once("  ")?;
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hash && !name.is_empty()).then_some((hash, name))
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a.sql\n";

    fn files(names: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        names.iter().map(|(name, text)| ((*name).into(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_listed_file_that_stayed_as_it_was_is_fine() {
        assert_eq!(compare(ABC, &files(&[("a.sql", "abc")])), []);
    }

    #[test]
    fn a_changed_file_is_found_and_its_line_stays() {
        let found = compare(ABC, &files(&[("a.sql", "abd")]));
        assert_eq!(found, [ChecksumDifference::Changed { name: "a.sql".into(), at: 1 }]);
        assert_eq!(extended(ABC, &found), ABC);
    }

    #[test]
    fn a_new_file_gets_a_line_at_the_end() {
        let all = files(&[("0.sql", ""), ("a.sql", "abc")]);
        let list = extended(ABC, &compare(ABC, &all));
        assert!(list.starts_with(ABC) && list.ends_with("  0.sql\n"), "{list}");
        assert_eq!(compare(&list, &all), []);
    }

    #[test]
    fn a_missing_file_a_broken_line_and_a_doubled_line_are_found() {
        let list = format!("{ABC}nonsense\n{ABC}");
        let found = compare(&list, &files(&[]));
        let gone = ChecksumDifference::Gone { name: "a.sql".into(), at: 1 };
        assert_eq!(
            found,
            [gone, ChecksumDifference::Garbled { at: 2 }, ChecksumDifference::Garbled { at: 3 }]
        );
    }
}
