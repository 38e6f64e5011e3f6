//! Checks the length of Rust files.

use super::CheckFindings;
use super::tree::SourceTree;

const LINES_MAX: usize = 800;

pub(super) fn check(tree: &SourceTree) -> CheckFindings {
    let mut findings = CheckFindings::default();
    for (path, text) in tree.rust(|_| true) {
        findings.seen += 1;
        let lines = text.lines().count();
        if lines > LINES_MAX {
            let what = format!("the file has {lines} lines, {LINES_MAX} are allowed");
            findings.problem(path, LINES_MAX, what, "split it where its subject changes");
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::expect;

    #[test]
    fn one_line_too_many_is_found() {
        let (fits, long) = ("\n".repeat(LINES_MAX), "\n".repeat(LINES_MAX + 1));
        let tree =
            SourceTree::of(&[("a/fits.rs", &fits), ("a/long.rs", &long), ("a/long.md", &long)]);
        expect(check, &tree, &["a/long.rs:800: the file has 801 lines, 800 are allowed"]);
    }
}
