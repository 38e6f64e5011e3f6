//! Short forms for lists: long texts are cut, and the fields that were cut are named. The whole is at the thing
//! itself.

use super::{FactJson, GateJson, TaskJson};
use crate::cards::CardJson;
use serde_json::Value;

/// The most bytes of a long text that a list shows.
const TEXT_BYTES_MAX: usize = 1_000;

/// The most bytes of the values of a gate, such as facts and forms, that a list shows.
const VALUES_BYTES_MAX: usize = 4_000;

/// The most bytes of a gate's words other than its texts that a list shows.
const WORDS_BYTES_MAX: usize = 4_000;

/// A wire type that a list shows without its long texts.
pub(crate) trait ShortForm: Sized {
    /// Returns the form that a list shows.
    fn short(self) -> Self;
}

/// Cuts a text, and adds its name to those that were cut.
fn cut(text: &mut String, name: &str, shortened: &mut Vec<String>) {
    if text.len() <= TEXT_BYTES_MAX {
        return;
    }
    let end = (0..=TEXT_BYTES_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.truncate(end);
    text.push('…');
    shortened.push(name.to_owned());
}

fn len(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(len).sum::<usize>() + items.len(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + len(value)).sum(),
    }
}

impl ShortForm for TaskJson {
    fn short(mut self) -> Self {
        let mut shortened = std::mem::take(&mut self.shortened);
        cut(&mut self.description, "description", &mut shortened);
        if let Some(reason) = &mut self.closed_because {
            cut(reason, "closed_because", &mut shortened);
        }
        self.shortened = shortened;
        self.gates = self.gates.into_iter().map(ShortForm::short).collect();
        self
    }
}

impl ShortForm for GateJson {
    fn short(mut self) -> Self {
        let mut shortened = std::mem::take(&mut self.shortened);
        cut(&mut self.question, "question", &mut shortened);
        cut(&mut self.context, "context", &mut shortened);
        let facts =
            |facts: &[FactJson]| facts.iter().map(|it| it.name.len() + len(&it.value)).sum();
        let facts: usize = facts(&self.facts);
        if facts > VALUES_BYTES_MAX {
            self.facts.clear();
            shortened.push("facts".into());
        }
        let options = self.options.iter().map(|it| it.name.len() + it.consequence.len());
        if options.sum::<usize>() > WORDS_BYTES_MAX {
            self.options.clear();
            shortened.push("options".into());
        }
        if self.schema.as_ref().is_some_and(|schema| len(schema) > VALUES_BYTES_MAX) {
            self.schema = None;
            shortened.push("schema".into());
        }
        let said = |answer: &super::AnswerJson| {
            let values = [&answer.form, &answer.arguments].into_iter().flatten().map(len);
            let words = [&answer.other, &answer.reason].into_iter().flatten().map(String::len);
            answer.text.len() + values.sum::<usize>() + words.sum::<usize>()
        };
        if let Some(answer) = &mut self.answer
            && said(answer) > WORDS_BYTES_MAX
        {
            let mut within = vec![];
            cut(&mut answer.text, "text", &mut within);
            for words in [&mut answer.other, &mut answer.reason].into_iter().flatten() {
                cut(words, "words", &mut within);
            }
            (answer.form, answer.arguments) = (None, None);
            shortened.push("answer".into());
        }
        if self.votes.iter().map(said).sum::<usize>() > WORDS_BYTES_MAX {
            self.votes.clear();
            shortened.push("votes".into());
        }
        if self.seen.len() > 20 {
            self.seen.clear();
            shortened.push("seen".into());
        }
        self.shortened = shortened;
        self
    }
}

impl ShortForm for CardJson {
    fn short(mut self) -> Self {
        self.gate = self.gate.short();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_letters_and_named() {
        let mut names = vec![];
        let mut short = "ä".repeat(500);
        cut(&mut short, "short", &mut names);
        assert_eq!((short.len(), names.len()), (1_000, 0));
        let mut long = format!("x{}", "ä".repeat(600));
        cut(&mut long, "long", &mut names);
        assert_eq!(long, format!("x{}…", "ä".repeat(499)));
        assert_eq!(names, ["long"]);
    }

    #[test]
    fn values_are_as_long_as_their_texts() {
        assert_eq!(len(&serde_json::json!({"a": "xx", "b": [1, "y"]})), 1 + 2 + 1 + 8 + 1 + 2);
    }
}
