//! `sayso flow show`: where a flow stands, and what happened on the way.

use crate::card;
use crate::context::Context;
use crate::exit::Result;
use crate::flows::definition_of;
use crate::out::{Look, Out};
use crate::when;
use clap_complete::ArgValueCompleter;
use sayso_core::flow::{Event, Heard};
use sayso_core::text::{harmless_line, shorten};
use sayso_core::{Exit, Timestamp};
use sayso_engine::Desk;
use sayso_server::wire;
use sayso_workflow::file::picture;
use serde_json::Value;

/// How much of what a step gave is shown in a line.
const OUTPUT_CHARS_MAX: usize = 100;

/// Where a flow stands, and what happened on the way.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The flow.
    #[arg(value_name = "FLOW", add = ArgValueCompleter::new(super::live_flows))]
    flow: String,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<Exit> {
    let (desk, _) = context.sit_down_to_look()?;
    let out = context.out;
    let id = desk.find_flow(&args.flow)?;
    let (flow, history) = (desk.flow(id)?, desk.flow_history(id)?);
    if out.json {
        out.json(&wire::FlowDetail::of(&flow, &history, &when::rfc3339));
        return Ok(Exit::Ok);
    }
    out.line(&super::row(out, &flow, desk.now()));
    super::below(context, &desk, &flow)?;
    if let Some(task) = flow.started.task {
        let task = desk.task(task)?.task;
        out.line(&format!("   works on task {}", out.paint(Look::Name, &task.handle)));
    }
    if let Ok(definition) = definition_of(&flow) {
        let (graph, standing) = picture(&definition, &flow, &history);
        out.line("");
        out.line(graph.text(&standing, super::is_plain(out)).trim_end());
    }
    out.line("");
    for (at, event) in &history {
        if let Some(words) = in_words(&desk, event)? {
            line(out, *at, desk.now(), &words);
        }
    }
    if let Some(state) = state(&flow.state) {
        out.line("\nState:");
        card::indented(out, &state, "  ").iter().for_each(|line| out.line(line));
    }
    Ok(Exit::Ok)
}

fn line(out: &Out, at: Timestamp, now: Timestamp, words: &str) {
    out.line(&format!("{}  {words}", out.paint(Look::Faint, &when::relative(at, now))));
}

/// What happened, in words; none for what only says who goes on with it.
fn in_words(desk: &Desk, event: &Event) -> Result<Option<String>> {
    Ok(Some(match event {
        Event::Started(started) => {
            format!(
                "begun by {} in {}",
                harmless_line(&started.launcher),
                harmless_line(&started.phase)
            )
        }
        Event::Completed { output, .. } => format!("done: {}", brief(output)),
        Event::Asked { gate, .. } => {
            let gate = desk.gate(*gate)?;
            format!("asked at {}: {}", gate.handle(), harmless_line(&gate.card.question))
        }
        Event::Heard { heard, .. } => said(heard),
        Event::Moved { to, .. } => format!("to {}", harmless_line(to)),
        Event::Ended { how, note, .. } => format!("{} {}", how.as_str(), harmless_line(note)),
        Event::Taken { .. } | Event::Kept { .. } | Event::LetGo | Event::Unknown => {
            return Ok(None);
        }
    }))
}

fn said(heard: &Heard) -> String {
    let by = harmless_line(&heard.by);
    match &heard.answer {
        Some(answer) => {
            let reason = answer.reason.as_deref().map(harmless_line);
            let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
            let text = harmless_line(&answer.as_text());
            match heard.gate {
                Some(_) => format!("{by} said {text}{reason}"),
                // Nobody saw who it was.
                None => format!("{text}{reason}, by way of {by}"),
            }
        }
        None => format!("ended without an answer: {}", heard.ended),
    }
}

/// What a step gave, in a line.
fn brief(output: &Value) -> String {
    let text = ["summary", "text"].iter().find_map(|key| output.get(key).and_then(Value::as_str));
    let text = text.map_or_else(|| output.to_string(), str::to_owned);
    shorten(&harmless_line(&text), OUTPUT_CHARS_MAX)
}

fn state(state: &Value) -> Option<String> {
    let own = state.get("state").unwrap_or(state);
    let is_empty = own.as_object().is_some_and(serde_json::Map::is_empty) || own.is_null();
    (!is_empty).then(|| serde_json::to_string_pretty(own).unwrap_or_default())
}
