//! The card pane: facts first, the agent's text in a frame of its own, then the conditions of an answer, the answer
//! itself, and the timeline.

use super::super::keys::shown;
use super::super::paint::{Look, Paint, fit, lines_of};
use super::super::state::{Draft, Mode, Row, State};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use sayso_core::gate::{Fact, Gate};
use sayso_core::text::{harmless, harmless_line};
use sayso_core::{Digest, GateId, Kind, Risk, Shape, Verdict};
use sayso_server::keys::Action;
use sayso_server::prose;
use unicode_width::UnicodeWidthStr;

/// The number of options that have a key.
const KEYS_MAX: usize = 9;

/// The longest name of a fact that is aligned in the column.
const NAME_MAX: usize = 14;

/// A card as it is on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownCard {
    pub(crate) gate: GateId,
    pub(crate) digest: Digest,
    pub(crate) is_open: bool,
    pub(crate) frame: CardFrame,
}

/// The part of a card that is on the screen, in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CardFrame {
    /// The first line that is there.
    pub(crate) first: usize,
    /// The first line of what is asked that is below the screen.
    pub(crate) end: usize,
    /// So many lines there are of what is asked.
    pub(crate) asked: usize,
}

/// Draws the card under the cursor and returns its identity.
pub(super) fn draw(state: &State, paint: Paint, area: Rect, to: &mut Buffer) -> Option<ShownCard> {
    let Some(row) = state.here() else {
        if !state.list.rows.is_empty() {
            let words = format!("{} looks at the first card", shown(Action::Down));
            let place = Rect { y: area.y + 1, height: 1, ..area };
            paint.line(Look::Faint, words).render(place, to);
        }
        return None;
    };
    let (lines, asked) = lines(state, row, paint, usize::from(area.width));
    let room = usize::from(area.height);
    let first = state.scroll.min(lines.len().saturating_sub(room));
    // If there is more, the last line says so: nothing is cut silently.
    let below = lines.len().saturating_sub(first + room);
    let shown_lines = if below > 0 { room - 1 } else { room };
    for (line, y) in lines.iter().skip(first).take(shown_lines).zip(area.y..) {
        line.render(Rect { y, height: 1, ..area }, to);
    }
    if below > 0 {
        let key = shown(Action::ReadOn);
        let words = format!("↓ {} more lines ({key})", below + 1);
        let place = Rect { y: area.bottom() - 1, height: 1, ..area };
        paint.line(Look::Warn, fit(&words, usize::from(area.width))).render(place, to);
    }
    let gate = row.gate();
    let end = asked.min(first + shown_lines);
    let frame = CardFrame { first, end, asked };
    Some(ShownCard { gate: row.id(), digest: gate.digest.clone(), is_open: gate.is_open(), frame })
}

/// The number of lines the card has at this width.
pub(in crate::tui) fn height(state: &State, width: u16) -> usize {
    let paint = Paint { colour: false };
    state.here().map_or(0, |row| lines(state, row, paint, usize::from(width)).0.len())
}

/// A list of lines.
struct Page {
    paint: Paint,
    width: usize,
    lines: Vec<Line<'static>>,
}

impl Page {
    fn blank(&mut self) {
        self.lines.push(Line::default());
    }

    /// A text of many lines, behind a margin.
    fn text(&mut self, look: Look, margin: &str, raw: &str) {
        let pieces = lines_of(raw, self.width.saturating_sub(margin.width()));
        let line = |piece: String| self.paint.line(look, format!("{margin}{piece}"));
        let lines: Vec<_> = pieces.into_iter().map(line).collect();
        self.lines.extend(lines);
    }

    /// A line of our own. Only its beginning stands at the edge: names in it are other people's words.
    fn own(&mut self, look: Look, words: &str) {
        let pieces = lines_of(words, self.width.saturating_sub(2));
        for (at, piece) in pieces.into_iter().enumerate() {
            let margin = if at == 0 { "" } else { "  " };
            self.lines.push(self.paint.line(look, format!("{margin}{piece}")));
        }
    }

    fn heading(&mut self, words: &str) {
        self.blank();
        self.lines.push(self.paint.line(Look::Strong, words));
    }
}

/// The lines of a card, and the number of them that belong to the question: the keys and the timeline come behind
/// them.
fn lines(state: &State, row: &Row, paint: Paint, width: usize) -> (Vec<Line<'static>>, usize) {
    let gate = row.gate();
    let mut page = Page { paint, width, lines: vec![] };
    head(state, row, &mut page);
    facts(state, gate, &mut page);
    says(gate, &mut page);
    conditions(state, gate, &mut page);
    let mut asked = page.lines.len();
    if gate.is_open() {
        asked = answer(state, gate, &mut page);
    }
    way(state, row, &mut page);
    (page.lines, asked)
}

