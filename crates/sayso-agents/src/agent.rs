//! The agents that can be started, and how each is started.

use crate::live::{self, Live};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// The clients sayso knows how to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Adapter {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// Any program that reads the prompt on stdin and writes text.
    Command,
}

impl Adapter {
    /// Every adapter.
    pub const ALL: [Adapter; 5] =
        [Adapter::ClaudeCode, Adapter::Codex, Adapter::Gemini, Adapter::Opencode, Adapter::Command];

    /// Its name in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Adapter::ClaudeCode => "claude-code",
            Adapter::Codex => "codex",
            Adapter::Gemini => "gemini",
            Adapter::Opencode => "opencode",
            Adapter::Command => "command",
        }
    }

    /// The program it usually is. A `command` has none of its own: settings must name it.
    pub const fn program(self) -> &'static str {
        match self {
            Adapter::ClaudeCode => "claude",
            Adapter::Codex => "codex",
            Adapter::Gemini => "gemini",
            Adapter::Opencode => "opencode",
            Adapter::Command => "",
        }
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// There is no such adapter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no adapter {0:?}: use claude-code, codex, gemini, opencode, or command for any other program"
)]
pub struct UnknownAdapter(pub String);

impl FromStr for Adapter {
    type Err = UnknownAdapter;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|adapter| adapter.as_str() == text);
        known.ok_or_else(|| UnknownAdapter(text.to_owned()))
    }
}

/// One configured agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// What people call it.
    pub name: String,
    /// How it is spoken to.
    pub adapter: Adapter,
    /// The program, by name or path.
    pub program: String,
    /// The user's additional arguments, put where the client takes them.
    pub args: Vec<String>,
    /// For `command` only: what follows `args` to resume a session, `{session}` standing for it.
    /// Without them it cannot be resumed.
    pub resume_args: Vec<String>,
    /// The model, where the client takes one.
    pub model: Option<String>,
}

/// One turn of an agent.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// Where it works.
    pub folder: &'a Path,
    /// Where else it must be able to write, such as where its questions are kept. Only a client that
    /// has a sandbox of its own has to be told.
    pub writable: &'a [&'a Path],
    /// What it is told.
    pub prompt: &'a str,
    /// The session to resume; none begins a new one.
    pub session: Option<&'a str>,
    /// The whole environment of the process; nothing of ours is passed on.
    pub variables: &'a [(String, String)],
    /// Where everything it writes is kept.
    pub log: &'a Path,
    /// Put in its environment as `SAYSO_RUN`, so that everything it starts can be found again.
    pub mark: &'a str,
}

impl Agent {
    /// Starts it for one turn, and tells it what to do.
    pub fn start(&self, turn: &Turn<'_>) -> Result<Live, StartError> {
        let mut live = self.stand_by(turn)?;
        live.tell(turn.prompt);
        Ok(live)
    }

    /// Starts its process, which can be found by its mark from now on and does nothing before it is
    /// [told](Live::tell) what.
    pub fn stand_by(&self, turn: &Turn<'_>) -> Result<Live, StartError> {
        if turn.session.is_some() && !self.can_resume() {
            return Err(StartError::CannotResume { agent: self.name.clone() });
        }
        live::start(self, turn)
    }

    /// Whether a session of it can be resumed.
    pub fn can_resume(&self) -> bool {
        match self.adapter {
            Adapter::ClaudeCode | Adapter::Codex | Adapter::Gemini | Adapter::Opencode => true,
            Adapter::Command => !self.resume_args.is_empty(),
        }
    }
}

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program is not there.
    #[error(
        "{program} is not installed or not on the PATH: install it, or name it in the settings of this agent"
    )]
    NotInstalled {
        /// The program as it was looked for.
        program: String,
    },
    /// The folder to work in is not there.
    #[error("the folder {folder} is not there: the agent has nowhere to work")]
    NoFolder {
        /// The folder.
        folder: String,
    },
    /// This agent has no way to resume a session.
    #[error("{agent} cannot resume a session: give it resume_args, or begin a new session")]
    CannotResume {
        /// The agent's name.
        agent: String,
    },
    /// The log cannot be written.
    #[error("cannot write the log {path}: {source}")]
    Log {
        /// The log's path.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system refused to start it.
    #[error("cannot start {program}: {source}")]
    Refused {
        /// The program.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
}
