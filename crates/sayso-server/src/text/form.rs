//! Forms: the fields that a JSON Schema asks for, read in one way for every surface. The schema is an agent's, so
//! reading it is bounded; what is not plain enough for a field is written as JSON.

mod editor;

pub use editor::{filled_in, json_to_edit, to_correct, to_fill_in};

use sayso_core::text::{sanitize_line, shorten};
use serde_json::{Map, Value};

/// The depth down to which groups are shown as fields; deeper ones are written as JSON.
const DEPTH_MAX: usize = 3;

/// The most references in a row that are followed.
const REFERENCES_MAX: usize = 16;

/// The most fields of a form, all groups together; a form with more is written as JSON.
const FIELDS_MAX: usize = 200;

/// A text that may be longer than this gets more than a line.
const LINE_MAX: u64 = 200;

/// The most of a pattern, a format or a value that is shown in words.
const WORDS_MAX: usize = 120;

/// A field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct FormField {
    /// The name it has in the answer; none where it is the whole answer.
    pub name: String,
    /// The title for people, harmless to look at.
    pub title: String,
    /// The asker's help text, harmless to look at.
    pub help: String,
    /// True if there is no answer without it.
    pub is_required: bool,
    /// True if null is an answer, too.
    pub takes_null: bool,
    /// The kind of the value.
    pub kind: FieldKind,
    /// The suggestion of the asker. It is no answer until a person sends it.
    pub default: Option<Value>,
    /// The limits of the value.
    pub bounds: ValueBounds,
}

/// The kind of a field's value.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    /// A line of text.
    Text(TextFormat),
    /// A text of many lines.
    Long,
    Integer,
    Number,
    Boolean,
    OneOf(Vec<PickOption>),
    /// Some of these, or none.
    SeveralOf(Vec<PickOption>),
    /// Any number of values like this one.
    List(Box<FormField>),
    /// Fields that belong together.
    Group(Vec<FormField>),
    /// Any other value, as JSON.
    Json,
}

/// The format of a line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextFormat {
    Plain,
    /// A day, such as 2026-11-18.
    Date,
    /// A moment, such as 2026-11-18T09:30:00Z.
    DateTime,
    /// A time of day: 09:30:00Z.
    Time,
    /// An address for mail.
    Email,
    /// An address of a page.
    Uri,
    /// Another format, by the name the asker has for it.
    Other(String),
}

/// A value that can be picked.
#[derive(Debug, Clone, PartialEq)]
pub struct PickOption {
    /// The value the asker gets.
    pub value: Value,
    /// The text people read, harmless to look at.
    pub label: String,
}

/// The limits of a value beside its kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueBounds {
    pub minimum: Option<Value>,
    pub maximum: Option<Value>,
    /// The exclusive minimum of a number.
    pub above: Option<Value>,
    /// The exclusive maximum of a number.
    pub below: Option<Value>,
    /// A multiple of this.
    pub multiple_of: Option<Value>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    /// The regular expression that a text has to match. No browser is given it: it is an agent's.
    pub pattern: Option<String>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
}

/// Returns the fields of a form: of an object, each of its own; of any other schema, one for all of it.
pub fn fields(schema: &Value) -> Vec<FormField> {
    let mut reading = SchemaReader { root: schema, left: FIELDS_MAX };
    let whole = reading.field("", schema, true, 0);
    let is_readable = reading.left > 0;
    match whole.kind {
        FieldKind::Group(fields) if is_readable => fields,
        FieldKind::Group(_) => vec![FormField { kind: FieldKind::Json, ..whole }],
        _ if is_readable => vec![whole],
        _ => vec![FormField { kind: FieldKind::Json, ..whole }],
    }
}

/// A bounded reader of a schema.
struct SchemaReader<'a> {
    root: &'a Value,
    left: usize,
}

