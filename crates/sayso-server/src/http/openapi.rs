//! The OpenAPI 3.1 document of the API, generated from the table of operations and the types they take.

use super::problem::{PROBLEM_JSON, ProblemDetails};
use super::route::{OperationVerb, RequestInput, ResponseOutput};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

const DEFINITIONS: &str = "/components/schemas";

/// The description of an operation.
pub(super) struct OperationDescription {
    pub(super) verb: OperationVerb,
    pub(super) path: String,
    /// Its name for programs (`operationId`).
    pub(super) name: &'static str,
    /// Its description, for people. The first sentence stands alone.
    pub(super) says: &'static str,
    pub(super) shapes: fn(&mut SchemaCollector) -> OperationSchemas,
}

/// The schemas of an operation's request and response.
pub(super) struct OperationSchemas {
    pub(super) query: Vec<Value>,
    pub(super) body: Option<Value>,
    pub(super) answer: Value,
}

/// Gathers the schemas that operations share. Requests are described as they are read, responses as they are written.
pub(super) struct SchemaCollector {
    incoming: SchemaGenerator,
    outgoing: SchemaGenerator,
}

impl SchemaCollector {
    fn new() -> Self {
        let settings =
            || SchemaSettings::draft2020_12().with(|s| s.definitions_path = DEFINITIONS.into());
        Self {
            incoming: settings().for_deserialize().into_generator(),
            outgoing: settings().for_serialize().into_generator(),
        }
    }

    /// Returns the parameters of a query.
    pub(super) fn parameters<Q: RequestInput>(&mut self) -> Vec<Value> {
        let inline = SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true);
        let mut schema =
            inline.for_deserialize().into_generator().into_root_schema_for::<Q>().to_value();
        schema.sort_all_objects();
        let required = |name: &String| is_required(&schema, name);
        let fields = schema["properties"].as_object().into_iter().flatten();
        let parameter = |(name, field): (&String, &Value)| {
            let mut field = field.clone();
            let says = field.as_object_mut().and_then(|field| field.remove("description"));
            json!({
                "name": name,
                "in": "query",
                "required": required(name),
                "description": says.unwrap_or_default(),
                "schema": without_null(field),
            })
        };
        fields.map(parameter).collect()
    }

    /// Returns the schema of a body, unless there is none.
    pub(super) fn body<B: RequestInput>(&mut self) -> Option<Value> {
        let schema = schemars::schema_for!(B).to_value();
        let is_nothing = schema["properties"].as_object().is_none_or(Map::is_empty)
            && schema["additionalProperties"] == json!(false);
        if is_nothing {
            return None;
        }
        let is_required = schema["required"].as_array().is_some_and(|names| !names.is_empty());
        let schema = self.incoming.subschema_for::<B>();
        Some(json!({
            "required": is_required,
            "content": {"application/json": {"schema": schema}},
        }))
    }

    /// Returns the schema of a successful response.
    pub(super) fn answer<T: ResponseOutput>(&mut self) -> Value {
        json!({"application/json": {"schema": self.outgoing.subschema_for::<T>()}})
    }

    fn of<T: JsonSchema>(&mut self) -> Schema {
        self.outgoing.subschema_for::<T>()
    }

    fn into_all(mut self) -> Map<String, Value> {
        let mut all = self.outgoing.take_definitions(true);
        all.extend(self.incoming.take_definitions(true));
        all
    }
}

pub(super) fn document(operations: &[OperationDescription]) -> Value {
    let mut schemas = SchemaCollector::new();
    let problem = schemas.of::<ProblemDetails>();
    let mut paths = Map::new();
    for described in operations {
        let operation = operation(described, &mut schemas, &problem);
        let path = paths.entry(&described.path).or_insert_with(|| json!({}));
        path[described.verb.method()] = operation;
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "sayso",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What matters waits, durably, for a person's say-so. Who acts comes from the \
                credential; whatever is refused is a problem (RFC 9457) with a code and what to do. Ids may be \
                made by the client: the same request again is the same thing.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas.into_all(),
        },
    });
    // The order of types in the code must not show in a diff of two documents.
    document.sort_all_objects();
    document
}

