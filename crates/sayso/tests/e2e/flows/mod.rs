//! Workflows in YAML, through the real program: run, parked, answered on every surface, killed and gone on
//! with.

mod agents;
mod cases;
mod elsewhere;
mod files;
mod killed;
mod safe;
mod trouble;

use crate::harness::{Ran, Space, Who};
use serde_json::Value;

/// Puts a workflow into a space.
fn write(space: &Space, name: &str, text: &str) {
    std::fs::write(space.path().join(name), text).unwrap();
}

/// One of the examples that are shipped.
fn example(space: &Space, name: &str) -> String {
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flows");
    let file = format!("{name}.yaml");
    std::fs::copy(from.join(&file), space.path().join(&file)).unwrap();
    file
}

/// Begins a flow as a script does: it ends where a person is asked.
fn begin(space: &Space, args: &[&str]) -> Ran {
    let args: Vec<_> = ["flow", "run"].iter().chain(args).copied().collect();
    space.run(Who::Script, &args)
}

/// Goes on with everything that was answered.
fn resume(space: &Space) -> Ran {
    space.run(Who::Script, &["flow", "resume", "--all"])
}

/// The flows there are, newest first.
fn flows(space: &Space) -> Vec<Value> {
    let page = space.ann(&["flow", "list", "--all", "--json"]).json();
    page["items"].as_array().unwrap().clone()
}

/// The one flow there is.
fn flow(space: &Space) -> Value {
    let flows = flows(space);
    assert_eq!(flows.len(), 1, "{flows:?}");
    let handle = flows[0]["handle"].as_str().unwrap();
    space.ann(&["flow", "show", handle, "--json"]).json()
}

/// The one gate that waits, whatever it is about.
fn gate(space: &Space) -> String {
    let inbox = space.ann(&["inbox", "--json"]).json();
    let items = inbox["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{inbox}");
    items[0]["handle"].as_str().unwrap().to_owned()
}

/// How often something happened to a flow.
fn count(flow: &Value, event: &str) -> usize {
    let events = flow["events"].as_array().unwrap();
    events.iter().filter(|told| told["event"] == event).count()
}
