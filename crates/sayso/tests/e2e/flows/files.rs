//! Files with mistakes, files that change, pictures, and who may lead.

use super::{begin, example, flow, gate, resume, write};
use crate::harness::{Backend, Space, Who, everywhere};

const ASKS: &str = "workflow: ask\nphases:\n  - name: build\n    run: echo built > built.txt; cat built.txt\n    \
                    ask: {approval: Ship it?}\n  - name: ship\n    run: echo shipped > shipped.txt\n";

#[test]
fn mistakes_are_told_at_once_with_line_and_fix() {
    let space = &Space::new(Backend::Sqlite);
    let text = "workflow: bad\nphases:\n  - name: a\n    run: echo {{ stat.topic }}\n    next: nowhere\n  - name: b\n    \
                ask: {choice: Which?}\n    colour: red\n";
    write(space, "bad.yaml", text);
    let ran = begin(space, &["bad.yaml"]).exits(2);
    for words in ["bad.yaml:4", "bad.yaml:5", "nowhere", "options", "colour", "state"] {
        assert!(ran.said().contains(words), "{words}: {}", ran.said());
    }
    begin(space, &["missing.yaml"]).refused("SAY001").exits(3);
    let file = example(space, "planned-checkpoint");
    begin(space, &[&file, "--set", "gaol=x"])
        .refused("SAY038")
        .says("did you mean `goal`")
        .exits(2);
    begin(space, &[&file, "--set", "goal"]).refused("SAY038").exits(2);
    assert!(space.ann(&["flow", "list", "--all"]).ok().is_empty());
}

everywhere! {
    /// A flow goes on with the text it began with, whatever becomes of the file; `show` says what was said.
    fn a_file_that_changes_changes_nothing_under_way(space: &Space) {
        write(space, "ask.yaml", ASKS);
        begin(space, &["ask.yaml"]).says("Ship it?").says("sayso flow resume").exits(7);
        write(space, "ask.yaml", "workflow: ask\nphases:\n  - name: other\n    run: echo other > other.txt\n");
        let handle = flow(space)["handle"].as_str().unwrap().to_owned();
        space.ann(&["flow", "graph", &handle]).says("waits for a person").exits(0);
        space.ann(&["approve", &gate(space), "go"]).ok();
        resume(space).exits(0);
        assert!(space.path().join("shipped.txt").exists() && !space.path().join("other.txt").exists());
        let shown = space.ann(&["flow", "show", &handle]).says("Ship it?").says("ann said").says("done");
        shown.exits(0);
        space.ann(&["flow", "resume", &handle]).refused("SAY018").exits(6);
    }
}

everywhere! {
    /// No agent leads a flow: none can skip the people in it.
    fn no_agent_leads_a_flow(space: &Space) {
        write(space, "ask.yaml", ASKS);
        space.coder(&["flow", "run", "ask.yaml"]).refused("SAY037").exits(5);
        begin(space, &["ask.yaml"]).exits(7);
        let handle = flow(space)["handle"].as_str().unwrap().to_owned();
        for verb in [&["flow", "resume", &handle][..], &["flow", "cancel", &handle]] {
            space.coder(verb).refused("SAY037").exits(5);
        }
        assert_eq!(flow(space)["standing"], "waiting");
        // A person takes it back, and what it asked goes with it.
        space.ann(&["flow", "cancel", &handle, "not needed"]).says("cancelled").exits(0);
        assert!(space.ann(&["inbox"]).ok().is_empty());
        assert_eq!(flow(space)["standing"], "cancelled");
        space.verify();
    }
}

everywhere! {
    /// A no ends it, a question that was taken back fails it, and a step that fails can be tried again.
    fn a_no_silence_and_a_failure(space: &Space) {
        write(space, "ask.yaml", ASKS);
        begin(space, &["ask.yaml", "--key", "no"]).exits(7);
        space.ann(&["reject", &gate(space), "not today"]).ok();
        resume(space).says("not today").exits(8);
        begin(space, &["ask.yaml", "--key", "gone"]).exits(7);
        space.ann(&["withdraw", &gate(space), "never mind"]).ok();
        resume(space).says("without an answer").exits(1);
        assert!(!space.path().join("shipped.txt").exists());
        write(space, "fails.yaml", "workflow: fails\nphases:\n  - name: a\n    run: test -e there.txt\n");
        begin(space, &["fails.yaml", "--key", "k"]).says("test -e there.txt").exits(1);
        write(space, "there.txt", "");
        begin(space, &["fails.yaml", "--key", "k"]).says("done").exits(0);
    }
}

#[test]
fn pictures_of_a_workflow() {
    let space = &Space::new(Backend::Sqlite);
    let file = example(space, "branching");
    let graph =
        |format: &str| space.run(Who::Script, &["flow", "graph", &file, "--format", format]).ok();
    assert!(graph("text").contains("choose") && graph("text").contains("thorough"));
    let planned = example(space, "planned-checkpoint");
    let inputs = space.run(Who::Script, &["flow", "graph", &planned]).ok();
    assert!(inputs.contains("--set goal=VALUE") && inputs.contains("a tidy desk"), "{inputs}");
    assert!(graph("mermaid").starts_with("flowchart") || graph("mermaid").contains("stateDiagram"));
    assert!(graph("svg").starts_with("<svg") && graph("svg").trim_end().ends_with("</svg>"));
}

/// Asked at the terminal, answered there; and somebody else may be quicker.
#[test]
fn at_the_terminal() {
    use std::io::Write;
    let space = &Space::new(Backend::Sqlite);
    write(space, "ask.yaml", ASKS);
    let mut child = space.start(Who::Terminal, &["flow", "run", "ask.yaml"]);
    let gate = crate::worker::budgets::until(|| {
        let inbox = space.ann(&["inbox", "--json"]).json();
        inbox["items"][0]["handle"].as_str().map(str::to_owned)
    });
    crate::worker::budgets::until(|| {
        space.show(&gate)["seen"].as_array().filter(|seen| !seen.is_empty()).cloned()
    });
    child.stdin.as_mut().unwrap().write_all(b"approve\n").unwrap();
    let ran = crate::harness::Ran::of(&child.wait_with_output().unwrap());
    ran.says("Ship it?").says("done").exits(0);
    assert!(space.path().join("shipped.txt").exists());
}
