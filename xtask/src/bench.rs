//! `cargo xtask bench`: figures, taken beside floors and peers in the same run.
//!
//! Machines are noisy, so only ratios count, and only between things measured in turns. The peers'
//! programs are not part of this repository; `SAYSO_PEERS` names their folder.

mod growth;
mod peers;
mod spawn;
mod table;
mod waiters;
mod work;

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell;
use crate::stop::{Outcome, Stop};

pub(crate) const BENCH: &str = "bench";

/// Where the pages go.
const PAGES: &str = "docs/benchmarks";

/// What can be measured: its name, and what it takes.
type Bench = (&'static str, fn(&Built) -> Outcome<String>);

const BENCHES: &[Bench] = &[
    ("start", spawn::start),
    ("growth", growth::run),
    ("gates", peers::gates),
    ("tasks", peers::tasks),
    ("work", work::run),
    ("waiters", waiters::run),
];

/// The programs under test, and a folder to work in.
pub(crate) struct Built {
    sayso: PathBuf,
    bench: PathBuf,
    dir: PathBuf,
}

pub(crate) fn run(words: &[String]) -> Outcome {
    let known = |word: &&String| BENCHES.iter().any(|(name, _)| name == word);
    if let Some(unknown) = words.iter().find(|word| !known(word)) {
        let names: Vec<_> = BENCHES.iter().map(|(name, _)| *name).collect();
        return Err(Stop::usage(format!(
            "no benchmark `{unknown}`; there are {}",
            names.join(", ")
        )));
    }
    let built = build()?;
    for (name, bench) in BENCHES {
        if words.is_empty() || words.iter().any(|word| word == name) {
            eprintln!("bench: {name}");
            let page = bench(&built)?;
            fs::create_dir_all(PAGES).map_err(|e| format!("{PAGES}: {e}"))?;
            let path = Path::new(PAGES).join(format!("{name}.md"));
            fs::write(&path, &page).map_err(|e| format!("{}: {e}", path.display()))?;
            println!("{page}");
        }
    }
    fs::remove_dir_all(&built.dir).map_err(|e| format!("{}: {e}", built.dir.display()).into())
}

fn build() -> Outcome<Built> {
    let profile = ["build", "--locked", "--profile", "dist"];
    shell::run(shell::cargo(&profile).args(["-p", "sayso"]))?;
    shell::run(shell::cargo(&profile).args(["-p", "sayso-engine", "--example", "bench"]))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let dist = target.join("dist");
    let dist = dist.canonicalize().map_err(|e| format!("{}: {e}", dist.display()))?;
    let dir = target.join("bench-data");
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let dir = dir.canonicalize().map_err(|e| format!("{}: {e}", dir.display()))?;
    Ok(Built { sayso: dist.join("sayso"), bench: dist.join("examples/bench"), dir })
}
