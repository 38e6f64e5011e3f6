//! Benchmark of a worker: its overhead around an agent's run, beside Git itself, in a repository of many files.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::BuiltPrograms;
use super::spawn::{TimedCommand, medians_interleaved};
use super::table::{ms, table, times};
use crate::shell;
use crate::stop::VerbResult;

const FILES: usize = 10_000;
const ROUNDS: usize = 15;

/// An agent that is done at once, so that only the overhead takes time.
const AGENT: &str = "#!/bin/sh\ncat > /dev/null\necho '<promise>COMPLETE</promise>'\n";

pub(super) fn run(built: &BuiltPrograms) -> VerbResult<String> {
    let dir = built.dir.join("work");
    if dir.exists() {
        fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    prepare(built, &dir)?;
    let sh = Path::new("/bin/sh");
    let sayso = built.sayso.display().to_string();
    // Each removes its tree again, so that every round begins alike.
    let add = "git worktree add --quiet --no-track -b b$$ ../trees/$$ main";
    let away = "git worktree remove --force ../trees/$$";
    let create = format!("{sayso} create Task >/dev/null");
    let work = format!("{create} && {sayso} work --once --agent done 2>/dev/null");
    let shell = |name: &str, line: &str| TimedCommand::new(name, sh, &["-c", line], &dir);
    let commands = [
        shell("git worktree add, git worktree remove", &format!("{add} && {away}")),
        shell(
            "git worktree add, git add, git worktree remove",
            &format!("{add} && git -C ../trees/$$ add --all && {away}"),
        ),
        shell(
            "sayso create, sayso work: claim, tree, prompt, agent, commit, settle, tree away",
            &work,
        ),
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
        "# What a worker adds\n\nAround an agent that is done at once, in a repository of {FILES} files; whole processes, \
         `sayso create` and the start of a worker included, {ROUNDS} runs each in turns (median). `cargo xtask bench work`\
         \n\n{}",
        table(&["what", "ms", "beside git alone"], &rows)
    ))
}

fn prepare(built: &BuiltPrograms, dir: &Path) -> VerbResult<()> {
    for n in 0..FILES {
        let folder = dir.join(format!("d{}", n / 100));
        if n % 100 == 0 {
            fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        }
        fs::write(folder.join(format!("f{n}.txt")), format!("file {n}\n"))
            .map_err(|e| e.to_string())?;
    }
    let git = |words: &[&str]| shell::run(Command::new("git").args(words).current_dir(dir));
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["config", "user.name", "bench"])?;
    git(&["config", "user.email", "bench@localhost"])?;
    shell::run(Command::new(&built.sayso).arg("init").current_dir(dir).env_remove("SAYSO_STORE"))?;
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "-m", "begin"])?;
    let path = dir.join(".sayso/done.sh");
    fs::write(&path, AGENT).map_err(|e| e.to_string())?;
    shell::run(Command::new("chmod").arg("+x").arg(&path))?;
    let program = path.display();
    let settings = format!(
        "space: work\nstore: sqlite\nagents:\n  done: {{adapter: command, program: {program}}}\n"
    );
    fs::write(dir.join(".sayso/config.yaml"), settings).map_err(|e| e.to_string())?;
    shell::run(Command::new(&built.sayso).arg("trust").current_dir(dir))
}
