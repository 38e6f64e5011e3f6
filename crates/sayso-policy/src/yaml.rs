//! YAML as a tree with line numbers, parsed under a budget: a file that expands too far is refused. For hand-written
//! files whose mistakes are all reported at once.

use crate::diagnostic::{FileDiagnostics, nearest};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::{Spanned, options::MergeKeyPolicy};
use std::fmt;

/// The limits to which a file may expand. A policy of a thousand full rules stays well below.
const NODES_MAX: usize = 100_000;
const ALIASES_MAX: usize = 200;
const REPLAYED_MAX: usize = 20_000;
const DEPTH_MAX: usize = 24;

/// A value and its line; 0 if the line is not known.
#[derive(Debug, Clone)]
pub struct YamlNode {
    pub line: u64,
    pub tree: YamlValue,
}

/// A YAML value.
#[derive(Debug, Clone)]
pub enum YamlValue {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<YamlNode>),
    /// A mapping, in the order of the file.
    Map(Vec<YamlEntry>),
}

/// A key with its value.
#[derive(Debug, Clone)]
pub struct YamlEntry {
    /// The line of the key.
    pub line: u64,
    pub key: String,
    pub value: YamlNode,
}

/// Parses one document, or returns the line of the syntax error.
pub fn read(text: &str) -> Result<YamlNode, (u64, String)> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: NODES_MAX,
            max_events: NODES_MAX * 2,
            max_aliases: ALIASES_MAX,
            max_anchors: ALIASES_MAX,
            max_recorded_anchor_events: REPLAYED_MAX,
            max_depth: DEPTH_MAX,
            flow_nesting_limit: DEPTH_MAX,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: REPLAYED_MAX,
            max_replay_stack_depth: 8,
        },
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
    };
    let read: Result<Spanned<YamlValue>, _> = serde_saphyr::from_str_with_options(text, options);
    match read {
        Ok(spanned) => Ok(spanned.into()),
        Err(error) => {
            let line = error.location().map_or(0, |location| location.line());
            let message = error.without_snippet().to_string();
            let first = message.lines().next().unwrap_or_default().to_owned();
            Err((line, first))
        }
    }
}

impl From<Spanned<YamlValue>> for YamlNode {
    fn from(spanned: Spanned<YamlValue>) -> Self {
        Self { line: spanned.referenced.line(), tree: spanned.value }
    }
}

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlVisitor)
    }
}

struct YamlVisitor;

