//! What a ruling costs, for goal P10: with 10, 100 and 1,000 rules, and a replay of 100,000 requests.
//! Run it with `cargo run --release -p sayso-policy --example policy_bench`.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use sayso_policy::{Policy, PolicyLayer, PolicyRequest, PolicySet, RecordedRequest};
use serde_json::json;
use std::hint::black_box;
use std::time::Instant;

fn text(rules: usize) -> String {
    let mut text =
        String::from("groups: {owners: [ann, bob], security: [cid, '@owners']}\nrules:\n");
    for n in 0..rules {
        text += &match n % 5 {
            0 => format!(
                "  - {{name: r{n}, on: tool, match: {{tool: Bash, command: 'tool{n} push *'}}, then: ask, ask: {{of: '2 of @security'}}}}\n"
            ),
            1 => format!(
                "  - {{name: r{n}, on: tool, match: {{tool: [Write, Edit], path: 'dir{n}/**'}}, then: deny}}\n"
            ),
            2 => format!(
                "  - {{name: r{n}, on: tool, match: {{tool: 'mcp__server{n}__*'}}, then: ask}}\n"
            ),
            3 => format!(
                "  - {{name: r{n}, on: transition, match: {{from: open, to: closed, label: l{n}}}, then: ask}}\n"
            ),
            _ => format!(
                "  - {{name: r{n}, on: tool, match: {{tool: Bash}}, when: 'task.priority <= 1 && tool.args.timeout > {n}', then: ask}}\n"
            ),
        };
    }
    text
}

fn requests() -> Vec<PolicyRequest> {
    let task = json!({"handle": "t1", "priority": 3, "labels": ["ui", "api"], "type": "bug"});
    let agent = json!({"name": "rex", "role": "code", "launcher": "ann"});
    [
        json!({"on": "tool", "tool": "Bash", "command": "cd sub && cargo test -p x 2>&1 | tail -20",
               "arguments": {"command": "cargo test", "timeout": 60}}),
        json!({"on": "tool", "tool": "Write", "paths": ["src/lib.rs"],
               "arguments": {"file_path": "src/lib.rs", "content": "fn main() {}"}}),
        json!({"on": "transition", "from": "open", "to": "in_progress"}),
        json!({"on": "tool", "tool": "Bash", "command": "git status", "arguments": {"timeout": 5}}),
    ]
    .into_iter()
    .map(|mut value| {
        value["task"] = task.clone();
        value["agent"] = agent.clone();
        serde_json::from_value(value).unwrap()
    })
    .collect()
}

/// The least of several runs, per step, in microseconds.
fn micros(steps: usize, mut run: impl FnMut()) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..steps {
            run();
        }
        least = least.min(start.elapsed().as_secs_f64() * 1e6 / steps as f64);
    }
    least
}

fn main() {
    let requests = requests();
    let names = ["Bash, a line of three", "Write", "transition", "Bash, one command"];
    let start = Instant::now();
    let first = Policy::parse(PolicyLayer::Space, "p", &text(10)).unwrap();
    println!("first parse in the process, 10 rules: {:.0} us", start.elapsed().as_secs_f64() * 1e6);
    drop(first);
    println!("{:>6} {:>10} {:>12}  ruling, us", "rules", "parse, us", "again, us");
    for rules in [10, 100, 1_000] {
        let text = text(rules);
        let parse =
            micros(3, || drop(black_box(Policy::parse(PolicyLayer::Space, "p", &text).unwrap())));
        let again = micros(3, || {
            drop(black_box(Policy::parse_again(PolicyLayer::Space, "p", &text).unwrap()))
        });
        let policies = PolicySet::new(vec![Policy::parse(PolicyLayer::Space, "p", &text).unwrap()]);
        let steps = 20_000 / rules;
        let costs: Vec<String> = requests
            .iter()
            .zip(names)
            .map(|(request, name)| {
                let cost = micros(steps, || drop(black_box(policies.ruling(request))));
                format!("{name}: {cost:.1}")
            })
            .collect();
        println!("{rules:>6} {parse:>10.0} {again:>12.0}  {}", costs.join("; "));
    }
    for rules in [100, 1_000] {
        let policies =
            |n| PolicySet::new(vec![Policy::parse(PolicyLayer::Space, "p", &text(n)).unwrap()]);
        let (old, new) = (policies(rules / 2), policies(rules));
        let recorded = (0..100_000).map(|n| RecordedRequest {
            name: n.to_string(),
            request: requests[n % requests.len()].clone(),
        });
        let start = Instant::now();
        let replay = new.replay(&old, recorded, 5);
        println!(
            "replay of {} requests, {} against {rules} rules: {:.2} s, {} changed",
            replay.looked,
            rules / 2,
            start.elapsed().as_secs_f64(),
            replay.changed()
        );
    }
}
