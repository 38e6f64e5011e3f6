//! The audit, read, verified and exported.

use crate::load::event;
use crate::{Desk, Error, LocalDesk, Result};
use sayso_core::audit::{Broken, Entry, Head, Mark, Sealed, Verifier};
use sayso_core::flow::{self, Flow};
use sayso_core::gate::{self, Gate};
use sayso_core::task::{self, Task};
use sayso_core::{Actor, Code, Deed, Refusal, SpaceId};
use sayso_store::{EventRow, Read};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::io::{BufRead, Write};

/// How many rows are read at a time.
const ROWS_AT_ONCE: usize = 1_000;

/// What a verification saw.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// How many entries hold.
    pub entries: u64,
    /// How many events they cover.
    pub events: u64,
    /// How many gates, tasks and flows are what their events made them.
    pub views: u64,
}

impl LocalDesk {
    /// The last entries, newest first.
    pub fn audit_entries(&self, actor: &Actor, limit: usize) -> Result<Vec<Entry>> {
        self.check(actor, Deed::Audit, "read the audit")?;
        let rows = self.read(|read| Ok(read.audit_last(self.space, limit)?))?;
        rows.iter().map(|row| read_entry(row).map_err(broken)).collect()
    }

    /// Checks the chain, that it covers every event, and that every gate and task is what its
    /// events made it. `progress` hears how many rows are done.
    pub fn verify_audit(&self, actor: &Actor, progress: impl Fn(u64)) -> Result<Report> {
        self.check(actor, Deed::Audit, "verify the audit")?;
        self.verify_all(&progress)
    }

    /// The same, for whoever was let in already.
    pub(crate) fn verify_all(&self, progress: &impl Fn(u64)) -> Result<Report> {
        self.read(|read| {
            let mut report = Report::default();
            let marks = verify_chain(read, self.space, &self.space_name, &mut report, progress)?;
            verify_events(read, self.space, &marks, &mut report, progress)?;
            Ok(report)
        })
    }

    /// Entries as they were written, after this one.
    pub fn audit_rows(&self, actor: &Actor, after: u64, limit: usize) -> Result<Vec<Sealed>> {
        self.check(actor, Deed::Audit, "export the audit")?;
        self.read(|read| Ok(read.audit_after(self.space, after, limit.min(ROWS_AT_ONCE))?))
    }

    /// Where the chain ends.
    pub fn audit_head(&self, actor: &Actor) -> Result<Head> {
        self.check(actor, Deed::Audit, "export the audit")?;
        self.read(|read| self.head(read))
    }

    fn head(&self, read: &mut Read<'_>) -> Result<Head> {
        let space = read.space(&self.space_name)?;
        let gone = || sayso_store::Error::Missing(format!("space {}", self.space_name));
        Ok(space.ok_or_else(gone)?.head)
    }
}

impl Desk {
    /// Writes the chain as lines of JSON that can be verified anywhere: as far as it went when this began.
    pub fn export_audit(&self, actor: &Actor, mut out: impl Write) -> Result<u64> {
        let written = |e: std::io::Error| {
            Error::Store(sayso_store::Error::Other(format!("the export cannot be written: {e}")))
        };
        let head = self.audit_head(actor)?;
        let header = Line::Begin { space: self.space(), name: self.space_name().to_owned() };
        write_line(&mut out, &header).map_err(written)?;
        let mut seq = 0;
        while seq < head.seq {
            let rows = self.audit_rows(actor, seq, ROWS_AT_ONCE)?;
            let Some(last) = rows.last() else { break };
            seq = last.seq.min(head.seq);
            for row in rows.into_iter().filter(|row| row.seq <= head.seq) {
                write_line(&mut out, &Line::Entry(row)).map_err(written)?;
            }
        }
        write_line(&mut out, &Line::End { head }).map_err(written)?;
        out.flush().map_err(written)?;
        Ok(seq)
    }
}

/// One line of an export.
#[derive(Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    /// Which chain this is.
    Begin {
        space: SpaceId,
        name: String,
    },
    Entry(Sealed),
    /// Where it ends: without this line something was cut off.
    End {
        head: Head,
    },
}

