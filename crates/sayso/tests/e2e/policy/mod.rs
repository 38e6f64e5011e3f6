//! Policies on the command line: files with mistakes and without, rulings explained, what is in force,
//! and what it would have changed.

mod edit;
mod explain;
mod files;
mod force;
mod guide;
mod smuggle;
mod validate;

use crate::harness::{Ran, SAYSO, Space, Who};
use serde_json::Value;

/// A folder with files in it and no space: policies need none.
fn folder(files: &[(&str, &str)]) -> Space {
    let space = Space::empty();
    for (name, text) in files {
        write(&space, name, text);
    }
    space
}

fn write(space: &Space, name: &str, text: &str) {
    let path = space.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[track_caller]
fn policy(space: &Space, args: &[&str]) -> Ran {
    space.run(Who::Script, &[&["policy"], args].concat())
}

/// What was printed as data, whatever the exit code.
#[track_caller]
fn data(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.said()))
}

/// Asserts that a value is what the program documents under this name, and has no other fields.
#[track_caller]
fn fits(name: &str, value: &Value) {
    let dir = tempfile::tempdir().unwrap();
    let status = std::process::Command::new(SAYSO).arg("__generate").arg(dir.path()).status();
    assert!(status.unwrap().success());
    let text = std::fs::read_to_string(dir.path().join(format!("json/{name}.json"))).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<_> = validator.iter_errors(value).map(|e| e.to_string()).collect();
    assert!(problems.is_empty(), "{name}: {problems:?}\n{value}");
    if let (Value::Object(fields), Some(known)) = (value, schema["properties"].as_object()) {
        assert!(fields.keys().all(|key| known.contains_key(key)), "{name}: {fields:?}");
    }
}
