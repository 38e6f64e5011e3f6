//! Pictures of workflows, with where a flow stands.

use crate::examples::load;
use crate::read;
use sayso_workflow::graph::{GraphProgress, WorkflowGraph};

fn standing() -> GraphProgress {
    GraphProgress {
        done: ["plan", "implement", "test"].map(str::to_owned).into(),
        here: Some("review".into()),
        waits: true,
    }
}

#[test]
fn as_text() {
    let graph = WorkflowGraph::from(&load("pipeline.yaml"));
    insta::assert_snapshot!(graph.text(&standing(), false));
    let plain = graph.text(&standing(), true);
    assert!(plain.is_ascii(), "{plain}");
}

#[test]
fn no_line_is_longer_than_a_terminal() {
    let long = "x".repeat(64);
    let graph = WorkflowGraph::from(&read(&format!(
        "workflow: {long}\nphases:\n  - name: {long}\n    run: y\n    ask: {{approval: Go?}}\n    \
         next: [{{if: 'approved || (state == {{}} && \"{long}\" != \"{long}{long}\")', to: end}}, {{to: {long}}}]\n"
    )));
    let text = graph.text(&GraphProgress::default(), false);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.lines().count() >= 6, "{text}");
}

#[test]
fn as_mermaid() {
    let graph = WorkflowGraph::from(&load("branching.yaml"));
    let here = GraphProgress { done: vec![], here: Some("choose".into()), waits: true };
    insta::assert_snapshot!(graph.mermaid(&here));
}

#[test]
fn as_svg() {
    for name in ["pipeline.yaml", "several-approvals.yaml", "dynamic.yaml", "branching.yaml"] {
        let svg = WorkflowGraph::from(&load(name)).svg(&standing());
        insta::assert_snapshot!(format!("svg_{}", name.replace('.', "_")), svg);
    }
}

/// A picture can be put on a page whatever is in the workflow.
#[test]
fn text_stays_text() {
    let graph = WorkflowGraph::from(&read(
        "workflow: w\nphases:\n  - name: a\n    run: x\n    ask: {approval: Go?}\n    \
         next: [{if: '\"</title><script>alert(1)</script>\" != \"\\\\u202e\" && approved', to: end}, {to: a}]\n",
    ));
    let svg = graph.svg(&GraphProgress::default());
    assert!(!svg.contains("<script") && svg.contains("&lt;/title&gt;&lt;script"), "{svg}");
    let mermaid = graph.mermaid(&GraphProgress::default());
    assert!(!mermaid.contains("<script"), "{mermaid}");
}
