//! Loading of gates, tasks and flows for decisions: the state is folded from the event log, never taken from a view
//! row.

use crate::{Error, Result};
use sayso_core::audit::{ChainVerifier, EventReference, SealedEntry};
use sayso_core::flow::{self, Flow};
use sayso_core::gate::{self, Gate};
use sayso_core::task::{self, Task};
use sayso_core::{Code, FlowId, GateId, Refusal, SpaceId, TaskId, Timestamp};
use sayso_store::{EventRow, ReadTransaction, ViewRow};
use serde::de::DeserializeOwned;

/// The events of a task with their times, in order.
pub type TaskTimeline = Vec<(Timestamp, task::TaskEvent)>;

pub(crate) fn gate_stream(id: GateId) -> String {
    format!("gate/{id}")
}

pub(crate) fn task_stream(id: TaskId) -> String {
    format!("task/{id}")
}

pub(crate) fn flow_stream(id: FlowId) -> String {
    format!("flow/{id}")
}

/// Loads a gate with its version. Its events must result in the view row that lists are read from: if the two differ,
/// one of them is damaged, and no decision relies on either. An ended gate is also checked against the audit, so an
/// ending that was written into the database by hand has no effect. No transaction is needed: events and row are read
/// in one statement, and an audit entry never changes.
pub(crate) fn gate(read: &mut ReadTransaction<'_>, id: GateId) -> Result<Option<(Gate, u64)>> {
    let kept = read.gate_rows(&gate_stream(id), id)?;
    let mut gate = None;
    for row in &kept.events {
        let was_open = gate.as_ref().is_none_or(Gate::is_open);
        gate = gate::apply(gate, &event(row)?, row.at);
        if let Some(ended) = gate.as_ref().filter(|g| was_open && !g.is_open()) {
            let space = ended.opened.space;
            match kept.entries.iter().find(|entry| entry.seq == row.audit) {
                Some(entry) => check_covers(space, Some(entry), row)?,
                None => check_is_covered(read, space, row)?,
            }
        }
    }
    let gate = gate.map(|gate| (gate, kept.events.len() as u64));
    if !is_view(gate.as_ref(), kept.view.as_ref())? {
        return Err(tampered(&gate_stream(id), "its events do not make its row"));
    }
    Ok(gate)
}

/// True if a row equals the result of the events. Usually its text is identical; a row of an older version may have
/// another text for the same gate.
fn is_view(gate: Option<&(Gate, u64)>, view: Option<&ViewRow>) -> Result<bool> {
    let (Some((gate, version)), Some(view)) = (gate, view) else {
        return Ok(gate.is_none() && view.is_none());
    };
    let is_text = serde_json::to_string(gate).is_ok_and(|text| text == view.body);
    Ok(*version == view.version && (is_text || view.gate()? == *gate))
}

/// Checks a gate that was read from its row, for lists: its digest must match the card, and its ending must match the
/// log.
pub(crate) fn check_listed(read: &mut ReadTransaction<'_>, listed: &Gate) -> Result<()> {
    let Gate { opened, card, revision, digest, .. } = listed;
    if opened.digest(card, *revision) != *digest {
        return Err(tampered(&gate_stream(opened.id), "its digest names another card"));
    }
    if !listed.is_open() {
        gate(read, opened.id)?;
    }
    Ok(())
}

/// Checks that the dedup key of a row matches its gate. Rows of older versions have none.
pub(crate) fn check_asks(gate: &Gate, named: Option<&str>) -> Result<()> {
    let asks = gate.dedup_key();
    if named.is_none_or(|named| asks.as_ref().is_some_and(|asks| asks.as_str() == named)) {
        Ok(())
    } else {
        Err(tampered(&gate_stream(gate.opened.id), "its row says it asks something else"))
    }
}

/// Loads a task with its version.
pub(crate) fn task(read: &mut ReadTransaction<'_>, id: TaskId) -> Result<Option<(Task, u64)>> {
    let rows = read.events(&task_stream(id))?;
    let mut task = None;
    for row in &rows {
        task = task::apply(task, &event(row)?, row.at);
    }
    Ok(task.map(|task| (task, rows.len() as u64)))
}

/// Loads a flow with its version.
pub(crate) fn flow(read: &mut ReadTransaction<'_>, id: FlowId) -> Result<Option<(Flow, u64)>> {
    let rows = read.events(&flow_stream(id))?;
    let mut flow = None;
    for row in &rows {
        flow = flow::apply(flow, &event(row)?, row.at);
    }
    Ok(flow.map(|flow| (flow, rows.len() as u64)))
}

/// Loads the events of a task.
pub(crate) fn task_history(read: &mut ReadTransaction<'_>, id: TaskId) -> Result<TaskTimeline> {
    let rows = read.events(&task_stream(id))?;
    rows.iter().map(|row| Ok((row.at, event(row)?))).collect()
}

/// Parses an event. A kind that only a later version knows is parsed as `Unknown`; anything else that cannot be
/// parsed means that the log was tampered with.
pub(crate) fn event<T: DeserializeOwned>(row: &EventRow) -> Result<T> {
    serde_json::from_str(&row.body)
        .map_err(|e| tampered(&row.stream, &format!("event {} cannot be read: {e}", row.version)))
}

/// Checks that the audit entry of an event is intact and covers it.
pub(crate) fn check_is_covered(
    read: &mut ReadTransaction<'_>,
    space: SpaceId,
    row: &EventRow,
) -> Result<()> {
    let entry = read.audit_after(space, row.audit.saturating_sub(1), 1)?.into_iter().next();
    check_covers(space, entry.as_ref(), row)
}

pub(crate) fn check_covers(
    space: SpaceId,
    entry: Option<&SealedEntry>,
    row: &EventRow,
) -> Result<()> {
    let mark = EventReference::of(&row.stream, row.version, &row.body);
    let covers = |sealed: &SealedEntry| {
        sealed.seq == row.audit
            && ChainVerifier::behind(space, sealed)
                .next(sealed)
                .is_ok_and(|entry| entry.at == row.at && entry.events.contains(&mark))
    };
    if entry.is_some_and(covers) {
        return Ok(());
    }
    Err(tampered(&row.stream, &format!("the audit does not know event {}", row.version)))
}

pub(crate) fn tampered(stream: &str, why: &str) -> Error {
    Refusal::new(Code::AuditBroken, format!("{stream} was changed outside of sayso: {why}"))
        .hint("see what else was touched with: sayso audit verify, and: sayso doctor")
        .into()
}
