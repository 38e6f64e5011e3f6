//! The entry point of all automation: `cargo xtask VERB`. One file per verb.

#![allow(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod bench;
mod checksums;
mod ci;
mod clients;
mod docs;
mod generate;
mod help;
mod lint;
mod npm;
mod probe;
mod scratch;
mod shell;
mod stage;
mod stop;
mod test;
mod tidy;

use std::process::ExitCode;

use stop::{VerbError, VerbResult};

/// A verb: its name, the line `help` shows, and its function of the remaining words.
struct XtaskCommand {
    name: &'static str,
    line: &'static str,
    run: fn(&[String]) -> VerbResult,
}

const VERBS: &[XtaskCommand] = &[
    XtaskCommand {
        name: "lint",
        line: "formatting and clippy, warnings are errors",
        run: lint::run,
    },
    XtaskCommand {
        name: "tidy",
        line: "the structure: edges, map, error pages, migrations",
        run: tidy::run,
    },
    XtaskCommand {
        name: "generate",
        line: "write docs/reference and new migration checksums; --check only compares",
        run: generate::run,
    },
    XtaskCommand {
        name: "test",
        line: "install and start what the tests need, run them all; arguments go to the runner",
        run: test::run,
    },
    XtaskCommand {
        name: docs::DOCS,
        line: "run every command line the pages show; names of pages choose among them",
        run: docs::run,
    },
    XtaskCommand {
        name: clients::CLIENTS,
        line: "install real clients and let them work against a scripted model; names choose among them",
        run: clients::run,
    },
    XtaskCommand {
        name: bench::BENCH,
        line: "figures beside floors and peers; names choose among them",
        run: bench::run,
    },
    XtaskCommand {
        name: "ci",
        line: "everything a change has to pass, the quick checks first",
        run: ci::run,
    },
    XtaskCommand { name: "help", line: "this list", run: help::run },
];

/// Internal verbs: steps of other verbs that need a process of their own.
const INNER: &[XtaskCommand] = &[
    XtaskCommand { name: test::detach::FORK, line: "", run: test::detach::fork },
    XtaskCommand { name: test::detach::DETACHED, line: "", run: test::detach::detached },
    XtaskCommand {
        name: test::terminals::IN_TERMINAL,
        line: "",
        run: test::terminals::in_terminal,
    },
    XtaskCommand { name: test::cluster::KEEP, line: "", run: test::cluster::keep },
    XtaskCommand { name: probe::PROBE, line: "", run: probe::run },
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let verb = words.next().unwrap_or_else(|| "help".into());
    let rest: Vec<String> = words.collect();
    if verb == test::terminals::AT_TERMINAL {
        return at_terminal(&rest);
    }
    let outcome = shell::enter_root().and_then(|()| dispatch(&verb, &rest));
    test::terminals::forget();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => stop.tell(),
    }
}

/// Before the change to the root: the line runs in the folder it was typed in.
fn at_terminal(words: &[String]) -> ExitCode {
    match test::terminals::at_terminal(words) {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(stop) => stop.tell(),
    }
}

fn dispatch(name: &str, words: &[String]) -> VerbResult {
    match VERBS.iter().chain(INNER).find(|verb| verb.name == name) {
        Some(verb) => (verb.run)(words),
        None => Err(VerbError::usage(format!("no verb `{name}`\n\n{}", help::text()))),
    }
}
