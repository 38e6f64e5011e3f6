//! Cards and rows: how gates and tasks look in the terminal. Everything an agent wrote passes
//! through [`sayso_core::text`] on its way here.

use crate::out::{Look, Out};
use crate::when;
use sayso_core::gate::{Delivery, Ending, Gate};
use sayso_core::text::{harmless, harmless_line, shorten};
use sayso_core::{Role, Shape, Timestamp, Verdict};
use sayso_engine::TaskRow;
use unicode_width::UnicodeWidthStr;

/// A gate as one or two lines of a list.
pub(crate) fn gate_row(out: &Out, gate: &Gate, now: Timestamp) -> String {
    let width = out.width().saturating_sub(30).max(20);
    let question = shorten(&harmless_line(&gate.card.question), width);
    let age = when::relative(gate.opened_at, now);
    let icon = if gate.is_open() { out.icon("❓", "[?]") } else { out.icon("✓", "[x]") };
    let head = format!(
        "{icon} {}  {}  {question}",
        out.paint(Look::Name, gate.handle()),
        pad(gate.opened.kind.as_str(), 10),
    );
    let by = harmless_line(&gate.opened.lineage.asker);
    let state = if gate.is_open() { String::new() } else { format!(", {}", ending_in_words(gate)) };
    format!("{head}\n   {}", out.paint(Look::Faint, &format!("asked {age} by {by}{state}")))
}

/// A gate in full: facts first, what the asker says apart, then how to answer.
pub(crate) fn gate_card(out: &Out, gate: &Gate, now: Timestamp) -> String {
    let mut lines = vec![head(out, gate), String::new()];
    lines.extend(indented(&gate.card.question, "  "));
    facts(out, gate, &mut lines);
    if !gate.card.narrative.is_empty() {
        let who =
            if gate.opened.lineage.role == Role::Agent { "The agent says" } else { "Context" };
        lines.push(String::new());
        lines.push(out.paint(Look::Strong, &format!("{who}:")));
        lines.extend(indented(&gate.card.narrative, out.icon("  │ ", "  | ")));
    }
    options(out, gate, &mut lines);
    lines.push(String::new());
    receipts(out, gate, now, &mut lines);
    if gate.is_open() {
        lines.push(String::new());
        let how = gate.card.shape.how_to_answer().replace("ID", gate.handle());
        lines.push(format!("{} {how}", out.paint(Look::Strong, "Answer with:")));
    }
    lines.join("\n")
}

fn head(out: &Out, gate: &Gate) -> String {
    let state = match gate.state() {
        "open" => out.paint(Look::Warn, "waits for you"),
        _ => ending_in_words(gate),
    };
    let name = out.paint(Look::Name, gate.handle());
    format!("{} gate {name} ({}), {state}", out.icon("❓", "[?]"), gate.opened.kind)
}

fn facts(out: &Out, gate: &Gate, lines: &mut Vec<String>) {
    if gate.card.facts.is_empty() {
        return;
    }
    lines.push(String::new());
    lines.push(out.paint(Look::Strong, "Facts:"));
    for fact in &gate.card.facts {
        let value = match &fact.value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let mark = if fact.verified { "" } else { " (unverified: only the asker says so)" };
        lines.push(format!("  {}{mark}:", harmless_line(&fact.name)));
        lines.extend(indented(&value, "    "));
    }
}

fn options(out: &Out, gate: &Gate, lines: &mut Vec<String>) {
    let Shape::Choice { options, multi, other } = &gate.card.shape else { return };
    lines.push(String::new());
    let title = if *multi { "Options (several may be picked):" } else { "Options:" };
    lines.push(out.paint(Look::Strong, title));
    for (at, option) in options.iter().enumerate() {
        let name = harmless_line(&option.name);
        let leads_to = match option.consequence.as_str() {
            "" => String::new(),
            text => format!(" {} {}", out.icon("→", "->"), harmless_line(text)),
        };
        lines.push(format!("  {}. {name}{leads_to}", at + 1));
    }
    if *other {
        lines.push("  or words of your own: --other \"…\"".into());
    }
}

