//! `cargo xtask bench`: benchmarks beside floors and peers in the same run.
//!
//! Machines are noisy, so only ratios count, and only between programs measured interleaved. The peers' programs are
//! not part of this repository; `SAYSO_PEERS` names their folder.

mod flows;
mod growth;
mod hook;
mod overload;
mod peers;
mod served;
mod spawn;
mod table;
mod waiters;
mod work;

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell;
use crate::stop::{VerbError, VerbResult};

pub(crate) const BENCH: &str = "bench";

/// The folder of the result pages.
const PAGES: &str = "docs/benchmarks";

/// A benchmark: its name and its function.
type BenchEntry = (&'static str, fn(&BuiltPrograms) -> VerbResult<String>);

const BENCHES: &[BenchEntry] = &[
    ("start", spawn::start),
    ("hook", hook::run),
    ("growth", growth::run),
    ("gates", peers::gates),
    ("tasks", peers::tasks),
    ("work", work::run),
    ("waiters", waiters::run),
    ("served", served::run),
    ("overload", overload::run),
    ("flows", flows::run),
];

/// The programs under test, and a folder to work in.
pub(crate) struct BuiltPrograms {
    sayso: PathBuf,
    bench: PathBuf,
    served: PathBuf,
    flows: PathBuf,
    dir: PathBuf,
}

pub(crate) fn run(words: &[String]) -> VerbResult {
    let known = |word: &&String| BENCHES.iter().any(|(name, _)| name == word);
    if let Some(unknown) = words.iter().find(|word| !known(word)) {
        let names: Vec<_> = BENCHES.iter().map(|(name, _)| *name).collect();
        return Err(VerbError::usage(format!(
            "no benchmark `{unknown}`; there are {}",
            names.join(", ")
        )));
    }
    // The filler takes as long to build as the program, and not every benchmark needs a full space.
    let fills = words.is_empty()
        || words.iter().any(|word| {
            !["hook", "waiters", "served", "overload", "flows"].contains(&word.as_str())
        });
    let wants = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    let built = build(fills, wants("served") || wants("overload"), wants("flows"))?;
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

/// On these targets a program that is linked statically and not position-independent starts in half the time: before
/// `main` there is no symbol lookup and no relocation.
const STATIC: Option<&str> = match (cfg!(target_env = "gnu"), cfg!(target_arch = "x86_64")) {
    (true, true) => Some("x86_64-unknown-linux-gnu"),
    (true, false) if cfg!(target_arch = "aarch64") => Some("aarch64-unknown-linux-gnu"),
    _ => None,
};

/// The variable with a folder of programs that were built before, for a run that builds nothing.
const BUILT: &str = "SAYSO_BENCH_BUILT";

fn build(fills: bool, serves: bool, flows: bool) -> VerbResult<BuiltPrograms> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    if let Some(built) = std::env::var_os(BUILT) {
        return in_folder(Path::new(&built), &target);
    }
    let flags = "rustflags=[\"-Ctarget-feature=+crt-static\",\"-Crelocation-model=static\"]";
    let profile = || {
        let mut cargo = shell::cargo(&["build", "--locked", "--profile", "dist"]);
        if let Some(target) = STATIC {
            cargo.args(["--target", target, "--config", &format!("target.{target}.{flags}")]);
        }
        cargo
    };
    shell::run(profile().args(["-p", "sayso"]))?;
    if fills {
        shell::run(profile().args(["-p", "sayso-engine", "--example", "bench"]))?;
    }
    if serves {
        shell::run(profile().args(["-p", "sayso-server", "--example", "served"]))?;
    }
    if flows {
        shell::run(profile().args(["-p", "sayso-workflow", "--example", "flows_bench"]))?;
    }
    in_folder(&target.join(STATIC.unwrap_or_default()).join("dist"), &target)
}

fn in_folder(dist: &Path, target: &Path) -> VerbResult<BuiltPrograms> {
    let dist = dist.canonicalize().map_err(|e| format!("{}: {e}", dist.display()))?;
    let dir = target.join("bench-data");
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let dir = dir.canonicalize().map_err(|e| format!("{}: {e}", dir.display()))?;
    let example = |name: &str| dist.join("examples").join(name);
    let [bench, served, flows] = ["bench", "served", "flows_bench"].map(example);
    Ok(BuiltPrograms { sayso: dist.join("sayso"), bench, served, flows, dir })
}
