//! Detects AI agents by the variables that they set in the environment.

use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::fs;
use std::process;

/// Variables agents set for the commands they run.
const NAMES: &[&str] = &[
    "AI_AGENT",
    "CLAUDECODE",
    "COPILOT_AGENT",
    "CURSOR_AGENT",
    "CURSOR_TRACE_ID",
    "GEMINI_CLI",
    "GOOSE_TERMINAL",
    "OPENCODE",
    "QWEN_CODE",
];
/// Prefixes of such variables.
const PREFIXES: &[&str] = &["CLAUDE_CODE_", "CODEX_", "GEMINI_CLI_", "OPENCODE_"];

/// The maximum number of ancestors. A chain this long is a loop or a mistake.
const ANCESTORS_MAX: usize = 64;

/// A marker of an agent, and the process it was found in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AgentMarker {
    variable: String,
    process: u32,
}

impl fmt::Display for AgentMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in process {}", self.variable, self.process)
    }
}

/// True if a variable of this name is an agent's.
pub(crate) fn is_marker(name: &str) -> bool {
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the markers in our own environment, which a child must not inherit.
pub(crate) fn own_markers() -> Vec<String> {
    env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|n| is_marker(n))
        .collect()
}

/// Returns the first marker in our environment or that of an ancestor, as far as we may read it.
pub(crate) fn nearest_marker() -> Option<AgentMarker> {
    let own = own_markers().into_iter().next();
    if let Some(variable) = own {
        return Some(AgentMarker { variable, process: process::id() });
    }
    ancestors().into_iter().find_map(|process| {
        let variable = marker_in(&fs::read(format!("/proc/{process}/environ")).ok()?)?;
        Some(AgentMarker { variable, process })
    })
}

/// Returns our ancestors, nearest first. None where there is no `/proc`, as on macOS.
fn ancestors() -> Vec<u32> {
    let mut seen = BTreeSet::new();
    std::iter::successors(parent_of(process::id()), |process| parent_of(*process))
        .take_while(|process| seen.insert(*process))
        .take(ANCESTORS_MAX)
        .collect()
}

fn parent_of(process: u32) -> Option<u32> {
    parse_parent(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// Parses the parent in a line of `/proc/PID/stat`, none for the first process.
fn parse_parent(stat: &str) -> Option<u32> {
    // The name in parentheses may itself hold spaces and parentheses: look after the last one.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok().filter(|parent| *parent != 0)
}

fn marker_in(environment: &[u8]) -> Option<String> {
    let variables = environment.split(|byte| *byte == 0);
    let names = variables.filter_map(|pair| pair.split(|byte| *byte == b'=').next());
    names.filter_map(|name| std::str::from_utf8(name).ok()).find(|n| is_marker(n)).map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_known_by_name_or_beginning() {
        for name in ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "OPENCODE", "AI_AGENT"] {
            assert!(is_marker(name), "{name}");
        }
        for name in ["PATH", "SSH_AGENT_PID", "CODE", "MY_AI_AGENT", "GEMINI_API_KEY"] {
            assert!(!is_marker(name), "{name}");
        }
    }

    #[test]
    fn a_marker_is_found_among_other_variables() {
        assert_eq!(marker_in(b"A=CLAUDECODE\0CODEX_X=1\0").as_deref(), Some("CODEX_X"));
        assert_eq!(marker_in(b"A=CLAUDECODE\0"), None);
        assert_eq!(marker_in(b""), None);
    }

    #[test]
    fn the_parent_is_read_behind_an_odd_name() {
        assert_eq!(parse_parent("12 (a) b (c) S 7 12 12 0"), Some(7));
        assert_eq!(parse_parent("1 (init) S 0 1 1 0"), None);
        assert_eq!(parse_parent("nonsense"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn our_own_parent_is_the_first_ancestor() {
        assert_eq!(ancestors().first(), Some(&std::os::unix::process::parent_id()));
    }
}
