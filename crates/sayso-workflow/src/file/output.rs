//! The output of a step, as the expressions of its phase see it.

use sayso_engine::worker::CompletedStep;
use serde_json::{Value, json};

/// The maximum number of bytes of a text that expressions see: its end. It is shown to people, and a card takes only
/// a few such texts.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Returns the output of an agent: `text`, its final message; `cut`, true if its beginning was cut off; `summary`;
/// `confidence` from 0 to 1, where it was stated; and `json`, the last block of JSON in its message, where there is
/// one.
pub fn agent_output(stepped: &CompletedStep) -> Value {
    let text = without_signal(&stepped.text);
    let (shown, left_out) = shortened(text, 0, (0, TEXT_BYTES_MAX));
    let mut output = json!({"text": shown, "cut": left_out > 0, "summary": stepped.summary});
    if let Some(percent) = stepped.confidence {
        output["confidence"] = json!(f64::from(percent) / 100.0);
    }
    if let Some(block) = last_block(text) {
        output["json"] = block;
    }
    output
}

/// Returns the output of a command: `text`, its standard output; `cut`, true if its beginning was cut off; `code`,
/// its exit code; and `json`, where all of its output is JSON. `left_out` is the number of bytes that are missing
/// already.
pub fn command_output(text: &str, code: i32, left_out: u64) -> Value {
    // A text that was cut may be JSON by accident.
    let json = serde_json::from_str::<Value>(text).ok().filter(|_| left_out == 0);
    let (text, left_out) = shortened(text, left_out, (0, TEXT_BYTES_MAX));
    let mut output = json!({"text": text, "cut": left_out > 0, "code": code});
    if let Some(json) = json {
        output["json"] = json;
    }
    output
}

/// Returns the output of a phase with `each`, from the outputs for its items.
pub fn gathered(outputs: Vec<Value>) -> Value {
    let text = |output: &Value| output.get("text").and_then(Value::as_str).map(str::to_owned);
    let texts: Vec<String> = outputs.iter().filter_map(text).collect();
    let is_cut = |output: &Value| output.get("cut").and_then(Value::as_bool) == Some(true);
    let (text, left_out) = shortened(&texts.join("\n"), 0, (0, TEXT_BYTES_MAX));
    json!({"text": text, "cut": left_out > 0 || outputs.iter().any(is_cut), "items": outputs})
}

