//! Benchmark of flows: a step, a question, an answer and the next step, beside the workflow engines that people would
//! use instead; and the cost of waiting flows.

use serde_json::Value;

use super::BuiltPrograms;
use super::peers::{
    InterleavedRun, alone, by_peer, explanation, number, others, ours, rates, run_interleaved,
};
use super::table::{median, ms, table, times};
use crate::stop::VerbResult;

/// The peers that continue a durable flow after a person has answered.
const PEERS: &str = "sayso-sqlite,langgraph-sqlite,mastra-sqlite,dbos-sqlite-10ms,restate,temporal-dev,\
                     sayso-postgres,langgraph-postgres,mastra-postgres,dbos-postgres";

/// The number of flows that wait at one time.
const MANY: &str = "10000";

pub(super) fn run(built: &BuiltPrograms) -> VerbResult<String> {
    let turns = |bench, more| InterleavedRun { program: &built.flows, bench, peers: PEERS, more };
    let one = run_interleaved(built, "flows", &turns("b1", &["--n", "60"]))?;
    let many = run_interleaved(built, "flows", &turns("b1t", &["--n", "400", "--inflight", "64"]))?;
    let parked = alone(built, &built.flows, "sqlite", "b3", &["--n", MANY])?;
    let sections = [
        format!(
            "# Flows\n\nA flow with two steps of no work and a question between them: begun, asked, answered by somebody, gone on \
             to its end. Ours is `crates/sayso-workflow/examples/flows_bench.rs`, in the modes that the peers' programs have; \
             the peers ask and resume once, without a step before and one after. Every step of ours is on the disk before the \
             next (SQLite `synchronous=FULL`, PostgreSQL with fsync). Everything in one table was run in turns in one run. {} \
             `cargo xtask bench flows`\n",
            others([&one, &many])
        ),
        one_at_a_time(&one),
        at_one_time(&many),
        waiting(&parked),
        explanation("flows.md", "## What is reached"),
    ];
    Ok(sections.join("\n"))
}

fn one_at_a_time(results: &Value) -> String {
    let rounds = by_peer(results);
    let middle = |name: &str| median(rounds.get(name).cloned().unwrap_or_default());
    let mut names: Vec<_> = rounds.keys().collect();
    names.sort_by(|a, b| middle(a).total_cmp(&middle(b)));
    let row = |name: &&String| {
        let time = middle(name);
        vec![(*name).clone(), ms(time), times(time / middle(ours(name)))]
    };
    let rows: Vec<_> = names.iter().map(row).collect();
    format!(
        "## One at a time\nMedian over the rounds of each round's median, in ms, thinking time left out.\n\n{}",
        table(&["who", "ms", "beside sayso"], &rows)
    )
}

fn at_one_time(results: &Value) -> String {
    let rates = rates(results);
    let rate = |name: &str| rates.iter().find(|(it, _)| it == name).map_or(f64::NAN, |it| it.1);
    let row = |(name, per_second): &(String, f64)| {
        vec![name.clone(), format!("{per_second:.0}"), times(rate(ours(name)) / per_second)]
    };
    let rows: Vec<_> = rates.iter().map(row).collect();
    format!(
        "## 64 at one time\nWhole flows per second, median of the rounds. Who is missing failed, such as a file that was locked.\n\n{}",
        table(&["who", "per second", "sayso is ahead by"], &rows)
    )
}

fn waiting(parked: &Value) -> String {
    format!(
        "## Flows that wait\n{MANY} flows that were begun, asked and parked on SQLite: {:.1} MB more in the process that began them \
         ({:.0} bytes each). Nothing is held for a flow that waits: no thread, no task, no process.\n",
        number(parked, "more_kb") / 1024.0,
        number(parked, "bytes_per_gate")
    )
}
