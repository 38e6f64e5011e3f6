//! Benchmark of a process: the command line beside a Rust program that does nothing.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::BuiltPrograms;
use super::table::{median, ms, table, times};
use crate::shell;
use crate::stop::VerbResult;

/// The number of runs of each command, interleaved with the others.
const ROUNDS: usize = 60;

/// The number of tasks in the space.
const TASKS: usize = 100_000;

/// A command to be timed.
pub(super) struct TimedCommand {
    pub(super) name: String,
    pub(super) program: PathBuf,
    pub(super) words: Vec<String>,
    pub(super) dir: PathBuf,
    /// Its standard input.
    pub(super) input: String,
    pub(super) variables: Vec<(&'static str, String)>,
}

impl TimedCommand {
    pub(super) fn new(name: &str, program: &Path, words: &[&str], dir: &Path) -> Self {
        let words = words.iter().map(ToString::to_string).collect();
        Self {
            name: name.into(),
            program: program.into(),
            words,
            dir: dir.into(),
            input: String::new(),
            variables: vec![],
        }
    }

    /// Runs it once; returns the time from start to end, output read.
    fn once(&self) -> VerbResult<f64> {
        let mut command = Command::new(&self.program);
        command.args(&self.words).current_dir(&self.dir).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SAYSO") {
                command.env_remove(name);
            }
        }
        command.envs(self.variables.iter().map(|(name, value)| (*name, value)));
        let start = Instant::now();
        let output = command.spawn().and_then(|mut child| {
            // One that does not read may have ended before the write.
            if let Some(mut input) = child.stdin.take() {
                let _ = input.write_all(self.input.as_bytes());
            }
            child.wait_with_output()
        });
        let output = output.map_err(|e| format!("{}: {e}", self.name))?;
        let took = start.elapsed().as_secs_f64() * 1e3;
        if output.status.success() {
            Ok(took)
        } else {
            Err(format!("{} failed: {}", self.name, output.status).into())
        }
    }
}

/// Runs all commands interleaved and returns the median of each.
pub(super) fn medians_interleaved(
    commands: &[TimedCommand],
    rounds: usize,
) -> VerbResult<Vec<f64>> {
    Ok(times_interleaved(commands, rounds)?.into_iter().map(median).collect())
}

/// Runs all commands interleaved and returns all times.
pub(super) fn times_interleaved(
    commands: &[TimedCommand],
    rounds: usize,
) -> VerbResult<Vec<Vec<f64>>> {
    let mut times = vec![vec![]; commands.len()];
    for round in 0..rounds + 3 {
        for (command, times) in commands.iter().zip(&mut times) {
            let took = command.once()?;
            // The first rounds fill caches.
            if round >= 3 {
                times.push(took);
            }
        }
    }
    Ok(times)
}

/// Makes a space with tasks and answered gates; returns its folder and the handle of a task.
pub(super) fn filled(
    built: &BuiltPrograms,
    name: &str,
    tasks: usize,
    gates: usize,
) -> VerbResult<(PathBuf, String)> {
    let dir = built.dir.join(name);
    let store = dir.join(".sayso");
    if dir.exists() {
        fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    fs::create_dir_all(&store).map_err(|e| format!("{}: {e}", store.display()))?;
    let (tasks, gates) = (tasks.to_string(), gates.to_string());
    let mut fill = Command::new(&built.bench);
    fill.arg("fill").arg("--dir").arg(&store).args(["--tasks", &tasks, "--gates", &gates]);
    shell::run(fill.stdout(Stdio::null()))?;
    fs::write(store.join("config.yaml"), "space: bench\nstore: sqlite\n")
        .map_err(|e| format!("{}: {e}", store.display()))?;
    let next =
        shell::output(Command::new(&built.sayso).args(["next", "--json"]).current_dir(&dir))?;
    let next: serde_json::Value = serde_json::from_str(&next).map_err(|e| e.to_string())?;
    Ok((dir, next["handle"].as_str().unwrap_or_default().to_owned()))
}

/// Measures the command line with many tasks, beside an empty process.
pub(super) fn start(built: &BuiltPrograms) -> VerbResult<String> {
    let empty = empty_program(built)?;
    let (dir, task) = filled(built, "start", TASKS, 0)?;
    let ours = |words: &[&str]| {
        TimedCommand::new(&format!("sayso {}", words[0]), &built.sayso, words, &dir)
    };
    let commands = [
        TimedCommand::new("an empty Rust program", &empty, &[], &dir),
        ours(&["--version"]),
        ours(&["next"]),
        ours(&["ready"]),
        ours(&["show", &task]),
        ours(&["create", "One more thing to do"]),
    ];
    let medians = medians_interleaved(&commands, ROUNDS)?;
    let rows: Vec<_> = commands
        .iter()
        .zip(&medians)
        .map(|(command, median)| {
            vec![command.name.clone(), ms(*median), times(median / medians[0])]
        })
        .collect();
    Ok(format!(
        "# What a command costs\n\nWhole processes, {TASKS} tasks in the space, SQLite with a sync per \
         commit, {ROUNDS} runs each in turns (median). `cargo xtask bench start`\n\n{}",
        table(&["command", "ms", "beside the empty program"], &rows)
    ))
}

pub(super) fn empty_program(built: &BuiltPrograms) -> VerbResult<PathBuf> {
    let (source, program) = (built.dir.join("empty.rs"), built.dir.join("empty"));
    fs::write(&source, "fn main() {}\n").map_err(|e| format!("{}: {e}", source.display()))?;
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-O", "-o"]).arg(&program).arg(&source);
    shell::run(&mut rustc)?;
    Ok(program)
}
