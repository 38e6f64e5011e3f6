//! Expressions in CEL over the caller's variables, by which workflows compute and branch. They have the limits of
//! conditions. A failed evaluation is an error, and never true or false.

use crate::diagnostic::nearest;
use crate::expression::{ENVIRONMENT, ExpressionNames, VALUES_MAX, compile, json_value};
use cel::objects::Key;
use cel::{Context, Program, Value};
use serde_json::{Map, Number};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most characters of an error that are shown.
const ERROR_CHARS_MAX: usize = 200;

/// The variables of an evaluation.
pub type FormulaValues<'a> = BTreeMap<&'a str, &'a serde_json::Value>;

/// A known variable, and its fields where those are known.
#[derive(Debug, Clone)]
pub struct FormulaVariable {
    pub name: &'static str,
    /// The fields it has; none if it may have any.
    pub fields: Option<Vec<String>>,
}

/// A mistake in an expression that shows without running it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormulaDiagnostic {
    /// The column in the expression, counted from 1.
    pub column: Option<usize>,
    pub what: String,
    /// The advice for fixing it.
    pub fix: String,
}

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct CelFormula {
    text: String,
    program: Arc<Program>,
    names: Arc<ExpressionNames>,
}

impl CelFormula {
    pub fn read(text: &str) -> Result<Self, FormulaDiagnostic> {
        let program = compile(text).map_err(|unread| {
            let what = format!("the expression {}", unread.why);
            FormulaDiagnostic { column: unread.column, what, fix: "mend or shorten it".into() }
        })?;
        let names = Arc::new(ExpressionNames::of(&program));
        Ok(Self { text: text.into(), program: Arc::new(program), names })
    }

    /// Returns its source text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if it reads a variable.
    pub fn names(&self, variable: &str) -> bool {
        self.names.variables.contains(variable)
    }

    /// True if it reads a field of a variable by name.
    pub fn names_field(&self, variable: &str, field: &str) -> bool {
        self.names.fields.iter().any(|(of, name)| of == variable && name == field)
    }

    /// Returns the unknown names it uses.
    pub fn flaws(&self, known: &[FormulaVariable]) -> Vec<FormulaDiagnostic> {
        let mut found = vec![];
        let is_known = |name: &str| known.iter().any(|known| known.name == name);
        for name in self.names.variables.iter().filter(|name| !is_known(name)) {
            let all = known.iter().map(|known| known.name);
            let fix = match nearest(name, all.clone()) {
                Some(name) => format!("write `{name}`"),
                None => format!("here there are {}", all.collect::<Vec<_>>().join(", ")),
            };
            found.push(self.flaw(name, format!("`{name}` is not there"), fix));
        }
        for (name, field) in &self.names.fields {
            let of = known.iter().find(|known| known.name == name);
            let Some(fields) = of.and_then(|known| known.fields.as_ref()) else { continue };
            if fields.contains(field) {
                continue;
            }
            let fix = match nearest(field, fields.iter().map(String::as_str)) {
                Some(meant) => format!("write `{name}.{meant}`"),
                None if fields.is_empty() => format!("`{name}` has nothing in it"),
                None => format!("`{name}` has {}", fields.join(", ")),
            };
            found.push(self.flaw(field, format!("`{name}.{field}` is not there"), fix));
        }
        for (function, fix) in self.names.unknown_functions() {
            found.push(self.flaw(function, format!("`{function}()` is not there"), fix));
        }
        found
    }

    fn flaw(&self, word: &str, what: String, fix: String) -> FormulaDiagnostic {
        let column = self.text.find(word).map(|at| self.text[..at].chars().count() + 1);
        FormulaDiagnostic { column, what, fix }
    }

    pub fn value(&self, values: &FormulaValues<'_>) -> Result<serde_json::Value, String> {
        json(&self.execute(values)?)
    }

    /// Evaluates it to true or false; any other value is an error.
    pub fn holds(&self, values: &FormulaValues<'_>) -> Result<bool, String> {
        match self.execute(values)? {
            Value::Bool(holds) => Ok(holds),
            _ => Err("it is neither true nor false".into()),
        }
    }

    fn execute(&self, values: &FormulaValues<'_>) -> Result<Value, String> {
        let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
        for (name, value) in values.iter().filter(|(name, _)| self.names(name)) {
            let mut left = VALUES_MAX;
            context.add_variable_as_val(*name, json_value(value, &mut left)?);
        }
        self.program.execute(&context).map_err(|error| {
            let said = error.to_string();
            said.chars().take(ERROR_CHARS_MAX).collect()
        })
    }
}

