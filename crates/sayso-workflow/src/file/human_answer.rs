//! The answer of a person, as the expressions of a workflow see it (`human`).

use sayso_core::{Answer, AnswerContent, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The answer of a person, as a value for expressions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HumanAnswer {
    /// `approved` for a bare yes, `rejected` for a no, `answered` for all else.
    pub verdict: Verdict,
    /// The answer in one value: the pick, the text, the form; `yes` or `no` for a bare verdict.
    pub value: Value,
    /// The picked options, free text among them.
    pub values: Vec<String>,
    /// The answer as a text; empty for a bare verdict.
    pub text: String,
    /// The form that was filled in.
    pub form: Option<Value>,
    /// The comment with the answer.
    pub reason: String,
    /// The name of the person.
    pub by: String,
}

impl HumanAnswer {
    /// Returns the value of an answer by this person.
    pub fn of(answer: &Answer, by: &str) -> Self {
        let reason = answer.reason.clone().unwrap_or_default();
        let bare = |values: Vec<String>, value: Value, text: String, form: Option<Value>| Self {
            verdict: answer.verdict,
            value,
            values,
            text,
            form,
            reason: reason.clone(),
            by: by.to_owned(),
        };
        match &answer.content {
            AnswerContent::None => {
                let word = match answer.verdict {
                    Verdict::Approved | Verdict::Answered => "yes",
                    Verdict::Rejected => "no",
                };
                bare(vec![], word.into(), String::new(), None)
            }
            AnswerContent::Text(text) => bare(vec![], text.clone().into(), text.clone(), None),
            AnswerContent::Choice { picked, other } => {
                let values: Vec<String> = picked.iter().chain(other).cloned().collect();
                let first = values.first().cloned().unwrap_or_default();
                bare(values.clone(), first.into(), values.join("\n"), None)
            }
            AnswerContent::Form(value) | AnswerContent::Arguments(value) => {
                bare(vec![], value.clone(), value.to_string(), Some(value.clone()))
            }
        }
    }

    /// True if it is a bare yes.
    pub fn approved(&self) -> bool {
        self.verdict == Verdict::Approved
    }

    /// True if it is a no, in words or by an option that means one.
    pub fn rejected(&self) -> bool {
        self.verdict.is_no()
    }
}
