//! The peers: programs that people would use instead, measured interleaved with ours.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::BuiltPrograms;
use super::table::{median, ms, spread, table, times};
use crate::shell;
use crate::stop::VerbResult;

/// Returns the folder of the peers' programs.
pub(super) fn folder() -> VerbResult<PathBuf> {
    let folder =
        std::env::var_os("SAYSO_PEERS").map_or_else(|| "../shared/bench".into(), PathBuf::from);
    if folder.join("run.py").is_file() {
        return folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()).into());
    }
    let text =
        "the peers' programs are not part of this repository; set SAYSO_PEERS to their folder";
    Err(format!("{} has no run.py: {text}", folder.display()).into())
}

/// Returns a setting from the environment, for longer or shorter runs.
pub(super) fn setting(name: &str, or: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| or.to_owned())
}

/// An interleaved run: the programs and the benchmark.
pub(super) struct InterleavedRun<'a> {
    pub(super) program: &'a Path,
    /// The benchmark's name in the peers' runner.
    pub(super) bench: &'a str,
    pub(super) peers: &'a str,
    pub(super) more: &'a [&'a str],
}

/// Runs all peers interleaved, and returns the results of each.
pub(super) fn run_interleaved(
    built: &BuiltPrograms,
    page: &str,
    turns: &InterleavedRun<'_>,
) -> VerbResult<Value> {
    let out = built.dir.join(format!("{page}-{}.json", turns.bench));
    // The runner appends to an existing file; an older run must not mix in.
    let _ = fs::remove_file(&out);
    let mut command = Command::new("python3");
    command.arg(folder()?.join("run.py")).arg(turns.bench);
    command.args(["--peers", &setting("SAYSO_BENCH_PEERS", turns.peers)]).args(turns.more);
    command.args(["--rounds", &setting("SAYSO_BENCH_ROUNDS", "5"), "--patience", "10"]);
    command.arg("--out").arg(&out).env("SAYSO_BENCH", turns.program);
    // It asks more in a minute than any agent.
    command.env("SAYSO_ASKS_PER_MINUTE", "0").env("SAYSO_WRITES_PER_MINUTE", "0");
    shell::run(&mut command)?;
    read(&out)
}

/// Describes the CPU share of other processes meanwhile: figures of a busy machine are worth less.
pub(super) fn others(results: [&Value; 2]) -> String {
    let runs = results.iter().flat_map(|it| it["runs"].as_array().into_iter().flatten());
    let shares: Vec<_> = runs.filter_map(|run| run["others_cpu"].as_f64()).collect();
    let (least, most) = spread(&shares, 0.1, 0.9);
    format!(
        "Other work took {:.0} % of the processors meanwhile (median; {:.0} to {:.0} %).",
        median(shares) * 100.0,
        least * 100.0,
        most * 100.0
    )
}

/// Returns the rate of each peer per second, the quickest first. A peer that failed is missing.
pub(super) fn rates(results: &Value) -> Vec<(String, f64)> {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in results["runs"].as_array().into_iter().flatten() {
        if let (Some(peer), Some(rate)) = (run["peer"].as_str(), run["per_s"].as_f64()) {
            all.entry(peer.to_owned()).or_default().push(rate);
        }
    }
    let mut rates: Vec<_> = all.into_iter().map(|(peer, rates)| (peer, median(rates))).collect();
    rates.sort_by(|a, b| b.1.total_cmp(&a.1));
    rates
}

/// Returns the hand-written part of a page, from this heading on, which is kept.
pub(super) fn explanation(page: &str, heading: &str) -> String {
    let page = fs::read_to_string(Path::new(super::PAGES).join(page)).unwrap_or_default();
    page.find(heading).map_or_else(String::new, |at| page[at..].to_owned())
}

pub(super) fn on_postgres(name: &str) -> bool {
    name.contains("postgres") || name.contains("pg-")
}

/// Returns our program to compare a peer with: the one on the same database.
pub(super) fn ours(name: &str) -> &'static str {
    if on_postgres(name) { "sayso-postgres" } else { "sayso-sqlite" }
}

pub(super) fn number(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap_or(f64::NAN)
}

/// Runs a mode of our own in a fresh store.
pub(super) fn alone(
    built: &BuiltPrograms,
    program: &Path,
    store: &str,
    mode: &str,
    more: &[&str],
) -> VerbResult<Value> {
    let dir = built.dir.join(format!("alone-{mode}"));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let base = setting("BENCH_PG", "postgresql://postgres@127.0.0.1:55432");
    if store == "postgres" {
        for sql in ["drop database if exists b_alone with (force)", "create database b_alone"] {
            let mut psql = Command::new("psql");
            shell::output(psql.arg(format!("{base}/postgres")).args(["-qc", sql]))?;
        }
    }
    let mut command = Command::new(program);
    command.arg(mode).args(["--backend", store, "--pg", &format!("{base}/b_alone")]);
    command.arg("--dir").arg(&dir).args(more);
    eprintln!("{mode} {store} {}", more.join(" "));
    let said = shell::output(&mut command)?;
    let line = said.lines().find_map(|line| line.strip_prefix("@@")).unwrap_or_default();
    let result: Value = serde_json::from_str(line).map_err(|e| format!("{mode}: {e}: {said}"))?;
    eprintln!("{result}");
    let _ = fs::remove_dir_all(&dir);
    Ok(result)
}

