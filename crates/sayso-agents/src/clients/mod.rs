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

use crate::agent::{Adapter, Agent, Turn};
use crate::ear::Ear;
use crate::heard::Spent;
use serde_json::Value;
use std::path::Path;

/// The parser states of all clients; each uses its own.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    claude: claude::Memory,
    gemini: gemini::Memory,
    opencode: opencode::Memory,
    command: command::Memory,
}

/// Returns the arguments for a turn with these additional writable folders.
pub(crate) fn arguments(agent: &Agent, session: Option<&str>, writable: &[&Path]) -> Vec<String> {
    match agent.adapter {
        Adapter::ClaudeCode => claude::arguments(agent, session),
        Adapter::Codex => codex::arguments(agent, session, writable),
        Adapter::Gemini => gemini::arguments(agent, session),
        Adapter::Opencode => opencode::arguments(agent, session),
        Adapter::Command => command::arguments(agent, session),
    }
}

/// Returns the usage of earlier turns that the client will include in its figures for this one.
pub(crate) fn spent_before(agent: &Agent, turn: &Turn<'_>) -> Spent {
    match (agent.adapter, turn.session) {
        (Adapter::Codex, Some(session)) => codex::spent_before(turn.variables, session),
        _ => Spent::default(),
    }
}

/// Parses a line of stdout.
pub(crate) fn hear(adapter: Adapter, line: &str, ear: &mut Ear) {
    if adapter == Adapter::Command {
        return command::hear(line, ear);
    }
    // A line that is no event comes from the client or one of its libraries.
    if !line.starts_with('{') {
        return;
    }
    let Ok(event) = serde_json::from_str::<Value>(line) else { return };
    match adapter {
        Adapter::ClaudeCode => claude::hear(&event, ear),
        Adapter::Codex => codex::hear(&event, ear),
        Adapter::Gemini => gemini::hear(&event, ear),
        Adapter::Opencode => opencode::hear(&event, ear),
        Adapter::Command => {}
    }
}

/// Records the bytes that were cut off an overlong line. A cut event cannot be parsed.
pub(crate) fn miss(adapter: Adapter, bytes: usize, ear: &mut Ear) {
    match adapter {
        Adapter::ClaudeCode | Adapter::Codex | Adapter::Gemini | Adapter::Opencode => {}
        Adapter::Command => command::miss(bytes, ear),
    }
}

pub(crate) fn end(adapter: Adapter, is_clean: bool, ear: &mut Ear) {
    match adapter {
        Adapter::ClaudeCode | Adapter::Codex => {}
        Adapter::Gemini => gemini::end(ear),
        Adapter::Opencode => opencode::end(ear),
        Adapter::Command => command::end(is_clean, ear),
    }
}

/// True if this text of the client means that it does not know the session.
pub(crate) fn means_session_gone(adapter: Adapter, text: &str) -> bool {
    let words: &[&str] = match adapter {
        Adapter::ClaudeCode => &["No conversation found with session ID"],
        Adapter::Codex => &["no rollout found for thread id", "thread not found"],
        Adapter::Gemini => &["Invalid session identifier", "No previous sessions found"],
        Adapter::Opencode => &["Session not found"],
        Adapter::Command => &[],
    };
    words.iter().any(|words| text.contains(words))
}

/// Returns our options, unless the user has given one for the same purpose.
fn unless(agent: &Agent, options: &[&str], ours: &[&str]) -> Vec<String> {
    let is_option = |arg: &str| {
        let name = arg.split_once('=').map_or(arg, |(name, _)| name);
        options.contains(&name)
    };
    match agent.args.iter().any(|arg| is_option(arg)) {
        true => vec![],
        false => ours.iter().map(|&arg| arg.to_owned()).collect(),
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
