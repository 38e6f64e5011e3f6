//! `policy explain`: every way to say a request, and everything there is to see of a ruling.

use super::{data, fits, folder, policy, write};
use crate::harness::{Space, Who};
use serde_json::Value;

const POLICY: &str = "groups: {owners: [ann, bob]}
rules:
  - name: pushes
    on: tool
    match: {command: git push *}
    then: ask
    reason: Pushing is seen by others.
    ask: {of: 2 of @owners, proof: passphrase, risk: high, deadline: 4h, remind: [1h]}
  - {name: releases, on: transition, match: {to: closed, label: release}, then: deny, reason: Not by a program.}
  - {name: agents, on: lifecycle, match: {action: [spawn, stop]}, then: ask}
  - {name: unsure, on: result, when: result.confidence < 80, then: ask, reason: It is not sure.}
  - {name: reviews, on: ask, match: {kind: review}, then: deny}
  - {name: nights, on: tool, match: {tool: Deploy}, when: time.hour >= 20, then: deny}
";

#[track_caller]
fn ruling(space: &Space, args: &[&str]) -> Value {
    let file = ["--file", "p.yaml", "--json"];
    policy(space, &[&["explain"], args, &file].concat()).json()
}

#[test]
fn a_request_can_be_said_in_many_ways() {
    let space = folder(&[("p.yaml", POLICY)]);
    let request = r#"{"on": "tool", "tool": "Bash", "command": "cd x && git push"}"#;
    write(&space, "request.json", request);
    let rows: &[(&[&str], &str, &str)] = &[
        (&["--command", "cd x && git push"], "ask", "pushes"),
        (&["--tool", "Bash", "--command", "git push"], "ask", "pushes"),
        (&["--tool", "Write", "--path", "a.md"], "allow", ""),
        (&["--from", "open", "--to", "closed", "--label", "release"], "deny", "releases"),
        (&["--from", "open", "--to", "closed", "--task-label", "docs"], "allow", ""),
        (&["--spawn", "rex", "--agent", "max"], "ask", "agents"),
        (&["--restart", "rex"], "allow", ""),
        (&["--stop", "rex"], "ask", "agents"),
        (&["--result", "completed", "--confidence", "40"], "ask", "unsure"),
        (&["--result", "completed", "--confidence", "90"], "allow", ""),
        (&["--ask", "review", "--question", "Fine?"], "deny", "reviews"),
        (&["--ask", "input"], "ask", ""),
        (&["--tool", "Deploy", "--at", "2026-11-16T22:00"], "deny", "nights"),
        (&["--tool", "Deploy", "--at", "2026-11-16T12:00"], "allow", ""),
        (&[request], "ask", "pushes"),
        (&["@request.json"], "ask", "pushes"),
    ];
    for (args, effect, rule) in rows {
        let found = ruling(&space, args);
        let decided = found["because"][0]["rule"].as_str().unwrap_or_default();
        assert_eq!((found["effect"].as_str().unwrap(), decided), (*effect, *rule), "{args:?}");
    }
    let args = ["policy", "explain", "-", "--file", "p.yaml", "--json"];
    let piped = space.run_with_input(Who::Script, &args, request);
    assert_eq!(data(&piped)["effect"], "ask");
}

