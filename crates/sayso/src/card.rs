//! Formatting gates and tasks for the terminal: cards and rows. Text of agents passes through [`sayso_core::text`]
//! before it is printed here.

use crate::output::{CliOutput, OutputStyle};
use crate::time;
use sayso_core::gate::{
    DeliveryState, Gate, GateDelegation, Receipt, ReceiptStage, ReceiptStep, WENT_ON,
};
use sayso_core::text::{sanitize, sanitize_line, shorten};
use sayso_core::{AnswerShape, Approvers, Role, Timestamp, Verdict};
use sayso_engine::worker::FLOW;
use sayso_engine::{CardView, TaskRow};
use sayso_server::text::{self, conditions, list_notes};

use sayso_server::text::signed;
pub(crate) use sayso_server::text::{ending_in_words, follow_up_lines, how_to_answer};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Formats a gate as two lines of a list. `task` is the displayed ID of the waiting task.
pub(crate) fn gate_row(out: &CliOutput, gate: &Gate, task: Option<&str>, now: Timestamp) -> String {
    row(out, gate, task, None, now)
}

/// Formats a card as lines of a list.
pub(crate) fn asked_row(
    out: &CliOutput,
    asked: &CardView,
    task: Option<&str>,
    now: Timestamp,
) -> String {
    row(out, &asked.gate, task, text::unblocks(asked), now)
}

fn row(
    out: &CliOutput,
    gate: &Gate,
    task: Option<&str>,
    unblocks: Option<String>,
    now: Timestamp,
) -> String {
    let width = out.width().saturating_sub(24).max(20);
    let question = shorten(&sanitize_line(&gate.card.question), width);
    let age = time::relative(gate.opened_at, now);
    let icon = pad(gate_icon(out, gate), 2);
    let head = format!(
        "{icon} {}  {}  {question}",
        out.paint(OutputStyle::Name, gate.handle()),
        pad(gate.opened.kind.as_str(), 10),
    );
    let by = sanitize_line(&gate.opened.lineage.asker);
    let task = task.map(|handle| format!(", for task {handle}")).unwrap_or_default();
    let state = if gate.is_open() {
        unblocks.iter().chain(&list_notes(gate, now)).map(|part| format!(", {part}")).collect()
    } else {
        format!(", {}", ending_in_words(gate))
    };
    let below = indented(out, &format!("asked {age} by {by}{task}{state}"), "   ");
    let below: Vec<_> = below.iter().map(|line| out.paint(OutputStyle::Faint, line)).collect();
    format!("{head}\n{}", below.join("\n"))
}

/// Formats a gate in full: facts first, then the asker's text apart, then the answer commands.
pub(crate) fn gate_card(out: &CliOutput, gate: &Gate, now: Timestamp) -> String {
    with_answers(out, gate, gate_question(out, gate, now))
}

/// Formats a gate in full, with every agent that asks the same question.
pub(crate) fn asked_card(out: &CliOutput, asked: &CardView, now: Timestamp) -> String {
    let mut card = gate_question(out, &asked.gate, now);
    for line in askers(out, asked, "") {
        card.push_str(&format!("\n{line}"));
    }
    with_answers(out, &asked.gate, card)
}

/// Lists the other agents that ask the same question; one answer goes to all of them.
pub(crate) fn askers(out: &CliOutput, asked: &CardView, margin: &str) -> Vec<String> {
    let unblocked = text::unblocked(asked).filter(|_| !asked.first.is_empty());
    let lines =
        text::askers(asked).into_iter().chain(unblocked).chain(text::rejections_warning(asked));
    let lines = lines.flat_map(|line| indented(out, &line, margin));
    lines.map(|line| out.paint(OutputStyle::Strong, &line)).collect()
}

fn with_answers(out: &CliOutput, gate: &Gate, mut card: String) -> String {
    if gate.is_open() {
        let how = how_to_answer(gate);
        let how: Vec<_> = how.iter().map(|how| format!("  {how}")).collect();
        card.push_str(&format!("\n\n{}\n", out.paint(OutputStyle::Strong, "Answer with:")));
        card.push_str(&how.join("\n"));
    }
    card
}

