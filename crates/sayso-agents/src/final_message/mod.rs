//! The final message of an agent: parses its signals and results into the outcome of a turn.
//!
//! An agent reports by signals, `<promise>COMPLETE</promise>` or `<promise>NAME: context for a person</promise>`,
//! or by a result in JSON, in a fenced `json` block or as an object of its own: `{"status":
//! "completed|failed|blocked|needs_input", "summary", "question", "questionContext", "options", "issues",
//! "confidence"}`. Text in other code or in a quote is an example or a citation, and does not count.
//!
//! A message may hold several of them. Then a question has priority over all: it is never lost, and there may be
//! several. Next comes doubt: a signal that is misspelt, unclosed or empty, or broken JSON with a status. Then
//! failure, and only the rest can count as completed. Of several results the last one counts, but a question in an
//! earlier one still does.

mod markdown;
mod result;
#[cfg(test)]
mod tests;

use markdown::ParsedMarkdown;
use sayso_core::GateKind;
use sayso_core::text::shorten;

/// The most questions that one message may hold.
const REQUESTS_MAX: usize = 32;

/// The most characters of the agent's prose that serve as a summary when it gave none.
const SUMMARY_MAX: usize = 2_000;

const OPEN: &str = "<promise>";
const CLOSE: &str = "</promise>";

/// The names of signals that ask, and the gate kind of each.
const ASKING: &[(&str, GateKind)] = &[
    ("EJECT", GateKind::Work),
    ("BLOCKED", GateKind::Input),
    ("APPROVAL_NEEDED", GateKind::Approval),
    ("INPUT_NEEDED", GateKind::Input),
    ("REVIEW_REQUESTED", GateKind::Review),
    ("CONTENT_REVIEW", GateKind::Content),
    ("ESCALATE", GateKind::Escalation),
    ("CHECKPOINT", GateKind::Checkpoint),
];

const COMPLETE: &str = "COMPLETE";

/// The outcome that a final message reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnResult {
    /// The work is done.
    Completed {
        /// The agent's summary of the work.
        summary: String,
        /// The agent's confidence, in percent.
        confidence: Option<u8>,
    },
    /// The agent gave up.
    Failed {
        /// The agent's explanation.
        reason: String,
    },
    /// The agent needs people.
    Asks(Vec<AgentQuestion>),
    /// No outcome that can be acted upon.
    Unclear {
        /// The problem, worded for the agent.
        why: String,
    },
}

/// One question of an agent to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentQuestion {
    /// The kind of gate.
    pub kind: GateKind,
    pub question: String,
    /// The context that a person needs for the answer.
    pub context: String,
    /// The options to choose from.
    pub options: Vec<String>,
}

/// Everything found in a message.
#[derive(Debug, Default)]
struct FoundSignals {
    requests: Vec<AgentQuestion>,
    doubts: Vec<String>,
    failed: Option<String>,
    /// The summary and the confidence of a signal or result that reports completion.
    completed: Option<(String, Option<u8>)>,
    /// Hints for the agent about parts that do not count.
    hints: Vec<String>,
}

/// Parses a final message.
pub fn read(message: &str) -> TurnResult {
    if message.trim().is_empty() {
        return TurnResult::Unclear { why: format!("the final message is empty. {HOW}") };
    }
    let markdown = ParsedMarkdown::of(message);
    let mut found = FoundSignals::default();
    signals(message, &markdown, &mut found);
    result::read(message, &markdown, &mut found);
    doubtful_code(&markdown, &mut found);
    found.amounts_to(message)
}

/// The instruction for an agent that has not ended with a signal.
const HOW: &str = "End with <promise>COMPLETE</promise> when all is done, or with \
     <promise>INPUT_NEEDED: your question</promise> when you need a person";

impl FoundSignals {
    fn amounts_to(mut self, message: &str) -> TurnResult {
        if self.requests.len() > REQUESTS_MAX {
            let why =
                format!("there are more than {REQUESTS_MAX} questions: ask what matters most");
            return TurnResult::Unclear { why };
        }
        if !self.requests.is_empty() {
            return TurnResult::Asks(self.requests);
        }
        if !self.doubts.is_empty() {
            self.doubts.truncate(3);
            return TurnResult::Unclear { why: self.doubts.join("; ") };
        }
        if let Some(reason) = self.failed {
            let reason = if reason.is_empty() { prose(message) } else { reason };
            return TurnResult::Failed { reason };
        }
        if let Some((summary, confidence)) = self.completed {
            let summary = if summary.is_empty() { prose(message) } else { summary };
            return TurnResult::Completed { summary, confidence };
        }
        let hint = self.hints.pop().map_or(String::new(), |hint| format!(" ({hint})"));
        TurnResult::Unclear { why: format!("the final message holds no signal{hint}. {HOW}") }
    }

    /// Adds a question. One that is asked both ways is added once.
    fn asks(&mut self, request: AgentQuestion) {
        let is_same = |other: &AgentQuestion| {
            other.question == request.question && other.kind == request.kind
        };
        // Beyond the limit the message is refused as a whole, so further ones need not be kept.
        let is_full = self.requests.len() > REQUESTS_MAX;
        if !is_full && !self.requests.iter().any(is_same) {
            self.requests.push(request);
        }
    }

    fn doubts(&mut self, why: impl Into<String>) {
        // More than a few doubts do not help the agent.
        if self.doubts.len() < 8 {
            self.doubts.push(why.into());
        }
    }
}

