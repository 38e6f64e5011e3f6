//! Draws a workflow graph as SVG: no script, no style sheet, nothing fetched. Lines and letters have the colour of
//! the text around the picture, so that it fits a light page and a dark one.

use super::layout::{DrawnEdge, GraphLayout, LayoutSlot};
use super::{GraphNode, GraphProgress, NodeState, NodeWork, WorkflowGraph, shorten};
use std::fmt::Write;

const BOX_WIDTH: f64 = 190.0;
const BOX_HEIGHT: f64 = 56.0;
/// The gap between boxes beside each other, and the width of a slot for a passing edge.
const GAP: f64 = 44.0;
const PASSING_WIDTH: f64 = 30.0;
/// The gap between layers: a label fits in.
const DROP: f64 = 58.0;
const MARGIN: f64 = 24.0;
/// The gap between back edges, which are drawn on the right, in addition to the width of their labels.
const LANE: f64 = 22.0;
/// The maximum length of a label; the whole of it is its title.
const LABEL_CHARS: usize = 30;
const CHAR_WIDTH: f64 = 6.2;
/// The line height of labels, and the maximum number of them above each other.
const LINE: f64 = 13.0;
const LINES_MAX: usize = 4;
/// The extent of an edge from a box to itself.
const LOOP: f64 = 26.0;

/// The picture while it is drawn.
struct SvgDrawing<'a> {
    graph: &'a WorkflowGraph,
    layout: GraphLayout,
    /// The width of the widest layer.
    wide: f64,
}

impl WorkflowGraph {
    /// Returns the picture as SVG.
    pub fn svg(&self, standing: &GraphProgress) -> String {
        let layout = GraphLayout::of(self);
        let wide =
            layout.layers.iter().map(|layer| width(&layout, layer)).fold(BOX_WIDTH, f64::max);
        let drawing = SvgDrawing { graph: self, layout, wide };
        drawing.whole(standing)
    }
}

/// Returns the width of a layer.
fn width(layout: &GraphLayout, layer: &[LayoutSlot]) -> f64 {
    let slots = layer.iter().map(|slot| slot_width(layout, *slot)).sum::<f64>();
    slots + GAP * layer.len().saturating_sub(1) as f64
}

fn slot_width(layout: &GraphLayout, slot: LayoutSlot) -> f64 {
    match slot {
        LayoutSlot::Node(_) => BOX_WIDTH,
        LayoutSlot::Passing(edge) => {
            let way = layout.ways.iter().find(|way| way.edge == edge);
            PASSING_WIDTH + way.map_or(0.0, label_width)
        }
    }
}

/// Returns the position of the line in its slot: a passing edge has its label on the right.
fn line_in(slot: LayoutSlot) -> f64 {
    match slot {
        LayoutSlot::Node(_) => BOX_WIDTH / 2.0,
        LayoutSlot::Passing(_) => PASSING_WIDTH / 2.0,
    }
}

