//! Following what happens in a space, here or behind a server.

use crate::{Changes, Desk, Result};
use sayso_store::{Topic, Watch};
use std::time::Duration;

/// How long is waited before a server that was away is asked again.
const AWAY: Duration = Duration::from_secs(1);

/// Follows what happens in a space from when it was made on. What wakes it carries no truth: whoever was
/// woken reads again.
pub struct Follower {
    desk: Desk,
    /// None where the desk is elsewhere: the call is held there.
    watch: Option<Watch>,
    seen: u64,
}

impl Desk {
    /// Begins to follow. Follow first, look second: what happens in between wakes, too.
    pub fn follow(&self) -> Result<Follower> {
        let watch = match self.local() {
            Some(desk) => Some(desk.store.watch(&[Topic::Space(desk.space)])?),
            None => None,
        };
        let seen = self.changes(None, Duration::ZERO)?.seen;
        Ok(Follower { desk: self.clone(), watch, seen })
    }

    fn changes(&self, seen: Option<u64>, patience: Duration) -> Result<Changes> {
        match (self.local(), self.remote()) {
            (Some(desk), _) => desk.changes(seen),
            (None, Some(desk)) => desk.changes(seen, patience),
            (None, None) => Ok(Changes::default()),
        }
    }
}

impl Follower {
    /// What has happened since; waits for as long as `patience` when nothing has. None if nothing did, or
    /// if nobody is there who could tell.
    pub fn next(&mut self, patience: Duration) -> Result<Option<Changes>> {
        let mut changes = match self.desk.changes(Some(self.seen), patience) {
            Err(error) if error.is_unreachable() && self.watch.is_none() => {
                std::thread::sleep(patience.min(AWAY));
                return Ok(None);
            }
            changes => changes?,
        };
        if let Some(watch) = self.watch.as_mut().filter(|_| changes.seen == self.seen) {
            watch.wait(patience);
            changes = self.desk.changes(Some(self.seen), patience)?;
        }
        let is_news = changes.seen != self.seen;
        self.seen = changes.seen;
        Ok(is_news.then_some(changes))
    }

    /// Waits until something has happened, or until `patience` is over.
    pub fn wait(&mut self, patience: Duration) -> Result<()> {
        self.next(patience).map(drop)
    }
}
