//! One-off.
#![allow(clippy::print_stdout, clippy::unwrap_used)]
fn main() {
    use std::io::BufRead;
    let p = sayso_policy::Policies::new(vec![sayso_policy::Policy::parse(sayso_policy::Layer::Space, "p", "otherwise: {tool: ask}\nrules: [{name: a, on: tool, match: {command: ['ok *', 'true *', 'echo *', 'cat *']}, then: allow},{name: d, on: tool, match: {command: 'bad *'}, then: deny}]").unwrap()]);
    for line in std::io::stdin().lock().lines() {
        let command: String = serde_json::from_str(&line.unwrap()).unwrap();
        let request = serde_json::from_value(
            serde_json::json!({"on":"tool","tool":"Bash","command":command}),
        )
        .unwrap();
        let e = p.explain(&request);
        println!(
            "{}",
            serde_json::json!({"effect": e.ruling.effect, "commands": e.commands, "unclear": e.unclear})
        );
    }
}
