//! `policy check`, `policy test` and `policy presets`.

use super::{data, fits, folder, policy, write};
use crate::harness::Who;

const BROKEN: &str = "groups:
  a: [\"@b\"]
  b: [\"@a\"]
  empty: []
othrwise: {tool: ask}
rules:
  - name: closing
    on: transition
    match: {from: review, to: closed}
    then: ask
    ask: {of: \"@nobody\"}
  - name: all
    on: tool
    then: deny
  - name: some
    on: tool
    match: {command: git push *}
    then: ask
";

#[test]
fn all_mistakes_are_told_at_once_with_line_and_fix() {
    let space = folder(&[("p.yaml", BROKEN)]);
    let ran = policy(&space, &["check", "p.yaml"]).exits(2);
    let expected = [
        "p.yaml:2: the group `a` is in itself: @a > @b > @a\n    take one of them out",
        "p.yaml:3: the group `b` is in itself",
        "p.yaml:4: the group `empty` is an empty list\n    name one, or drop it",
        "p.yaml:5: a policy has no key `othrwise`\n    write `otherwise`",
        "p.yaml:7: there is no status `review`\n    there are blocked, closed,",
        "p.yaml:11: there is no group `@nobody`",
        "p.yaml:15: `some` is never reached: `all` on line 12 says deny to all of it",
    ];
    for text in expected {
        assert!(ran.stdout.contains(text), "{text}:\n{}", ran.stdout);
    }
    assert!(ran.stderr.starts_with("error[SAY047]: 7 mistakes in 1 file"), "{}", ran.stderr);
    let json = policy(&space, &["check", "p.yaml", "--json"]).exits(2);
    let report = data(&json);
    fits("mistakes", &report);
    assert_eq!((&report["fine"], &report["files"]), (&false.into(), &1.into()));
    assert_eq!(report["mistakes"].as_array().unwrap().len(), expected.len());
    assert_eq!(report["mistakes"][3]["line"], 5);
    assert_eq!(report["mistakes"][3]["fix"], "write `otherwise`");
    let error: serde_json::Value = serde_json::from_str(&json.stderr).unwrap();
    assert_eq!(error["error"]["code"], "SAY047");
}

#[test]
fn files_are_checked_together_each_in_its_layer() {
    let space = folder(&[
        ("space.yaml", "groups: {owners: [ann]}\n"),
        (
            "rex.yaml",
            "rules:\n  - {name: r, on: tool, match: {tool: X}, then: ask, ask: {of: '@owners'}}\n",
        ),
        ("admin.yaml", "ask: {risk: low, deadline: 1h, at_end: approve}\n"),
    ]);
    let both = ["check", "space.yaml", "agent:rex=rex.yaml"];
    policy(&space, &both).says("2 files, no mistakes").ok();
    policy(&space, &["check", "--agent", "rex", "rex.yaml"]).exits(2).says("no group `@owners`");
    // Only an admin lets silence approve.
    policy(&space, &["check", "admin=admin.yaml"]).ok();
    policy(&space, &["check", "admin.yaml"]).exits(2).says("only an admin's policy");
    policy(&space, &["check", "agent:=rex.yaml"]).exits(2).says("agent:NAME=FILE");
}

#[test]
fn hostile_files_are_refused_quickly_and_show_nothing_that_acts() {
    let level = |name: &str, of: &str| format!("{name}: &{name} [{}]\n", [of; 10].join(","));
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (name, of) in [("b", "*a"), ("c", "*b"), ("d", "*c"), ("e", "*d"), ("f", "*e"), ("g", "*f")]
    {
        bomb.push_str(&level(name, of));
    }
    let space = folder(&[
        ("bomb.yaml", &bomb),
        ("deep.yaml", &"[".repeat(100_000)),
        ("escape.yaml", "\"ru\\e]0;title\\ales\": 5\n"),
        ("long.yaml", &format!("# {}\n", "x".repeat(300_000))),
        ("half.yaml", "rules:\n  - name: \"a"),
    ]);
    std::fs::write(space.path().join("bytes.yaml"), b"rules: \xff\xfe").unwrap();
    let began = std::time::Instant::now();
    for (file, says) in [
        ("bomb.yaml", "no YAML that can be used"),
        ("deep.yaml", "no YAML that can be used"),
        ("escape.yaml", "a policy has no key"),
        ("long.yaml", "262144 are allowed"),
        ("half.yaml", "no YAML that can be used"),
    ] {
        let ran = policy(&space, &["check", file]).exits(2).says(says).refused("SAY047");
        assert!(!ran.said().contains(['\x1b', '\x07']), "{file}: {:?}", ran.said());
        policy(&space, &["test", file]).exits(2).refused("SAY047");
        policy(&space, &["explain", "--command", "ls", "--file", file]).exits(2).refused("SAY047");
    }
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    policy(&space, &["check", "bytes.yaml"]).exits(2).refused("SAY016");
    policy(&space, &["check", "nothing.yaml"]).exits(3).refused("SAY001");
    policy(&space, &["check", "."]).exits(1).refused("SAY042");
}

#[test]
fn tests_in_the_file_are_run_and_the_failures_are_named() {
    let text = "rules:
  - {name: pushes, on: tool, match: {command: git push *}, then: ask}
tests:
  - {name: a push, request: {on: tool, tool: Bash, command: git push}, expect: ask, by: pushes}
  - {name: a pull, request: {on: tool, tool: Bash, command: git pull}, expect: deny}
  - {name: by another, request: {on: tool, tool: Bash, command: git push}, expect: ask, by: otherwise}
";
    let space = folder(&[("p.yaml", text), ("none.yaml", "rules: []\n")]);
    let ran = policy(&space, &["test", "p.yaml"]).exits(1).refused("SAY048");
    for says in [
        "✗ p.yaml:5: a pull\n    deny was expected, allow is said by otherwise",
        "✗ p.yaml:6: by another\n    otherwise was to decide, pushes did",
        "✓ 1 test passes",
    ] {
        assert!(ran.stdout.contains(says), "{says}:\n{}", ran.stdout);
    }
    assert!(ran.stderr.contains("2 of 3 tests fail"), "{}", ran.stderr);
    let ran = policy(&space, &["test", "p.yaml", "--json"]).exits(1);
    let tested = data(&ran);
    fits("policy-tested", &tested);
    assert_eq!((&tested["passed"], &tested["failed"]), (&1.into(), &2.into()));
    policy(&space, &["test", "none.yaml"]).exits(1).says("there is no test to run");
}

#[test]
fn presets_are_files_to_start_from() {
    let space = folder(&[]);
    let list = policy(&space, &["presets", "--json"]).json();
    fits("policy-presets", &list);
    let names: Vec<_> = list.as_array().unwrap().iter().map(|p| p["name"].clone()).collect();
    assert_eq!(names, ["cautious", "balanced", "trusting"]);
    policy(&space, &["presets"]).says("balanced  agents work on their own.").ok();
    for name in ["cautious", "balanced", "trusting"] {
        let text = policy(&space, &["presets", name]).exits(0).stdout;
        write(&space, "p.yaml", &text);
        policy(&space, &["check", "p.yaml"]).ok();
        let piped = space.run_with_input(Who::Script, &["policy", "test", "-"], &text);
        piped.says("tests pass").ok();
        let one = policy(&space, &["presets", name, "--json"]).json();
        fits("policy-preset", &one);
        assert_eq!(one["text"], text);
    }
    policy(&space, &["presets", "reckless"]).exits(2).says("possible values: cautious");
}
