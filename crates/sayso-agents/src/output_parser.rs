//! The output parser: turns the lines of one client into events and collects the result of the turn.

use crate::agent::AgentAdapter;
use crate::clients;
use crate::events::{AgentEvent, TokenUsage, UsageLimit};
use crate::rate_limit::{self, LocalNow};

/// The most bytes of an agent's text that one event holds.
const TEXT_MAX: usize = 16 * 1024;

/// The longest session ID.
const SESSION_MAX: usize = 256;

/// The longest line for a tool call.
const TOOL_MAX: usize = 200;

/// The output parser of one turn.
#[derive(Debug)]
pub(crate) struct OutputParser {
    adapter: AgentAdapter,
    /// Events that were not passed on yet.
    heard: Vec<AgentEvent>,
    pub(crate) began: bool,
    pub(crate) session: Option<String>,
    /// The last text that no action followed.
    pub(crate) message: Option<String>,
    pub(crate) spent: TokenUsage,
    /// The usage before this turn, which the client includes in its figures.
    pub(crate) spent_before: TokenUsage,
    pub(crate) limited: Option<UsageLimit>,
    pub(crate) problem: Option<String>,
    pub(crate) session_gone: bool,
    pub(crate) deferred: bool,
    /// The parser state of the client.
    pub(crate) memory: clients::ParserState,
}

impl OutputParser {
    pub(crate) fn new(adapter: AgentAdapter, spent_before: TokenUsage) -> Self {
        Self {
            adapter,
            heard: vec![],
            began: false,
            session: None,
            message: None,
            spent: TokenUsage::default(),
            spent_before,
            limited: None,
            problem: None,
            session_gone: false,
            deferred: false,
            memory: clients::ParserState::default(),
        }
    }

    /// Parses a line of stdout and returns its events.
    pub(crate) fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        clients::parse_line(self.adapter, line, self);
        std::mem::take(&mut self.heard)
    }

    /// Records the bytes that were cut off an overlong line.
    pub(crate) fn record_truncation(&mut self, bytes: usize) {
        clients::record_truncation(self.adapter, bytes, self);
    }

    /// Ends the parsing and returns the last events.
    pub(crate) fn end(&mut self, is_clean: bool) -> Vec<AgentEvent> {
        clients::end(self.adapter, is_clean, self);
        std::mem::take(&mut self.heard)
    }

    pub(crate) fn begins(&mut self) {
        if !self.began {
            self.began = true;
            self.heard.push(AgentEvent::Began);
        }
    }

    /// Sets the session ID. It is put on a command line later, so one that looks like an option is ignored.
    pub(crate) fn has_session(&mut self, session: &str) {
        let is_fit = !session.is_empty()
            && session.len() <= SESSION_MAX
            && !session.starts_with('-')
            && session.chars().all(|c| c.is_ascii_graphic());
        if is_fit && self.session.as_deref() != Some(session) {
            self.session = Some(session.to_owned());
            self.heard.push(AgentEvent::Session(session.to_owned()));
        }
    }

    /// Records text of the agent; it is the final message unless an action follows.
    pub(crate) fn says(&mut self, text: &str) {
        self.message = Some(text.to_owned());
        self.mentions(text);
    }

    /// Records text that is not to become the final message.
    pub(crate) fn mentions(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.heard.push(AgentEvent::Says(cut(text).to_owned()));
        }
    }

    /// Records an action of the agent. The text before it was not the final message.
    pub(crate) fn does(&mut self, text: &str) {
        self.message = None;
        self.uses(text);
    }

    /// Records an action that leaves the final message.
    pub(crate) fn uses(&mut self, text: &str) {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.heard.push(AgentEvent::Does(sayso_core::text::shorten(&line, TOOL_MAX)));
    }

    pub(crate) fn spends(&mut self, more: TokenUsage) {
        if more != TokenUsage::default() {
            self.spent += more;
            self.heard.push(AgentEvent::Spent(more));
        }
    }

    /// Sets the total usage of this turn, part of which may have been counted already.
    pub(crate) fn has_spent(&mut self, total: TokenUsage) {
        self.spends(total - self.spent);
    }

    pub(crate) fn is_limited(&mut self, limit: UsageLimit) {
        if self.limited.as_ref() != Some(&limit) {
            self.limited = Some(limit.clone());
            self.heard.push(AgentEvent::Limited(limit));
        }
    }

    /// Records an error message of the client. It may recover from it.
    pub(crate) fn has_problem(&mut self, text: &str) {
        self.problem = Some(cut(text).to_owned());
    }

    /// Records the error message that ended the turn.
    pub(crate) fn fails(&mut self, text: &str) {
        self.message = None;
        self.has_problem(text);
        self.limit_in_problem();
    }

    /// Treats the last error as the one that ended the turn, since there is no better one.
    pub(crate) fn judge_problem(&mut self) -> Vec<AgentEvent> {
        if self.limited.is_none() {
            self.limit_in_problem();
        }
        std::mem::take(&mut self.heard)
    }

    fn limit_in_problem(&mut self) {
        let problem = self.problem.as_deref().unwrap_or_default();
        if let Some(limit) = rate_limit::read(problem, &LocalNow::take()) {
            self.is_limited(limit);
        }
    }

    /// Records that the turn ended well, after any retries.
    pub(crate) fn ends_well(&mut self) {
        self.limited = None;
        self.problem = None;
    }
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TEXT_MAX)).unwrap_or(text)
}

/// Formats a raw line of a log for people; none if it has no content for them. Actions of the agent begin with a
/// star, stderr and errors of the client with an exclamation mark.
pub fn format_log_line(adapter: AgentAdapter, line: &str) -> Option<String> {
    if let Some(text) = line.strip_prefix(crate::log::STDERR) {
        return Some(format!("! {text}"));
    }
    if line.starts_with(crate::log::OURS) {
        return Some(line.to_owned());
    }
    let mut ear = OutputParser::new(adapter, TokenUsage::default());
    let mut heard = ear.line(line);
    heard.extend(ear.end(false));
    let mut lines: Vec<_> = heard.iter().filter_map(shown).collect();
    if let Some(problem) = ear.problem.filter(|_| ear.limited.is_none()) {
        lines.push(format!("! {problem}"));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn shown(heard: &AgentEvent) -> Option<String> {
    match heard {
        AgentEvent::Says(text) => Some(text.trim_end().to_owned()),
        AgentEvent::Does(text) => Some(format!("* {text}")),
        AgentEvent::Limited(limit) => Some(format!("! {}", limit.text)),
        AgentEvent::Began | AgentEvent::Session(_) | AgentEvent::Spent(_) => None,
    }
}
