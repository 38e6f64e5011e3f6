//! Benchmark of overload: the response time for a person who answers while agents ask more than the server can do.

use std::time::Instant;

use serde_json::Value;

use super::BuiltPrograms;
use super::peers::{alone, explanation, number, setting};
use super::table::{ms, table, times};
use crate::stop::VerbResult;

const STORES: [&str; 2] = ["sqlite", "postgres"];

/// The numbers of connections that ask, each again as soon as it has its answer.
const CONNECTIONS: [usize; 5] = [0, 64, 256, 512, 2_000];

/// The usual number of asks per second of a busy team of agents, and its factor in the last row.
const USUAL_RATE: usize = 100;
const TIMES: usize = 20;

/// The number of connections for that rate.
const RATE_CONNECTIONS: usize = 512;

pub(super) fn run(built: &BuiltPrograms) -> VerbResult<String> {
    let answers = setting("SAYSO_BENCH_ANSWERS", "300");
    let (idle_before, began) = (CpuTime::now(), Instant::now());
    let mut rows = vec![];
    for store in STORES {
        let mut idle = f64::NAN;
        for count in CONNECTIONS {
            let words = ["--connections", &count.to_string(), "--answers", &answers];
            let said = alone(built, &built.served, store, "overload", &words)?;
            if count == 0 {
                idle = number(&said, "answer_ms_p99");
            }
            rows.push(row(store, &format!("{count}"), &said, idle));
        }
        let (rate, many) = ((USUAL_RATE * TIMES).to_string(), RATE_CONNECTIONS.to_string());
        let words = ["--connections", &many, "--rate", &rate, "--answers", &answers];
        let said = alone(built, &built.served, store, "overload", &words)?;
        rows.push(row(store, &format!("{TIMES} x {USUAL_RATE}/s"), &said, idle));
    }
    let busy = CpuTime::now().busy_since(&idle_before);
    let head = [
        "store",
        "asking",
        "answer, ms",
        "(p99)",
        "p99 beside idle",
        "asks taken, per s",
        "ask, ms",
        "(p99)",
        "shed",
        "failed",
        "server, MB",
    ];
    let sections = [
        format!(
            "# Overload\n\nThe real `sayso serve`, driven over HTTP. Agents ask on many connections, each again as soon as it has its \
             answer; the pace of agents is switched off. Whoever is told 503 waits for `Retry-After`, a second. In the last row of each \
             store asks come at a rate, {TIMES} times the {USUAL_RATE} a second of a busy team, on {RATE_CONNECTIONS} connections, and \
             take no notice of `Retry-After`. A person answers {answers} gates meanwhile, one after the other, on one more connection. \
             All rows are of one run, which took {:.0} s; the machine was busy for {:.0} % of its time, the load itself included. \
             Ratios are meant to be read, not times. `cargo xtask bench overload`\n",
            began.elapsed().as_secs_f64(),
            busy * 100.0
        ),
        table(&head, &rows),
        explanation("overload.md", "## What it means"),
    ];
    Ok(sections.join("\n"))
}

fn row(store: &str, asking: &str, said: &Value, idle: f64) -> Vec<String> {
    let whole = |key: &str| format!("{:.0}", number(said, key));
    let p99 = number(said, "answer_ms_p99");
    let ask =
        |key: &str| if number(said, "taken") > 0.0 { ms(number(said, key)) } else { "–".into() };
    vec![
        store.to_owned(),
        asking.to_owned(),
        ms(number(said, "answer_ms")),
        ms(p99),
        times(p99 / idle),
        whole("taken_per_s"),
        ask("ask_ms"),
        ask("ask_ms_p99"),
        whole("shed"),
        whole("failed"),
        whole("peak_mb"),
    ]
}

/// The CPU time of all processors, as the system counts it.
struct CpuTime {
    all: f64,
    idle: f64,
}

impl CpuTime {
    fn now() -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<f64> =
            line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
        // Idle, and waiting for a disk.
        let idle = ticks.iter().skip(3).take(2).sum();
        Self { all: ticks.iter().take(8).sum(), idle }
    }

    fn busy_since(&self, before: &CpuTime) -> f64 {
        let all = self.all - before.all;
        1.0 - (self.idle - before.idle) / all
    }
}