impl<'de> Visitor<'de> for YamlVisitor {
    type Value = YamlValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Null)
    }

    fn visit_none<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<YamlValue, D::Error> {
        YamlValue::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<YamlValue, E> {
        Ok(YamlValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<YamlValue, E> {
        Ok(Number::from_f64(value).map_or(YamlValue::Null, YamlValue::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<YamlValue, A::Error> {
        let mut list = vec![];
        while let Some(item) = items.next_element::<Spanned<YamlValue>>()? {
            list.push(item.into());
        }
        Ok(YamlValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<YamlValue, A::Error> {
        let mut map = vec![];
        while let Some((key, value)) =
            entries.next_entry::<Spanned<String>, Spanned<YamlValue>>()?
        {
            let (line, key) = (key.referenced.line(), key.value);
            map.push(YamlEntry { line, key, value: value.into() });
        }
        Ok(YamlValue::Map(map))
    }
}

impl YamlNode {
    /// Returns the kind of value, for messages.
    pub fn sort(&self) -> &'static str {
        match &self.tree {
            YamlValue::Null => "nothing",
            YamlValue::Bool(_) => "true or false",
            YamlValue::Number(_) => "a number",
            YamlValue::Text(_) => "a text",
            YamlValue::List(_) => "a list",
            YamlValue::Map(_) => "a mapping",
        }
    }

    /// Returns the text, or adds a mistake.
    pub fn text(&self, what: &str, mistakes: &mut FileDiagnostics) -> Option<&str> {
        if let YamlValue::Text(text) = &self.tree {
            return Some(text);
        }
        let fix = match &self.tree {
            YamlValue::Number(_) | YamlValue::Bool(_) => "put it in quotes",
            YamlValue::Null | YamlValue::Text(_) | YamlValue::List(_) | YamlValue::Map(_) => {
                "write a text"
            }
        };
        mistakes.add(self.line, format!("{what} is {}, not a text", self.sort()), fix);
        None
    }

    /// Returns one text, or a list of them, each with its line.
    pub fn texts(&self, what: &str, mistakes: &mut FileDiagnostics) -> Vec<(u64, String)> {
        match &self.tree {
            YamlValue::List(items) if items.is_empty() => {
                mistakes.add(self.line, format!("{what} is an empty list"), "name one, or drop it");
                vec![]
            }
            YamlValue::List(items) => items
                .iter()
                .filter_map(|item| Some((item.line, item.text(what, mistakes)?.to_owned())))
                .collect(),
            YamlValue::Null
            | YamlValue::Bool(_)
            | YamlValue::Number(_)
            | YamlValue::Text(_)
            | YamlValue::Map(_) => self
                .text(what, mistakes)
                .map(|text| (self.line, text.to_owned()))
                .into_iter()
                .collect(),
        }
    }

    /// Returns the items of a list, or adds a mistake.
    pub fn items(&self, what: &str, mistakes: &mut FileDiagnostics) -> &[YamlNode] {
        match &self.tree {
            YamlValue::List(items) => items,
            YamlValue::Null => &[],
            YamlValue::Bool(_) | YamlValue::Number(_) | YamlValue::Text(_) | YamlValue::Map(_) => {
                let what = format!("{what} is {}, not a list", self.sort());
                mistakes.add(self.line, what, "begin each entry with `- `");
                &[]
            }
        }
    }

    /// Returns the entries of a mapping, or adds a mistake.
    pub fn entries(&self, what: &str, mistakes: &mut FileDiagnostics) -> &[YamlEntry] {
        match &self.tree {
            YamlValue::Map(entries) => entries,
            YamlValue::Null => &[],
            YamlValue::Bool(_) | YamlValue::Number(_) | YamlValue::Text(_) | YamlValue::List(_) => {
                let what = format!("{what} is {}, not a mapping", self.sort());
                mistakes.add(self.line, what, "write it as `key: value`");
                &[]
            }
        }
    }

    /// Returns the mapping's values by key; a key that is not in `known` is a mistake.
    pub fn fields<'a>(
        &'a self,
        what: &str,
        known: &[&'static str],
        mistakes: &mut FileDiagnostics,
    ) -> YamlFields<'a> {
        let entries = self.entries(what, mistakes);
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let fix = match nearest(&entry.key, known.iter().copied()) {
                Some(name) => format!("write `{name}`"),
                None => format!("the keys are {}", known.join(", ")),
            };
            mistakes.add(entry.line, format!("{what} has no key `{}`", entry.key), fix);
        }
        YamlFields { line: self.line, entries }
    }

    /// Converts the value to JSON, without lines.
    pub fn json(&self) -> Value {
        match &self.tree {
            YamlValue::Null => Value::Null,
            YamlValue::Bool(value) => Value::Bool(*value),
            YamlValue::Number(number) => Value::Number(number.clone()),
            YamlValue::Text(text) => Value::String(text.clone()),
            YamlValue::List(items) => Value::Array(items.iter().map(YamlNode::json).collect()),
            YamlValue::Map(entries) => {
                Value::Object(entries.iter().map(|e| (e.key.clone(), e.value.json())).collect())
            }
        }
    }
}

/// The entries of a mapping whose keys were checked.
#[derive(Debug, Clone, Copy)]
pub struct YamlFields<'a> {
    /// The line on which the mapping begins.
    pub line: u64,
    entries: &'a [YamlEntry],
}

impl<'a> YamlFields<'a> {
    /// Returns the value of a key, if it is there.
    pub fn get(&self, key: &str) -> Option<&'a YamlNode> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_known_of_keys_and_values() {
        let node = read("a: 1\nb:\n  - x\n  - on: tool\n").unwrap();
        let YamlValue::Map(entries) = &node.tree else { panic!("{node:?}") };
        let lines: Vec<_> =
            entries.iter().map(|e| (e.key.as_str(), e.line, e.value.line)).collect();
        assert_eq!(lines, [("a", 1, 1), ("b", 2, 3)]);
        assert_eq!(node.json(), serde_json::json!({"a": 1, "b": ["x", {"on": "tool"}]}));
    }

    #[test]
    fn a_file_that_unfolds_is_refused() {
        let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
        for (name, of) in "bcdefghi".chars().zip("abcdefgh".chars()) {
            bomb += &format!(
                "{name}: &{name} [{}]\n",
                [format!("*{of}"); 1].concat() + &format!(", *{of}").repeat(9)
            );
        }
        let (_, message) = read(&bomb).unwrap_err();
        assert!(!message.is_empty());
    }

    #[test]
    fn depth_is_bounded() {
        assert!(read(&"[".repeat(100_000)).is_err());
        assert!(read(&format!("{}x{}", "[".repeat(30), "]".repeat(30))).is_err());
    }

    #[test]
    fn wrong_yaml_names_its_line() {
        let (line, _) = read("a: 1\nb: [1,\nc: }\n").unwrap_err();
        assert!(line >= 2, "{line}");
        let (line, message) = read("a: 1\na: 2\n").unwrap_err();
        assert_eq!(line, 2, "{message}");
    }
}
