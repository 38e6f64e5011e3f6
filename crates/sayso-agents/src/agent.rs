//! The adapters for agent clients, and the start of an agent for one turn.

use crate::live::{self, AgentProcess};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A client that sayso can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentAdapter {
    ClaudeCode,
    Codex,
    Gemini,
    Opencode,
    /// Any program that reads the prompt on stdin and writes text.
    Command,
}

impl AgentAdapter {
    pub const ALL: [AgentAdapter; 5] = [
        AgentAdapter::ClaudeCode,
        AgentAdapter::Codex,
        AgentAdapter::Gemini,
        AgentAdapter::Opencode,
        AgentAdapter::Command,
    ];

    /// Returns its name in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            AgentAdapter::ClaudeCode => "claude-code",
            AgentAdapter::Codex => "codex",
            AgentAdapter::Gemini => "gemini",
            AgentAdapter::Opencode => "opencode",
            AgentAdapter::Command => "command",
        }
    }

    /// Returns the name of its usual program. A `command` has none: settings must name it.
    pub const fn program(self) -> &'static str {
        match self {
            AgentAdapter::ClaudeCode => "claude",
            AgentAdapter::Codex => "codex",
            AgentAdapter::Gemini => "gemini",
            AgentAdapter::Opencode => "opencode",
            AgentAdapter::Command => "",
        }
    }
}

impl fmt::Display for AgentAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error for an unknown adapter name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no adapter {0:?}: use claude-code, codex, gemini, opencode, or command for any other program"
)]
pub struct UnknownAdapter(pub String);

impl FromStr for AgentAdapter {
    type Err = UnknownAdapter;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|adapter| adapter.as_str() == text);
        known.ok_or_else(|| UnknownAdapter(text.to_owned()))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    pub name: String,
    pub adapter: AgentAdapter,
    /// The program, by name or path.
    pub program: String,
    /// The user's additional arguments, put where the client takes them.
    pub args: Vec<String>,
    /// For `command` only: the arguments after `args` that resume a session, with `{session}` as placeholder. Without
    /// them it cannot be resumed.
    pub resume_args: Vec<String>,
    /// The model, where the client accepts one.
    pub model: Option<String>,
}

/// One turn of an agent: the input of a run.
#[derive(Debug, Clone, Copy)]
pub struct TurnInput<'a> {
    /// The working directory.
    pub folder: &'a Path,
    /// Further folders that it must be able to write, such as the one of the store. Only a client with a sandbox of
    /// its own needs them.
    pub writable: &'a [&'a Path],
    pub prompt: &'a str,
    /// The session to resume; none starts a new one.
    pub session: Option<&'a str>,
    /// The whole environment of the process; no variable of ours is inherited.
    pub variables: &'a [(String, String)],
    /// The file that receives all its output.
    pub log: &'a Path,
    /// The value of `SAYSO_RUN` in its environment, by which its descendants are found.
    pub mark: &'a str,
}

impl AgentConfig {
    /// Starts the agent for one turn and sends it the prompt.
    pub fn start(&self, turn: &TurnInput<'_>) -> Result<AgentProcess, StartError> {
        let mut live = self.start_idle(turn)?;
        live.tell(turn.prompt);
        Ok(live)
    }

    /// Starts the agent's process without a prompt. From now on it can be found by its mark; it does nothing before
    /// it is [told](Live::tell) the prompt.
    pub fn start_idle(&self, turn: &TurnInput<'_>) -> Result<AgentProcess, StartError> {
        if turn.session.is_some() && !self.can_resume() {
            return Err(StartError::CannotResume { agent: self.name.clone() });
        }
        live::start(self, turn)
    }

    /// True if its sessions can be resumed.
    pub fn can_resume(&self) -> bool {
        match self.adapter {
            AgentAdapter::ClaudeCode
            | AgentAdapter::Codex
            | AgentAdapter::Gemini
            | AgentAdapter::Opencode => true,
            AgentAdapter::Command => !self.resume_args.is_empty(),
        }
    }
}

/// An error of starting an agent.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program was not found.
    #[error(
        "{program} is not installed or not on the PATH: install it, or name it in the settings of this agent"
    )]
    NotInstalled {
        /// The program as it was looked up.
        program: String,
    },
    /// The working directory does not exist.
    #[error("the folder {folder} is not there: the agent has nowhere to work")]
    NoFolder { folder: String },
    /// This agent cannot resume a session.
    #[error("{agent} cannot resume a session: give it resume_args, or begin a new session")]
    CannotResume { agent: String },
    /// The log cannot be written.
    #[error("cannot write the log {path}: {source}")]
    Log { path: String, source: std::io::Error },
    /// The system refused to start it.
    #[error("cannot start {program}: {source}")]
    Refused { program: String, source: std::io::Error },
}
