//! Agent detection: the environment variables and programs by which a coding agent is recognised.
//!
//! Coding agents set variables in the environment of their child processes. One of these, here or in an ancestor,
//! means that an agent runs this program and not a person. This stops accidents and makes intent visible; a program
//! of the same user that wants to hide can hide.

use std::io::Read;
use std::path::Path;

/// The variables that agents set, with the agent's name. Variables that people set for themselves, such as
/// `CODEX_HOME`, are not among them.
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
    ("CODEX_CI", "codex"),
    ("COPILOT_AGENT", "copilot"),
    ("COPILOT_AGENT_SESSION_ID", "copilot"),
    ("COPILOT_CLI", "copilot"),
    ("QWEN_CODE", "qwen-code"),
    ("GOOSE_TERMINAL", "goose"),
    ("OPENCODE_CLIENT", "opencode"),
    ("ANTIGRAVITY_AGENT", "antigravity"),
    ("AUGMENT_AGENT", "augment"),
    ("CLINE_ACTIVE", "cline"),
    ("CRUSH", "crush"),
    ("PI_CODING_AGENT", "pi"),
    ("TRAE_AI_SHELL_ID", "trae"),
    ("AI_AGENT", "agent"),
];

/// The variable in which several agents give their name. Other programs use it, too, so only these values count as
/// evidence.
const AGENT: &str = "AGENT";
const AGENT_NAMES: &[&str] =
    &["amp", "claude", "claude-code", "codex", "crush", "cursor", "goose", "opencode", "pi"];

/// The prefix of agents' tokens.
pub const AGENT_TOKEN_PREFIX: &str = "sayso_a_";

/// Process names of agents.
const PROGRAMS: &[(&str, &str)] = &[
    ("claude", "claude-code"),
    ("codex", "codex"),
    ("gemini", "gemini"),
    ("opencode", "opencode"),
    ("cursor-agent", "cursor"),
    ("copilot", "copilot"),
    ("kimi", "kimi-code"),
    ("kimi-code", "kimi-code"),
    ("Kimi Code", "kimi-code"),
    ("kimi-cli", "kimi-code"),
    ("qwen", "qwen-code"),
    ("aider", "aider"),
    ("amp", "amp"),
    ("auggie", "augment"),
    ("cline", "cline"),
    ("crush", "crush"),
    ("droid", "droid"),
    ("goose", "goose"),
    ("goosed", "goose"),
    ("kilocode", "kilo"),
    ("kiro-cli", "kiro"),
];

/// Process names of interpreters, which do not tell the agent.
const INTERPRETERS: &[&str] = &["node", "bun", "deno", "python", "python3", "MainThread"];

/// Parts of the path of a script that an interpreter runs.
const PACKAGES: &[(&str, &str)] = &[
    ("/@anthropic-ai/claude-code", "claude-code"),
    ("/@openai/codex", "codex"),
    ("/@google/gemini-cli", "gemini"),
    ("/opencode-ai/", "opencode"),
    ("/@github/copilot", "copilot"),
    ("/@moonshot-ai/kimi-", "kimi-code"),
    ("/@qwen-code/", "qwen-code"),
    ("/@sourcegraph/amp", "amp"),
    ("/@ampcode/", "amp"),
    ("/@factory/cli", "droid"),
    ("/@charmland/crush", "crush"),
    ("/@kilocode/", "kilo"),
    ("/node_modules/cline/", "cline"),
    ("/@augmentcode/", "augment"),
    ("/pi-coding-agent/", "pi"),
];

/// The most words of a command line that are checked: the interpreter, its options, the script.
const WORDS_MAX: usize = 4;

/// The most bytes of a token file that are read.
const TOKEN_BYTES_READ_MAX: u64 = 64;

/// The evidence that an agent runs this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEvidence {
    pub agent: String,
    /// The description of the evidence, for people.
    pub seen: String,
}

/// Returns the evidence of an agent in environment variables.
pub fn detect_in_variables<'a>(
    variables: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<AgentEvidence> {
    detect_in_variables_at(variables, Path::new(""))
}

