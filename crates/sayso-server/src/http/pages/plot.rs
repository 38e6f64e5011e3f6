//! Small plots as SVG. Each has a title and stands beside its figures, for those who do not see it.

use super::text::escape;
use std::fmt::Write;

/// The place a plot has, in its own units.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 120.0;

/// Bars, one for each value, from left to right; a second value of each is drawn in front.
pub(super) fn bars(title: &str, values: &[(f64, f64)], labels: [&str; 2]) -> String {
    let most = values.iter().map(|(a, b)| a.max(*b)).fold(0.0, f64::max);
    let mut svg = begin(title);
    let step = WIDTH / values.len().max(1) as f64;
    for (at, (behind, front)) in values.iter().enumerate() {
        let x = step * at as f64;
        bar(&mut svg, "behind", x + 1.0, step - 2.0, share(*behind, most));
        bar(&mut svg, "front", x + step * 0.25, step * 0.5, share(*front, most));
    }
    finish(svg, labels, &figure(most))
}

/// One line over time; where there is no value it is broken.
pub(super) fn line(
    title: &str,
    values: &[Option<f64>],
    labels: [&str; 2],
    words: impl Fn(f64) -> String,
) -> String {
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let mut svg = begin(title);
    let step = WIDTH / values.len().max(1) as f64;
    let point = |(at, value): (usize, &Option<f64>)| {
        let x = step * (at as f64 + 0.5);
        value.map(|value| (x, HEIGHT - share(value, most) * HEIGHT))
    };
    let points: Vec<_> = values.iter().enumerate().filter_map(point).collect();
    let path: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = write!(svg, "<polyline points=\"{}\"/>", path.join(" "));
    for (x, y) in points {
        let _ = write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>");
    }
    finish(svg, labels, &words(most))
}

fn share(value: f64, most: f64) -> f64 {
    if most > 0.0 { (value / most).clamp(0.0, 1.0) } else { 0.0 }
}

fn bar(svg: &mut String, class: &str, x: f64, width: f64, share: f64) {
    let height = share * HEIGHT;
    let y = HEIGHT - height;
    let _ = write!(
        svg,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
    );
}

fn begin(title: &str) -> String {
    let mut svg = format!(
        "<svg class=\"plot\" viewBox=\"0 -14 {WIDTH} {}\" role=\"img\"><title>",
        HEIGHT + 30.0
    );
    escape(&mut svg, title);
    svg.push_str("</title>");
    let _ = write!(svg, "<line x1=\"0\" y1=\"{HEIGHT}\" x2=\"{WIDTH}\" y2=\"{HEIGHT}\"/>");
    svg
}

/// The ends of the axis below, and the highest value above.
fn finish(mut svg: String, [from, to]: [&str; 2], most: &str) -> String {
    let below = HEIGHT + 13.0;
    let mut text = |x: f64, y: f64, anchor: &str, words: &str| {
        let _ = write!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">");
        escape(&mut svg, words);
        svg.push_str("</text>");
    };
    text(0.0, below, "start", from);
    text(WIDTH, below, "end", to);
    text(0.0, -4.0, "start", most);
    svg.push_str("</svg>");
    svg
}

/// A figure in as few digits as it takes.
pub(super) fn figure(value: f64) -> String {
    match value {
        v if v >= 100.0 || v.fract() == 0.0 => format!("{v:.0}"),
        v => format!("{v:.1}"),
    }
}