impl SchemaReader<'_> {
    fn field(&mut self, name: &str, schema: &Value, is_required: bool, depth: usize) -> FormField {
        self.left = self.left.saturating_sub(1);
        let (schema, takes_null) = self.plain(schema);
        let says = |key: &str| schema.get(key).and_then(Value::as_str).map(sanitize_line);
        let default = schema.get("default").filter(|value| !value.is_null()).cloned();
        FormField {
            name: name.into(),
            title: says("title").filter(|it| !it.is_empty()).unwrap_or_else(|| sanitize_line(name)),
            help: says("description").unwrap_or_default(),
            is_required,
            takes_null,
            kind: self.kind(&schema, depth),
            default,
            bounds: ValueBounds::of(&schema),
        }
    }

    /// Returns a schema with its references followed and without null, and whether null is an answer, too.
    fn plain(&self, schema: &Value) -> (Map<String, Value>, bool) {
        let mut plain = schema.as_object().cloned().unwrap_or_default();
        let mut takes_null = false;
        for _ in 0..REFERENCES_MAX {
            let Some((inner, is_nullable)) = self.inner(&plain) else { break };
            takes_null |= is_nullable;
            let mut merged = inner.as_object().cloned().unwrap_or_default();
            for key in ["$ref", "anyOf", "oneOf", "allOf"] {
                plain.shift_remove(key);
            }
            // A keyword beside a reference overrides that of its target.
            merged.extend(plain);
            plain = merged;
        }
        takes_null |= drop_null(&mut plain);
        (plain, takes_null)
    }

    /// Returns the schema that this one refers to, and whether null is an answer beside it.
    fn inner(&self, schema: &Map<String, Value>) -> Option<(Value, bool)> {
        if let Some(to) = schema.get("$ref").and_then(Value::as_str) {
            let found = to.strip_prefix('#').and_then(|to| self.root.pointer(to));
            return found.map(|found| (found.clone(), false));
        }
        if let Some([only]) = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            return Some((only.clone(), false));
        }
        let all = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array())?;
        let is_null = |one: &&Value| one.get("type").and_then(Value::as_str) == Some("null");
        let others: Vec<_> = all.iter().filter(|one| !is_null(one)).collect();
        match others.as_slice() {
            [only] if all.len() == 2 => Some(((*only).clone(), true)),
            _ => None,
        }
    }

    fn kind(&mut self, schema: &Map<String, Value>, depth: usize) -> FieldKind {
        if let Some(picks) = picks(schema) {
            return FieldKind::OneOf(picks);
        }
        // More than one way to be right is more than a field can show.
        let is_plain = ["anyOf", "oneOf", "allOf", "not", "if", "$ref", "patternProperties"]
            .iter()
            .all(|key| !schema.contains_key(*key));
        let kind = schema.get("type").and_then(Value::as_str);
        match kind {
            _ if !is_plain => FieldKind::Json,
            Some("string") => text(schema),
            Some("integer") => FieldKind::Integer,
            Some("number") => FieldKind::Number,
            Some("boolean") => FieldKind::Boolean,
            Some("array") => self.array(schema, depth),
            Some("object") | None => self.group(schema, depth),
            Some(_) => FieldKind::Json,
        }
    }

    fn array(&mut self, schema: &Map<String, Value>, depth: usize) -> FieldKind {
        let Some(items) = schema.get("items").filter(|_| !schema.contains_key("prefixItems"))
        else {
            return FieldKind::Json;
        };
        let item = self.field("", items, true, depth + 1);
        match item.kind {
            _ if item.takes_null => FieldKind::Json,
            FieldKind::OneOf(picks) => FieldKind::SeveralOf(picks),
            FieldKind::Text(_) | FieldKind::Long | FieldKind::Integer | FieldKind::Number => {
                FieldKind::List(Box::new(item))
            }
            FieldKind::Boolean
            | FieldKind::SeveralOf(_)
            | FieldKind::List(_)
            | FieldKind::Group(_)
            | FieldKind::Json => FieldKind::Json,
        }
    }

    fn group(&mut self, schema: &Map<String, Value>, depth: usize) -> FieldKind {
        let properties = schema.get("properties").and_then(Value::as_object);
        let Some(properties) = properties.filter(|all| !all.is_empty() && depth < DEPTH_MAX) else {
            return FieldKind::Json;
        };
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let mut fields = vec![];
        for (name, of) in properties {
            if self.left == 0 {
                return FieldKind::Json;
            }
            fields.push(self.field(name, of, is_required(name), depth + 1));
        }
        FieldKind::Group(fields)
    }
}

/// Removes "null" from the types; true if it was there.
fn drop_null(schema: &mut Map<String, Value>) -> bool {
    let Some(Value::Array(types)) = schema.get("type") else { return false };
    let others: Vec<_> = types.iter().filter(|one| *one != "null").cloned().collect();
    let had_null = others.len() < types.len();
    // Of several types none is the one; then it is written as JSON.
    let kind = match others.as_slice() {
        [only] => only.clone(),
        _ => Value::String(String::new()),
    };
    schema.insert("type".into(), kind);
    had_null
}

