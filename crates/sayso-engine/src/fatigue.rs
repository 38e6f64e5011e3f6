//! What keeps people from being worn out: that the many questions of an agent are shown as one, and that a no which
//! is asked again is counted. How fast an agent may ask is in [`crate::pace`].

use crate::{Result, load};
use sayso_core::gate::Gate;
use sayso_core::{Kind, Shape, Verdict};
use sayso_store::{GateFilter, Read};
use serde::{Deserialize, Serialize};

/// So many answered gates of an asker are looked at for noes to the same question.
const LOOKED_AT_MAX: usize = 200;

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