/// Returns the evidence in the variables of a process with this working directory, against which relative paths are
/// resolved.
pub(crate) fn detect_in_variables_at<'a>(
    variables: impl Iterator<Item = (&'a str, &'a str)>,
    folder: &Path,
) -> Option<AgentEvidence> {
    for (name, value) in variables {
        if value.contains(AGENT_TOKEN_PREFIX) {
            return Some(AgentEvidence {
                agent: "agent".into(),
                seen: format!("an agent's token in ${name}"),
            });
        }
        if name == "SAYSO_TOKEN_FILE" && holds_agent_token(&folder.join(value)) {
            return Some(AgentEvidence {
                agent: "agent".into(),
                seen: format!("an agent's token in the file ${name} names"),
            });
        }
        if name == AGENT && AGENT_NAMES.contains(&value) {
            return Some(AgentEvidence { agent: value.into(), seen: format!("${AGENT}") });
        }
        let marker = MARKERS.iter().find(|(marker, _)| *marker == name);
        if let Some((marker, agent)) = marker.filter(|_| !value.is_empty()) {
            return Some(AgentEvidence { agent: (*agent).into(), seen: format!("${marker}") });
        }
    }
    None
}

/// True if this file begins like an agent's token. An unreadable file is no evidence.
fn holds_agent_token(path: &Path) -> bool {
    let mut start = vec![];
    // A pipe can be read only once, and not by us.
    if !path.is_file() {
        return false;
    }
    let Ok(file) = std::fs::File::open(path) else { return false };
    let is_read = file.take(TOKEN_BYTES_READ_MAX).read_to_end(&mut start).is_ok();
    is_read && String::from_utf8_lossy(&start).trim_start().starts_with(AGENT_TOKEN_PREFIX)
}

/// Returns the evidence of an agent in the name or command line of process `pid`.
pub(crate) fn detect_in_program(name: &str, words: &[String], pid: u32) -> Option<AgentEvidence> {
    let by_name = PROGRAMS.iter().find(|(program, _)| *program == name);
    let by_package = || {
        let first = words.first().map(|word| word.rsplit('/').next().unwrap_or(word));
        let is_run = first.is_some_and(|first| INTERPRETERS.contains(&first))
            || INTERPRETERS.contains(&name);
        let words = words.iter().take(WORDS_MAX).filter(|_| is_run);
        words.into_iter().find_map(|word| PACKAGES.iter().find(|(part, _)| word.contains(part)))
    };
    let (_, agent) = by_name.or_else(by_package)?;
    Some(AgentEvidence {
        agent: (*agent).into(),
        seen: format!("its ancestor {name}, process {pid}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_recognised_by_what_they_set() {
        let sign = |name, value| detect_in_variables([("HOME", "/x"), (name, value)].into_iter());
        assert_eq!(sign("CLAUDECODE", "1").map(|s| s.agent).as_deref(), Some("claude-code"));
        assert_eq!(sign("GEMINI_CLI", "1").map(|s| s.agent).as_deref(), Some("gemini"));
        assert_eq!(sign("SAYSO_TOKEN", "sayso_a_1").map(|s| s.agent).as_deref(), Some("agent"));
        assert_eq!(sign("CLAUDECODE", ""), None);
        assert_eq!(sign("SAYSO_TOKEN", "sayso_h_1"), None);
        assert_eq!(sign("SAYSO_TOKEN_FILE", "/nowhere/agent.token"), None);
    }

    #[test]
    fn a_variable_that_others_use_counts_by_its_value() {
        let sign =
            |value| detect_in_variables([("AGENT", value)].into_iter()).map(|sign| sign.agent);
        assert_eq!(sign("goose").as_deref(), Some("goose"));
        assert_eq!(sign("amp").as_deref(), Some("amp"));
        assert_eq!(sign("/run/user/1000/ssh-agent.socket"), None);
    }

    #[test]
    fn agents_are_recognised_by_their_programs() {
        let check = |name: &str, line: &str, expected: Option<&str>| {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            let found = detect_in_program(name, &words, 7).map(|sign| sign.agent);
            assert_eq!(found.as_deref(), expected, "{name}: {line}");
        };
        check("copilot", "copilot -p x", Some("copilot"));
        check("kimi-code", "kimi-code", Some("kimi-code"));
        check("node", "node /usr/lib/node_modules/@github/copilot/index.js", Some("copilot"));
        check(
            "MainThread",
            "node --x /opt/@moonshot-ai/kimi-code/dist/main.mjs",
            Some("kimi-code"),
        );
        check("bun", "bun /opt/node_modules/@factory/cli/x", Some("droid"));
        check("node", "node server.js", None);
        check("vim", "vim /opt/@github/copilot/README.md", None);
        check("bash", "bash", None);
    }
}