/// Formats a gate without the answer commands, for callers that prompt for the answer right below.
pub(crate) fn gate_question(out: &CliOutput, gate: &Gate, now: Timestamp) -> String {
    let mut lines = vec![head(out, gate), String::new()];
    lines.extend(indented(out, &gate.card.question, "  "));
    facts(out, gate, &mut lines);
    if !gate.card.narrative.is_empty() {
        let who =
            if gate.opened.lineage.role == Role::Agent { "The agent says" } else { "Context" };
        lines.push(String::new());
        lines.push(out.paint(OutputStyle::Strong, &format!("{who}:")));
        lines.extend(indented(out, &gate.card.narrative, out.icon("  │ ", "  | ")));
    }
    match &gate.card.shape {
        AnswerShape::Choice { .. } => options(out, gate, &mut lines),
        AnswerShape::Form { schema } => form(out, schema, &mut lines),
        AnswerShape::Verdict | AnswerShape::Text => {}
    }
    lines.push(String::new());
    let conditions = conditions(gate, now);
    if !conditions.is_empty() {
        lines.push(out.paint(OutputStyle::Warn, &conditions.join("; ")));
    }
    receipts(out, gate, now, &mut lines);
    lines.join("\n")
}

fn head(out: &CliOutput, gate: &Gate) -> String {
    let state = match gate.state() {
        "open" => out.paint(OutputStyle::Warn, &format!("waits for {}", waits_for(gate))),
        _ => ending_in_words(gate),
    };
    let name = out.paint(OutputStyle::Name, gate.handle());
    format!("{} gate {name} ({}), {state}", gate_icon(out, gate), gate.opened.kind)
}

/// The approvers an open gate waits for, or "you" if anyone may answer.
fn waits_for(gate: &Gate) -> String {
    let asked: Vec<_> = gate.approvers().map(Approvers::in_words).collect();
    if gate.approvers().any(|approvers| *approvers == Approvers::Anyone) {
        "you".to_owned()
    } else {
        sanitize_line(&asked.join(", or "))
    }
}

/// The symbol for the state of a gate.
fn gate_icon(out: &CliOutput, gate: &Gate) -> &'static str {
    match (gate.state(), gate.answer().map(|(answer, _)| answer.verdict)) {
        ("open", _) => out.icon("❓", "[?]"),
        (_, Some(Verdict::Approved | Verdict::Answered)) => out.icon("✓", "[x]"),
        (_, Some(Verdict::Rejected)) => out.icon("✗", "[!]"),
        (_, None) => out.icon("–", "[-]"),
    }
}

fn facts(out: &CliOutput, gate: &Gate, lines: &mut Vec<String>) {
    if gate.card.facts.is_empty() {
        return;
    }
    lines.push(String::new());
    lines.push(out.paint(OutputStyle::Strong, "Facts:"));
    if let Some(change) = text::change(gate) {
        lines.push(format!("  change: {}", change.in_numbers()));
        for line in &change.lines {
            if line.text.trim().is_empty() {
                lines.push(String::new())
            } else {
                lines.extend(indented(out, &line.text, "    "))
            }
        }
        lines.extend(change.notes.iter().flat_map(|note| indented(out, note, "    ")));
    }
    for fact in &gate.card.facts {
        let value = match &fact.value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let mark = if fact.verified { "" } else { " (unverified: only the asker says so)" };
        lines.push(format!("  {}{mark}:", sanitize_line(&fact.name)));
        lines.extend(indented(out, &value, "    "));
    }
}

fn options(out: &CliOutput, gate: &Gate, lines: &mut Vec<String>) {
    let AnswerShape::Choice { options, multi, other } = &gate.card.shape else { return };
    lines.push(String::new());
    let title = if *multi { "Options (several may be picked):" } else { "Options:" };
    lines.push(out.paint(OutputStyle::Strong, title));
    for (at, option) in options.iter().enumerate() {
        let name = sanitize_line(&option.name);
        let leads_to = match option.consequence.as_str() {
            "" => String::new(),
            text => format!(" {} {}", out.icon("→", "->"), sanitize_line(text)),
        };
        let no = if gate.card.shape.declines(&option.name) { text::DECLINES } else { "" };
        lines.push(format!("  {}. {name}{no}{leads_to}", at + 1));
    }
    if *other {
        lines.push("  or words of your own".into());
    }
}

/// Lists the fields of a form.
fn form(out: &CliOutput, schema: &serde_json::Value, lines: &mut Vec<String>) {
    lines.push(String::new());
    lines.push(out.paint(OutputStyle::Strong, "Form:"));
    for (depth, line) in text::field_lines(&text::fields(schema)) {
        lines.extend(indented(out, &line, &"  ".repeat(depth + 1)));
    }
}

