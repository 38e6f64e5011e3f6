//! The adapter for Gemini CLI, headless because stdin is no terminal.
//!
//! Approval mode `auto_edit` with the shell allowed; `yolo` would also grant the web and every MCP server. Without
//! either, tools that change files are not even offered to the model. In a folder that is not trusted, such as a
//! fresh one, it refuses to work at all, hence `--skip-trust`. The shell is allowed by an option that 1.0 is to
//! remove; a user of that version gives `--policy` or `--approval-mode yolo`.
//!
//! Measured with 0.61.0: messages come in pieces; sessions belong to the folder; after a limit it retries for some
//! minutes before it gives up. Costs are not reported.

use super::{count, option, text, tool, unless};
use crate::agent::AgentConfig;
use crate::events::TokenUsage;
use crate::output_parser::OutputParser;
use serde_json::Value;

/// The parser state between lines.
#[derive(Debug, Default)]
pub(super) struct GeminiState {
    /// The pieces of the current message.
    saying: String,
}

pub(super) fn arguments(agent: &AgentConfig, session: Option<&str>) -> Vec<String> {
    const RIGHTS: &[&str] = &["--approval-mode", "--yolo", "-y", "--policy", "--allowed-tools"];
    let fixed = ["--output-format", "stream-json", "--skip-trust"].map(str::to_owned);
    let ours = ["--approval-mode", "auto_edit", "--allowed-tools=run_shell_command"];
    let mut arguments = fixed.to_vec();
    arguments.extend(unless(agent, RIGHTS, &ours));
    arguments.extend(option("--model", agent.model.as_deref()));
    arguments.extend(option("--resume", session));
    arguments.extend(agent.args.iter().cloned());
    arguments
}

pub(super) fn parse_line(event: &Value, ear: &mut OutputParser) {
    match text(event, "/type") {
        Some("init") => ear.has_session(text(event, "/session_id").unwrap_or_default()),
        // The prompt is echoed as a message too, before the model has seen it.
        Some("message") if text(event, "/role") == Some("assistant") => {
            ear.begins();
            let piece = text(event, "/content").unwrap_or_default();
            ear.memory.gemini.saying.push_str(piece);
        }
        Some("tool_use") => {
            ear.begins();
            said(ear);
            let name = text(event, "/tool_name").unwrap_or("a tool");
            ear.does(&tool(name, event.get("parameters")));
        }
        Some("error") if text(event, "/severity") != Some("warning") => {
            ear.has_problem(text(event, "/message").unwrap_or("an error"));
        }
        Some("result") => result(event, ear),
        _ => {}
    }
}

pub(super) fn end(ear: &mut OutputParser) {
    said(ear);
}

/// Joins the pieces to one message when another event follows.
fn said(ear: &mut OutputParser) {
    let saying = std::mem::take(&mut ear.memory.gemini.saying);
    if !saying.is_empty() {
        ear.says(&saying);
    }
}

fn result(event: &Value, ear: &mut OutputParser) {
    said(ear);
    ear.spends(TokenUsage {
        input_tokens: count(event, "/stats/input_tokens"),
        output_tokens: count(event, "/stats/output_tokens"),
        cost_micros: 0,
    });
    if text(event, "/status") == Some("success") {
        ear.begins();
        return ear.ends_well();
    }
    ear.fails(text(event, "/error/message").unwrap_or("the client ended with an error"));
}
