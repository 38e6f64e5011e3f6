//! The document of the API, and whether responses are what it says.

use super::{Reply, Server, text};
use sayso_core::Code;
use serde_json::{Value, json};

/// The document, as a server hands it out.
pub struct Document {
    value: Value,
}

/// An operation that the document tells of.
#[derive(Debug, Clone)]
pub struct Operation {
    pub name: String,
    pub method: String,
    pub path: String,
    /// The whole entry.
    pub says: Value,
}

impl Document {
    pub fn of(server: &Server) -> Self {
        let reply = server.raw(&server.request("GET", "/v1/openapi.json", None, None));
        Self::new(reply.is(200))
    }

    /// Responses may get fields later; those of this version are all in the document.
    pub fn new(mut value: Value) -> Self {
        let schemas = value["components"]["schemas"].as_object_mut().unwrap();
        assert!(schemas.len() > 30, "{} schemas", schemas.len());
        for schema in schemas.values_mut() {
            if schema["properties"].is_object() && schema.get("additionalProperties").is_none() {
                schema["additionalProperties"] = json!(false);
            }
        }
        Self { value }
    }

    /// The document itself, to be tampered with.
    pub fn value(&self) -> &Value {
        &self.value
    }

    pub fn operations(&self) -> Vec<Operation> {
        let mut all = vec![];
        for (path, methods) in self.value["paths"].as_object().unwrap() {
            for (method, says) in methods.as_object().unwrap() {
                all.push(Operation {
                    name: text(&says["operationId"]).into(),
                    method: method.to_uppercase(),
                    path: path.clone(),
                    says: says.clone(),
                });
            }
        }
        all
    }

    pub fn operation(&self, name: &str) -> Operation {
        let mut all = self.operations().into_iter();
        all.find(|operation| operation.name == name).unwrap_or_else(|| panic!("no {name}"))
    }

    /// A schema with everything it refers to.
    pub fn whole(&self, schema: &Value) -> Value {
        let mut whole = schema.clone();
        whole["components"] = self.value["components"].clone();
        whole
    }

    /// A schema, or the one it refers to.
    pub fn resolved<'d>(&'d self, schema: &'d Value) -> &'d Value {
        match schema["$ref"].as_str() {
            Some(to) => self.value.pointer(to.trim_start_matches('#')).unwrap(),
            None => schema,
        }
    }

    /// Whether a response is one that the document tells of; otherwise, what is wrong with it.
    pub fn check(&self, operation: &Operation, reply: &Reply) -> Result<(), String> {
        let wrong = |why: String| Err(format!("{}: {why}: {reply:?}", operation.name));
        if reply.status >= 500 {
            return wrong("the server failed".into());
        }
        let responses = &operation.says["responses"];
        let status = reply.status.to_string();
        let is_told = responses.get(&status).is_some();
        let told = if is_told { &responses[&status] } else { &responses["default"] };
        let kind = reply.headers.get("content-type").map_or("", String::as_str);
        let Some(content) = told["content"].get(kind) else {
            return wrong(format!("{kind:?} is not what the document says"));
        };
        if kind == "text/event-stream" {
            return Ok(());
        }
        let Ok(value) = serde_json::from_str::<Value>(&reply.body) else {
            return wrong("it is no JSON".into());
        };
        let validator = match jsonschema::validator_for(&self.whole(&content["schema"])) {
            Ok(validator) => validator,
            Err(error) => return wrong(format!("the schema is none: {error}")),
        };
        if let Some(error) = validator.iter_errors(&value).next() {
            return wrong(format!("{} {error}", error.instance_path()));
        }
        match is_told {
            true => Ok(()),
            false => check_problem(&value, reply.status).or_else(wrong),
        }
    }
}

/// Whether a problem says what it is.
fn check_problem(problem: &Value, status: u16) -> Result<(), String> {
    let is_known = Code::ALL.iter().any(|code| problem["code"] == code.as_str());
    match (is_known, problem["status"] == json!(status)) {
        (false, _) => Err("nobody knows its code".into()),
        (_, false) => Err("it names another status".into()),
        (true, true) => Ok(()),
    }
}
