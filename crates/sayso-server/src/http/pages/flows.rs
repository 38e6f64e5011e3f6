//! The pages of flows: the list, and one flow with its graph, its questions and its history.

use super::super::route::{EmptyInput, OperationInput};
use super::card::MomentView;
use super::frame::PageFrame;
use super::tasks::{QuestionView, question};
use super::{HtmlPage, PageContext};
use crate::text;
use askama::Template;
use sayso_core::flow::{Flow, FlowLogEvent, FlowStatus};
use sayso_core::gate::Gate;
use sayso_core::text::{sanitize, sanitize_line, shorten};
use sayso_core::{GateId, Permission, Timestamp};
use sayso_engine::{FlowFilter, FlowHistory, FlowStatusReport, Result};
use sayso_workflow::file::{WorkflowDefinition, flow_graph};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The most flows in a list.
const FLOWS_MAX: usize = 100;

/// The most events of a flow's history on its page: the last ones.
const HAPPENED_MAX: usize = 500;

#[derive(Deserialize, JsonSchema)]
pub(super) struct FlowsPageQuery {
    part: Option<String>,
}

#[derive(Template)]
#[template(path = "flows.html")]
struct FlowsPage {
    frame: PageFrame,
    body: FlowsPart,
}

#[derive(Template)]
#[template(path = "flows_body.html")]
struct FlowsPart {
    base: String,
    lists: Vec<FlowList>,
}

struct FlowList {
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
    waits: Vec<WaitingGate>,
    note: String,
    began: MomentView,
    ended: Option<MomentView>,
}

/// A gate that a flow waits for.
struct WaitingGate {
    handle: String,
    question: String,
    asked: MomentView,
}

pub(super) fn page(
    at: &PageContext,
    asked: OperationInput<0, FlowsPageQuery, EmptyInput>,
) -> Result<HtmlPage> {
    let frame = at.frame("flows")?;
    let live = list(at, "Under way", "No flow is under way.", false)?;
    let over = list(at, "Over", "None is over yet.", true)?;
    let body = FlowsPart { base: frame.base.clone(), lists: vec![live, over] };
    match asked.query.part {
        Some(_) => HtmlPage::of(&body),
        None => HtmlPage::of(&FlowsPage { frame, body }),
    }
}

impl FlowsPart {
    /// True if there never was a flow.
    fn is_empty(&self) -> bool {
        self.lists.iter().all(|list| list.rows.is_empty())
    }
}

fn list(
    at: &PageContext,
    title: &'static str,
    empty: &'static str,
    over: bool,
) -> Result<FlowList> {
    let filter = FlowFilter { over, limit: FLOWS_MAX, ..FlowFilter::default() };
    let found = at.desk.flows(&filter)?;
    let rows = found.items.iter().map(|flow| view(at, flow)).collect::<Result<_>>()?;
    Ok(FlowList { title, empty, rows, is_cut: found.more })
}

fn view(at: &PageContext, flow: &Flow) -> Result<FlowView> {
    let now = at.desk.now();
    let FlowStatusReport { standing, waits } = at.desk.flow_status(flow)?;
    let stuck = flow.stuck.as_ref().map(|stuck| format!("stuck: {}", stuck.why));
    let note = flow.ending.as_ref().map(|ending| ending.note.clone()).or(stuck);
    let note = note.map(|note| sanitize_line(&note));
    Ok(FlowView {
        handle: flow.started.handle.clone(),
        workflow: sanitize_line(&flow.started.workflow),
        title: shorten(&sanitize_line(&flow.started.title), 200),
        standing: standing.as_str(),
        phase: sanitize_line(&flow.phase),
        waits: waits.iter().map(|gate| wait(gate, now)).collect(),
        note: shorten(&note.unwrap_or_default(), 300),
        began: MomentView::of(flow.started_at, now),
        ended: flow.ending.as_ref().map(|ending| MomentView::of(ending.at, now)),
    })
}

fn wait(gate: &Gate, now: Timestamp) -> WaitingGate {
    WaitingGate {
        handle: gate.handle().to_owned(),
        question: shorten(&sanitize_line(&gate.card.question), 300),
        asked: MomentView::of(gate.opened_at, now),
    }
}

#[derive(Template)]
#[template(path = "flow.html")]
struct FlowPage {
    frame: PageFrame,
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
    questions: Vec<QuestionView>,
    happened: Vec<FlowEventView>,
    is_cut: bool,
    state: String,
}

/// An event of a flow, as the page shows it.
struct FlowEventView {
    when: MomentView,
    what: String,
    gate: Option<String>,
}

