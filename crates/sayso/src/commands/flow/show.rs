//! `sayso flow show`: shows a flow and its timeline.

use crate::card;
use crate::context::CliContext;
use crate::exit::Result;
use crate::flow_runner::definition_of;
use crate::output::{CliOutput, OutputStyle};
use crate::time;
use clap_complete::ArgValueCompleter;
use sayso_core::flow::{FlowHome, FlowLogEvent};
use sayso_core::text::sanitize_line;
use sayso_core::{CommandExit, Timestamp};
use sayso_engine::flow_commands;
use sayso_server::{text, wire};
use sayso_workflow::file::flow_graph;
use serde_json::Value;

/// Show where a flow stands, and its timeline.
#[derive(clap::Args)]
pub(crate) struct FlowShowArgs {
    /// The ID of the flow.
    #[arg(value_name = "FLOW", add = ArgValueCompleter::new(super::live_flows))]
    flow: String,
}

pub(crate) fn run(args: &FlowShowArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, _) = context.open_read_only()?;
    let out = context.out;
    let id = desk.find_flow(&args.flow)?;
    let (flow, history) = (desk.flow(id)?, desk.flow_history(id)?);
    if out.json {
        out.json(&wire::FlowDetail::of(
            &flow,
            &desk.flow_status(&flow)?,
            &history,
            &|gate| desk.gate(gate).ok(),
            &time::rfc3339,
        ));
        return Ok(CommandExit::Ok);
    }
    super::show_in_list(context, &desk, &flow)?;
    if let Some(task) = flow.started.task {
        let task = desk.task(task)?.task;
        out.line(&format!("   works on task {}", out.paint(OutputStyle::Name, &task.handle)));
    }
    if let Some(lines) = flow_commands(&flow) {
        let home =
            flow.home.as_ref().map_or("a place that was not recorded".into(), FlowHome::in_words);
        out.line(&format!("   goes on in {}", sanitize_line(&home)));
        lines.iter().for_each(|line| out.line(&format!("   {}", sanitize_line(line))));
    }
    if let Ok(definition) = definition_of(&flow) {
        let (graph, mut standing) = flow_graph(&definition, &flow, &history);
        standing.waits = desk.flow_status(&flow)?.is_waiting();
        out.line("");
        out.line(graph.text(&standing, super::is_plain(out)).trim_end());
    }
    out.line("");
    for (at, event) in &history {
        let asked = match event {
            FlowLogEvent::Asked { gate, .. } => Some(desk.gate(*gate)?),
            _ => None,
        };
        if let Some(words) = text::flow_event(event, asked.as_ref()) {
            let at_gate = asked.map(|gate| format!(" ({})", gate.handle())).unwrap_or_default();
            line(out, *at, desk.now(), &format!("{words}{at_gate}"));
        }
    }
    if let Some(state) = state(&flow.state) {
        out.line("\nState:");
        card::indented(out, &state, "  ").iter().for_each(|line| out.line(line));
    }
    Ok(CommandExit::Ok)
}

fn line(out: &CliOutput, at: Timestamp, now: Timestamp, words: &str) {
    out.line(&format!("{}  {words}", out.paint(OutputStyle::Faint, &time::relative(at, now))));
}

fn state(state: &Value) -> Option<String> {
    let own = state.get("state").unwrap_or(state);
    let is_empty = own.as_object().is_some_and(serde_json::Map::is_empty) || own.is_null();
    (!is_empty).then(|| serde_json::to_string_pretty(own).unwrap_or_default())
}
