//! A new policy over recorded requests: what would have been decided otherwise.

use crate::demands::Effect;
use crate::request::Request;
use crate::ruling::{Policies, Ruling};
use crate::view::View;
use serde::Serialize;
use std::collections::BTreeMap;

/// A request that was made once.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// What people call it, such as the handle of its gate.
    pub name: String,
    /// The request as it was then, its time and history included.
    pub request: Request,
}

/// What changed between two rulings on the same request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Change {
    /// What the old policies say.
    pub before: Effect,
    /// What the new ones say.
    pub after: Effect,
    /// Whether both ask, but not in the same way.
    pub asked_otherwise: bool,
}

impl Change {
    /// Whether it is none.
    pub fn is_none(self) -> bool {
        self.before == self.after && !self.asked_otherwise
    }
}

/// How often a change happened, and to what.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Changed {
    /// How often.
    pub count: u64,
    /// The first few.
    pub examples: Vec<Example>,
}

/// A request that would now be decided otherwise.
#[derive(Debug, Clone, Serialize)]
pub struct Example {
    /// What people call it.
    pub name: String,
    /// The request, in a line.
    pub request: String,
    /// Who decided before.
    pub before: Vec<String>,
    /// Who decides now.
    pub after: Vec<String>,
}

/// What replaying came to.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    /// How many requests were looked at.
    pub looked: u64,
    /// What became of them. Those that did not change are counted too, without examples.
    pub changes: BTreeMap<Change, Changed>,
}

impl Replay {
    /// How many requests would be decided otherwise.
    pub fn changed(&self) -> u64 {
        let changes = self.changes.iter().filter(|(change, _)| !change.is_none());
        changes.map(|(_, changed)| changed.count).sum()
    }
}

impl Policies {
    /// Puts recorded requests before these policies and before the old ones. Of each sort of change
    /// the first `examples_max` are kept.
    pub fn replay(
        &self,
        before: &Policies,
        requests: impl IntoIterator<Item = Recorded>,
        examples_max: usize,
    ) -> Replay {
        let mut replay = Replay::default();
        for Recorded { name, request } in requests {
            // Read once: both look at the same command line and facts.
            let view = View::of(&request);
            let (old, new) = (before.ruling_on(&view), self.ruling_on(&view));
            let asked_otherwise = old.effect == Effect::Ask
                && new.effect == Effect::Ask
                && old.demands != new.demands;
            let change = Change { before: old.effect, after: new.effect, asked_otherwise };
            replay.looked += 1;
            let changed = replay.changes.entry(change).or_default();
            changed.count += 1;
            if !change.is_none() && changed.examples.len() < examples_max {
                let request = request.in_words();
                let (before, after) = (places(&old), places(&new));
                changed.examples.push(Example { name, request, before, after });
            }
        }
        replay
    }
}

fn places(ruling: &Ruling) -> Vec<String> {
    ruling.because.iter().map(|because| because.place()).collect()
}
