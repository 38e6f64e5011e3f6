//! Checks that each error code has a page, and each page a code.

use std::collections::BTreeMap;

use super::CheckFindings;
use super::source::code_lines;
use super::tree::SourceTree;

const CODES: &str = "crates/sayso-core/src/code.rs";
const PAGES: &str = "docs/errors/";

pub(super) fn check(tree: &SourceTree) -> CheckFindings {
    let codes = codes(&tree.text(CODES).unwrap_or_default());
    let mut findings = CheckFindings { seen: codes.len(), ..CheckFindings::default() };
    for (code, line) in &codes {
        let page = format!("{PAGES}{code}.md");
        if !tree.holds(&page) {
            let fix = format!("write {page}: what happened, likely cause, what to do");
            findings.problem(CODES, *line, format!("`{code}` has no page"), fix);
        }
    }
    for path in tree.files.keys() {
        let name = path.strip_prefix(PAGES).and_then(|name| name.strip_suffix(".md"));
        if name.is_some_and(|name| name.starts_with("SAY") && !codes.contains_key(name)) {
            let fix = format!("add the code to {CODES}, or remove the page");
            findings.problem(path, 1, "the page belongs to no code", fix);
        }
    }
    findings
}

/// Returns every `SAYnnn` in the code, with the line it is first named on.
fn codes(text: &str) -> BTreeMap<String, usize> {
    let mut codes = BTreeMap::new();
    for (number, line) in code_lines(text) {
        for word in line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| is_code(word)) {
            codes.entry(word.to_owned()).or_insert(number);
        }
    }
    codes
}

fn is_code(word: &str) -> bool {
    word.strip_prefix("SAY").is_some_and(|n| n.len() == 3 && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::expect;

    #[test]
    fn codes_and_pages_must_match_both_ways() {
        let code =
            "//! As `SAY999`.\nA = \"SAY001\", Exit;\nB = \"SAY002\", Exit;\nC = \"SAY0003\";";
        let tree = SourceTree::of(&[
            (CODES, code),
            ("docs/errors/SAY001.md", ""),
            ("docs/errors/SAY007.md", ""),
            ("docs/errors/README.md", ""),
        ]);
        let problems = [
            "crates/sayso-core/src/code.rs:3: `SAY002` has no page",
            "docs/errors/SAY007.md:1: the page belongs to no code",
        ];
        expect(check, &tree, &problems);
    }
}