fn write_line(out: &mut impl Write, line: &Line) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// Why an export does not verify.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It cannot be read.
    #[error("the export cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// A line of it is not one of ours.
    #[error("line {line} of the export is not an entry: {why}")]
    Line {
        /// Which line.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The chain does not hold.
    #[error("{0}")]
    Broken(#[from] Broken),
}

/// Verifies an export without any database. Returns how many entries it has.
pub fn verify_export(from: impl BufRead) -> std::result::Result<u64, ExportError> {
    let mut verifier = None;
    let mut number = 0;
    for text in from.lines() {
        number += 1;
        let unread = |why: String| ExportError::Line { line: number, why };
        let line = serde_json::from_str(&text?).map_err(|e| unread(e.to_string()))?;
        match (line, &mut verifier) {
            (Line::Begin { space, .. }, None) => verifier = Some(Verifier::new(space)),
            (Line::Entry(sealed), Some(verifier)) => drop(verifier.next(&sealed)?),
            (Line::End { head }, Some(verifier)) => {
                return Ok(verifier.clone().finish(&head)?.seq);
            }
            (Line::Begin { .. }, Some(_)) => return Err(unread("a second beginning".into())),
            (Line::Entry(_) | Line::End { .. }, None) => {
                return Err(unread("the beginning is missing".into()));
            }
        }
    }
    Err(ExportError::Line { line: number + 1, why: "the end is missing: it was cut off".into() })
}

fn verify_chain(
    read: &mut Read<'_>,
    space: SpaceId,
    name: &str,
    report: &mut Report,
    progress: &impl Fn(u64),
) -> Result<HashSet<Mark>> {
    let mut verifier = Verifier::new(space);
    let mut marks = HashSet::new();
    loop {
        let rows = read.audit_after(space, report.entries, ROWS_AT_ONCE)?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            marks.extend(verifier.next(row).map_err(broken)?.events);
            report.entries += 1;
        }
        progress(report.entries);
    }
    let head = read.space(name)?.map(|space| space.head);
    let gone = || sayso_store::Error::Missing(format!("space {name}"));
    verifier.finish(&head.ok_or_else(gone)?).map_err(broken)?;
    Ok(marks)
}

/// Every event is covered, none is missing, and each stream makes the view that stands for it.
fn verify_events(
    read: &mut Read<'_>,
    space: SpaceId,
    marks: &HashSet<Mark>,
    report: &mut Report,
    progress: &impl Fn(u64),
) -> Result<()> {
    let (mut stream, mut version) = (String::new(), 0);
    let mut pending: Vec<EventRow> = vec![];
    loop {
        let rows = read.events_after(space, &stream, version, ROWS_AT_ONCE)?;
        let Some(last) = rows.last() else { break };
        (stream, version) = (last.stream.clone(), last.version);
        for row in rows {
            if !marks.contains(&Mark::of(&row.stream, row.version, &row.body)) {
                let which = format!("{} event {}", row.stream, row.version);
                return Err(tampered(&format!("{which} is not what the audit covers")).into());
            }
            if pending.first().is_some_and(|first| first.stream != row.stream) {
                report.views += verify_view(read, &pending)?;
                pending.clear();
            }
            report.events += 1;
            pending.push(row);
        }
        progress(report.entries + report.events);
    }
    report.views += verify_view(read, &pending)?;
    if report.events != marks.len() as u64 {
        let missing = marks.len() as u64 - report.events.min(marks.len() as u64);
        return Err(tampered(&format!("{missing} events are missing from the log")).into());
    }
    Ok(())
}

/// Compares a stream with its view. Returns how many views were compared.
fn verify_view(read: &mut Read<'_>, rows: &[EventRow]) -> Result<u64> {
    let Some(first) = rows.first() else { return Ok(0) };
    let (kind, id) = first.stream.split_once('/').unwrap_or_default();
    let holds = match kind {
        "gate" => {
            let folded = fold::<Gate, _>(rows, gate::apply)?;
            let shown = id.parse().ok().map(|id| read.gate_view(id)).transpose();
            folded == readable(shown)?.flatten().map(|(gate, _)| gate)
        }
        "task" => {
            let folded = fold::<Task, _>(rows, task::apply)?;
            let shown = id.parse().ok().map(|id| read.task(id)).transpose();
            folded == readable(shown)?.flatten().map(|(row, _)| row.task)
        }
        "flow" => {
            let folded = fold::<Flow, _>(rows, flow::apply)?;
            let shown = id.parse().ok().map(|id| read.flow_view(id)).transpose();
            folded == readable(shown)?.flatten().map(|(flow, _)| flow)
        }
        _ => return Ok(0),
    };
    if holds {
        return Ok(1);
    }
    Err(tampered(&format!("the row of {} is not what its events made it", first.stream)).into())
}

/// A view that is no longer text of ours is none: its stream is named, as that of one which differs.
fn readable<T>(shown: sayso_store::Result<Option<T>>) -> Result<Option<T>> {
    match shown {
        Err(error) if error.code() == Code::BrokenStore => Ok(None),
        outcome => Ok(outcome?),
    }
}

fn fold<T, E: serde::de::DeserializeOwned>(
    rows: &[EventRow],
    apply: fn(Option<T>, &E, sayso_core::Timestamp) -> Option<T>,
) -> Result<Option<T>> {
    let mut folded = None;
    for row in rows {
        folded = apply(folded, &event(row)?, row.at);
    }
    Ok(folded)
}

fn read_entry(row: &Sealed) -> std::result::Result<Entry, Broken> {
    serde_json::from_str(&row.body)
        .map_err(|e| Broken { seq: row.seq, why: format!("its text cannot be read: {e}") })
}

fn broken(broken: Broken) -> Error {
    tampered(&broken.to_string()).into()
}

fn tampered(what: &str) -> Refusal {
    Refusal::new(Code::AuditBroken, what).hint(
        "something wrote to the store without sayso, or it is damaged: see `sayso doctor`, and \
         compare with an export kept elsewhere",
    )
}