pub(super) fn one(
    at: &PageContext,
    asked: OperationInput<1, FlowsPageQuery, EmptyInput>,
) -> Result<HtmlPage> {
    let id = at.desk.find_flow(&asked.names[0])?;
    let (flow, history) = (at.desk.flow(id)?, at.desk.flow_history(id)?);
    let frame = at.frame("flows")?;
    let body = flow_part(at, &flow, &history, frame.base.clone())?;
    match asked.query.part {
        Some(_) => HtmlPage::of(&body),
        None => HtmlPage::of(&FlowPage { frame, body }),
    }
}

fn flow_part(
    at: &PageContext,
    flow: &Flow,
    history: &FlowHistory,
    base: String,
) -> Result<FlowPart> {
    let (started, now) = (&flow.started, at.desk.now());
    let standing = at.desk.flow_status(flow)?.standing;
    let gates = asked_in(at, history)?;
    let mut asked: Vec<_> = gates.values().collect();
    asked.sort_by_key(|gate| gate.opened_at);
    let task = started.task.map(|task| at.desk.task(task)).transpose()?;
    let shown = history.len().saturating_sub(HAPPENED_MAX);
    Ok(FlowPart {
        base,
        flow: view(at, flow)?,
        version: sanitize_line(&started.version),
        begun_by: sanitize_line(&started.launcher),
        task: task.map(|row| (row.task.handle, sanitize_line(&row.task.title))),
        go_on: go_on(flow, standing),
        may_cancel: flow.is_live() && at.actor.may(Permission::Operate),
        picture: drawn(flow, standing == FlowStatus::Waiting, history),
        questions: asked.into_iter().map(|gate| question(gate, now)).collect(),
        happened: history[shown..].iter().filter_map(|one| happened(one, &gates, now)).collect(),
        is_cut: shown > 0,
        state: carried(flow),
    })
}

/// Returns the questions a flow has asked.
fn asked_in(at: &PageContext, history: &FlowHistory) -> Result<BTreeMap<GateId, Gate>> {
    let mut gates = BTreeMap::new();
    for (_, event) in history {
        if let FlowLogEvent::Asked { gate, .. } = event {
            gates.insert(*gate, at.desk.gate(*gate)?);
        }
    }
    Ok(gates)
}

/// Returns the picture of a flow; None where only the program knows its workflow.
fn drawn(flow: &Flow, is_waiting: bool, history: &FlowHistory) -> Option<String> {
    let definition = WorkflowDefinition::of(flow).ok()??;
    let (graph, mut standing) = flow_graph(&definition, flow, history);
    standing.waits = is_waiting;
    Some(graph.svg(&standing))
}

/// Returns the command that resumes a flow, if it waits for no person and no process runs it.
fn go_on(flow: &Flow, standing: FlowStatus) -> Option<String> {
    let is_left = match standing {
        FlowStatus::Answered | FlowStatus::Unanswered | FlowStatus::Stuck | FlowStatus::Idle => {
            true
        }
        FlowStatus::Running | FlowStatus::Waiting | FlowStatus::Over(_) => false,
    };
    let is_filed = flow.started.definition.is_some();
    (is_left && is_filed).then(|| format!("sayso flow resume {}", flow.started.handle))
}

fn happened(
    (at, event): &(Timestamp, FlowLogEvent),
    gates: &BTreeMap<GateId, Gate>,
    now: Timestamp,
) -> Option<FlowEventView> {
    let gate = match event {
        FlowLogEvent::Asked { gate, .. } => gates.get(gate),
        FlowLogEvent::Heard { heard, .. } => heard.gate.and_then(|gate| gates.get(&gate)),
        FlowLogEvent::Started(_)
        | FlowLogEvent::Completed { .. }
        | FlowLogEvent::Moved { .. }
        | FlowLogEvent::Ended { .. }
        | FlowLogEvent::Taken { .. }
        | FlowLogEvent::Adopted { .. }
        | FlowLogEvent::Kept { .. }
        | FlowLogEvent::Released
        | FlowLogEvent::Stuck { .. }
        | FlowLogEvent::Unknown => None,
    };
    let what = text::flow_event(event, gate)?;
    let gate = gate.map(|gate| gate.handle().to_owned());
    Some(FlowEventView { when: MomentView::of(*at, now), what, gate })
}

/// Returns the state of a flow, as text.
fn carried(flow: &Flow) -> String {
    let own = flow.state.get("state").unwrap_or(&flow.state);
    let is_empty = own.is_null() || own.as_object().is_some_and(serde_json::Map::is_empty);
    if is_empty {
        String::new()
    } else {
        sanitize(&serde_json::to_string_pretty(own).unwrap_or_default()).text
    }
}
