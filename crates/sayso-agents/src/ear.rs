//! Listens to the lines of one client and gathers what they amount to.

use crate::agent::Adapter;
use crate::clients;
use crate::heard::{Heard, Limit, Spent};
use crate::limit::{self, Now};

/// How much of what an agent says or does is passed on at once.
const TEXT_MAX: usize = 16 * 1024;

/// How long a session's name may be.
const SESSION_MAX: usize = 256;

/// How long the line for a tool may be.
const TOOL_MAX: usize = 200;

/// What was gathered from the lines of one turn.
#[derive(Debug)]
pub(crate) struct Ear {
    adapter: Adapter,
    /// Heard, and not yet passed on.
    heard: Vec<Heard>,
    pub(crate) began: bool,
    pub(crate) session: Option<String>,
    /// The last thing said that nothing was done after.
    pub(crate) message: Option<String>,
    pub(crate) spent: Spent,
    /// What the client counts from the start of the session, before this turn.
    pub(crate) spent_before: Spent,
    pub(crate) limited: Option<Limit>,
    pub(crate) problem: Option<String>,
    pub(crate) session_gone: bool,
    pub(crate) deferred: bool,
    /// What one client must remember between lines.
    pub(crate) memory: clients::Memory,
}

impl Ear {
    pub(crate) fn new(adapter: Adapter, spent_before: Spent) -> Self {
        Self {
            adapter,
            heard: vec![],
            began: false,
            session: None,
            message: None,
            spent: Spent::default(),
            spent_before,
            limited: None,
            problem: None,
            session_gone: false,
            deferred: false,
            memory: clients::Memory::default(),
        }
    }

    /// Takes in a line of stdout.
    pub(crate) fn line(&mut self, line: &str) -> Vec<Heard> {
        clients::hear(self.adapter, line, self);
        std::mem::take(&mut self.heard)
    }

    /// Takes in that so much of a line was too long to be read.
    pub(crate) fn misses(&mut self, bytes: usize) {
        clients::miss(self.adapter, bytes, self);
    }

    /// Takes in that there will be no more lines.
    pub(crate) fn end(&mut self, is_clean: bool) -> Vec<Heard> {
        clients::end(self.adapter, is_clean, self);
        std::mem::take(&mut self.heard)
    }

    pub(crate) fn begins(&mut self) {
        if !self.began {
            self.began = true;
            self.heard.push(Heard::Began);
        }
    }

    /// A session is put on a command line later, so what could be taken for an option is none.
    pub(crate) fn has_session(&mut self, session: &str) {
        let is_fit = !session.is_empty()
            && session.len() <= SESSION_MAX
            && !session.starts_with('-')
            && session.chars().all(|c| c.is_ascii_graphic());
        if is_fit && self.session.as_deref() != Some(session) {
            self.session = Some(session.to_owned());
            self.heard.push(Heard::Session(session.to_owned()));
        }
    }

    /// Something said; until something is done after it, it is the final message.
    pub(crate) fn says(&mut self, text: &str) {
        self.message = Some(text.to_owned());
        self.mentions(text);
    }

    /// Something said that is not to become the final message.
    pub(crate) fn mentions(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.heard.push(Heard::Says(cut(text).to_owned()));
        }
    }

    /// Something done. What was said before it was not the end.
    pub(crate) fn does(&mut self, text: &str) {
        self.message = None;
        self.uses(text);
    }

    /// Something done that does not touch the final message.
    pub(crate) fn uses(&mut self, text: &str) {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.heard.push(Heard::Does(sayso_core::text::shorten(&line, TOOL_MAX)));
    }

    /// Uses a little more.
    pub(crate) fn spends(&mut self, more: Spent) {
        if more != Spent::default() {
            self.spent += more;
            self.heard.push(Heard::Spent(more));
        }
    }

    /// Has used this much in this turn, of which some may have been counted already.
    pub(crate) fn has_spent(&mut self, total: Spent) {
        self.spends(total - self.spent);
    }

    pub(crate) fn is_limited(&mut self, limit: Limit) {
        if self.limited.as_ref() != Some(&limit) {
            self.limited = Some(limit.clone());
            self.heard.push(Heard::Limited(limit));
        }
    }

    /// The client says in its own words what went wrong. It may get over it.
    pub(crate) fn has_problem(&mut self, text: &str) {
        self.problem = Some(cut(text).to_owned());
    }

    /// The client says in its own words what ended the turn.
    pub(crate) fn fails(&mut self, text: &str) {
        self.message = None;
        self.has_problem(text);
        self.limit_in_problem();
    }

    /// Takes the last problem for what ended the turn, since nothing better came.
    pub(crate) fn judge_problem(&mut self) -> Vec<Heard> {
        if self.limited.is_none() {
            self.limit_in_problem();
        }
        std::mem::take(&mut self.heard)
    }

    fn limit_in_problem(&mut self) {
        let problem = self.problem.as_deref().unwrap_or_default();
        if let Some(limit) = limit::read(problem, &Now::take()) {
            self.is_limited(limit);
        }
    }

    /// The turn ended well, whatever had to be retried on the way.
    pub(crate) fn ends_well(&mut self) {
        self.limited = None;
        self.problem = None;
    }
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TEXT_MAX)).unwrap_or(text)
}

/// A raw line of a log as a line for people; none if it says nothing to them. What the agent does
/// begins with a star, what the client wrote on stderr or complained about with an exclamation mark.
pub fn readable(adapter: Adapter, line: &str) -> Option<String> {
    if let Some(text) = line.strip_prefix(crate::log::STDERR) {
        return Some(format!("! {text}"));
    }
    if line.starts_with(crate::log::OURS) {
        return Some(line.to_owned());
    }
    let mut ear = Ear::new(adapter, Spent::default());
    let mut heard = ear.line(line);
    heard.extend(ear.end(false));
    let mut lines: Vec<_> = heard.iter().filter_map(shown).collect();
    if let Some(problem) = ear.problem.filter(|_| ear.limited.is_none()) {
        lines.push(format!("! {problem}"));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn shown(heard: &Heard) -> Option<String> {
    match heard {
        Heard::Says(text) => Some(text.trim_end().to_owned()),
        Heard::Does(text) => Some(format!("* {text}")),
        Heard::Limited(limit) => Some(format!("! {}", limit.text)),
        Heard::Began | Heard::Session(_) | Heard::Spent(_) => None,
    }
}
