//! The marks agents leave on the processes they start.
//!
//! Coding agents set variables in the environment of what they run. Seeing one, here or in an
//! ancestor, means that an agent is at work and not a person. This stops accidents and makes intent
//! visible; a program of the same user that wants to hide can hide.

use std::io::Read;
use std::path::{Path, PathBuf};

/// Variables that an agent sets, and the agent's name. Variables that people set for themselves,
/// such as `CODEX_HOME`, are not among them.
pub const MARKERS: &[(&str, &str)] = &[
    ("CLAUDECODE", "claude-code"),
    ("CLAUDE_CODE_ENTRYPOINT", "claude-code"),
    ("CLAUDE_CODE_SESSION_ID", "claude-code"),
    ("CODEX_SANDBOX", "codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "codex"),
    ("CODEX_THREAD_ID", "codex"),
    ("GEMINI_CLI", "gemini"),
    ("OPENCODE", "opencode"),
    ("OPENCODE_SERVER", "opencode"),
    ("CURSOR_AGENT", "cursor"),
    ("COPILOT_AGENT", "copilot"),
    ("QWEN_CODE", "qwen-code"),
    ("GOOSE_TERMINAL", "goose"),
    ("AI_AGENT", "agent"),
];

/// The prefix of agents' tokens.
pub const AGENT_TOKEN_PREFIX: &str = "sayso_a_";

/// Programs that are agents, by the name of their process.
const PROGRAMS: &[(&str, &str)] = &[
    ("claude", "claude-code"),
    ("codex", "codex"),
    ("gemini", "gemini"),
    ("opencode", "opencode"),
    ("cursor-agent", "cursor"),
    ("copilot", "copilot"),
    ("qwen", "qwen-code"),
    ("aider", "aider"),
    ("goose", "goose"),
];

/// How much of a token file is looked at.
const TOKEN_BYTES_READ_MAX: u64 = 64;

/// How far up the ancestors are followed.
const ANCESTORS_MAX: usize = 64;

/// What gave an agent away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sign {
    /// Which agent it is.
    pub agent: String,
    /// What was seen, for a person to read.
    pub seen: String,
}

/// A sign of an agent among variables.
pub fn in_variables<'a>(variables: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Sign> {
    in_variables_at(variables, Path::new(""))
}

/// The same for a process that works in `folder`, on which its relative paths stand.
fn in_variables_at<'a>(
    variables: impl Iterator<Item = (&'a str, &'a str)>,
    folder: &Path,
) -> Option<Sign> {
    for (name, value) in variables {
        if value.contains(AGENT_TOKEN_PREFIX) {
            return Some(Sign {
                agent: "agent".into(),
                seen: format!("an agent's token in ${name}"),
            });
        }
        if name == "SAYSO_TOKEN_FILE" && holds_agent_token(&folder.join(value)) {
            return Some(Sign {
                agent: "agent".into(),
                seen: format!("an agent's token in the file ${name} names"),
            });
        }
        let marker = MARKERS.iter().find(|(marker, _)| *marker == name);
        if let Some((marker, agent)) = marker.filter(|_| !value.is_empty()) {
            return Some(Sign { agent: (*agent).into(), seen: format!("${marker}") });
        }
    }
    None
}

/// Whether this file begins like an agent's token. What cannot be read says nothing.
fn holds_agent_token(path: &Path) -> bool {
    let mut start = vec![];
    // A pipe could be read once only, and not by us.
    if !path.is_file() {
        return false;
    }
    let Ok(file) = std::fs::File::open(path) else { return false };
    let is_read = file.take(TOKEN_BYTES_READ_MAX).read_to_end(&mut start).is_ok();
    is_read && String::from_utf8_lossy(&start).trim_start().starts_with(AGENT_TOKEN_PREFIX)
}

/// A sign of an agent among the ancestors of process `pid`.
pub fn in_ancestors(pid: u32) -> Option<Sign> {
    let mut pid = parent_of(pid)?;
    for _ in 0..ANCESTORS_MAX {
        if let Some(sign) = in_process(pid) {
            return Some(sign);
        }
        pid = parent_of(pid).filter(|pid| *pid > 0)?;
    }
    None
}

fn in_process(pid: u32) -> Option<Sign> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    in_environment_of(&folder, pid).or_else(|| in_name_of(&folder, pid))
}

fn in_environment_of(folder: &Path, pid: u32) -> Option<Sign> {
    let raw = std::fs::read(folder.join("environ")).ok()?;
    let text = String::from_utf8_lossy(&raw);
    let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
    let sign = in_variables_at(pairs, &folder.join("cwd"))?;
    Some(Sign { seen: format!("{} of its ancestor, process {pid}", sign.seen), ..sign })
}

fn in_name_of(folder: &Path, pid: u32) -> Option<Sign> {
    let raw = std::fs::read_to_string(folder.join("comm")).ok()?;
    let name = raw.trim();
    let (_, agent) = PROGRAMS.iter().find(|(program, _)| *program == name)?;
    Some(Sign { agent: (*agent).into(), seen: format!("its ancestor {name}, process {pid}") })
}

/// The parent of a process. The name in brackets may hold anything, so we read behind the last one.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_recognised_by_what_they_set() {
        let sign = |name, value| in_variables([("HOME", "/x"), (name, value)].into_iter());
        assert_eq!(sign("CLAUDECODE", "1").map(|s| s.agent).as_deref(), Some("claude-code"));
        assert_eq!(sign("GEMINI_CLI", "1").map(|s| s.agent).as_deref(), Some("gemini"));
        assert_eq!(sign("SAYSO_TOKEN", "sayso_a_1").map(|s| s.agent).as_deref(), Some("agent"));
        assert_eq!(sign("CLAUDECODE", ""), None);
        assert_eq!(sign("SAYSO_TOKEN", "sayso_h_1"), None);
        assert_eq!(sign("SAYSO_TOKEN_FILE", "/nowhere/agent.token"), None);
    }

    #[test]
    fn the_parent_of_this_process_is_found() {
        assert!(parent_of(std::process::id()).is_some_and(|parent| parent > 0));
    }
}
