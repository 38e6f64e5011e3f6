//! Tests of schemas, and of the fields they are read as.

use super::*;
use serde_json::json;

/// The lines of a form, further in by two blanks each.
fn told(schema: &Value) -> String {
    let line = |(depth, line): (usize, String)| format!("{}{line}", "  ".repeat(depth));
    field_lines(&fields(schema)).into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A form with one field of this schema.
fn of_one(schema: Value) -> Value {
    json!({"type": "object", "properties": {"x": schema}})
}

#[test]
fn what_a_field_is_read_as() {
    let defs = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/port", "title": "Port"}},
        "$defs": {"port": {"type": "integer", "maximum": 9, "title": "Other"}}});
    assert_eq!(told(&defs), "x (Port): whole number, at most 9");
    for (schema, line) in [
        (json!({"type": "string"}), "x: text"),
        (json!({"type": "string", "minLength": 2, "maxLength": 40}), "x: text, 2 to 40 characters"),
        (json!({"type": "string", "pattern": "^v\\d"}), "x: text, has to match ^v\\d"),
        (json!({"type": "string", "format": "date"}), "x: date, such as 2026-11-18"),
        (
            json!({"type": "string", "format": "date-time"}),
            "x: date and time, such as 2026-11-18T09:30:00Z",
        ),
        (json!({"type": "string", "format": "time"}), "x: time of day, such as 09:30:00Z"),
        (json!({"type": "string", "format": "email"}), "x: e-mail address"),
        (json!({"type": "string", "format": "uri"}), "x: address, such as https://example.com"),
        (json!({"type": "string", "format": "uuid"}), "x: text (uuid)"),
        (json!({"type": "integer", "minimum": 1, "maximum": 9}), "x: whole number, 1 to 9"),
        (
            json!({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5}),
            "x: number, more than 0, a multiple of 0.5",
        ),
        (json!({"type": "boolean"}), "x: yes or no (true or false)"),
        (json!({"type": "integer", "default": 3}), "x: whole number; the asker suggests 3"),
        (
            json!({"enum": ["eu", "us"], "default": "eu"}),
            r#"x: one of "eu", "us"; the asker suggests "eu""#,
        ),
        (json!({"enum": ["a", 1, null, true]}), r#"x: one of "a", 1, null, true"#),
        (
            json!({"enum": ["a", "b"], "enumNames": ["Ay", "Bee"]}),
            r#"x: one of "a" (Ay), "b" (Bee)"#,
        ),
        (
            json!({"oneOf": [{"const": 1, "title": "low"}, {"const": 2, "title": "high"}], "default": 2}),
            "x: one of 1 (low), 2 (high); the asker suggests 2 (high)",
        ),
        (json!({"const": "understood"}), r#"x: one of "understood""#),
        (
            json!({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "default": ["b"]}),
            r#"x: any of "a", "b", at least 1 entry; the asker suggests "b""#,
        ),
        (
            json!({"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 3}),
            "x: list of: whole number, at least 1, at most 3 entries",
        ),
        (json!({"type": "array", "items": {"type": "array"}}), "x: JSON"),
        (json!({"type": ["string", "null"], "format": "email"}), "x: e-mail address"),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null}),
            "x: whole number",
        ),
        (json!({"type": ["string", "integer"]}), "x: JSON"),
        (json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), "x: JSON"),
        (json!({"allOf": [{"type": "integer"}]}), "x: whole number"),
        (json!({}), "x: JSON"),
        (json!(true), "x: JSON"),
        (json!({"title": "A\u{202e}b\nc", "type": "string"}), "x (A[U+202E]b ⏎ c): text"),
    ] {
        assert_eq!(told(&of_one(schema.clone())), line, "{schema}");
    }
}

#[test]
fn what_belongs_together_stands_together() {
    let schema = json!({"type": "object", "required": ["zone"], "properties": {
        "count": {"type": "integer", "description": "How many of it"},
        "zone": {"enum": ["eu", "us"]},
        "proxy": {"type": "object", "required": ["host"], "properties": {
            "host": {"type": "string", "maxLength": 60}, "port": {"type": "integer", "default": 8080}}},
    }});
    // In the asker's order, whether needed or not.
    let lines = "count: whole number\n  How many of it\nzone, needed: one of \"eu\", \"us\"\nproxy: these together\n  \
        host, needed: text, at most 60 characters\n  port: whole number; the asker suggests 8080";
    assert_eq!(told(&schema), lines);
    assert_eq!(told(&json!({"enum": ["eu", "us"]})), "the answer, needed: one of \"eu\", \"us\"");
}

