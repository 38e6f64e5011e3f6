//! Checks that every source file begins with a module doc.

use super::CheckFindings;
use super::tree::{SourceTree, crate_of_source};

pub(super) fn check(tree: &SourceTree) -> CheckFindings {
    let mut findings = CheckFindings::default();
    for (path, text) in tree.rust(is_source) {
        findings.seen += 1;
        if !text.starts_with("//!") {
            let fix = "begin the file with a `//!` line";
            findings.problem(path, 1, "the file does not say what it is", fix);
        }
    }
    findings
}

fn is_source(path: &str) -> bool {
    crate_of_source(path).is_some() || path.starts_with("xtask/src/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::expect;

    #[test]
    fn a_file_must_open_with_its_doc() {
        let tree = SourceTree::of(&[
            ("crates/a/src/lib.rs", "//! What it is."),
            ("crates/a/src/deep/late.rs", "use std::fmt;\n//! Too late."),
            ("crates/a/tests/free.rs", ""),
            ("xtask/src/bare.rs", "/// Not of the module."),
        ]);
        let problems = [
            "crates/a/src/deep/late.rs:1: the file does not say what it is",
            "xtask/src/bare.rs:1: the file does not say what it is",
        ];
        expect(check, &tree, &problems);
    }
}
