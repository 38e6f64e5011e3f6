//! Benchmark of growth: the same commands in a small space and in a large one.

use std::path::Path;
use std::process::Command;

use super::BuiltPrograms;
use super::spawn::{TimedCommand, filled, medians_interleaved};
use super::table::{median, ms, table, times};
use crate::shell;
use crate::stop::VerbResult;

const SMALL: usize = 1_000;
const ROUNDS: usize = 40;
const ROUND_TRIPS: usize = 200;

/// Returns the size of the large space; `SAYSO_BENCH_LARGE` makes a quicker run.
fn large_size() -> usize {
    let given = std::env::var("SAYSO_BENCH_LARGE").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(1_000_000)
}

pub(super) fn run(built: &BuiltPrograms) -> VerbResult<String> {
    let large_size = large_size();
    let (small, small_task) = filled(built, "small", SMALL, SMALL)?;
    let (large, large_task) = filled(built, "large", large_size, large_size)?;
    let verbs: [(&str, [Vec<&str>; 2]); 5] = [
        ("inbox", [vec!["inbox"], vec!["inbox"]]),
        ("ready", [vec!["ready"], vec!["ready"]]),
        ("next", [vec!["next"], vec!["next"]]),
        ("list", [vec!["list"], vec!["list"]]),
        ("show", [vec!["show", &small_task], vec!["show", &large_task]]),
    ];
    let mut commands = vec![];
    for (name, [in_small, in_large]) in &verbs {
        commands.push(TimedCommand::new(name, &built.sayso, in_small, &small));
        commands.push(TimedCommand::new(name, &built.sayso, in_large, &large));
    }
    let medians = medians_interleaved(&commands, ROUNDS)?;
    let row = |name: &str, small: f64, large: f64| {
        vec![name.to_owned(), ms(small), ms(large), times(large / small)]
    };
    let mut rows: Vec<_> = verbs
        .iter()
        .zip(medians.chunks(2))
        .map(|((name, _), pair)| row(&format!("sayso {name}"), pair[0], pair[1]))
        .collect();
    let (mut in_small, mut in_large) = (vec![], vec![]);
    for _ in 0..3 {
        in_small.push(round_trip(built, &small)?);
        in_large.push(round_trip(built, &large)?);
    }
    rows.push(row("gate round trip, two processes", median(in_small), median(in_large)));
    Ok(format!(
        "# Growth\n\nThe same with {SMALL} and with {large_size} stored tasks and as many answered gates, on \
         SQLite, in turns (median). `cargo xtask bench growth`\n\n{}",
        table(&["what", "ms, small", "ms, large", "growth"], &rows)
    ))
}

/// Measures the median of some round trips in a space.
fn round_trip(built: &BuiltPrograms, dir: &Path) -> VerbResult<f64> {
    let count = ROUND_TRIPS.to_string();
    let mut command = Command::new(&built.bench);
    command.arg("b1").arg("--dir").arg(dir.join(".sayso")).args(["--n", &count, "--warmup", "20"]);
    let said = shell::output(&mut command)?;
    let line = said.lines().find_map(|line| line.strip_prefix("@@")).unwrap_or_default();
    let result: serde_json::Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let times = result["rtt_ms"].as_array().into_iter().flatten();
    Ok(median(times.filter_map(serde_json::Value::as_f64).collect()))
}
