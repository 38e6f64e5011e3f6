//! `cargo xtask clients [NAME…]`: tests of real clients as agents of the real program, against a scripted model.
//!
//! Not part of `test` and `ci`, since the clients come from npm's registry. They are kept in a folder of the user's
//! cache. A client that cannot be installed, or does not start, is a failure and no skip.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::npm;
use crate::scratch::ScratchFolder;
use crate::shell::{cargo, has, output, path_folders, run as sh, works};
use crate::stop::{VerbError, VerbResult};
use crate::test::cluster::PostgresCluster;
use crate::test::{detach, terminals, tools};

/// The verb's name, which a detached process is started with again.
pub(crate) const CLIENTS: &str = "clients";

/// A package of npm's registry, in the version the adapters were measured with.
struct NpmPackage {
    /// The name of the client, and of the module with its tests.
    name: &'static str,
    package: &'static str,
    version: &'static str,
    /// The program below `node_modules`; `{system}` and `{target}` are those of this machine.
    program: &'static str,
}

/// Newer than most systems have; Gemini CLI needs it.
const NODE: NpmPackage = NpmPackage {
    name: "node",
    package: "node-{system}",
    version: "22.23.3",
    program: "node-{system}/bin/node",
};

const PACKAGES: &[NpmPackage] = &[
    NpmPackage {
        name: "claude-code",
        package: "@anthropic-ai/claude-code",
        version: "2.1.325",
        program: "@anthropic-ai/claude-code-{system}/claude",
    },
    NpmPackage {
        name: "codex",
        package: "@openai/codex",
        version: "0.166.0",
        program: "@openai/codex-{system}/vendor/{target}/bin/codex",
    },
    NpmPackage {
        name: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        program: ".bin/gemini",
    },
    NpmPackage {
        name: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        program: "opencode-{system}/bin/opencode",
    },
    // No client, but a test suite for servers.
    NpmPackage {
        name: "conformance",
        package: "@modelcontextprotocol/conformance",
        version: "0.2.0-alpha.12",
        program: ".bin/conformance",
    },
];

pub(crate) fn run(words: &[String]) -> VerbResult {
    choose(words)?;
    // The tests play people, and sayso takes no verdict from below an agent.
    detach::unless_alone(CLIENTS, words)
}

/// Runs the tests in this process's own environment.
pub(crate) fn here(words: &[String]) -> VerbResult {
    // Before anything is built: a build may replace the file we were started from.
    let xtask = env::current_exe()?;
    let chosen = choose(words)?;
    for program in ["npm", "python3", "git"] {
        if !has(program) {
            return Err(format!("the real clients need `{program}` on the PATH").into());
        }
    }
    let node = NODE.ensure(None).map_err(|stop| untested(&[(NODE.name, stop)]))?;
    let nodes = node.parent().unwrap_or(Path::new("."));
    let (programs, missing) = ensure(&chosen, nodes);
    if !missing.is_empty() {
        return Err(untested(&missing));
    }
    let cluster = PostgresCluster::start(&xtask, &tools::ensure()?)?;
    let mut tests = runner(&chosen);
    tests.env("SAYSO_TEST_PG", cluster.url()).env("SAYSO_TEST_NODE", nodes);
    tests.env(terminals::FOLDER, terminals::ensure()?);
    for (package, program) in chosen.iter().zip(&programs) {
        tests.env(package.variable(), program);
    }
    sh(&mut tests)
}

/// Returns the clients of these names; all of them when none is named.
fn choose(words: &[String]) -> VerbResult<Vec<&'static NpmPackage>> {
    let known: Vec<_> = PACKAGES.iter().map(|package| package.name).collect();
    if let Some(word) = words.iter().find(|word| !known.contains(&word.as_str())) {
        let known = known.join(", ");
        return Err(VerbError::usage(format!("no client `{word}`; there are {known}")));
    }
    let is_chosen =
        |package: &&NpmPackage| words.is_empty() || words.iter().any(|w| w == package.name);
    Ok(PACKAGES.iter().filter(is_chosen).collect())
}

