//! The fleet file's entries: people, managed agents and answer templates of a space.

use crate::Calendar;
use sayso_agents::{PromptKind, SessionBackend};
use sayso_core::text::sanitize_line;
use serde::{Deserialize, Serialize};

/// A person's settings: calendar and notification channels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Person {
    /// Their calendar; none means that of the space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<Calendar>,
    /// The names of their notification channels; none means those that name them as a recipient. The transport of a
    /// channel is configured only on the machine that sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<Vec<String>>,
}

/// The configuration of a managed agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSpec {
    pub program: String,
    /// The arguments of the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The backend that runs it: process or tmux.
    #[serde(default, skip_serializing_if = "is_default")]
    pub backend: SessionBackend,
    /// The host it runs on; none means the host on which it is spawned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its working folder, relative to the folder of the space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The role it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The prompt at which a line may be typed to it in tmux; none means that of the client its program is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge: Option<PromptKind>,
}

impl AgentSpec {
    /// Returns the prompt at which a line may be typed to it.
    pub fn prompt_kind(&self) -> PromptKind {
        self.nudge.clone().unwrap_or_else(|| PromptKind::of_program(&self.program))
    }
}

/// A ready answer to a recurring question. A person picks it; it answers nothing by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerTemplate {
    /// The pattern of questions it fits; `*` stands for any text.
    pub question: String,
    pub answer: String,
}

impl AnswerTemplate {
    /// True if the pattern fits a question.
    pub fn fits(&self, question: &str) -> bool {
        let (pattern, text) =
            (self.question.to_lowercase(), sanitize_line(question).to_lowercase());
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
            let template = AnswerTemplate { question: pattern.into(), answer: String::new() };
            assert_eq!(template.fits(question), fits, "{pattern} {question}");
        }
    }
}
