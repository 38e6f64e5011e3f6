//! What a flow carries along, as closures see it.

use sayso_core::flow::Heard;
use sayso_core::{Answer, Content, GateId, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::{Deref, DerefMut};

/// The state of a flow, and what the last person said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State<S> {
    /// What the workflow itself carries along.
    #[serde(rename = "state")]
    pub data: S,
    /// What came of the last question; none where the last phase that could ask asked nobody.
    #[serde(default)]
    pub human: Option<Said>,
    /// What came of each question that was asked at once, piece by piece; of one where only one was asked. Empty where
    /// nobody was asked: then all of them is none, and [`approved`](Self::approved) is false.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub humans: Vec<Said>,
    /// Whether the last question was answered with a bare yes; of several, whether all were. Where the last phase that
    /// could ask asked nobody, nobody said yes. A choice, a text or a form is answered, and never approved.
    #[serde(default)]
    pub approved: bool,
    /// Whether the last question was answered with a no, in words or by an option that means one; of several, whether
    /// one was.
    #[serde(default)]
    pub rejected: bool,
}

impl<S> State<S> {
    /// What a flow begins with.
    pub(crate) fn begin(data: S) -> Self {
        Self { data, human: None, humans: vec![], approved: false, rejected: false }
    }

    pub(crate) fn hear(&mut self, said: Vec<Said>) {
        self.approved = !said.is_empty() && said.iter().all(|said| said.approved);
        self.rejected = said.iter().any(|said| said.rejected);
        self.human = said.last().cloned();
        self.humans = said;
    }

    /// The reason the last person gave, if they gave one.
    pub fn reason(&self) -> Option<String> {
        self.human.as_ref().and_then(|said| said.reason.clone())
    }

    /// What was picked or written last.
    pub fn value(&self) -> Option<&str> {
        self.human.as_ref().and_then(|said| said.value.as_deref())
    }
}

impl<S> Deref for State<S> {
    type Target = S;
    fn deref(&self) -> &S {
        &self.data
    }
}

impl<S> DerefMut for State<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.data
    }
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// Which piece it is about, counted from 0; 0 where the question is about no piece.
    #[serde(default)]
    pub item: u32,
    /// Whether somebody answered at all. No answer is not a no.
    pub answered: bool,
    /// Whether they said yes to a question that takes yes or no.
    pub approved: bool,
    /// Whether they said no, in words or by an option that means one.
    #[serde(default)]
    pub rejected: bool,
    /// What was picked or written; `yes` or `no` for a bare verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Everything that was picked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub picked: Vec<String>,
    /// Words of one's own beside the options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    /// A filled form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Value>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who.
    pub by: String,
    /// The gate; none where the program asked by a way of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateId>,
    /// How the question ended, in a word.
    pub ended: String,
}

impl Said {
    /// What was heard about a piece.
    pub(crate) fn of(item: u32, heard: &Heard) -> Self {
        let answer = heard.answer.as_ref();
        let content = answer.map(|answer| answer.content.clone()).unwrap_or_default();
        let (picked, other, form) = match content {
            Content::None | Content::Text(_) => (vec![], None, None),
            Content::Choice { picked, other } => (picked, other, None),
            Content::Form(value) | Content::Arguments(value) => (vec![], None, Some(value)),
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
        (Content::None, Verdict::Approved | Verdict::Answered) => "yes".into(),
        (Content::None, Verdict::Rejected) => "no".into(),
        (Content::Choice { picked, other }, _) => {
            other.clone().or_else(|| picked.first().cloned()).unwrap_or_default()
        }
        (Content::Text(_) | Content::Form(_) | Content::Arguments(_), _) => answer.as_text(),
    }
}