/// Converts a value to JSON.
fn json(value: &Value) -> Result<serde_json::Value, String> {
    Ok(match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::UInt(value) => (*value).into(),
        Value::Float(value) => {
            Number::from_f64(*value).ok_or("it comes to a number that cannot be written")?.into()
        }
        Value::String(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(json).collect::<Result<Vec<_>, _>>()?.into(),
        Value::Map(map) => {
            let entry = |(name, value): (&Key, &Value)| Ok((key(name), json(value)?));
            map.map.iter().map(entry).collect::<Result<Map<_, _>, String>>()?.into()
        }
        Value::Bytes(_) | Value::Function(..) | Value::Opaque(_) | Value::Struct(_) => {
            return Err("it comes to something that cannot be kept".into());
        }
    })
}

fn key(key: &Key) -> String {
    match key {
        Key::Int(number) => number.to_string(),
        Key::Uint(number) => number.to_string(),
        Key::Bool(value) => value.to_string(),
        Key::String(text) => text.as_str().to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compute(text: &str, state: &serde_json::Value) -> Result<serde_json::Value, String> {
        CelFormula::read(text).unwrap().value(&FormulaValues::from([("state", state)]))
    }

    #[test]
    fn what_expressions_come_to() {
        let state = json!({"n": 3, "x": 0.5, "names": ["a", "b"], "none": null, "s": "it's"});
        for (text, expected) in [
            ("state.n + 1", json!(4)),
            ("state.x < 0.8", json!(true)),
            ("state.names.map(name, name + '!')", json!(["a!", "b!"])),
            ("{'k': state.s}", json!({"k": "it's"})),
            ("has(state.more) ? state.more : ''", json!("")),
            ("state.none == null", json!(true)),
            ("state.none == 'Custom'", json!(false)),
            ("state.s == 'Custom'", json!(false)),
            ("state.n < 0.8", json!(false)),
            ("state", state.clone()),
        ] {
            assert_eq!(compute(text, &state), Ok(expected), "{text}");
        }
        for text in ["state.more", "state.n + state.s", "state.none.x", "1 / 0"] {
            assert!(compute(text, &state).is_err(), "{text}");
        }
    }

    #[test]
    fn only_true_and_false_decide() {
        let state = json!({"n": 1, "yes": true, "text": "true"});
        let holds =
            |text| CelFormula::read(text).unwrap().holds(&FormulaValues::from([("state", &state)]));
        assert_eq!(holds("state.yes"), Ok(true));
        for text in ["state.n", "state.text", "state.missing", "null"] {
            assert!(holds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_not_there_is_said_with_its_place() {
        let known = [
            FormulaVariable { name: "state", fields: Some(vec!["topic".into()]) },
            FormulaVariable { name: "output", fields: None },
        ];
        for (text, expected) in [
            ("stat.topic", "1 `stat` is not there; write `state`"),
            ("1 + state.topik", "11 `state.topik` is not there; write `state.topic`"),
            ("len(output.x) > 1", "1 `len()` is not there; the functions are"),
        ] {
            let flaws = CelFormula::read(text).unwrap().flaws(&known);
            assert_eq!(flaws.len(), 1, "{flaws:?}");
            let FormulaDiagnostic { column, what, fix } = &flaws[0];
            let said = format!("{} {what}; {fix}", column.unwrap());
            assert!(said.starts_with(expected), "{said}");
        }
        assert_eq!(CelFormula::read("output.any.thing").unwrap().flaws(&known), []);
        let unread = CelFormula::read("state.topic ==").unwrap_err();
        assert!(unread.column.is_some(), "{unread:?}");
    }

    #[test]
    fn what_is_looked_at_is_known() {
        let formula = CelFormula::read("human.verdict == 'approved' && asked").unwrap();
        assert!(formula.names("human") && formula.names("asked") && !formula.names("state"));
        assert!(formula.names_field("human", "verdict"));
        assert!(!formula.names_field("human", "value") && !formula.names_field("state", "x"));
        for text in ["size(human) > 0", "human == null"] {
            assert!(!CelFormula::read(text).unwrap().names_field("human", "verdict"), "{text}");
        }
    }
}
