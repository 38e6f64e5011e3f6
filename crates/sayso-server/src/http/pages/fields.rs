//! Form fields of a page. [`text::fields`] says what a field is; this module chooses its control. No pattern of an
//! agent is given to a browser, which could be kept busy with it for ever (ReDoS).

use crate::text::{self, FieldKind, FormField, TextFormat};
use askama::Template;
use sayso_core::AnswerShape;
use serde_json::Value;

/// Returns the fields of a form as HTML; empty if the answer is no form.
pub(super) fn html(shape: &AnswerShape) -> String {
    let AnswerShape::Form { schema } = shape else { return String::new() };
    render(&text::fields(schema), "f", None)
}

#[derive(Template)]
#[template(path = "fields.html")]
struct FormFieldsView {
    fields: Vec<FieldView>,
}

struct FieldView {
    id: String,
    /// The key in the answer.
    name: String,
    title: String,
    help: String,
    limits: String,
    suggested: Option<String>,
    is_required: bool,
    /// The value of an empty field: "null", or none.
    empty: &'static str,
    /// The type a script reads it as.
    kind: &'static str,
    control: InputControl,
    /// The bounds of the number of entries.
    bounds: Vec<(&'static str, String)>,
    picks: Vec<PickView>,
    /// The first rows of a list.
    rows: Vec<String>,
    /// The fields of a group.
    inner: String,
    /// True if an optional group is filled in from the start.
    is_in_use: bool,
}

/// The control of a field.
struct InputControl {
    /// The type a script reads it as.
    kind: &'static str,
    /// The type of an input; empty for a text of many lines.
    input: &'static str,
    attributes: Vec<(&'static str, String)>,
    /// The attribute with the suggested value.
    holds: &'static str,
    value: String,
}

struct PickView {
    /// The value of the control; the JSON is sent.
    value: String,
    json: String,
    label: String,
    is_suggested: bool,
}

fn render(fields: &[FormField], id: &str, defaults: Option<&Value>) -> String {
    let view = |(at, field): (usize, &FormField)| {
        let default = defaults.and_then(|all| all.get(&field.name)).or(field.default.as_ref());
        view(field, format!("{id}-{at}"), default)
    };
    let fields = FormFieldsView { fields: fields.iter().enumerate().map(view).collect() };
    fields.render().unwrap_or_default()
}

fn view(field: &FormField, id: String, default: Option<&Value>) -> FieldView {
    let field = &FormField { default: default.cloned(), ..field.clone() };
    let title = match field.title.as_str() {
        "" => "Your answer".to_owned(),
        title => title.to_owned(),
    };
    let inner = match &field.kind {
        FieldKind::Group(inner) => render(inner, &id, default),
        _ => String::new(),
    };
    FieldView {
        title,
        help: field.help.clone(),
        limits: limits(field),
        suggested: field.suggestion(),
        is_required: field.is_required && !field.takes_null,
        empty: if field.is_required && field.takes_null { "null" } else { "" },
        kind: kind(field),
        control: control(field),
        bounds: attributes(field),
        picks: picks(field),
        rows: rows(field),
        is_in_use: field.is_required || default.is_some(),
        name: field.name.clone(),
        inner,
        id,
    }
}

/// Returns the limits that the control itself does not show.
fn limits(field: &FormField) -> String {
    let format = match &field.kind {
        FieldKind::Text(TextFormat::Other(name)) => Some(name.clone()),
        FieldKind::Text(TextFormat::DateTime | TextFormat::Time) => {
            Some("in your time zone".into())
        }
        FieldKind::List(item) => Some(item.takes()),
        FieldKind::Integer => Some("whole number".into()),
        FieldKind::Json => Some("as JSON".into()),
        _ => None,
    };
    let limits = Some(field.limits()).filter(|limits| !limits.is_empty());
    format.into_iter().chain(limits).collect::<Vec<_>>().join(", ")
}

fn kind(field: &FormField) -> &'static str {
    match &field.kind {
        FieldKind::Text(TextFormat::DateTime) => "moment",
        FieldKind::Text(TextFormat::Time) => "time",
        FieldKind::Text(_) | FieldKind::Long => "text",
        FieldKind::Integer => "integer",
        FieldKind::Number => "number",
        FieldKind::Boolean | FieldKind::OneOf(_) => "choice",
        FieldKind::SeveralOf(_) => "several",
        FieldKind::List(_) => "list",
        FieldKind::Group(_) => "group",
        FieldKind::Json => "json",
    }
}

fn control(field: &FormField) -> InputControl {
    let of = match &field.kind {
        FieldKind::List(item) => item,
        _ => field,
    };
    let input = match &of.kind {
        FieldKind::Text(TextFormat::Date) => "date",
        FieldKind::Text(TextFormat::DateTime) => "datetime-local",
        FieldKind::Text(TextFormat::Time) => "time",
        FieldKind::Text(TextFormat::Email) => "email",
        FieldKind::Text(TextFormat::Uri) => "url",
        FieldKind::Integer | FieldKind::Number => "number",
        FieldKind::Text(TextFormat::Plain | TextFormat::Other(_)) => "text",
        // A row of a list is one line.
        FieldKind::Long if !std::ptr::eq(of, field) => "text",
        _ => "",
    };
    let value = of.default.as_ref().and_then(|value| typed(of, value)).unwrap_or_default();
    // A browser's control has no time zone: a script shows the moment in its own.
    let holds = match &of.kind {
        FieldKind::Text(TextFormat::DateTime | TextFormat::Time) => "data-moment",
        _ => "value",
    };
    InputControl { kind: kind(of), input, attributes: attributes(of), holds, value }
}

/// Returns the bounds that a browser knows. Lengths are counted by the script: a browser would cut pasted text.
fn attributes(field: &FormField) -> Vec<(&'static str, String)> {
    let bounds = &field.bounds;
    let number = |value: &Option<Value>| value.as_ref().map(ToString::to_string);
    let step = match &field.kind {
        FieldKind::Integer => Some("1".to_owned()),
        FieldKind::Number => Some("any".to_owned()),
        _ => None,
    };
    let all = [
        ("min", number(&bounds.minimum)),
        ("max", number(&bounds.maximum)),
        ("step", step),
        ("data-shortest", bounds.min_length.map(|it| it.to_string())),
        ("data-longest", bounds.max_length.map(|it| it.to_string())),
        ("data-fewest", bounds.min_items.map(|it| it.to_string())),
        ("data-most", bounds.max_items.map(|it| it.to_string())),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Returns a value as it would be typed, if it is one for this field.
fn typed(field: &FormField, value: &Value) -> Option<String> {
    match (&field.kind, value) {
        (FieldKind::Text(_) | FieldKind::Long, Value::String(text)) => Some(text.clone()),
        (FieldKind::Integer | FieldKind::Number, Value::Number(number)) => Some(number.to_string()),
        (FieldKind::Json, value) => serde_json::to_string_pretty(value).ok(),
        _ => None,
    }
}

fn picks(field: &FormField) -> Vec<PickView> {
    let is_suggested = |value: &Value| match &field.default {
        Some(Value::Array(all)) => all.contains(value),
        default => default.as_ref() == Some(value),
    };
    let own = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let pick = |value: &Value, label: &str| PickView {
        value: own(value).unwrap_or_else(|| value.to_string()),
        json: value.to_string(),
        label: label.to_owned(),
        is_suggested: is_suggested(value),
    };
    match &field.kind {
        FieldKind::Boolean => vec![pick(&true.into(), "yes"), pick(&false.into(), "no")],
        FieldKind::OneOf(picks) | FieldKind::SeveralOf(picks) => {
            picks.iter().map(|one| pick(&one.value, &one.label)).collect()
        }
        _ => vec![],
    }
}

/// Returns the first rows of a list: what is suggested, or one empty row.
fn rows(field: &FormField) -> Vec<String> {
    let FieldKind::List(item) = &field.kind else { return vec![] };
    let suggested = field.default.as_ref().and_then(Value::as_array);
    let rows = suggested.into_iter().flatten().filter_map(|value| typed(item, value));
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() { vec![String::new()] } else { rows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form(schema: Value) -> String {
        html(&AnswerShape::Form { schema })
    }

    #[test]
    fn each_field_has_its_control() {
        for (schema, has) in [
            (json!({"type": "string", "format": "date"}), "type=\"date\""),
            (json!({"type": "string", "format": "email"}), "type=\"email\""),
            (json!({"type": "string", "format": "uri"}), "type=\"url\""),
            (json!({"type": "integer", "minimum": 1}), "type=\"number\" value=\"\" min=\"1\""),
            (json!({"type": "integer", "default": 3}), "type=\"number\" value=\"3\""),
            (json!({"type": "boolean", "default": false}), "data-json=\"false\" selected"),
            (json!({"enum": ["a", "b"], "default": "b"}), "data-json=\"&#34;b&#34;\" selected"),
            (
                json!({"type": "array", "items": {"enum": ["a"]}, "default": ["a"]}),
                "type=\"checkbox\" data-field=\"x\" data-json=\"&#34;a&#34;\" checked",
            ),
            (json!({"type": "object"}), "<textarea"),
            (
                json!({"type": "string", "format": "date-time", "default": "2026-03-01T12:00:00+05:30"}),
                "type=\"datetime-local\" data-moment=\"2026-03-01T12:00:00+05:30\"",
            ),
            (
                json!({"type": "array", "items": {"type": "string", "format": "time"}, "default": ["09:30:00Z"]}),
                "type=\"time\" data-moment=\"09:30:00Z\"",
            ),
        ] {
            let shown = form(json!({"type": "object", "properties": {"x": schema}}));
            assert!(shown.contains(has), "{has}: {shown}");
        }
    }

    #[test]
    fn no_pattern_and_no_markup_of_an_agent_reaches_a_browser() {
        let shown = form(
            json!({"type": "object", "properties": {"\"><img src=x>": {"type": "string",
            "pattern": "^(a+)+$", "title": "<b>t</b>", "description": "<script>", "default": "\"><i>"}}}),
        );
        for tag in ["<img", "<b>", "<script", "<i>", " pattern="] {
            assert!(!shown.contains(tag), "{tag}: {shown}");
        }
        assert!(shown.contains("has to match ^(a+)+$"), "{shown}");
    }
}
