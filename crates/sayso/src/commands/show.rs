//! `sayso show`: shows a gate or a task, with its whole history.

use super::shared;
use crate::card;
use crate::context::CliContext;
use crate::exit::Result;
use crate::output::{CliOutput, OutputStyle};
use crate::time;
use clap_complete::ArgValueCompleter;
use sayso_core::gate::{Gate, Receipt};
use sayso_core::run::{Run, RunState, RunUsage};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{Actor, AnswerShape, CommandExit, GateId, TaskId, Timestamp};
use sayso_engine::{Desk, NameMatch, TaskRow, TaskTimeline};
use sayso_server::wire;

/// The maximum number of runs of a task in the sum.
const RUNS_MAX: usize = 1_000;

/// Show a gate or a task with its whole history.
#[derive(clap::Args)]
pub(crate) struct ShowArgs {
    /// The gate or the task.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(shared::live_ids))]
    id: String,
}

pub(crate) fn run(args: ShowArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, actor) = context.open_read_only()?;
    match desk.find(&args.id)? {
        NameMatch::Gate(id) => show_gate(context, &desk, &actor, id),
        NameMatch::Task(id) => show_task(context, &desk, &actor, id),
    }
}

fn show_gate(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    id: GateId,
) -> Result<CommandExit> {
    let asked = desk.card(actor, id)?;
    let receipt = desk.receipt(actor, id)?;
    if context.out.json {
        context.out.json(&wire::GateDetail::of(&asked, &receipt, &time::rfc3339))
    } else {
        context.out.line(&card::asked_card(context.out, &asked, desk.now()));
        show_flow(context, desk, &asked.gate);
        show_told(context, desk, actor, &asked.gate)?;
        show_templates(context, desk, &asked.gate)?;
        show_way(context, &asked.gate, &receipt, desk.now());
    }
    // Recorded after printing: only a card that was really printed counts as seen.
    desk.see_card(actor, &asked)?;
    Ok(CommandExit::Ok)
}

/// Prints the flow that asks, if the caller may read flows.
fn show_flow(context: &CliContext<'_>, desk: &Desk, gate: &Gate) {
    let Some(Ok(flow)) = gate.opened.flow.map(|flow| desk.flow(flow)) else { return };
    let line =
        format!("  flow {handle} asks: sayso flow show {handle}", handle = flow.started.handle);
    context.out.line(&context.out.paint(OutputStyle::Faint, &line));
}

/// Prints the timeline of an ended gate in a line, the delivery of its answer, and its alerts.
fn show_way(context: &CliContext<'_>, gate: &Gate, receipt: &Receipt, now: Timestamp) {
    let out = context.out;
    if !gate.is_open() {
        out.line("");
        out.line(&card::timeline(out, gate, receipt));
        card::follow_up_lines(receipt).iter().for_each(|line| out.line(line));
    }
    if !receipt.alerts.is_empty() {
        out.line("");
        shared::print_alerts(context, &receipt.alerts, now);
    }
}

/// Prints the notices about it, sent and failed.
fn show_told(context: &CliContext<'_>, desk: &Desk, actor: &Actor, gate: &Gate) -> Result<()> {
    let out = context.out;
    for notice in desk.told(actor, gate.opened.id)? {
        let whom = super::notices::by_whom(&notice);
        match (notice.sent_at, notice.due_at, notice.error.as_deref()) {
            (Some(at), ..) => {
                let line = format!("  told {whom} {}", time::local(at));
                out.line(&out.paint(OutputStyle::Faint, &line));
            }
            (None, Some(_), Some(error)) => {
                let line = format!("  not told yet: {whom} ({})", sanitize_line(error));
                out.line(&out.paint(OutputStyle::Warn, &line));
            }
            (None, ..) => {}
        }
    }
    Ok(())
}

/// Prints the ready answers that fit a question.
fn show_templates(context: &CliContext<'_>, desk: &Desk, gate: &Gate) -> Result<()> {
    if !gate.is_open() || gate.card.shape == AnswerShape::Verdict {
        return Ok(());
    }
    let out = context.out;
    for (name, template) in desk.templates()? {
        if template.fits(&gate.card.question) {
            let answer = shorten(&sanitize_line(&template.answer), 60);
            let command = format!("sayso respond {} --template {name}", gate.handle());
            out.line(&format!(
                "  {} {}",
                out.paint(OutputStyle::Name, &command),
                out.paint(OutputStyle::Faint, &answer)
            ));
        }
    }
    Ok(())
}

fn show_task(
    context: &CliContext<'_>,
    desk: &Desk,
    actor: &Actor,
    id: TaskId,
) -> Result<CommandExit> {
    let row = desk.task(id)?;
    let gates = shared::gates_of(desk, actor, id)?;
    let history = desk.history(id)?;
    let runs = desk.runs_of(id, RUNS_MAX)?;
    let out = context.out;
    if out.json {
        out.json(&wire::TaskDetail::of(&row, &gates, &history, &runs, &time::rfc3339));
        return Ok(CommandExit::Ok);
    }
    out.line(&card::task_row(out, &row));
    about(context, desk, &row)?;
    if let Some(work) = work(&runs, &gates, desk.now()) {
        out.line(&out.paint(OutputStyle::Faint, &format!("  {work}")));
    }
    if !row.task.body.is_empty() {
        out.line("");
        card::indented(out, &row.task.body, "  ").iter().for_each(|line| out.line(line));
    }
    questions(out, &gates, desk.now());
    notes(out, &history, desk.now());
    happenings(out, &history, desk.now());
    desk.see(actor, &gates)?;
    Ok(CommandExit::Ok)
}

