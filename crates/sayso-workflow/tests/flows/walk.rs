//! What a flow is told on its way.

use crate::read;
use sayso_core::{Answer, AnswerShape, Verdict};
use sayso_engine::StepCheck;
use sayso_workflow::file::{
    AnswerState, ExpressionScope, HumanAnswer, PhaseExit, QuestionRecipient, SetTiming, gathered,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::process::Command;

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn yes() -> AnswerState {
    AnswerState::Answered(HumanAnswer::of(&Answer::approved(), "ann"))
}

fn no() -> AnswerState {
    AnswerState::Answered(HumanAnswer::of(&Answer::rejected(Some("not yet".into())), "ann"))
}

fn picked(name: &str) -> AnswerState {
    AnswerState::Answered(HumanAnswer::of(&Answer::choice(vec![name.into()], None), "ann"))
}

fn to(name: &str) -> PhaseExit {
    PhaseExit::Phase(name.into())
}

/// A no goes nowhere by accident, and no answer is not an answer.
#[test]
fn where_a_flow_goes_on() {
    let phase = |rest: &str| {
        format!(
            "workflow: w\nphases:\n  - {{name: z, run: x, next: [{{if: output.code == 1, to: b}}, \
             {{if: output.code == 2, to: c}}, {{if: output.code == 3, to: d}}, {{to: a}}]}}\n  \
             - {{name: a, run: x, {rest}}}\n  - {{name: b, run: x}}\n  - {{name: c, run: x}}\n  \
             - {{name: d, run: x}}\n"
        )
    };
    let ask = "ask: {approval: Go?, if: output.code < 5}";
    let table: &[(&str, AnswerState, PhaseExit)] = &[
        // Without a word, the one below; a no ends it, silence fails it.
        (ask, AnswerState::NotAsked, to("b")),
        (ask, yes(), to("b")),
        (ask, no(), PhaseExit::Rejected),
        (ask, AnswerState::Silence, PhaseExit::Unanswered),
        // A plain `next` is for a yes.
        ("next: c, ask: {approval: Go?}", yes(), to("c")),
        ("next: c, ask: {approval: Go?}", no(), PhaseExit::Rejected),
        ("end: true, ask: {approval: Go?}", yes(), PhaseExit::End),
        ("end: true, ask: {approval: Go?}", no(), PhaseExit::Rejected),
        // Said where it leads.
        ("on_reject: c, on_silence: d, ask: {approval: Go?}", no(), to("c")),
        ("on_reject: c, on_silence: d, ask: {approval: Go?}", AnswerState::Silence, to("d")),
        // Branches that look at the answer.
        ("next: [{if: approved, to: b}, {to: c}], ask: {approval: Go?}", yes(), to("b")),
        ("next: [{if: approved, to: b}, {to: c}], ask: {approval: Go?}", no(), to("c")),
        (
            "next: [{if: approved, to: b}, {to: c}], ask: {approval: Go?}",
            AnswerState::Silence,
            PhaseExit::Unanswered,
        ),
        (
            "next: [{if: 'human.verdict == \"rejected\"', to: c}, {to: b}], ask: {approval: Go?}",
            no(),
            to("c"),
        ),
        // One that does not look at it does not count after a no, wherever it stands.
        (
            "next: [{if: output.code == 0, to: b}, {to: c}], ask: {approval: Go?}",
            no(),
            PhaseExit::Rejected,
        ),
        (
            "next: [{if: output.code == 0, to: b}, {if: approved, to: d}, {to: c}], ask: {approval: Go?}",
            no(),
            to("c"),
        ),
        (
            "next: [{if: output.code == 0, to: b}, {if: approved, to: d}, {to: c}], ask: {approval: Go?}",
            yes(),
            to("b"),
        ),
        // Declining to choose is not the last option.
        (
            "next: [{if: 'human.value == \"Fast\"', to: b}, {to: c}], ask: {choice: How?, options: [Fast, Slow]}",
            picked("Fast"),
            to("b"),
        ),
        (
            "next: [{if: 'human.value == \"Fast\"', to: b}, {to: c}], ask: {choice: How?, options: [Fast, Slow]}",
            picked("Slow"),
            to("c"),
        ),
        (
            "next: [{if: 'human.value == \"Fast\"', to: b}, {to: c}], ask: {choice: How?, options: [Fast, Slow]}",
            no(),
            PhaseExit::Rejected,
        ),
        // Whether somebody was asked says nothing of what they said.
        (
            "next: [{if: human == null, to: b}, {to: c}], ask: {approval: Go?, if: output.code > 5}",
            no(),
            PhaseExit::Rejected,
        ),
        (
            "next: [{if: '!asked', to: b}, {to: c}], ask: {approval: Go?, if: output.code > 5}",
            no(),
            PhaseExit::Rejected,
        ),
        // Nobody asked is nobody's yes.
        (
            "next: [{if: approved, to: b}, {to: c}], ask: {approval: Go?, if: output.code > 5}",
            AnswerState::NotAsked,
            to("c"),
        ),
        (
            "next: [{if: '!asked || approved', to: b}, {to: c}], ask: {approval: Go?, if: output.code > 5}",
            AnswerState::NotAsked,
            to("b"),
        ),
    ];
    for (rest, heard, expected) in table {
        let flow = read(&phase(rest));
        let scope = ExpressionScope {
            output: Some(json!({"code": 0})),
            heard: heard.clone(),
            ..ExpressionScope::default()
        };
        assert_eq!(flow.phase("a").unwrap().next(&scope).unwrap(), *expected, "{rest} {heard:?}");
    }
}

#[test]
fn what_cannot_be_computed_is_an_error_and_never_a_way() {
    let flow = read(
        "workflow: w\nphases:\n  - name: a\n    run: x\n    ask: {if: output.json.sure < 1, approval: Go?}\n    \
         next: [{if: output.json.sure < 1, to: end}, {if: output.code, to: end}, {to: end}]\n    \
         set: {x: output.json.sure}\n",
    );
    let phase = flow.first();
    let scope =
        |output: Value| ExpressionScope { output: Some(output), ..ExpressionScope::default() };
    let plain = scope(json!({"text": "", "code": 0}));
    for (what, error) in [
        ("ask", phase.is_asked(&plain).map(|_| ()).unwrap_err()),
        ("next", phase.next(&plain).map(|_| ()).unwrap_err()),
        ("set", phase.apply_set(&plain, SetTiming::Done).map(|_| ()).unwrap_err()),
    ] {
        assert!(error.line >= 3, "{what}: {error}");
    }
    let unsure = scope(json!({"code": 1, "json": {"sure": 2}}));
    assert!(phase.next(&unsure).is_err(), "a number is neither true nor false");
}

/// A no takes only what was written for it; where nothing was, it ends the flow.
#[test]
fn a_no_goes_only_where_it_is_meant_to() {
    let phase = |rest: &str| {
        read(&format!(
            "workflow: w\ninput: {{big: {{default: false}}}}\nphases:\n  - {{name: a, run: x, ask: {{approval: Go?}}, \
             {rest}}}\n  - {{name: b, run: x}}\n  - {{name: c, run: x}}\n  - {{name: d, run: x}}\n"
        ))
    };
    let to = |name: &str| PhaseExit::Phase(name.into());
    let both = "next: [{if: approved && input.big, to: b}, {to: c}], on_reject: d";
    let split = "next: [{if: approved && input.big, to: b}, {if: approved, to: d}]";
    let mixed = "next: [{if: input.big, to: b}, {if: '!approved && input.big', to: d}, {to: c}], on_reject: d";
    let mut checked = 0;
    for (rest, big, said, expected) in [
        (both, true, yes(), to("b")),
        (both, false, yes(), to("c")),
        (both, true, no(), to("d")),
        (both, false, no(), to("d")),
        (split, true, yes(), to("b")),
        (split, false, yes(), to("d")),
        (split, true, no(), PhaseExit::Rejected),
        (mixed, true, yes(), to("b")),
        (mixed, false, no(), to("d")),
        (
            "next: [{if: '!approved && input.big', to: d}, {if: approved, to: b}, {to: c}]",
            false,
            no(),
            to("c"),
        ),
    ] {
        let flow = phase(rest);
        let mut scope = ExpressionScope {
            output: Some(json!({"code": 0})),
            heard: said,
            ..ExpressionScope::default()
        };
        scope.input.insert("big".into(), json!(big));
        assert_eq!(flow.first().next(&scope).unwrap(), expected, "{rest} {big}");
        checked += 1;
    }
    assert_eq!(checked, 10);
}

/// Who looks at an answer where nobody was asked is told what to look at.
#[test]
fn a_condition_without_an_answer_names_asked() {
    let flow = read(
        "workflow: w\nphases:\n  - {name: a, run: x, ask: {text: What?, if: output.code > 5}, \
         next: [{if: 'asked == (human.value == \"x\")', to: end}, {to: end}]}\n",
    );
    let scope = ExpressionScope { output: Some(json!({"code": 0})), ..ExpressionScope::default() };
    let error = flow.first().next(&scope).unwrap_err().to_string();
    assert!(error.contains("look at `asked` first"), "{error}");
}

#[test]
fn the_state_is_set_when_there_is_something_to_set() {
    let flow = read(
        "workflow: w\ninput: {n: {default: 0}, said: {default: nothing}}\nphases:\n  - name: a\n    run: x\n    \
         ask: {text: What?, if: state.n > 0}\n    set: {n: state.n + 1, said: human.text, yes: approved, \
         was: asked, more: 'human.text == \"more\"'}\n",
    );
    let phase = flow.first();
    let mut scope = ExpressionScope::begin(flow.input_from(&BTreeMap::new()).unwrap());
    scope.output = Some(json!({}));
    scope.state = phase.apply_set(&scope, SetTiming::Done).unwrap();
    assert_eq!(scope.state, map(json!({"n": 1, "said": "nothing"})));
    assert!(phase.is_asked(&scope).unwrap());
    scope.heard = AnswerState::Answered(HumanAnswer::of(&Answer::text("more"), "ann"));
    scope.state = phase.apply_set(&scope, SetTiming::Heard).unwrap();
    let heard = json!({"n": 1, "said": "more", "yes": false, "was": true, "more": true});
    assert_eq!(scope.state, map(heard));
    // A text is answered and not approved. In a later round nobody says anything: nothing of this one stands for it.
    for (heard, was) in [(AnswerState::NotAsked, false), (AnswerState::Silence, true)] {
        let quiet = ExpressionScope { heard, ..scope.clone() };
        let after = phase.apply_set(&quiet, SetTiming::Heard).unwrap();
        let nothing = json!({"n": 1, "said": null, "yes": false, "was": was, "more": null});
        assert_eq!(after, map(nothing));
    }
}

/// What names the answer may be missing without one; anything else that cannot be computed is still an error.
#[test]
fn without_an_answer_only_what_looks_into_it_is_nothing() {
    let flow = read(
        "workflow: w\nphases:\n  - name: a\n    run: x\n    ask: {approval: Go?}\n    on_silence: end\n    \
         set: {ok: 'approved || output.json.fine', why: human.reason}\n",
    );
    let scope = ExpressionScope {
        output: Some(json!({})),
        heard: AnswerState::Silence,
        ..ExpressionScope::default()
    };
    assert!(flow.first().apply_set(&scope, SetTiming::Heard).is_err());
    let output = Some(json!({"json": {"fine": false}}));
    let state =
        flow.first().apply_set(&ExpressionScope { output, ..scope }, SetTiming::Heard).unwrap();
    assert_eq!(state, map(json!({"ok": false, "why": null})));
}

#[test]
fn questions_are_made_of_what_the_step_gave() {
    let flow = read(
        "workflow: w\nphases:\n  - name: a\n    run: x\n    ask:\n      choice: \"{{ output.json.q }} \
         ({{ output.code }})\"\n      context: \"{{ output.text }}\"\n      options: output.json.options\n      \
         multi: true\n      other: true\n      to: [ann, group:leads, '@owners']\n      risk: high\n      deadline: 2d\n",
    );
    let ask = |options: Value| {
        let output =
            json!({"text": "long", "code": 0, "json": {"q": "Which?", "options": options}});
        let scope = ExpressionScope { output: Some(output), ..ExpressionScope::default() };
        flow.first().question(&scope)
    };
    let question = ask(json!(["A", {"name": "B", "consequence": "later"}])).unwrap().unwrap();
    assert_eq!((question.text.as_str(), question.context.as_str()), ("Which? (0)", "long"));
    let AnswerShape::Choice { options, multi: true, other: true } = &question.shape else {
        panic!()
    };
    assert_eq!((options[0].name.as_str(), options[1].consequence.as_str()), ("A", "later"));
    let to = [
        QuestionRecipient::Person("ann".into()),
        QuestionRecipient::Group("leads".into()),
        QuestionRecipient::Group("owners".into()),
    ];
    assert_eq!((question.to.as_slice(), question.deadline_ms), (&to[..], Some(172_800_000)));
    for wrong in [json!([]), json!(["A", "A"]), json!("A"), json!([{"x": 1}]), json!(null)] {
        assert!(ask(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn a_step_is_done_for_each_item() {
    let flow = read(
        "workflow: w\ninput: {chapters: {default: [one, two]}}\nphases:\n  - name: a\n    \
         each: state.chapters\n    prompt: \"Write {{ item }}.\"\n    check: [{file: \"{{ item }}.md\"}]\n    \
         set: {all: output.text, count: size(output.items)}\n",
    );
    let phase = flow.first();
    let mut scope = ExpressionScope::begin(flow.input_from(&BTreeMap::new()).unwrap());
    let items = phase.items(&scope).unwrap().unwrap();
    let told: Vec<_> = items
        .iter()
        .map(|item| phase.prompt(&scope.with_item(item.clone())).unwrap().unwrap())
        .collect();
    assert_eq!(told, ["Write one.", "Write two."]);
    let checks = phase.step_checks(&scope.with_item(items[1].clone())).unwrap();
    assert_eq!(checks, [StepCheck::File("two.md".into())]);
    scope.output = Some(gathered(vec![json!({"text": "1"}), json!({"text": "2"})]));
    let state = phase.apply_set(&scope, SetTiming::Done).unwrap();
    assert_eq!((&state["all"], &state["count"]), (&json!("1\n2"), &json!(2)));
    scope.state.insert("chapters".into(), json!("one"));
    assert!(phase.items(&scope).is_err());
}

/// Whatever a value holds, the shell takes it as one value, wherever it stands.
#[test]
fn no_value_becomes_a_part_of_a_command() {
    let flow = read(
        "workflow: w\ninput: {v: }\nphases:\n  - name: a\n    run: |\n      # It's a comment.\n      \
         printf '%s|' {{ input.v }} \"{{ input.v }}\" \"$(printf '%s' {{ input.v }})\" a{{ input.v }}b\n",
    );
    let hostile = [
        "plain",
        "",
        "two  words",
        "$(touch owned)",
        "`touch owned`",
        "'; touch owned; '",
        "\"; touch owned; \"",
        "a\ntouch owned",
        "*",
        "-n",
        "${HOME}",
        "\\",
        "ünï",
        "# x",
    ];
    let folder = tempfile::tempdir().unwrap();
    for value in hostile {
        let scope = ExpressionScope::begin(map(json!({"v": value})));
        let shell = flow.first().command(&scope).unwrap().unwrap();
        assert!(
            value.is_empty()
                || value == "-n"
                || value == "*"
                || value == "\\"
                || !shell.line.contains(value),
            "{}",
            shell.line
        );
        let output = Command::new("sh")
            .arg("-c")
            .arg(&shell.line)
            .envs(shell.variables)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed, format!("{value}|{value}|{value}|a{value}b|"), "{value:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{value:?} ran something");
    }
    let scope = ExpressionScope::begin(map(json!({"v": "a\0b"})));
    assert!(flow.first().command(&scope).is_err());
    let scope = ExpressionScope::begin(map(json!({"v": null})));
    assert!(flow.first().command(&scope).is_err(), "nothing is not an empty text");
}

#[test]
fn what_a_flow_is_started_with() {
    let flow = read(
        "workflow: w\ninput: {topic: {about: What about.}, n: {default: 3}, list: {default: [a]}, on: {default: true}}\n\
         phases: [{name: a, run: 'x {{ input.topic }}'}]\n",
    );
    let from = |given: &[(&str, &str)]| {
        flow.input_from(&given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    };
    let whole = from(&[("topic", "3"), ("n", "5"), ("list", "[\"x\"]")]).unwrap();
    assert_eq!(whole, map(json!({"topic": "3", "n": 5, "list": ["x"], "on": true})));
    let wrong = from(&[("topik", "x"), ("n", "many"), ("list", "a"), ("on", "yes")]).unwrap_err();
    assert_eq!(wrong.len(), 5, "{wrong:?}");
    assert!(wrong[0].contains("did you mean `topic`?"), "{wrong:?}");
    assert!(wrong.iter().any(|w| w.contains("`topic` is missing (What about.)")), "{wrong:?}");
}

/// An option that means no goes where a no goes; any other is an answer and no yes.
#[test]
fn an_option_that_means_no_takes_the_way_of_a_no() {
    let flow = read(
        "workflow: w\nphases:\n  - {name: a, ask: {choice: Where?, options: [one, {name: nowhere, declines: true}]}, \
         next: b, on_reject: c}\n  - {name: b, run: x, end: true}\n  - {name: c, run: x, end: true}\n",
    );
    let phase = flow.first();
    let shape = phase.question(&ExpressionScope::default()).unwrap().unwrap().shape;
    let heard = |picked: &str| {
        let answer = Answer::choice(vec![picked.into()], None).with_verdict_for(&shape);
        ExpressionScope {
            heard: AnswerState::Answered(HumanAnswer::of(&answer, "ann")),
            ..ExpressionScope::default()
        }
    };
    assert_eq!(phase.next(&heard("one")).unwrap(), to("b"));
    assert_eq!(phase.next(&heard("nowhere")).unwrap(), to("c"));
    let AnswerState::Answered(human) = heard("one").heard else { panic!("nobody answered") };
    assert!(!human.approved() && !human.rejected());
    let AnswerState::Answered(human) = heard("nowhere").heard else { panic!("nobody answered") };
    assert_eq!((human.verdict, human.value), (Verdict::Rejected, json!("nowhere")));
}
