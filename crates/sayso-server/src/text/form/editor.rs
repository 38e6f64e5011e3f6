//! Forms to be filled in with an editor: JSON, with a comment above each field that says what it takes.

use super::{FieldKind, FormField};
use sayso_core::text::sanitize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::fmt::Write;

/// The beginning of a comment.
const COMMENT: &str = "//";

/// The beginning of a comment of ours about a mistake.
const MISTAKE: &str = "// !";

/// Returns a form to be filled in: with the values of before, or else with the asker's suggestions, and null for the
/// rest.
pub fn to_fill_in(question: &str, fields: &[FormField], filled: Option<&Value>) -> String {
    let mut lines = vec![];
    let question = sanitize(question).text;
    lines.extend(question.lines().map(|line| format!("{COMMENT} {line}")));
    lines.push(format!(
        "{COMMENT} Lines with {COMMENT} in front are left out, and so is what stays null."
    ));
    lines.extend(whole(fields, filled));
    lines.join("\n") + "\n"
}

fn whole(fields: &[FormField], filled: Option<&Value>) -> Vec<String> {
    match fields {
        [only] if only.name.is_empty() => {
            let suggested = only.default.clone().unwrap_or_default();
            let value = filled.cloned().unwrap_or(suggested);
            about(only).into_iter().chain(pretty(&value)).collect()
        }
        fields => object(fields, filled),
    }
}

/// Returns an object in lines: its fields, each below its comment, and its other members.
fn object(fields: &[FormField], filled: Option<&Value>) -> Vec<String> {
    let known = |name: &String| fields.iter().any(|field| field.name == *name);
    let others = filled.and_then(Value::as_object).into_iter().flatten();
    let others = others.filter(|(name, _)| !known(name));
    let of_fields = fields.iter().map(|field| {
        let given = filled.map(|filled| filled.get(&field.name).cloned().unwrap_or_default());
        (about(field), &field.name, member(field, given.as_ref()))
    });
    let of_others = others.map(|(name, value)| (vec![], name, pretty(value)));
    let members: Vec<_> = of_fields.chain(of_others).collect();
    let count = members.len();
    let mut lines = vec!["{".to_owned()];
    for (at, (about, name, mut value)) in members.into_iter().enumerate() {
        lines.extend(about.into_iter().map(|line| format!("  {line}")));
        if let Some(first) = value.first_mut() {
            *first = format!("{}: {first}", plainly(&Value::from(name.as_str()).to_string()));
        }
        if let Some(last) = value.last_mut().filter(|_| at + 1 < count) {
            last.push(',');
        }
        lines.extend(value.into_iter().map(|line| format!("  {line}")));
    }
    lines.push("}".into());
    lines
}

/// Returns the value of a field, in lines. The asker's suggestion stands only in a form that was not filled in
/// before.
fn member(field: &FormField, given: Option<&Value>) -> Vec<String> {
    match (&field.kind, given) {
        (FieldKind::Group(inner), Some(value @ Value::Object(_))) => object(inner, Some(value)),
        // A group that may be left out is: the suggestions inside of it are for a person who fills it in.
        (FieldKind::Group(inner), None) if field.is_required || field.default.is_some() => {
            object(inner, field.default.as_ref())
        }
        (_, Some(value)) => pretty(value),
        (_, None) => pretty(field.default.as_ref().unwrap_or(&Value::Null)),
    }
}

fn about(field: &FormField) -> Vec<String> {
    let lines = super::field_lines(std::slice::from_ref(field));
    // The fields of a group that is filled in have their own.
    let is_group_in_use = matches!(field.kind, FieldKind::Group(_));
    let own = if is_group_in_use && (field.is_required || field.default.is_some()) {
        1 + usize::from(!field.help.is_empty())
    } else {
        lines.len()
    };
    let line = |(depth, line): (usize, String)| format!("{COMMENT} {}{line}", "  ".repeat(depth));
    let is_left_out = is_group_in_use && own == lines.len() && !field.is_required;
    let filled = is_left_out.then(|| plainly(&skeleton(field).to_string()));
    let filled = filled.map(|it| format!("{COMMENT}   instead of null, to fill it in: {it}"));
    lines.into_iter().take(own).map(line).chain(filled).collect()
}

/// Returns a group as it looks when it is filled in.
fn skeleton(field: &FormField) -> Value {
    match &field.kind {
        FieldKind::Group(inner) => {
            let members = inner.iter().map(|field| (field.name.clone(), skeleton(field)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        _ => field.default.clone().unwrap_or_default(),
    }
}

fn pretty(value: &Value) -> Vec<String> {
    json_to_edit(value).lines().map(Into::into).collect()
}

/// Returns a value as JSON for an editor. Characters that are invisible, or would turn the text around, are written
/// by their number.
pub fn json_to_edit(value: &Value) -> String {
    plainly(&serde_json::to_string_pretty(value).unwrap_or_default())
}

fn plainly(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    let mut before = 'a';
    for c in json.chars() {
        // Some characters belong to the one before them, and are harmless behind it.
        let spelt_out = |text: &[char]| sanitize(&String::from_iter(text)).spelt_out;
        if c == '\n' || spelt_out(&[before, c]) == spelt_out(&[before]) {
            plain.push(c);
            before = if c == '\n' { 'a' } else { c };
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(plain, "\\u{unit:04x}");
        }
        before = 'a';
    }
    plain
}

/// Returns a text that could not be parsed, to be corrected: the error stands above it.
pub fn to_correct(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with(MISTAKE)).collect();
    let text = lines.join("\n") + "\n";
    // Read with a line above it, so that the number of a line is the one that an editor shows.
    let read = serde_json::from_str::<IgnoredAny>(&without_comments(&format!("{MISTAKE}\n{text}")));
    match read {
        Ok(_) => text,
        Err(error) => format!("{MISTAKE} not JSON yet: {error}\n{text}"),
    }
}

/// Replaces comments by empty lines, so that an error has the line number that the editor shows.
fn without_comments(text: &str) -> String {
    // No line of a value in JSON begins with a comment's sign: line breaks in texts are written as \n.
    let is_comment = |line: &str| line.trim_start().starts_with(COMMENT);
    let lines = text.lines().map(|line| if is_comment(line) { "" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

/// Parses a form that was filled in, without the comments and without the fields that stayed empty.
pub fn filled_in(fields: &[FormField], text: &str) -> serde_json::Result<Value> {
    let mut value = serde_json::from_str(&without_comments(text))?;
    leave_out(fields, &mut value);
    Ok(value)
}

/// Removes the fields that stayed null, where null is no answer.
fn leave_out(fields: &[FormField], value: &mut Value) {
    let Value::Object(all) = value else { return };
    for field in fields {
        if let (FieldKind::Group(inner), Some(value)) = (&field.kind, all.get_mut(&field.name)) {
            leave_out(inner, value);
        }
        let stays = (field.takes_null && field.is_required) || takes_null(field);
        let is_null = all.get(&field.name).is_some_and(Value::is_null);
        if is_null && !stays {
            all.shift_remove(&field.name);
        }
    }
}

/// True if null is one of the values that can be picked.
fn takes_null(field: &FormField) -> bool {
    matches!(&field.kind, FieldKind::OneOf(picks) if picks.iter().any(|pick| pick.value.is_null()))
}
