//! What a file may say, and what is said of one that says something else.

use crate::{lines, parse, read};
use sayso_workflow::file::{FILE_BYTES_MAX, LoadError, PHASES_MAX, PhaseWork, WorkflowDefinition};
use std::os::unix::fs::symlink;

#[test]
fn all_mistakes_of_a_file_are_told_at_once_with_line_and_fix() {
    let text = r#"
workflow: two words
abuot: a typo
input:
  my-topic: {default: x}
  topic: {abuot: x}
phases:
  - name: plan
    promt: Plan it.
    prompt: "Plan {{ stat.topic }} and {{ state.topik }}."
    retries: many
    writes: [/etc/passwd, "docs/[", ../x]
    check:
      - file: ../../etc/passwd
      - file: a
        passes: b
      - pases: cargo test
    next: wirte
  - name: write
    run: echo '{{ state.topic }}' && echo $(({{ state.topic }} + 1))
    prompt: Write it.
    model: opus
    ask:
      choice: Which?
      schema: {type: object}
    on_reject: plan
    next:
      - {to: plan}
      - {if: "approved ==", to: end}
      - {if: size(human.valeu) > 0}
  - name: idle
  - name: pick
    ask:
      choice: Which?
      options: [Fast, Slow, Fast]
      risk: hihg
      deadline: soon
      to: ["ann and bob"]
      other: perhaps
  - name: plan
    run: "true"
    on_silence: end
    retries: 99
    set: {the-plan: output.text, x: human.value, y: len(state)}
  - name: end
    ask: {approval: "Go on, {{ item }}?", if: output.code > 0}
    next: plan
    end: true
  - name: open
    prompt: "It never {{ ends"
"#;
    insta::assert_snapshot!(lines(&parse(text).unwrap_err()));
}