fn text(schema: &Map<String, Value>) -> FieldKind {
    let format = match schema.get("format").and_then(Value::as_str) {
        None | Some("") => TextFormat::Plain,
        Some("date") => TextFormat::Date,
        Some("date-time") => TextFormat::DateTime,
        Some("time") => TextFormat::Time,
        Some("email" | "idn-email") => TextFormat::Email,
        Some("uri" | "url" | "iri") => TextFormat::Uri,
        Some(other) => TextFormat::Other(shorten(&sanitize_line(other), WORDS_MAX)),
    };
    let longest = schema.get("maxLength").and_then(Value::as_u64);
    let has_lines =
        schema.get("default").and_then(Value::as_str).is_some_and(|it| it.contains('\n'));
    let is_line = match longest {
        Some(longest) => longest < LINE_MAX,
        None => schema.contains_key("pattern"),
    };
    match format {
        TextFormat::Plain if !is_line || has_lines => FieldKind::Long,
        format => FieldKind::Text(format),
    }
}

/// Returns the values that can be picked, if the schema is a plain list of them.
fn picks(schema: &Map<String, Value>) -> Option<Vec<PickOption>> {
    if let Some(only) = schema.get("const") {
        return Some(vec![PickOption { value: only.clone(), label: label(only) }]);
    }
    if let Some(all) = schema.get("enum").and_then(Value::as_array) {
        let names = schema.get("enumNames").and_then(Value::as_array);
        let name = |at: usize| names.and_then(|names| names.get(at)?.as_str()).map(sanitize_line);
        let pick = |(at, value): (usize, &Value)| {
            let label = name(at).unwrap_or_else(|| label(value));
            is_scalar(value).then(|| PickOption { value: value.clone(), label })
        };
        return all.iter().enumerate().map(pick).collect();
    }
    let all = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(*key)?.as_array())?;
    let pick = |one: &Value| {
        let value = one.get("const").filter(|value| is_scalar(value))?.clone();
        let title = one.get("title").and_then(Value::as_str).map(sanitize_line);
        Some(PickOption { label: title.unwrap_or_else(|| label(&value)), value })
    };
    all.iter().map(pick).collect()
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

fn label(value: &Value) -> String {
    match value {
        Value::String(text) if !text.trim().is_empty() => sanitize_line(text),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        other => sanitize_line(&other.to_string()),
    }
}

impl ValueBounds {
    fn of(schema: &Map<String, Value>) -> Self {
        let number = |key: &str| schema.get(key).filter(|value| value.is_number()).cloned();
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        Self {
            minimum: number("minimum"),
            maximum: number("maximum"),
            above: number("exclusiveMinimum"),
            below: number("exclusiveMaximum"),
            multiple_of: number("multipleOf"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            pattern: schema.get("pattern").and_then(Value::as_str).map(Into::into),
            min_items: count("minItems"),
            max_items: count("maxItems"),
        }
    }

    fn in_words(&self) -> Vec<String> {
        let of = |number: &str, unit: &[&str; 2]| {
            format!("{number}{}", if number == "1" { unit[0] } else { unit[1] })
        };
        let range =
            |least: Option<String>, most: Option<String>, unit: [&str; 2]| match (least, most) {
                (None, None) => None,
                (Some(least), None) => Some(format!("at least {}", of(&least, &unit))),
                (None, Some(most)) => Some(format!("at most {}", of(&most, &unit))),
                (Some(least), Some(most)) if least == most => {
                    Some(format!("exactly {}", of(&least, &unit)))
                }
                (Some(least), Some(most)) => Some(format!("{least} to {}", of(&most, &unit))),
            };
        let number = |value: &Option<Value>| value.as_ref().map(ToString::to_string);
        let count = |count: Option<u64>| count.map(|count| count.to_string());
        // A minimum of zero goes without saying.
        let some = |count: Option<u64>| count.filter(|count| *count > 0);
        let pattern =
            self.pattern.as_ref().map(|pattern| shorten(&sanitize_line(pattern), WORDS_MAX));
        let all = [
            range(number(&self.minimum), number(&self.maximum), [""; 2]),
            self.above.as_ref().map(|least| format!("more than {least}")),
            self.below.as_ref().map(|most| format!("less than {most}")),
            self.multiple_of.as_ref().map(|of| format!("a multiple of {of}")),
            range(
                count(some(self.min_length)),
                count(self.max_length),
                [" character", " characters"],
            ),
            pattern.map(|pattern| format!("has to match {pattern}")),
            range(count(some(self.min_items)), count(self.max_items), [" entry", " entries"]),
        ];
        all.into_iter().flatten().collect()
    }
}

impl TextFormat {
    fn in_words(&self) -> String {
        match self {
            TextFormat::Plain => "text".into(),
            TextFormat::Date => "date, such as 2026-11-18".into(),
            TextFormat::DateTime => "date and time, such as 2026-11-18T09:30:00Z".into(),
            TextFormat::Time => "time of day, such as 09:30:00Z".into(),
            TextFormat::Email => "e-mail address".into(),
            TextFormat::Uri => "address, such as https://example.com".into(),
            TextFormat::Other(name) => format!("text ({name})"),
        }
    }
}

impl FieldKind {
    fn in_words(&self) -> String {
        let names = |picks: &[PickOption]| {
            let names: Vec<_> = picks.iter().map(PickOption::in_words).collect();
            names.join(", ")
        };
        match self {
            FieldKind::Text(format) => format.in_words(),
            FieldKind::Long => "text".into(),
            FieldKind::Integer => "whole number".into(),
            FieldKind::Number => "number".into(),
            FieldKind::Boolean => "yes or no (true or false)".into(),
            FieldKind::OneOf(picks) => format!("one of {}", names(picks)),
            FieldKind::SeveralOf(picks) => format!("any of {}", names(picks)),
            FieldKind::List(item) => format!("list of: {}", item.says().join(", ")),
            FieldKind::Group(_) => "these together".into(),
            FieldKind::Json => "JSON".into(),
        }
    }
}

impl PickOption {
    /// Returns the value, with its label where that differs.
    fn in_words(&self) -> String {
        let value = shown(&self.value);
        match &self.value {
            Value::String(text) if sanitize_line(text) == self.label => value,
            other if label(other) == self.label => value,
            _ => format!("{value} ({})", self.label),
        }
    }
}

/// Returns a value in a line of words.
fn shown(value: &Value) -> String {
    shorten(&sanitize_line(&value.to_string()), WORDS_MAX)
}

impl FormField {
    /// Returns what it takes, in a line: kind, bounds.
    pub fn takes(&self) -> String {
        self.says().join(", ")
    }

