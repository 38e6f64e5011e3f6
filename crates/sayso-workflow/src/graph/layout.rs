//! Layered layout of a workflow graph: boxes stand in layers from the first phase downward. An edge that leads back
//! up is drawn beside them.

use super::WorkflowGraph;
use std::collections::BTreeMap;

/// The number of sweeps that order the boxes of each layer by their neighbours.
const SWEEPS: usize = 8;

/// A slot in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LayoutSlot {
    /// A phase, by its number; the number after the last one is the end.
    Node(usize),
    /// Space for an edge that passes the layer, by the number of the edge.
    Passing(usize),
}

/// The layers, and the edges between them.
#[derive(Debug)]
pub(super) struct GraphLayout {
    /// The slots of each layer, from left to right.
    pub(super) layers: Vec<Vec<LayoutSlot>>,
    pub(super) ways: Vec<DrawnEdge>,
}

/// A drawn edge between two boxes.
#[derive(Debug)]
pub(super) struct DrawnEdge {
    /// The number of its first edge, which names it.
    pub(super) edge: usize,
    /// The labels of its edges, one after the other; empty where it is unconditional.
    pub(super) labels: Vec<String>,
    pub(super) from: usize,
    pub(super) to: usize,
    /// True if it leads up, or to where it begins.
    pub(super) is_back: bool,
}

impl GraphLayout {
    pub(super) fn of(graph: &WorkflowGraph) -> Self {
        let end = graph.nodes.len();
        let number = |name: &str| graph.nodes.iter().position(|node| node.name == name);
        let mut ways: Vec<DrawnEdge> = vec![];
        for (edge, is) in graph.edges.iter().enumerate() {
            let to = is.to.as_deref().map_or(Some(end), number);
            let (Some(from), Some(to)) = (number(&is.from), to) else { continue };
            let label = graph.label_of(is).to_owned();
            // Two edges between the same boxes are drawn as one.
            match ways.iter_mut().find(|way| (way.from, way.to) == (from, to)) {
                Some(way) => way.labels.push(label),
                None => {
                    ways.push(DrawnEdge { edge, labels: vec![label], from, to, is_back: false })
                }
            }
        }
        for way in &mut ways {
            match way.labels.len() {
                1 => way.labels.retain(|label| !label.is_empty()),
                // Beside a no, the unlabelled edge is the yes.
                _ => way.labels.iter_mut().filter(|l| l.is_empty()).for_each(|l| *l = "yes".into()),
            }
        }
        mark_back(&mut ways, end + 1);
        let depth = depths(&ways, end + 1);
        let deepest = depth.iter().copied().max().unwrap_or(0);
        let mut layers = vec![vec![]; deepest + 1];
        for (node, depth) in depth.iter().enumerate() {
            layers[*depth].push(LayoutSlot::Node(node));
        }
        for way in ways.iter().filter(|way| !way.is_back) {
            for layer in &mut layers[depth[way.from] + 1..depth[way.to]] {
                layer.push(LayoutSlot::Passing(way.edge));
            }
        }
        order(&mut layers, &ways, &depth);
        Self { layers, ways }
    }

    /// Returns the layer of a slot, and its position there.
    pub(super) fn place(&self, slot: LayoutSlot) -> (usize, usize) {
        let found = self.layers.iter().enumerate().find_map(|(layer, slots)| {
            slots.iter().position(|other| *other == slot).map(|at| (layer, at))
        });
        found.unwrap_or_default()
    }
}

/// Marks the edges that lead back, so that the others have no cycle (depth-first search).
fn mark_back(ways: &mut [DrawnEdge], nodes: usize) {
    let mut state = vec![0_u8; nodes];
    for start in 0..nodes {
        if state[start] != 0 {
            continue;
        }
        // Each entry: a box, and the number of its edges that were examined.
        let mut stack = vec![(start, 0)];
        state[start] = 1;
        while let Some((node, looked)) = stack.last().copied() {
            let way = ways.iter().enumerate().filter(|(_, way)| way.from == node).nth(looked);
            let Some((at, to)) = way.map(|(at, way)| (at, way.to)) else {
                state[node] = 2;
                stack.pop();
                continue;
            };
            if let Some(top) = stack.last_mut() {
                top.1 += 1;
            }
            match state[to] {
                0 => {
                    state[to] = 1;
                    stack.push((to, 0));
                }
                1 => ways[at].is_back = true,
                _ => {}
            }
        }
    }
}

/// Returns the layer of each box: below all that lead to it. The end is below everything.
fn depths(ways: &[DrawnEdge], nodes: usize) -> Vec<usize> {
    let mut depth = vec![0; nodes];
    for _ in 0..nodes {
        for way in ways.iter().filter(|way| !way.is_back) {
            depth[way.to] = depth[way.to].max(depth[way.from] + 1);
        }
    }
    if let Some((end, others)) = depth.split_last_mut() {
        *end = others.iter().copied().max().map_or(0, |deepest| deepest + 1);
    }
    depth
}

/// Orders the slots of each layer, so that few edges cross.
fn order(layers: &mut [Vec<LayoutSlot>], ways: &[DrawnEdge], depth: &[usize]) {
    // The slots that each slot is joined to in the layer above and below.
    let mut joined: BTreeMap<LayoutSlot, Vec<LayoutSlot>> = BTreeMap::new();
    for way in ways.iter().filter(|way| !way.is_back) {
        let passing = (depth[way.from] + 1..depth[way.to]).map(|_| LayoutSlot::Passing(way.edge));
        let mut chain = vec![LayoutSlot::Node(way.from)];
        chain.extend(passing);
        chain.push(LayoutSlot::Node(way.to));
        for pair in chain.windows(2) {
            joined.entry(pair[0]).or_default().push(pair[1]);
            joined.entry(pair[1]).or_default().push(pair[0]);
        }
    }
    let count = layers.len();
    for sweep in 0..SWEEPS {
        for step in 1..count {
            let (at, beside) = match sweep % 2 {
                0 => (step, step - 1),
                _ => (count - 1 - step, count - step),
            };
            let fixed = layers[beside].clone();
            let middle = |slot: &LayoutSlot, now: usize| {
                let near = joined.get(slot).into_iter().flatten();
                let places: Vec<f64> = near
                    .filter_map(|other| fixed.iter().position(|slot| slot == other))
                    .map(|place| place as f64 / fixed.len().max(1) as f64)
                    .collect();
                if places.is_empty() {
                    now as f64
                } else {
                    places.iter().sum::<f64>() / places.len() as f64
                }
            };
            let mut keyed: Vec<(f64, LayoutSlot)> = layers[at]
                .iter()
                .enumerate()
                .map(|(now, slot)| (middle(slot, now), *slot))
                .collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            layers[at] = keyed.into_iter().map(|(_, slot)| slot).collect();
        }
    }
}
