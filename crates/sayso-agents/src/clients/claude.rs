//! The adapter for Claude Code, as `claude -p`.
//!
//! Permission mode `acceptEdits` with the shell allowed: it edits in its folder and runs any command there, while
//! other tools that would ask (the web, MCP servers, files outside) follow the user's settings, and are denied
//! where those would ask. `bypassPermissions` would grant them all, and does not start as root.
//!
//! Measured with 2.1.325: `total_cost_usd` counts from the start of the session, also across processes, and `usage`
//! leaves out subagents; `model_usage_since_last_result` covers this turn with everything. API errors come as
//! messages of a `<synthetic>` model.

use super::{count, option, text, tool, unless};
use crate::agent::AgentConfig;
use crate::events::TokenUsage;
use crate::output_parser::OutputParser;
use crate::rate_limit::{self, LocalNow};
use sayso_core::Timestamp;
use serde_json::Value;

/// The parser state between lines.
#[derive(Debug, Default)]
pub(super) struct ClaudeState {
    /// The time at which an announced limit ends.
    limit_until: Option<Timestamp>,
    /// The ID of the message whose usage was counted last: it is repeated for each content block.
    counted: String,
    /// The sum of the results of this process.
    total: TokenUsage,
}

pub(super) fn arguments(agent: &AgentConfig, session: Option<&str>) -> Vec<String> {
    const RIGHTS: &[&str] = &[
        "--permission-mode",
        "--dangerously-skip-permissions",
        "--restricted",
        "--allowedTools",
        "--allowed-tools",
    ];
    let fixed = ["-p", "--output-format", "stream-json", "--verbose"].map(str::to_owned);
    // With `=`, since this option would take the following arguments as well.
    let ours = ["--permission-mode", "acceptEdits", "--allowedTools=Bash"];
    let mut arguments = fixed.to_vec();
    arguments.extend(unless(agent, RIGHTS, &ours));
    arguments.extend(option("--model", agent.model.as_deref()));
    arguments.extend(option("--resume", session));
    arguments.extend(agent.args.iter().cloned());
    arguments
}

pub(super) fn parse_line(event: &Value, ear: &mut OutputParser) {
    match text(event, "/type") {
        Some("system") if text(event, "/subtype") == Some("init") => {
            ear.has_session(text(event, "/session_id").unwrap_or_default());
        }
        Some("stream_event") => ear.begins(),
        Some("assistant") => assistant(event, ear),
        Some("rate_limit_event") => announced(event, ear),
        Some("result") => result(event, ear),
        _ => {}
    }
}

/// Handles one content block of a message. Text of subagents is not the agent's own.
fn assistant(event: &Value, ear: &mut OutputParser) {
    let is_synthetic = text(event, "/message/model") == Some("<synthetic>");
    if is_synthetic || event.get("is_api_error_message") == Some(&Value::Bool(true)) {
        return failure(event, text(event, "/message/content/0/text").unwrap_or_default(), ear);
    }
    ear.begins();
    spending(event, ear);
    let is_own = event.get("parent_tool_use_id").is_none_or(Value::is_null);
    let blocks = event.pointer("/message/content").and_then(Value::as_array);
    for block in blocks.into_iter().flatten() {
        match text(block, "/type") {
            Some("text") if is_own => ear.says(text(block, "/text").unwrap_or_default()),
            Some("tool_use") => {
                let used = tool(text(block, "/name").unwrap_or("a tool"), block.get("input"));
                if is_own { ear.does(&used) } else { ear.uses(&used) }
            }
            _ => {}
        }
    }
}

/// Counts the usage of a message, so that a turn that is cut off has a figure, too.
fn spending(event: &Value, ear: &mut OutputParser) {
    let id = text(event, "/message/id").unwrap_or_default();
    if ear.memory.claude.counted != id {
        ear.memory.claude.counted = id.to_owned();
        ear.spends(TokenUsage { cost_micros: 0, ..usage(event, "/message/usage") });
    }
}

fn usage(event: &Value, path: &str) -> TokenUsage {
    let Some(usage) = event.pointer(path) else { return TokenUsage::default() };
    let input = ["/input_tokens", "/cache_creation_input_tokens", "/cache_read_input_tokens"];
    TokenUsage {
        input_tokens: input.iter().map(|path| count(usage, path)).sum(),
        output_tokens: count(usage, "/output_tokens"),
        cost_micros: event
            .get("total_cost_usd")
            .and_then(Value::as_f64)
            .map_or(0, TokenUsage::micros),
    }
}

/// Remembers an announced limit. It counts only if it ends the turn: paid overuse may continue.
fn announced(event: &Value, ear: &mut OutputParser) {
    if text(event, "/rate_limit_info/status") == Some("rejected") {
        let resets_at = event.pointer("/rate_limit_info/resetsAt").and_then(Value::as_i64);
        ear.memory.claude.limit_until = resets_at.and_then(rate_limit::from_seconds);
    }
}

fn result(event: &Value, ear: &mut OutputParser) {
    let more = since_last(event).unwrap_or_else(|| usage(event, "/usage"));
    ear.memory.claude.total += more;
    ear.has_spent(ear.memory.claude.total);
    if event.get("is_error") != Some(&Value::Bool(true)) {
        ear.begins();
        ear.deferred = text(event, "/stop_reason") == Some("tool_deferred");
        ear.message = text(event, "/result").map(str::to_owned);
        return ear.ends_well();
    }
    let said = text(event, "/result").or_else(|| text(event, "/errors/0"));
    let said = said.filter(|said| !said.is_empty()).or_else(|| text(event, "/subtype"));
    failure(event, said.unwrap_or("the client ended with an error"), ear);
}

/// Returns the usage of all models since the last result.
fn since_last(event: &Value) -> Option<TokenUsage> {
    let models = event.get("model_usage_since_last_result")?.as_object()?;
    let sum = models.values().map(|model| TokenUsage {
        input_tokens: count(model, "/inputTokens")
            + count(model, "/cacheReadInputTokens")
            + count(model, "/cacheCreationInputTokens"),
        output_tokens: count(model, "/outputTokens"),
        cost_micros: model.get("costUSD").and_then(Value::as_f64).map_or(0, TokenUsage::micros),
    });
    Some(sum.fold(TokenUsage::default(), |all, one| all + one))
}

fn failure(event: &Value, said: &str, ear: &mut OutputParser) {
    let is_marked = text(event, "/error") == Some("rate_limit")
        || event.get("api_error_status").and_then(Value::as_u64) == Some(429);
    let announced = ear.memory.claude.limit_until;
    ear.fails(said);
    if is_marked || ear.limited.is_some() {
        let until =
            announced.or_else(|| rate_limit::until(&said.to_ascii_lowercase(), &LocalNow::take()));
        // The limit is reported by the message and again by the result; the first one is complete.
        let until = until.or_else(|| ear.limited.as_ref().and_then(|limit| limit.until));
        ear.is_limited(rate_limit::known(said, until));
    }
}
