//! What people set for a space, and what time and policy make of it.

mod fleet;
mod memory;
mod moves;
mod results;
mod time;

use crate::harness::Space;

/// Puts a policy in force for the space, or for an agent, as ann.
pub fn policy(space: &Space, name: &str, text: &str) {
    let file = space.path().join(format!("{name}.yaml"));
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    match name {
        "space" => space.ann(&["policy", "set", file]).ok(),
        "admin" => space.ann(&["policy", "set", &format!("admin={file}")]).ok(),
        agent => space.ann(&["policy", "set", file, "--agent", agent]).ok(),
    };
}

/// The actions of the audit, oldest first.
pub fn actions(space: &Space) -> Vec<String> {
    let entries = space.audit();
    entries.iter().rev().map(|entry| entry["action"].as_str().unwrap().to_owned()).collect()
}

/// How often something stands in the audit.
pub fn times(space: &Space, action: &str) -> usize {
    actions(space).iter().filter(|a| *a == action).count()
}