#[test]
fn a_hostile_schema_is_read_in_no_time() {
    let both = |n: u32| json!({"type": "object", "properties": {"a": {"$ref": format!("#/$defs/{n}")}, "b": {"$ref": format!("#/$defs/{n}")}}});
    let mut defs: Map<_, _> = (0..60).map(|n| (n.to_string(), both(n + 1))).collect();
    defs.insert("60".into(), json!({"type": "integer"}));
    let many: Map<_, _> = (0..500).map(|n| (n.to_string(), json!({"type": "string"}))).collect();
    let mut deep = json!({"type": "integer"});
    for _ in 0..50 {
        deep = of_one(deep);
    }
    for (schema, expected) in [
        (json!({"$ref": "#"}), "the answer, needed: JSON"),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
            "the answer, needed: JSON",
        ),
        (json!({"type": "object", "properties": many}), "the answer, needed: JSON"),
        (deep, "x: these together\n  x: these together\n    x: JSON"),
        (
            json!({"$ref": "#/$defs/0", "$defs": defs}),
            "a: these together\n  a: these together\n    a: JSON\n    b: JSON\n  b: these together\n    a: JSON\n    b: JSON\nb: these together\n  a: these together\n    a: JSON\n    b: JSON\n  b: these together\n    a: JSON\n    b: JSON",
        ),
    ] {
        assert_eq!(told(&schema), expected);
    }
}

const RELEASE: &str = r#"{"type": "object", "required": ["zone"], "properties": {
    "zone": {"enum": ["eu", "us"], "title": "Zone", "description": "Others wait longer"},
    "count": {"type": "integer", "default": 3},
    "note": {"type": "string"},
    "proxy": {"type": "object", "required": ["host"], "properties": {"host": {"type": "string"}}}}}"#;

#[test]
fn a_form_is_filled_in_below_what_it_asks() {
    let form = fields(&serde_json::from_str(RELEASE).unwrap());
    let text = to_fill_in("Where?\nAnd how many?", &form, None);
    let expected = r#"// Where?
// And how many?
// Lines with // in front are left out, and so is what stays null.
{
  // zone (Zone), needed: one of "eu", "us"
  //   Others wait longer
  "zone": null,
  // count: whole number; the asker suggests 3
  "count": 3,
  // note: text
  "note": null,
  // proxy: these together
  //   host, needed: text
  //   instead of null, to fill it in: {"host":null}
  "proxy": null
}
"#;
    assert_eq!(text, expected);
    // An untouched form is what the asker suggests, and no more.
    assert_eq!(filled_in(&form, &text).unwrap(), json!({"count": 3}));
    let filled = json!({"zone": "eu", "note": "a // b", "proxy": {"host": "h"}, "more": [1]});
    let again = to_fill_in("Where?", &form, Some(&filled));
    assert!(!again.contains("\"count\": 3"), "what was taken out stays out: {again}");
    assert_eq!(filled_in(&form, &again).unwrap(), filled);
}

/// A mistake is told by the number its line has in the editor, and stands above the text that is opened again.
#[test]
fn a_mistake_is_told_where_it_stands() {
    let form = fields(&serde_json::from_str(RELEASE).unwrap());
    let text = to_fill_in("Where?", &form, None).replace("\"count\": 3,", "\"count\": 3");
    let place = text.lines().position(|line| line.contains("\"note\"")).unwrap() + 1;
    let error = filled_in(&form, &text).unwrap_err();
    assert_eq!(error.line(), place, "{error}\n{text}");
    let again = to_correct(&text);
    assert!(again.starts_with("// ! not JSON yet: ") && again.ends_with(&text), "{again}");
    assert!(again.contains(&format!("line {} column", place + 1)), "{again}");
    assert_eq!(to_correct(&again), again);
    assert_eq!(to_correct(&again.replace("3\n", "3,\n")), text.replace("3\n", "3,\n"));
}

/// An invisible character is written by its number, and means the same.
#[test]
fn what_is_invisible_is_written_by_its_number() {
    let suggested = "a\u{202e}b\u{2028}c\u{200b}d\u{e0041} n\u{e3}o, na\u{303}o, ❤\u{fe0f}";
    let schema = json!({"type": "object", "properties": {
        "x\u{202e}": {"type": "string", "default": suggested}}});
    let form = fields(&schema);
    let text = to_fill_in("Well?", &form, None);
    for hidden in ['\u{202e}', '\u{2028}', '\u{200b}', '\u{e0041}'] {
        assert!(!text.contains(hidden), "{hidden:?} in {text}");
    }
    assert!(text.contains("a\\u202eb\\u2028c\\u200bd\\udb40\\udc41 n\u{e3}o"), "{text}");
    assert_eq!(filled_in(&form, &text).unwrap(), json!({"x\u{202e}": suggested}));
}

#[test]
fn what_the_asker_writes_stays_in_its_comment() {
    let schema = json!({"type": "object", "properties": {"a\n\"b\": 1,": {"type": "string",
        "description": "x\n\"injected\": true,\r\n\u{2028}y"}}});
    let form = fields(&schema);
    let text = to_fill_in("q\n{\"c\": 1}", &form, None);
    assert_eq!(filled_in(&form, &text).unwrap(), json!({}));
    assert_eq!(text.lines().filter(|line| !line.trim_start().starts_with("//")).count(), 3);
}
