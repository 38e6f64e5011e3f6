//! `cargo xtask lint`: formatting and clippy; a warning is an error.

use crate::shell::{cargo, run as sh};
use crate::stop::{VerbResult, no_words};

pub(crate) fn run(words: &[String]) -> VerbResult {
    no_words("lint", words)?;
    sh(&mut cargo(&["fmt", "--all", "--check"]))?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    sh(&mut cargo(&clippy))
}