fn head(state: &State, row: &Row, page: &mut Page) {
    let (gate, paint) = (row.gate(), page.paint);
    let mut spans = vec![
        paint.span(Look::Name, gate.handle().to_owned()),
        paint.span(Look::Plain, format!("  {}", gate.opened.kind)),
    ];
    if gate.opened.risk > Risk::Medium {
        spans.push(paint.span(Look::Bad, format!("  {} risk", gate.opened.risk.as_str())));
    }
    let waited = prose::relative(gate.opened_at, state.now);
    let used = spans.iter().map(Span::width).sum::<usize>() + waited.width();
    spans.push(Span::raw(" ".repeat(page.width.saturating_sub(used))));
    let look = match gate.is_open() {
        true => prose::age(gate.opened_at, state.now).into(),
        false => Look::Faint,
    };
    spans.push(paint.span(look, waited));
    page.lines.push(Line::from(spans));
    let task = row.task.as_ref().map(|task| format!(", for task {task}")).unwrap_or_default();
    let lineage = &gate.opened.lineage;
    let launcher = lineage.launcher.as_ref().map(|name| format!(", launched by {name}"));
    let by = format!("{} {}", lineage.role.as_str(), lineage.asker);
    let words = format!("asked by {by}{}{task}", launcher.unwrap_or_default());
    page.own(Look::Faint, &harmless_line(&words));
    page.blank();
    // Behind a margin, as all foreign text: only our own lines stand at the edge.
    page.text(Look::Strong, "┃ ", &gate.card.question);
    let lines = prose::askers(&row.asked).into_iter().chain(prose::unblocked(&row.asked));
    lines.for_each(|line| page.own(Look::Plain, &line));
    let wrong = state.draft(gate).wrong;
    if gate.is_open() && !wrong.is_empty() {
        page.blank();
        page.own(Look::Bad, "! Your answer was not taken:");
        wrong.iter().for_each(|line| page.text(Look::Bad, "  ", line));
    }
    if !gate.is_open() {
        let (sign, look) = match gate.verdict() {
            Some(Verdict::Approved | Verdict::Answered) => ("✓", Look::Good),
            Some(Verdict::Rejected) => ("✗", Look::Bad),
            None => ("–", Look::Faint),
        };
        page.blank();
        page.own(look, &format!("{sign} {}", prose::ending_in_words(gate)));
    }
    let alerts = row.receipt.iter().flat_map(|receipt| &receipt.alerts);
    for alert in alerts {
        let words = harmless_line(&format!("! {}. {}", alert.what, alert.hint));
        page.own(Look::Warn, &words);
    }
}

fn facts(state: &State, gate: &Gate, page: &mut Page) {
    if gate.card.facts.is_empty() {
        return;
    }
    page.heading("Facts");
    let name = |fact: &Fact| harmless_line(&fact.name).width();
    let names = gate.card.facts.iter().map(name).filter(|width| *width <= NAME_MAX);
    let column = names.max().unwrap_or(0);
    let change = prose::change(gate);
    if let Some(change) = &change {
        self::change(state, change, page);
    }
    for fact in &gate.card.facts {
        // The argument from which a change was computed is shown only while the change is hidden.
        let is_told = change.is_some() && fact.verified && prose::is_of_the_call(fact);
        if !is_told || state.hides_diffs {
            self::fact(state, fact, column, page);
        }
    }
}

/// Draws the file change of a tool call, computed from its arguments.
fn change(state: &State, change: &prose::Change, page: &mut Page) {
    let key = shown(Action::Diff);
    let words = match state.hides_diffs {
        true => format!("hidden: {key} shows it"),
        false => format!("{key} shows the arguments as they were given"),
    };
    page.text(Look::Faint, "  ", &format!("change: {} ({words})", change.in_numbers()));
    if !state.hides_diffs {
        for line in &change.lines {
            match line.text.trim().is_empty() {
                true => page.blank(),
                false => page.text(line.part.into(), "    ", &line.text),
            }
        }
    }
    change.notes.iter().for_each(|note| page.text(Look::Warn, "    ", note));
}

