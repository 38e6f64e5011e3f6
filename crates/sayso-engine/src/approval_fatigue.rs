//! Protects people from approval fatigue: an inbox limit for each asker (collapsed lists), and the count of earlier
//! rejections of a repeated question. The rate limit (token bucket) of agents is in [`crate::pace`].

use crate::{Result, load};
use sayso_core::gate::Gate;
use sayso_core::{AnswerShape, GateKind, Verdict};
use sayso_store::{GateFilter, ReadTransaction};
use serde::{Deserialize, Serialize};

/// The number of an asker's ended gates that are searched for rejections of the same question.
const LOOKED_AT_MAX: usize = 200;

/// The rule by which a list of cards is thinned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollapseRule<'a> {
    /// Only the cards of this asker.
    Asker(&'a str),
    /// At most so many cards of each asker.
    Each(usize),
}

/// The cards of one asker that are left out of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollapsedAsker {
    /// The name of the asker.
    pub asker: String,
    /// The number of cards that are left out.
    pub count: usize,
    /// True if there may be more than `count`, since not all gates were read.
    pub more: bool,
}

/// Earlier rejections of a question that is asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierRejections {
    /// The number of rejections.
    pub times: usize,
    /// The gate of the last rejection.
    pub gate: String,
    /// The person who gave the last rejection.
    pub by: String,
    pub reason: Option<String>,
}

/// Returns the rejections by people of the question that this gate repeats, if there are any.
pub(crate) fn denied(
    read: &mut ReadTransaction<'_>,
    gate: &Gate,
) -> Result<Option<EarlierRejections>> {
    let filter = GateFilter {
        asker: Some(gate.opened.lineage.asker.clone()),
        kinds: vec![gate.opened.kind],
        ended: true,
        limit: LOOKED_AT_MAX,
        ..GateFilter::default()
    };
    // The store returns the latest ending first.
    let ended = read.gates(gate.opened.space, &filter)?.items;
    let is_no = |other: &&Gate| {
        let is_earlier = other.ended_at().is_some_and(|at| at <= gate.opened_at);
        is_earlier && asks_again(gate, other) && other.verdict() == Some(Verdict::Rejected)
    };
    let noes: Vec<_> =
        ended.iter().filter(is_no).filter(|other| other.answer().is_some()).collect();
    let Some((answer, by)) = noes.first().and_then(|last| last.answer()) else { return Ok(None) };
    noes.iter().try_for_each(|other| load::check_listed(read, other))?;
    Ok(Some(EarlierRejections {
        times: noes.len(),
        gate: noes.first().map(|last| last.handle().to_owned()).unwrap_or_default(),
        by: by.name.clone(),
        reason: answer.reason.clone(),
    }))
}

/// True if a gate repeats another: it requests a sign-off for the same task, or has the same question with the same
/// facts. The rest of the card, the asker's own text, is not compared.
fn asks_again(gate: &Gate, other: &Gate) -> bool {
    let is_leave = gate.card.shape == AnswerShape::Verdict && gate.opened.kind != GateKind::Tool;
    let is_same_work = gate.opened.task.is_some() && gate.opened.task == other.opened.task;
    let is_same_card =
        gate.card.question == other.card.question && gate.card.facts == other.card.facts;
    (is_leave && is_same_work) || is_same_card
}
