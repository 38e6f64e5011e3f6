//! The audit log: list, verify, export.

mod listed;
mod view_verifier;

use crate::{Desk, Error, LocalDesk, Result};
pub use listed::ListedEntry;
use sayso_core::audit::{
    AuditOutcome, ChainBreak, ChainEntry, ChainHead, ChainVerifier, EventReference, SealedEntry,
};
use sayso_core::{Actor, Code, Permission, Refusal, SpaceId, Timestamp};
use sayso_store::{EventRow, ReadTransaction};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Write};
use view_verifier::ViewVerifier;

/// The number of rows per read.
const ROWS_AT_ONCE: usize = 1_000;

/// The events that the chain covers, and when each was written.
type Marks = HashMap<EventReference, Timestamp>;

/// The counts of a successful verification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditReport {
    /// The number of intact entries.
    pub entries: u64,
    /// The number of events that the entries cover.
    pub events: u64,
    /// The number of rows (gates, tasks, flows, runs, settings, tokens, people) that equal the result of their
    /// events.
    pub views: u64,
}

impl LocalDesk {
    /// Returns the last entries, newest first.
    pub fn audit_entries(&self, actor: &Actor, limit: usize) -> Result<Vec<ListedEntry>> {
        self.check(actor, Permission::Audit, "read the audit")?;
        self.read(|read| {
            let rows = read.audit_last(self.space, limit)?;
            let entries = rows.iter().map(|row| read_entry(row).map_err(broken));
            entries.map(|entry| listed::listed(read, entry?)).collect()
        })
    }

    /// Checks the hash chain, that it covers every event, and that every gate and task equals the result of its
    /// events. `progress` is called with the number of rows that are done.
    pub fn verify_audit(&self, actor: &Actor, progress: impl Fn(u64)) -> Result<AuditReport> {
        if !actor.may_verify() {
            self.check(actor, Permission::Audit, "verify the audit")?;
        }
        self.verify_all(&progress)
    }

    /// Verifies without a permission check, for callers that were authorized before.
    pub(crate) fn verify_all(&self, progress: &impl Fn(u64)) -> Result<AuditReport> {
        self.read(|read| {
            let mut report = AuditReport::default();
            let (marks, older) =
                verify_chain(read, self.space, &self.space_name, &mut report, progress)?;
            verify_events(read, self.space, &marks, &older, &mut report, progress)?;
            Ok(report)
        })
    }

    /// Returns stored entries after a sequence number.
    pub fn audit_rows(&self, actor: &Actor, after: u64, limit: usize) -> Result<Vec<SealedEntry>> {
        self.check(actor, Permission::Audit, "export the audit")?;
        self.read(|read| Ok(read.audit_after(self.space, after, limit.min(ROWS_AT_ONCE))?))
    }

    /// Entries after this one with what the log says of each, by their numbers; none for one that cannot be read.
    pub fn audit_listed(
        &self,
        actor: &Actor,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Option<ListedEntry>)>> {
        self.check(actor, Permission::Audit, "read the audit")?;
        self.read(|read| {
            let rows = read.audit_after(self.space, after, limit.min(ROWS_AT_ONCE))?;
            let mut all = Vec::with_capacity(rows.len());
            for row in &rows {
                let entry = read_entry(row).ok().map(|entry| listed::listed(read, entry));
                all.push((row.seq, entry.transpose()?));
            }
            Ok(all)
        })
    }

    /// Writes down that a person took the chain for the right one, though it went on to this entry when it was seen
    /// before.
    pub fn accept_older(&self, actor: &Actor, seen: u64) -> Result<()> {
        self.check(actor, Permission::Answer, "take an older copy for the right one")?;
        self.submit(actor, move |batch| {
            let reason = format!("it was seen up to entry {seen} before");
            batch.set_audit_subject("audit.accepted", "an older copy", None, &reason);
            Ok(())
        })
    }

    /// Returns the head of the hash chain.
    pub fn audit_head(&self, actor: &Actor) -> Result<ChainHead> {
        self.check(actor, Permission::Audit, "export the audit")?;
        self.read(|read| self.head(read))
    }

    fn head(&self, read: &mut ReadTransaction<'_>) -> Result<ChainHead> {
        let space = read.space(&self.space_name)?;
        let gone = || sayso_store::Error::Missing(format!("space {}", self.space_name));
        Ok(space.ok_or_else(gone)?.head)
    }
}

impl Desk {
    /// Writes the chain, up to its present head, as JSON lines that can be verified without the store.
    pub fn export_audit(&self, actor: &Actor, mut out: impl Write) -> Result<u64> {
        let written = |e: std::io::Error| {
            Error::Store(sayso_store::Error::Other(format!("the export cannot be written: {e}")))
        };
        let head = self.audit_head(actor)?;
        let header = ExportLine::Begin { space: self.space(), name: self.space_name().to_owned() };
        write_line(&mut out, &header).map_err(written)?;
        let mut seq = 0;
        while seq < head.seq {
            let rows = self.audit_rows(actor, seq, ROWS_AT_ONCE)?;
            let Some(last) = rows.last() else { break };
            seq = last.seq.min(head.seq);
            for row in rows.into_iter().filter(|row| row.seq <= head.seq) {
                write_line(&mut out, &ExportLine::Entry(row)).map_err(written)?;
            }
        }
        write_line(&mut out, &ExportLine::End { head }).map_err(written)?;
        out.flush().map_err(written)?;
        Ok(seq)
    }
}

