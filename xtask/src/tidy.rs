//! `cargo xtask tidy`: checks the rules about the source tree that the compiler does not know.
//!
//! Each check is a plain function from the tree to its findings, so each is tested on small made-up trees. A check
//! that found nothing to look at fails: it would pass on every tree.

mod commits;
mod databases;
mod doors;
mod edges;
mod errors;
mod length;
mod map;
mod migrations;
mod module_docs;
mod places;
mod purity;
mod source;
mod tree;
mod words;

use std::fmt;

use crate::stop::{VerbResult, no_words};
use tree::SourceTree;

type TidyCheck = (&'static str, fn(&SourceTree) -> CheckFindings);

const CHECKS: &[TidyCheck] = &[
    ("module docs", module_docs::check),
    ("edges between crates", edges::check),
    ("purity of core and policy", purity::check),
    ("databases only in the store", databases::check),
    ("printing, exit and environment only in the program", doors::check),
    ("migrations only added", migrations::check),
    ("a page for each error code", errors::check),
    ("map equals tree", map::check),
    ("length of files", length::check),
    ("no place of one machine", places::check),
    ("names and prose", words::check),
    ("commits with a scope", commits::check),
];

pub(crate) fn run(words: &[String]) -> VerbResult {
    no_words("tidy", words)?;
    let tree = SourceTree::read()?;
    let mut count = 0;
    for (name, check) in CHECKS {
        let findings = check(&tree).or_vacuous(name);
        eprintln!("tidy: {name}: {} looked at, {} wrong", findings.seen, findings.problems.len());
        for problem in &findings.problems {
            println!("{problem}");
        }
        count += findings.problems.len();
    }
    match count {
        0 => Ok(()),
        1 => Err("tidy found 1 problem".into()),
        _ => Err(format!("tidy found {count} problems").into()),
    }
}

/// The problems that a check has found, and the number of places it looked at.
#[derive(Debug, Default)]
struct CheckFindings {
    seen: usize,
    problems: Vec<TidyProblem>,
}

impl CheckFindings {
    fn problem(
        &mut self,
        path: impl Into<String>,
        line: usize,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) {
        let (path, what, fix) = (path.into(), what.into(), fix.into());
        self.problems.push(TidyProblem { path, line, what, fix });
    }

    fn or_vacuous(mut self, name: &str) -> CheckFindings {
        if self.seen == 0 {
            let fix = "bring back what it looks at, or teach the check where that is now";
            self.problem("xtask/src/tidy.rs", 1, format!("`{name}` found nothing to look at"), fix);
        }
        self
    }
}

/// A problem: its place, what is wrong, and the fix.
#[derive(Debug)]
struct TidyProblem {
    path: String,
    line: usize,
    what: String,
    fix: String,
}

impl fmt::Display for TidyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}\n  fix: {}", self.path, self.line, self.what, self.fix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs one check on a made-up tree and compares `path:line: what` of each problem.
    pub(super) fn expect(
        check: fn(&SourceTree) -> CheckFindings,
        tree: &SourceTree,
        problems: &[&str],
    ) {
        let findings = check(tree);
        assert!(findings.seen > 0, "the check looked at nothing");
        let said: Vec<String> = findings.problems.iter().map(ToString::to_string).collect();
        let heads: Vec<&str> = said.iter().filter_map(|text| text.lines().next()).collect();
        assert_eq!(heads, problems);
    }

    #[test]
    fn no_check_passes_on_an_empty_tree() {
        for (name, check) in CHECKS {
            let findings = check(&SourceTree::of(&[])).or_vacuous(name);
            assert!(!findings.problems.is_empty(), "`{name}` passes on an empty tree");
        }
    }

    #[test]
    fn a_problem_names_file_line_what_and_fix() {
        let mut findings = CheckFindings::default();
        findings.problem("a.rs", 7, "is odd", "make it even");
        assert_eq!(findings.problems[0].to_string(), "a.rs:7: is odd\n  fix: make it even");
    }
}
