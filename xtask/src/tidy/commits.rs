//! Checks that the subject of each recent commit has the form `scope: what it does`.

use super::CheckFindings;
use super::tree::SourceTree;

pub(super) fn check(tree: &SourceTree) -> CheckFindings {
    let mut findings = CheckFindings { seen: tree.subjects.len(), ..CheckFindings::default() };
    for subject in tree.subjects.iter().filter(|subject| !has_scope(subject)) {
        let what = format!("the commit `{subject}` has no scope");
        let fix = "reword it: `scope: what it does`, the scope in lower case";
        findings.problem("CONTRIBUTING.md", 1, what, fix);
    }
    findings
}

/// True for `gates: refuse a late answer`; a scope is one word in lower case, such as a crate or a subject.
fn has_scope(subject: &str) -> bool {
    let is_scope = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "/,*-".contains(c);
    subject.split_once(": ").is_some_and(|(scope, what)| {
        !scope.is_empty() && scope.chars().all(is_scope) && !what.trim().is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::expect;

    #[test]
    fn a_subject_needs_a_scope() {
        let subjects = ["gates: refuse a late answer", "Refuse a late answer", "Gates: no", ": no"];
        let tree =
            SourceTree { subjects: subjects.map(Into::into).to_vec(), ..SourceTree::default() };
        let problem = |subject| format!("CONTRIBUTING.md:1: the commit `{subject}` has no scope");
        let problems = [subjects[1], subjects[2], subjects[3]].map(problem);
        expect(check, &tree, &problems.each_ref().map(String::as_str));
    }
}