fn fact(state: &State, fact: &Fact, column: usize, page: &mut Page) {
    let raw = match &fact.value {
        serde_json::Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let text = harmless(&raw).text;
    let name = harmless_line(&fact.name);
    let (look, mark) = match fact.verified {
        true => (Look::Faint, ""),
        false => (Look::Warn, " (only the asker says so)"),
    };
    let is_short = !text.contains('\n')
        && mark.is_empty()
        && name.width() <= NAME_MAX
        && column + 4 + text.width() <= page.width;
    if is_short {
        let gap = " ".repeat(column.saturating_sub(name.width()) + 2);
        let name = page.paint.span(look, format!("  {name}{gap}"));
        page.lines.push(Line::from(vec![name, Span::raw(text.replace('\t', "    "))]));
        return;
    }
    match prose::diff(&text) {
        None => {
            page.text(look, "  ", &format!("{name}{mark}"));
            page.text(Look::Plain, "    ", &raw);
        }
        Some(diff) => {
            let count = |part| diff.iter().filter(|line| line.part == part).count();
            let (added, removed) = (count(prose::Part::Added), count(prose::Part::Removed));
            let hidden = match state.hides_diffs {
                true => format!(", hidden: {} shows it", shown(Action::Diff)),
                false => String::new(),
            };
            let words = format!("{name}{mark}: +{added} -{removed}{hidden}");
            page.text(look, "  ", &words);
            if !state.hides_diffs {
                diff.iter().for_each(|line| page.text(line.part.into(), "    ", &line.text));
            }
        }
    }
}

/// Draws the asker's text in a frame, outside of which none of its lines can stand.
fn says(gate: &Gate, page: &mut Page) {
    if gate.card.narrative.is_empty() {
        return;
    }
    let faint = page.paint.style(Look::Faint);
    let inner = page.width.saturating_sub(4);
    let title = fit(prose::who_says(gate), inner.saturating_sub(2));
    let rule = "─".repeat((page.width).saturating_sub(title.width() + 5));
    page.blank();
    page.lines.push(Line::from(vec![
        Span::styled("┌─ ", faint),
        page.paint.span(Look::Strong, title),
        Span::styled(format!(" {rule}┐"), faint),
    ]));
    for piece in lines_of(&gate.card.narrative, inner) {
        let gap = " ".repeat(inner.saturating_sub(piece.width()));
        page.lines.push(Line::from(vec![
            Span::styled("│ ", faint),
            Span::raw(piece),
            Span::styled(format!("{gap} │"), faint),
        ]));
    }
    let rule = "─".repeat(page.width.saturating_sub(2));
    page.lines.push(Line::from(Span::styled(format!("└{rule}┘"), faint)));
}

/// Draws the conditions of an answer, the timeout action, and a warning about invisible characters.
fn conditions(state: &State, gate: &Gate, page: &mut Page) {
    let mut words = prose::conditions(gate, state.now);
    let spelt = prose::spelt_out(&gate.card);
    if spelt > 0 {
        words.push(format!("{spelt} invisible or control characters are spelt out on this card"));
    }
    if words.is_empty() {
        return;
    }
    page.blank();
    words.iter().for_each(|words| page.own(Look::Warn, &format!("! {words}")));
}

/// Draws the possible answers and the draft. Returns the number of lines that belong to the question.
fn answer(state: &State, gate: &Gate, page: &mut Page) -> usize {
    let before = page.lines.len();
    if !state.is_mine(gate) {
        page.blank();
        page.own(Look::Faint, "It is not yours to answer; you may watch.");
        return before;
    }
    let draft = state.draft(gate);
    page.heading("Your answer");
    match &gate.card.shape {
        Shape::Verdict => verdict(gate, &draft, page),
        Shape::Text => written(&draft.text, "nothing written yet", page),
        Shape::Choice { .. } => options(gate, &draft, page),
        Shape::Form { schema } => form(schema, &draft, page),
    }
    let asked = match &gate.card.shape {
        Shape::Verdict | Shape::Text => before,
        Shape::Choice { .. } | Shape::Form { .. } => page.lines.len(),
    };
    if !draft.reason.is_empty() {
        page.text(Look::Plain, "  ", &format!("with a word: {}", harmless_line(&draft.reason)));
    }
    let (yes, write) = match (&gate.card.shape, gate.opened.kind) {
        (Shape::Verdict, Kind::Work) => ("it is done", "say what was done"),
        (Shape::Verdict, _) if prose::arguments(gate).is_some() => {
            ("approve", "change the arguments")
        }
        (Shape::Verdict, Kind::Escalation) => ("approve", "give direction"),
        (Shape::Verdict, _) => ("approve", "add a word"),
        (Shape::Text, _) => ("answer", "write"),
        (Shape::Choice { other: true, .. }, _) => ("answer", "in words"),
        (Shape::Choice { other: false, .. }, _) => ("answer", "pick by name"),
        (Shape::Form { .. }, _) => ("answer", "fill in"),
    };
    // While a line is open, its own keys are the only ones.
    if matches!(state.mode, Mode::Field(_) | Mode::Cut(_)) {
        return asked;
    }
    let deeds = [
        (Action::Approve, yes),
        (Action::Reject, "reject"),
        (Action::Edit, write),
        (Action::Snooze, "put off"),
        (Action::Claim, if state.holds(gate) { "give back" } else { "take" }),
        (Action::Delegate, "hand on"),
    ];
    let mut spans = vec![Span::raw("  ")];
    let mut used = 2;
    for (action, word) in deeds {
        let key = shown(action);
        let wide = key.width() + word.width() + 4;
        if used + wide > page.width + 3 {
            page.lines.push(Line::from(std::mem::replace(&mut spans, vec![Span::raw("  ")])));
            used = 2;
        }
        used += wide;
        spans.push(page.paint.span(Look::Strong, key));
        spans.push(page.paint.span(Look::Faint, format!(" {word}   ")));
    }
    page.lines.push(Line::from(spans));
    asked
}

fn verdict(gate: &Gate, draft: &Draft, page: &mut Page) {
    if let Some(arguments) = &draft.arguments {
        page.text(Look::Warn, "  ", "a yes runs it with these arguments instead:");
        let text = serde_json::to_string_pretty(arguments).unwrap_or_default();
        page.text(Look::Plain, "    ", &text);
    }
    if gate.opened.kind == Kind::Escalation && !draft.text.is_empty() {
        written(&draft.text, "", page);
    }
}

fn written(text: &str, empty: &str, page: &mut Page) {
    match text.is_empty() {
        true => page.text(Look::Faint, "  ", empty),
        false => page.text(Look::Plain, "  ", text),
    }
}

fn options(gate: &Gate, draft: &Draft, page: &mut Page) {
    let Shape::Choice { options, multi, other } = &gate.card.shape else { return };
    if *multi {
        page.text(Look::Faint, "  ", "several may be picked");
    }
    for (at, option) in options.iter().enumerate() {
        let is_picked = draft.picked.contains(&at);
        let sign = match (multi, is_picked) {
            (true, true) => "[x]",
            (true, false) => "[ ]",
            (false, true) => "(•)",
            (false, false) => "( )",
        };
        let look = if is_picked { Look::Strong } else { Look::Plain };
        let name = harmless_line(&option.name);
        let no = if gate.card.shape.declines(&option.name) { prose::DECLINES } else { "" };
        page.text(look, "  ", &format!("{:>2} {sign} {name}{no}", at + 1));
        if !option.consequence.is_empty() {
            page.text(
                Look::Faint,
                "         ",
                &format!("→ {}", harmless_line(&option.consequence)),
            );
        }
    }
    if options.len() > KEYS_MAX {
        let words = format!("{} and up: {}, then the number", KEYS_MAX + 1, shown(Action::Edit));
        page.text(Look::Faint, "  ", &words);
    }
    match (other, draft.other.is_empty()) {
        (true, true) => page.text(Look::Faint, "  ", "or words of your own"),
        (_, false) => page.text(Look::Strong, "  ", &format!("in your words: {}", draft.other)),
        (false, true) => {}
    }
}

/// Draws the fields of a form, and the values filled in.
fn form(schema: &serde_json::Value, draft: &Draft, page: &mut Page) {
    for (depth, line) in prose::field_lines(&prose::fields(schema)) {
        let look = if depth == 0 { Look::Plain } else { Look::Faint };
        page.text(look, &format!("  {}", "  ".repeat(depth)), &line);
    }
    page.blank();
    match &draft.form {
        None => page.text(Look::Faint, "  ", "nothing filled in yet"),
        Some(form) => {
            page.text(Look::Strong, "  ", "filled in:");
            page.text(Look::Plain, "    ", &serde_json::to_string_pretty(form).unwrap_or_default());
        }
    }
}

fn way(state: &State, row: &Row, page: &mut Page) {
    let gate = row.gate();
    if let Some(receipt) = &row.receipt {
        page.heading("Its way");
        for step in &receipt.steps {
            let when = prose::relative(step.at, state.now);
            page.text(Look::Faint, "  ", &format!("{}, {when}", prose::step(step)));
        }
        if gate.revision > 1 {
            let words = format!("changed by its asker; this is card {} of it", gate.revision);
            page.text(Look::Faint, "  ", &words);
        }
        let onward = prose::onward(receipt);
        onward.iter().for_each(|line| page.text(Look::Plain, "  ", line));
    }
    page.blank();
    let words = format!("card {} of this gate, digest {}", gate.revision, gate.digest.short());
    page.own(Look::Faint, &words);
}
