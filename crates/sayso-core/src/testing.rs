//! Shared helpers for the tests of all state machines: actors, snapshot pages and seeded property tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::{
    Actor, AssuranceLevel, Code, EntryPoint, IdentityProof, Refusal, Role, RunId, SpaceId, TaskId,
    Timestamp,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::{Debug, Write};

/// Returns the time `seconds` after the epoch.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

pub(crate) fn space() -> SpaceId {
    SpaceId::mint(at(0), 1)
}

pub(crate) fn task_id(n: u128) -> TaskId {
    TaskId::mint(at(0), n)
}

pub(crate) fn run_id(n: u128) -> RunId {
    RunId::mint(at(0), n)
}

/// Returns the actor of a name. `fixer` is the agent that asks, `lea` launched it; the roles of the others follow
/// from the names below, and any other name is a person.
pub(crate) fn who(name: &str) -> Actor {
    let (role, run) = match name {
        "fixer" => (Role::Agent, Some(run_id(1))),
        "rival" => (Role::Agent, Some(run_id(2))),
        "opal" => (Role::Operator, None),
        "adam" => (Role::Admin, None),
        "aude" => (Role::Auditor, None),
        "relay" => (Role::Service, None),
        _ => (Role::Human, None),
    };
    let is_agent = role == Role::Agent;
    Actor {
        scopes: None,
        stands_for: vec![],
        introductions: vec![],
        role,
        name: name.into(),
        run,
        task: run.map(|run| if run == run_id(1) { task_id(1) } else { task_id(2) }),
        launcher: is_agent.then(|| "lea".into()),
        proof: if role == Role::Human { IdentityProof::Tty } else { IdentityProof::Token },
        level: AssuranceLevel::S0,
        door: if is_agent { EntryPoint::Mcp } else { EntryPoint::Cli },
    }
}

/// One actor of each role.
pub(crate) const ONE_OF_EACH_ROLE: [&str; 6] = ["fixer", "ann", "opal", "adam", "aude", "relay"];

/// Returns the outcome of a command: the names of its events, `=` for success without effect, or the code.
pub(crate) fn cell<E>(outcome: &Result<Vec<E>, Refusal>, name: fn(&E) -> &'static str) -> String {
    match outcome {
        Err(refusal) => refusal.code.as_str().into(),
        Ok(events) if events.is_empty() => "=".into(),
        Ok(events) => {
            let short = |e| name(e).split_once('.').map_or("", |(_, short)| short);
            events.iter().map(short).collect::<Vec<_>>().join("+")
        }
    }
}

/// One command in one state: its outcome for each actor, and the resulting states.
pub(crate) struct Row {
    pub(crate) command: String,
    pub(crate) cells: Vec<String>,
    pub(crate) becomes: Vec<String>,
}

/// Returns a state machine as a page: a section for each state, a column for each actor, a line for each command.
/// Neighbours with the same line share one.
pub(crate) fn page(actors: &[&str], sections: Vec<(String, Vec<Row>)>) -> String {
    let mut page = String::from("who:");
    for name in actors {
        write!(page, " {name} ({})", who(name).role.as_str()).unwrap();
    }
    page.push_str("\n=: a success without effect\n");
    for code in Code::ALL.iter().filter(|code| {
        sections.iter().flat_map(|(_, rows)| rows).any(|r| r.cells.contains(&code.as_str().into()))
    }) {
        writeln!(page, "{}: {}", code.as_str(), code.title()).unwrap();
    }
    for (state, rows) in sections {
        writeln!(page, "\n## {state}").unwrap();
        let head = [&["command"], actors, &["becomes"]].concat();
        let mut table = vec![head.into_iter().map(String::from).collect()];
        for alike in rows.chunk_by(|a, b| (&a.cells, &a.becomes) == (&b.cells, &b.becomes)) {
            let names: Vec<_> = alike.iter().map(|row| row.command.as_str()).collect();
            let command = match names[..] {
                [first, _, .., last] => format!("{first} … {last}"),
                _ => names.join(", "),
            };
            let mut becomes = alike[0].becomes.clone();
            becomes.dedup();
            table.push([vec![command], alike[0].cells.clone(), vec![becomes.join(" | ")]].concat());
        }
        page.push_str(&aligned(&table));
    }
    page
}

fn aligned(table: &[Vec<String>]) -> String {
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..table[0].len()).filter_map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}  "));
        format!("{}\n", cells.collect::<String>().trim_end())
    };
    table.iter().map(line).collect()
}

/// Tests `cases` random values. A failure reports the seed.
pub(crate) fn explore<S: Strategy>(
    cases: u32,
    strategy: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) where
    S::Value: Debug,
{
    let seed: u64 = std::env::var("SAYSO_SEED").map_or(7142, |seed| seed.parse().unwrap());
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    if let Err(failure) = TestRunner::new_with_rng(config, rng).run(strategy, test) {
        panic!("SAYSO_SEED={seed}: {failure}");
    }
}

/// Returns a value after a round trip through JSON.
pub(crate) fn through_json<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}
