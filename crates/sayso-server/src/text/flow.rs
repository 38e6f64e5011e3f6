//! Texts about flows and their events.

use sayso_core::Verdict;
use sayso_core::flow::{FlowLogEvent, QuestionOutcome};
use sayso_core::gate::Gate;
use sayso_core::text::{sanitize_line, shorten};
use serde_json::Value;

/// The most of a step's output that stands in a line.
const OUTPUT_CHARS_MAX: usize = 100;

/// The most of the reason for a stuck flow that stands in a line.
const WHY_CHARS_MAX: usize = 300;

/// Returns the text of an event of a flow; none for events that only concern the process that runs it. `asked` is the
/// gate of a question.
pub fn flow_event(event: &FlowLogEvent, asked: Option<&Gate>) -> Option<String> {
    Some(match event {
        FlowLogEvent::Started(started) => {
            let (by, phase) = (sanitize_line(&started.launcher), sanitize_line(&started.phase));
            format!("begun by {by} in {phase}")
        }
        FlowLogEvent::Completed { output, .. } => format!("done: {}", brief(output)),
        FlowLogEvent::Asked { .. } => match asked {
            Some(gate) => format!("asked: {}", sanitize_line(&gate.card.question)),
            None => "asked".into(),
        },
        FlowLogEvent::Heard { heard, .. } => said(heard),
        FlowLogEvent::Moved { to, .. } => format!("to {}", sanitize_line(to)),
        FlowLogEvent::Ended { how, note, .. } => {
            format!("{} {}", how.as_str(), sanitize_line(note)).trim_end().to_owned()
        }
        FlowLogEvent::Adopted { home } => {
            let place = home.place.in_words();
            format!(
                "taken over by {}, goes on in {}",
                sanitize_line(&home.name),
                sanitize_line(&place)
            )
        }
        FlowLogEvent::Stuck { why } => {
            format!("stuck: {}", shorten(&sanitize_line(why), WHY_CHARS_MAX))
        }
        FlowLogEvent::Taken { .. }
        | FlowLogEvent::Kept { .. }
        | FlowLogEvent::Released
        | FlowLogEvent::Unknown => return None,
    })
}

fn said(heard: &QuestionOutcome) -> String {
    let by = sanitize_line(&heard.by);
    let Some(answer) = &heard.answer else {
        return format!("ended without an answer: {}", heard.ended);
    };
    let reason = answer.reason.as_deref().map(sanitize_line);
    let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let text = match answer.verdict {
        Verdict::Rejected if answer.content.is_empty() => "no: it is rejected".to_owned(),
        Verdict::Rejected => format!("no: {}", sanitize_line(&answer.as_text())),
        Verdict::Approved | Verdict::Answered => sanitize_line(&answer.as_text()),
    };
    match heard.gate {
        Some(_) => format!("{by} said {text}{reason}"),
        // The person is not known.
        None => format!("{text}{reason}, by way of {by}"),
    }
}

/// Returns the output of a step, in a line.
fn brief(output: &Value) -> String {
    let text = ["summary", "text"].iter().find_map(|key| output.get(key).and_then(Value::as_str));
    let text = text.map_or_else(|| output.to_string(), str::to_owned);
    shorten(&sanitize_line(&text), OUTPUT_CHARS_MAX)
}
