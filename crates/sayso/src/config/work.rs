//! The settings of the worker and its agents.

use crate::exit::{Failure, Result};
use crate::time;
use sayso_core::{AskThreshold, Code};
use sayso_engine::agents::{AgentAdapter, AgentConfig};
use sayso_engine::worker::{CompletionCheck, LandingPolicy};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The settings of the worker.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WorkSettings {
    pub(crate) agent: String,
    pub(crate) jobs: usize,
    pub(crate) threshold: AskThreshold,
    pub(crate) check: String,
    pub(crate) check_retries: u32,
    pub(crate) sure: Percent,
    land: LandMethod,
    land_command: String,
    pub(crate) base: String,
    turn: String,
    lease: String,
    retry: String,
    pub(crate) fruitless: u32,
    pub(crate) turns: u32,
    pub(crate) environment: Vec<String>,
}

impl Default for WorkSettings {
    fn default() -> Self {
        Self {
            agent: AgentAdapter::ClaudeCode.as_str().into(),
            jobs: 1,
            threshold: AskThreshold::USUAL,
            check: String::new(),
            check_retries: 2,
            sure: Percent(0),
            land: LandMethod::Leave,
            land_command: String::new(),
            base: String::new(),
            turn: "1h".into(),
            lease: "1m".into(),
            retry: "10s".into(),
            fruitless: 3,
            turns: 20,
            environment: vec![],
        }
    }
}

/// A number from 0 to 100.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(try_from = "u8")]
pub(crate) struct Percent(pub(crate) u8);

impl TryFrom<u8> for Percent {
    type Error = String;
    fn try_from(number: u8) -> std::result::Result<Self, String> {
        let wrong = || format!("{number} is not one of 0 to 100");
        (number <= 100).then_some(Self(number)).ok_or_else(wrong)
    }
}

#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum LandMethod {
    Leave,
    Merge,
    Command,
}

/// An agent, as it stands in a settings file.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AgentSettings {
    adapter: Option<String>,
    program: Option<String>,
    args: Vec<String>,
    resume: Vec<String>,
    model: Option<String>,
    own_hook: bool,
}

impl AgentSettings {
    /// True if it sets more than a model: a program, or that the worker brings it no hook.
    pub(super) fn is_runnable(&self) -> bool {
        let Self { adapter, program, args, resume, model: _, own_hook } = self;
        let sets_program = adapter.is_some() || program.is_some();
        sets_program || !args.is_empty() || !resume.is_empty() || *own_hook
    }

    /// The command line it runs.
    pub(super) fn in_words(&self) -> String {
        let program = self.program.iter().chain(&self.args).chain(&self.resume);
        program.cloned().collect::<Vec<_>>().join(" ")
    }
}

impl WorkSettings {
    /// The settings that run something, or let an agent see more.
    pub(super) fn runnable(&self) -> Vec<(String, String)> {
        let all = [
            ("work.check", self.check.clone()),
            ("work.land_command", self.land_command.clone()),
            ("work.environment", self.environment.join(" ")),
        ];
        let set = all.into_iter().filter(|(_, says)| !says.trim().is_empty());
        set.map(|(name, says)| (name.to_owned(), says)).collect()
    }

    /// Clears the settings that run programs.
    pub(super) fn clear_runnable(&mut self) {
        self.check.clear();
        self.land_command.clear();
        self.environment.clear();
        if self.land == LandMethod::Command {
            self.land = LandMethod::Leave;
        }
    }

    pub(crate) fn check(&self) -> Option<CompletionCheck> {
        let command = self.check.trim();
        (!command.is_empty())
            .then(|| CompletionCheck { command: command.into(), retries: self.check_retries })
    }

    pub(crate) fn land(&self) -> Result<LandingPolicy> {
        match (self.land, self.land_command.trim()) {
            (LandMethod::Leave, _) => Ok(LandingPolicy::Leave),
            (LandMethod::Merge, _) => Ok(LandingPolicy::Merge),
            (LandMethod::Command, "") => Err(wrong("land is command, but land_command is empty")
                .hint("name the command, such as: gh pr create --fill --head \"$SAYSO_BRANCH\"")),
            (LandMethod::Command, command) => Ok(LandingPolicy::Command(command.into())),
        }
    }

    pub(crate) fn turn(&self) -> Result<Duration> {
        duration("turn", &self.turn)
    }

    pub(crate) fn lease(&self) -> Result<Duration> {
        duration("lease", &self.lease)
    }

    pub(crate) fn retry(&self) -> Result<Duration> {
        duration("retry", &self.retry)
    }
}

/// All agents: the built-in ones, as the settings change them, and the user's own.
pub(crate) fn agents(
    files: &BTreeMap<String, AgentSettings>,
) -> Result<BTreeMap<String, AgentConfig>> {
    let known = AgentAdapter::ALL.into_iter().filter(|adapter| *adapter != AgentAdapter::Command);
    let mut all: BTreeMap<_, _> =
        known.map(|adapter| (adapter.as_str().to_owned(), AgentSettings::default())).collect();
    all.extend(files.clone());
    all.into_iter().map(|(name, file)| Ok((name.clone(), agent(&name, file)?))).collect()
}

/// The agents that bring a hook of their own for tool calls.
pub(crate) fn own_hooks(files: &BTreeMap<String, AgentSettings>) -> Vec<String> {
    files.iter().filter(|(_, file)| file.own_hook).map(|(name, _)| name.clone()).collect()
}

fn agent(name: &str, file: AgentSettings) -> Result<AgentConfig> {
    let adapter = file.adapter.as_deref().unwrap_or(name);
    let adapter: AgentAdapter =
        adapter.parse().map_err(|e: sayso_engine::agents::agent::UnknownAdapter| {
            wrong(&format!("agent {name}: {e}"))
        })?;
    let program = file.program.clone().unwrap_or_else(|| adapter.program().to_owned());
    if program.is_empty() {
        return Err(wrong(&format!("agent {name} names no program")));
    }
    let AgentSettings { args, resume: resume_args, model, .. } = file;
    Ok(AgentConfig { name: name.into(), adapter, program, args, resume_args, model })
}

fn duration(name: &str, typed: &str) -> Result<Duration> {
    let span = time::duration(typed).map_err(|e| wrong(&format!("work.{name}: {e}")))?;
    if span.is_zero() {
        Err(wrong(&format!("work.{name} must be longer than nothing")))
    } else {
        Ok(span)
    }
}

fn wrong(why: &str) -> Failure {
    Failure::new(Code::BadConfig, why).hint("mend it in .sayso/config.yaml")
}
