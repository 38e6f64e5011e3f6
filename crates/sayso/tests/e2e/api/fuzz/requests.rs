//! Requests by chance, from the schemas of the document.

use super::super::document::{Document, Operation};
use super::super::{text, ulid};
use crate::reliability::Chance;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// How a request is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// As the document says.
    Fitting,
    /// At the edges of what it says, and a little beyond.
    Edge,
    /// Something in it is of the wrong kind, or hostile.
    Hostile,
    /// It can be no request of this operation: an unknown field, or no JSON at all.
    Unreadable,
    /// Nobody's credential.
    Stranger,
}

/// A request.
#[derive(Clone)]
pub struct Made {
    pub mood: Mood,
    pub target: String,
    pub body: Option<Vec<u8>>,
}

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let body = self.body.as_deref().map(String::from_utf8_lossy);
        write!(f, "{:?} {:.500} {:.1500?}", self.mood, self.target, body)
    }
}

/// Makes requests, and remembers what there is to be named.
pub struct Maker<'d> {
    chance: Chance,
    document: &'d Document,
    /// Names by what they name: gate, task, message, token.
    names: BTreeMap<&'static str, Vec<String>>,
    /// Gates as they were seen last.
    gates: Vec<Value>,
    /// The gate that the request under way is about.
    about: Option<Value>,
}

/// Texts that break what is not careful.
const HOSTILE: [&str; 16] = [
    "",
    " ",
    "../../etc/passwd",
    "'; DROP TABLE gates; --",
    "<script>alert(1)</script>",
    "\u{1b}[2J\u{1b}]52;c;x\u{7}",
    "\u{202e}drowssap\u{2066}",
    "a\nb\r\nSet-Cookie: x=y",
    "\u{feff}\u{200b}",
    "%00%2e%2e",
    "null",
    "-1",
    "1e999",
    "9223372036854775808",
    "ÄÖ👩‍👩‍👧‍👦",
    "{}",
];

impl<'d> Maker<'d> {
    pub fn new(chance: Chance, document: &'d Document) -> Self {
        Self { chance, document, names: BTreeMap::new(), gates: vec![], about: None }
    }

    fn is(&mut self, percent: u64) -> bool {
        self.chance.below(100) < percent
    }