#[test]
fn ways_that_lead_nowhere_are_mistakes() {
    let text = r#"
workflow: circles
phases:
  - name: first
    run: "true"
    next: second
  - name: second
    ask: {approval: Again?}
    next: [{if: approved, to: first}, {to: second}]
  - name: nobody-comes
    run: "true"
  - name: both
    ask: {approval: Go on?}
    next: [{if: approved, to: first}, {to: end}]
    on_reject: first
"#;
    insta::assert_snapshot!(lines(&parse(text).unwrap_err()), @r"
    flow.yaml:4: from the phase `first` no way leads to an end; add `end: true`, or a branch `to: end`
    flow.yaml:7: from the phase `second` no way leads to an end; add `end: true`, or a branch `to: end`
    flow.yaml:10: no way leads to the phase `nobody-comes`; lead to it with `next`, or drop it
    flow.yaml:12: `on_reject` is never used: `next` looks at the answer by itself; drop one of them
    flow.yaml:12: no way leads to the phase `both`; lead to it with `next`, or drop it
    ");
}

/// What says by itself what becomes of each answer needs no more.
#[test]
fn branches_that_leave_nothing_open_are_read() {
    let ask = "ask: {approval: a}";
    let maybe = "run: b, ask: {approval: a, if: output.code > 1}";
    for rest in [
        format!("{ask}, next: [{{if: approved, to: end}}, {{if: '!approved', to: end}}]"),
        format!("{ask}, next: [{{if: approved, to: end}}]"),
        format!("{ask}, next: [{{if: \"human.verdict == 'rejected'\", to: end}}, {{to: end}}]"),
        format!("{ask}, next: [{{if: \"human.verdict == 'approved'\", to: end}}, {{to: end}}]"),
        format!(
            "{ask}, next: [{{if: 'approved && state == {{}}', to: end}}, {{to: end}}], on_reject: end"
        ),
        format!(
            "{ask}, next: [{{if: 'approved && state == {{}}', to: end}}, {{if: approved, to: end}}]"
        ),
        format!("{ask}, next: [{{if: 'state == {{}} || approved', to: end}}, {{to: end}}]"),
        format!(
            "{ask}, next: [{{if: approved, to: end}}, {{if: 'state == {{}}', to: end}}, {{to: end}}]"
        ),
        format!("{maybe}, next: [{{if: '!asked || approved', to: end}}, {{to: end}}]"),
        format!(
            "{maybe}, next: [{{if: '!asked', to: end}}, {{if: \"human.value == 'x'\", to: end}}, {{to: end}}]"
        ),
        format!("{maybe}, next: [{{if: \"asked && human.value == 'x'\", to: end}}, {{to: end}}]"),
        format!(
            "{maybe}, next: [{{if: \"approved && human.value == 'x'\", to: end}}, {{if: '!asked || approved', to: end}}]"
        ),
        format!(
            "{maybe}, next: [{{if: \"has(output.json) && output.cut\", to: end}}, {{to: end}}]"
        ),
    ] {
        let text = format!("workflow: w\nphases:\n  - {{name: a, {rest}}}\n");
        if let Err(mistakes) = parse(&text) {
            panic!("{rest}\n{}", lines(&mistakes));
        }
    }
}

/// Also in texts of several lines, however they are written.
#[test]
fn a_mistake_in_a_long_text_has_its_own_line() {
    // A folded text has lost its lines: there it is the one it begins on.
    for (sign, line) in [("|", 6), ("|-", 6), (">", 5)] {
        let text = format!(
            "workflow: w\nphases:\n  - name: a\n    prompt: {sign}\n      One.\n      {{{{ stat }}}}\n\n      Three.\n"
        );
        let found = parse(&text).unwrap_err();
        assert_eq!(found[0].line, Some(line), "{sign} {}", lines(&found));
    }
}

/// What does not belong is a mistake wherever it stands: nothing is read over.
#[test]
fn each_of_these_is_a_mistake() {
    let phase = |rest: &str| format!("workflow: w\nphases:\n  - name: a\n    {rest}\n");
    let table = [
        ("", "needs a name"),
        ("workflow: w", "needs phases"),
        ("workflow: w\nphases: []", "needs phases"),
        ("workflow: [", "no YAML"),
        ("workflow: w\nsequence: ../x/*.md\nphases: [{name: a, run: b}]", "no sequence"),
    ];
    let phases = [
        ("prompt_file: x.md", "cannot be read"),
        ("run: ''", "is empty"),
        ("run: \"echo # {{ state }}\"", "comment"),
        ("check: [{file: x}]", "has none"),
        ("{run: b, check: [{file: .}]}", "names no file"),
        ("{run: b, check: [{file: docs/}]}", "names no file"),
        ("{run: b, check: [{file: ''}]}", "names no file"),
        ("ask: {}", "one form"),
        ("ask: {approval: a, text: b}", "one form"),
        ("ask: {approval: ' '}", "empty"),
        ("ask: {choice: a}", "needs options"),
        ("ask: {choice: a, options: []}", "needs options"),
        ("ask: {form: a}", "needs its schema"),
        ("ask: {form: a, schema: {type: nonsense}}", ""),
        ("ask: {approval: a, options: [x]}", "about a choice"),
        ("ask: {approval: a, deadline: 2 years}", "no length of time"),
        ("{prompt: a, each: state.x}", "`state.x` is not there"),
        ("{run: b, set: {x: item}}", "output.items"),
        ("{run: 'b {{ item }}'}", "add `each:`"),
        ("{run: 'b {{ output.text }}'}", "no output yet"),
        ("{run: b, ask: {approval: a, if: approved}}", "nobody has answered yet"),
        ("{run: b, next: [{if: 'approved', to: end}]}", "asks nobody"),
        (
            "{ask: {choice: a, options: [b, c]}, next: [{if: approved, to: end}, {to: end}]}",
            "and never `approved`",
        ),
        ("{ask: {choice: a, options: [{name: b, declines: true}]}}", "every option of the choice"),
        ("{ask: {choice: a, options: [{name: b, declines: ja}]}}", "`declines` is a text"),
        ("{run: b, retries: 21}", "0 to 20"),
        ("{run: b, set: {x: output.cod}}", "write `output.code`"),
        ("{prompt: b, set: {x: output.code}}", "`output` has text, cut, summary, confidence, json"),
        ("{run: b, each: '[1]', set: {x: output.json}}", "`output` has text, cut, items"),
        ("{run: b, next: [{if: output.code == 1, to: end}]}", "none of them holds"),
        (
            "{run: b, ask: {approval: a, if: output.code > 1}, next: [{if: approved, to: end}]}",
            "none of them holds",
        ),
        (
            "{ask: {approval: a}, next: [{if: 'approved && state == {}', to: end}, {to: end}]}",
            "both a yes and a no",
        ),
        (
            "{ask: {approval: a}, next: [{if: '!approved && state == {}', to: end}, {to: end}]}",
            "on_reject: PHASE",
        ),
        (
            "{run: b, ask: {text: a, if: output.code > 1}, next: [{if: 'human.value == \"x\"', to: end}, {to: end}]}",
            "`asked && `",
        ),
        ("{run: 'sh -c \"echo {{ state }}\"'}", "sh -c 'echo"),
        ("{run: \"cat <<'EOF'\\n{{ state }}\\nEOF\\n\"}", "without quotes"),
        ("{run: b, end: 'yes'}", "true"),
    ];
    let phases = phases.map(|(rest, expected)| (phase(rest), expected));
    let table = table.map(|(text, expected)| (text.to_owned(), expected));
    let mut checked = 0;
    for (text, expected) in table.into_iter().chain(phases) {
        // Phases in braces are one mapping.
        let text = match text.contains("name: a\n    {") {
            true => text.replace("- name: a\n    {", "- {name: a, "),
            false => text,
        };
        let Err(found) = parse(&text) else { panic!("this was read: {text}") };
        assert!(lines(&found).contains(expected), "{text}\n{}", lines(&found));
        assert!(found.iter().all(|mistake| !mistake.fix.is_empty()), "{text}");
        checked += 1;
    }
    assert_eq!(checked, 42);
}

/// Where a no or silence leads nowhere, its own line is told, and each name there is once.
#[test]
fn an_unknown_target_is_told_where_it_stands() {
    let text = "workflow: w\nphases:\n  - name: a\n    ask: {approval: Go?}\n    on_reject: zzzzzzzz\n    \
                on_silence: yyyyyyyy\n  - {name: a, run: x}\n";
    insta::assert_snapshot!(lines(&parse(text).unwrap_err()), @r"
    flow.yaml:5: `on_reject`: there is no phase `zzzzzzzz`; there are a, end
    flow.yaml:6: `on_silence`: there is no phase `yyyyyyyy`; there are a, end
    flow.yaml:7: the name `a` is taken by the phase on line 3; give each phase a name of its own
    ");
}

/// What is no YAML is told in the words of whoever wrote it.
#[test]
fn what_is_no_yaml_says_what_to_write() {
    let phase = "workflow: w\nphases:\n  - name: a\n";
    let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (name, of) in "bcdefgh".chars().zip("abcdefg".chars()) {
        bomb += &format!("{name}: &{name} [{}*{of}]\n", format!("*{of}, ").repeat(9));
    }
    let texts = [
        (format!("{phase}    prompt: {{{{ input.x }}}}\n"), Some(4), "`prompt: '{{ input.x }}'`"),
        (format!("{phase}    run: echo a: b\n"), Some(4), "`run: 'echo a: b'`"),
        (format!("{phase}    run: a\n    run: b\n"), Some(5), "`run` is there twice"),
        (format!("{phase}    run: a\n---\nworkflow: x\n"), None, "second document"),
        (format!("{phase}\trun: a\n"), None, "indent with blanks"),
        (format!("x: &x {{run: a}}\n{phase}    <<: *x\n"), None, "write its keys out"),
        (bomb, None, "unfolds"),
    ];
    let mut wrong = vec![];
    for (text, line, expected) in texts {
        let found = parse(&text).unwrap_err();
        if !lines(&found).contains(expected) || line.is_some_and(|line| found[0].line != Some(line))
        {
            wrong.push(format!("{expected}: {}", lines(&found)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn defaults_hold_where_a_phase_says_nothing() {
    let flow = read(
        "workflow: w\nagent: codex\nrole: design\nmodel: small\nphases:\n  \
         - {name: a, prompt: Do it.}\n  \
         - {name: b, prompt: Do it., agent: claude-code, role: code, model: big, retries: 4}\n  \
         - {name: c, run: make}\n  - {name: d, run: make, set: {code: output.code}}\n  \
         - {name: e, run: make, next: [{if: output.code == 1, to: end}, {to: f}]}\n  \
         - {name: f, run: make, ask: {approval: Go?, if: output.code > 0}}\n",
    );
    let of = |name: &str| flow.phase(name).unwrap();
    let who = |name: &str| {
        let phase = of(name);
        [&phase.agent, &phase.role, &phase.model].map(|word| word.clone().unwrap_or_default())
    };
    assert_eq!(who("a"), ["codex", "design", "small"]);
    assert_eq!(who("b"), ["claude-code", "code", "big"]);
    assert_eq!(who("c"), ["", "", ""]);
    let retries = ["a", "b", "c", "d"].map(|name| of(name).retries);
    assert_eq!(retries, [1, 4, 0, 0]);
    let any_code = |name: &str| matches!(of(name).work, PhaseWork::Run { any_code: true, .. });
    // Keeping a code decides nothing: only a condition takes a failure for a result.
    let any = ["c", "d", "e", "f"].map(any_code);
    assert_eq!(any, [false, false, true, true]);
}

#[test]
fn what_is_too_big_is_refused_in_a_moment() {
    let began = std::time::Instant::now();
    assert!(parse(&"x".repeat(FILE_BYTES_MAX + 1)).is_err());
    let phases: String =
        (0..=PHASES_MAX).map(|n| format!("  - {{name: p{n}, run: x}}\n")).collect();
    assert!(lines(&parse(&format!("workflow: w\nphases:\n{phases}")).unwrap_err()).contains("101"));
    let deep = format!("workflow: w\nphases: {}{}", "[".repeat(500), "]".repeat(500));
    assert!(parse(&deep).is_err());
    let nested = format!("{}state{}", "(".repeat(200), ")".repeat(200));
    assert!(
        parse(&format!("workflow: w\nphases: [{{name: a, run: x, each: '{nested}'}}]")).is_err()
    );
    assert!(began.elapsed().as_secs() < 5);
}

/// Prompts are read from beside the workflow, and from nowhere else.
#[test]
fn prompts_stay_in_the_folder_of_the_workflow() {
    let folder = tempfile::tempdir().unwrap();
    let (home, outside) = (folder.path().join("flows"), folder.path().join("secret.md"));
    std::fs::create_dir_all(home.join("prompts")).unwrap();
    std::fs::write(&outside, "secret").unwrap();
    std::fs::write(home.join("prompts/plan.md"), "Plan {{ input.topic }}.").unwrap();
    symlink(&outside, home.join("prompts/link.md")).unwrap();
    let load = |name: &str| {
        let path = home.join("flow.yaml");
        let text = format!(
            "workflow: w\ninput: {{topic: }}\nphases: [{{name: a, prompt_file: '{name}'}}]\n"
        );
        std::fs::write(&path, text).unwrap();
        WorkflowDefinition::load(&path)
    };
    let flow = load("prompts/plan.md").unwrap();
    assert_eq!(flow.prompts["prompts/plan.md"], "Plan {{ input.topic }}.");
    let again = WorkflowDefinition::parse_kept("flow.yaml", &flow.text, &flow.prompts).unwrap();
    assert_eq!(again.digest(), flow.digest());
    let absolute = outside.display().to_string();
    for name in [
        "../secret.md",
        "prompts/link.md",
        "prompts/../../secret.md",
        "prompts",
        "no.md",
        &absolute,
    ] {
        let Err(LoadError::Mistakes(found)) = load(name) else { panic!("{name} was read") };
        assert!(!lines(&found).contains("secret\n"), "{name}");
    }
    assert!(matches!(
        WorkflowDefinition::load(&home.join("none.yaml")),
        Err(LoadError::File { .. })
    ));
}

/// Whatever somebody makes of a file, it is read or refused; nothing falls over.
#[test]
fn a_file_that_was_damaged_is_read_or_refused() {
    let mut refused = 0;
    for name in ["pipeline.yaml", "refinement.yaml", "dynamic.yaml"] {
        let text = std::fs::read_to_string(crate::examples::folder().join(name)).unwrap();
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(13).collect();
        for (count, at) in places.into_iter().enumerate() {
            let sign = ["{{", "}}", "\"", "'", ": ", "- ", "\u{202e}", "\0", "é"][count % 9];
            let (before, after) = text.split_at(at);
            for damaged in [before.to_owned(), format!("{before}{sign}{after}")] {
                let kept = |_: &str| Ok("Plan {{ state }}.".to_owned());
                if let Err(mistakes) = WorkflowDefinition::parse(name, &damaged, &kept) {
                    assert!(!mistakes.is_empty(), "{damaged}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 200, "{refused}");
}