/// One line of an export.
#[derive(Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum ExportLine {
    /// The chain that is exported.
    Begin {
        space: SpaceId,
        name: String,
    },
    Entry(SealedEntry),
    /// The head of the chain. An export without this line was truncated.
    End {
        head: ChainHead,
    },
}

fn write_line(out: &mut impl Write, line: &ExportLine) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// The reason why an export does not verify.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The export cannot be read.
    #[error("the export cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// A line is not in the format of an export.
    #[error("line {line} of the export is not an entry: {why}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The reason why the line cannot be parsed.
        why: String,
    },
    /// The hash chain is broken.
    #[error("{0}")]
    Broken(#[from] ChainBreak),
}

/// Verifies an export without a database. Returns the number of entries.
pub fn verify_export(from: impl BufRead) -> std::result::Result<u64, ExportError> {
    let mut verifier = None;
    let mut number = 0;
    for text in from.lines() {
        number += 1;
        let unread = |why: String| ExportError::Line { line: number, why };
        let line = serde_json::from_str(&text?).map_err(|e| unread(e.to_string()))?;
        match (line, &mut verifier) {
            (ExportLine::Begin { space, .. }, None) => verifier = Some(ChainVerifier::new(space)),
            (ExportLine::Entry(sealed), Some(verifier)) => drop(verifier.next(&sealed)?),
            (ExportLine::End { head }, Some(verifier)) => {
                return Ok(verifier.clone().finish(&head)?.seq);
            }
            (ExportLine::Begin { .. }, Some(_)) => return Err(unread("a second beginning".into())),
            (ExportLine::Entry(_) | ExportLine::End { .. }, None) => {
                return Err(unread("the beginning is missing".into()));
            }
        }
    }
    Err(ExportError::Line { line: number + 1, why: "the end is missing: it was cut off".into() })
}

/// Audit entries that replace events of the log which older versions did not write.
#[derive(Default)]
struct LegacyEntries {
    /// The reason text of the entry in which a token was created, by the handle of the token.
    minted: HashMap<String, String>,
    /// The people who joined or set a passphrase.
    people: HashSet<String>,
}

impl LegacyEntries {
    fn note(&mut self, entry: &ChainEntry) {
        if entry.outcome != AuditOutcome::Done {
            return;
        }
        match entry.action.as_str() {
            "token.minted" => {
                self.minted.insert(entry.object.clone(), entry.reason.clone());
            }
            "person.joined" | "passphrase.set" => drop(self.people.insert(entry.object.clone())),
            _ => {}
        }
    }
}

fn verify_chain(
    read: &mut ReadTransaction<'_>,
    space: SpaceId,
    name: &str,
    report: &mut AuditReport,
    progress: &impl Fn(u64),
) -> Result<(Marks, LegacyEntries)> {
    let mut verifier = ChainVerifier::new(space);
    let (mut marks, mut older) = (Marks::new(), LegacyEntries::default());
    loop {
        let rows = read.audit_after(space, report.entries, ROWS_AT_ONCE)?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            let entry = verifier.next(row).map_err(broken)?;
            older.note(&entry);
            marks.extend(entry.events.into_iter().map(|mark| (mark, entry.at)));
            report.entries += 1;
        }
        progress(report.entries);
    }
    let head = read.space(name)?.map(|space| space.head);
    let gone = || sayso_store::Error::Missing(format!("space {name}"));
    verifier.finish(&head.ok_or_else(gone)?).map_err(broken)?;
    Ok((marks, older))
}

/// Checks that every event is covered by the chain, that none is missing, and that the events of each stream result
/// in the stored view row.
fn verify_events(
    read: &mut ReadTransaction<'_>,
    space: SpaceId,
    marks: &Marks,
    older: &LegacyEntries,
    report: &mut AuditReport,
    progress: &impl Fn(u64),
) -> Result<()> {
    let (mut stream, mut version) = (String::new(), 0);
    let mut pending: Vec<EventRow> = vec![];
    let mut made = ViewVerifier::of(space);
    loop {
        let rows = read.events_after(space, &stream, version, ROWS_AT_ONCE)?;
        let Some(last) = rows.last() else { break };
        (stream, version) = (last.stream.clone(), last.version);
        for row in rows {
            if marks.get(&EventReference::of(&row.stream, row.version, &row.body)) != Some(&row.at)
            {
                let which = format!("{} event {}", row.stream, row.version);
                return Err(tampered(&format!("{which} is not what the audit covers")).into());
            }
            if pending.first().is_some_and(|first| first.stream != row.stream) {
                made.take(read, &pending)?;
                pending.clear();
            }
            report.events += 1;
            pending.push(row);
        }
        progress(report.entries + report.events);
    }
    made.take(read, &pending)?;
    if report.events != marks.len() as u64 {
        let missing = marks.len() as u64 - report.events.min(marks.len() as u64);
        return Err(tampered(&format!("{missing} events are missing from the log")).into());
    }
    report.views = made.finish(read, older)?;
    Ok(())
}

fn read_entry(row: &SealedEntry) -> std::result::Result<ChainEntry, ChainBreak> {
    serde_json::from_str(&row.body)
        .map_err(|e| ChainBreak { seq: row.seq, why: format!("its text cannot be read: {e}") })
}

fn broken(broken: ChainBreak) -> Error {
    tampered(&broken.to_string()).into()
}

fn tampered(what: &str) -> Refusal {
    Refusal::new(Code::AuditBroken, what).hint(
        "something wrote to the store without sayso, or it is damaged: see `sayso doctor`, and \
         compare with an export kept elsewhere",
    )
}