/// Parses the signals outside of code and quotes.
fn signals(message: &str, markdown: &ParsedMarkdown, found: &mut FoundSignals) {
    let mut opened = None;
    for tag in tags(&markdown.plain) {
        match (tag.kind, opened) {
            (TagKind::Odd, _) => {
                found.doubts(format!("a tag must read exactly {OPEN} or {CLOSE}, in lower case"));
            }
            (TagKind::Open, before) => {
                if before.is_some() {
                    found.doubts(format!("a {OPEN} was not closed before the next one"));
                }
                opened = Some((tag.start, tag.end));
            }
            (TagKind::Close, None) => found.doubts(format!("a {CLOSE} has no {OPEN} before it")),
            (TagKind::Close, Some((begins, start))) => {
                opened = None;
                let stands_alone = stands_alone(&markdown.plain, begins, tag.end);
                let body = message.get(start..tag.start).unwrap_or_default();
                signal(body, stands_alone, found);
            }
        }
    }
    if opened.is_some() {
        found.doubts(format!("a {OPEN} was not closed: write {CLOSE} behind it"));
    }
}

/// True if a signal is a line of its own, not indented like code, and only code follows it.
fn stands_alone(plain: &str, begins: usize, ends: usize) -> bool {
    let before = plain.get(..begins).unwrap_or_default();
    let before = before.rsplit('\n').next().unwrap_or_default();
    let is_indented = before.len() > 3 || before.contains('\t');
    before.trim().is_empty()
        && !is_indented
        && plain.get(ends..).is_some_and(|s| s.trim().is_empty())
}

struct PromiseTag {
    kind: TagKind,
    start: usize,
    end: usize,
}

#[derive(Clone, Copy)]
enum TagKind {
    Open,
    Close,
    Odd,
}

/// Returns the tags in a text, and misspelt ones.
fn tags(plain: &str) -> impl Iterator<Item = PromiseTag> {
    plain.match_indices('<').filter_map(|(start, _)| {
        let rest = plain.get(start..)?;
        for (tag, kind) in [(OPEN, TagKind::Open), (CLOSE, TagKind::Close)] {
            if rest.starts_with(tag) {
                return Some(PromiseTag { kind, start, end: start + tag.len() });
            }
        }
        looks_like_a_tag(rest).then_some(PromiseTag { kind: TagKind::Odd, start, end: start + 1 })
    })
}

/// True for `<PROMISE>`, `< promise >`, `</Promise>`, `<promise name="x">`.
fn looks_like_a_tag(rest: &str) -> bool {
    let rest = rest.strip_prefix('<').unwrap_or(rest).trim_start_matches([' ', '/']);
    let Some((word, behind)) = rest.split_at_checked("promise".len()) else { return false };
    word.eq_ignore_ascii_case("promise") && behind.starts_with(['>', ' ', '\t', '/', '\n'])
}

/// Parses the text between the tags.
fn signal(body: &str, stands_alone: bool, found: &mut FoundSignals) {
    let (name, context) = body.split_once(':').unwrap_or((body, ""));
    let (name, context) = (name.trim(), context.trim());
    // A question counts at any position; "I did not write COMPLETE" must not complete the task.
    if name == COMPLETE && !stands_alone {
        return found.doubts(format!("{OPEN}{COMPLETE}{CLOSE} must stand alone on the last line"));
    }
    if name == COMPLETE {
        let (summary, _) = found.completed.get_or_insert_default();
        if summary.is_empty() {
            *summary = context.to_owned();
        }
        return;
    }
    let Some((_, kind)) = ASKING.iter().find(|(known, _)| *known == name) else {
        return found.doubts(unknown(name));
    };
    if context.is_empty() {
        let why =
            format!("{name} says nothing: write {OPEN}{name}: what a person must know{CLOSE}");
        return found.doubts(why);
    }
    let (question, rest) = context.split_once('\n').unwrap_or((context, ""));
    found.asks(AgentQuestion {
        kind: *kind,
        question: question.trim().to_owned(),
        context: rest.trim().to_owned(),
        options: vec![],
    });
}

fn unknown(name: &str) -> String {
    let known = ASKING.iter().map(|(known, _)| *known).chain([COMPLETE]);
    let mut alike = known.clone().filter(|known| known.eq_ignore_ascii_case(name));
    if let Some(alike) = alike.next() {
        return format!("names of signals are in capitals: write {alike}");
    }
    let known: Vec<_> = known.collect();
    let shown = shorten(&name.split_whitespace().collect::<Vec<_>>().join(" "), 60);
    format!("there is no signal {shown:?}: the names are {}", known.join(", "))
}

/// Reports unclosed code, which may hide a signal.
fn doubtful_code(markdown: &ParsedMarkdown, found: &mut FoundSignals) {
    for fence in &markdown.fences {
        let speaks = fence.content.contains("promise>") || fence.content.contains("\"status\"");
        if speaks && !fence.is_certain {
            found.doubts("a code block is not closed, and what follows it may be lost: close it");
        } else if speaks && !fence.may_hold_a_result() {
            found.hints.push("what stands in a code block does not count".into());
        }
    }
}

/// Returns the agent's text without its signals.
fn prose(message: &str) -> String {
    let mut prose = String::new();
    let mut rest = message;
    while let Some((before, behind)) = rest.split_once(OPEN) {
        prose.push_str(before);
        rest = behind.split_once(CLOSE).map_or("", |(_, behind)| behind);
    }
    prose.push_str(rest);
    prose.trim().chars().take(SUMMARY_MAX).collect()
}
