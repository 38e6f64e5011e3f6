//! Checks that only the program prints, exits or reads the user's environment. Libraries return values and take
//! arguments.

use super::CheckFindings;
use super::source::{names, shipped_lines};
use super::tree::{SourceTree, crate_of_source};

const PROGRAM: &str = "sayso";
const FORBIDDEN: &[&str] = &[
    "println!",
    "print!",
    "eprintln!",
    "eprint!",
    "process::exit",
    "env::var",
    "env::var_os",
    "env::vars",
    "env::vars_os",
];

pub(super) fn check(tree: &SourceTree) -> CheckFindings {
    let mut findings = CheckFindings::default();
    for (path, text) in tree.rust(is_library) {
        if tree.is_for_tests(path) {
            continue;
        }
        findings.seen += 1;
        for (line, code) in shipped_lines(&text) {
            for name in FORBIDDEN.iter().filter(|name| names(code, name)) {
                let what = format!("a library uses `{name}`");
                let fix = "return the value or the error, or take it as an argument; \
                           crates/sayso talks to the world";
                findings.problem(path, line, what, fix);
            }
        }
    }
    findings
}

fn is_library(path: &str) -> bool {
    crate_of_source(path).is_some_and(|name| name != PROGRAM) && !path.ends_with("/tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::expect;

    #[test]
    fn each_forbidden_name_is_found_in_a_library() {
        for name in FORBIDDEN {
            let text = format!("//! Doc.\nfn f() {{ std::{name}(\"x\") }}\n");
            let tree = SourceTree::of(&[("crates/sayso-engine/src/desk.rs", &text)]);
            let problem = format!("crates/sayso-engine/src/desk.rs:2: a library uses `{name}`");
            expect(check, &tree, &[&problem]);
        }
    }

    #[test]
    fn the_program_and_tests_are_free() {
        let test = "#[cfg(test)]\nmod tests {\n    fn f() { println!(\"x\") }\n}\n";
        let tree = SourceTree::of(&[
            ("crates/sayso/src/output.rs", "fn f() { println!(\"x\") }"),
            ("crates/sayso-store/src/lib.rs", test),
            ("crates/sayso-store/src/log/tests.rs", "fn f() { println!(\"x\") }"),
            ("crates/sayso-store/tests/all.rs", "fn f() { std::env::var(\"X\") }"),
        ]);
        expect(check, &tree, &[]);
    }
}
