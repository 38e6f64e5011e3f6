//! `cargo xtask ci`: all checks that a change must pass, the quick ones first.

use std::time::{Duration, Instant};

use crate::stop::{VerbResult, no_words};
use crate::{docs, generate, lint, shell, test, tidy};

type CiStep = (&'static str, fn() -> VerbResult);

// Seconds, then a check build, then a build of the program, then all tests: failures come early.
const STEPS: &[CiStep] = &[
    ("tidy", || tidy::run(&[])),
    ("lint", || lint::run(&[])),
    ("generate --check", || generate::run(&["--check".into()])),
    ("demo", || {
        shell::run(&mut shell::cargo(&["run", "--locked", "-p", "sayso", "--", "demo", "--auto"]))
    }),
    ("docs", || docs::run(&[])),
    ("shells", shells),
    ("test", || test::run(&[])),
];

/// The number of generated lines that real shells run beside the parser of command lines: two to four minutes on two
/// cores.
const LINES: &str = "10000";

/// The reader of command lines against real shells, by more lines than a run of the tests has.
fn shells() -> VerbResult {
    let words = [
        "test",
        "--locked",
        "-p",
        "sayso-policy",
        "--test",
        "policy",
        "shells::",
        "--",
        "--nocapture",
    ];
    shell::run(shell::cargo(&words).env("SAYSO_LINES", LINES))
}

pub(crate) fn run(words: &[String]) -> VerbResult {
    no_words("ci", words)?;
    let begun = Instant::now();
    for (name, step) in STEPS {
        timed(name, *step)?;
    }
    eprintln!("ci: all {} steps passed in {}", STEPS.len(), seconds(begun.elapsed()));
    Ok(())
}

fn timed(name: &str, step: fn() -> VerbResult) -> VerbResult {
    eprintln!("ci: {name}");
    let begun = Instant::now();
    let outcome = step();
    let word = if outcome.is_ok() { "passed" } else { "FAILED" };
    eprintln!("ci: {name} {word} in {}", seconds(begun.elapsed()));
    outcome
}

fn seconds(span: Duration) -> String {
    format!("{:.1} s", span.as_secs_f64())
}
