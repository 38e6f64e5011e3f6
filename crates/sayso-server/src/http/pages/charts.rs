//! Small charts as SVG. Each has a title and stands beside its figures, for those who do not see it.

use super::markdown::escape;
use sayso_core::text::shorten;
use std::fmt::Write;

/// The size of a plot, in its own units.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 120.0;

/// Draws bars, one for each value, from left to right; a second value of each is drawn in front.
pub(super) fn bars(title: &str, values: &[(f64, f64)], labels: [&str; 2]) -> String {
    let most = values.iter().map(|(a, b)| a.max(*b)).fold(0.0, f64::max);
    // Half of it is a whole number, too: there is no half question.
    let most = (most / 2.0).ceil() * 2.0;
    let mut svg = begin(title, HEIGHT);
    let step = WIDTH / values.len().max(1) as f64;
    for (at, (behind, front)) in values.iter().enumerate() {
        let x = step * at as f64;
        bar(&mut svg, "behind", x + 1.0, step - 2.0, share(*behind, most));
        bar(&mut svg, "front", x + step * 0.25, step * 0.5, share(*front, most));
    }
    finish(svg, labels, [&figure(most / 2.0), &figure(most)])
}

/// Draws a few columns with a name each, and their value on top.
pub(super) fn columns(title: &str, values: &[(&str, &str, u64)]) -> String {
    let most = values.iter().map(|(.., value)| *value).max().unwrap_or(0) as f64;
    let mut svg = begin(title, HEIGHT);
    let step = WIDTH / values.len().max(1) as f64;
    for (at, (name, class, value)) in values.iter().enumerate() {
        let (x, share) = (step * at as f64, share(*value as f64, most));
        bar(&mut svg, class, x + step * 0.2, step * 0.6, share);
        let (middle, top) = (x + step * 0.5, HEIGHT - share * HEIGHT - 3.0);
        text(&mut svg, (middle, top), "middle", &value.to_string());
        text(&mut svg, (middle, BELOW), "middle", name);
    }
    svg + "</svg>"
}

/// Draws a row for each name: the share of yes among yes and no.
pub(super) fn shares(title: &str, rows: &[(&str, u64, u64)]) -> String {
    let mut svg = begin(title, ROW * rows.len() as f64);
    for (at, (name, yes, no)) in rows.iter().enumerate() {
        let (y, all) = (ROW * at as f64, (yes + no).max(1) as f64);
        let split = NAMED + (WIDTH - NAMED - RATE) * *yes as f64 / all;
        for (class, from, to) in [("yes", NAMED, split), ("no", split, WIDTH - RATE)] {
            let width = to - from;
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/>",
                y + 3.0,
                ROW - 6.0
            );
        }
        let base = y + ROW * 0.5 + 4.0;
        text(&mut svg, (0.0, base), "start", &shorten(name, NAME_CHARS_MAX));
        let rate = format!("{:.0} % of {}", *yes as f64 * 100.0 / all, yes + no);
        text(&mut svg, (WIDTH, base), "end", &rate);
    }
    svg + "</svg>"
}

/// The layout of a plot with rows: the height of a row, and the widths of its name and its rate.
const ROW: f64 = 22.0;
const NAMED: f64 = 130.0;
const RATE: f64 = 80.0;
const NAME_CHARS_MAX: usize = 20;

/// Draws one line over time; where there is no value it has no point.
pub(super) fn line(
    title: &str,
    values: &[Option<f64>],
    labels: [&str; 2],
    words: impl Fn(f64) -> String,
) -> String {
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let mut svg = begin(title, HEIGHT);
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
    finish(svg, labels, [&words(most / 2.0), &words(most)])
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

fn begin(title: &str, height: f64) -> String {
    let mut svg = format!(
        "<svg class=\"plot\" viewBox=\"0 -14 {WIDTH} {}\" role=\"img\"><title>",
        height + 30.0
    );
    escape(&mut svg, title);
    svg.push_str("</title>");
    let _ = write!(svg, "<line x1=\"0\" y1=\"{height}\" x2=\"{WIDTH}\" y2=\"{height}\"/>");
    svg
}

/// The position of the words below a plot.
const BELOW: f64 = HEIGHT + 13.0;

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">");
    escape(svg, words);
    svg.push_str("</text>");
}

/// Finishes a plot: labels the ends of the axis, and adds a line with its value half-way up and one at the top.
fn finish(mut svg: String, [from, to]: [&str; 2], [half, most]: [&str; 2]) -> String {
    text(&mut svg, (0.0, BELOW), "start", from);
    text(&mut svg, (WIDTH, BELOW), "end", to);
    for (y, value) in [(HEIGHT / 2.0, half), (0.0, most)] {
        let _ = write!(svg, "<line x1=\"0\" y1=\"{y}\" x2=\"{WIDTH}\" y2=\"{y}\"/>");
        text(&mut svg, (0.0, y - 4.0), "start", value);
    }
    svg + "</svg>"
}

/// Formats a figure in as few digits as it takes.
pub(super) fn figure(value: f64) -> String {
    match value {
        v if v >= 100.0 || v.fract() == 0.0 => format!("{v:.0}"),
        v => format!("{v:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_as_long_as_its_share() {
        let plot = shares("By rule", &[("deploy", 3, 1), ("<b>", 0, 2)]);
        // Of 150 in all, three quarters.
        assert!(plot.contains("class=\"yes\" x=\"130.0\" y=\"3.0\" width=\"112.5\""), "{plot}");
        assert!(plot.contains("75 % of 4") && plot.contains("0 % of 2"), "{plot}");
        assert!(plot.contains("&lt;b&gt;") && !plot.contains("<b>"), "{plot}");
    }

    #[test]
    fn lines_for_counts_stand_at_whole_numbers() {
        let plot = bars("Asked", &[(3.0, 1.0), (1.0, 0.0)], ["then", "now"]);
        assert!(plot.contains(">2</text>") && plot.contains(">4</text>"), "{plot}");
        assert!(!plot.contains(">1.5</text>"), "{plot}");
    }

    #[test]
    fn nothing_is_no_column_and_no_division() {
        let plot = columns("Ages", &[("an hour", "waiting", 0), ("longer", "old", 0)]);
        assert!(plot.contains("height=\"0.0\"") && !plot.contains("NaN"), "{plot}");
        let plot = columns("Ages", &[("an hour", "waiting", 2), ("longer", "old", 4)]);
        assert!(plot.contains("height=\"60.0\"") && plot.contains("height=\"120.0\""), "{plot}");
    }
}
