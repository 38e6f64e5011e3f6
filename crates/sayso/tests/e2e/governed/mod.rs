//! What people set for a space, and what time and policy make of it.

mod fleet;
mod memory;
mod moves;
mod people;
mod results;
mod standins;
mod time;
mod timers;

use crate::harness::{Space, Who};

/// Puts a policy in force for the space, or for an agent, as ann.
pub fn policy(space: &Space, name: &str, text: &str) {
    let file = space.path().join(format!("{name}.yaml"));
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    match name {
        "space" => space.ann(&["policy", "set", file]).ok(),
        "admin" => {
            let file = format!("admin={file}");
            space.ann(&["policy", "set", &file]).refused("SAY037");
            if !space.token("root").exists() {
                space.mint("admin", "root");
            }
            space.run(Who::Holder(&space.token("root")), &["policy", "set", &file]).ok()
        }
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
