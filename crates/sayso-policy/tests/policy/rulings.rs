//! What policies say of requests: the examples of the design, layers, conditions, exceptions.

use sayso_policy::{
    Policy, PolicyEffect, PolicyLayer, PolicyRequest, PolicySet, RulingExplanation,
};
use serde_json::{Value, json};

fn policy(layer: PolicyLayer, text: &str) -> Policy {
    let file = format!("{}.yaml", layer.to_string().replace(' ', "-"));
    Policy::parse(layer, &file, text).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

fn space(text: &str) -> PolicySet {
    PolicySet::new(vec![policy(PolicyLayer::Space, text)])
}

fn request(value: Value) -> PolicyRequest {
    serde_json::from_value(value).unwrap()
}

fn bash(command: &str) -> PolicyRequest {
    request(json!({"on": "tool", "tool": "Bash", "command": command}))
}

fn effect(policies: &PolicySet, request: &PolicyRequest) -> PolicyEffect {
    policies.ruling(request).effect
}

use PolicyEffect::{Allow, Ask, Deny};

#[test]
fn without_a_policy_nothing_is_gated_that_was_not_asked_for() {
    let none = PolicySet::new(vec![]);
    for (value, expected) in [
        (json!({"on": "tool", "tool": "Bash", "command": "eval \"$X\""}), Allow),
        (json!({"on": "transition", "from": "open", "to": "closed"}), Allow),
        (json!({"on": "lifecycle", "action": "spawn", "target": "rex"}), Allow),
        (json!({"on": "result", "outcome": "completed"}), Allow),
        (json!({"on": "ask", "kind": "input"}), Ask),
    ] {
        let ruling = none.ruling(&request(value.clone()));
        assert_eq!(ruling.effect, expected, "{value}");
        assert_eq!(ruling.demands.is_some(), expected == Ask);
    }
    // A policy that does not speak of commands changes nothing for them.
    let other = space("rules: [{name: r, on: transition, match: {to: closed}, then: ask}]");
    assert_eq!(effect(&other, &bash("eval \"$X\"")), Allow);
}

/// Seed 003: lifecycle gates, "review to done requires approval", tool approval.
#[test]
fn the_examples_of_the_fleet_design() {
    let policies = space(
        r#"
groups: {operators: [ann, bob]}
rules:
  - name: sign-off
    on: transition
    match: {from: review, to: done}
    then: ask
    ask: {of: "@operators", deadline: 4h, at_end: escalate, escalate: [{after: 2h, of: bob}]}
  - {name: nothing-skips-review, on: transition, match: {from: "*", to: done}, unless: {from: review}, then: deny}
  - {name: no-self-replication, on: lifecycle, match: {action: spawn}, then: ask, ask: {of: "2 of @operators"}}
  - {name: stops, on: lifecycle, match: {action: [stop, restart], target: "prod-*"}, then: ask}
  - {name: shell, on: tool, match: {tool: Bash}, then: ask, reason: Shell commands are seen first.}
  - {name: decisions, on: ask, match: {kind: decision}, then: ask, ask: {of: "@operators"}}
"#,
    );
    let table = [
        (json!({"on": "transition", "from": "review", "to": "done"}), Ask, "sign-off"),
        (json!({"on": "transition", "from": "open", "to": "done"}), Deny, "nothing-skips-review"),
        (json!({"on": "transition", "from": "open", "to": "review"}), Allow, "otherwise"),
        (json!({"on": "lifecycle", "action": "spawn", "target": "x"}), Ask, "no-self-replication"),
        (json!({"on": "lifecycle", "action": "stop", "target": "prod-1"}), Ask, "stops"),
        (json!({"on": "lifecycle", "action": "stop", "target": "dev-1"}), Allow, "otherwise"),
        (json!({"on": "tool", "tool": "Bash", "command": "ls"}), Ask, "shell"),
        (json!({"on": "tool", "tool": "Read"}), Allow, "otherwise"),
        (json!({"on": "ask", "kind": "decision"}), Ask, "decisions"),
    ];
    for (value, expected, by) in table {
        let ruling = policies.ruling(&request(value.clone()));
        assert_eq!(ruling.effect, expected, "{value}");
        let rules: Vec<_> =
            ruling.because.iter().map(|b| b.rule.as_deref().unwrap_or("otherwise")).collect();
        assert_eq!(rules, [by], "{value}");
    }
    let ruling =
        policies.ruling(&request(json!({"on": "transition", "from": "review", "to": "done"})));
    assert_eq!(
        ruling.demands.map(|d| d.in_words()).as_deref(),
        Some(
            "asks 1 of (ann, bob); medium risk; after 2h 1 of (1 of (ann, bob), bob); after 4h escalate"
        )
    );
    assert_eq!(policies.ruling(&bash("ls")).reason(), "Shell commands are seen first.");
}

#[test]
fn a_yes_covers_a_line_word_for_word_and_a_no_finds_it_anywhere() {
    let policies = space(
        r#"
otherwise: {tool: ask}
rules:
  - {name: looking, on: tool, match: {tool: Bash, command: [git status *, ls *]}, then: allow}
  - {name: building, on: tool, match: {tool: Bash, command: cargo build *}, then: allow}
  - {name: notes, on: tool, match: {tool: Bash, path: notes/**}, then: allow}
  - {name: no-push, on: tool, match: {command: git push *}, unless: {command: git push origin wip/*}, then: deny}
"#,
    );
    for (command, expected) in [
        ("git status", Allow),
        ("git status -sb && ls", Allow),
        ("git status; cargo build --release", Allow),
        ("timeout 60 cargo build", Allow),
        ("sh -c 'git status'", Allow),
        ("bash -c 'git status; rm -rf x'", Ask),
        ("git status; rm -rf x", Ask),
        ("git status | sh", Ask),
        ("git status > notes/today", Allow),
        ("git status > /etc/passwd", Ask),
        ("git status > notes/../../x", Ask),
        ("cd /tmp; git status > notes/today", Ask),
        ("rm -rf x > notes/today", Ask),
        ("git status < /etc/shadow", Ask),
        ("git -c core.fsmonitor=x status", Ask),
        ("git -C /tmp status", Ask),
        ("LD_PRELOAD=x git status", Ask),
        ("env X=1 git status", Ask),
        ("/tmp/git status", Ask),
        ("/tmp/sh -c 'git status'", Ask),
        ("./timeout 5 git status", Ask),
        ("time -o /etc/passwd git status", Ask),
        ("ls $(rm -rf x)", Ask),
        ("ls `rm -rf x`", Ask),
        ("ls \"$(git status)\"", Allow),
        ("ls <(rm x)", Ask),
        ("ls 'a", Ask),
        ("$LS", Ask),
        ("", Ask),
        ("# only a comment", Ask),
        ("git push", Deny),
        ("ls; (cd x && sudo git --no-pager -c a=b push -f)", Deny),
        ("xargs git push < x", Deny),
        ("bash -c 'git push'", Deny),
        ("git push origin wip/a", Ask),
        ("git push origin wip/a; git push origin main", Deny),
        ("git push origin wip/a main", Deny),
        ("git $VERB", Ask),
        ("eval git push", Ask),
    ] {
        let explanation = policies.explain(&bash(command));
        assert_eq!(explanation.ruling.effect, expected, "{command}: {explanation:#?}");
    }
}

#[test]
fn what_no_rule_speaks_of_keeps_its_strictness_in_a_longer_line() {
    let policies = space(
        r#"
otherwise: {tool: deny}
rules:
  - {name: pushes, on: tool, match: {command: git push *}, then: ask}
  - {name: looking, on: tool, match: {command: ls *}, then: allow}
"#,
    );
    for (command, expected) in [
        ("git push", Ask),
        ("ls; git push", Ask),
        ("git push; make evil", Deny),
        ("make evil", Deny),
        ("ls", Allow),
        ("ls; $X", Deny),
        ("git push; $X", Deny),
    ] {
        assert_eq!(effect(&policies, &bash(command)), expected, "{command}");
    }
}

#[test]
fn paths_are_judged_without_detours() {
    let policies = space(
        r#"
otherwise: {tool: ask}
rules:
  - {name: sources, on: tool, match: {tool: [Write, Edit], path: [src/**, README.md]}, then: allow}
  - {name: keys, on: tool, match: {path: [.env, secrets/]}, unless: {tool: Read}, then: deny}
"#,
    );
    let write = |path: &str| {
        request(json!({"on": "tool", "tool": "Write", "paths": [path], "root": "/home/p"}))
    };
    for (path, expected) in [
        ("src/a.rs", Allow),
        ("./src//b/a.rs", Allow),
        ("/home/p/src/a.rs", Allow),
        ("src/../x", Ask),
        ("../src/a.rs", Ask),
        ("/src/a.rs", Ask),
        ("docs/README.md", Ask),
        ("SRC/a.rs", Ask),
        (".env", Deny),
        ("a/b/.ENV", Deny),
        ("src/.env", Deny),
        ("secrets/a/b", Deny),
        ("src/../secrets/x", Deny),
        ("my-secrets/x", Ask),
    ] {
        assert_eq!(effect(&policies, &write(path)), expected, "{path}");
    }
    let two = request(json!({"on": "tool", "tool": "Write", "paths": ["src/a", "x"]}));
    assert_eq!(effect(&policies, &two), Ask);
    let read = request(json!({"on": "tool", "tool": "Read", "paths": [".env"]}));
    assert_eq!(effect(&policies, &read), Ask);
    assert_eq!(effect(&policies, &bash("echo x > .env")), Deny);
    assert_eq!(effect(&policies, &bash("echo x > $Y")), Ask);
    assert_eq!(effect(&policies, &bash("cat .env")), Ask);
}

#[test]
fn layers_only_tighten_and_asks_are_merged() {
    let admin = r#"
groups: {owners: [ann, bob]}
rules:
  - {name: floor, on: tool, match: {tool: Deploy}, then: ask, ask: {of: "@owners", risk: low, deadline: 4h, at_end: approve}}
"#;
    let space = r#"
rules:
  - {name: two, on: tool, match: {tool: Deploy}, then: ask,
     ask: {of: "2 of (cid, dan, ann)", proof: passphrase, risk: high, deadline: 8h, not_launcher: true, veto: "@owners"}}
"#;
    let agent = "otherwise: {tool: ask}\nrules: [{name: lax, on: tool, match: {tool: Deploy}, then: allow}]";
    let task = "rules: [{name: frozen, on: tool, match: {tool: Deploy}, then: deny}]";
    let deploy = request(json!({"on": "tool", "tool": "Deploy", "agent": "rex",
                                "task": {"handle": "t1", "priority": 1}}));
    let stack = |n: usize| {
        let all = [
            (PolicyLayer::Admin, admin),
            (PolicyLayer::Space, space),
            (PolicyLayer::Agent("rex".into()), agent),
            (PolicyLayer::Task("t1".into()), task),
        ];
        PolicySet::new(all.into_iter().take(n).map(|(l, t)| policy(l, t)).collect())
    };
    let one = stack(1).explain(&deploy);
    assert_eq!(one.alarms, ["if nobody answers within 4h, it counts as approved"]);
    for n in [2, 3] {
        let explanation = stack(n).explain(&deploy);
        assert_eq!(explanation.alarms, [""; 0]);
        assert_eq!(
            explanation.ruling.demands.map(|d| d.in_words()).as_deref(),
            Some(
                "asks all of (1 of (ann, bob), 2 of (cid, dan, ann)); veto by ann, bob; not whoever \
                 launched the agent; at least passphrase; high risk; after 4h deny"
            ),
            "{n}"
        );
    }
    assert_eq!(effect(&stack(4), &deploy), Deny);
    let other = request(json!({"on": "tool", "tool": "Deploy", "agent": "max"}));
    assert_eq!(effect(&stack(4), &other), Ask);
    // What is done to an agent is judged by its own policy too.
    let calm = policy(PolicyLayer::Agent("rex".into()), "otherwise: {lifecycle: deny}");
    let stop =
        request(json!({"on": "lifecycle", "action": "stop", "target": "rex", "agent": "max"}));
    assert_eq!(effect(&PolicySet::new(vec![calm]), &stop), Deny);
}

#[test]
fn conditions_see_the_request_and_ask_when_they_fail() {
    let holds = |condition: &str| {
        let quoted = serde_json::to_string(condition).unwrap();
        let policies =
            space(&format!("rules:\n  - {{name: r, on: tool, when: {quoted}, then: deny}}\n"));
        let request = request(json!({
            "on": "tool", "tool": "Bash", "command": "git push > log; rm x",
            "arguments": {"command": "git push", "n": 3, "deep": [{"x": 1.5}]},
            "agent": {"name": "rex", "role": "code", "launcher": "ann"},
            "task": {"handle": "t1", "labels": ["ui"], "priority": 1, "type": "bug",
                     "status": "open", "parent_labels": ["q3"]},
            "time": {"hour": 22, "minute": 5, "weekday": "sunday", "date": "2026-11-15"},
            "history": {"hour": {"asked": 7}, "day": {"denied": 2}},
        }));
        let ruling = policies.ruling(&request);
        (ruling.effect, ruling.because[0].note.clone().unwrap_or_default())
    };
    for condition in [
        "agent.name == 'rex' && agent.role == 'code' && agent.launcher == 'ann'",
        "task.priority <= 1 && 'ui' in task.labels && task.type == 'bug' && task.status == 'open'",
        "task.parent_labels.exists(l, l.startsWith('q'))",
        "tool.name == 'Bash' && tool.args.n == 3 && tool.args.deep[0].x > 1.0",
        "tool.clear && tool.commands.exists(c, c.program == 'rm' && 'x' in c.words)",
        "tool.writes == ['log'] && tool.paths == []",
        "tool.command.matches('pu.h')",
        "time.hour >= 20 || time.hour < 6",
        "time.weekday in ['saturday', 'sunday'] && time.minute == 5",
        "history.hour.asked > 5 && history.day.denied == 2",
        "!has(transition.from) && !has(result.confidence)",
        "size(task.labels) == 1 && string(task.priority) == '1'",
    ] {
        assert_eq!(holds(condition), (Deny, String::new()), "{condition}");
    }
    assert_eq!(holds("task.priority > 1").0, Allow);
    for (condition, expected) in [
        ("transition.from == 'open'", "No such key"),
        ("tool.args.missing == 1", "No such key"),
        ("task.priority", "neither true nor false"),
        ("task.priority / 0 == 1", "by zero"),
        ("task.labels > 3", "overload"),
        ("tool.command.matches('(')", ""),
    ] {
        let (effect, note) = holds(condition);
        assert_eq!(effect, Ask, "{condition}");
        assert!(
            note.contains("a person is asked") && note.contains(expected),
            "{condition}: {note}"
        );
    }
}

#[test]
fn a_condition_that_fails_asks_even_where_it_would_allow_or_was_never_checked() {
    let request = bash("ls");
    let allows = "otherwise: {tool: deny}\nrules: [{name: r, on: tool, match: {command: ls *}, when: task.priority < 2, then: allow}]";
    assert_eq!(effect(&space(allows), &request), Ask);
    let broken = "rules: [{name: r, on: tool, when: 'nonsense(', then: deny}]";
    let policy = Policy::parse_again(PolicyLayer::Space, "p", broken).unwrap();
    let ruling = PolicySet::new(vec![policy]).ruling(&request);
    assert_eq!(ruling.effect, Ask);
    assert!(ruling.reason().contains("could not be judged"), "{}", ruling.reason());
    // A list longer than anybody walks through in a hook.
    let big: Vec<u32> = (0..5_000).collect();
    let request = self::request(json!({"on": "tool", "tool": "T", "arguments": {"list": big}}));
    let walks =
        space("rules: [{name: r, on: tool, when: 'tool.args.list.exists(x, x > 9)', then: deny}]");
    assert_eq!(effect(&walks, &request), Ask);
}

#[test]
fn results_and_questions_are_routed() {
    let policies = space(
        r#"
groups: {design: [eve], owners: [ann]}
rules:
  - {name: unsure, on: result, match: {outcome: completed}, when: result.confidence < 80, then: ask}
  - {name: reviews, on: ask, match: {kind: [review, content], label: ui}, then: ask, ask: {of: "@design"}}
  - {name: spam, on: ask, when: history.hour.asked > 20, then: deny, reason: Too many questions.}
"#,
    );
    for (value, expected) in [
        (json!({"on": "result", "outcome": "completed", "confidence": 79}), Ask),
        (json!({"on": "result", "outcome": "completed", "confidence": 80}), Allow),
        (json!({"on": "result", "outcome": "completed"}), Ask),
        (json!({"on": "result", "outcome": "failed"}), Allow),
        (json!({"on": "ask", "kind": "input", "history": {"hour": {"asked": 21}}}), Deny),
    ] {
        assert_eq!(effect(&policies, &request(value.clone())), expected, "{value}");
    }
    let review = request(json!({"on": "ask", "kind": "review", "task": {"labels": ["ui"]}}));
    let demands = policies.ruling(&review).demands.unwrap();
    assert_eq!(demands.approvers.in_words(), "1 of (eve)");
}

#[test]
fn an_explanation_names_every_rule_and_why() {
    let policies = space(
        r#"
rules:
  - {name: pushes, on: tool, match: {tool: Bash, command: git push *}, then: ask}
  - {name: late, on: tool, match: {tool: Bash}, when: time.hour > 20, then: deny}
  - {name: files, on: tool, match: {tool: Write}, then: ask}
  - {name: moves, on: transition, then: deny}
"#,
    );
    let request = request(json!({"on": "tool", "tool": "Bash", "command": "ls; git push",
                                 "time": {"hour": 9}}));
    let RulingExplanation { looked, commands, ruling, .. } = policies.explain(&request);
    assert_eq!(commands, ["ls", "git push"]);
    let lines: Vec<_> = looked
        .iter()
        .map(|l| {
            let rule = l.rule.as_deref().unwrap_or("otherwise");
            format!(
                "{}:{} {rule} {} {} {}: {}",
                l.file,
                l.line.unwrap_or(0),
                l.says,
                l.matched,
                l.decided,
                l.why
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            "space.yaml:3 pushes ask true true: it fits",
            "space.yaml:4 late deny false false: its condition is not true",
            "space.yaml:5 files ask false false: `tool` does not fit: Bash",
        ]
    );
    assert_eq!(ruling, policies.ruling(&request));
}

#[test]
fn policies_can_be_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<PolicySet>();
}
