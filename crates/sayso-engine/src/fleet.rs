//! Who and what belongs to a space, as people set it.

use crate::Calendar;
use sayso_agents::{Backend, PromptKind};
use sayso_core::text::harmless_line;
use serde::{Deserialize, Serialize};

/// A person: when they work, when they are left alone, and how they are told that something waits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Person {
    /// Their calendar; without one, that of the space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<Calendar>,
    /// The channels they want to be told by, by name; without any, those that name them. What a channel
    /// does is set on the machine that sends, and nowhere else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<Vec<String>>,
}

/// An agent that can be spawned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSpec {
    /// The program.
    pub program: String,
    /// What it is started with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// How it is kept running.
    #[serde(default, skip_serializing_if = "is_default")]
    pub backend: Backend,
    /// The machine it runs on; without one, wherever it is spawned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Where it works, from the folder of the space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The role it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The prompt at which a line may be typed to it in tmux; without one, that of the client its program is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge: Option<PromptKind>,
}

impl AgentSpec {
    /// The prompt at which a line may be typed to it.
    pub fn prompt_kind(&self) -> PromptKind {
        self.nudge.clone().unwrap_or_else(|| PromptKind::of_program(&self.program))
    }
}

/// An answer to a question that comes again and again. A person picks it; it answers nothing by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// The questions it fits; `*` stands for anything.
    pub question: String,
    /// The answer.
    pub answer: String,
}

impl Template {
    /// Whether it fits a question.
    pub fn fits(&self, question: &str) -> bool {
        let (pattern, text) =
            (self.question.to_lowercase(), harmless_line(question).to_lowercase());
        let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        let inner = text.strip_prefix(first).and_then(|text| text.strip_suffix(last));
        let Some(mut inner) = inner else { return false };
        middle.split('*').all(|part| match inner.find(part) {
            Some(at) => {
                inner = &inner[at + part.len()..];
                true
            }
            None => false,
        })
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_questions_a_template_fits() {
        for (pattern, question, fits) in [
            ("Which port?", "which PORT?", true),
            ("Which port?", "Which port? And why?", false),
            ("Which port*", "Which port? And why?", true),
            ("*port*", "Which port?", true),
            ("*port?", "Which port? Which port?", true),
            ("May I * the *?", "May I restart the database?", true),
            ("May I * the *?", "May I restart the database", false),
            ("ab*b", "ab", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
        ] {
            let template = Template { question: pattern.into(), answer: String::new() };
            assert_eq!(template.fits(question), fits, "{pattern} {question}");
        }
    }
}