impl SvgDrawing<'_> {
    fn whole(&self, standing: &GraphProgress) -> String {
        let lanes = self.lanes();
        let (width, layers) = (self.wide + 2.0 * MARGIN, self.layout.layers.len() as f64);
        let loops = self.layout.ways.iter().filter(|way| way.from == way.to);
        let width = loops.map(|way| self.right_of_loop(way)).fold(width, f64::max);
        let width = lanes.last().map_or(width, |(way, x)| width.max(x + LANE + label_width(way)));
        let height = layers * BOX_HEIGHT + (layers - 1.0) * DROP + 2.0 * MARGIN;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" fill=\"none\" \
             stroke=\"currentColor\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n"
        );
        let _ = writeln!(svg, "<title>{}</title>", escape(&self.graph.name));
        let _ = writeln!(svg, "<desc>{}</desc>", escape(&self.graph.text(standing, true)));
        svg.push_str(ARROW);
        let mut room = LabelSpace::default();
        for way in self.layout.ways.iter().filter(|way| !way.is_back) {
            self.way_down(&mut svg, way, &mut room);
        }
        for way in self.layout.ways.iter().filter(|way| way.from == way.to) {
            self.way_round(&mut svg, way);
        }
        for (at, (way, x)) in lanes.iter().enumerate() {
            self.way_back(&mut svg, way, *x, at);
        }
        for (number, node) in self.graph.nodes.iter().enumerate() {
            self.node(&mut svg, number, node, standing.of(&node.name));
        }
        self.end(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    /// Returns the middle of the upper edge of a slot.
    fn top(&self, slot: LayoutSlot) -> (f64, f64) {
        let (layer, _) = self.layout.place(slot);
        self.top_in(layer, slot)
    }

    /// Returns the same in one of the layers that an edge passes.
    fn top_in(&self, layer: usize, slot: LayoutSlot) -> (f64, f64) {
        let slots = &self.layout.layers[layer];
        let at = slots.iter().position(|other| *other == slot).unwrap_or_default();
        let before: f64 = slots[..at].iter().map(|s| slot_width(&self.layout, *s) + GAP).sum();
        let left = MARGIN + (self.wide - width(&self.layout, slots)) / 2.0;
        (left + before + line_in(slot), MARGIN + layer as f64 * (BOX_HEIGHT + DROP))
    }

    fn node(&self, svg: &mut String, number: usize, node: &GraphNode, state: NodeState) {
        let (x, y) = self.top(LayoutSlot::Node(number));
        let (left, round) =
            (x - BOX_WIDTH / 2.0, if node.does == Some(NodeWork::Agent) { 16 } else { 4 });
        let (colour, wide, dashes) = match state {
            NodeState::Open => ("currentColor", 1.2, ""),
            NodeState::Done => ("#2e7d32", 2.0, ""),
            NodeState::Here => ("#1e74d0", 3.5, ""),
            NodeState::Waits => ("#c77700", 3.5, " stroke-dasharray=\"7 4\""),
        };
        let class = state.in_words().split(' ').next().unwrap_or_default();
        let class = if class.is_empty() { "open" } else { class };
        let _ = writeln!(
            svg,
            "<g class=\"{class}\"><title>{}</title><rect x=\"{left:.1}\" y=\"{y:.1}\" \
             width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"{round}\" stroke=\"{colour}\" \
             stroke-width=\"{wide}\"{dashes}/>",
            escape(&node.name),
        );
        let sign = match state {
            NodeState::Open => "",
            NodeState::Done => "✓ ",
            NodeState::Here => "▶ ",
            NodeState::Waits => "? ",
        };
        let name = format!("{sign}{}", shorten(&node.name, 22));
        // Wide letters are squeezed rather than drawn over the side of the box.
        let squeezed = if name_width(&name) > BOX_WIDTH - 14.0 {
            format!(" textLength=\"{:.0}\" lengthAdjust=\"spacingAndGlyphs\"", BOX_WIDTH - 14.0)
        } else {
            String::new()
        };
        self.words(svg, (x, y + 24.0), &name, &format!(" font-weight=\"600\"{squeezed}"));
        let said = match state {
            NodeState::Waits => "waits for a person",
            NodeState::Open | NodeState::Done | NodeState::Here => node.in_words(),
        };
        self.words(svg, (x, y + 43.0), said, " font-size=\"12\"");
        svg.push_str("</g>\n");
    }

    fn words(&self, svg: &mut String, (x, y): (f64, f64), words: &str, more: &str) {
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" fill=\"currentColor\" \
             stroke=\"none\"{more}>{}</text>",
            escape(words)
        );
    }

    fn end(&self, svg: &mut String) {
        let (x, y) = self.top(LayoutSlot::Node(self.graph.nodes.len()));
        let _ = write!(
            svg,
            "<g class=\"end\"><circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"18\" stroke-width=\"2\"/>",
            y + 18.0
        );
        self.words(svg, (x, y + 22.0), "end", " font-size=\"12\"");
        svg.push_str("</g>\n");
    }

    /// Draws an edge to a box further down, through the slots that were reserved for it.
    fn way_down(&self, svg: &mut String, way: &DrawnEdge, room: &mut LabelSpace) {
        let (from, _) = self.layout.place(LayoutSlot::Node(way.from));
        let (to, _) = self.layout.place(LayoutSlot::Node(way.to));
        let (x, y) = self.leaves(way);
        let mut path = format!("M{x:.1} {y:.1}");
        let mut at = (x, y);
        for layer in from + 1..to {
            let (x, y) = self.top_in(layer, LayoutSlot::Passing(way.edge));
            curve(&mut path, at, (x, y));
            let _ = write!(path, " L{x:.1} {:.1}", y + BOX_HEIGHT);
            at = (x, y + BOX_HEIGHT);
        }
        let target = self.arrives(way);
        curve(&mut path, at, target);
        self.draw(svg, way, &path);
        // Just after its start: there it can be told from the others.
        let first = match to - from {
            1 => target,
            _ => self.top_in(from + 1, LayoutSlot::Passing(way.edge)),
        };
        // Just before the next slot: slots have space between them.
        let place = (first.0 + 7.0, first.1 - 7.0);
        let line = room.line(place, label_width(way), way.labels.len());
        self.label(svg, way, (place.0, place.1 - line * LINE), "start");
    }

    /// Returns the start of an edge at its box: beside the other edges from it, in their order from left to right.
    fn leaves(&self, way: &DrawnEdge) -> (f64, f64) {
        let (x, y) = self.top(LayoutSlot::Node(way.from));
        let ways = self.layout.ways.iter().filter(|w| !w.is_back && w.from == way.from);
        let mut beside: Vec<(f64, usize)> = ways.map(|w| (self.heads_for(w), w.edge)).collect();
        beside.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = beside.iter().position(|(_, edge)| *edge == way.edge).unwrap_or_default();
        let share = (at + 1) as f64 / (beside.len() + 1) as f64 - 0.5;
        (x + share * BOX_WIDTH * 0.8, y + BOX_HEIGHT)
    }

    /// Returns the horizontal position of the first slot on an edge.
    fn heads_for(&self, way: &DrawnEdge) -> f64 {
        let (from, _) = self.layout.place(LayoutSlot::Node(way.from));
        let (to, _) = self.layout.place(LayoutSlot::Node(way.to));
        match to - from {
            0 | 1 => self.top(LayoutSlot::Node(way.to)).0,
            _ => self.top_in(from + 1, LayoutSlot::Passing(way.edge)).0,
        }
    }

    fn arrives(&self, way: &DrawnEdge) -> (f64, f64) {
        let (x, y) = self.top(LayoutSlot::Node(way.to));
        let is_end = way.to == self.graph.nodes.len();
        let ways = self.layout.ways.iter().filter(|w| !w.is_back && w.to == way.to);
        let mut beside: Vec<(f64, usize)> =
            ways.map(|w| (self.top(LayoutSlot::Node(w.from)).0, w.edge)).collect();
        beside.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = beside.iter().position(|(_, edge)| *edge == way.edge).unwrap_or_default();
        let share = (at + 1) as f64 / (beside.len() + 1) as f64 - 0.5;
        let spread = if is_end { 24.0 } else { BOX_WIDTH * 0.6 };
        (x + share * spread, if is_end { y + (share.abs() * 10.0) - 1.0 } else { y })
    }

    /// Returns the back edges with their lanes: short ones inside, each with space for its label.
    fn lanes(&self) -> Vec<(&DrawnEdge, f64)> {
        let layer = |node: usize| self.layout.place(LayoutSlot::Node(node)).0;
        let mut back: Vec<&DrawnEdge> =
            self.layout.ways.iter().filter(|way| way.is_back && way.from != way.to).collect();
        back.sort_by_key(|way| layer(way.from).saturating_sub(layer(way.to)));
        let loops = self.layout.ways.iter().filter(|way| way.from == way.to);
        let mut x = self.wide + 2.0 * MARGIN - 8.0;
        x = loops.map(|way| self.right_of_loop(way)).fold(x, f64::max);
        let mut lanes = vec![];
        for way in back {
            lanes.push((way, x));
            x += LANE + label_width(way);
        }
        lanes
    }

    /// Draws an edge to a box further up: out to the right, up a lane of its own, and back in.
    fn way_back(&self, svg: &mut String, way: &DrawnEdge, lane: f64, at: usize) {
        let (from_x, from_y) = self.top(LayoutSlot::Node(way.from));
        let (to_x, to_y) = self.top(LayoutSlot::Node(way.to));
        let (start, goal) = (from_x + BOX_WIDTH / 2.0, to_x + BOX_WIDTH / 2.0);
        // Apart from those that leave and arrive at the same boxes.
        let apart = (at % 4) as f64 * 7.0;
        let (low, high) = (from_y + BOX_HEIGHT * 0.6 + apart, to_y + BOX_HEIGHT * 0.4 - apart);
        let turn = lane - 10.0;
        let path = format!(
            "M{start:.1} {low:.1} L{turn:.1} {low:.1} Q{lane:.1} {low:.1} {lane:.1} {:.1} \
             L{lane:.1} {:.1} Q{lane:.1} {high:.1} {turn:.1} {high:.1} L{goal:.1} {high:.1}",
            low - 10.0,
            high + 10.0,
        );
        self.draw(svg, way, &path);
        self.label(svg, way, (lane + 5.0, (low + high) / 2.0), "start");
    }

    /// Draws an edge from a box to itself, at its right side.
    fn way_round(&self, svg: &mut String, way: &DrawnEdge) {
        let (x, y) = self.top(LayoutSlot::Node(way.from));
        let (side, low, high) = (x + BOX_WIDTH / 2.0, y + BOX_HEIGHT - 10.0, y + 10.0);
        let out = side + LOOP;
        let path = format!(
            "M{side:.1} {low:.1} C{out:.1} {low:.1} {out:.1} {high:.1} {side:.1} {high:.1}"
        );
        self.draw(svg, way, &path);
        self.label(svg, way, (side + LOOP * 0.8, y + BOX_HEIGHT - 8.0), "start");
    }

    fn right_of_loop(&self, way: &DrawnEdge) -> f64 {
        let (x, _) = self.top(LayoutSlot::Node(way.from));
        x + BOX_WIDTH / 2.0 + LOOP + label_width(way) + MARGIN / 2.0
    }

    fn draw(&self, svg: &mut String, way: &DrawnEdge, path: &str) {
        let is_no = |label: &String| matches!(label.as_str(), "no" | "no answer");
        let is_dashed = !way.labels.is_empty() && way.labels.iter().all(is_no);
        let dashes = if is_dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" stroke-width=\"1.3\" marker-end=\"url(#sayso-arrow)\"{dashes}/>"
        );
    }

    /// Draws the labels of an edge, line by line, the last one at the given place.
    fn label(&self, svg: &mut String, way: &DrawnEdge, (x, y): (f64, f64), anchor: &str) {
        for (above, whole) in way.labels.iter().rev().enumerate() {
            let y = y - above as f64 * LINE;
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"currentColor\" \
                 stroke=\"none\" font-size=\"11\"><title>{}</title>{}</text>",
                escape(whole),
                escape(&label(whole))
            );
        }
    }
}