fn about(context: &CliContext<'_>, desk: &Desk, row: &TaskRow) -> Result<()> {
    let out = context.out;
    let task = &row.task;
    let faint = |text: String| out.line(&out.paint(OutputStyle::Faint, &format!("  {text}")));
    let made = time::relative(task.created_at, desk.now());
    faint(format!(
        "{}, made {made} by {}",
        sanitize_line(&task.sort),
        sanitize_line(&task.created_by)
    ));
    if let Some(flow) = &row.flow {
        faint(format!("led by flow {flow}; see: sayso flow show {flow}"));
    }
    if let Some(parent) = task.parent {
        for (_, handle, _) in desk.task_names(&[parent])? {
            faint(format!("part of {handle}"));
        }
    }
    let blockers: Vec<_> = task.blocked_by.iter().copied().collect();
    for (_, handle, status) in desk.task_names(&blockers)? {
        faint(format!("waits for {handle} ({status})"));
    }
    if let Some(kind) = task.requires {
        faint(format!("requires {kind} before it can close"));
    }
    if let Some(until) = task.deferred_until {
        faint(format!("put off until {}", time::local(until)));
    }
    if let Some(closure) = &task.closure {
        let why = sanitize_line(&closure.reason);
        faint(format!(
            "{} {} by {}: {why}",
            task.status,
            time::relative(closure.at, desk.now()),
            closure.by
        ));
    }
    Ok(())
}

/// The time spent by agents and by people, each measured separately.
fn work(runs: &[Run], gates: &[Gate], now: Timestamp) -> Option<String> {
    let turns = if runs.len() == 1 { "1 turn".into() } else { format!("{} turns", runs.len()) };
    let spent = runs.iter().filter_map(|run| match &run.state {
        RunState::Ended { spent, .. } => Some(*spent),
        RunState::Running => None,
    });
    let spent = RunUsage { waited_millis: 0, ..spent.fold(RunUsage::default(), RunUsage::plus) };
    let thought = in_millis(thinking_time(gates, now));
    let people = match thought {
        0 => String::new(),
        millis => format!("; people thought {}", crate::work::seconds(millis)),
    };
    (!runs.is_empty()).then(|| format!("{turns} {}{people}", crate::work::in_words(&spent)))
}

fn in_millis(micros: i64) -> u64 {
    u64::try_from(micros / 1_000).unwrap_or(0)
}

/// The time for which gates waited for a person, in microseconds; overlaps count once.
fn thinking_time(gates: &[Gate], now: Timestamp) -> i64 {
    let open = |gate: &Gate| {
        let end = gate.ended_at().unwrap_or(now);
        (gate.opened_at.as_micros(), end.as_micros())
    };
    union(gates.iter().map(open).collect())
}

/// The total length of some spans; overlaps count once.
fn union(mut spans: Vec<(i64, i64)>) -> i64 {
    spans.sort_unstable();
    let (mut sum, mut until) = (0, i64::MIN);
    for (from, to) in spans {
        sum += (to - from.max(until)).max(0);
        until = until.max(to);
    }
    sum
}

fn questions(out: &CliOutput, gates: &[Gate], now: Timestamp) {
    for gate in gates {
        out.line("");
        out.line(&card::gate_card(out, gate, now));
    }
}

fn notes(out: &CliOutput, history: &TaskTimeline, now: Timestamp) {
    let notes: Vec<_> = history
        .iter()
        .filter_map(|(at, event)| match event {
            sayso_core::task::TaskEvent::Noted(note) => Some((*at, note)),
            _ => None,
        })
        .collect();
    if notes.is_empty() {
        return;
    }
    out.line("");
    out.line(&out.paint(OutputStyle::Strong, "Notes:"));
    for (at, note) in notes {
        super::notes::print(out, at, note, now);
    }
}

/// Prints the events of a task: who asked, started, closed it and so on.
fn happenings(out: &CliOutput, history: &TaskTimeline, now: Timestamp) {
    use sayso_core::task::TaskEvent;
    let mut lines = vec![];
    for (at, event) in history {
        let what = match event {
            TaskEvent::Asked { handle, kind, by, .. } => {
                format!("{by} asked for {kind} ({handle})")
            }
            TaskEvent::Settled { handle, ending, verdict, by, .. } => {
                let how = verdict.map_or_else(|| ending.clone(), |v| v.to_string());
                format!("{handle} {how} by {by}")
            }
            TaskEvent::Started { by, .. } => format!("started by {by}"),
            TaskEvent::Closed { by, .. } => format!("closed by {by}"),
            TaskEvent::Reopened { by, .. } => format!("reopened by {by}"),
            _ => continue,
        };
        lines.push(format!(
            "  {} {}",
            card::pad(&time::relative(*at, now), 16),
            sanitize_line(&what)
        ));
    }
    if lines.is_empty() {
        return;
    }
    out.line("");
    out.line(&out.paint(OutputStyle::Strong, "History:"));
    lines.iter().for_each(|line| out.line(line));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waited_together_counts_once() {
        assert_eq!(union(vec![(20, 30), (0, 10), (5, 15), (21, 22)]), 25);
        assert_eq!(union(vec![]), 0);
    }
}
