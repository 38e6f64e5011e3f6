//! The change feed of a space, local or remote: polls for audit entries since the last one seen.

use crate::{Desk, LocalDesk, Result, SpaceChanges};
use sayso_store::{CommitWatch, ReadTransaction, WatchTopic};
use serde::Deserialize;
use std::time::Duration;

/// The maximum number of audit entries in one response of the change feed.
const CHANGES_MAX: usize = 1_000;

/// The pause before an unreachable server is polled again.
const AWAY: Duration = Duration::from_secs(1);

/// A subscription to the changes of a space, from its creation on. A wake-up carries no data; the subscriber reads
/// the state again.
pub struct ChangeFeed {
    desk: Desk,
    /// None for a remote desk, where the server holds the call (long polling).
    watch: Option<CommitWatch>,
    seen: u64,
    /// True if the last read returned as many changes as are read at once.
    is_behind: bool,
}

impl Desk {
    /// Begins to follow the changes. Call it before the first read: a change in between is then reported as well.
    pub fn follow(&self) -> Result<ChangeFeed> {
        let watch = match self.local() {
            Some(desk) => Some(desk.store.watch(&[WatchTopic::Space(desk.space)])?),
            None => None,
        };
        let seen = self.changes(None, Duration::ZERO)?.seen;
        Ok(ChangeFeed { desk: self.clone(), watch, seen, is_behind: false })
    }

    fn changes(&self, seen: Option<u64>, patience: Duration) -> Result<SpaceChanges> {
        match (self.local(), self.remote()) {
            (Some(desk), _) => desk.changes(seen),
            (None, Some(desk)) => desk.changes(seen, patience),
            (None, None) => Ok(SpaceChanges::default()),
        }
    }
}

impl ChangeFeed {
    /// Returns the changes since the last call, and waits up to `patience` for one. None if there are none, or if the
    /// server is unreachable.
    pub fn next(&mut self, patience: Duration) -> Result<Option<SpaceChanges>> {
        match self.poll(patience) {
            Err(error) if error.is_unreachable() && self.watch.is_none() => {
                std::thread::sleep(patience.min(AWAY));
                Ok(None)
            }
            heard => heard,
        }
    }

    /// Returns the changes like `next`, but an unreachable server is an error, for callers that report it.
    pub fn poll(&mut self, patience: Duration) -> Result<Option<SpaceChanges>> {
        // A change since the last read has already signalled the watch, so no read is needed before it.
        if let Some(watch) = self.watch.as_mut().filter(|_| !self.is_behind) {
            watch.wait(patience);
        }
        let changes = self.desk.changes(Some(self.seen), patience)?;
        let is_news = changes.seen != self.seen;
        self.is_behind = changes.seen.saturating_sub(self.seen) >= CHANGES_MAX as u64;
        self.seen = changes.seen;
        Ok(is_news.then_some(changes))
    }

    /// Waits until there is a change, or until `patience` has passed.
    pub fn wait(&mut self, patience: Duration) -> Result<()> {
        self.next(patience).map(drop)
    }
}

/// The part of an audit entry that the change feed needs.
#[derive(Deserialize)]
struct EntryEvents {
    #[serde(default)]
    events: Vec<StreamRef>,
}

#[derive(Deserialize)]
struct StreamRef {
    stream: String,
}

impl LocalDesk {
    /// Returns the changes after an audit entry; without `seen`, only the present end.
    pub fn changes(&self, seen: Option<u64>) -> Result<SpaceChanges> {
        let Some(seen) = seen else {
            let seen = self.read(|read| self.end(read))?;
            return Ok(SpaceChanges { seen, gates: vec![] });
        };
        let rows = self.look(|read| Ok(read.audit_after(self.space, seen, CHANGES_MAX)?))?;
        // An entry that cannot be parsed wakes no waiter; each looks again after a while.
        let entries =
            rows.iter().filter_map(|row| serde_json::from_str::<EntryEvents>(&row.body).ok());
        let gate = |stream: &str| stream.strip_prefix("gate/")?.parse().ok();
        let gates = entries
            .flat_map(|entry| entry.events)
            .filter_map(|event| gate(&event.stream))
            .collect();
        let seen = match rows.last() {
            Some(row) => row.seq,
            // A subscriber that is ahead of the chain follows one that was restored from a backup, and begins at its
            // end.
            None => seen.min(self.read(|read| self.end(read))?),
        };
        Ok(SpaceChanges { seen, gates })
    }

    /// Returns the sequence number of the last audit entry.
    pub(crate) fn end(&self, read: &mut ReadTransaction<'_>) -> Result<u64> {
        let last = read.audit_last(self.space, 1)?;
        Ok(last.first().map_or(0, |row| row.seq))
    }
}
