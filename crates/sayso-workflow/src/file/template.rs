//! Templates: texts with expressions in them, such as `Plan {{ state.topic }}.`

use super::evaluate::ExpressionError;
use super::scope::ExpressionScope;
use super::shell::{QuoteStyle, quoting_of};
use sayso_engine::ShellCommand;
use sayso_policy::{CelFormula, FormulaValues};
use serde_json::Value;

/// The maximum size of a rendered text.
const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// The maximum size of a command's value: the system accepts no longer variable.
const VARIABLE_BYTES_MAX: usize = 100 * 1024;

/// A text with expressions between `{{` and `}}`.
#[derive(Debug, Clone)]
pub struct TextTemplate {
    pub(super) parts: Vec<TemplatePart>,
    /// The key and line in the file, for messages.
    pub(super) key: &'static str,
    pub(super) line: u64,
}

/// A part of a template.
#[derive(Debug, Clone)]
pub(super) enum TemplatePart {
    Text(String),
    Value { formula: CelFormula, line: u64, quotes: QuoteStyle },
}

/// A part before its expression was parsed, with its position in the text.
pub(super) enum RawPart<'a> {
    Text(&'a str),
    Expression { text: &'a str, at: usize },
}

impl TextTemplate {
    /// Renders the text with the values of a scope.
    pub fn render(&self, scope: &ExpressionScope) -> Result<String, ExpressionError> {
        scope.with(|values| self.text(values))
    }

    /// Renders the text with these values.
    pub(super) fn text(&self, values: &FormulaValues<'_>) -> Result<String, ExpressionError> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(plain) => text.push_str(plain),
                TemplatePart::Value { formula, line, .. } => {
                    text.push_str(&self.value(formula, *line, values)?);
                }
            }
            if text.len() > TEXT_BYTES_MAX {
                let why = format!("it comes to more than {TEXT_BYTES_MAX} bytes");
                return Err(ExpressionError::new(self.key, self.line, why));
            }
        }
        Ok(text)
    }

    /// Renders a command: values are passed as variables beside it, so that the shell never reads them as a part of
    /// the line.
    pub(super) fn command(
        &self,
        values: &FormulaValues<'_>,
    ) -> Result<ShellCommand, ExpressionError> {
        let mut shell = ShellCommand::default();
        for part in &self.parts {
            match part {
                TemplatePart::Text(plain) => shell.line.push_str(plain),
                TemplatePart::Value { formula, line, quotes } => {
                    let value = self.value(formula, *line, values)?;
                    if value.contains('\0') || value.len() > VARIABLE_BYTES_MAX {
                        let why = format!(
                            "`{}` is more than a command can be given: at most \
                             {VARIABLE_BYTES_MAX} bytes, and no zero bytes",
                            formula.text()
                        );
                        return Err(ExpressionError::new(self.key, *line, why));
                    }
                    let name = format!("SAYSO_VALUE_{}", shell.variables.len() + 1);
                    match quotes {
                        QuoteStyle::Bare => shell.line.push_str(&format!("\"${{{name}}}\"")),
                        QuoteStyle::Double => shell.line.push_str(&format!("${{{name}}}")),
                    }
                    shell.variables.push((name, value));
                }
            }
        }
        Ok(shell)
    }

    fn value(
        &self,
        formula: &CelFormula,
        line: u64,
        values: &FormulaValues<'_>,
    ) -> Result<String, ExpressionError> {
        let wrong = |why: &str| {
            ExpressionError::new(self.key, line, format!("`{}`: {why}", formula.text()))
        };
        match formula.value(values).map_err(|why| wrong(&why))? {
            Value::Null => Err(wrong("there is nothing to put here")),
            Value::String(text) => Ok(text),
            other => Ok(other.to_string()),
        }
    }

    /// Returns the template as it was written.
    pub fn source(&self) -> String {
        let part = |part: &TemplatePart| match part {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Value { formula, .. } => format!("{{{{ {} }}}}", formula.text()),
        };
        self.parts.iter().map(part).collect()
    }

    /// Returns its text, if there is no expression in it.
    pub(super) fn plain(&self) -> Option<String> {
        let is_plain = self.parts.iter().all(|part| matches!(part, TemplatePart::Text(_)));
        is_plain.then(|| self.source())
    }
}

/// Splits a text into its parts, or returns the position of an expression that is never closed.
pub(super) fn split(text: &str) -> Result<Vec<RawPart<'_>>, usize> {
    let mut parts = vec![];
    let mut from = 0;
    while let Some(open) = text[from..].find("{{").map(|at| at + from) {
        let close = closing(text, open + 2).ok_or(open)?;
        parts.push(RawPart::Text(&text[from..open]));
        let inner = &text[open + 2..close];
        let blank = inner.len() - inner.trim_start().len();
        parts.push(RawPart::Expression { text: inner.trim(), at: open + 2 + blank });
        from = close + 2;
    }
    parts.push(RawPart::Text(&text[from..]));
    Ok(parts)
}

/// Returns the end of an expression. Braces and quotes in it are its own.
fn closing(text: &str, from: usize) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0usize, None, false);
    for (at, c) in text[from..].char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{') => depth += 1,
            (None, '}') if depth > 0 => depth -= 1,
            (None, '}') if text[from + at..].starts_with("}}") => return Some(from + at),
            (None, _) => {}
        }
    }
    None
}

/// Returns the quoting at each expression of a command, or the error of its place.
pub(super) fn quotes(raw: &[RawPart<'_>]) -> Vec<Result<QuoteStyle, &'static str>> {
    let line: String = raw
        .iter()
        .map(|part| match part {
            RawPart::Text(text) => (*text).replace('\0', ""),
            RawPart::Expression { .. } => "\0".into(),
        })
        .collect();
    quoting_of(&line)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn inner(text: &str) -> Vec<&str> {
        let parts = split(text).unwrap();
        let expression = |part: &RawPart<'_>| match part {
            RawPart::Expression { text: inner, at } => Some((*at, inner.len())),
            RawPart::Text(_) => None,
        };
        let places: Vec<_> = parts.iter().filter_map(expression).collect();
        places.into_iter().map(|(at, length)| &text[at..at + length]).collect()
    }

    #[test]
    fn expressions_are_found_whatever_is_in_them() {
        for (text, expected) in [
            ("plain } { text", vec![]),
            ("a {{ x }} b {{y}}", vec!["x", "y"]),
            ("{{ {'a': {'b': 1}} }}!", vec!["{'a': {'b': 1}}"]),
            ("{{ '}}' + \"\\\"}}\" }}", vec!["'}}' + \"\\\"}}\""]),
            ("{{ \"{{\" }}", vec!["\"{{\""]),
        ] {
            assert_eq!(inner(text), expected, "{text}");
        }
        for text in ["a {{ x", "{{ x }", "{{ 'x }}"] {
            assert!(split(text).is_err(), "{text}");
        }
    }
}
