//! Checks that no file names a path that exists on one machine only.

use super::CheckFindings;
use super::tree::SourceTree;

/// In two halves, so that this file does not hold what it looks for.
const PLACES: &[(&str, &str)] = &[("/ro", "ot/"), ("/wo", "rk/")];

pub(super) fn check(tree: &SourceTree) -> CheckFindings {
    let places: Vec<String> = PLACES.iter().map(|(head, tail)| format!("{head}{tail}")).collect();
    let mut findings = CheckFindings::default();
    for path in tree.files.keys() {
        findings.seen += 1;
        let text = tree.text(path).unwrap_or_default();
        for (index, line) in text.lines().enumerate() {
            for place in places.iter().filter(|place| line.contains(place.as_str())) {
                let what = format!("`{place}` is a place of one machine");
                findings.problem(path, index + 1, what, "use a relative path or a variable");
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::expect;

    #[test]
    fn each_place_is_found_in_any_file() {
        for (head, tail) in PLACES {
            let text = format!("fine\ncd {head}{tail}x\n");
            let tree = SourceTree::of(&[("notes.md", &text), ("ok.md", "src/work")]);
            let problem = format!("notes.md:2: `{head}{tail}` is a place of one machine");
            expect(check, &tree, &[&problem]);
        }
    }
}
