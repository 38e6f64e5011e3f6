//! Digests: SHA-256 over canonical JSON (RFC 8785), so that an answer can name the content that was shown.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A SHA-256 value, written as 64 hexadecimal characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// The number of characters that people see and type.
    pub const SHORT_LEN: usize = 12;

    /// Returns the digest of some bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let digit = |four: u8| char::from(b"0123456789abcdef"[usize::from(four)]);
        let hash = Sha256::digest(bytes);
        Self(hash.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect())
    }

    /// Returns the digest of a value's canonical JSON.
    pub fn of<T: Serialize>(value: &T) -> Self {
        Self::of_bytes(canonical(value).as_bytes())
    }

    /// Returns all 64 hexadecimal characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first characters, as shown to people.
    pub fn short(&self) -> &str {
        self.0.get(..Self::SHORT_LEN).unwrap_or(&self.0)
    }

    /// True if `named`, complete or shortened to at least [`Self::SHORT_LEN`] characters, means this digest.
    pub fn is_named_by(&self, named: &str) -> bool {
        named.len() >= Self::SHORT_LEN && self.0.starts_with(&named.to_ascii_lowercase())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns a value as canonical JSON: RFC 8785, except that integers stay exact. RFC 8785 rounds those beyond 2^53,
/// and then two calls that differ in a long id would share one digest.
///
/// A value that JSON cannot express (a map with non-text keys, a number that is not finite) becomes `null`; our own
/// types have neither, and foreign values arrive as JSON already.
pub fn canonical<T: Serialize>(value: &T) -> String {
    let mut text = String::new();
    write_canonical(&mut text, &serde_json::to_value(value).unwrap_or_default());
    text
}

fn write_canonical(text: &mut String, value: &Value) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            for (at, (key, value)) in entries.into_iter().enumerate() {
                text.push(if at == 0 { '{' } else { ',' });
                write_text(text, key);
                text.push(':');
                write_canonical(text, value);
            }
            text.push_str(if map.is_empty() { "{}" } else { "}" });
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                text.push(if at == 0 { '[' } else { ',' });
                write_canonical(text, item);
            }
            text.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::String(value) => write_text(text, value),
        Value::Number(number) if !number.is_f64() => text.push_str(&number.to_string()),
        Value::Number(number) => text.push_str(&canonical_fraction(number)),
    }
}

/// Writes a string as RFC 8785 demands: with the fewest escapes, as most JSON writers do.
fn write_text(text: &mut String, value: &str) {
    text.push_str(&serde_json::to_string(value).unwrap_or_else(|_| "null".into()));
}

fn canonical_fraction(number: &Number) -> String {
    serde_json_canonicalizer::to_string(number).unwrap_or_else(|_| "null".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_of_keys_does_not_matter() {
        assert_eq!(Digest::of(&json!({"a": 1, "b": 2})), Digest::of(&json!({"b": 2, "a": 1})));
        assert_ne!(Digest::of(&json!({"a": 1})), Digest::of(&json!({"a": 2})));
    }

    /// A stored digest stays valid, independent of the order in which a map is kept in memory.
    #[test]
    fn names_that_were_given_hold() {
        let schema = r#"{"type":"object","required":["zone"],"properties":{"zone":{"enum":["eu"]},"count":{"type":"integer"},"a":{}}}"#;
        let read: Value = serde_json::from_str(schema).unwrap_or_default();
        assert_eq!(
            canonical(&read),
            r#"{"properties":{"a":{},"count":{"type":"integer"},"zone":{"enum":["eu"]}},"required":["zone"],"type":"object"}"#
        );
        let was = "e524e3c51b19ddd54d68d91ac8b1e920a66018b69eb9a966011a06e240a8d57d";
        assert_eq!(Digest::of(&read).as_str(), was);
        // Parsing and printing keeps the text as it was.
        assert_eq!(read.to_string(), schema);
    }

    #[test]
    fn canonical_json_is_rfc_8785_but_for_long_whole_numbers() {
        for (value, text) in [
            (
                json!({"b": [1, 2.5, {}], "a": {"z": null, "y": []}}),
                r#"{"a":{"y":[],"z":null},"b":[1,2.5,{}]}"#,
            ),
            (json!({"\u{fb33}": 1, "\u{1f600}": 2}), "{\"\u{1f600}\":2,\"\u{fb33}\":1}"),
            (json!([1.0, 1e30, -0.0, 1e-7]), "[1,1e+30,0,1e-7]"),
            (json!("\u{7}\n\"é"), r#""\u0007\n\"é""#),
            (
                json!("\0\u{1f}\u{7f}\u{8}\t\u{c}\r\\/<\u{2028}"),
                "\"\\u0000\\u001f\u{7f}\\b\\t\\f\\r\\\\/<\u{2028}\"",
            ),
        ] {
            assert_eq!(canonical(&value), text);
            assert_eq!(serde_json_canonicalizer::to_string(&value).ok().as_deref(), Some(text));
        }
        assert_eq!(canonical(&json!([u64::MAX, i64::MIN])), format!("[{},{}]", u64::MAX, i64::MIN));
    }

    #[test]
    fn ids_that_differ_in_the_last_digit_have_different_digests() {
        let pay = |to: u64| Digest::of(&json!({"to": to}));
        assert_ne!(pay(9_007_199_254_740_992), pay(9_007_199_254_740_993));
    }

    #[test]
    fn a_short_form_names_it_and_a_shorter_one_does_not() {
        let digest = Digest::of(&json!("x"));
        assert!(digest.is_named_by(digest.short()));
        assert!(digest.is_named_by(digest.as_str()));
        assert!(!digest.is_named_by(&digest.as_str()[..4]));
        assert!(!digest.is_named_by(""));
    }
}
