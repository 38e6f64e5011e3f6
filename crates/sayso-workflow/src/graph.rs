//! A workflow as a graph: phases, edges, and the present position of a flow. It is drawn as text for a terminal, as
//! Mermaid, and as SVG. Pure: every kind of workflow can be turned into a [`WorkflowGraph`].

mod layout;
mod mermaid;
mod svg;
mod text;

use crate::file::{BranchTarget, PhaseDefinition, PhaseWork, WorkflowDefinition};

/// A workflow, as far as a picture shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowGraph {
    /// The name of the phase.
    pub name: String,
    /// Its phases; a flow begins with the first.
    pub nodes: Vec<GraphNode>,
    /// Its edges, in the order in which their conditions are evaluated.
    pub edges: Vec<GraphEdge>,
}

/// A phase as a node of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphNode {
    /// The name of the phase.
    pub name: String,
    /// The work that is done in it, if any.
    pub does: Option<NodeWork>,
    /// Tells if a person is asked.
    pub asks: AskFrequency,
}

/// The kind of work of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeWork {
    /// An agent works on a prompt.
    Agent,
    /// A command runs, or a program does something.
    Command,
}

/// Tells if a phase asks a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskFrequency {
    /// No person is ever asked.
    No,
    /// A condition decides if a person is asked.
    Maybe,
    /// A person is always asked.
    Yes,
}

/// An edge from a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphEdge {
    /// The phase from which it leads.
    pub from: String,
    /// The phase to which it leads; none is the end.
    pub to: Option<String>,
    /// The condition; empty for always, or for the remaining cases.
    pub label: String,
}

/// The present position of a flow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphProgress {
    /// The phases that it has left.
    pub done: Vec<String>,
    /// The phase that it is in.
    pub here: Option<String>,
    /// True if it waits there for a person.
    pub waits: bool,
}

/// The state of one phase within a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeState {
    Open,
    Done,
    Here,
    Waits,
}

impl GraphProgress {
    fn of(&self, node: &str) -> NodeState {
        match self.here.as_deref() == Some(node) {
            true if self.waits => NodeState::Waits,
            true => NodeState::Here,
            false if self.done.iter().any(|done| done == node) => NodeState::Done,
            false => NodeState::Open,
        }
    }
}

impl NodeState {
    fn in_words(self) -> &'static str {
        match self {
            NodeState::Open => "",
            NodeState::Done => "done",
            NodeState::Here => "here",
            NodeState::Waits => "waits for a person",
        }
    }
}

impl GraphNode {
    /// Describes the phase in words.
    pub fn in_words(&self) -> &'static str {
        match (self.does, self.asks) {
            (Some(NodeWork::Agent), AskFrequency::No) => "an agent works",
            (Some(NodeWork::Agent), AskFrequency::Maybe) => "an agent works, may ask",
            (Some(NodeWork::Agent), AskFrequency::Yes) => "an agent works, asks",
            (Some(NodeWork::Command), AskFrequency::No) => "a command",
            (Some(NodeWork::Command), AskFrequency::Maybe) => "a command, may ask",
            (Some(NodeWork::Command), AskFrequency::Yes) => "a command, asks",
            (None, AskFrequency::No) => "nothing",
            (None, AskFrequency::Maybe) => "may ask",
            (None, AskFrequency::Yes) => "asks",
        }
    }
}

impl WorkflowGraph {
    /// Returns the edges from a phase.
    fn from<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a GraphEdge> {
        self.edges.iter().filter(move |edge| edge.from == name)
    }

    /// Returns the condition of an edge in words: the remaining case beside conditions is called "otherwise".
    fn label_of<'a>(&'a self, edge: &'a GraphEdge) -> &'a str {
        let is_choice = |edge: &GraphEdge| !matches!(edge.label.as_str(), "" | "no" | "no answer");
        let is_rest = edge.label.is_empty() && self.from(&edge.from).any(is_choice);
        if is_rest { "otherwise" } else { &edge.label }
    }
}

impl From<&WorkflowDefinition> for WorkflowGraph {
    fn from(definition: &WorkflowDefinition) -> Self {
        let nodes = definition.phases.iter().map(node).collect();
        let edges = definition.phases.iter().flat_map(edges).collect();
        Self { name: definition.name.clone(), nodes, edges }
    }
}

fn node(phase: &PhaseDefinition) -> GraphNode {
    let does = match phase.work {
        PhaseWork::Agent { .. } => Some(NodeWork::Agent),
        PhaseWork::Run { .. } => Some(NodeWork::Command),
        PhaseWork::Nothing => None,
    };
    let asks = match &phase.ask {
        None => AskFrequency::No,
        Some(ask) if ask.when.is_some() => AskFrequency::Maybe,
        Some(_) => AskFrequency::Yes,
    };
    GraphNode { name: phase.name.clone(), does, asks }
}

fn edges(phase: &PhaseDefinition) -> Vec<GraphEdge> {
    let to = |target: &BranchTarget| match target {
        BranchTarget::Phase(name) => Some(name.clone()),
        BranchTarget::End => None,
    };
    let edge = |target: &BranchTarget, label: &str| GraphEdge {
        from: phase.name.clone(),
        to: to(target),
        label: label.to_owned(),
    };
    let next = phase
        .next
        .iter()
        .map(|branch| edge(&branch.to, branch.when.as_ref().map_or("", |when| when.text())));
    let no = phase.on_reject.iter().map(|target| edge(target, "no"));
    let silence = phase.on_silence.iter().map(|target| edge(target, "no answer"));
    next.chain(no).chain(silence).collect()
}

/// Cuts a text to a number of columns.
fn shorten(text: &str, columns_max: usize) -> String {
    let line = sayso_core::text::sanitize_line(text);
    if line.chars().count() <= columns_max {
        return line;
    }
    let head: String = line.chars().take(columns_max.saturating_sub(1)).collect();
    format!("{}…", head.trim_end())
}
