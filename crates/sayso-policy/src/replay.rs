//! Replays recorded requests against new policies, and counts the decisions that would change.

use crate::demands::PolicyEffect;
use crate::request::PolicyRequest;
use crate::ruling::{PolicySet, Ruling};
use crate::view::RequestView;
use serde::Serialize;
use std::collections::BTreeMap;

/// A recorded request.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// The name for people, such as the handle of its gate.
    pub name: String,
    /// The request as it was then, with its time and history.
    pub request: PolicyRequest,
}

/// The difference between two rulings on the same request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RulingChange {
    /// The decision of the old policies.
    pub before: PolicyEffect,
    /// The decision of the new ones.
    pub after: PolicyEffect,
    /// True if both ask, with different demands.
    pub asked_otherwise: bool,
}

impl RulingChange {
    /// True if there is no difference.
    pub fn is_none(self) -> bool {
        self.before == self.after && !self.asked_otherwise
    }
}

/// The requests with the same change.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ChangedRequests {
    pub count: u64,
    /// The first few of them.
    pub examples: Vec<ReplayExample>,
}

/// A request whose decision would change.
#[derive(Debug, Clone, Serialize)]
pub struct ReplayExample {
    pub name: String,
    /// The request, in one line.
    pub request: String,
    /// The rules that decided before.
    pub before: Vec<String>,
    /// The rules that decide now.
    pub after: Vec<String>,
}

/// The result of a replay.
#[derive(Debug, Clone, Default)]
pub struct ReplayReport {
    /// The number of replayed requests.
    pub looked: u64,
    /// The requests by change. Those without one are counted too, without examples.
    pub changes: BTreeMap<RulingChange, ChangedRequests>,
}

impl ReplayReport {
    /// Returns the number of requests whose decision would change.
    pub fn changed(&self) -> u64 {
        let changes = self.changes.iter().filter(|(change, _)| !change.is_none());
        changes.map(|(_, changed)| changed.count).sum()
    }
}

impl PolicySet {
    /// Decides recorded requests by these policies and by the old ones. For each change the first `examples_max` are
    /// kept.
    pub fn replay(
        &self,
        before: &PolicySet,
        requests: impl IntoIterator<Item = RecordedRequest>,
        examples_max: usize,
    ) -> ReplayReport {
        let mut replay = ReplayReport::default();
        for RecordedRequest { name, request } in requests {
            // Parsed once: both use the same command line and facts.
            let view = RequestView::of(&request);
            let (old, new) = (before.ruling_on(&view), self.ruling_on(&view));
            let asked_otherwise = old.effect == PolicyEffect::Ask
                && new.effect == PolicyEffect::Ask
                && old.demands != new.demands;
            let change = RulingChange { before: old.effect, after: new.effect, asked_otherwise };
            replay.looked += 1;
            let changed = replay.changes.entry(change).or_default();
            changed.count += 1;
            if !change.is_none() && changed.examples.len() < examples_max {
                let request = request.in_words();
                let (before, after) = (places(&old), places(&new));
                changed.examples.push(ReplayExample { name, request, before, after });
            }
        }
        replay
    }
}

fn places(ruling: &Ruling) -> Vec<String> {
    ruling.because.iter().map(|because| because.place()).collect()
}
