//! Following what happens in a space, here or behind a server.

use crate::remote::CHANGES_MAX;
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
    /// Whether there was more than is read at one time.
    is_behind: bool,
}

impl Desk {
    /// Begins to follow. Follow first, look second: what happens in between wakes, too.
    pub fn follow(&self) -> Result<Follower> {
        let watch = match self.local() {
            Some(desk) => Some(desk.store.watch(&[Topic::Space(desk.space)])?),
            None => None,
        };
        let seen = self.changes(None, Duration::ZERO)?.seen;
        Ok(Follower { desk: self.clone(), watch, seen, is_behind: false })
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
        match self.hear(patience) {
            Err(error) if error.is_unreachable() && self.watch.is_none() => {
                std::thread::sleep(patience.min(AWAY));
                Ok(None)
            }
            heard => heard,
        }
    }

    /// The same for those who tell people that nobody is there: then it is a failure.
    pub fn hear(&mut self, patience: Duration) -> Result<Option<Changes>> {
        // What happened since the last look has woken us already: it needs no look of its own before.
        if let Some(watch) = self.watch.as_mut().filter(|_| !self.is_behind) {
            watch.wait(patience);
        }
        let changes = self.desk.changes(Some(self.seen), patience)?;
        let is_news = changes.seen != self.seen;
        self.is_behind = changes.seen.saturating_sub(self.seen) >= CHANGES_MAX as u64;
        self.seen = changes.seen;
        Ok(is_news.then_some(changes))
    }

    /// Waits until something has happened, or until `patience` is over.
    pub fn wait(&mut self, patience: Duration) -> Result<()> {
        self.next(patience).map(drop)
    }
}
