//! The environment of agents: an allow-list of variables.

use crate::agent::AgentAdapter;
use crate::agent_detection::MARKERS;

/// The variables of every program: enough to run, to find its home and to reach the network.
const COMMON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TMPDIR",
    "TZ",
    "XDG_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_*",
    "NODE_EXTRA_CA_CERTS",
];

impl AgentAdapter {
    /// Returns the patterns of the variables that this client needs besides the common ones. Cloud credentials are
    /// not included: a user of a client that needs them names them in the settings.
    pub const fn lets_through(&self) -> &'static [&'static str] {
        match self {
            AgentAdapter::ClaudeCode => &[
                "ANTHROPIC_*",
                "CLAUDE_*",
                "API_TIMEOUT_MS",
                "DISABLE_TELEMETRY",
                "DISABLE_ERROR_REPORTING",
                "DISABLE_AUTOUPDATER",
                "IS_SANDBOX",
            ],
            AgentAdapter::Codex => &["OPENAI_*", "CODEX_*"],
            AgentAdapter::Gemini => &["GEMINI_*", "GOOGLE_*"],
            AgentAdapter::Opencode => &[
                "OPENCODE_*",
                "ANTHROPIC_API_KEY",
                "OPENAI_API_KEY",
                "OPENROUTER_API_KEY",
                "GEMINI_API_KEY",
                "GOOGLE_GENERATIVE_AI_API_KEY",
            ],
            AgentAdapter::Command => &[],
        }
    }
}

/// True if a variable of ours may be passed to an agent of this adapter. `extra` are patterns from the settings; a
/// pattern may end with `*`. The markers of an outer agent and the variables of sayso are never passed, even if the
/// settings say so: the agent must be known by its own credential.
pub fn allowed(name: &str, adapter: AgentAdapter, extra: &[String]) -> bool {
    let is_mark = MARKERS.iter().any(|(marker, _)| *marker == name);
    if is_mark || name.starts_with("SAYSO_") {
        return false;
    }
    COMMON.iter().chain(adapter.lets_through()).any(|pattern| fits(name, pattern))
        || extra.iter().any(|pattern| fits(name, pattern))
}

fn fits(name: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_gets_what_it_needs_and_no_more() {
        let extra = ["MY_*".to_owned(), "EXACT".to_owned()];
        for (name, adapter, expected) in [
            ("PATH", AgentAdapter::Command, true),
            ("LC_ALL", AgentAdapter::Command, true),
            ("https_proxy", AgentAdapter::Codex, true),
            ("ANTHROPIC_API_KEY", AgentAdapter::ClaudeCode, true),
            ("ANTHROPIC_API_KEY", AgentAdapter::Opencode, true),
            ("ANTHROPIC_API_KEY", AgentAdapter::Codex, false),
            ("CODEX_HOME", AgentAdapter::Codex, true),
            ("GEMINI_API_KEY", AgentAdapter::Gemini, true),
            ("AWS_SECRET_ACCESS_KEY", AgentAdapter::ClaudeCode, false),
            ("GITHUB_TOKEN", AgentAdapter::ClaudeCode, false),
            ("SSH_AUTH_SOCK", AgentAdapter::Command, false),
            ("MY_VARIABLE", AgentAdapter::Command, true),
            ("EXACT", AgentAdapter::Command, true),
            ("EXACTLY", AgentAdapter::Command, false),
        ] {
            assert_eq!(allowed(name, adapter, &extra), expected, "{name} for {adapter}");
        }
    }

    #[test]
    fn the_marks_of_an_outer_agent_and_our_own_variables_never_pass() {
        let everything = ["*".to_owned(), "SAYSO_TOKEN".to_owned()];
        for adapter in AgentAdapter::ALL {
            for (marker, _) in MARKERS {
                assert!(!allowed(marker, adapter, &everything), "{marker} for {adapter}");
            }
            for name in ["SAYSO_TOKEN", "SAYSO_TOKEN_FILE", "SAYSO_RUN", "SAYSO_STORE"] {
                assert!(!allowed(name, adapter, &everything), "{name} for {adapter}");
            }
        }
    }
}