/// The areas of the labels drawn so far, so that no two of them overlap.
#[derive(Default)]
struct LabelSpace {
    /// Left and right ends, and heights.
    taken: Vec<(f64, f64, f64)>,
}

impl LabelSpace {
    /// Returns the number of lines above its place at which a label is free. The number is limited by the box above.
    fn line(&mut self, (x, y): (f64, f64), width: f64, lines: usize) -> f64 {
        let heights = |line: usize| (line..line + lines).map(|at| y - at as f64 * LINE);
        let is_free = |line: &usize| {
            heights(*line).all(|height| {
                !self.taken.iter().any(|(from, to, at)| {
                    (height - at).abs() < LINE && x < to + 4.0 && x + width > from - 4.0
                })
            })
        };
        let last = LINES_MAX.saturating_sub(lines);
        let line = (0..=last).find(is_free).unwrap_or(last);
        self.taken.extend(heights(line).map(|height| (x, x + width, height)).collect::<Vec<_>>());
        line as f64
    }
}

const ARROW: &str = "<defs><marker id=\"sayso-arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
    markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" \
    fill=\"currentColor\" stroke=\"none\"/></marker></defs>\n";

/// Adds a curve downward from one point to another.
fn curve(path: &mut String, from: (f64, f64), to: (f64, f64)) {
    let bend = (to.1 - from.1) * 0.5;
    let (first, second) = (from.1 + bend, to.1 - bend);
    let _ =
        write!(path, " C{:.1} {first:.1} {:.1} {second:.1} {:.1} {:.1}", from.0, to.0, to.0, to.1);
}

fn label_width(way: &DrawnEdge) -> f64 {
    let longest = way.labels.iter().map(|whole| label(whole).chars().count()).max();
    longest.unwrap_or(0) as f64 * CHAR_WIDTH
}

/// Estimates the width of a name in the letters of a box.
fn name_width(name: &str) -> f64 {
    let wide = |c: char| c.is_uppercase() || matches!(c, 'm' | 'w') || !c.is_ascii();
    name.chars().map(|c| if wide(c) { 12.0 } else { 8.2 }).sum()
}

fn label(whole: &str) -> String {
    shorten(whole, LABEL_CHARS)
}

/// Escapes a text for XML.
fn escape(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() && c != '\n' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}
