//! What a worker adds around an agent's run, beside git itself, in a repository of many files.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Built;
use super::spawn::{Timed, in_turns};
use super::table::{ms, table, times};
use crate::shell;
use crate::stop::Outcome;

const FILES: usize = 10_000;
const ROUNDS: usize = 15;

/// An agent that is done at once, so that only what is around it takes time.
const AGENT: &str = "#!/bin/sh\ncat > /dev/null\necho '<promise>COMPLETE</promise>'\n";
const ASKER: &str = "#!/bin/sh\ncat > /dev/null\necho '<promise>INPUT_NEEDED: Which?</promise>'\n";

pub(super) fn run(built: &Built) -> Outcome<String> {
    let dir = built.dir.join("work");
    if dir.exists() {
        fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    prepare(built, &dir)?;
    let sh = Path::new("/bin/sh");
    let sayso = built.sayso.display().to_string();
    // Each takes a tree away again, so that every round begins alike; only the first is git alone.
    let add = "git worktree add --quiet --no-track -b b$$ ../trees/$$ main";
    let away = "git worktree remove --force ../trees/$$";
    let work = |agent: &str| {
        format!("{sayso} create Task >/dev/null && {sayso} work --once --agent {agent} 2>/dev/null")
    };
    let shell = |name: &str, line: &str| Timed::new(name, sh, &["-c", line], &dir);
    let commands = [
        shell("git worktree add", add),
        shell("git worktree add and remove", &format!("{add} && {away}")),
        shell("sayso work, the agent asks and its tree stays", &work("asker")),
        shell("sayso work, complete: tree, prompt, agent, commit, tree taken away", &work("done")),
    ];
    let medians = in_turns(&commands, ROUNDS)?;
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
        table(&["what", "ms", "beside git worktree add"], &rows)
    ))
}

fn prepare(built: &Built, dir: &Path) -> Outcome<()> {
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
    let agents = [("done", AGENT), ("asker", ASKER)];
    let mut settings = "space: work\nstore: sqlite\nagents:\n".to_owned();
    for (name, text) in agents {
        let path = dir.join(format!(".sayso/{name}.sh"));
        fs::write(&path, text).map_err(|e| e.to_string())?;
        shell::run(Command::new("chmod").arg("+x").arg(&path))?;
        settings
            .push_str(&format!("  {name}: {{adapter: command, program: {}}}\n", path.display()));
    }
    fs::write(dir.join(".sayso/config.yaml"), settings).map_err(|e| e.to_string().into())
}