fn operation(
    described: &OperationDescription,
    schemas: &mut SchemaCollector,
    problem: &Schema,
) -> Value {
    let shapes = (described.shapes)(schemas);
    let says = described.says;
    let summary = says.split_inclusive(". ").next().unwrap_or(says).trim_end_matches(['.', ' ']);
    let success = described.verb.success();
    let mut parameters: Vec<Value> = in_path(&described.path).map(path_parameter).collect();
    parameters.extend(shapes.query);
    parameters.extend((!described.verb.is_safe()).then(idempotency_key));
    let mut operation = json!({
        "operationId": described.name,
        "summary": summary,
        "description": says,
        "tags": [tag(&described.path)],
        "parameters": parameters,
        "responses": {
            success.as_str(): {
                "description": success.canonical_reason().unwrap_or_default(),
                "content": shapes.answer,
            },
            "default": {
                "description": "It was not done, and why.",
                "content": {PROBLEM_JSON: {"schema": problem}},
            },
        },
    });
    if let Some(body) = shapes.body {
        operation["requestBody"] = body;
    }
    operation
}

/// Returns the names of the parameters in a path.
fn in_path(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn idempotency_key() -> Value {
    json!({
        "name": "Idempotency-Key",
        "in": "header",
        "required": false,
        "description": "The caller's name for this request, such as a UUID. If the response got lost, the same \
            request under the same name within a day is carried out no second time, and answered like the first.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    })
}

fn path_parameter(name: &str) -> Value {
    let says = match name {
        "space" => "The space.",
        "gate" => "The gate: its id, its handle, or a task that waits for one gate.",
        "task" => "The task: its id or its handle.",
        "on" => "The task it waits for: its id or its handle.",
        "agent" => "The agent's name.",
        "message" => "The message: its id or its handle.",
        "flow" => "The flow: its id or its handle.",
        "token" => "The token's handle.",
        "passkey" => "The passkey's id.",
        _ => "",
    };
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": says,
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    })
}

/// Returns the resource of a path: the first word behind the space.
fn tag(path: &str) -> &str {
    path.split('/')
        .skip(1)
        .find(|part| !matches!(*part, "v1" | "spaces" | "{space}"))
        .unwrap_or("api")
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|names| names.iter().any(|it| it == name))
}

/// Removes null: a parameter of a query is there or it is not; it is never null.
fn without_null(mut schema: Value) -> Value {
    if let Some(kinds) = schema["type"].as_array() {
        let kinds: Vec<_> = kinds.iter().filter(|kind| *kind != "null").cloned().collect();
        if let [only] = kinds.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("default");
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::api::operations;
    use std::collections::BTreeSet;

    /// Requests and responses share one list of names: one name must not mean two things.
    #[test]
    fn a_name_means_one_thing() {
        let mut schemas = SchemaCollector::new();
        let all = operations();
        all.iter().for_each(|described| drop((described.shapes)(&mut schemas)));
        let (incoming, outgoing) =
            (schemas.incoming.take_definitions(true), schemas.outgoing.take_definitions(true));
        assert!(incoming.len() > 15 && outgoing.len() > 30);
        let both: Vec<_> =
            incoming.iter().filter(|(name, _)| outgoing.contains_key(*name)).collect();
        assert!(both.iter().all(|(name, schema)| outgoing[*name] == **schema), "{both:?}");
        // Nor are two names told apart by a number only.
        let numbered = |name: &&String| name.ends_with(|c: char| c.is_ascii_digit());
        assert_eq!(incoming.keys().chain(outgoing.keys()).find(numbered), None);
        let names: BTreeSet<_> = all.iter().map(|described| described.name).collect();
        assert_eq!(names.len(), all.len());
    }

    /// The document defines all it refers to, and every name of a path is among the parameters.
    #[test]
    fn the_document_is_whole() {
        let document = document(&operations());
        let text = document.to_string();
        let mut refs = 0;
        for rest in text.split("\"#/components/schemas/").skip(1) {
            let name = rest.split('"').next().unwrap_or_default();
            assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
            refs += 1;
        }
        assert!(refs > 80, "{refs}");
        for described in operations() {
            for name in in_path(&described.path) {
                assert_ne!(path_parameter(name)["description"], "", "{name}");
            }
        }
    }
}
