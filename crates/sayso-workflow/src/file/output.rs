//! What a step gave, as the expressions of its phase see it.

use sayso_engine::worker::Stepped;
use serde_json::{Value, json};

/// What an agent gave: `text`, its final message; `summary`; `confidence` from 0 to 1, where it said how
/// sure it is; and `json`, the last block of JSON in its message, where there is one.
pub fn agent_output(stepped: &Stepped) -> Value {
    let text = without_signal(&stepped.text);
    let mut output = json!({"text": text, "summary": stepped.summary});
    if let Some(percent) = stepped.confidence {
        output["confidence"] = json!(f64::from(percent) / 100.0);
    }
    if let Some(block) = last_block(text) {
        output["json"] = block;
    }
    output
}

/// What a command gave: `text`, what it printed; `code`, what it ended with; and `json`, where all of
/// what it printed is JSON.
pub fn command_output(text: &str, code: i32, is_cut: bool) -> Value {
    let mut output = json!({"text": text, "code": code});
    // What was cut may be JSON by accident.
    if let (Ok(value), false) = (serde_json::from_str::<Value>(text), is_cut) {
        output["json"] = value;
    }
    output
}

/// The output of a phase with `each`, from the outputs for its items.
pub fn gathered(outputs: Vec<Value>) -> Value {
    let text = |output: &Value| output.get("text").and_then(Value::as_str).map(str::to_owned);
    let texts: Vec<String> = outputs.iter().filter_map(text).collect();
    json!({"text": texts.join("\n"), "items": outputs})
}

/// A message without the line by which its agent ended the turn.
fn without_signal(text: &str) -> &str {
    let text = text.trim();
    let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
    let is_signal = last.starts_with("<promise>") && last.ends_with("</promise>");
    if is_signal { before.trim_end() } else { text }
}

/// The last block of code marked json that is JSON.
fn last_block(text: &str) -> Option<Value> {
    let mut found = None;
    let mut block: Option<String> = None;
    for line in text.lines() {
        let fence = line.trim();
        match &mut block {
            None if fence == "```json" => block = Some(String::new()),
            None => {}
            Some(inner) if fence == "```" => {
                found = serde_json::from_str(inner).ok().or(found);
                block = None;
            }
            Some(inner) => {
                inner.push_str(line);
                inner.push('\n');
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_gave() {
        let text = "Looked.\n```json\n{\"a\": 1}\n```\n```json\n{\"b\": 2}\n```\n<promise>COMPLETE</promise>\n";
        let stepped = Stepped {
            summary: "looked".into(),
            confidence: Some(85),
            text: text.into(),
            commit: String::new(),
        };
        let output = agent_output(&stepped);
        assert_eq!(output["confidence"], json!(0.85));
        assert_eq!(output["json"], json!({"b": 2}));
        assert!(!output["text"].to_string().contains("promise"), "{output}");
        let plain = agent_output(&Stepped { confidence: None, text: "Done.".into(), ..stepped });
        assert_eq!(plain, json!({"text": "Done.", "summary": "looked"}));
    }

    #[test]
    fn what_a_command_gave() {
        let json = command_output("{\"a\": [1]}", 0, false);
        assert_eq!(json["json"]["a"], json!([1]));
        for (text, is_cut) in [("plain", false), ("", false), ("{\"a\": 1}", true)] {
            assert_eq!(command_output(text, 3, is_cut), json!({"text": text, "code": 3}));
        }
    }
}