/// The timeline of a gate in a line: asked 14:00 · seen by ann 14:01 · answered 14:02 · …
pub(crate) fn timeline(out: &CliOutput, gate: &Gate, receipt: &Receipt) -> String {
    let day = |at: Timestamp| time::local(at).split(' ').next().map(str::to_owned);
    let asked_on = day(gate.opened_at);
    let time = |at: Timestamp| {
        let local = time::local(at);
        // The day is printed once.
        if day(at) == asked_on {
            local.split(' ').next_back().unwrap_or_default().to_owned()
        } else {
            local
        }
    };
    let asker = match gate.opened.lineage.role {
        Role::Agent => "the agent",
        Role::Human | Role::Operator | Role::Admin | Role::Auditor | Role::Service => "the asker",
    };
    let step = |step: &ReceiptStep| {
        let (by, at) = (sanitize_line(&step.by), time(step.at));
        match step.stage {
            ReceiptStage::Asked => format!("asked {}", time::local(step.at)),
            ReceiptStage::Seen => format!("seen by {by} {at}"),
            ReceiptStage::Delegated => {
                format!("handed on by {by} {} {at}", sanitize_line(&step.note))
            }
            ReceiptStage::Voted => format!("{} by {by} {at}", step.note),
            ReceiptStage::Answered => format!("answered by {by} {at}"),
            ReceiptStage::Ended => format!("{} {at}", shorten(&sanitize_line(&step.note), 40)),
            ReceiptStage::Delivered => format!("delivered {at}"),
            ReceiptStage::Failed => format!("delivery failed {at}"),
            ReceiptStage::Acted if step.note == WENT_ON => format!("{asker} went on {at}"),
            ReceiptStage::Acted => format!("{} {at}", shorten(&sanitize_line(&step.note), 40)),
        }
    };
    receipt.steps.iter().map(step).collect::<Vec<_>>().join(out.icon(" · ", " - "))
}

fn receipts(out: &CliOutput, gate: &Gate, now: Timestamp, lines: &mut Vec<String>) {
    let mut receipt = |what: &str, at: Timestamp| {
        let when = format!("{} ({})", time::relative(at, now), time::local(at));
        lines.push(out.paint(OutputStyle::Faint, &format!("{what}, {when}")));
    };
    let lineage = &gate.opened.lineage;
    let through = lineage.launcher.as_ref().map(|l| format!(", launched by {l}"));
    let asker = sanitize_line(&lineage.asker);
    let role = lineage.role.as_str();
    receipt(&format!("asked by {role} {asker}{}", through.unwrap_or_default()), gate.opened_at);
    for seen in &gate.seen {
        receipt(&format!("seen by {}", sanitize_line(&seen.by)), seen.at);
    }
    for GateDelegation { from, to, reason, at } in &gate.delegations {
        let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        receipt(&sanitize_line(&format!("handed by {from} to {to}{why}")), *at);
    }
    for vote in &gate.votes {
        receipt(&format!("{} by {}", vote.answer.verdict, signed(&vote.by)), vote.by.at);
    }
    if let Some(ending) = &gate.ending {
        receipt(&ending_in_words(gate), ending.at());
    }
    if let Some(acted) = &gate.acted {
        receipt(&sanitize_line(&acted.what), acted.at);
    }
    match &gate.delivery {
        DeliveryState::None | DeliveryState::Pending { .. } => {}
        DeliveryState::Delivered { at } => receipt("delivered", *at),
        DeliveryState::Acknowledged { at } => receipt("delivered, and the asker went on", *at),
        DeliveryState::Never { at, why } => {
            receipt(&format!("never delivered: {}", sanitize_line(why)), *at);
        }
        DeliveryState::Failed { at, attempts, why } => {
            receipt(&format!("delivery failed {attempts} times ({})", sanitize_line(why)), *at);
        }
    }
    let shown = gate.digest.short();
    lines.push(out.paint(
        OutputStyle::Faint,
        &format!("card {} of this gate, digest {shown}", gate.revision),
    ));
    let spelt = text::spelt_out(&gate.card);
    if spelt > 0 {
        let warning = format!("{spelt} invisible or control characters are spelt out above");
        lines.push(out.paint(OutputStyle::Warn, &warning));
    }
}

