//! What keeps people from being worn out: how fast an agent may ask, that its many questions are shown as one,
//! and that a no which is asked again is counted.

use crate::{LocalDesk, Result, load};
use sayso_core::gate::{Gate, InLine, Waiting};
use sayso_core::{Actor, Code, GateId, Kind, Refusal, Role, Shape, SpaceId, Timestamp, Verdict};
use sayso_store::{GateFilter, Read};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

/// So many answered gates of an asker are looked at for noes to the same question.
const LOOKED_AT_MAX: usize = 200;

/// For so long it is told that an agent asked too fast.
const TOLD_MICROS: i64 = 10 * 60 * 1_000_000;

const MINUTE_MICROS: f64 = 60e6;

/// Which cards of a list are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thin<'a> {
    /// Those of everybody but this one.
    Asker(&'a str),
    /// What anybody asks beyond so many.
    Each(usize),
}

/// What one asker asks beyond what is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crowd {
    /// Who asks so much.
    pub asker: String,
    /// How many cards are not listed.
    pub count: usize,
    /// Whether there may be more than that: not all of them were looked at.
    pub more: bool,
}

/// Noes to what is asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denied {
    /// How often.
    pub times: usize,
    /// The gate of the last one.
    pub gate: String,
    /// Who said it.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

/// At most so many cards of one asker, in their order; and what that leaves out.
pub(crate) fn thin_out(
    line: Vec<InLine>,
    waiting: &[Waiting],
    each_max: usize,
) -> (Vec<InLine>, Vec<Crowd>) {
    let askers: HashMap<GateId, &str> =
        waiting.iter().map(|gate| (gate.id, gate.asker.as_str())).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut kept = vec![];
    for card in line {
        let asker = card.gates.first().and_then(|gate| askers.get(gate).copied());
        let count = counts.entry(asker.unwrap_or_default()).or_default();
        *count += 1;
        if *count <= each_max {
            kept.push(card);
        }
    }
    let over = counts.into_iter().filter(|(_, count)| *count > each_max);
    let crowd = |(asker, count): (&str, usize)| Crowd {
        asker: asker.into(),
        count: count - each_max,
        more: false,
    };
    (kept, over.map(crowd).collect())
}

/// Noes of people to what this gate asks again, if there were any.
pub(crate) fn denied(read: &mut Read<'_>, gate: &Gate) -> Result<Option<Denied>> {
    let filter = GateFilter {
        asker: Some(gate.opened.lineage.asker.clone()),
        kinds: vec![gate.opened.kind],
        ended: true,
        limit: LOOKED_AT_MAX,
        ..GateFilter::default()
    };
    // The last ones first.
    let ended = read.gates(gate.opened.space, &filter)?.items;
    let is_no = |other: &&Gate| {
        let is_earlier = other.ended_at().is_some_and(|at| at <= gate.opened_at);
        is_earlier && asks_again(gate, other) && other.verdict() == Some(Verdict::Rejected)
    };
    let noes: Vec<_> =
        ended.iter().filter(is_no).filter(|other| other.answer().is_some()).collect();
    let Some((answer, by)) = noes.first().and_then(|last| last.answer()) else { return Ok(None) };
    noes.iter().try_for_each(|other| load::check_listed(read, other))?;
    Ok(Some(Denied {
        times: noes.len(),
        gate: noes.first().map(|last| last.handle().to_owned()).unwrap_or_default(),
        by: by.name.clone(),
        reason: answer.reason.clone(),
    }))
}

/// Whether one asks what the other asked: for leave for the same piece of work, or in the same words about the same
/// facts. What the asker says beside that makes no other question of it.
fn asks_again(gate: &Gate, other: &Gate) -> bool {
    let is_leave = gate.card.shape == Shape::Verdict && gate.opened.kind != Kind::Tool;
    let is_same_work = gate.opened.task.is_some() && gate.opened.task == other.opened.task;
    let is_same_card =
        gate.card.question == other.card.question && gate.card.facts == other.card.facts;
    (is_leave && is_same_work) || is_same_card
}

