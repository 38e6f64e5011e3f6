//! Draws a workflow graph as a Mermaid flowchart.

use super::{GraphNode, GraphProgress, NodeState, NodeWork, WorkflowGraph};
use std::fmt::Write;

impl WorkflowGraph {
    /// Returns the picture as a flowchart of Mermaid.
    pub fn mermaid(&self, standing: &GraphProgress) -> String {
        let mut text = String::from("flowchart TD\n");
        for (at, node) in self.nodes.iter().enumerate() {
            let state = standing.of(&node.name);
            let words = state.in_words();
            let words = if words.is_empty() { String::new() } else { format!("<br/>{words}") };
            let inner = format!("{}<br/>{}{words}", harmless(&node.name), node.in_words());
            let (open, close) = shape(node);
            let class = class(state).map(|class| format!(":::{class}")).unwrap_or_default();
            let _ = writeln!(text, "  n{at}{open}\"{inner}\"{close}{class}");
        }
        let _ = writeln!(text, "  finish(((end)))");
        for edge in &self.edges {
            let id = |name: &str| {
                self.nodes.iter().position(|node| node.name == name).map(|at| format!("n{at}"))
            };
            let to = edge.to.as_deref().map_or(Some("finish".to_owned()), id);
            let (Some(from), Some(to)) = (id(&edge.from), to) else { continue };
            let label = match self.label_of(edge) {
                "" => String::new(),
                label => format!("|\"{}\"|", harmless(label)),
            };
            let _ = writeln!(text, "  {from} -->{label} {to}");
        }
        text.push_str(
            "  classDef done stroke:#2e7d32,stroke-width:2px\n  \
             classDef here stroke:#1565c0,stroke-width:4px\n  \
             classDef waits stroke:#b26a00,stroke-width:4px,stroke-dasharray:6 3\n",
        );
        text
    }
}

/// Returns the shape of a box: a question to a person has slanted sides.
fn shape(node: &GraphNode) -> (&'static str, &'static str) {
    match node.does {
        Some(NodeWork::Agent) => ("(", ")"),
        Some(NodeWork::Command) => ("[", "]"),
        None => ("[/", "/]"),
    }
}

fn class(state: NodeState) -> Option<&'static str> {
    match state {
        NodeState::Open => None,
        NodeState::Done => Some("done"),
        NodeState::Here => Some("here"),
        NodeState::Waits => Some("waits"),
    }
}

/// Escapes characters that Mermaid or a page would interpret.
fn harmless(text: &str) -> String {
    let mut safe = String::new();
    for c in sayso_core::text::sanitize_line(text).chars() {
        match c {
            '#' | '"' | '<' | '>' | '&' | '`' | '|' | '\\' | '[' | ']' | '{' | '}' | '(' | ')' => {
                let _ = write!(safe, "#{};", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}
