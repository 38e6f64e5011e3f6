//! Audit entries for lists: with the answer that was given, and the other events of the same entry. Both are read
//! from the log, which an entry covers by hashes only.

use crate::Result;
use crate::load::event;
use sayso_core::audit::{ChainEntry, EventReference};
use sayso_core::{Answer, AnswerContent, flow, gate, task};
use sayso_store::{EventRow, ReadTransaction};
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// The number of events of an entry that are named. Further events are only counted.
const EVENTS_MAX: usize = 20;

/// An audit entry with details from the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedEntry {
    #[serde(flatten)]
    pub entry: ChainEntry,
    /// The answer that was given, or the vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Further events of the entry: `gate.expired g7k2m`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

impl Deref for ListedEntry {
    type Target = ChainEntry;
    fn deref(&self) -> &ChainEntry {
        &self.entry
    }
}

/// Reads the details of an entry from the log.
pub(super) fn listed(read: &mut ReadTransaction<'_>, entry: ChainEntry) -> Result<ListedEntry> {
    let (mut answer, mut also) = (None, vec![]);
    for mark in entry.events.iter().take(EVENTS_MAX) {
        // An event that is missing or changed is reported by the verification, not here.
        let Some(row) = read.event_at(&mark.stream, mark.version)? else { continue };
        let Some((name, given)) = said(mark, &row) else { continue };
        answer = answer.or(given);
        if name != entry.action {
            let handle = read.handle_of(&mark.stream)?.unwrap_or_default();
            also.push(format!("{name} {handle}").trim_end().to_owned());
        }
    }
    also.dedup();
    if entry.events.len() > EVENTS_MAX {
        also.push(format!("and {} more events", entry.events.len() - EVENTS_MAX));
    }
    Ok(ListedEntry { entry, answer, also })
}

/// Returns the text of an answer. A bare verdict is its name, since its reason is in the entry itself.
fn in_words(answer: &Answer) -> String {
    match answer.content {
        AnswerContent::None => answer.verdict.to_string(),
        _ => answer.as_text(),
    }
}

/// Returns the name of an event, and the answer that it contains.
fn said(mark: &EventReference, row: &EventRow) -> Option<(&'static str, Option<String>)> {
    match mark.stream.split_once('/')?.0 {
        "gate" => {
            let event: gate::GateEvent = event(row).ok()?;
            let given = match &event {
                gate::GateEvent::Voted { answer, .. }
                | gate::GateEvent::Answered { answer, .. } => Some(in_words(answer)),
                _ => None,
            };
            Some((event.name(), given))
        }
        "task" => Some((event::<task::TaskEvent>(row).ok()?.name(), None)),
        "flow" => Some((event::<flow::FlowLogEvent>(row).ok()?.name(), None)),
        _ => None,
    }
}
