//! Checks that core and policy use no clock, no randomness, no I/O and nothing asynchronous: all that is passed in.

use super::CheckFindings;
use super::source::{code_lines, grouped_std_names, names};
use super::tree::{SourceTree, crate_of_source};

/// The crates that are pure, and their names in findings.
const PURE: &[(&str, &str)] = &[("sayso-core", "the core"), ("sayso-policy", "policy")];

const IMPURE: &[&str] = &[
    "SystemTime",
    "Instant::now",
    "Zoned::now",
    "Timestamp::now",
    "TimeZone::system",
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::thread",
    "rand",
    "getrandom",
    "tokio",
    "async fn",
    "async move",
];

pub(super) fn check(tree: &SourceTree) -> CheckFindings {
    let mut findings = CheckFindings::default();
    for (path, text) in tree.rust(|path| who(path).is_some()) {
        let Some(who) = who(path).filter(|_| !tree.is_for_tests(path)) else { continue };
        findings.seen += 1;
        for (line, name) in impurities(&text) {
            let fix = "take the time, id or content as an argument";
            findings.problem(path, line, format!("{who} names `{name}`"), fix);
        }
    }
    findings
}

/// Returns the name of the pure crate of a source file, if it is in one.
fn who(path: &str) -> Option<&'static str> {
    let name = crate_of_source(path)?;
    PURE.iter().find(|(pure, _)| *pure == name).map(|(_, who)| *who)
}

fn impurities(text: &str) -> Vec<(usize, &'static str)> {
    let grouped = grouped_std_names(text);
    let spelled = code_lines(text).flat_map(|(number, line)| {
        IMPURE.iter().filter(move |name| names(line, name)).map(move |name| (number, *name))
    });
    let imported = grouped.iter().filter_map(|(number, taken)| {
        IMPURE.iter().find(|name| *name == taken).map(|name| (*number, *name))
    });
    spelled.chain(imported).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::expect;

    #[test]
    fn each_impure_name_is_found() {
        for name in IMPURE {
            let text = format!("//! Doc.\n\nfn f() {{ {name} }}\n");
            for (pure, who) in PURE {
                let path = format!("crates/{pure}/src/gate.rs");
                let tree = SourceTree::of(&[(&path, &text)]);
                expect(check, &tree, &[&format!("{path}:3: {who} names `{name}`")]);
            }
        }
    }

    #[test]
    fn an_import_group_hides_nothing() {
        let text = "use std::{\n    fmt,\n    fs::File,\n};";
        let tree = SourceTree::of(&[("crates/sayso-core/src/gate.rs", text)]);
        expect(check, &tree, &["crates/sayso-core/src/gate.rs:3: the core names `std::fs`"]);
    }

    #[test]
    fn words_in_comments_and_other_crates_are_free() {
        let tree = SourceTree::of(&[
            ("crates/sayso-core/src/gate.rs", "//! No SystemTime here.\nlet operand = 1;"),
            ("crates/sayso-store/src/lib.rs", "use std::fs;"),
        ]);
        expect(check, &tree, &[]);
    }
}