fn receipts(out: &Out, gate: &Gate, now: Timestamp, lines: &mut Vec<String>) {
    let mut receipt = |what: &str, at: Timestamp| {
        let when = format!("{} ({})", when::local(at), when::relative(at, now));
        lines.push(out.paint(Look::Faint, &format!("{what} {when}")));
    };
    let lineage = &gate.opened.lineage;
    let through = lineage.launcher.as_ref().map(|l| format!(", launched by {l}"));
    let asker = harmless_line(&lineage.asker);
    let role = lineage.role.as_str();
    receipt(&format!("asked by {role} {asker}{}", through.unwrap_or_default()), gate.opened_at);
    for seen in &gate.seen {
        receipt(&format!("seen by {}", seen.by), seen.at);
    }
    for vote in &gate.votes {
        receipt(&format!("{} by {}", vote.answer.verdict, vote.by.name), vote.by.at);
    }
    if let Some(ending) = &gate.ending {
        receipt(&ending_in_words(gate), ending.at());
    }
    match &gate.delivery {
        Delivery::None | Delivery::Pending { .. } => {}
        Delivery::Delivered { at } => receipt("delivered", *at),
        Delivery::Acknowledged { at } => receipt("delivered, and the asker went on", *at),
        Delivery::Failed { at, attempts, why } => {
            receipt(&format!("delivery failed {attempts} times ({})", harmless_line(why)), *at);
        }
    }
    let shown = gate.digest.short();
    lines.push(
        out.paint(Look::Faint, &format!("card {} of this gate, digest {shown}", gate.revision)),
    );
    let spelt = harmless(&gate.card.question).spelt_out + harmless(&gate.card.narrative).spelt_out;
    if spelt > 0 {
        let warning = format!("{spelt} invisible or control characters are spelt out above");
        lines.push(out.paint(Look::Warn, &warning));
    }
}

/// How a gate ended, in words.
pub(crate) fn ending_in_words(gate: &Gate) -> String {
    match &gate.ending {
        None => "open".into(),
        Some(Ending::Answered { answer, by }) => {
            let said = match (answer.verdict, answer.content.is_empty()) {
                (Verdict::Approved, true) => "approved".to_owned(),
                (Verdict::Approved, false) => {
                    format!("answered {:?}", shorten(&harmless_line(&answer.as_text()), 60))
                }
                (Verdict::Rejected, _) => "rejected".to_owned(),
            };
            let why = answer.reason.as_deref().map(|r| format!(" ({})", harmless_line(r)));
            format!("{said} by {} with {}{}", by.name, by.proof.as_str(), why.unwrap_or_default())
        }
        Some(Ending::Expired { .. }) => "expired without an answer".into(),
        Some(Ending::Withdrawn { by, reason, .. }) => {
            format!("withdrawn by {} ({})", harmless_line(by), harmless_line(reason))
        }
        Some(Ending::Superseded { by, .. }) => format!("replaced by gate {by}"),
    }
}

/// A task as a line of a list.
pub(crate) fn task_row(out: &Out, row: &TaskRow) -> String {
    let task = &row.task;
    let state = task.shown_state(row.blockers > 0);
    let size = task.size.as_deref().map(|s| format!("  {}", harmless_line(s))).unwrap_or_default();
    let look = match state {
        "awaiting_input" => Look::Warn,
        "failed" => Look::Bad,
        "closed" => Look::Good,
        _ => Look::Faint,
    };
    let width = out.width().saturating_sub(40).max(20);
    format!(
        "{} {}  P{}{size}  {} {}{}",
        out.state_icon(state),
        out.paint(Look::Name, &pad(&task.handle, 6)),
        task.priority,
        out.paint(look, &format!("[{state}]")),
        shorten(&harmless_line(&task.title), width),
        labels(out, row),
    )
}

fn labels(out: &Out, row: &TaskRow) -> String {
    let shown: String =
        row.task.labels.iter().map(|label| format!(" #{}", harmless_line(label))).collect();
    out.paint(Look::Faint, &shown)
}

/// What a waiting task asks, below its row.
pub(crate) fn question_below(out: &Out, gate: &Gate, now: Timestamp) -> String {
    let width = out.width().saturating_sub(14).max(20);
    let mut text = format!(
        "         {} {} {}",
        out.icon("❓", "[?]"),
        out.paint(Look::Name, gate.handle()),
        shorten(&harmless_line(&gate.card.question), width)
    );
    if !gate.card.narrative.is_empty() {
        let context = shorten(&harmless_line(&gate.card.narrative), width);
        text.push_str(&format!("\n         Context: {context}"));
    }
    text.push_str(&format!("\n         Asked: {}", when::relative(gate.opened_at, now)));
    text
}

/// A text of many lines, made harmless, each line behind `margin`.
pub(crate) fn indented(raw: &str, margin: &str) -> Vec<String> {
    harmless(raw).text.lines().map(|line| format!("{margin}{line}")).collect()
}

/// Pads to a width on the screen, which is not a count of bytes or characters.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}
