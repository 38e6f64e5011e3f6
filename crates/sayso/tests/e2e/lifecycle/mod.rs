//! Agents that live long: held, done exactly once, on the right machine, by whoever comes first (P, Y).
//!
//! The agents are real: processes and tmux sessions that outlive who started them.

mod crash;
mod deletes;
mod doors;
mod failing;
mod held;
mod hosts;
mod looking;
mod nudged;
mod rules;

use crate::governed::policy;
use crate::harness::{Ran, Space, Who};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What is asked of bob before it happens to an agent.
const ASKS: &str = "
rules:
  - name: lives
    on: lifecycle
    then: ask
    ask: {of: bob}
    reason: Agents cost money.
";

/// The agents of a space, gone with the test.
pub struct Fleet<'a> {
    space: &'a Space,
}

impl<'a> Fleet<'a> {
    /// Agents by name and settings, such as `("fixer", "backend: tmux")`. Each writes down every start
    /// of its own, and its credential, and then sleeps.
    pub fn new(space: &'a Space, agents: &[(&str, &str)]) -> Self {
        let fleet = Self { space };
        fleet.set(agents).ok();
        fleet
    }

    /// Sets the agents up, and takes away those that are not among them.
    pub fn set(&self, agents: &[(&str, &str)]) -> Ran {
        let mut text = String::from("agents:\n");
        for (name, settings) in agents {
            let script = format!(
                "echo $SAYSO_TOKEN > {name}.secret; echo $$ >> {name}.starts; exec sleep 600"
            );
            let comma = if settings.is_empty() { "" } else { ", " };
            let program = match settings.contains("program:") {
                true => String::new(),
                false => format!("program: sh, args: [-c, \"{script}\"]{comma}"),
            };
            text.push_str(&format!("  {name}: {{{program}{settings}}}\n"));
        }
        if self.space.path().join("space.yaml").exists() {
            text.push_str("policy: {file: space.yaml}\n");
        }
        std::fs::write(self.space.path().join("fleet.yaml"), text).unwrap();
        self.space.ann(&["apply", "fleet.yaml", "--prune"])
    }

    /// Every process this agent ever was.
    pub fn starts(&self, name: &str) -> Vec<u32> {
        let text = std::fs::read_to_string(self.space.path().join(format!("{name}.starts")));
        text.unwrap_or_default().lines().map(|pid| pid.parse().unwrap()).collect()
    }

    /// Waits until the agent was started so often, and no oftener, and says which processes run.
    #[track_caller]
    pub fn started(&self, name: &str, times: usize) -> Vec<u32> {
        until(&format!("{name} was started {times} times"), || self.starts(name).len() >= times);
        assert_eq!(self.starts(name).len(), times, "{name} was started too often");
        self.alive(name)
    }

    /// Those that run.
    pub fn alive(&self, name: &str) -> Vec<u32> {
        self.starts(name).into_iter().filter(|pid| is_alive(*pid)).collect()
    }

    /// The file with the credential of the agent that was started last.
    pub fn secret(&self, name: &str) -> PathBuf {
        self.space.path().join(format!("{name}.secret"))
    }

    /// How an agent stands, as ann sees it from here.
    pub fn row(&self, name: &str) -> Value {
        row(&self.space.ann(&["agent", "list", "--json"]).json(), name)
    }

    /// How an agent stands, in a word.
    pub fn state(&self, name: &str) -> String {
        self.row(name)["state"].as_str().unwrap().to_owned()
    }
}

impl Drop for Fleet<'_> {
    fn drop(&mut self) {
        for file in std::fs::read_dir(self.space.path()).unwrap().flatten() {
            let name = file.file_name().into_string().unwrap();
            for pid in
                name.strip_suffix(".starts").map(|agent| self.alive(agent)).unwrap_or_default()
            {
                let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
            }
        }
    }
}

pub fn row(list: &Value, name: &str) -> Value {
    let rows = list.as_array().unwrap();
    rows.iter()
        .find(|row| row["name"] == name)
        .unwrap_or_else(|| panic!("no {name}: {list}"))
        .clone()
}

pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// Asks as an agent for something to be done to an agent, and returns the gate that is asked instead.
#[track_caller]
pub fn held(space: &Space, asker: &str, action: &str, agent: &str) -> String {
    let held = space.run(Who::Agent(asker), &["agent", action, agent]).refused("SAY051").exits(12);
    let (_, rest) = held.stderr.split_once("approved gate ").unwrap();
    rest.split(['.', ' ']).next().unwrap().to_owned()
}

pub fn bob(space: &Space, args: &[&str]) -> Ran {
    space.run(Who::Human("bob"), args)
}

#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(40), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// Another machine that works on the same store.
pub fn machine(space: &Space, host: &str) -> PathBuf {
    let folder = space.path().join(host);
    std::fs::create_dir_all(folder.join(".sayso")).unwrap();
    let name = space.path().file_name().unwrap().to_str().unwrap();
    let file = space.file();
    let store = space.store.clone().unwrap_or_else(|| file.to_str().unwrap().to_owned());
    let settings = format!("space: {name}\nstore: {store}\nhost: {host}\n");
    std::fs::write(folder.join(".sayso/config.yaml"), settings).unwrap();
    space.run(Who::Script, &["-C", folder.to_str().unwrap(), "trust"]).ok();
    folder
}

/// Runs a command on another machine.
#[track_caller]
pub fn there(space: &Space, folder: &Path, who: Who<'_>, args: &[&str]) -> Ran {
    let folder = folder.to_str().unwrap();
    let args: Vec<_> = ["-C", folder].iter().chain(args).copied().collect();
    space.run(who, &args)
}
