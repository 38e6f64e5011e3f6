//! Known ways to run a command past a rule about it: none passes but those that the guide names.

use sayso_policy::{Policy, PolicyEffect, PolicyLayer, PolicyRequest, PolicySet, lines_beyond};
use serde_json::json;

const RULES: &str = "
rules:
  - {name: pushes, on: tool, match: {command: git push *}, then: ask}
  - {name: removing, on: tool, match: {command: rm -rf *}, then: deny}
  - {name: fetching, on: tool, match: {command: curl *}, then: ask}
";

fn policies(text: &str) -> PolicySet {
    let policy = Policy::parse(PolicyLayer::Space, "space.yaml", text);
    PolicySet::new(vec![policy.unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))])
}

fn effect(policies: &PolicySet, command: &str) -> PolicyEffect {
    let request = json!({"on": "tool", "tool": "Bash", "command": command});
    let request: PolicyRequest = serde_json::from_value(request).unwrap();
    policies.ruling(&request).effect
}

#[test]
fn nothing_known_passes_but_what_the_guide_names() {
    let policies = policies(RULES);
    let smuggled = policies.smuggle();
    let passed: Vec<_> =
        smuggled.passed.iter().map(|p| format!("{}: {:?}", p.section, p.line)).collect();
    assert!(passed.is_empty(), "{} pass:\n{}", passed.len(), passed.join("\n"));
    assert!(smuggled.tried >= 2_000, "{}", smuggled.tried);
    assert_eq!(smuggled.targets, ["git push", "rm -rf", "curl"]);
    // The list in the guide is honest.
    let beyond = lines_beyond("git push");
    assert!(beyond.len() >= 10);
    for line in beyond {
        assert_eq!(effect(&policies, &line.line), PolicyEffect::Allow, "{}", line.line);
    }
}

#[test]
fn no_file_that_a_preset_guards_is_reached_by_a_known_way() {
    for preset in [sayso_policy::PolicyPreset::Balanced, sayso_policy::PolicyPreset::Trusting] {
        let smuggled = policies(preset.text()).smuggle();
        let passed: Vec<_> =
            smuggled.passed.iter().map(|p| format!("{}: {:?}", p.section, p.line)).collect();
        assert!(passed.is_empty(), "{} pass:\n{}", passed.len(), passed.join("\n"));
        assert!(smuggled.targets.iter().any(|target| target == "/dev/sdx"));
    }
    let words = format!("echo {}; cat .env", "a ".repeat(25_000));
    let preset = policies(sayso_policy::PolicyPreset::Balanced.text());
    assert_ne!(
        effect(&preset, &words),
        PolicyEffect::Allow,
        "what is not looked at is not allowed"
    );
}

#[test]
fn what_agents_run_all_day_is_not_asked_about() {
    let policies = policies(sayso_policy::PolicyPreset::Balanced.text());
    let lines = include_str!("ordinary.txt").lines().filter(|line| !line.starts_with('#'));
    let lines: Vec<String> = lines.map(|line| line.replace('⏎', "\n")).collect();
    let asked: Vec<_> =
        lines.iter().filter(|line| effect(&policies, line) != PolicyEffect::Allow).collect();
    let asked: Vec<String> = asked
        .into_iter()
        .map(|line| {
            let request = json!({"on": "tool", "tool": "Bash", "command": line});
            let request: PolicyRequest = serde_json::from_value(request).unwrap();
            format!("{line:?}: {}", policies.ruling(&request).reason())
        })
        .collect();
    assert!(lines.len() >= 140, "{}", lines.len());
    assert!(asked.is_empty(), "{} are asked about:\n{}", asked.len(), asked.join("\n"));
}
