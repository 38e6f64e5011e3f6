//! The pages of flows: the list, and one flow with its graph, its questions and its history.

use super::super::route::{Asked, Nothing};
use super::card::Moment;
use super::frame::Frame;
use super::tasks::{Question, question};
use super::{Html, Onlooker};
use crate::prose;
use askama::Template;
use sayso_core::flow::{Event, Flow, Standing};
use sayso_core::gate::Gate;
use sayso_core::text::{harmless, harmless_line, shorten};
use sayso_core::{Deed, GateId, Timestamp};
use sayso_engine::{FlowFilter, FlowHistory, Result, Stands};
use sayso_workflow::file::{Definition, picture};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The most flows in a list.
const FLOWS_MAX: usize = 100;

/// The most events of a flow's history on its page: the last ones.
const HAPPENED_MAX: usize = 500;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Query {
    part: Option<String>,
}

#[derive(Template)]
#[template(path = "flows.html")]
struct FlowsPage {
    frame: Frame,
    body: FlowsPart,
}

#[derive(Template)]
#[template(path = "flows_body.html")]
struct FlowsPart {
    base: String,
    lists: Vec<List>,
}

struct List {
    title: &'static str,
    empty: &'static str,
    rows: Vec<FlowView>,
    is_cut: bool,
}

/// A flow in a list, and at the head of its page.
struct FlowView {
    handle: String,
    workflow: String,
    title: String,
    standing: &'static str,
    phase: String,
    waits: Vec<Wait>,
    note: String,
    began: Moment,
    ended: Option<Moment>,
}

/// A gate that a flow waits for.
struct Wait {
    handle: String,
    question: String,
    asked: Moment,
}

pub(super) fn page(at: &Onlooker, asked: Asked<0, Query, Nothing>) -> Result<Html> {
    let frame = at.frame("flows")?;
    let live = list(at, "Under way", "No flow is under way.", false)?;
    let over = list(at, "Over", "None is over yet.", true)?;
    let body = FlowsPart { base: frame.base.clone(), lists: vec![live, over] };
    match asked.query.part {
        Some(_) => Html::of(&body),
        None => Html::of(&FlowsPage { frame, body }),
    }
}

impl FlowsPart {
    /// True if there never was a flow.
    fn is_empty(&self) -> bool {
        self.lists.iter().all(|list| list.rows.is_empty())
    }
}

fn list(at: &Onlooker, title: &'static str, empty: &'static str, over: bool) -> Result<List> {
    let filter = FlowFilter { over, limit: FLOWS_MAX, ..FlowFilter::default() };
    let found = at.desk.flows(&filter)?;
    let rows = found.items.iter().map(|flow| view(at, flow)).collect::<Result<_>>()?;
    Ok(List { title, empty, rows, is_cut: found.more })
}

fn view(at: &Onlooker, flow: &Flow) -> Result<FlowView> {
    let now = at.desk.now();
    let Stands { standing, waits } = at.desk.stands(flow)?;
    let stuck = flow.stuck.as_ref().map(|stuck| format!("stuck: {}", stuck.why));
    let note = flow.ending.as_ref().map(|ending| ending.note.clone()).or(stuck);
    let note = note.map(|note| harmless_line(&note));
    Ok(FlowView {
        handle: flow.started.handle.clone(),
        workflow: harmless_line(&flow.started.workflow),
        title: shorten(&harmless_line(&flow.started.title), 200),
        standing: standing.as_str(),
        phase: harmless_line(&flow.phase),
        waits: waits.iter().map(|gate| wait(gate, now)).collect(),
        note: shorten(&note.unwrap_or_default(), 300),
        began: Moment::of(flow.started_at, now),
        ended: flow.ending.as_ref().map(|ending| Moment::of(ending.at, now)),
    })
}

fn wait(gate: &Gate, now: Timestamp) -> Wait {
    Wait {
        handle: gate.handle().to_owned(),
        question: shorten(&harmless_line(&gate.card.question), 300),
        asked: Moment::of(gate.opened_at, now),
    }
}

#[derive(Template)]
#[template(path = "flow.html")]
struct FlowPage {
    frame: Frame,
    body: FlowPart,
}

#[derive(Template)]
#[template(path = "flow_body.html")]
struct FlowPart {
    base: String,
    flow: FlowView,
    version: String,
    begun_by: String,
    task: Option<(String, String)>,
    /// The command that resumes the flow, where no process runs it.
    go_on: Option<String>,
    may_cancel: bool,
    /// SVG that was generated here and comes from no other source.
    picture: Option<String>,
    questions: Vec<Question>,
    happened: Vec<Happened>,
    is_cut: bool,
    state: String,
}

