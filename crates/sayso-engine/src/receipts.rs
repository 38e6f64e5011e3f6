//! Receipts and alerts: the timeline of a gate and its delivery, and deliveries that are stalled.

use crate::write_batch::not_found;
use crate::{LocalDesk, Result, gates, load};
use sayso_core::audit::ChainEntry;
use sayso_core::gate::{self, FollowUpRun, Gate, GateAlert, GateContext, LoggedEvent, Receipt};
use sayso_core::run::Run;
use sayso_core::{Actor, GateId, RunId};
use sayso_store::{GateFilter, ReadTransaction};
use std::collections::BTreeSet;

/// The number of a task's runs that are searched for the one that continued with an answer.
const RUNS_MAX: usize = 200;

/// The number of a task's gates that are searched for those that the run opened afterwards.
const GATES_MAX: usize = 200;

/// The number of open gates, and of endings, that are checked for alerts.
const LOOK_MAX: usize = 100;

impl LocalDesk {
    /// Returns the receipt of a gate: its timeline with actor and interface, what followed from the answer, and its
    /// alerts.
    pub fn receipt(&self, actor: &Actor, id: GateId) -> Result<Receipt> {
        let gate = self.gate_for(actor, id)?;
        let now = self.now();
        self.read(|read| {
            let mut receipt = Receipt::of(&happened(read, &gate)?);
            if let Some(task) = gate.opened.task.map(|task| read.task(task)).transpose()?.flatten()
            {
                receipt.note_end_of_task(&gate, &task.0.task);
            }
            receipt.onward = onward(read, &gate)?;
            let people = self.names(read)?.all();
            receipt.alerts = alerts(read, &gate, people.as_ref(), now)?;
            Ok(receipt)
        })
    }

    /// Returns the alerts of the whole space, or of an agent's own gates; at most `limit`, the oldest first.
    pub fn alerts(&self, actor: &Actor, limit: usize) -> Result<Vec<GateAlert>> {
        let now = self.now();
        let (from, until) =
            (now.plus_micros(-gate::OVER_MICROS), now.plus_micros(-gate::UNDELIVERED_MICROS));
        let mut found = self.read(|read| {
            let filter = GateFilter { limit: LOOK_MAX, ..GateFilter::default() };
            let mut gates = read.gates(self.space, &filter)?.items;
            // A failed delivery is known at once; a pending one is only reported after a while.
            let recent = read.deliveries_between(self.space, until, now, LOOK_MAX)?;
            let ended = read.deliveries_between(self.space, from, until, LOOK_MAX)?;
            gates.extend(read.gate_views(&[recent, ended].concat())?);
            let mut found = vec![];
            let people = self.names(read)?.all();
            for gate in gates.iter().filter(|gate| gates::may_read(actor, gate)) {
                if gate::may_have_alerts(gate, now) {
                    found.extend(alerts(read, gate, people.as_ref(), now)?);
                }
            }
            Ok(found)
        })?;
        found.sort_by(|a, b| (a.since, &a.gate).cmp(&(b.since, &b.gate)));
        found.truncate(limit);
        Ok(found)
    }
}

/// Returns the events of a gate, with the actors from the audit.
fn happened(read: &mut ReadTransaction<'_>, gate: &Gate) -> Result<Vec<LoggedEvent>> {
    let mut happened = vec![];
    let mut last: Option<ChainEntry> = None;
    for row in read.events(&load::gate_stream(gate.opened.id))? {
        // Events of one transaction share an audit entry.
        let entry = match last.take().filter(|entry| entry.seq == row.audit) {
            Some(entry) => entry,
            None => entry_of(read, gate, row.audit)?,
        };
        let (by, door) = (entry.actor.clone(), entry.door);
        happened.push(LoggedEvent { at: row.at, event: load::event(&row)?, by, door });
        last = Some(entry);
    }
    Ok(happened)
}

fn entry_of(read: &mut ReadTransaction<'_>, gate: &Gate, seq: u64) -> Result<ChainEntry> {
    let rows = read.audit_after(gate.opened.space, seq.saturating_sub(1), 1)?;
    let entry = rows.first().and_then(|sealed| serde_json::from_str(&sealed.body).ok());
    Ok(entry.ok_or_else(|| not_found("audit entry", &seq))?)
}

fn onward(read: &mut ReadTransaction<'_>, gate: &Gate) -> Result<Option<FollowUpRun>> {
    let Some(task) = gate.opened.task else { return Ok(None) };
    let runs = read.runs_of(task, RUNS_MAX)?;
    let Some(run) = gate::follow_up_run(gate, &runs) else { return Ok(None) };
    let filter = GateFilter { task: Some(task), limit: GATES_MAX, ..GateFilter::default() };
    let asked = read.gates(gate.opened.space, &filter)?.items;
    Ok(Some(FollowUpRun::of(run, &asked)))
}

fn alerts(
    read: &mut ReadTransaction<'_>,
    gate: &Gate,
    people: Option<&BTreeSet<String>>,
    now: sayso_core::Timestamp,
) -> Result<Vec<GateAlert>> {
    let run = |read: &mut ReadTransaction<'_>, id: RunId| -> Result<Option<Run>> {
        Ok(read.run(id)?.map(|(run, _)| run))
    };
    let asked_in = gate.opened.lineage.run.map(|id| run(read, id)).transpose()?.flatten();
    let (mut last_run, mut task) = (None, None);
    if let Some(id) = gate.opened.task {
        last_run = read.runs_of(id, 1)?.into_iter().next();
        task = read.task(id)?.map(|(row, _)| row.task);
    }
    let around = GateContext {
        asked_in: asked_in.as_ref(),
        last_run: last_run.as_ref(),
        task: task.as_ref(),
        people,
    };
    Ok(gate::alerts(gate, &around, now))
}
