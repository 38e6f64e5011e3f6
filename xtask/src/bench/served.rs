//! Benchmark of the server: round trips and throughput beside floors and peers, many clients held at once, the state
//! after a kill, and the duration of a start. All of it over HTTP, with the real `sayso serve`.

use serde_json::Value;

use super::BuiltPrograms;
use super::peers::{
    InterleavedRun, alone, by_peer, explanation, number, on_postgres, others, ours, rates,
    run_interleaved,
};
use super::table::{median, ms, table, times};
use crate::stop::VerbResult;

/// The peers: programs that store a question durably.
const PEERS: &str = "floor-http-sqlite,sayso-sqlite,langgraph-sqlite,dbos-sqlite-10ms,restate,mastra-sqlite,\
                     floor-pg-listen,floor-postgres,sayso-postgres,langgraph-postgres,dbos-postgres,mastra-postgres";

/// The number of clients that wait at once, and of gates that are open when the server is killed.
const MANY: usize = 10_000;

/// The number of gates that were answered before, where history must not matter.
const HISTORY: usize = 5_000;

const STORES: [&str; 2] = ["sqlite", "postgres"];

pub(super) fn run(built: &BuiltPrograms) -> VerbResult<String> {
    let turns = |bench, more| InterleavedRun { program: &built.served, bench, peers: PEERS, more };
    let trips = run_interleaved(built, "served", &turns("b1", &["--n", "60"]))?;
    let many =
        run_interleaved(built, "served", &turns("b1t", &["--n", "600", "--inflight", "64"]))?;
    let sections = [
        format!(
            "# The server\n\nThe real `sayso serve`, driven over HTTP through the public API: a process of its own drives \
             it, on the same two shared cores. Everything in one table was run in turns in one run. {} \
             `cargo xtask bench served`\n",
            others([&trips, &many])
        ),
        round_trip(&trips),
        throughput(&many),
        crowd(built)?,
        restart(built)?,
        start(built)?,
        explanation("served.md", "## Why it costs"),
    ];
    Ok(sections.join("\n"))
}

fn round_trip(results: &Value) -> String {
    let rounds = by_peer(results);
    let middle = |name: &str| median(rounds.get(name).cloned().unwrap_or_default());
    let mut names: Vec<_> = rounds.keys().filter(|name| *name != "floor-postgres").collect();
    names.sort_by(|a, b| middle(a).total_cmp(&middle(b)));
    let rows: Vec<_> = names
        .iter()
        .map(|name| {
            let floor = if on_postgres(name) { "floor-pg-listen" } else { "floor-http-sqlite" };
            let time = middle(name);
            vec![
                (*name).clone(),
                ms(time),
                times(time / middle(floor)),
                times(time / middle(ours(name))),
            ]
        })
        .collect();
    format!(
        "## Round trip\nA gate is opened, somebody else answers it, and whoever waited has the answer; one at a time, thinking \
         time left out. Median over the rounds of each round's median. The floor on SQLite is a bare HTTP server with two \
         commits; that on PostgreSQL has no server in between.\n\n{}",
        table(&["who", "ms", "beside its floor", "beside sayso"], &rows)
    )
}

fn throughput(results: &Value) -> String {
    let rates = rates(results);
    let rate = |name: &str| rates.iter().find(|(it, _)| it == name).map_or(f64::NAN, |it| it.1);
    let names: Vec<_> = rates
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| *name != "floor-pg-listen")
        .collect();
    let rows: Vec<_> = names
        .iter()
        .map(|name| {
            let floor = if on_postgres(name) { "floor-postgres" } else { "floor-http-sqlite" };
            let share = rate(name) / rate(floor) * 100.0;
            vec![
                (*name).to_owned(),
                format!("{:.0}", rate(name)),
                format!("{share:.0} %"),
                times(rate(ours(name)) / rate(name)),
            ]
        })
        .collect();
    format!(
        "## Throughput\nWhole round trips per second with 64 in flight: opened, answered, delivered. Median of the rounds. \
         The floor on PostgreSQL is a server on a unix socket that commits everything in one statement.\n\n{}",
        table(&["who", "per second", "of its floor", "sayso is ahead by"], &rows)
    )
}

fn crowd(built: &BuiltPrograms) -> VerbResult<String> {
    let mut rows = vec![];
    for store in STORES {
        for many in [1_000, MANY] {
            let said = alone(built, &built.served, store, "crowd", &["--n", &many.to_string()])?;
            rows.push(vec![
                store.to_owned(),
                many.to_string(),
                format!("{:.1}", number(&said, "kb_each")),
                format!("{:.0}", number(&said, "memory_kb") / 1024.0),
                format!(
                    "{:.0} to {:.0}",
                    number(&said, "threads_before"),
                    number(&said, "threads")
                ),
                format!("{:.1} %", number(&said, "idle_cpu") * 100.0),
                ms(number(&said, "heard_ms")),
                ms(number(&said, "heard_ms_p99")),
            ]);
        }
    }
    let head = [
        "store",
        "clients waiting",
        "KB each",
        "server, MB",
        "threads",
        "of one core",
        "answer to heard, ms",
        "(p99)",
    ];
    Ok(format!(
        "## Many who wait\nEach client has asked and is held on a connection of its own; then 300 of them are answered one after \
         the other, on one more connection. Memory is what the server has more than before they came. From the moment the answer \
         is sent until the client has it.\n\n{}",
        table(&head, &rows)
    ))
}

fn restart(built: &BuiltPrograms) -> VerbResult<String> {
    let mut rows = vec![];
    for store in STORES {
        for (open, history) in [(1_000, 0), (1_000, HISTORY), (MANY, 0)] {
            let words =
                ["--n", &open.to_string(), "--history", &history.to_string(), "--sample", "1000"];
            let said = alone(built, &built.served, store, "b2", &words)?;
            let seconds = |key: &str| format!("{:.2}", number(&said, key));
            rows.push(vec![
                store.to_owned(),
                open.to_string(),
                history.to_string(),
                seconds("listens_s"),
                seconds("first_answer_s"),
                seconds("all_listed_s"),
                format!("{:.0}", number(&said, "lost")),
            ]);
        }
    }
    let head = [
        "store",
        "open gates",
        "answered before",
        "listens, s",
        "first answered, s",
        "all listed, s",
        "lost",
    ];
    Ok(format!(
        "## Killed and started again\n`kill -9` with gates open, then a new process: seconds since its start until it listens, until \
         the first gate is answered, and until all of them were listed, 200 to a page. A thousand of them are answered then.\n\n{}",
        table(&head, &rows)
    ))
}

fn start(built: &BuiltPrograms) -> VerbResult<String> {
    let mut rows = vec![];
    for store in STORES {
        let said = alone(built, &built.served, store, "start", &["--n", "20", "--prefill", "100"])?;
        rows.push(vec![
            store.to_owned(),
            ms(number(&said, "listens_ms")),
            ms(number(&said, "first_answer_ms")),
            ms(number(&said, "first_answer_ms_p90")),
            format!("{:.0}", number(&said, "idle_kb") / 1024.0),
        ]);
    }
    Ok(format!(
        "## A start\nFrom the start of the process until it listens, and until a request with a credential has its answer; \
         the memory half a second later. Median of 20 starts.\n\n{}",
        table(&["store", "listens, ms", "first answer, ms", "(p90)", "idle, MB"], &rows)
    ))
}