#[test]
fn everything_is_shown() {
    let space = folder(&[("p.yaml", POLICY)]);
    let args = ["explain", "--command", "cd x && git push origin", "--file", "p.yaml"];
    let ran = policy(&space, &args).exits(0);
    for says in [
        "❓ ask  Bash: cd x && git push origin",
        "It would run:\n  cd x\n  git push origin",
        "  pushes  p.yaml:3, space\n    Pushing is seen by others.",
        "  asks 2 of (ann, bob)",
        "  at least passphrase",
        "  high risk",
        "  after 4h deny",
        "  a reminder after 1h",
        "▸ ask    pushes",
        "  deny   nights  p.yaml:13  `tool` does not fit: Bash",
    ] {
        assert!(ran.stdout.contains(says), "{says}:\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\x1b') && ran.stderr.is_empty(), "{ran:?}");
    let plain = policy(&space, &[&args[..], &["--plain"]].concat()).exits(0);
    assert!(plain.stdout.is_ascii() && plain.stdout.starts_with("[?] ask"), "{}", plain.stdout);
    let whole = ruling(&space, &args[1..3]);
    fits("policy-explained", &whole);
    assert_eq!(whole["demands"]["remind_ms"][0], 3_600_000);
    assert_eq!(whole["because"][0]["line"], 3);
    assert_eq!(whole["looked"].as_array().unwrap().len(), 2);
    assert_eq!(whole["commands"].as_array().unwrap().len(), 2);
}

#[test]
fn colours_are_for_terminals_and_silence_that_approves_is_red() {
    let admin = "rules:\n  - {name: drafts, on: tool, match: {tool: Write}, then: ask, ask: {risk: low, deadline: 1h, at_end: approve}}\n";
    let space = folder(&[("admin.yaml", admin)]);
    let args = ["policy", "explain", "--tool", "Write", "--file", "admin=admin.yaml"];
    let alarm = "if nobody answers within 1h, it counts as approved";
    let mut command = space.command(Who::Terminal, &args);
    let ran = space.finish(command.env_remove("NO_COLOR"));
    assert!(ran.stdout.contains(&format!("\x1b[31m  ⚠ {alarm}")), "{:?}", ran.stdout);
    let ran = space.run(Who::Terminal, &args);
    assert!(ran.stdout.contains(alarm) && !ran.stdout.contains("\x1b["), "{:?}", ran.stdout);
    let ran = space.run(Who::Script, &[&args[..], &["--json"]].concat());
    assert_eq!(data(&ran)["alarms"][0], alarm);
}

#[test]
fn a_condition_that_cannot_be_judged_asks_and_says_so() {
    let space = folder(&[("p.yaml", POLICY)]);
    let found = ruling(&space, &["--result", "completed"]);
    assert_eq!(found["effect"], "ask");
    let note = found["because"][0]["note"].as_str().unwrap();
    assert!(note.contains("condition"), "{note}");
    let ran = policy(&space, &["explain", "--result", "completed", "--file", "p.yaml"]);
    ran.says(note).ok();
    // What cannot be told is asked, and says why.
    let found = ruling(&space, &["--command", "eval \"$X\""]);
    assert_eq!(found["effect"], "ask");
    assert!(found["unclear"].is_string(), "{found}");
}

#[test]
fn layers_tighten() {
    let rex = "rules:\n  - {name: alone, on: lifecycle, match: {action: spawn}, then: deny}\n";
    let space = folder(&[("p.yaml", POLICY), ("rex.yaml", rex)]);
    let said = |agent: &str, target: &str| {
        let files = ["--file", "agent:rex=rex.yaml", "--agent", agent, "--spawn", target];
        ruling(&space, &files)["effect"].as_str().unwrap().to_owned()
    };
    assert_eq!(said("max", "eve"), "ask");
    assert_eq!(said("rex", "eve"), "deny", "the requester's");
    assert_eq!(said("max", "rex"), "deny", "the target's");
}

#[test]
fn what_is_no_request_is_refused_with_a_hint() {
    let space = folder(&[("p.yaml", POLICY)]);
    for (args, says) in [
        (vec!["--agent", "rex"], "nothing is said about what is to happen"),
        (vec!["--tool", "X", "--to", "closed"], "`to` belongs to a request on transition"),
        (vec!["--from", "open"], "needs `to`"),
        (vec!["--ask", "tea"], "no request"),
        (vec!["--result", "completed", "--confidence", "101"], "percentage"),
        (vec!["--tool", "X", "--at", "whenever"], "is no time"),
        (vec!["{"], "no request"),
        (vec![r#"{"on": "tool", "tool": "X", "cmd": "ls"}"#], "unknown field"),
        (vec!["{}", "--tool", "X"], "cannot be used with"),
    ] {
        policy(&space, &[&["explain", "--file", "p.yaml"], args.as_slice()].concat())
            .exits(2)
            .says(says);
    }
    policy(&space, &["explain", "@nothing.json", "--file", "p.yaml"]).exits(3);
    // Without a file it is the policy in force that is meant, and here is no space.
    policy(&space, &["explain", "--tool", "X"]).exits(3).refused("SAY020");
}