/// An event of a flow, as the page shows it.
struct Happened {
    when: Moment,
    what: String,
    gate: Option<String>,
}

pub(super) fn one(at: &Onlooker, asked: Asked<1, Query, Nothing>) -> Result<Html> {
    let id = at.desk.find_flow(&asked.names[0])?;
    let (flow, history) = (at.desk.flow(id)?, at.desk.flow_history(id)?);
    let frame = at.frame("flows")?;
    let body = flow_part(at, &flow, &history, frame.base.clone())?;
    match asked.query.part {
        Some(_) => Html::of(&body),
        None => Html::of(&FlowPage { frame, body }),
    }
}

fn flow_part(at: &Onlooker, flow: &Flow, history: &FlowHistory, base: String) -> Result<FlowPart> {
    let (started, now) = (&flow.started, at.desk.now());
    let standing = at.desk.stands(flow)?.standing;
    let gates = asked_in(at, history)?;
    let mut asked: Vec<_> = gates.values().collect();
    asked.sort_by_key(|gate| gate.opened_at);
    let task = started.task.map(|task| at.desk.task(task)).transpose()?;
    let shown = history.len().saturating_sub(HAPPENED_MAX);
    Ok(FlowPart {
        base,
        flow: view(at, flow)?,
        version: harmless_line(&started.version),
        begun_by: harmless_line(&started.launcher),
        task: task.map(|row| (row.task.handle, harmless_line(&row.task.title))),
        go_on: go_on(flow, standing),
        may_cancel: flow.is_live() && at.actor.may(Deed::Operate),
        picture: drawn(flow, standing == Standing::Waiting, history),
        questions: asked.into_iter().map(|gate| question(gate, now)).collect(),
        happened: history[shown..].iter().filter_map(|one| happened(one, &gates, now)).collect(),
        is_cut: shown > 0,
        state: carried(flow),
    })
}

/// Returns the questions a flow has asked.
fn asked_in(at: &Onlooker, history: &FlowHistory) -> Result<BTreeMap<GateId, Gate>> {
    let mut gates = BTreeMap::new();
    for (_, event) in history {
        if let Event::Asked { gate, .. } = event {
            gates.insert(*gate, at.desk.gate(*gate)?);
        }
    }
    Ok(gates)
}

/// Returns the picture of a flow; None where only the program knows its workflow.
fn drawn(flow: &Flow, is_waiting: bool, history: &FlowHistory) -> Option<String> {
    let definition = Definition::of(flow).ok()??;
    let (graph, mut standing) = picture(&definition, flow, history);
    standing.waits = is_waiting;
    Some(graph.svg(&standing))
}

/// Returns the command that resumes a flow, if it waits for no person and no process runs it.
fn go_on(flow: &Flow, standing: Standing) -> Option<String> {
    let is_left = match standing {
        Standing::Answered | Standing::Unanswered | Standing::Stuck | Standing::Idle => true,
        Standing::Running | Standing::Waiting | Standing::Over(_) => false,
    };
    let is_filed = flow.started.definition.is_some();
    (is_left && is_filed).then(|| format!("sayso flow resume {}", flow.started.handle))
}

fn happened(
    (at, event): &(Timestamp, Event),
    gates: &BTreeMap<GateId, Gate>,
    now: Timestamp,
) -> Option<Happened> {
    let gate = match event {
        Event::Asked { gate, .. } => gates.get(gate),
        Event::Heard { heard, .. } => heard.gate.and_then(|gate| gates.get(&gate)),
        Event::Started(_)
        | Event::Completed { .. }
        | Event::Moved { .. }
        | Event::Ended { .. }
        | Event::Taken { .. }
        | Event::Adopted { .. }
        | Event::Kept { .. }
        | Event::LetGo
        | Event::Stuck { .. }
        | Event::Unknown => None,
    };
    let what = prose::flow_event(event, gate)?;
    let gate = gate.map(|gate| gate.handle().to_owned());
    Some(Happened { when: Moment::of(*at, now), what, gate })
}

/// Returns the state of a flow, as text.
fn carried(flow: &Flow) -> String {
    let own = flow.state.get("state").unwrap_or(&flow.state);
    let is_empty = own.is_null() || own.as_object().is_some_and(serde_json::Map::is_empty);
    match is_empty {
        true => String::new(),
        false => harmless(&serde_json::to_string_pretty(own).unwrap_or_default()).text,
    }
}
