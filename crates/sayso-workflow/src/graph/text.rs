//! Draws a workflow graph as text for a terminal: one line for a phase, with its edges below.

use super::{GraphNode, GraphProgress, NodeState, WorkflowGraph, shorten};
use std::fmt::Write;

/// The width that fits on any terminal.
const COLUMNS: usize = 80;

/// The characters of the picture.
struct GraphSymbols {
    done: &'static str,
    here: &'static str,
    waits: &'static str,
    open: &'static str,
    way: &'static str,
    down: &'static str,
    end: &'static str,
    and: &'static str,
}

const DRAWN: GraphSymbols = GraphSymbols {
    done: "✓",
    here: "▶",
    waits: "?",
    open: "○",
    way: "→",
    down: "│",
    end: "●",
    and: " · ",
};
const PLAIN: GraphSymbols = GraphSymbols {
    done: "x",
    here: ">",
    waits: "?",
    open: "o",
    way: "->",
    down: "|",
    end: "*",
    and: " - ",
};

impl WorkflowGraph {
    /// Returns the picture as lines of at most 80 columns. `is_plain` leaves out all but ASCII.
    pub fn text(&self, standing: &GraphProgress, is_plain: bool) -> String {
        let signs = if is_plain { PLAIN } else { DRAWN };
        let names = self.nodes.iter().map(|node| node.name.chars().count());
        let wide = names.max().unwrap_or(0).clamp(4, 28);
        let mut text = format!("{}\n\n", shorten(&self.name, COLUMNS));
        for (at, node) in self.nodes.iter().enumerate() {
            let below = self.nodes.get(at + 1).map(|node| node.name.as_str());
            self.node(&mut text, node, standing.of(&node.name), wide, &signs);
            self.ways(&mut text, node, below, wide, &signs);
        }
        let _ = writeln!(text, "  {} end", signs.end);
        if is_plain { text.replace('…', ".") } else { text }
    }

    fn node(
        &self,
        text: &mut String,
        node: &GraphNode,
        state: NodeState,
        wide: usize,
        signs: &GraphSymbols,
    ) {
        let sign = match state {
            NodeState::Open => signs.open,
            NodeState::Done => signs.done,
            NodeState::Here => signs.here,
            NodeState::Waits => signs.waits,
        };
        let name = shorten(&node.name, wide);
        let said = [node.in_words(), state.in_words()];
        let said: Vec<_> = said.into_iter().filter(|words| !words.is_empty()).collect();
        let pad = wide - name.chars().count();
        let _ = writeln!(text, "  {sign} {name}{}  {}", " ".repeat(pad), said.join(signs.and));
    }

    /// Writes the edges from a phase. An unconditional edge to the phase below needs no words.
    fn ways(
        &self,
        text: &mut String,
        node: &GraphNode,
        below: Option<&str>,
        wide: usize,
        signs: &GraphSymbols,
    ) {
        let ways: Vec<_> = self.from(&node.name).collect();
        if let [only] = ways[..]
            && only.label.is_empty()
            && only.to.as_deref() == below
        {
            let _ = writeln!(text, "  {}", signs.down);
            return;
        }
        for edge in ways {
            let to = shorten(edge.to.as_deref().unwrap_or("end"), wide);
            let pad = wide - to.chars().count().min(wide);
            let room = COLUMNS.saturating_sub(wide + 12);
            let label = shorten(self.label_of(edge), room);
            let line = format!("  {}   {} {to}{}  {label}", signs.down, signs.way, " ".repeat(pad));
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let _ = writeln!(text, "  {}", signs.down);
    }
}
