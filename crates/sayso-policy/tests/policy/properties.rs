//! What must hold of any policy and any request.

use proptest::prelude::*;
use sayso_policy::{
    AskDemands, DecidedRequest, Policy, PolicyEffect, PolicyLayer, PolicyPreset, PolicyRequest,
    PolicySet, RecordedRequest, suggest,
};
use serde_json::json;
use std::collections::BTreeSet;

const PEOPLE: [&str; 4] = ["ann", "bob", "cid", "dan"];

fn one_of(all: &[&'static str]) -> impl Strategy<Value = &'static str> + use<> {
    prop::sample::select(all.to_vec())
}

/// An ask, as YAML.
fn terms() -> impl Strategy<Value = String> {
    let of = one_of(&[
        "anyone",
        "ann",
        "@all",
        "2 of @all",
        "ann and bob",
        "ann or cid",
        "2 of (bob, cid, dan)",
        "all of @all",
    ]);
    let rest = one_of(&[
        "",
        ", proof: passphrase",
        ", risk: high, not_launcher: true",
        ", risk: low, veto: bob",
        ", deadline: 2h, at_end: keep",
        ", deadline: 4h, at_end: defer, remind: [1h], escalate: [{after: 1h, of: dan}]",
        ", deadline: 3h, escalate: [{after: 1h, of: '@all'}, {after: 2h, of: ann}], at_end: escalate",
        ", risk: low, deadline: 1h, at_end: approve",
    ]);
    (of, rest).prop_map(|(of, rest)| format!("{{of: '{of}'{rest}}}"))
}

fn rule() -> impl Strategy<Value = String> {
    let on = one_of(&[
        "on: tool",
        "on: tool, match: {tool: Bash}",
        "on: tool, match: {tool: '*', path: 'src/**'}",
        "on: tool, match: {command: 'git push *'}",
        "on: tool, match: {command: ['ls *', 'git status *']}",
        "on: tool, match: {command: 'git *'}, unless: {command: 'git status'}",
        "on: transition, match: {to: closed}",
        "on: transition, match: {from: open}, unless: {to: closed}",
        "on: lifecycle, match: {action: spawn}",
        "on: result",
        "on: ask, match: {kind: review}",
        "on: ask",
    ]);
    let when = one_of(&[
        "",
        "",
        ", when: task.priority < 2",
        ", when: 'has(task.priority) && task.priority < 2'",
        ", when: tool.clear",
    ]);
    let then = prop_oneof![
        Just(", then: allow".to_owned()),
        Just(", then: deny".to_owned()),
        terms().prop_map(|terms| format!(", then: ask, ask: {terms}")),
    ];
    (on, when, then).prop_map(|(on, when, then)| format!("{on}{when}{then}"))
}

fn policy() -> impl Strategy<Value = (PolicyLayer, String)> {
    let layer = prop_oneof![
        Just(PolicyLayer::Floor),
        Just(PolicyLayer::Admin),
        Just(PolicyLayer::Space),
        Just(PolicyLayer::Agent("rex".into())),
        Just(PolicyLayer::Task("t1".into())),
    ];
    let otherwise = one_of(&["{}", "{tool: ask}", "{tool: deny, transition: ask}", "{ask: deny}"]);
    (layer, otherwise, terms(), prop::collection::vec(rule(), 0..5)).prop_map(
        |(layer, otherwise, terms, mut rules)| {
            // What a check would refuse is left out, rule by rule.
            let mut terms = terms;
            loop {
                let listed: String = rules
                    .iter()
                    .enumerate()
                    .map(|(n, rule)| format!("  - {{name: r{n}, {rule}}}\n"))
                    .collect();
                let text = format!(
                    "groups: {{all: [ann, bob, cid, dan]}}\notherwise: {otherwise}\nask: {terms}\nrules:\n{listed}"
                );
                if Policy::parse(layer.clone(), "p", &text).is_ok() {
                    return (layer, text);
                }
                if rules.pop().is_none() {
                    terms = "{of: anyone}".into();
                }
            }
        },
    )
}

fn request() -> impl Strategy<Value = PolicyRequest> {
    let subject = prop::sample::select(vec![
        json!({"on": "tool", "tool": "Bash", "command": "git status"}),
        json!({"on": "tool", "tool": "Bash", "command": "ls; git push"}),
        json!({"on": "tool", "tool": "Bash", "command": "git push > src/x"}),
        json!({"on": "tool", "tool": "Bash", "command": "eval $X"}),
        json!({"on": "tool", "tool": "Bash", "command": "ls && git $X"}),
        json!({"on": "tool", "tool": "Write", "paths": ["src/a"]}),
        json!({"on": "tool", "tool": "Write", "paths": ["src/a", "b"]}),
        json!({"on": "transition", "from": "open", "to": "closed"}),
        json!({"on": "transition", "from": "open", "to": "blocked"}),
        json!({"on": "lifecycle", "action": "spawn", "target": "rex"}),
        json!({"on": "result", "outcome": "completed"}),
        json!({"on": "ask", "kind": "review"}),
    ]);
    (subject, prop::option::of(0..5u8), any::<bool>()).prop_map(|(mut value, priority, is_rex)| {
        if let Some(priority) = priority {
            value["task"] = json!({"handle": "t1", "priority": priority});
        }
        value["agent"] = json!(if is_rex { "rex" } else { "max" });
        serde_json::from_value(value).unwrap()
    })
}

fn policies(texts: &[(PolicyLayer, String)]) -> PolicySet {
    let parse = |(layer, text): &(PolicyLayer, String)| {
        Policy::parse(layer.clone(), "p", text).unwrap_or_else(|m| panic!("{m:#?}"))
    };
    PolicySet::new(texts.iter().map(parse).collect())
}

/// Every group of people whose yes satisfies the later demands satisfied the earlier ones, at any
/// time; and nothing else got easier.
fn is_not_weaker(before: &AskDemands, after: &AskDemands) -> Result<(), String> {
    const HOUR: u64 = 3_600_000;
    for ms in [0, HOUR - 1, HOUR, HOUR * 2, HOUR * 3, HOUR * 100] {
        for bits in 0..16u8 {
            let yes: BTreeSet<&str> =
                (0..4).filter(|n| bits & (1 << n) != 0).map(|n| PEOPLE[n]).collect();
            if after.approvers_after(ms).satisfied_by(&yes)
                && !before.approvers_after(ms).satisfied_by(&yes)
            {
                return Err(format!("after {ms} ms {yes:?} suffices now"));
            }
        }
    }
    let ends = |demands: &AskDemands| demands.deadline_ms.unwrap_or(u64::MAX);
    let checks = [
        ("veto", before.veto.is_subset(&after.veto)),
        ("launcher", !before.not_launcher || after.not_launcher),
        ("proof", before.proof <= after.proof),
        ("risk", before.risk <= after.risk),
        ("deadline", ends(after) <= ends(before)),
        ("end", before.at_end <= after.at_end),
        ("silence", !after.may_approve_by_silence() || before.may_approve_by_silence()),
    ];
    match checks.iter().find(|(_, holds)| !holds) {
        Some((what, _)) => Err((*what).to_owned()),
        None => Ok(()),
    }
}

fn cautious() -> PolicySet {
    policies(&[(PolicyLayer::Space, PolicyPreset::Cautious.text().to_owned())])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn a_further_layer_never_makes_a_ruling_weaker(
        texts in prop::collection::vec(policy(), 0..4),
        added in policy(),
        request in request(),
    ) {
        let before = policies(&texts);
        let mut more = texts.clone();
        more.push(added);
        let after = policies(&more);
        let (before, after) = (before.ruling(&request), after.ruling(&request));
        prop_assert!(before.effect <= after.effect, "{before:#?} {after:#?}");
        if let (Some(before), Some(after)) = (&before.demands, &after.demands) {
            let weaker = is_not_weaker(before, after);
            prop_assert!(weaker.is_ok(), "{weaker:?} {before:#?} {after:#?}");
        }
    }

    #[test]
    fn an_explanation_says_what_the_ruling_says(
        texts in prop::collection::vec(policy(), 0..4),
        request in request(),
    ) {
        let policies = policies(&texts);
        let (ruling, explanation) = (policies.ruling(&request), policies.explain(&request));
        prop_assert_eq!(&ruling, &explanation.ruling);
        prop_assert_eq!(ruling.demands.is_some(), ruling.effect == PolicyEffect::Ask);
        let decided = explanation.looked.iter().filter(|looked| looked.decided).count();
        prop_assert!(decided >= ruling.because.len().min(1), "{:#?}", explanation);
        let silent = ruling.demands.as_ref().is_some_and(AskDemands::may_approve_by_silence);
        prop_assert_eq!(explanation.alarms.len(), usize::from(silent));
    }

    #[test]
    fn replaying_the_same_policies_changes_nothing(
        texts in prop::collection::vec(policy(), 0..4),
        requests in prop::collection::vec(request(), 1..20),
    ) {
        let (before, after) = (policies(&texts), policies(&texts));
        let count = requests.len();
        let recorded =
            requests.into_iter().map(|request| RecordedRequest { name: String::new(), request });
        let replay = after.replay(&before, recorded, 3);
        prop_assert_eq!(replay.looked, count as u64);
        prop_assert_eq!(replay.changed(), 0);
        prop_assert_eq!(before.digest(), after.digest());
    }

    #[test]
    fn more_in_a_line_never_keeps_a_yes(
        line in prop_oneof![
            "(ls|cat|git status)[ -~]{0,8}",
            prop::collection::vec(
                (one_of(&["ls -la", "cat 'a b'", "git status", "timeout 5 ls", "sh -c 'ls; pwd'", "pwd 2>&1",
                          "echo", "cat <<'E'\nx\nE\n", "ls \"$(pwd)\"", "if pwd; then ls; fi", "ls # x",
                          "for x in 1; do ls $x; done", "(ls; pwd)", "{ ls; }"]),
                 one_of(&["; ", " && ", " || ", " | ", "\n", " & "])),
                1..5,
            ).prop_map(|parts| {
                let joined: String = parts.iter().map(|(a, b)| format!("{a}{b}")).collect();
                let last = parts.last().map_or(0, |(_, b)| b.len());
                joined[..joined.len() - last].to_owned()
            }),
            prop::collection::vec(
                prop::sample::select(vec![
                    "ls", "cat a", "git status", " ", ";", "\n", "&&", "|", "'", "\"", "\\", "#", "(", ")",
                    "$(", "`", "<<E", "E", ">", "<", "&", "{", "}", "sh -c ", "'ls'", "timeout 5 ", "$",
                    "if ", "; then ", "; fi", "for x in ", "; do ", "; done", "! ", "=", "xargs ", "#x\n",
                ]),
                0..10,
            ).prop_map(|parts| parts.concat()),
        ],
    ) {
        let policies = cautious();
        let effect = |command: String| {
            let request = json!({"on": "tool", "tool": "Bash", "command": command});
            let request: PolicyRequest = serde_json::from_value(request).unwrap();
            policies.ruling(&request).effect
        };
        prop_assume!(effect(line.clone()) == PolicyEffect::Allow);
        for more in ["; rm -rf x", "\nrm -rf x", " && rm -rf x", " | rm -rf x", "$(rm -rf x)", "`rm -rf x`"] {
            prop_assert_ne!(effect(format!("{line}{more}")), PolicyEffect::Allow, "{:?}{:?}", line, more);
            let before = more.trim_start_matches([';', '\n', ' ', '&', '|']);
            prop_assert_ne!(effect(format!("{before}; {line}")), PolicyEffect::Allow, "{:?}{:?}", before, line);
        }
    }

    #[test]
    fn no_line_makes_a_ruling_panic(line in ".{0,60}") {
        let request = json!({"on": "tool", "tool": "Bash", "command": line});
        cautious().explain(&serde_json::from_value(request).unwrap());
    }
}

#[test]
fn replay_counts_and_shows_what_changes() {
    let text = |tool: &str, then: &str| {
        format!("rules: [{{name: r, on: tool, match: {{tool: {tool}}}, then: {then}}}]")
    };
    let one = policies(&[(PolicyLayer::Space, text("Read", "ask"))]);
    let two = policies(&[(PolicyLayer::Space, text("Write", "deny"))]);
    let recorded = (0..30).map(|n| {
        let tool = ["Read", "Write", "Glob"][n % 3];
        let request = serde_json::from_value(json!({"on": "tool", "tool": tool})).unwrap();
        RecordedRequest { name: format!("g{n}"), request }
    });
    let replay = two.replay(&one, recorded, 2);
    let lines: Vec<_> = replay
        .changes
        .iter()
        .map(|(change, changed)| {
            let names: Vec<_> = changed.examples.iter().map(|e| e.name.as_str()).collect();
            format!("{} -> {}: {} {names:?}", change.before, change.after, changed.count)
        })
        .collect();
    assert_eq!(
        lines,
        [
            r#"allow -> allow: 10 []"#,
            r#"allow -> deny: 10 ["g1", "g4"]"#,
            r#"ask -> allow: 10 ["g0", "g3"]"#,
        ]
    );
    assert_eq!((replay.looked, replay.changed()), (30, 20));
}

#[test]
fn suggestions_are_modest_and_can_be_used() {
    let decided =
        |value: serde_json::Value, approved: bool, asked_by: Option<&str>| DecidedRequest {
            request: serde_json::from_value(value).unwrap(),
            approved,
            by: "ann".into(),
            asked_by: asked_by.map(Into::into),
        };
    let bash = |command: &str, approved| {
        decided(json!({"on": "tool", "tool": "Bash", "command": command}), approved, None)
    };
    let mut history = vec![];
    for n in 0..6 {
        history.push(bash(&format!("cargo test -p a{n}"), true));
        history.push(bash("ls -la 'a *'", true));
        history.push(bash(&format!("rm x{n}"), true));
        history.push(bash("npm install", n != 3));
        history.push(bash("cargo doc > out", true));
        history.push(bash("eval $X", true));
        history.push(decided(
            json!({"on": "tool", "tool": "Write", "paths": [format!("docs/{n}.md")]}),
            true,
            None,
        ));
        history.push(decided(
            json!({"on": "transition", "from": "open", "to": "closed"}),
            true,
            None,
        ));
        history.push(decided(
            json!({"on": "tool", "tool": "Bash", "command": "git push origin wip"}),
            true,
            Some("pushes"),
        ));
        history.push(decided(json!({"on": "ask", "kind": "input"}), true, None));
    }
    let suggestions = suggest(history, 5);
    let said: String = suggestions
        .iter()
        .map(|s| format!("{} {:?}\n{}\n", s.approved, s.exception_of, s.rule))
        .collect();
    insta::assert_snapshot!(said);
    // What is suggested is a policy, and it allows what it came from.
    let rules: Vec<_> =
        suggestions.iter().filter(|s| s.exception_of.is_none()).map(|s| s.rule.clone()).collect();
    let text = format!("otherwise: {{tool: ask, transition: ask}}\nrules:\n{}\n", rules.join("\n"));
    let policies = policies(&[(PolicyLayer::Space, text)]);
    for (command, expected) in [
        ("cargo test -p b", PolicyEffect::Allow),
        ("ls -la 'a *'", PolicyEffect::Allow),
        ("ls -la 'a b'", PolicyEffect::Ask),
        ("rm x1", PolicyEffect::Ask),
        ("npm install", PolicyEffect::Ask),
    ] {
        let request =
            serde_json::from_value(json!({"on": "tool", "tool": "Bash", "command": command}))
                .unwrap();
        assert_eq!(policies.ruling(&request).effect, expected, "{command}");
    }
}