type MissingClients = Vec<(&'static str, VerbError)>;

/// Returns the programs of these clients, and those that cannot be installed with the reason.
fn ensure(chosen: &[&'static NpmPackage], nodes: &Path) -> (Vec<PathBuf>, MissingClients) {
    let (mut programs, mut missing) = (vec![], vec![]);
    for package in chosen {
        match package.ensure(Some(nodes)) {
            Ok(program) => programs.push(program),
            Err(stop) => missing.push((package.name, stop)),
        }
    }
    (programs, missing)
}

/// Builds the error that nothing was tested, and why.
fn untested(missing: &[(&str, VerbError)]) -> VerbError {
    let names: Vec<_> = missing.iter().map(|(name, _)| *name).collect();
    let whys: Vec<_> = missing.iter().map(|(_, stop)| stop.text.as_str()).collect();
    format!("{}\nnothing was tested: there is no {}", whys.join("\n"), names.join(", ")).into()
}

impl NpmPackage {
    /// Returns the variable that tells the tests where it is.
    fn variable(&self) -> String {
        format!("SAYSO_TEST_{}", self.name.to_uppercase().replace('-', "_"))
    }

    /// Returns its program, installed unless it exists, and checked to start.
    fn ensure(&self, nodes: Option<&Path>) -> VerbResult<PathBuf> {
        let (package, file) = (in_full(self.package)?, in_full(self.program)?);
        let folder = npm::ensure(self.name, &package, self.version, &file)?;
        let program = folder.join("node_modules").join(file);
        match self.check(&program, nodes) {
            Ok(()) => Ok(program),
            Err(stop) => {
                let anew = format!("to install it anew: rm -r {}", folder.display());
                Err(format!("{}\n{anew}", stop.text).into())
            }
        }
    }

    fn check(&self, program: &Path, nodes: Option<&Path>) -> VerbResult {
        // Some create a home folder even when only asked for their version.
        let home = ScratchFolder::below(&env::temp_dir())?;
        let path = nodes.map(Path::to_path_buf).into_iter().chain(path_folders());
        let mut command = Command::new(program);
        command.arg("--version").env_clear().env("HOME", home.path());
        command.env("PATH", env::join_paths(path).unwrap_or_default());
        let said = output(&mut command)?;
        if said.contains(self.version) {
            Ok(())
        } else {
            let (name, version) = (self.name, self.version);
            let said = said.trim();
            Err(format!("{name} says it is {said:?} and not {version}").into())
        }
    }
}

/// Returns a name or path with this machine's system in it.
fn in_full(text: &str) -> VerbResult<String> {
    let (system, target) = match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") => ("linux-x64", "x86_64-unknown-linux-musl"),
        ("linux", "aarch64") => ("linux-arm64", "aarch64-unknown-linux-musl"),
        (os, arch) => return Err(format!("real clients are not tested on {os} {arch}").into()),
    };
    Ok(text.replace("{system}", system).replace("{target}", target))
}

/// Returns nextest, or cargo's own runner where nextest is not installed.
fn runner(chosen: &[&NpmPackage]) -> Command {
    let is_nextest = works(&mut cargo(&["nextest", "--version"]));
    let mut command = cargo(if is_nextest { &["nextest", "run"] } else { &["test"] });
    command.args(["--locked", "--package", "sayso", "--test", "e2e", "--no-fail-fast"]);
    command.args(if is_nextest { ["--run-ignored", "only"] } else { ["--", "--ignored"] });
    let module = |package: &&NpmPackage| format!("clients::{}::", package.name.replace('-', "_"));
    command.args(chosen.iter().map(module));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_chosen_by_name() {
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.into()).collect();
            choose(&words).map(|chosen| chosen.iter().map(|p| p.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), PACKAGES.len());
        assert_eq!(names(&["codex", "claude-code"]).unwrap(), ["claude-code", "codex"]);
        assert_eq!(names(&["cursor"]).unwrap_err().code, 2);
    }

    #[test]
    fn a_test_finds_its_client_by_a_variable() {
        assert_eq!(PACKAGES[0].variable(), "SAYSO_TEST_CLAUDE_CODE");
    }
}
