//! Known ways to run a command past a rule, tried against a policy of one's own.

use super::{data, fits, folder, policy};

const TIGHT: &str =
    "rules:\n  - {name: pushes, on: tool, match: {command: git push *}, then: ask}\n";

/// Whoever wrote this meant lines that begin so.
const LEAKY: &str = "rules:\n  - {name: pushes, on: tool, match: {command: git push *}, \
                     when: \"tool.command.startsWith('git')\", then: ask}\n";

#[test]
fn what_passes_is_printed_and_is_no_success() {
    let space =
        folder(&[("tight.yaml", TIGHT), ("leaky.yaml", LEAKY), ("none.yaml", "rules: []\n")]);
    policy(&space, &["test", "--smuggle", "tight.yaml"])
        .says("lines runs one of 1 command")
        .exits(0);
    let tried = data(&policy(&space, &["test", "--smuggle", "tight.yaml", "--json"]).exits(0));
    fits("policy-smuggled", &tried);
    assert_eq!(tried["commands"][0], "git push");
    assert!(tried["tried"].as_u64().unwrap() > 1_000, "{}", tried["tried"]);
    assert_eq!(tried["passed"].as_array().unwrap().len(), 0);

    policy(&space, &["test", "--smuggle", "leaky.yaml"])
        .says("✗ git push: true; git push")
        .refused("SAY069")
        .exits(1);
    let passed = data(&policy(&space, &["test", "--smuggle", "leaky.yaml", "--json"]).exits(1));
    assert!(passed["passed"].as_array().unwrap().len() > 100);
    policy(&space, &["test", "--smuggle", "none.yaml"]).refused("SAY048").exits(1);
}

#[test]
fn nothing_is_smuggled_past_the_presets() {
    for preset in ["balanced", "cautious", "trusting"] {
        let text = policy(&folder(&[]), &["presets", preset]).ok();
        let space = folder(&[("policy.yaml", &text)]);
        policy(&space, &["test", "--smuggle", "policy.yaml"]).says("lines runs one of").exits(0);
    }
}
