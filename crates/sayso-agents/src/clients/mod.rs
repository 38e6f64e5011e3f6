//! The client adapters: command-line arguments for an unattended start, and the parser of the client's output. One
//! file each.
//!
//! All clients read the prompt on stdin, since an argument may not be longer than 128 KiB. Each is started with the
//! fewest permissions that still let it edit its folder and run tests there, because no person is there to be
//! asked; a user who wants more or less sets options in the agent's arguments, which replace ours for the same
//! purpose.

mod claude;
mod codex;
mod command;
mod gemini;
mod opencode;

use crate::agent::{AgentAdapter, AgentConfig, TurnInput};
use crate::events::TokenUsage;
use crate::output_parser::OutputParser;
use serde_json::Value;
use std::path::Path;

/// The parser states of all clients; each uses its own.
#[derive(Debug, Default)]
pub(crate) struct ParserState {
    claude: claude::ClaudeState,
    gemini: gemini::GeminiState,
    opencode: opencode::OpencodeState,
    command: command::CommandState,
}

/// Returns the arguments for a turn with these additional writable folders.
pub(crate) fn arguments(
    agent: &AgentConfig,
    session: Option<&str>,
    writable: &[&Path],
) -> Vec<String> {
    match agent.adapter {
        AgentAdapter::ClaudeCode => claude::arguments(agent, session),
        AgentAdapter::Codex => codex::arguments(agent, session, writable),
        AgentAdapter::Gemini => gemini::arguments(agent, session),
        AgentAdapter::Opencode => opencode::arguments(agent, session),
        AgentAdapter::Command => command::arguments(agent, session),
    }
}

/// Returns the usage of earlier turns that the client will include in its figures for this one.
pub(crate) fn spent_before(agent: &AgentConfig, turn: &TurnInput<'_>) -> TokenUsage {
    match (agent.adapter, turn.session) {
        (AgentAdapter::Codex, Some(session)) => codex::spent_before(turn.variables, session),
        _ => TokenUsage::default(),
    }
}

/// Parses a line of stdout.
pub(crate) fn parse_line(adapter: AgentAdapter, line: &str, ear: &mut OutputParser) {
    if adapter == AgentAdapter::Command {
        return command::parse_line(line, ear);
    }
    // A line that is no event comes from the client or one of its libraries.
    if !line.starts_with('{') {
        return;
    }
    let Ok(event) = serde_json::from_str::<Value>(line) else { return };
    match adapter {
        AgentAdapter::ClaudeCode => claude::parse_line(&event, ear),
        AgentAdapter::Codex => codex::parse_line(&event, ear),
        AgentAdapter::Gemini => gemini::parse_line(&event, ear),
        AgentAdapter::Opencode => opencode::parse_line(&event, ear),
        AgentAdapter::Command => {}
    }
}

/// Records the bytes that were cut off an overlong line. A cut event cannot be parsed.
pub(crate) fn record_truncation(adapter: AgentAdapter, bytes: usize, ear: &mut OutputParser) {
    match adapter {
        AgentAdapter::ClaudeCode
        | AgentAdapter::Codex
        | AgentAdapter::Gemini
        | AgentAdapter::Opencode => {}
        AgentAdapter::Command => command::record_truncation(bytes, ear),
    }
}

pub(crate) fn end(adapter: AgentAdapter, is_clean: bool, ear: &mut OutputParser) {
    match adapter {
        AgentAdapter::ClaudeCode | AgentAdapter::Codex => {}
        AgentAdapter::Gemini => gemini::end(ear),
        AgentAdapter::Opencode => opencode::end(ear),
        AgentAdapter::Command => command::end(is_clean, ear),
    }
}

/// True if this text of the client means that it does not know the session.
pub(crate) fn means_session_gone(adapter: AgentAdapter, text: &str) -> bool {
    let words: &[&str] = match adapter {
        AgentAdapter::ClaudeCode => &["No conversation found with session ID"],
        AgentAdapter::Codex => &["no rollout found for thread id", "thread not found"],
        AgentAdapter::Gemini => &["Invalid session identifier", "No previous sessions found"],
        AgentAdapter::Opencode => &["Session not found"],
        AgentAdapter::Command => &[],
    };
    words.iter().any(|words| text.contains(words))
}

/// Returns our options, unless the user has given one for the same purpose.
fn unless(agent: &AgentConfig, options: &[&str], ours: &[&str]) -> Vec<String> {
    let is_option = |arg: &str| {
        let name = arg.split_once('=').map_or(arg, |(name, _)| name);
        options.contains(&name)
    };
    if agent.args.iter().any(|arg| is_option(arg)) {
        vec![]
    } else {
        ours.iter().map(|&arg| arg.to_owned()).collect()
    }
}

/// Returns an option with its value, if there is one.
fn option(name: &str, value: Option<&str>) -> Vec<String> {
    value.map_or(vec![], |value| vec![name.to_owned(), value.to_owned()])
}

/// Returns a text field of an event.
fn text<'v>(event: &'v Value, path: &str) -> Option<&'v str> {
    event.pointer(path).and_then(Value::as_str)
}

/// Returns a count of an event; 0 if it is missing.
fn count(event: &Value, path: &str) -> u64 {
    event.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

/// Returns the most telling input of a tool call, or else all inputs.
fn used_on(input: Option<&Value>) -> String {
    const TELLING: [&str; 9] =
        ["command", "file_path", "filePath", "path", "pattern", "url", "query", "prompt", "title"];
    let Some(input) = input else { return String::new() };
    let found = TELLING.iter().find_map(|name| input.get(name)).and_then(Value::as_str);
    found.map_or_else(|| input.to_string(), str::to_owned)
}

/// Formats a tool call in one line.
fn tool(name: &str, input: Option<&Value>) -> String {
    let on = used_on(input);
    if on.is_empty() || on == "{}" { name.to_owned() } else { format!("{name}: {on}") }
}

#[cfg(test)]
mod tests;
