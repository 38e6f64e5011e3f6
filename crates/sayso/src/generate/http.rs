//! Generates the reference page of the HTTP API from its OpenAPI document.

use serde_json::Value;
use std::fmt::Write;

pub(super) fn page(document: &Value) -> String {
    let mut page = String::from(
        "# HTTP API\n\nMade from [api/openapi.json](../../api/openapi.json), which a server hands out at \
         `/v1/openapi.json`. How it is used is in [the guide](../guide/http.md). Whatever is not done is a \
         problem with one of the [error codes](errors.md).\n",
    );
    for (path, operations) in fields(&document["paths"]) {
        for (method, operation) in fields(operations) {
            section(&mut page, document, path, method, operation);
        }
    }
    page
}

fn section(page: &mut String, document: &Value, path: &str, method: &str, operation: &Value) {
    let (method, says) = (method.to_uppercase(), text(&operation["description"]));
    let _ = write!(page, "\n## {method} {path}\n\n{says}\n");
    let query: Vec<_> = operation["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|p| p["in"] == "query")
        .collect();
    if !query.is_empty() {
        page.push_str("\n| query | |\n|---|---|\n");
        for parameter in query {
            let (name, says) = (text(&parameter["name"]), text(&parameter["description"]));
            let _ = writeln!(page, "| `{name}` | {} |", cell(says));
        }
    }
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    let body = resolved(document, body);
    if let Some(fields) = body["properties"].as_object().filter(|fields| !fields.is_empty()) {
        page.push_str("\n| body | |\n|---|---|\n");
        for (name, field) in fields {
            let mark = if is_required(body, name) { ", required" } else { "" };
            let says = text(&field["description"]);
            let _ = writeln!(page, "| `{name}`{mark} | {} |", cell(says));
        }
    }
    for (status, response) in
        fields(&operation["responses"]).filter(|(status, _)| *status != "default")
    {
        for (kind, content) in fields(&response["content"]) {
            let name = name_of(&content["schema"]);
            let what = name.map_or_else(|| format!("`{kind}`"), |name| format!("a `{name}`"));
            let _ = writeln!(page, "\n{status}: {what}.");
        }
    }
}

fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    match name_of(schema) {
        Some(name) => &document["components"]["schemas"][name],
        None => schema,
    }
}

fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn fields(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
    object.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn cell(says: &str) -> String {
    says.replace('|', "\\|").replace('\n', " ")
}