/// How fast agents ask, and how fast they may. It is kept by a server for as long as it runs.
pub(crate) struct Pace {
    per_minute: u32,
    agents: Mutex<HashMap<(SpaceId, String), Asking>>,
}

/// How fast one of them asks.
struct Asking {
    /// How many questions it may ask now.
    left: f64,
    at: Timestamp,
    refused: u64,
    refused_at: Option<Timestamp>,
}

impl Pace {
    fn may_ask(&self, space: SpaceId, agent: &str, now: Timestamp) -> bool {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let most = f64::from(self.per_minute);
        let new = || Asking { left: most, at: now, refused: 0, refused_at: None };
        let asking = agents.entry((space, agent.to_owned())).or_insert_with(new);
        let past = now.as_micros().saturating_sub(asking.at.as_micros()).max(0) as f64;
        asking.left = (asking.left + past * most / MINUTE_MICROS).min(most);
        asking.at = now;
        if asking.left >= 1.0 {
            asking.left -= 1.0;
            return true;
        }
        if asking.refused_at.is_none_or(|at| now > at.plus_micros(TOLD_MICROS)) {
            asking.refused = 0;
        }
        asking.refused += 1;
        asking.refused_at = Some(now);
        false
    }

    fn refused(&self, space: SpaceId, now: Timestamp) -> Vec<(String, u64)> {
        let agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let is_told = |at: Timestamp| now <= at.plus_micros(TOLD_MICROS);
        let told = agents
            .iter()
            .filter(|((of, _), asking)| *of == space && asking.refused_at.is_some_and(is_told));
        let mut told: Vec<_> =
            told.map(|((_, agent), asking)| (agent.clone(), asking.refused)).collect();
        told.sort();
        told
    }
}

impl LocalDesk {
    /// The same desk, at which an agent asks at most so many questions a minute.
    pub fn with_pace(mut self, per_minute: Option<u32>) -> Self {
        let pace = |per_minute| Pace { per_minute, agents: Mutex::default() };
        self.pace = per_minute.map(pace).map(Into::into);
        self
    }

    /// Whose questions were refused lately because they came too fast, and how many.
    pub fn asked_too_fast(&self) -> Vec<(String, u64)> {
        self.pace.as_ref().map_or(vec![], |pace| pace.refused(self.space, self.now()))
    }

    /// Refuses a question of an agent that asks too fast. Answers are never refused for that.
    pub(crate) fn check_pace(
        &self,
        actor: &Actor,
        at: Timestamp,
    ) -> std::result::Result<(), Refusal> {
        let Some(pace) = self.pace.as_ref().filter(|_| actor.role == Role::Agent) else {
            return Ok(());
        };
        if pace.may_ask(self.space, &actor.name, at) {
            return Ok(());
        }
        let most = pace.per_minute;
        let secs = 60_u32.div_ceil(most.max(1));
        let message = format!(
            "agent {} asks more than {most} questions a minute; the next one is taken in {secs} s",
            actor.name
        );
        Err(Refusal::new(Code::TooManyAsks, message)
            .wait(secs)
            .hint("wait for the answers that are on their way, and put what belongs together into one question"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_thousand_asks_a_minute_are_too_many() {
        let pace = Pace { per_minute: 60, agents: Mutex::default() };
        let space = SpaceId::mint(second(1), 1);
        let asks = |agent: &str, seconds: std::ops::Range<i64>, each: usize| {
            let all = seconds.flat_map(|at| std::iter::repeat_n(second(at), each));
            all.filter(|at| pace.may_ask(space, agent, *at)).count()
        };
        // What it may ask at once, and then one each second.
        assert_eq!(asks("eager", 0..60, 17), 60 + 59);
        assert_eq!(asks("calm", 0..60, 1), 60);
        assert_eq!(pace.refused(space, second(60)), [("eager".to_owned(), 60 * 17 - 119)]);
        // It is over after a while, for whoever asks less and for whoever is told.
        assert_eq!(asks("eager", 120..130, 1), 10);
        assert_eq!(pace.refused(space, second(60 + 11 * 60)), []);
    }
}
