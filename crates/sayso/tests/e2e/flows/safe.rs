//! Nothing means yes by accident: not an earlier round's yes, not an answer to another flow, not a step that only seems to
//! have worked.

use super::{begin, flow, flows, gate, resume, write};
use crate::harness::{Backend, Space, Who, on_both};

on_both! {
    /// A yes is kept for the round it was given in. In the next one nobody is asked, or nobody answers: it is gone.
    fn a_yes_of_an_earlier_round_does_not_ship(space: &Space) {
        let text = "workflow: rounds\ninput: {round: {default: 0}, asks_last: {default: 1}}\nphases:\n  - name: look\n    \
                    run: echo looked\n    set: {round: state.round + 1, ok: approved, why: human.reason}\n    \
                    ask: {approval: Ship it?, if: state.round <= input.asks_last}\n    \
                    next: [{if: state.round < 2, to: look}, {to: ship}]\n    on_silence: ship\n  \
                    - name: ship\n    run: echo {{ state.ok }} > ok.txt\n";
        write(space, "rounds.yaml", text);
        let ok = || std::fs::read_to_string(space.path().join("ok.txt")).unwrap();
        // In the second round nobody is asked.
        begin(space, &["rounds.yaml", "--key", "unasked"]).exits(7);
        space.ann(&["approve", &gate(space), "go"]).ok();
        resume(space).exits(0);
        assert_eq!(ok(), "false\n");
        let state = flow(space)["state"]["state"].clone();
        assert_eq!((&state["ok"], &state["why"]), (&false.into(), &serde_json::Value::Null), "{state}");
        // In the second round nobody answers.
        begin(space, &["rounds.yaml", "--key", "silence", "--set", "asks_last=2"]).exits(7);
        space.ann(&["approve", &gate(space), "go"]).ok();
        resume(space).exits(7);
        space.ann(&["withdraw", &gate(space), "never mind"]).ok();
        std::fs::remove_file(space.path().join("ok.txt")).unwrap();
        resume(space).exits(0);
        assert_eq!(ok(), "false\n");
    }
}

on_both! {
    /// Two flows ask alike: each has its own card, and an answer leads one of them on.
    fn one_answer_decides_one_flow(space: &Space) {
        let text = "workflow: ask\nphases:\n  - name: which\n    ask: {FORM}\n  - name: ship\n    \
                    run: echo shipped >> shipped.txt\n";
        let shipped = || {
            let text = std::fs::read_to_string(space.path().join("shipped.txt")).unwrap_or_default();
            text.matches("shipped").count()
        };
        let forms = [
            ("approval: Ship it?", "approve", vec![]),
            ("text: What is it called?", "respond", vec!["one"]),
            ("choice: Which?, options: [a, b]", "choose", vec!["a"]),
        ];
        for (count, (form, verb, words)) in forms.into_iter().enumerate() {
            write(space, "ask.yaml", &text.replace("FORM", form));
            for _ in 0..2 {
                begin(space, &["ask.yaml"]).exits(7);
            }
            let inbox = space.ann(&["inbox", "--json"]).json();
            let cards = inbox["items"].as_array().unwrap();
            assert_eq!(cards.len(), 2, "{form}: {inbox}");
            let answer = |at: usize| {
                let card = cards[at]["handle"].as_str().unwrap();
                let args: Vec<_> = [verb, card].into_iter().chain(words.iter().copied()).collect();
                space.ann(&args).ok();
            };
            answer(0);
            assert_eq!(space.ann(&["inbox", "--json"]).json()["items"].as_array().unwrap().len(), 1, "{form}");
            resume(space);
            assert_eq!(shipped(), 2 * count + 1, "{form}");
            answer(1);
            resume(space);
            assert_eq!(shipped(), 2 * count + 2, "{form}");
        }
        space.verify();
    }
}

