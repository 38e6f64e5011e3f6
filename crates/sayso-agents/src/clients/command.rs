//! The adapter for any program that reads the prompt on stdin and writes text.
//!
//! Its whole stdout is its final message. A program that reports more writes JSON objects, one per
//! line, which then are not part of the message:
//!
//! | line | meaning |
//! |---|---|
//! | `{"sayso":"session","id":"…"}` | the session ID, by which the conversation can be resumed |
//! | `{"sayso":"says","text":"…"}` | a text before the final message |
//! | `{"sayso":"does","text":"…"}` | an action, such as a tool call |
//! | `{"sayso":"spent","input_tokens":1,"output_tokens":2,"cost_usd":0.01}` | the usage since the last such line |
//! | `{"sayso":"limited","until":"2026-10-09T15:00:00Z","text":"…"}` | stopped by a limit; both fields are optional |
//! | `{"sayso":"final","text":"…"}` | the final message, instead of the other text |
//! | `{"sayso":"session_gone"}` | the program does not know the session to be resumed |
//!
//! Its arguments are the agent's `args`, followed by its `resume` arguments when a session is to be
//! resumed. The turn counts as started with the first line that is not about sessions or limits, or when
//! the program exits with 0.

use super::{count, text};
use crate::agent::AgentConfig;
use crate::events::TokenUsage;
use crate::output_parser::OutputParser;
use crate::rate_limit;
use serde_json::Value;

/// The most bytes of a program's output that are kept from its start, and again from its end.
const KEPT: usize = 512 * 1024;

/// The parser state between lines.
#[derive(Debug, Default)]
pub(super) struct CommandState {
    first: String,
    last: String,
    left_out: usize,
    /// True if a signal may be in the part that was left out.
    hides_signal: bool,
    last_word: Option<String>,
}

pub(super) fn arguments(agent: &AgentConfig, session: Option<&str>) -> Vec<String> {
    let mut arguments = agent.args.clone();
    if let Some(session) = session {
        let resume = agent.resume_args.iter();
        arguments.extend(resume.map(|arg| arg.replace("{session}", session)));
    }
    arguments
}

pub(super) fn parse_line(line: &str, ear: &mut OutputParser) {
    let event = (line.starts_with('{') && line.contains("\"sayso\""))
        .then(|| serde_json::from_str::<Value>(line).ok())
        .flatten();
    if event.is_some_and(|event| told(&event, ear)) {
        return;
    }
    ear.begins();
    ear.mentions(line);
    ear.memory.command.keep(line);
}

/// Handles a line of the protocol; false if it is not one.
fn told(event: &Value, ear: &mut OutputParser) -> bool {
    let said = text(event, "/text").unwrap_or_default();
    match text(event, "/sayso") {
        Some("session") => ear.has_session(text(event, "/id").unwrap_or_default()),
        Some("session_gone") => ear.session_gone = true,
        Some("limited") => {
            let until = text(event, "/until").and_then(rate_limit::rfc3339);
            ear.is_limited(rate_limit::known(said, until));
        }
        Some("says") => {
            ear.begins();
            ear.mentions(said);
        }
        Some("does") => {
            ear.begins();
            ear.uses(said);
        }
        Some("spent") => {
            ear.begins();
            ear.spends(spent(event));
        }
        Some("final") => {
            ear.begins();
            ear.mentions(said);
            ear.memory.command.last_word = Some(said.to_owned());
        }
        _ => return false,
    }
    true
}

fn spent(event: &Value) -> TokenUsage {
    TokenUsage {
        input_tokens: count(event, "/input_tokens"),
        output_tokens: count(event, "/output_tokens"),
        cost_micros: event.get("cost_usd").and_then(Value::as_f64).map_or(0, TokenUsage::micros),
    }
}

pub(super) fn end(is_clean: bool, ear: &mut OutputParser) {
    if is_clean && ear.limited.is_none() && !ear.session_gone {
        ear.begins();
    }
    let memory = std::mem::take(&mut ear.memory.command);
    ear.message = memory.message();
}

/// Records the bytes that were cut off an overlong line.
pub(super) fn record_truncation(bytes: usize, ear: &mut OutputParser) {
    ear.memory.command.left_out += bytes;
    ear.memory.command.hides_signal = true;
}

impl CommandState {
    fn keep(&mut self, line: &str) {
        if self.left_out == 0 && self.last.is_empty() && self.first.len() + line.len() < KEPT {
            self.first.push_str(line);
            self.first.push('\n');
            return;
        }
        self.last.push_str(line);
        self.last.push('\n');
        // Cut rarely, so that the cost stays linear.
        if self.last.len() > 2 * KEPT {
            let cut = self.last.floor_char_boundary(self.last.len() - KEPT);
            let kept = self.last.split_off(cut);
            let gone = std::mem::replace(&mut self.last, kept);
            self.left_out += gone.len();
            self.hides_signal |= gone.contains("promise>") || gone.contains("\"status\"");
        }
    }

    /// Returns the final message. A lost part could have been a question, and a lost question must not count as
    /// completion: an unclosed tag at the top keeps the message from being read as completed.
    fn message(self) -> Option<String> {
        if self.last_word.is_some() {
            return self.last_word;
        }
        let Self { first, last, left_out, hides_signal, .. } = self;
        let whole = match (left_out, hides_signal) {
            (0, _) => first + &last,
            (_, false) => format!("{first}\n[{left_out} bytes left out]\n{last}"),
            (_, true) => {
                format!(
                    "[too long: a <promise> was lost]\n{first}\n[{left_out} bytes left out]\n{last}"
                )
            }
        };
        let whole = whole.trim_end();
        (!whole.is_empty()).then(|| whole.to_owned())
    }
}