/// Shortens a text to so many bytes of its beginning and its end, with a line that says how many are missing. Nothing
/// is left out without saying so.
pub(super) fn shortened(text: &str, left_out: u64, (head, tail): (usize, usize)) -> (String, u64) {
    if text.len() <= head + tail && left_out == 0 {
        return (text.to_owned(), 0);
    }
    let head = (0..=head.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let tail = text.len().saturating_sub(tail).max(head);
    let tail = (tail..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let left_out = left_out + (tail - head) as u64;
    let before = if head == 0 { String::new() } else { format!("{}\n", &text[..head]) };
    (format!("{before}({left_out} bytes left out)\n{}", &text[tail..]), left_out)
}

/// Returns a message without the signal line by which its agent ended the turn.
fn without_signal(text: &str) -> &str {
    let text = text.trim();
    let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
    let is_signal = last.starts_with("<promise>") && last.ends_with("</promise>");
    if is_signal { before.trim_end() } else { text }
}

/// Returns the last JSON in a message: in a block of code that is marked json or unmarked, or a mapping or list that
/// begins a line of its own, such as the result by which an agent ends its turn.
fn last_block(text: &str) -> Option<Value> {
    let (mut found, mut at) = (None, 0);
    // Of the present block of code: true if it may be JSON.
    let mut block: Option<bool> = None;
    while at < text.len() {
        let rest = &text[at..];
        let line = rest.lines().next().unwrap_or_default();
        let (begins, mut end) = (line.trim(), at + line.len());
        if let Some(mark) = begins.strip_prefix("```") {
            block = match block {
                Some(_) => None,
                None => Some(matches!(mark.trim().to_ascii_lowercase().as_str(), "" | "json")),
            };
        } else if block != Some(false) {
            let is_marked = block == Some(true);
            if let Some((value, bytes)) = json_at(rest, is_marked) {
                (found, end) = (Some(value), at + bytes);
            }
        }
        at = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
    }
    found
}

/// Parses the JSON that begins here and ends with a line, and returns its length. A bare word or number counts only
/// in a block that is marked as JSON.
fn json_at(text: &str, is_marked: bool) -> Option<(Value, usize)> {
    let is_bare = !text.trim_start().starts_with(['{', '[']);
    if text.trim_start().is_empty() || (is_bare && !is_marked) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let bytes = values.byte_offset();
    let is_end = text[bytes..].lines().next().unwrap_or_default().trim().is_empty();
    is_end.then_some((value, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_gave() {
        let text = "Looked.\n```json\n{\"a\": 1}\n```\n```json\n{\"b\": 2}\n```\n<promise>COMPLETE</promise>\n";
        let stepped = CompletedStep {
            summary: "looked".into(),
            confidence: Some(85),
            text: text.into(),
            commit: String::new(),
        };
        let output = agent_output(&stepped);
        assert_eq!(output["confidence"], json!(0.85));
        assert_eq!(output["json"], json!({"b": 2}));
        assert!(!output["text"].to_string().contains("promise"), "{output}");
        let plain =
            agent_output(&CompletedStep { confidence: None, text: "Done.".into(), ..stepped });
        assert_eq!(plain, json!({"text": "Done.", "cut": false, "summary": "looked"}));
    }

    /// In each notation, also in the block by which the agent ended its turn.
    #[test]
    fn the_last_json_of_a_message_is_found() {
        for (text, expected) in [
            ("```json\n{\"a\": 1}\n```", Some(json!({"a": 1}))),
            ("```JSON\n[1,\n 2]\n```\nThat is all.", Some(json!([1, 2]))),
            ("```\n{\"a\": 1}\n```", Some(json!({"a": 1}))),
            (
                "Done.\n\n{\"status\": \"completed\",\n  \"n\": {\"x\": 1}}\n",
                Some(json!({"status": "completed", "n": {"x": 1}})),
            ),
            ("```json\n{\"a\": 1}\n```\n{\"b\": 2}", Some(json!({"b": 2}))),
            ("```python\n{\"a\": 1}\n```", None),
            ("```json\nnot yet\n```\n[1] is a note", None),
            ("It says {\"a\": 1} somewhere, and 5.\n5\n", None),
            ("{", None),
            ("", None),
        ] {
            assert_eq!(last_block(text), expected, "{text}");
        }
    }

    #[test]
    fn what_a_command_gave() {
        let json = command_output("{\"a\": [1]}", 0, 0);
        assert_eq!(json["json"]["a"], json!([1]));
        for text in ["plain", ""] {
            assert_eq!(command_output(text, 3, 0), json!({"text": text, "cut": false, "code": 3}));
        }
        let cut = command_output("{\"a\": 1}", 0, 7);
        assert_eq!(cut, json!({"text": "(7 bytes left out)\n{\"a\": 1}", "cut": true, "code": 0}));
    }

    /// A cut text says how much is missing; JSON is read before anything is left out.
    #[test]
    fn what_is_long_is_cut_and_says_so() {
        let long = format!("[\"{}ü\"]", "x".repeat(TEXT_BYTES_MAX));
        let output = command_output(&long, 0, 0);
        assert_eq!(output["cut"], json!(true));
        assert_eq!(output["json"][0].as_str().map(str::len), Some(TEXT_BYTES_MAX + 2));
        let text = output["text"].as_str().unwrap_or_default();
        assert!(
            text.starts_with("(6 bytes left out)\nx") && text.ends_with("ü\"]"),
            "{}",
            &text[..40]
        );
        let each = gathered(vec![output.clone(), json!({"text": "short", "cut": false})]);
        assert_eq!(each["cut"], json!(true));
        assert_eq!(gathered(vec![])["cut"], json!(false));
        let (middle, left_out) = shortened("üabcdefü", 0, (3, 3));
        assert_eq!((middle.as_str(), left_out), ("üa\n(4 bytes left out)\nfü", 4));
    }
}
