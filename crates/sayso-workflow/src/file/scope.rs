//! The scope of a phase's expressions: the state of the flow, and the results of this phase so far.

use super::definition::WorkflowDefinition;
use super::human_answer::HumanAnswer;
use sayso_policy::FormulaValues;
use sayso_policy::diagnostic::nearest;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The values that expressions see.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExpressionScope {
    /// The input with which the flow was started.
    pub input: Map<String, Value>,
    /// The input, and the values that were set since.
    pub state: Map<String, Value>,
    /// The output of the step of this phase, once it has one.
    pub output: Option<Value>,
    /// The present item of `each`.
    pub item: Option<Value>,
    /// The result of the question of this phase.
    pub heard: AnswerState,
}

/// The result of the question of a phase.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one of them while a step is walked")]
pub enum AnswerState {
    /// No question was asked, or not yet.
    #[default]
    NotAsked,
    /// A person answered the question.
    Answered(HumanAnswer),
    /// It ended without an answer.
    Silence,
}

impl ExpressionScope {
    /// Returns the scope at the start of a flow.
    pub fn begin(input: Map<String, Value>) -> Self {
        Self { state: input.clone(), input, ..Self::default() }
    }

    /// Returns the same scope for one item.
    #[must_use]
    pub fn with_item(&self, item: Value) -> Self {
        Self { item: Some(item), ..self.clone() }
    }

    /// Calls a function with the values by their names.
    pub(super) fn with<T>(&self, work: impl FnOnce(&FormulaValues<'_>) -> T) -> T {
        let (input, state) = (Value::Object(self.input.clone()), Value::Object(self.state.clone()));
        let output = self.output.clone().unwrap_or_default();
        let item = self.item.clone().unwrap_or_default();
        let (human, approved) = match &self.heard {
            // Without an answer there is no approval.
            AnswerState::NotAsked | AnswerState::Silence => (Value::Null, Value::Bool(false)),
            AnswerState::Answered(human) => {
                let value = serde_json::to_value(human).unwrap_or_default();
                (value, Value::Bool(human.approved()))
            }
        };
        let asked = Value::Bool(self.heard != AnswerState::NotAsked);
        work(&FormulaValues::from([
            ("input", &input),
            ("state", &state),
            ("output", &output),
            ("item", &item),
            ("human", &human),
            ("approved", &approved),
            ("asked", &asked),
        ]))
    }
}

impl WorkflowDefinition {
    /// Returns the input of a flow from the given texts. Inputs that are unknown, missing or of another type than the
    /// default are reported, all of them at once.
    pub fn input_from(
        &self,
        given: &BTreeMap<String, String>,
    ) -> Result<Map<String, Value>, Vec<String>> {
        let mut wrong = vec![];
        let names = || self.input.iter().map(|input| input.name.as_str());
        for name in given.keys().filter(|name| !names().any(|known| known == name.as_str())) {
            let hint = match nearest(name, names()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None if self.input.is_empty() => "it takes no input".into(),
                None => format!("it takes {}", names().collect::<Vec<_>>().join(", ")),
            };
            wrong.push(format!("{} has no input `{name}`: {hint}", self.name));
        }
        let mut values = Map::new();
        for input in &self.input {
            match (given.get(&input.name), &input.default) {
                (Some(text), default) => match typed(text, default.as_ref()) {
                    Ok(value) => drop(values.insert(input.name.clone(), value)),
                    Err(sort) => wrong.push(format!("`{}` is to be {sort}", input.name)),
                },
                (None, Some(default)) => drop(values.insert(input.name.clone(), default.clone())),
                (None, None) => {
                    let about = Some(input.about.as_str()).filter(|about| !about.is_empty());
                    let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
                    let name = &input.name;
                    wrong.push(format!("`{name}` is missing{about}: --set {name}=…"));
                }
            }
        }
        if wrong.is_empty() { Ok(values) } else { Err(wrong) }
    }
}

/// Parses a text as a value of the type of the default.
fn typed(text: &str, default: Option<&Value>) -> Result<Value, &'static str> {
    let read = || serde_json::from_str::<Value>(text).ok();
    let of = |is_right: fn(&Value) -> bool, sort| read().filter(is_right).ok_or(sort);
    match default {
        None | Some(Value::Null | Value::String(_)) => Ok(text.into()),
        Some(Value::Bool(_)) => of(Value::is_boolean, "true or false"),
        Some(Value::Number(_)) => of(Value::is_number, "a number"),
        Some(Value::Array(_)) => of(Value::is_array, "a list in JSON, such as [\"a\", \"b\"]"),
        Some(Value::Object(_)) => of(Value::is_object, "a mapping in JSON"),
    }
}
