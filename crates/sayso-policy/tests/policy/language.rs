//! The language of policies: what it takes, and how it says what is wrong.

use sayso_policy::{FileDiagnostic, KnownNames, Policy, PolicyLayer, PolicySet, RULES_MAX};
use std::collections::BTreeSet;

fn mistakes(layer: PolicyLayer, text: &str) -> Vec<FileDiagnostic> {
    Policy::parse(layer, "p.yaml", text).err().unwrap_or_default()
}

fn said(layer: PolicyLayer, text: &str) -> String {
    mistakes(layer, text).iter().map(|m| format!("{m}\n")).collect()
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once_with_line_and_fix() {
    let text = r#"groups:
  a: ["@b"]
  b: ["@a"]
  c: []
othrwise: {tool: ask}
otherwise: {tool: perhaps, ask: allow}
rules:
  - name: one
    on: tool
    match: {tol: Bash, command: "git push; ls", path: "a[", from: open}
    when: 'taks.priority < 2 && task.prio == 1 && foo(1) && history.day.askd > 1 && [1].exists(x, x > task.priority)'
    then: ask
    ask: {of: "ann, bob", veto: "2 of x", proof: token!, risk: hgh, deadline: soon, remind: [1h], at_end: approve}
  - name: one
    on: transition
    match: {kind: review}
    then: alow
  - on: ask
    match: {kind: aproval}
    then: allow
  - name: quick
    on: tool
    match: {tool: X}
    then: ask
    ask: {deadline: 1h, remind: [2h], escalate: [{after: 3h, of: ann}, {of: bob}], at_end: escalate}
  - name: how
    on: tool
    then: deny
    ask: {of: ann}
  - name: never
    on: lifecycle
    match: {action: spwan}
    when: 'false'
    then: deny
  - name: 5
    on: result
    when: '1 +'
    then: ask
    colour: red
tests:
  - {name: t, request: {on: tool}, expect: ask}
  - {name: t, request: {on: tool, tool: X}, expect: maybe, by: on}
"#;
    insta::assert_snapshot!(said(PolicyLayer::Space, text));
}

#[test]
fn rules_that_never_count_are_mistakes() {
    let text = r#"
otherwise: {transition: ask}
rules:
  - {name: no-push, on: tool, match: {tool: Bash, command: git push *}, then: deny}
  - {name: some-push, on: tool, match: {tool: Bash, command: git push origin *}, then: ask}
  - {name: idle, on: tool, match: {tool: Read}, then: allow}
  - {name: closing, on: transition, match: {to: closed}, then: ask}
  - {name: from-open, on: transition, match: {from: open, to: closed}, then: allow}
  - {name: fine, on: transition, match: {from: open, to: blocked}, then: allow}
  - {name: late, on: lifecycle, when: time.hour > 20, then: deny}
  - {name: early, on: lifecycle, when: time.hour < 8, then: ask}
"#;
    insta::assert_snapshot!(said(PolicyLayer::Space, text), @r"
    p.yaml:5: `some-push` is never reached: `no-push` on line 4 says deny to all of it; drop it, or give `no-push` an `unless`
    p.yaml:6: `idle` allows what is allowed anyway, so it never counts; add `otherwise: {tool: ask}`; for an exception from a rule that asks or denies, give that rule an `unless`
    p.yaml:8: `from-open` is never reached: `closing` on line 7 says ask to all of it; drop it, or give `closing` an `unless`
    ");
}

#[test]
fn silence_may_approve_only_low_risk_and_only_by_an_admin() {
    let rule = |risk: &str| {
        format!(
            "rules:\n  - name: r\n    on: tool\n    then: ask\n    ask: {{deadline: 1h, at_end: approve{risk}}}\n"
        )
    };
    assert_eq!(mistakes(PolicyLayer::Admin, &rule(", risk: low")), []);
    assert_eq!(mistakes(PolicyLayer::Admin, &rule("")).len(), 1);
    assert_eq!(mistakes(PolicyLayer::Admin, &rule(", risk: high")).len(), 1);
    for layer in [
        PolicyLayer::Floor,
        PolicyLayer::Space,
        PolicyLayer::Agent("a".into()),
        PolicyLayer::Task("t".into()),
    ] {
        assert_eq!(mistakes(layer.clone(), &rule(", risk: low")).len(), 1, "{layer}");
    }
    let question = rule(", risk: low").replace("on: tool", "on: ask");
    assert_eq!(mistakes(PolicyLayer::Admin, &question).len(), 1);
    let by_default = "ask: {deadline: 1h, at_end: approve, risk: low}";
    assert_eq!(mistakes(PolicyLayer::Space, by_default).len(), 1);
}

#[test]
fn everything_that_grows_is_bounded() {
    let rules: String = (0..=RULES_MAX)
        .map(|n| format!("  - {{name: r{n}, on: tool, match: {{tool: T{n}}}, then: deny}}\n"))
        .collect();
    let many = format!("rules:\n{rules}");
    assert!(said(PolicyLayer::Space, &many).contains("1001 rules, 1000 are allowed"));
    let fits = many.rsplit_once("  - {name: r1000").map(|(head, _)| head).unwrap_or_default();
    assert_eq!(said(PolicyLayer::Space, fits), "");
    let long = format!("# {}\nrules: []", "x".repeat(256 * 1024));
    assert!(said(PolicyLayer::Space, &long).contains("262144 are allowed"));
    let condition = format!("true || {}", "true || ".repeat(600) + "true");
    let text = format!("rules:\n  - {{name: r, on: tool, then: deny, when: '{condition}'}}");
    assert!(said(PolicyLayer::Space, &text).contains("longer than 4096 bytes"));
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
    assert!(said(PolicyLayer::Space, bomb).contains("no YAML that can be used"));
    assert!(said(PolicyLayer::Space, "rules: [").contains("no YAML that can be used"));
    assert!(
        said(PolicyLayer::Space, "rules:\n  - name: half\n    on: to").contains("needs `then`")
    );
}

#[test]
fn conditions_that_would_take_the_machine_down_are_mistakes() {
    let nasty = [
        "(".repeat(2_000) + "1" + &")".repeat(2_000),
        "[".repeat(4_000),
        "!".repeat(4_000) + "true",
        "-".repeat(4_000) + "1 == 1",
        "1 + ".repeat(1_000) + "1 == 1",
        "true ? true : ".repeat(280) + "true",
        "task".to_owned() + &".a".repeat(2_000) + " == 1",
        "task".to_owned() + &"[0]".repeat(1_300) + " == 1",
        "[1].exists(a, [1].exists(b, [1].exists(c, a == b && b == c)))".into(),
        "{".repeat(4_000),
        "size(".repeat(600) + "[]" + &")".repeat(600) + " == 1",
        "'a'".to_owned() + &".contains('a')".repeat(280),
    ];
    for condition in &nasty {
        let quoted = condition.replace('\'', "''");
        let text = format!("rules:\n  - {{name: r, on: tool, then: deny, when: '{quoted}'}}");
        let said = said(PolicyLayer::Space, &text);
        assert!(said.contains("the condition"), "{}… {said}", &condition[..30]);
        // Read without the check, it asks: see `rulings`.
        assert!(Policy::parse_again(PolicyLayer::Space, "p", &text).is_ok());
    }
    let wide = "true && ".repeat(500) + "true";
    let text = format!("rules:\n  - {{name: r, on: tool, then: deny, when: '{wide}'}}");
    let told = said(PolicyLayer::Space, &text);
    assert!(told.is_empty() || told.contains("nested too deeply"), "{told}");
}

#[test]
fn names_are_checked_against_the_world() {
    let admin = "groups: {owners: [ann]}\n";
    let space = r#"groups: {owners: [eve], security: ["@owner", cid], empty: ["@ghosts"]}
rules:
  - {name: a, on: transition, match: {from: review, to: "*"}, then: ask, ask: {of: "2 of @security and zoe"}}
  - {name: b, on: tool, match: {agent: rexx, role: coder}, then: ask, ask: {of: "3 of @security"}}
  - {name: c, on: lifecycle, match: {target: "r*"}, then: ask, ask: {veto: "@nobody", of: "@owners"}}
"#;
    let set = |names: &[&str]| Some(names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>());
    let known = KnownNames {
        people: set(&["ann", "cid", "dan"]),
        agents: set(&["rex"]),
        roles: set(&["code", "test"]),
        ..KnownNames::of_every_space()
    };
    let policies = PolicySet::new(vec![
        Policy::parse(PolicyLayer::Space, "space.yaml", space).unwrap(),
        Policy::parse(PolicyLayer::Admin, "admin.yaml", admin).unwrap(),
        Policy::parse(PolicyLayer::Agent("max".into()), "max.yaml", "rules: []").unwrap(),
    ]);
    let said: String = policies.check(&known).iter().map(|m| format!("{m}\n")).collect();
    insta::assert_snapshot!(said);
    assert_eq!(PolicySet::new(vec![]).check(&known), []);
}

#[test]
fn a_file_with_mistakes_is_checked_against_the_world_all_the_same() {
    let space = "groups: {a: [], b: [ann]}\nrules:\n  - {name: x, on: transition, match: {from: review}, then: akss}\n  - {name: y, on: transition, match: {to: done}, then: ask, ask: {of: '@c'}}\n";
    let rex = "rules:\n  - {name: z, on: tool, then: ask, ask: {of: '@b'}}\n";
    let files = |space| {
        [
            (PolicyLayer::Agent("rex".into()), "rex.yaml", rex),
            (PolicyLayer::Space, "space.yaml", space),
        ]
    };
    let said = |space| -> String {
        let found = sayso_policy::mistakes(files(space), &KnownNames::of_every_space());
        found.iter().map(|m| format!("{m}\n")).collect()
    };
    insta::assert_snapshot!(said(space), @r"
    space.yaml:1: the group `a` is an empty list; name one, or drop it
    space.yaml:3: `then` cannot be `akss`; write `ask`
    space.yaml:4: there is no status `done`; there are blocked, closed, deferred, deleted, failed, in_progress, open
    space.yaml:4: there is no group `@c`; write `@a`
    ");
    // What one file defines is not known while it cannot be read: nothing is guessed about the others.
    let torn = said("rules: [");
    assert!(torn.starts_with("space.yaml:1: this is no YAML"), "{torn}");
    assert_eq!(torn.lines().count(), 1, "{torn}");
}

#[test]
fn a_file_may_be_empty() {
    for text in ["", "# Nothing yet.\n", "rules:\n", "groups: {}\nrules: []\ntests: []\n"] {
        assert_eq!(said(PolicyLayer::Space, text), "", "{text:?}");
    }
    for text in ["[]", "a text", "5", "rules: 5", "rules: {a: b}", "tests: x", "groups: [a]"] {
        assert_ne!(said(PolicyLayer::Space, text), "", "{text:?}");
    }
}

#[test]
fn the_digest_names_what_counts() {
    let digest = |layer: PolicyLayer, file: &str, text: &str| {
        PolicySet::new(vec![Policy::parse(layer, file, text).unwrap()]).digest().clone()
    };
    let text = "rules:\n  - {name: r, on: tool, then: deny}\n";
    let same = "# A comment.\nrules:\n  - then: deny\n    name: r\n    on: tool\ntests: []\n";
    let other = "rules:\n  - {name: r, on: tool, then: ask}\n";
    let one = digest(PolicyLayer::Space, "a", text);
    assert_eq!(one, digest(PolicyLayer::Space, "b", same));
    assert_ne!(one, digest(PolicyLayer::Space, "a", other));
    assert_ne!(one, digest(PolicyLayer::Admin, "a", text));
}
