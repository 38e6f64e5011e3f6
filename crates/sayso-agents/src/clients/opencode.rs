//! The adapter for opencode, as `opencode run`.
//!
//! By default it allows everything in its folder. Actions for which the user's configuration would ask are refused
//! at once, since no person is there; `--auto` would grant them, so it is left to the user.
//!
//! Measured with 1.18.33: tokens and costs come with every step and are to be added; after a limit it retries for
//! more than a minute; tools are reported when they are done.

use super::{count, option, text, tool};
use crate::agent::AgentConfig;
use crate::events::TokenUsage;
use crate::output_parser::OutputParser;
use crate::rate_limit::{self, LocalNow};
use serde_json::Value;

/// The parser state between lines.
#[derive(Debug, Default)]
pub(super) struct OpencodeState {
    /// The texts since the last tool call; a message may have several parts.
    said: Vec<String>,
}

pub(super) fn arguments(agent: &AgentConfig, session: Option<&str>) -> Vec<String> {
    let mut arguments = ["run", "--format", "json"].map(str::to_owned).to_vec();
    arguments.extend(option("--model", agent.model.as_deref()));
    arguments.extend(option("--session", session));
    arguments.extend(agent.args.iter().cloned());
    arguments
}

pub(super) fn parse_line(event: &Value, ear: &mut OutputParser) {
    let kind = text(event, "/type");
    if kind == Some("error") {
        return failure(event, ear);
    }
    if let Some(session) = text(event, "/sessionID") {
        ear.has_session(session);
        ear.begins();
    }
    match kind {
        Some("text") => {
            let said = text(event, "/part/text").unwrap_or_default();
            ear.memory.opencode.said.push(said.to_owned());
            ear.mentions(said);
        }
        Some("tool_use") => {
            ear.memory.opencode.said.clear();
            let name = text(event, "/part/tool").unwrap_or("a tool");
            ear.does(&tool(name, event.pointer("/part/state/input")));
        }
        Some("step_finish") => ear.spends(step(event)),
        _ => {}
    }
}

pub(super) fn end(ear: &mut OutputParser) {
    let said = std::mem::take(&mut ear.memory.opencode.said);
    if !said.is_empty() && ear.problem.is_none() {
        ear.message = Some(said.join("\n"));
    }
}

/// Reads the usage of a step. Cached and reasoning tokens are counted separately here.
fn step(event: &Value) -> TokenUsage {
    let tokens = event.pointer("/part/tokens").unwrap_or(&Value::Null);
    let input = ["/input", "/cache/read", "/cache/write"];
    TokenUsage {
        input_tokens: input.iter().map(|path| count(tokens, path)).sum(),
        output_tokens: count(tokens, "/output") + count(tokens, "/reasoning"),
        cost_micros: event
            .pointer("/part/cost")
            .and_then(Value::as_f64)
            .map_or(0, TokenUsage::micros),
    }
}

fn failure(event: &Value, ear: &mut OutputParser) {
    let name = text(event, "/error/name").unwrap_or("error");
    let message = text(event, "/error/data/message").unwrap_or_default();
    let said = format!("{name}: {message}");
    ear.has_session(text(event, "/sessionID").unwrap_or_default());
    ear.fails(said.trim_end_matches([':', ' ']));
    if event.pointer("/error/data/statusCode").and_then(Value::as_u64) == Some(429) {
        let header = text(event, "/error/data/responseHeaders/retry-after");
        let seconds = header.and_then(|header| header.parse().ok());
        let until = seconds.and_then(|seconds| LocalNow::take().after(seconds));
        let until =
            until.or_else(|| rate_limit::until(&said.to_ascii_lowercase(), &LocalNow::take()));
        ear.is_limited(rate_limit::known(&said, until));
    }
}