/// What a flow is about is cut with a mark: whoever reads the card sees that there is more.
#[test]
fn what_is_cut_is_marked() {
    let space = &Space::new(Backend::Sqlite);
    let text = "workflow: ask\ninput: {what: {}}\nphases: [{name: a, ask: {approval: Ship it?}}]\n";
    write(space, "ask.yaml", text);
    let long = format!("what={}and not on a Friday", "all of it ".repeat(20));
    begin(space, &["ask.yaml", "--set", &long]).exits(7);
    let shown = space.show(&gate(space));
    let about = shown["facts"].as_array().unwrap().iter().find(|fact| fact["name"] == "about");
    let about = about.unwrap()["value"].as_str().unwrap();
    assert!(about.contains("… (+") && about.chars().count() <= 100, "{about}");
}

/// A line that fails ends a command and a check; keeping its code is not looking at it.
#[test]
fn what_fails_in_the_middle_fails() {
    let space = &Space::new(Backend::Sqlite);
    let table = [
        ("run: \"false\\ntouch done.txt\"", 1, "it ended with 1"),
        ("run: echo x, check: [{passes: \"false\\ntouch done.txt\"}]", 1, "it ended with 1"),
        ("run: exit 4, set: {code: output.code}", 1, "it ended with 4"),
        ("run: echo x, check: [{file: '{{ input.name }}'}]", 1, "names no file"),
        ("run: exit 4, next: [{if: output.code == 4, to: end}, {to: a}]", 0, "done"),
        ("run: \"false || true\\necho end\"", 0, "done"),
    ];
    let count = table.len();
    for (at, (phase, exit, says)) in table.into_iter().enumerate() {
        let text = format!(
            "workflow: w\ninput: {{name: {{default: ''}}}}\nphases: [{{name: a, {phase}}}]\n"
        );
        write(space, "w.yaml", &text);
        begin(space, &["w.yaml", "--key", &at.to_string()]).says(says).exits(exit);
    }
    assert_eq!(flows(space).len(), count);
    assert!(!space.path().join("done.txt").exists());
}

/// What is typed at a text prompt and begins like a no is never an answer.
#[test]
fn a_mistyped_no_is_no_answer() {
    use std::io::Write;
    let space = &Space::new(Backend::Sqlite);
    write(space, "ask.yaml", "workflow: ask\nphases: [{name: a, ask: {text: What next?}}]\n");
    let mut child = space.start(Who::Terminal, &["flow", "run", "ask.yaml"]);
    let gate = crate::worker::budgets::until(|| {
        let inbox = space.ann(&["inbox", "--json"]).json();
        inbox["items"][0]["handle"].as_str().map(str::to_owned)
    });
    crate::worker::budgets::until(|| {
        space.show(&gate)["seen"].as_array().filter(|seen| !seen.is_empty()).cloned()
    });
    child
        .stdin
        .as_mut()
        .unwrap()
        .write_all(b"/rejct it is too late\n/Reject it is too late\n")
        .unwrap();
    let ran = crate::harness::Ran::of(&child.wait_with_output().unwrap());
    ran.says("/reject WHY").says("it is too late").exits(8);
    assert_eq!(space.show(&gate)["verdict"], "rejected");
}

/// An option is picked by its name in other capitals, here as at a prompt.
#[test]
fn an_option_is_picked_in_other_capitals() {
    let space = &Space::new(Backend::Sqlite);
    write(
        space,
        "ask.yaml",
        "workflow: ask\nphases: [{name: a, ask: {choice: How?, options: [Split it, Go on]}}]\n",
    );
    begin(space, &["ask.yaml"]).exits(7);
    space.ann(&["choose", &gate(space), "split"]).refused("SAY008");
    space.ann(&["choose", &gate(space), "split it"]).ok();
    resume(space).exits(0);
}

/// A circle that asks nobody ends as stuck, and says so.
#[test]
fn a_circle_without_people_is_stuck() {
    let space = &Space::new(Backend::Sqlite);
    let text = "workflow: circle\nphases:\n  - name: a\n    run: \"true\"\n    each: '[]'\n    \
                next: [{if: size(output.items) > 0, to: end}, {to: a}]\n";
    write(space, "circle.yaml", text);
    begin(space, &["circle.yaml"]).says("1000 phases without asking anybody").exits(1);
    assert_eq!(flow(space)["standing"], "stuck");
}
