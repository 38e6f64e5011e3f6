//! The state of a flow, as closures see it.

use sayso_core::flow::QuestionOutcome;
use sayso_core::{Answer, AnswerContent, GateId, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::{Deref, DerefMut};

/// The state of a flow, and the last answer of a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowState<S> {
    /// The workflow's own state.
    #[serde(rename = "state")]
    pub data: S,
    /// The result of the last question; none where the last phase that could ask asked none.
    #[serde(default)]
    pub human: Option<AnswerRecord>,
    /// The result of each question of the last phase, item by item; of one where only one was asked. Empty where none
    /// was asked: then [`approved`](Self::approved) is false.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub humans: Vec<AnswerRecord>,
    /// True if the last question was answered with a bare yes; of several, if all were. False where the last phase
    /// that could ask asked none. A choice, a text or a form is answered, and never approved.
    #[serde(default)]
    pub approved: bool,
    /// True if the last question was answered with a no, in words or by an option that means one; of several, if one
    /// was.
    #[serde(default)]
    pub rejected: bool,
}

impl<S> FlowState<S> {
    /// Returns the state at the start of a flow.
    pub(crate) fn begin(data: S) -> Self {
        Self { data, human: None, humans: vec![], approved: false, rejected: false }
    }

    pub(crate) fn hear(&mut self, said: Vec<AnswerRecord>) {
        self.approved = !said.is_empty() && said.iter().all(|said| said.approved);
        self.rejected = said.iter().any(|said| said.rejected);
        self.human = said.last().cloned();
        self.humans = said;
    }

    /// Returns the comment with the last answer, if there is one.
    pub fn reason(&self) -> Option<String> {
        self.human.as_ref().and_then(|said| said.reason.clone())
    }

    /// Returns the option or text of the last answer.
    pub fn value(&self) -> Option<&str> {
        self.human.as_ref().and_then(|said| said.value.as_deref())
    }
}

impl<S> Deref for FlowState<S> {
    type Target = S;
    fn deref(&self) -> &S {
        &self.data
    }
}

impl<S> DerefMut for FlowState<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.data
    }
}

/// The result of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerRecord {
    /// The index of the item, counted from 0; 0 where the question is about no item.
    #[serde(default)]
    pub item: u32,
    /// True if a person answered. A missing answer is not a no.
    pub answered: bool,
    /// True if the answer is a yes to a question that takes yes or no.
    pub approved: bool,
    /// True if the answer is a no, in words or by an option that means one.
    #[serde(default)]
    pub rejected: bool,
    /// The option or text of the answer; `yes` or `no` for a bare verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// All options that were picked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub picked: Vec<String>,
    /// Free text beside the options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    /// The form that was filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Value>,
    /// The comment with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The name of the person.
    pub by: String,
    /// The gate; none where a handler of the program's own asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateId>,
    /// The end of the question, in a word.
    pub ended: String,
}

impl AnswerRecord {
    /// Returns the result of a question about an item.
    pub(crate) fn of(item: u32, heard: &QuestionOutcome) -> Self {
        let answer = heard.answer.as_ref();
        let content = answer.map(|answer| answer.content.clone()).unwrap_or_default();
        let (picked, other, form) = match content {
            AnswerContent::None | AnswerContent::Text(_) => (vec![], None, None),
            AnswerContent::Choice { picked, other } => (picked, other, None),
            AnswerContent::Form(value) | AnswerContent::Arguments(value) => {
                (vec![], None, Some(value))
            }
        };
        Self {
            item,
            answered: answer.is_some(),
            approved: heard.is_approved(),
            rejected: heard.is_rejected(),
            value: answer.map(value_of),
            picked,
            other,
            form,
            reason: answer.and_then(|answer| answer.reason.clone()),
            by: heard.by.clone(),
            gate: heard.gate,
            ended: heard.ended.clone(),
        }
    }
}

fn value_of(answer: &Answer) -> String {
    match (&answer.content, answer.verdict) {
        (AnswerContent::None, Verdict::Approved | Verdict::Answered) => "yes".into(),
        (AnswerContent::None, Verdict::Rejected) => "no".into(),
        (AnswerContent::Choice { picked, other }, _) => {
            other.clone().or_else(|| picked.first().cloned()).unwrap_or_default()
        }
        (AnswerContent::Text(_) | AnswerContent::Form(_) | AnswerContent::Arguments(_), _) => {
            answer.as_text()
        }
    }
}