/// Formats a task as a line of a list.
pub(crate) fn task_row(out: &CliOutput, row: &TaskRow) -> String {
    let task = &row.task;
    let state = task.shown_state(row.blockers > 0);
    let size = task.size.as_deref().map(|s| format!("  {}", sanitize_line(s))).unwrap_or_default();
    let look = match state {
        "awaiting_input" => OutputStyle::Warn,
        "failed" => OutputStyle::Bad,
        "closed" => OutputStyle::Good,
        _ => OutputStyle::Faint,
    };
    let width = out.width().saturating_sub(40).max(20);
    format!(
        "{} {}  P{}{size}  {} {}{}",
        pad(out.state_icon(state), 2),
        out.paint(OutputStyle::Name, &pad(&task.handle, 5)),
        task.priority,
        out.paint(look, &format!("[{state}]")),
        shorten(&sanitize_line(&task.title), width),
        labels(out, row),
    )
}

/// The flow that leads the task, and its labels. The label of that flow is left out, since the name says the same.
fn labels(out: &CliOutput, row: &TaskRow) -> String {
    let led = row.flow.as_ref().map(|flow| format!("  led by flow {flow}")).unwrap_or_default();
    let is_told = |label: &&String| row.flow.is_none() || !label.starts_with(FLOW);
    let labels = row.task.labels.iter().filter(is_told);
    let shown: String = labels.map(|label| format!(" #{}", sanitize_line(label))).collect();
    out.paint(OutputStyle::Faint, &format!("{led}{shown}"))
}

/// Formats the question of a waiting task, to stand below its row.
pub(crate) fn question_below(out: &CliOutput, gate: &Gate, now: Timestamp) -> String {
    let width = out.width().saturating_sub(19).max(20);
    let mut text = format!(
        "         {} {} {}",
        out.icon("❓", "[?]"),
        out.paint(OutputStyle::Name, gate.handle()),
        shorten(&sanitize_line(&gate.card.question), width)
    );
    if !gate.card.narrative.is_empty() {
        let context = shorten(&sanitize_line(&gate.card.narrative), width);
        text.push_str(&format!("\n         Context: {context}"));
    }
    text.push_str(&format!("\n         Asked: {}", time::relative(gate.opened_at, now)));
    text
}

/// A text of many lines, made harmless, each line behind `margin`. Long lines are broken here: a line broken by the
/// terminal itself would leave the margin.
pub(crate) fn indented(out: &CliOutput, raw: &str, margin: &str) -> Vec<String> {
    let text = sanitize(raw).text.replace('\t', "    ");
    let room = out.wrap_width().map(|width| width.saturating_sub(margin.width()).max(10));
    let pieces = text.lines().flat_map(|line| match room {
        Some(room) => broken(line, room),
        None => vec![line.to_owned()],
    });
    pieces.map(|piece| format!("{margin}{piece}")).collect()
}

/// Breaks a line into pieces of at most `room` columns, at a blank where there is one.
pub(crate) fn broken(line: &str, room: usize) -> Vec<String> {
    let (mut pieces, mut piece, mut width) = (vec![], String::new(), 0);
    for c in line.chars() {
        let columns = c.width().unwrap_or(0);
        if width + columns > room {
            // The blank at the break is dropped: the break stands for it.
            let blank = if c == ' ' { Some(piece.len()) } else { piece.rfind(' ') };
            let rest = match blank.filter(|at| !piece[..*at].trim().is_empty()) {
                Some(at) => piece.split_off(at).trim_start().to_owned(),
                None => String::new(),
            };
            pieces.push(std::mem::replace(&mut piece, rest));
            width = piece.width();
            if c == ' ' && piece.is_empty() {
                continue;
            }
        }
        piece.push(c);
        width += columns;
    }
    if !piece.is_empty() || pieces.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// Pads to a width in terminal columns, which is not a count of bytes or characters.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_and_nothing_is_lost() {
        let words = "one two three four";
        assert_eq!(broken(words, 9), ["one two", "three", "four"]);
        assert_eq!(broken("    indented text", 12), ["    indented", "text"]);
        assert_eq!(broken("xxxxxxxxxxxx", 5), ["xxxxx", "xxxxx", "xx"]);
        assert_eq!(broken("日本語日本語", 5), ["日本", "語日", "本語"]);
        assert_eq!(broken("abc ", 3), ["abc"]);
        assert_eq!(broken("", 5), [""]);
    }
}
