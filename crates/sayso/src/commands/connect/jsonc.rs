//! Editing JSON with comments in place: foreign text keeps its layout and is never lost.

use serde_json::{Map, Value};

/// The maximum nesting depth.
const DEPTH_MAX: usize = 64;

/// A JSON text, with comments and trailing commas, if its client accepts them.
pub(super) struct JsoncDocument {
    text: String,
}

/// A syntax error, with its line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JsoncError {
    pub(super) line: usize,
    pub(super) what: String,
}

/// A step of the path to a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum JsoncStep<'a> {
    Key(&'a str),
    At(usize),
}

impl JsoncDocument {
    /// Parses a text; an empty one is an empty object.
    pub(super) fn read(text: &str) -> Result<Self, JsoncError> {
        let text = if text.trim().is_empty() { "{}\n".to_owned() } else { text.to_owned() };
        let whole = Self { text };
        match whole.root()?.kind {
            JsoncKind::Object(_) => Ok(whole),
            JsoncKind::Array(_) | JsoncKind::Scalar(_) => {
                Err(JsoncError { line: 1, what: "there is no object at the top".into() })
            }
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// True if nothing is left in it, not even a comment.
    pub(super) fn is_empty(&self) -> bool {
        self.text.chars().filter(|c| !c.is_whitespace()).eq("{}".chars())
    }

    /// Returns the value at a path.
    pub(super) fn get(&self, way: &[JsoncStep<'_>]) -> Option<Value> {
        self.root().ok()?.walk(way).map(JsoncNode::value)
    }

    /// Sets the value at a path of keys, and creates the objects on it.
    pub(super) fn set(&mut self, keys: &[&str], value: &Value) -> Result<(), JsoncError> {
        let Some((last, above)) = keys.split_last() else { return Ok(()) };
        let root = self.root()?;
        let way: Vec<_> = keys.iter().map(|key| JsoncStep::Key(key)).collect();
        if let Some(node) = root.walk(&way) {
            let shown = self.layout(value, &self.margin(node.start), self.unit(&root));
            self.text.replace_range(node.start..node.end, &shown);
            return Ok(());
        }
        self.container(above, &Value::Object(Map::new()))?;
        let name = Value::from(*last).to_string();
        self.append(&way[..above.len()], Some(&name), value)
    }

    /// Appends a value to a list, and creates the list and the objects on the path to it.
    pub(super) fn push(&mut self, keys: &[&str], value: &Value) -> Result<(), JsoncError> {
        self.container(keys, &Value::Array(vec![]))?;
        let way: Vec<_> = keys.iter().map(|key| JsoncStep::Key(key)).collect();
        self.append(&way, None, value)
    }

    /// Removes the value at a path, with its comma.
    pub(super) fn remove(&mut self, way: &[JsoncStep<'_>]) -> Result<(), JsoncError> {
        let Some((last, above)) = way.split_last() else { return Ok(()) };
        let root = self.root()?;
        let Some(holder) = root.walk(above) else { return Ok(()) };
        let parts = holder.parts();
        let Some(at) = holder.find(*last) else { return Ok(()) };
        let (start, end) = parts[at];
        let from = self.trimmed(start);
        let before = at.checked_sub(1).and_then(|before| self.comma(parts[before].1, start));
        let (from, to) = match (self.comma(end, holder.end), at) {
            (Some(comma), _) => (from, comma + 1),
            // The only member: nothing stays between the brackets but comments.
            (None, 0) if self.text[..from].ends_with(['{', '[']) => {
                (from, end + leading_space(&self.text[end..holder.end]))
            }
            (None, _) => (before.map_or(from, |comma| from.max(comma + 1)), end),
        };
        let is_last = self.comma(end, holder.end).is_none();
        self.text.replace_range(from..to, "");
        if let Some(comma) = before.filter(|_| is_last) {
            self.text.remove(comma);
        }
        Ok(())
    }

    /// Removes the empty objects and lists on this path of keys, from its end.
    pub(super) fn prune(&mut self, keys: &[&str]) -> Result<(), JsoncError> {
        for length in (1..=keys.len()).rev() {
            let way: Vec<_> = keys[..length].iter().map(|key| JsoncStep::Key(key)).collect();
            let root = self.root()?;
            let Some(node) = root.walk(&way) else { continue };
            let inside = &self.text[node.start..node.end];
            if !inside.chars().filter(|c| !c.is_whitespace()).all(|c| "{}[]".contains(c)) {
                return Ok(());
            }
            self.remove(&way)?;
        }
        Ok(())
    }

    /// Makes sure that there is a container at the end of the path.
    fn container(&mut self, keys: &[&str], empty: &Value) -> Result<(), JsoncError> {
        for length in 1..=keys.len() {
            let way: Vec<_> = keys[..length].iter().map(|key| JsoncStep::Key(key)).collect();
            let wanted =
                if length == keys.len() { empty.clone() } else { Value::Object(Map::new()) };
            let root = self.root()?;
            match root.walk(&way).map(|node| (&node.kind, &wanted, node.start)) {
                None => {
                    let name = Value::from(keys[length - 1]).to_string();
                    self.append(&way[..length - 1], Some(&name), &wanted)?;
                }
                Some((JsoncKind::Object(_), Value::Object(_), _))
                | Some((JsoncKind::Array(_), Value::Array(_), _)) => {}
                Some((_, _, start)) => {
                    let what =
                        format!("{} is something else than expected", keys[..length].join("."));
                    return Err(JsoncError { line: line_of(&self.text, start), what });
                }
            }
        }
        Ok(())
    }

    /// Appends a value to an object or a list.
    fn append(
        &mut self,
        way: &[JsoncStep<'_>],
        name: Option<&str>,
        value: &Value,
    ) -> Result<(), JsoncError> {
        let root = self.root()?;
        let Some(holder) = root.walk(way) else { return Ok(()) };
        let unit = self.unit(&root).to_owned();
        let last = holder.parts().last().copied();
        let margin = match last.and_then(|(start, _)| self.own_margin(start)) {
            Some(margin) => margin.to_owned(),
            None => format!("{}{unit}", self.margin(holder.start)),
        };
        let shown = self.layout(value, &margin, &unit);
        let shown = name.map_or(shown.clone(), |name| format!("{name}: {shown}"));
        let behind = last.map_or(holder.start + 1, |(_, end)| end);
        let comma = last.and_then(|(_, end)| self.comma(end, holder.end));
        let at = self.trimmed(holder.end - 1).max(comma.map_or(behind, |comma| comma + 1));
        let in_line = last.is_some_and(|(start, _)| self.own_margin(start).is_none());
        let gap = if in_line { " ".to_owned() } else { format!("\n{margin}") };
        let tail = if comma.is_some() { "," } else { "" };
        if last.is_none() && at == behind {
            // Between the brackets there is nothing but space.
            let close = format!("{gap}{shown}\n{}", self.margin(holder.start));
            self.text.replace_range(at..holder.end - 1, &close);
        } else {
            self.text.insert_str(at, &format!("{gap}{shown}{tail}"));
        }
        if last.is_some() && comma.is_none() {
            self.text.insert(behind, ',');
        }
        Ok(())
    }

    fn root(&self) -> Result<JsoncNode, JsoncError> {
        let mut reader = JsoncParser { text: &self.text, at: 0 };
        reader.space()?;
        let root = reader.value(0)?;
        reader.space()?;
        if reader.at == self.text.len() {
            Ok(root)
        } else {
            Err(reader.mistake("something follows the end"))
        }
    }

    /// The indentation of a line, if nothing else is before this position.
    fn own_margin(&self, at: usize) -> Option<&str> {
        let line = &self.text[self.text[..at].rfind('\n').map_or(0, |n| n + 1)..at];
        (line.chars().all(char::is_whitespace) && self.text[..at].contains('\n')).then_some(line)
    }

    /// The indentation of the line at this position.
    fn margin(&self, at: usize) -> String {
        let line = &self.text[self.text[..at].rfind('\n').map_or(0, |n| n + 1)..at];
        line[..leading_space(line)].to_owned()
    }

    /// The indentation of one level.
    fn unit(&self, root: &JsoncNode) -> &str {
        let first = root.parts().first().and_then(|(start, _)| self.own_margin(*start));
        first.filter(|margin| !margin.is_empty()).unwrap_or("  ")
    }

    fn layout(&self, value: &Value, margin: &str, unit: &str) -> String {
        let mut bytes = vec![];
        let format = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
        let mut writer = serde_json::Serializer::with_formatter(&mut bytes, format);
        // Writing a value to memory cannot fail.
        let _ = serde::Serialize::serialize(value, &mut writer);
        String::from_utf8_lossy(&bytes).replace('\n', &format!("\n{margin}"))
    }

    /// The start of the white space before this position.
    fn trimmed(&self, at: usize) -> usize {
        self.text[..at].trim_end().len()
    }

    /// The comma between two positions, past comments.
    fn comma(&self, from: usize, to: usize) -> Option<usize> {
        let mut reader = JsoncParser { text: &self.text[..to], at: from };
        reader.space().ok()?;
        self.text[reader.at..to].starts_with(',').then_some(reader.at)
    }
}

/// A value and its position.
struct JsoncNode {
    start: usize,
    end: usize,
    kind: JsoncKind,
}

enum JsoncKind {
    /// Each member with its name and the position of that.
    Object(Vec<(String, usize, JsoncNode)>),
    Array(Vec<JsoncNode>),
    Scalar(Value),
}

impl JsoncNode {
    fn walk(&self, way: &[JsoncStep<'_>]) -> Option<&JsoncNode> {
        let Some((first, rest)) = way.split_first() else { return Some(self) };
        let at = self.find(*first)?;
        match &self.kind {
            JsoncKind::Object(members) => members[at].2.walk(rest),
            JsoncKind::Array(items) => items[at].walk(rest),
            JsoncKind::Scalar(_) => None,
        }
    }

    /// The member or item of a path step. Of several members with one name the last counts, as for every client.
    fn find(&self, step: JsoncStep<'_>) -> Option<usize> {
        match (&self.kind, step) {
            (JsoncKind::Object(members), JsoncStep::Key(key)) => {
                members.iter().rposition(|(name, _, _)| name == key)
            }
            (JsoncKind::Array(items), JsoncStep::At(at)) => (at < items.len()).then_some(at),
            (JsoncKind::Object(_), JsoncStep::At(_))
            | (JsoncKind::Array(_), JsoncStep::Key(_))
            | (JsoncKind::Scalar(_), _) => None,
        }
    }

    /// The start and end of each member or item.
    fn parts(&self) -> Vec<(usize, usize)> {
        match &self.kind {
            JsoncKind::Object(members) => {
                members.iter().map(|(_, start, node)| (*start, node.end)).collect()
            }
            JsoncKind::Array(items) => items.iter().map(|node| (node.start, node.end)).collect(),
            JsoncKind::Scalar(_) => vec![],
        }
    }

    fn value(&self) -> Value {
        match &self.kind {
            JsoncKind::Object(members) => {
                let pairs = members.iter().map(|(name, _, node)| (name.clone(), node.value()));
                Value::Object(pairs.collect())
            }
            JsoncKind::Array(items) => Value::Array(items.iter().map(JsoncNode::value).collect()),
            JsoncKind::Scalar(value) => value.clone(),
        }
    }
}

struct JsoncParser<'a> {
    text: &'a str,
    at: usize,
}

impl JsoncParser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn mistake(&self, what: &str) -> JsoncError {
        JsoncError { line: line_of(self.text, self.at), what: what.into() }
    }

    /// Skips white space and comments.
    fn space(&mut self) -> Result<(), JsoncError> {
        loop {
            self.at += leading_space(self.rest());
            let length = match self.rest() {
                rest if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
                rest if rest.starts_with("/*") => match rest.find("*/") {
                    Some(end) => end + 2,
                    None => return Err(self.mistake("a comment does not end")),
                },
                _ => return Ok(()),
            };
            self.at += length;
        }
    }

    fn value(&mut self, depth: usize) -> Result<JsoncNode, JsoncError> {
        if depth > DEPTH_MAX {
            return Err(self.mistake("it is nested too deeply"));
        }
        let start = self.at;
        let kind = match self.rest().chars().next() {
            Some('{') => self.object(depth)?,
            Some('[') => self.array(depth)?,
            Some('"') => JsoncKind::Scalar(Value::String(self.string()?)),
            _ => self.scalar()?,
        };
        Ok(JsoncNode { start, end: self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<JsoncKind, JsoncError> {
        let mut members = vec![];
        self.at += 1;
        loop {
            self.space()?;
            if self.takes('}') {
                return Ok(JsoncKind::Object(members));
            }
            let start = self.at;
            if !self.rest().starts_with('"') {
                return Err(self.mistake("a name in quotes is missing"));
            }
            let name = self.string()?;
            self.space()?;
            if !self.takes(':') {
                return Err(self.mistake("a colon is missing"));
            }
            self.space()?;
            members.push((name, start, self.value(depth + 1)?));
            self.space()?;
            if !self.takes(',') && !self.rest().starts_with('}') {
                return Err(self.mistake("a comma or a closing brace is missing"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<JsoncKind, JsoncError> {
        let mut items = vec![];
        self.at += 1;
        loop {
            self.space()?;
            if self.takes(']') {
                return Ok(JsoncKind::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.space()?;
            if !self.takes(',') && !self.rest().starts_with(']') {
                return Err(self.mistake("a comma or a closing bracket is missing"));
            }
        }
    }

    fn string(&mut self) -> Result<String, JsoncError> {
        let mut is_escaped = false;
        let end = self.rest().char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !is_escaped;
            is_escaped = *c == '\\' && !is_escaped;
            ends
        });
        let Some((end, _)) = end else { return Err(self.mistake("a string does not end")) };
        let read = serde_json::from_str(&self.rest()[..=end]);
        let string = read.map_err(|_| self.mistake("this is no string"))?;
        self.at += end + 1;
        Ok(string)
    }

    fn scalar(&mut self) -> Result<JsoncKind, JsoncError> {
        let is_end = |c: char| c.is_whitespace() || ",:[]{}\"/".contains(c);
        let length = self.rest().find(is_end).unwrap_or(self.rest().len());
        let read = serde_json::from_str(&self.rest()[..length]);
        let value = read.map_err(|_| self.mistake("a value is missing"))?;
        self.at += length;
        Ok(JsoncKind::Scalar(value))
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is_there = self.rest().starts_with(wanted);
        self.at += if is_there { wanted.len_utf8() } else { 0 };
        is_there
    }
}

fn leading_space(text: &str) -> usize {
    // Some editors write a byte order mark.
    text.len() - text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len()
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::JsoncStep::{At, Key};
    use super::*;
    use serde_json::json;

    /// Adds and removes entries: the text must be unchanged in the end.
    fn check(before: &str, after: &str) {
        let mut text = JsoncDocument::read(before).unwrap();
        text.push(&["hooks", "Pre"], &json!({"a": 1})).unwrap();
        text.set(&["mcp", "sayso"], &json!(true)).unwrap();
        assert_eq!(text.text, after);
        assert_eq!(text.get(&[Key("mcp"), Key("sayso")]), Some(json!(true)));
        let list = text.get(&[Key("hooks"), Key("Pre")]).unwrap();
        let at = list.as_array().unwrap().len() - 1;
        assert_eq!(list[at], json!({"a": 1}));
        text.remove(&[Key("mcp"), Key("sayso")]).unwrap();
        text.prune(&["mcp"]).unwrap();
        text.remove(&[Key("hooks"), Key("Pre"), At(at)]).unwrap();
        text.prune(&["hooks", "Pre"]).unwrap();
        assert_eq!(text.text, before);
    }

    #[test]
    fn what_was_added_goes_without_a_trace() {
        let new = "\"hooks\": {\n    \"Pre\": [\n      {\n        \"a\": 1\n      }\n    ]\n  },\n  \"mcp\": {\n    \"sayso\": true\n  }\n}\n";
        check("{}\n", &format!("{{\n  {new}"));
        check("{\n  \"x\": 1\n}\n", &format!("{{\n  \"x\": 1,\n  {new}"));
        check(
            "{\n  // one\n  \"x\": 1 // two\n  // three\n}\n",
            &format!("{{\n  // one\n  \"x\": 1, // two\n  // three\n  {new}"),
        );
        check(
            "{\n  \"x\": [1, 2,], // two\n}\n",
            &format!(
                "{{\n  \"x\": [1, 2,], // two\n  {}",
                new.replace("true\n  }\n}", "true\n  },\n}")
            ),
        );
        check(
            "{\"hooks\": {\"Pre\": [7]}, \"mcp\": {\"other\": {}}}",
            "{\"hooks\": {\"Pre\": [7, {\n  \"a\": 1\n}]}, \"mcp\": {\"other\": {}, \"sayso\": true}}"
                .replace("{\n  \"a\": 1\n}", "{\n    \"a\": 1\n  }")
                .as_str(),
        );
    }

    #[test]
    fn what_others_added_since_stays() {
        let text = "{\n  \"hooks\": {\n    \"Pre\": [\n      \"ours\",\n      \"theirs\"\n    ]\n  }, // kept\n  \"x\": 1\n}\n";
        let mut text = JsoncDocument::read(text).unwrap();
        text.remove(&[Key("hooks"), Key("Pre"), At(0)]).unwrap();
        text.prune(&["hooks", "Pre"]).unwrap();
        assert_eq!(
            text.text,
            "{\n  \"hooks\": {\n    \"Pre\": [\n      \"theirs\"\n    ]\n  }, // kept\n  \"x\": 1\n}\n"
        );
        text.set(&["x"], &json!({"y": [2]})).unwrap();
        assert!(
            text.text.ends_with("\"x\": {\n    \"y\": [\n      2\n    ]\n  }\n}\n"),
            "{}",
            text.text
        );
        text.remove(&[Key("hooks")]).unwrap();
        assert!(text.text.starts_with("{ // kept\n  \"x\""), "{}", text.text);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let line = |text: &str| JsoncDocument::read(text).err().map(|mistake| mistake.line);
        for (text, expected) in [
            ("{\n\"a\" 1}", 2),
            ("{\"a\": }", 1),
            ("{\"a\": 1\n\"b\": 2}", 2),
            ("{\"a\": \"x}", 1),
            ("{} {}", 1),
            ("[]", 1),
            ("{\n/* \n", 2),
            ("{\"a\": 01}", 1),
        ] {
            assert_eq!(line(text), Some(expected), "{text}");
        }
        assert_eq!(line(&"{\"a\":".repeat(100)), Some(1));
        assert_eq!(line(""), None);
        let mut text = JsoncDocument::read("{\"hooks\": []}").unwrap();
        assert!(text.push(&["hooks", "Pre"], &json!(1)).is_err());
    }
}
