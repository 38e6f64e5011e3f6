//! The card pane: facts first, the agent's text in a frame of its own, then the conditions of an answer, the answer
//! itself, and the timeline.

use super::super::keys::shown;
use super::super::state::{AnswerDraft, InboxRow, InboxState, InputMode};
use super::super::style::{StylePainter, TextStyle, fit, lines_of};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use sayso_core::gate::{CardFact, Gate};
use sayso_core::text::{sanitize, sanitize_line};
use sayso_core::{AnswerShape, Digest, GateId, GateKind, Risk, Verdict};
use sayso_server::keys::KeyAction;
use sayso_server::text;
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
pub(super) fn draw(
    state: &InboxState,
    paint: StylePainter,
    area: Rect,
    to: &mut Buffer,
) -> Option<ShownCard> {
    let Some(row) = state.here() else {
        if !state.list.rows.is_empty() {
            let words = format!("{} looks at the first card", shown(KeyAction::Down));
            let place = Rect { y: area.y + 1, height: 1, ..area };
            paint.line(TextStyle::Faint, words).render(place, to);
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
        let key = shown(KeyAction::ReadOn);
        let words = format!("↓ {} more lines ({key})", below + 1);
        let place = Rect { y: area.bottom() - 1, height: 1, ..area };
        paint.line(TextStyle::Warn, fit(&words, usize::from(area.width))).render(place, to);
    }
    let gate = row.gate();
    let end = asked.min(first + shown_lines);
    let frame = CardFrame { first, end, asked };
    Some(ShownCard { gate: row.id(), digest: gate.digest.clone(), is_open: gate.is_open(), frame })
}

/// The number of lines the card has at this width.
pub(in crate::tui) fn height(state: &InboxState, width: u16) -> usize {
    let paint = StylePainter { colour: false };
    state.here().map_or(0, |row| lines(state, row, paint, usize::from(width)).0.len())
}

/// A list of lines.
struct CardPage {
    paint: StylePainter,
    width: usize,
    lines: Vec<Line<'static>>,
}

impl CardPage {
    fn blank(&mut self) {
        self.lines.push(Line::default());
    }

    /// A text of many lines, behind a margin.
    fn text(&mut self, look: TextStyle, margin: &str, raw: &str) {
        let pieces = lines_of(raw, self.width.saturating_sub(margin.width()));
        let line = |piece: String| self.paint.line(look, format!("{margin}{piece}"));
        let lines: Vec<_> = pieces.into_iter().map(line).collect();
        self.lines.extend(lines);
    }

    /// A line of our own. Only its beginning stands at the edge: names in it are other people's words.
    fn own(&mut self, look: TextStyle, words: &str) {
        let pieces = lines_of(words, self.width.saturating_sub(2));
        for (at, piece) in pieces.into_iter().enumerate() {
            let margin = if at == 0 { "" } else { "  " };
            self.lines.push(self.paint.line(look, format!("{margin}{piece}")));
        }
    }

    fn heading(&mut self, words: &str) {
        self.blank();
        self.lines.push(self.paint.line(TextStyle::Strong, words));
    }
}

/// The lines of a card, and the number of them that belong to the question: the keys and the timeline come behind
/// them.
fn lines(
    state: &InboxState,
    row: &InboxRow,
    paint: StylePainter,
    width: usize,
) -> (Vec<Line<'static>>, usize) {
    let gate = row.gate();
    let mut page = CardPage { paint, width, lines: vec![] };
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

fn head(state: &InboxState, row: &InboxRow, page: &mut CardPage) {
    let (gate, paint) = (row.gate(), page.paint);
    let mut spans = vec![
        paint.span(TextStyle::Name, gate.handle().to_owned()),
        paint.span(TextStyle::Plain, format!("  {}", gate.opened.kind)),
    ];
    if gate.opened.risk > Risk::Medium {
        spans.push(paint.span(TextStyle::Bad, format!("  {} risk", gate.opened.risk.as_str())));
    }
    let waited = text::relative(gate.opened_at, state.now);
    let used = spans.iter().map(Span::width).sum::<usize>() + waited.width();
    spans.push(Span::raw(" ".repeat(page.width.saturating_sub(used))));
    let look =
        if gate.is_open() { text::age(gate.opened_at, state.now).into() } else { TextStyle::Faint };
    spans.push(paint.span(look, waited));
    page.lines.push(Line::from(spans));
    let task = row.task.as_ref().map(|task| format!(", for task {task}")).unwrap_or_default();
    let lineage = &gate.opened.lineage;
    let launcher = lineage.launcher.as_ref().map(|name| format!(", launched by {name}"));
    let by = format!("{} {}", lineage.role.as_str(), lineage.asker);
    let words = format!("asked by {by}{}{task}", launcher.unwrap_or_default());
    page.own(TextStyle::Faint, &sanitize_line(&words));
    page.blank();
    // Behind a margin, as all foreign text: only our own lines stand at the edge.
    page.text(TextStyle::Strong, "┃ ", &gate.card.question);
    let lines = text::askers(&row.asked).into_iter().chain(text::unblocked(&row.asked));
    lines.for_each(|line| page.own(TextStyle::Plain, &line));
    let wrong = state.draft(gate).wrong;
    if gate.is_open() && !wrong.is_empty() {
        page.blank();
        page.own(TextStyle::Bad, "! Your answer was not taken:");
        wrong.iter().for_each(|line| page.text(TextStyle::Bad, "  ", line));
    }
    if !gate.is_open() {
        let (sign, look) = match gate.verdict() {
            Some(Verdict::Approved | Verdict::Answered) => ("✓", TextStyle::Good),
            Some(Verdict::Rejected) => ("✗", TextStyle::Bad),
            None => ("–", TextStyle::Faint),
        };
        page.blank();
        page.own(look, &format!("{sign} {}", text::ending_in_words(gate)));
    }
    let alerts = row.receipt.iter().flat_map(|receipt| &receipt.alerts);
    for alert in alerts {
        let words = sanitize_line(&format!("! {}. {}", alert.what, alert.hint));
        page.own(TextStyle::Warn, &words);
    }
}

fn facts(state: &InboxState, gate: &Gate, page: &mut CardPage) {
    if gate.card.facts.is_empty() {
        return;
    }
    page.heading("Facts");
    let name = |fact: &CardFact| sanitize_line(&fact.name).width();
    let names = gate.card.facts.iter().map(name).filter(|width| *width <= NAME_MAX);
    let column = names.max().unwrap_or(0);
    let change = text::change(gate);
    if let Some(change) = &change {
        self::change(state, change, page);
    }
    for fact in &gate.card.facts {
        // The argument from which a change was computed is shown only while the change is hidden.
        let is_told = change.is_some() && fact.verified && text::is_of_the_call(fact);
        if !is_told || state.hides_diffs {
            self::fact(state, fact, column, page);
        }
    }
}

/// Draws the file change of a tool call, computed from its arguments.
fn change(state: &InboxState, change: &text::CallDiff, page: &mut CardPage) {
    let key = shown(KeyAction::Diff);
    let words = if state.hides_diffs {
        format!("hidden: {key} shows it")
    } else {
        format!("{key} shows the arguments as they were given")
    };
    page.text(TextStyle::Faint, "  ", &format!("change: {} ({words})", change.in_numbers()));
    if !state.hides_diffs {
        for line in &change.lines {
            if line.text.trim().is_empty() {
                page.blank()
            } else {
                page.text(line.part.into(), "    ", &line.text)
            }
        }
    }
    change.notes.iter().for_each(|note| page.text(TextStyle::Warn, "    ", note));
}

fn fact(state: &InboxState, fact: &CardFact, column: usize, page: &mut CardPage) {
    let raw = match &fact.value {
        serde_json::Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let text = sanitize(&raw).text;
    let name = sanitize_line(&fact.name);
    let (look, mark) = if fact.verified {
        (TextStyle::Faint, "")
    } else {
        (TextStyle::Warn, " (only the asker says so)")
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
    match text::diff(&text) {
        None => {
            page.text(look, "  ", &format!("{name}{mark}"));
            page.text(TextStyle::Plain, "    ", &raw);
        }
        Some(diff) => {
            let count = |part| diff.iter().filter(|line| line.part == part).count();
            let (added, removed) =
                (count(text::DiffLineKind::Added), count(text::DiffLineKind::Removed));
            let hidden = if state.hides_diffs {
                format!(", hidden: {} shows it", shown(KeyAction::Diff))
            } else {
                String::new()
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
fn says(gate: &Gate, page: &mut CardPage) {
    if gate.card.narrative.is_empty() {
        return;
    }
    let faint = page.paint.style(TextStyle::Faint);
    let inner = page.width.saturating_sub(4);
    let title = fit(text::who_says(gate), inner.saturating_sub(2));
    let rule = "─".repeat((page.width).saturating_sub(title.width() + 5));
    page.blank();
    page.lines.push(Line::from(vec![
        Span::styled("┌─ ", faint),
        page.paint.span(TextStyle::Strong, title),
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
fn conditions(state: &InboxState, gate: &Gate, page: &mut CardPage) {
    let mut words = text::conditions(gate, state.now);
    let spelt = text::spelt_out(&gate.card);
    if spelt > 0 {
        words.push(format!("{spelt} invisible or control characters are spelt out on this card"));
    }
    if words.is_empty() {
        return;
    }
    page.blank();
    words.iter().for_each(|words| page.own(TextStyle::Warn, &format!("! {words}")));
}

/// Draws the possible answers and the draft. Returns the number of lines that belong to the question.
fn answer(state: &InboxState, gate: &Gate, page: &mut CardPage) -> usize {
    let before = page.lines.len();
    if !state.is_mine(gate) {
        page.blank();
        page.own(TextStyle::Faint, "It is not yours to answer; you may watch.");
        return before;
    }
    let draft = state.draft(gate);
    page.heading("Your answer");
    match &gate.card.shape {
        AnswerShape::Verdict => verdict(gate, &draft, page),
        AnswerShape::Text => written(&draft.text, "nothing written yet", page),
        AnswerShape::Choice { .. } => options(gate, &draft, page),
        AnswerShape::Form { schema } => form(schema, &draft, page),
    }
    let asked = match &gate.card.shape {
        AnswerShape::Verdict | AnswerShape::Text => before,
        AnswerShape::Choice { .. } | AnswerShape::Form { .. } => page.lines.len(),
    };
    if !draft.reason.is_empty() {
        page.text(
            TextStyle::Plain,
            "  ",
            &format!("with a word: {}", sanitize_line(&draft.reason)),
        );
    }
    let (yes, write) = match (&gate.card.shape, gate.opened.kind) {
        (AnswerShape::Verdict, GateKind::Work) => ("it is done", "say what was done"),
        (AnswerShape::Verdict, _) if text::arguments(gate).is_some() => {
            ("approve", "change the arguments")
        }
        (AnswerShape::Verdict, GateKind::Escalation) => ("approve", "give direction"),
        (AnswerShape::Verdict, _) => ("approve", "add a word"),
        (AnswerShape::Text, _) => ("answer", "write"),
        (AnswerShape::Choice { other: true, .. }, _) => ("answer", "in words"),
        (AnswerShape::Choice { other: false, .. }, _) => ("answer", "pick by name"),
        (AnswerShape::Form { .. }, _) => ("answer", "fill in"),
    };
    // While a line is open, its own keys are the only ones.
    if matches!(state.mode, InputMode::Field(_) | InputMode::Cut(_)) {
        return asked;
    }
    let deeds = [
        (KeyAction::Approve, yes),
        (KeyAction::Reject, "reject"),
        (KeyAction::Edit, write),
        (KeyAction::Snooze, "put off"),
        (KeyAction::Claim, if state.holds(gate) { "give back" } else { "take" }),
        (KeyAction::Delegate, "hand on"),
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
        spans.push(page.paint.span(TextStyle::Strong, key));
        spans.push(page.paint.span(TextStyle::Faint, format!(" {word}   ")));
    }
    page.lines.push(Line::from(spans));
    asked
}

fn verdict(gate: &Gate, draft: &AnswerDraft, page: &mut CardPage) {
    if let Some(arguments) = &draft.arguments {
        page.text(TextStyle::Warn, "  ", "a yes runs it with these arguments instead:");
        let text = serde_json::to_string_pretty(arguments).unwrap_or_default();
        page.text(TextStyle::Plain, "    ", &text);
    }
    if gate.opened.kind == GateKind::Escalation && !draft.text.is_empty() {
        written(&draft.text, "", page);
    }
}

fn written(text: &str, empty: &str, page: &mut CardPage) {
    if text.is_empty() {
        page.text(TextStyle::Faint, "  ", empty)
    } else {
        page.text(TextStyle::Plain, "  ", text)
    }
}

fn options(gate: &Gate, draft: &AnswerDraft, page: &mut CardPage) {
    let AnswerShape::Choice { options, multi, other } = &gate.card.shape else { return };
    if *multi {
        page.text(TextStyle::Faint, "  ", "several may be picked");
    }
    for (at, option) in options.iter().enumerate() {
        let is_picked = draft.picked.contains(&at);
        let sign = match (multi, is_picked) {
            (true, true) => "[x]",
            (true, false) => "[ ]",
            (false, true) => "(•)",
            (false, false) => "( )",
        };
        let look = if is_picked { TextStyle::Strong } else { TextStyle::Plain };
        let name = sanitize_line(&option.name);
        let no = if gate.card.shape.declines(&option.name) { text::DECLINES } else { "" };
        page.text(look, "  ", &format!("{:>2} {sign} {name}{no}", at + 1));
        if !option.consequence.is_empty() {
            page.text(
                TextStyle::Faint,
                "         ",
                &format!("→ {}", sanitize_line(&option.consequence)),
            );
        }
    }
    if options.len() > KEYS_MAX {
        let words = format!("{} and up: {}, then the number", KEYS_MAX + 1, shown(KeyAction::Edit));
        page.text(TextStyle::Faint, "  ", &words);
    }
    match (other, draft.other.is_empty()) {
        (true, true) => page.text(TextStyle::Faint, "  ", "or words of your own"),
        (_, false) => {
            page.text(TextStyle::Strong, "  ", &format!("in your words: {}", draft.other))
        }
        (false, true) => {}
    }
}

/// Draws the fields of a form, and the values filled in.
fn form(schema: &serde_json::Value, draft: &AnswerDraft, page: &mut CardPage) {
    for (depth, line) in text::field_lines(&text::fields(schema)) {
        let look = if depth == 0 { TextStyle::Plain } else { TextStyle::Faint };
        page.text(look, &format!("  {}", "  ".repeat(depth)), &line);
    }
    page.blank();
    match &draft.form {
        None => page.text(TextStyle::Faint, "  ", "nothing filled in yet"),
        Some(form) => {
            page.text(TextStyle::Strong, "  ", "filled in:");
            page.text(
                TextStyle::Plain,
                "    ",
                &serde_json::to_string_pretty(form).unwrap_or_default(),
            );
        }
    }
}

fn way(state: &InboxState, row: &InboxRow, page: &mut CardPage) {
    let gate = row.gate();
    if let Some(receipt) = &row.receipt {
        page.heading("Its way");
        for step in &receipt.steps {
            let when = text::relative(step.at, state.now);
            page.text(TextStyle::Faint, "  ", &format!("{}, {when}", text::step(step)));
        }
        if gate.revision > 1 {
            let words = format!("changed by its asker; this is card {} of it", gate.revision);
            page.text(TextStyle::Faint, "  ", &words);
        }
        let onward = text::follow_up_lines(receipt);
        onward.iter().for_each(|line| page.text(TextStyle::Plain, "  ", line));
    }
    page.blank();
    let words = format!("card {} of this gate, digest {}", gate.revision, gate.digest.short());
    page.own(TextStyle::Faint, &words);
}
