//! The activity of a space: its audit entries, filtered by what the caller may see.

use crate::visibility::is_addressee;
use crate::{LocalDesk, Result, load};
use sayso_core::audit::ChainEntry;
use sayso_core::{Actor, Permission};
use sayso_store::ReadTransaction;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The maximum number of entries per read.
const ENTRIES_MAX: usize = 1_000;

/// The activity after an audit entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityPage {
    /// The entries that are visible to the caller, in order.
    pub entries: Vec<ChainEntry>,
    /// The sequence number of the last entry that was read: the next call continues after it. It is lower than the
    /// number that the caller sent if that is beyond the end: a backup was restored, or the number never belonged to
    /// this space.
    pub seen: u64,
}

impl LocalDesk {
    /// Returns the activity after an entry that is visible to the actor; without `after`, only the present end.
    ///
    /// An actor who may read the audit sees all of it. An actor who may only read the space sees entries with events,
    /// and not who was refused what. An agent sees entries about its own gates and messages.
    pub fn happened(
        &self,
        actor: &Actor,
        after: Option<u64>,
        limit: usize,
    ) -> Result<ActivityPage> {
        let Some(after) = after else {
            return Ok(ActivityPage { entries: vec![], seen: self.changes(None)?.seen });
        };
        self.read(|read| {
            let rows = read.audit_after(self.space, after, limit.min(ENTRIES_MAX))?;
            let mut sight = VisibilityFilter { actor, desk: self, known: HashMap::new() };
            let mut entries = vec![];
            for row in &rows {
                // An entry that cannot be parsed is reported by `audit verify`.
                let Ok(entry) = serde_json::from_str(&row.body) else { continue };
                if sight.covers(read, &entry)? {
                    entries.push(entry);
                }
            }
            let seen = match rows.last() {
                Some(row) => row.seq,
                None => after.min(self.end(read)?),
            };
            Ok(ActivityPage { entries, seen })
        })
    }
}

/// The visibility filter of an actor for audit entries.
struct VisibilityFilter<'a> {
    actor: &'a Actor,
    desk: &'a LocalDesk,
    /// The gates and messages that were checked, with true for the actor's own.
    known: HashMap<String, bool>,
}

impl VisibilityFilter<'_> {
    fn covers(&mut self, read: &mut ReadTransaction<'_>, entry: &ChainEntry) -> Result<bool> {
        if self.actor.may(Permission::Audit) {
            return Ok(true);
        }
        if self.actor.may(Permission::Read) {
            return Ok(!entry.events.is_empty());
        }
        for mark in &entry.events {
            if self.is_own(read, &mark.stream)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_own(&mut self, read: &mut ReadTransaction<'_>, stream: &str) -> Result<bool> {
        if let Some(is_own) = self.known.get(stream) {
            return Ok(*is_own);
        }
        let is_own = match stream.split_once('/') {
            Some(("gate", id)) => match id.parse() {
                Ok(id) => load::gate(read, id)?
                    .is_some_and(|(gate, _)| self.actor.is_asker(&gate.opened.lineage)),
                Err(_) => false,
            },
            Some(("message", id)) => {
                let message = read.message(self.desk.space, id)?;
                message.is_some_and(|message| is_addressee(self.actor, &message.to))
            }
            _ => false,
        };
        self.known.insert(stream.to_owned(), is_own);
        Ok(is_own)
    }
}
