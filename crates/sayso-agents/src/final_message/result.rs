//! Results in JSON: code blocks and objects with a status.

use super::markdown::ParsedMarkdown;
use super::{AgentQuestion, CLOSE, FoundSignals, OPEN};
use sayso_core::GateKind;
use serde::Deserialize;
use serde_json::Value;

/// The most broken objects that are tried; each may cost the rest of the message.
const BROKEN_MAX: usize = 64;

/// The key that makes an object a result.
const STATUS: &str = "\"status\"";

/// The fields of a result. A repeated field makes it unreadable, since it would be ambiguous.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResultFields {
    status: Value,
    summary: Value,
    question: Value,
    #[serde(rename = "questionContext")]
    question_context: Value,
    options: Value,
    issues: Value,
    confidence: Value,
}

/// Parses every result in a message.
pub(super) fn read(message: &str, markdown: &ParsedMarkdown<'_>, found: &mut FoundSignals) {
    let mut results = in_fences(markdown, found);
    results.extend(bare(message, markdown, found));
    results.sort_by_key(|(end, _)| *end);
    let mut last = None;
    for (end, fields) in results {
        match fields.status.as_str() {
            _ if is_asking(&fields) => asks(&fields, found),
            Some("completed" | "failed") => last = Some((end, fields)),
            Some(status) => {
                let status = sayso_core::text::shorten(status, 40);
                found.hints.push(format!("there is no status {status:?}"));
            }
            None => {}
        }
    }
    match last {
        Some((_, fields)) if fields.status == "failed" => found.failed = Some(reason(&fields)),
        Some((_, fields)) => {
            let confidence = confidence(&fields.confidence);
            let (summary, known) = found.completed.get_or_insert_default();
            *known = confidence;
            let said = text(&fields.summary);
            if !said.is_empty() {
                *summary = said;
            }
        }
        None => {}
    }
}

fn is_asking(fields: &ResultFields) -> bool {
    matches!(fields.status.as_str(), Some("needs_input" | "blocked"))
}

/// Results with the positions where they end.
type PlacedResults = Vec<(usize, ResultFields)>;

fn in_fences(markdown: &ParsedMarkdown<'_>, found: &mut FoundSignals) -> PlacedResults {
    let mut results = vec![];
    for fence in &markdown.fences {
        if !fence.may_hold_a_result() || !fence.content.contains("status") {
            continue;
        }
        match serde_json::from_str(fence.content) {
            Ok(fields) if fence.is_json() || is_asking(&fields) => {
                results.push((fence.end, fields))
            }
            // Without a language the block may be an example.
            Ok(_) => found.hints.push("a result must stand in a code block marked json".into()),
            Err(_) if !fence.is_json() => {}
            Err(error) => found.doubts(broken(&error)),
        }
    }
    results
}

/// Parses objects that begin a line outside of code. One that reports completion or failure must come last; a
/// question counts at any position.
fn bare(message: &str, markdown: &ParsedMarkdown<'_>, found: &mut FoundSignals) -> PlacedResults {
    let (mut asking, mut last) = (vec![], None);
    let (mut tried, mut read_to) = (0, 0);
    let mut broken_from: Option<(usize, serde_json::Error)> = None;
    for start in line_starts(&markdown.plain) {
        if start < read_to {
            continue;
        }
        if let Some((from, error)) = broken_from.take() {
            doubt_if_result(markdown, from..start, &error, found);
        }
        if tried >= BROKEN_MAX {
            found.doubts("there is too much broken JSON: write one object");
            break;
        }
        let rest = message.get(start..).unwrap_or_default();
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<ResultFields>();
        match stream.next() {
            Some(Ok(fields)) => {
                read_to = start + stream.byte_offset();
                if is_asking(&fields) {
                    asking.push((read_to, fields))
                } else {
                    last = Some((read_to, fields))
                }
            }
            Some(Err(error)) => {
                tried += 1;
                broken_from = Some((start, error));
            }
            None => {}
        }
    }
    if let Some((from, error)) = broken_from {
        doubt_if_result(markdown, from..message.len(), &error, found);
    }
    let is_last = |end: usize| is_nothing_but_signals(message.get(end..).unwrap_or_default());
    asking.extend(last.filter(|(end, _)| is_last(*end)));
    asking
}

/// Returns the positions of lines that begin like a JSON object; other braces belong to other languages.
fn line_starts(plain: &str) -> impl Iterator<Item = usize> {
    let mut at = 0;
    plain.split_inclusive('\n').filter_map(move |line| {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let start = at + indent;
        at += line.len();
        let inside = plain.get(start..)?.strip_prefix('{')?;
        inside.trim_start().starts_with(['"', '}']).then_some(start)
    })
}

fn is_nothing_but_signals(rest: &str) -> bool {
    let mut rest = rest.trim_start();
    while let Some(behind) = rest.strip_prefix(OPEN) {
        let Some((_, behind)) = behind.split_once(CLOSE) else { return false };
        rest = behind.trim_start();
    }
    rest.is_empty()
}

fn doubt_if_result(
    markdown: &ParsedMarkdown<'_>,
    part: std::ops::Range<usize>,
    error: &serde_json::Error,
    found: &mut FoundSignals,
) {
    if markdown.plain.get(part).is_some_and(|part| part.contains(STATUS)) {
        found.doubts(broken(error));
    }
}

fn broken(error: &serde_json::Error) -> String {
    format!("the JSON with a status cannot be read ({error}): write one valid object")
}

/// Adds the question of a result. An agent that is blocked without a question needs direction.
fn asks(fields: &ResultFields, found: &mut FoundSignals) {
    let question = text(&fields.question);
    let (kind, question) = match fields.status.as_str() {
        Some("blocked") if question.is_empty() => (GateKind::Escalation, reason(fields)),
        _ => (GateKind::Input, question),
    };
    if question.is_empty() {
        return found.doubts("the JSON asks for a person but its question is empty");
    }
    let mut context = vec![text(&fields.question_context)];
    if kind == GateKind::Input {
        context.extend([text(&fields.summary), issues(fields)]);
    }
    context.retain(|part| !part.is_empty());
    let options = fields.options.as_array().into_iter().flatten().map(option);
    let options = options.filter(|option| !option.is_empty()).collect();
    found.asks(AgentQuestion { kind, question, context: context.join("\n\n"), options });
}

/// Returns an option, which may be a text or an object that holds one.
fn option(value: &Value) -> String {
    let named = ["label", "name", "title", "value"].iter().find_map(|name| value.get(name));
    text(named.unwrap_or(value))
}

fn reason(fields: &ResultFields) -> String {
    let mut parts = vec![text(&fields.summary), issues(fields)];
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn issues(fields: &ResultFields) -> String {
    match &fields.issues {
        Value::Array(issues) => {
            let lines = issues.iter().map(text).filter(|issue| !issue.is_empty());
            lines.map(|issue| format!("- {issue}")).collect::<Vec<_>>().join("\n")
        }
        other => text(other),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.trim().to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Converts a number from zero to one to percent; any other value is ignored.
fn confidence(value: &Value) -> Option<u8> {
    let share = value.as_f64().filter(|share| (0.0..=1.0).contains(share))?;
    Some((share * 100.0).round() as u8)
}
