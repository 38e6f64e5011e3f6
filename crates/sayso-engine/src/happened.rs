//! What happened in a space, entry by entry, for whoever may know of it.

use crate::sight::is_addressee;
use crate::{LocalDesk, Result, load};
use sayso_core::audit::Entry;
use sayso_core::{Actor, Deed};
use sayso_store::Read;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The most entries that are looked at together.
const ENTRIES_MAX: usize = 1_000;

/// What happened after an entry of the audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happened {
    /// What the caller may know of it, in order.
    pub entries: Vec<Entry>,
    /// The last entry that was looked at: go on behind it. It is less than where somebody was who had seen more
    /// than there is: a backup was put back, or it never was a number of this space.
    pub seen: u64,
}

impl LocalDesk {
    /// What happened after an entry, as far as the actor may know; without one, where it ends.
    ///
    /// Whoever may read the audit knows all of it. Whoever may only read what there is, knows what became
    /// of that, and not who was refused what. An agent hears of its own gates and messages.
    pub fn happened(&self, actor: &Actor, after: Option<u64>, limit: usize) -> Result<Happened> {
        let Some(after) = after else {
            return Ok(Happened { entries: vec![], seen: self.changes(None)?.seen });
        };
        self.read(|read| {
            let rows = read.audit_after(self.space, after, limit.min(ENTRIES_MAX))?;
            let mut sight = Sight { actor, desk: self, known: HashMap::new() };
            let mut entries = vec![];
            for row in &rows {
                // An entry that cannot be read is for `audit verify` to name.
                let Ok(entry) = serde_json::from_str(&row.body) else { continue };
                if sight.covers(read, &entry)? {
                    entries.push(entry);
                }
            }
            let seen = match rows.last() {
                Some(row) => row.seq,
                None => after.min(self.end(read)?),
            };
            Ok(Happened { entries, seen })
        })
    }
}

/// What an actor may know of.
struct Sight<'a> {
    actor: &'a Actor,
    desk: &'a LocalDesk,
    /// The gates and messages that were looked at, and whether they are the actor's own.
    known: HashMap<String, bool>,
}

impl Sight<'_> {
    fn covers(&mut self, read: &mut Read<'_>, entry: &Entry) -> Result<bool> {
        if self.actor.may(Deed::Audit) {
            return Ok(true);
        }
        if self.actor.may(Deed::Read) {
            return Ok(!entry.events.is_empty());
        }
        for mark in &entry.events {
            if self.is_own(read, &mark.stream)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_own(&mut self, read: &mut Read<'_>, stream: &str) -> Result<bool> {
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