    pub fn pick<'a, T: ?Sized>(&mut self, among: &[&'a T]) -> &'a T {
        among[self.chance.below(among.len() as u64) as usize]
    }

    /// Remembers what a response named.
    pub fn learn(&mut self, found: &Value) {
        let Some(handle) = found["handle"].as_str() else { return };
        if handle.starts_with('g') {
            self.gates.retain(|gate| gate["id"] != found["id"]);
            self.gates.push(found.clone());
            let most = self.gates.len().saturating_sub(40);
            self.gates.drain(..most);
            return;
        }
        let kind = match (handle.chars().next(), found["role"].as_str()) {
            (Some('t'), _) => "task",
            (Some('f'), _) => "flow",
            (Some('m'), _) => "message",
            // Only what was made to be taken back.
            (_, Some("agent")) if text(&found["name"]).starts_with("spare") => "token",
            _ => return,
        };
        let known = self.names.entry(kind).or_default();
        known.push(found["id"].as_str().unwrap_or(handle).to_owned());
        known.push(handle.to_owned());
        if known.len() > 60 {
            known.drain(..10);
        }
    }

    pub fn request(&mut self, operation: &Operation, space: &str) -> Made {
        self.about = None;
        let mut mood = match self.chance.below(100) {
            0..55 => Mood::Fitting,
            55..70 => Mood::Edge,
            70..88 => Mood::Hostile,
            88..96 => Mood::Unreadable,
            _ => Mood::Stranger,
        };
        let body = &operation.says["requestBody"]["content"]["application/json"]["schema"];
        let takes_body = !body.is_null();
        // What is unreadable is so in the body, or else in the query.
        let mut target = self.path(operation, space, mood);
        let query = self.query(operation, mood);
        if mood == Mood::Unreadable && !takes_body && operation.name == "showApi" {
            mood = Mood::Fitting;
        }
        if !query.is_empty() {
            target = format!("{target}?{query}");
        }
        let body = match (takes_body, mood) {
            (false, _) => None,
            (true, Mood::Unreadable) => Some(self.unreadable(body)),
            (true, _) => {
                let value = self.value(body, "", mood, 0);
                Some(value.to_string().into_bytes())
            }
        };
        Made { mood, target, body }
    }

    fn path(&mut self, operation: &Operation, space: &str, mood: Mood) -> String {
        let parts: Vec<_> = operation.path.split('/').map(str::to_owned).collect();
        let filled = parts.into_iter().map(|part| {
            match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                None => part,
                Some("space") if mood == Mood::Hostile && self.is(10) => self.encoded_hostile(),
                Some("space") => space.to_owned(),
                Some(_) if mood == Mood::Hostile && self.is(40) => self.encoded_hostile(),
                Some(name) => encoded(&self.name(name)),
            }
        });
        filled.collect::<Vec<_>>().join("/")
    }

    fn encoded_hostile(&mut self) -> String {
        match self.chance.below(4) {
            0 => "%00".into(),
            1 => "%ff".into(),
            2 => "x".repeat(500),
            _ => encoded(self.pick(&HOSTILE)),
        }
    }

    /// Who sends it: mostly somebody who may, where it is meant well.
    pub fn who(&mut self, operation: &Operation, mood: Mood, people: &[&str]) -> String {
        let asker = self.about.as_ref().and_then(|gate| gate["asked_by"].as_str()).unwrap_or("ann");
        let right = match operation.name.as_str() {
            name if name.contains("Token") => "root",
            "reviseGate" | "withdrawGate" | "deliverGate" | "acknowledgeGate" => asker,
            _ => "ann",
        };
        let right = right.to_owned();
        match mood == Mood::Fitting && people.contains(&right.as_str()) && self.is(75) {
            true => right,
            false => self.pick(people).to_owned(),
        }
    }

    /// A gate that was seen, mostly one that is open.
    fn gate(&mut self) -> Option<Value> {
        let is_open = self.is(80);
        let fitting: Vec<_> =
            self.gates.iter().filter(|gate| !is_open || gate["state"] == "open").cloned().collect();
        let at = self.chance.below(fitting.len() as u64) as usize;
        self.about = fitting.get(at).cloned();
        self.about.clone()
    }

    /// A name of something that is there, most of the time.
    fn name(&mut self, of: &str) -> String {
        if of == "gate"
            && self.is(95)
            && let Some(gate) = self.gate()
        {
            let by = self.pick(&["id", "handle"]);
            return text(&gate[by]).to_owned();
        }
        let kind = match of {
            "on" | "parent" | "blocked_by" => "task",
            "agent" => return self.pick(&super::AGENTS).to_owned(),
            kind => kind,
        };
        let known = self.names.get(kind).cloned().unwrap_or_default();
        match known.is_empty() || self.is(5) {
            true => ulid(self.chance.below(1 << 40)),
            false => known[self.chance.below(known.len() as u64) as usize].clone(),
        }
    }

    fn query(&mut self, operation: &Operation, mood: Mood) -> String {
        let mut pairs = vec![];
        let parameters = operation.says["parameters"].as_array().cloned().unwrap_or_default();
        for parameter in parameters.iter().filter(|p| p["in"] == "query") {
            let name = text(&parameter["name"]);
            if parameter["required"] != json!(true) && !self.is(25) {
                continue;
            }
            let value = match (mood, name) {
                (Mood::Hostile, _) if self.is(60) => self.pick(&HOSTILE).to_owned(),
                // Where a list goes on is named by the list.
                (_, "after") if !parameter["schema"]["maximum"].is_null() => {
                    self.chance.below(500).to_string()
                }
                (_, "after") => {
                    let kind = match operation.name.as_str() {
                        "listGates" => "gate",
                        "listTasks" => "task",
                        "listMessages" => "message",
                        "listFlows" => "flow",
                        _ => "token",
                    };
                    self.name(kind)
                }
                _ => match self.value(&parameter["schema"], name, mood, 0) {
                    Value::String(text) => text,
                    other => other.to_string(),
                },
            };
            pairs.push(format!("{name}={}", encoded(&value)));
        }
        let takes_body = !operation.says["requestBody"].is_null();
        if mood == Mood::Unreadable && !takes_body {
            pairs.push("surely_unknown=1".into());
        }
        pairs.join("&")
    }

    /// A body that cannot be one.
    fn unreadable(&mut self, schema: &Value) -> Vec<u8> {
        let mut value = self.value(schema, "", Mood::Fitting, 0);
        match self.chance.below(6) {
            0 => {
                // Requests of policies have words of their own, which are theirs to refuse.
                value["surely_unknown"] = json!(1);
                value["on"] = json!({"not": "this"});
                value.to_string().into_bytes()
            }
            1 => format!("[{value}]").into_bytes(),
            2 => value.to_string().trim_end_matches('}').as_bytes().to_vec(),
            3 => b"\xff\xfe{}".to_vec(),
            4 => format!("{{\"a\": {}{}}}", "[".repeat(300), "]".repeat(300)).into_bytes(),
            _ => [value.to_string().as_bytes(), b" {}"].concat(),
        }
    }

    /// A value for a schema; `name` is the field it is for.
    fn value(&mut self, schema: &Value, name: &str, mood: Mood, depth: usize) -> Value {
        let schema = self.document.resolved(schema).clone();
        if mood == Mood::Hostile && depth > 0 && self.is(15) {
            return self.hostile();
        }
        if let Some(words) = schema["enum"].as_array() {
            return words[self.chance.below(words.len() as u64) as usize].clone();
        }
        if let Some(among) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            let one = among[self.chance.below(among.len() as u64) as usize].clone();
            return match one.get("const") {
                Some(word) => word.clone(),
                None => self.value(&one, name, mood, depth),
            };
        }
        match self.kind(&schema).as_str() {
            "object" => self.object(&schema, mood, depth),
            "array" => {
                let most = if mood == Mood::Edge { 60 } else { 3 };
                let count = self.chance.below(most).max(u64::from(!schema["minItems"].is_null()));
                (0..count).map(|_| self.value(&schema["items"], name, mood, depth + 1)).collect()
            }
            "boolean" => json!(self.is(40)),
            "integer" => self.number(&schema, mood),
            "null" => Value::Null,
            "string" => json!(self.text(name, mood, depth)),
            // Anything at all.
            _ => match name {
                "schema" => json!({"type": "object"}),
                _ => json!({"a": self.chance.below(9)}),
            },
        }
    }

    fn kind(&mut self, schema: &Value) -> String {
        match &schema["type"] {
            Value::String(kind) => kind.clone(),
            Value::Array(kinds) => {
                // Null is there to be left out, mostly.
                let at = if self.is(90) { 0 } else { self.chance.below(kinds.len() as u64) };
                text(&kinds[at as usize]).to_owned()
            }
            _ if schema["properties"].is_object() => "object".into(),
            _ => String::new(),
        }
    }

    fn object(&mut self, schema: &Value, mood: Mood, depth: usize) -> Value {
        let mut object = Map::new();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, field) in schema["properties"].as_object().cloned().unwrap_or_default() {
            let is_required = required.iter().any(|it| *it == name);
            let optional = if mood == Mood::Fitting { 12 } else { 35 };
            let is_missing = mood == Mood::Hostile && self.is(10);
            if (is_required && !is_missing) || self.is(optional) {
                object.insert(name.clone(), self.value(&field, &name, mood, depth + 1));
            }
        }
        if schema["properties"]["digest"].is_object() && self.is(90) {
            self.fit_answer(&mut object, mood);
        }
        if schema["properties"]["on"].is_object() {
            object.insert("tool".into(), json!("Bash"));
            object.insert("on".into(), json!("tool"));
        }
        Value::Object(object)
    }

    /// Makes an answer one to the gate the request is about.
    fn fit_answer(&mut self, answer: &mut Map<String, Value>, mood: Mood) {
        let Some(gate) = self.about.clone() else { return };
        answer.insert("digest".into(), gate["digest"].clone());
        if mood != Mood::Fitting || !answer.contains_key("verdict") {
            return;
        }
        let contents = ["text", "picked", "other", "form", "arguments", "interrupts", "presence"];
        for content in contents {
            answer.remove(content);
        }
        if answer["verdict"] == "rejected" {
            answer.insert("reason".into(), json!("not now"));
            return;
        }
        match gate["form"].as_str() {
            Some("text") => answer.insert("text".into(), json!("these words")),
            Some("choice") => answer.insert("picked".into(), json!([gate["options"][0]["name"]])),
            Some("form") => answer.insert("form".into(), json!({})),
            _ => None,
        };
    }

    fn number(&mut self, schema: &Value, mood: Mood) -> Value {
        let least = schema["minimum"].as_i64().unwrap_or(0);
        let most = schema["maximum"].as_i64().unwrap_or(50).max(least);
        match mood {
            Mood::Edge | Mood::Hostile => match self.chance.below(7) {
                0 => json!(least),
                1 => json!(most),
                2 => json!(least - 1),
                3 => json!(most + 1),
                4 => json!(u64::MAX),
                5 => json!(i64::MIN),
                _ => json!(0.5),
            },
            _ => json!(least + self.chance.below((most - least + 1).min(50) as u64) as i64),
        }
    }

    /// A text that fits the field it is for.
    fn text(&mut self, name: &str, mood: Mood, depth: usize) -> String {
        if mood == Mood::Edge && self.is(20) {
            // An address is shorter than a body: one of 64 KiB does not get past the protocol.
            let lengths = [0, 1, 200, 201, 1_000, 1_001, 256 * 1024, 256 * 1024 + 1];
            let most = if depth == 0 { 6 } else { lengths.len() as u64 };
            let length = lengths[self.chance.below(most) as usize];
            // Text that does not shrink, which indexes would hide.
            return (0..length).map(|_| (b'a' + self.chance.below(26) as u8) as char).collect();
        }
        match name {
            "id" => ulid(self.chance.below(200)),
            "gate" | "task" | "flow" | "parent" | "blocked_by" | "message" => self.name(name),
            "until" | "deadline" | "remind" | "expires" => self
                .pick(&["2h", "30m", "1d", "2030-01-01T00:00:00Z", "9999-12-30T00:00:00Z"])
                .to_owned(),
            "wait" => self.pick(&["0s", "0"]).to_owned(),
            "heartbeat" => "1s".into(),
            "kind" | "awaiting" => self.pick(&["input", "decision,approval", "work"]).to_owned(),
            "status" => self.pick(&["open", "closed,failed", "in_progress"]).to_owned(),
            "to" => self.pick(&["coder", "ann", "bob", "tester"]).to_owned(),
            "name" => format!("spare{}", self.chance.below(50)),
            "asker" => self.pick(&["coder", "ann"]).to_owned(),
            _ => self
                .pick(&["yes", "Because.", "some words", "a longer text, with ÄÖ and 👍"])
                .to_owned(),
        }
    }

    fn hostile(&mut self) -> Value {
        match self.chance.below(9) {
            0 => Value::Null,
            1 => json!(-1),
            2 => json!(1e300),
            3 => json!([]),
            4 => json!({"a": {"b": [1, null]}}),
            5 => json!("xyz ".repeat(75 * 1024)),
            6 => json!("a\u{0}b"),
            _ => json!(self.pick(&HOSTILE)),
        }
    }
}

/// As it stands in an address.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| match plain(byte) {
            true => (byte as char).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}
