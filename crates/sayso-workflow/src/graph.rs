//! A workflow as a graph: phases, edges, and the present position of a flow. It is drawn as text for a terminal, as
//! Mermaid, and as SVG. Pure: every kind of workflow can be turned into a [`Graph`].

mod layout;
mod mermaid;
mod svg;
mod text;

use crate::file::{Definition, Phase, Target, Work};

/// A workflow, as far as a picture shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// The name of the phase.
    pub name: String,
    /// Its phases; a flow begins with the first.
    pub nodes: Vec<Node>,
    /// Its edges, in the order in which their conditions are evaluated.
    pub edges: Vec<Edge>,
}

/// A phase as a node of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The name of the phase.
    pub name: String,
    /// The work that is done in it, if any.
    pub does: Option<Does>,
    /// Tells if a person is asked.
    pub asks: Asks,
}

/// The kind of work of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// An agent works on a prompt.
    Agent,
    /// A command runs, or a program does something.
    Command,
}

/// Tells if a phase asks a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// No person is ever asked.
    No,
    /// A condition decides if a person is asked.
    Maybe,
    /// A person is always asked.
    Yes,
}

/// An edge from a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The phase from which it leads.
    pub from: String,
    /// The phase to which it leads; none is the end.
    pub to: Option<String>,
    /// The condition; empty for always, or for the remaining cases.
    pub label: String,
}

/// The present position of a flow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// The phases that it has left.
    pub done: Vec<String>,
    /// The phase that it is in.
    pub here: Option<String>,
    /// True if it waits there for a person.
    pub waits: bool,
}

/// The state of one phase within a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Done,
    Here,
    Waits,
}

impl Standing {
    fn of(&self, node: &str) -> State {
        match self.here.as_deref() == Some(node) {
            true if self.waits => State::Waits,
            true => State::Here,
            false if self.done.iter().any(|done| done == node) => State::Done,
            false => State::Open,
        }
    }
}

impl State {
    fn in_words(self) -> &'static str {
        match self {
            State::Open => "",
            State::Done => "done",
            State::Here => "here",
            State::Waits => "waits for a person",
        }
    }
}

impl Node {
    /// Describes the phase in words.
    pub fn in_words(&self) -> &'static str {
        match (self.does, self.asks) {
            (Some(Does::Agent), Asks::No) => "an agent works",
            (Some(Does::Agent), Asks::Maybe) => "an agent works, may ask",
            (Some(Does::Agent), Asks::Yes) => "an agent works, asks",
            (Some(Does::Command), Asks::No) => "a command",
            (Some(Does::Command), Asks::Maybe) => "a command, may ask",
            (Some(Does::Command), Asks::Yes) => "a command, asks",
            (None, Asks::No) => "nothing",
            (None, Asks::Maybe) => "may ask",
            (None, Asks::Yes) => "asks",
        }
    }
}

impl Graph {
    /// Returns the edges from a phase.
    fn from<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Edge> {
        self.edges.iter().filter(move |edge| edge.from == name)
    }

    /// Returns the condition of an edge in words: the remaining case beside conditions is called "otherwise".
    fn label_of<'a>(&'a self, edge: &'a Edge) -> &'a str {
        let is_choice = |edge: &Edge| !matches!(edge.label.as_str(), "" | "no" | "no answer");
        let is_rest = edge.label.is_empty() && self.from(&edge.from).any(is_choice);
        if is_rest { "otherwise" } else { &edge.label }
    }
}

impl From<&Definition> for Graph {
    fn from(definition: &Definition) -> Self {
        let nodes = definition.phases.iter().map(node).collect();
        let edges = definition.phases.iter().flat_map(edges).collect();
        Self { name: definition.name.clone(), nodes, edges }
    }
}

fn node(phase: &Phase) -> Node {
    let does = match phase.work {
        Work::Agent { .. } => Some(Does::Agent),
        Work::Run { .. } => Some(Does::Command),
        Work::Nothing => None,
    };
    let asks = match &phase.ask {
        None => Asks::No,
        Some(ask) if ask.when.is_some() => Asks::Maybe,
        Some(_) => Asks::Yes,
    };
    Node { name: phase.name.clone(), does, asks }
}

fn edges(phase: &Phase) -> Vec<Edge> {
    let to = |target: &Target| match target {
        Target::Phase(name) => Some(name.clone()),
        Target::End => None,
    };
    let edge = |target: &Target, label: &str| Edge {
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
    let line = sayso_core::text::harmless_line(text);
    if line.chars().count() <= columns_max {
        return line;
    }
    let head: String = line.chars().take(columns_max.saturating_sub(1)).collect();
    format!("{}…", head.trim_end())
}
