//! `cargo xtask test [ARGS…]`: installs and starts what the tests need, and runs all of them.

pub(crate) mod agents;
pub(crate) mod cluster;
pub(crate) mod detach;
pub(crate) mod terminals;
pub(crate) mod tools;

use std::env;
use std::process::Command;

use crate::shell::{cargo, run as sh, works};
use crate::stop::VerbResult;
use cluster::PostgresCluster;

/// The verb's name, which a detached process is started with again.
pub(crate) const TEST: &str = "test";

pub(crate) fn run(words: &[String]) -> VerbResult {
    // The tests simulate people, and sayso takes no verdict from below an agent.
    detach::unless_alone(TEST, words)
}

/// Runs the tests in this process's own environment.
pub(crate) fn here(words: &[String]) -> VerbResult {
    // Before anything is built: a build may replace the file we were started from.
    let xtask = env::current_exe()?;
    let postgres = tools::ensure()?;
    let axe = tools::axe()?;
    let cluster = PostgresCluster::start(&xtask, &postgres)?;
    let people = terminals::ensure()?;
    if words.is_empty() {
        // First, so that the last lines are the summary of the real tests.
        sh(with(&mut cargo(&["test", "--doc", "--workspace", "--locked"]), &cluster))?;
    }
    let mut tests = runner(words);
    tests.args(words).env("SAYSO_TEST_AXE", axe).env(terminals::FOLDER, people);
    sh(with(&mut tests, &cluster))
}

/// Returns nextest, or cargo's own runner where nextest is not installed.
fn runner(words: &[String]) -> Command {
    let mut command = if works(&mut cargo(&["nextest", "--version"])) {
        let mut command = cargo(&["nextest", "run", "--locked"]);
        // Examples hold no tests, and take their time to be linked; lint has looked at them.
        if words.is_empty() {
            command.arg("--tests");
        }
        command
    } else {
        // All but doc tests, which run on their own.
        cargo(&["test", "--locked", "--tests"])
    };
    // `--workspace` would win over a chosen package.
    if !chooses_package(words) {
        command.arg("--workspace");
    }
    command
}

fn chooses_package(words: &[String]) -> bool {
    let own = words.iter().take_while(|word| *word != "--");
    own.into_iter().any(|word| word.starts_with("-p") || word.starts_with("--package"))
}

fn with<'a>(command: &'a mut Command, cluster: &PostgresCluster) -> &'a mut Command {
    command.env("SAYSO_TEST_PG", cluster.url())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(Into::into).collect()
    }

    #[test]
    fn the_whole_workspace_is_meant_unless_a_package_is_chosen() {
        assert!(chooses_package(&words("-p sayso-core")));
        assert!(chooses_package(&words("gate --package=sayso-core")));
        assert!(!chooses_package(&words("gate -- -p")));
        assert!(!chooses_package(&[]));
    }
}