/// Measures the gate round trip: open, another client answers, the waiting party has the answer.
pub(super) fn gates(built: &BuiltPrograms) -> VerbResult<String> {
    let peers = "floor-sqlite,sayso-sqlite,langgraph-sqlite,mastra-sqlite,dbos-sqlite-10ms,openai-agents,restate,\
                 floor-pg-listen,sayso-postgres,langgraph-postgres,dbos-postgres,mastra-postgres";
    let turns = InterleavedRun { program: &built.bench, bench: "b1", peers, more: &["--n", "60"] };
    let rounds = by_peer(&run_interleaved(built, "gates", &turns)?);
    let middle = |name: &str| median(rounds.get(name).cloned().unwrap_or_default());
    let (sqlite, postgres) = (middle("floor-sqlite"), middle("floor-pg-listen"));
    let mut names: Vec<_> = rounds.keys().collect();
    names.sort_by(|a, b| middle(a).total_cmp(&middle(b)));
    let rows: Vec<_> = names
        .iter()
        .map(|name| {
            let on_postgres = on_postgres(name);
            let floor = if on_postgres { postgres } else { sqlite };
            let ours = middle(ours(name));
            let time = middle(name);
            vec![name.to_string(), ms(time), times(time / floor), times(time / ours)]
        })
        .collect();
    Ok(format!(
        "# Gate round trip\n\nA durable gate is opened, another client answers it, the waiting party has \
         the answer; one in flight, thinking time left out. Median over the rounds of each round's \
         median, all in turns in one run. Ours is two processes. `cargo xtask bench gates`\n\n{}",
        table(&["who", "ms", "beside its floor", "beside sayso"], &rows)
    ))
}

/// Returns the medians of each peer's rounds.
pub(super) fn by_peer(results: &Value) -> BTreeMap<String, Vec<f64>> {
    let mut rounds: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in results["runs"].as_array().into_iter().flatten() {
        let name = run["peer"].as_str().unwrap_or_default();
        let times = run["rtt_ms"].as_array();
        let median = match times {
            Some(times) => median(times.iter().filter_map(Value::as_f64).collect()),
            None => run["rtt"]["p50"].as_f64().unwrap_or(f64::NAN),
        };
        if median.is_finite() {
            rounds.entry(name.to_owned()).or_default().push(median);
        }
    }
    rounds
}

/// Measures task trackers: one process per command.
pub(super) fn tasks(built: &BuiltPrograms) -> VerbResult<String> {
    let size = setting("SAYSO_BENCH_TASKS", "100000");
    let peers = setting("SAYSO_BENCH_TRACKERS", "floor,sayso,taskwarrior2");
    let out = built.dir.join("b4.json");
    let _ = fs::remove_file(&out);
    let root = std::env::current_dir().map_err(|e| e.to_string())?;
    let mut command = Command::new("python3");
    command.arg(folder()?.join("cli/b4.py")).args(["--sizes", &size, "--peers", &peers]);
    command.args(["--rounds", "5", "--per", "6", "--quiet", "5", "--limit", "120"]);
    command.arg("--extra").arg(root.join("benches/peer.py"));
    command.arg("--dir").arg(built.dir.join("b4")).arg("--out").arg(&out);
    command.env("SAYSO_BUILT", built.sayso.parent().unwrap_or(&built.dir));
    shell::run(&mut command)?;
    let results = read(&out)?;
    let verbs = ["next", "ready", "list", "show", "add"];
    let time = |peer: &str, verb: &str| results[peer][&size]["stats"][verb]["p50"].as_f64();
    let rows: Vec<_> = peers
        .split(',')
        .map(|peer| {
            let cell = |verb: &&str| match (time(peer, verb), time("sayso", verb)) {
                (Some(theirs), Some(ours)) => format!("{} ({})", ms(theirs), times(theirs / ours)),
                _ => "none".to_owned(),
            };
            [peer.to_owned()].into_iter().chain(verbs.iter().map(cell)).collect()
        })
        .collect();
    let head: Vec<_> = ["who"].into_iter().chain(verbs).collect();
    Ok(format!(
        "# Task trackers\n\nMilliseconds for a whole process with {size} tasks (in brackets: beside \
         sayso), all in turns in one run. The floor is a bare SQLite program with none of the \
         features, and prints every row of `list` and `ready`; sayso prints pages of 50. \
         `cargo xtask bench tasks`\n\n{}",
        table(&head, &rows)
    ))
}

fn read(path: &Path) -> VerbResult<Value> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()).into())
}
