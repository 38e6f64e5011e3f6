//! Tools that are not called Bash: what looks like a command is read, and a tool that is not known asks.

use super::{POLICY, event, hook, understood};
use crate::governed::policy;
use crate::harness::everywhere;
use serde_json::json;

everywhere! {
    fn a_command_is_read_whatever_the_tool_is_called(space: &Space) {
        policy(space, "space", POLICY);
        for (tool, input, expected) in [
            ("Monitor", json!({"command": "cd x && git push", "description": "Looks."}), "deny"),
            ("PowerShell", json!({"command": "git push"}), "deny"),
            ("write_stdin", json!({"session_id": 1, "chars": "git push\n"}), "deny"),
            ("mcp__shell__run", json!({"input": {"cmd": ["sh", "-c", "git push"]}}), "deny"),
            // Nothing is known of what they do.
            ("Frobnicate", json!({"x": 1}), "deny"),
            ("mcp__docs__find", json!({"query": "x"}), "deny"),
            // A pattern of file names is as good as a name, and so is a list.
            ("Grep", json!({"pattern": "KEY", "path": "config", "glob": ".env"}), "deny"),
            ("mcp__files__read", json!({"paths": ["a", "/project/b/.env"]}), "deny"),
            ("Monitor", json!({"command": "tail -f log"}), ""),
            ("Grep", json!({"pattern": "git push", "path": "src", "glob": "*.rs"}), ""),
            ("mcp__sayso__request_gate", json!({"question": "May I git push?"}), ""),
        ] {
            let body = event("PreToolUse", tool, &input);
            let ran = hook(space, "coder", "claude-code", "PreToolUse", &body, "0s");
            assert_eq!(understood("claude-code", &ran).0, expected, "{tool} {input}");
        }
    }
}