    /// Returns the bounds alone, for a surface that shows the kind by itself.
    pub fn limits(&self) -> String {
        self.bounds.in_words().join(", ")
    }

    /// Returns the suggestion of the asker, in words.
    pub fn suggestion(&self) -> Option<String> {
        let default = self.default.as_ref()?;
        let of = |value: &Value| match &self.kind {
            FieldKind::OneOf(picks) | FieldKind::SeveralOf(picks) => {
                picks.iter().find(|pick| pick.value == *value).map(PickOption::in_words)
            }
            _ => None,
        };
        let one = |value: &Value| of(value).unwrap_or_else(|| shown(value));
        match (&self.kind, default) {
            (FieldKind::SeveralOf(_) | FieldKind::List(_), Value::Array(all))
                if !all.is_empty() =>
            {
                Some(shorten(&all.iter().map(one).collect::<Vec<_>>().join(", "), WORDS_MAX))
            }
            (_, value) => Some(one(value)),
        }
    }

    fn says(&self) -> Vec<String> {
        std::iter::once(self.kind.in_words()).chain(self.bounds.in_words()).collect()
    }

    /// Returns the field in a line: its title, whether it is needed, what it takes, what is suggested.
    pub fn line(&self) -> String {
        let called = match (self.name.is_empty(), sanitize_line(&self.name) == self.title) {
            (true, _) => "the answer".to_owned(),
            (false, true) => self.title.clone(),
            (false, false) => format!("{} ({})", sanitize_line(&self.name), self.title),
        };
        let needed = if self.is_required && !self.takes_null { ", needed" } else { "" };
        let suggested = self.suggestion().map(|it| format!("; the asker suggests {it}"));
        format!("{called}{needed}: {}{}", self.takes(), suggested.unwrap_or_default())
    }
}

/// Returns the fields, a line each, with the asker's help text, and the fields of groups further in. The depth is
/// returned beside the line.
pub fn field_lines(fields: &[FormField]) -> Vec<(usize, String)> {
    let mut lines = vec![];
    for field in fields {
        lines.push((0, field.line()));
        if !field.help.is_empty() {
            lines.push((1, field.help.clone()));
        }
        if let FieldKind::Group(inner) = &field.kind {
            lines.extend(field_lines(inner).into_iter().map(|(depth, line)| (depth + 1, line)));
        }
    }
    lines
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
