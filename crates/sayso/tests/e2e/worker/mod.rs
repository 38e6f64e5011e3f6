//! Workers with scripted agents: real processes in real worktrees, on both databases.

mod answers;
mod attended;
pub mod budgets;
mod crowd;
mod demo;
mod ended;
mod held;
mod inputs;
mod killed;
mod landing;
mod signals;
mod undelivered;

use crate::harness::{Ran, SAYSO, Space, Who};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// A repository in a test's space, and a scripted agent that works in it.
pub struct Project<'a> {
    pub space: &'a Space,
}

impl<'a> Project<'a> {
    /// A project whose agent plays `script`; `work` are settings, indented by two.
    pub fn new(space: &'a Space, script: &str, work: &str) -> Self {
        let project = Self { space };
        project.write(".gitignore", "*.token\nxdg/\n.sayso/\n");
        project.write("README.md", "A project.\n");
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.git(&["config", "user.name", "ann"]);
        project.git(&["config", "user.email", "ann@localhost"]);
        project.git(&["add", "--all"]);
        project.git(&["commit", "--quiet", "-m", "begin"]);
        project.script(script);
        project.settings(work);
        project
    }

    /// Changes what the agent plays.
    pub fn script(&self, script: &str) {
        self.write(".sayso/script.yaml", script);
    }

    /// Changes the settings of the worker.
    pub fn settings(&self, work: &str) {
        let path = self.space.path().join(".sayso/config.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        let head: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("space:") || line.starts_with("store:"))
            .collect();
        let script = self.space.path().join(".sayso/script.yaml");
        let text = format!(
            "{}\nwork:\n  agent: scripted\n{work}\nagents:\n  scripted:\n    adapter: command\n    \
             program: {SAYSO}\n    args: [__scripted, {}]\n    resume: [--session, \"{{session}}\"]\n",
            head.join("\n"),
            script.display(),
        );
        std::fs::write(path, text).unwrap();
        // Settings that cannot be read cannot be trusted either; `work` says what is wrong with them.
        self.space.run(Who::Script, &["trust"]);
    }

    pub fn write(&self, path: &str, text: &str) {
        std::fs::write(self.space.path().join(path), text).unwrap();
    }

    /// A file of the main tree, if it is there.
    pub fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.space.path().join(path)).ok()
    }

    /// The worktree of a task.
    pub fn tree(&self, task: &str) -> PathBuf {
        self.space.path().join(".sayso/worktrees").join(task)
    }

    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let output =
            Command::new("git").arg("-C").arg(self.space.path()).args(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// The branch of a task.
    pub fn branch(&self, task: &str) -> String {
        let pattern = format!("sayso/{task}*");
        self.git(&["branch", "--list", "--format=%(refname:short)", &pattern])
    }

    /// Lets the worker work, as a script would.
    pub fn work(&self, args: &[&str]) -> Ran {
        let args: Vec<_> = ["work"].iter().chain(args).copied().collect();
        self.space.run(Who::Script, &args)
    }

    /// The runs of a task, oldest first.
    pub fn runs(&self, task: &str) -> Vec<Value> {
        let page = self.space.ann(&["runs", task, "--json"]).json();
        let mut runs = page["items"].as_array().unwrap().clone();
        runs.reverse();
        runs
    }

    /// How the runs of a task ended, oldest first.
    pub fn endings(&self, task: &str) -> Vec<String> {
        let runs = self.runs(task);
        runs.iter().map(|run| run["state"].as_str().unwrap().to_owned()).collect()
    }

    /// What the agent was told in each of its turns on a task, oldest first.
    pub fn prompts(&self, task: &str) -> Vec<String> {
        let mut sessions: Vec<String> = vec![];
        for run in self.runs(task) {
            let session = run["session"].as_str().map(str::to_owned);
            sessions.extend(session.filter(|s| !sessions.contains(s)));
        }
        let state = self.space.path().join(".sayso/.scripted");
        let mut prompts = vec![];
        for session in sessions {
            let of = |n: usize| {
                std::fs::read_to_string(state.join(&session).join(format!("{n}.prompt")))
            };
            prompts.extend((0..).map(of).map_while(Result::ok));
        }
        prompts
    }
}

/// A script with one scene for every task.
pub fn turns(turns: &[&str]) -> String {
    let turns: Vec<_> = turns.iter().map(|turn| format!("      -\n{}", indent(turn))).collect();
    format!("scenes:\n  - turns:\n{}\n", turns.join("\n"))
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("        {line}")).collect::<Vec<_>>().join("\n")
}

/// A turn that ends with these words.
pub fn says(text: &str) -> String {
    let body: Vec<_> = text.lines().map(|line| format!("    {line}")).collect();
    format!("- final: |\n{}", body.join("\n"))
}

/// A turn that writes a file and ends with these words.
pub fn writes(path: &str, text: &str, says_text: &str) -> String {
    format!("- write: {{{path}: {text:?}}}\n{}", says(says_text))
}

pub const COMPLETE: &str = "<promise>COMPLETE</promise>";
