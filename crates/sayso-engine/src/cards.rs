//! Cards: open gates with the same dedup key are listed as one card and answered together. Each gate keeps its own
//! history, audit entry and delivery.

use crate::inbox_pages::{AskerCounts, CardList, GateBlocks};
use crate::write_batch::WriteBatch;
use crate::{
    CollapseRule, CollapsedAsker, EarlierRejections, Error, LocalDesk, Result, approval_fatigue,
    gates, load,
};
use sayso_core::gate::{
    self, Gate, GateAudience, GateCommand, QueuedCard, QueuedGate, TaskDependents, UnblockedWork,
};
use sayso_core::{
    Actor, Answer, Code, Digest, GateId, GateKind, Permission, Refusal, Role, TaskId, Timestamp,
};
use sayso_store::{GateFilter, ListPage, ReadTransaction};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The maximum number of parked flows that a list loads.
const PARKED_MAX: usize = 10_000;

/// The maximum number of gates on one card. Further ones stay open and form the next card.
pub(crate) const SAME_MAX: usize = 200;

/// The maximum number of gates that are read to count those of a person.
const LOOKED_AT_MAX: usize = 1_000;

/// The maximum number of answers in one call.
const SAYS_MAX: usize = 200;

/// The filter of the inbox. Cards that unblock most come first, then the oldest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxFilter {
    /// The kinds to list; empty means all.
    pub kinds: Vec<GateKind>,
    /// The audience to list, as the caller sees it; none means all.
    #[serde(default)]
    pub whose: Option<GateAudience>,
    /// True to include snoozed cards.
    pub all: bool,
    /// The cursor: the page begins after the card of this gate.
    pub after: Option<GateId>,
    /// The maximum number of cards.
    pub limit: usize,
}

/// A card as one person sees it: a gate, and the askers of the same question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CardView {
    /// The gate that represents the card: the oldest that this person may answer.
    pub gate: Gate,
    /// The dedup key of the question, if it can be shared.
    pub same: Option<Digest>,
    /// The askers that an answer is delivered to, the one of the gate first.
    pub askers: Vec<CardAsker>,
    /// The number of gates with the same question that this person may not answer.
    pub others: usize,
    /// Earlier rejections of the same question. Only set if a single card is read.
    #[serde(default)]
    pub denied: Option<EarlierRejections>,
    /// The tasks, flows and askers that an answer unblocks.
    #[serde(default)]
    pub unblocks: UnblockedWork,
    /// The first of those tasks by name. Only set if a single card is read.
    #[serde(default)]
    pub first: Vec<NamedTask>,
}

impl CardView {
    /// Returns a card of a single gate, as lists of ended gates show it.
    pub fn alone(gate: Gate) -> Self {
        Self {
            gate,
            same: None,
            askers: vec![],
            others: 0,
            denied: None,
            unblocks: UnblockedWork::default(),
            first: vec![],
        }
    }
}

/// A task with its public name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedTask {
    pub id: TaskId,
    /// The handle of the gate.
    pub handle: String,
    /// The title, as it was written.
    pub title: String,
}

/// An asker of the question on a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardAsker {
    pub gate: GateId,
    /// The handle of the gate.
    pub handle: String,
    /// The name of the asker.
    pub name: String,
    /// The task that waits for the answer.
    pub task: Option<TaskId>,
    /// The time at which the gate was opened.
    pub at: Timestamp,
    /// The digest of the card and of everything that a verdict binds to.
    pub digest: Digest,
    /// True if the caller has seen this version of the card, or the gate has ended.
    pub is_seen: bool,
}

impl CardAsker {
    fn of(gate: &Gate, actor: &Actor) -> Self {
        let opened = &gate.opened;
        let was_seen = gate.seen_by(&actor.name).is_some_and(|seen| seen.digest == gate.digest);
        Self {
            digest: gate.digest.clone(),
            is_seen: was_seen || !gate.is_open(),
            gate: opened.id,
            handle: opened.handle.clone(),
            name: opened.lineage.asker.clone(),
            task: opened.task,
            at: gate.opened_at,
        }
    }
}

/// A person's answer to a card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CardAnswer {
    /// The gate that is named.
    pub gate: GateId,
    pub answer: Answer,
    /// The digest of the card that was shown.
    pub digest: String,
    /// The dedup key: if set, all gates of the card are answered, otherwise only the named one.
    pub same: Option<String>,
}

/// The result of one of several answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    /// The answer was accepted; these gates have it, the named one first.
    Answered(Vec<Gate>),
    /// The answer was refused.
    Refused {
        /// The error code, such as `SAY004`.
        code: String,
        message: String,
        /// The suggested next action.
        hint: Option<String>,
    },
}

impl From<Error> for AnswerOutcome {
    fn from(error: Error) -> Self {
        let (code, hint) = (error.code().as_str().into(), error.hint().map(Into::into));
        AnswerOutcome::Refused { code, message: error.to_string(), hint }
    }
}

impl LocalDesk {
    /// Returns the open cards, a page at a time. An agent sees only its own gates, one card each.
    pub fn inbox(&self, actor: &Actor, filter: &InboxFilter) -> Result<ListPage<CardView>> {
        self.thinned_inbox(actor, filter, CollapseRule::Each(usize::MAX)).map(|(page, _)| page)
    }

    /// Returns the inbox with a limit per asker, and the number of cards left out, so that the many questions of one
    /// agent do not hide those of others.
    pub fn thinned_inbox(
        &self,
        actor: &Actor,
        filter: &InboxFilter,
        thin: CollapseRule<'_>,
    ) -> Result<(ListPage<CardView>, Vec<CollapsedAsker>)> {
        filter.after.map_or(Ok(()), |after| self.check_sees(actor, after))?;
        let awake_at = (!filter.all).then(|| self.now());
        self.read(|read| {
            let actor = &self.speaking(read, actor, self.now())?;
            let (asker, each_max) = match thin {
                CollapseRule::Asker(name) => (Some(name), usize::MAX),
                CollapseRule::Each(most) => (None, most),
            };
            let mut last = filter.after.map_or(Ok(vec![]), |gate| self.last(read, gate))?;
            let mut blocks =
                GateBlocks::begin(self, read, actor, &filter.kinds, asker, last.first())?;
            let mut crowds = AskerCounts::default();
            let is_thin = each_max < usize::MAX;
            let mut page = ListPage { items: vec![], more: false };
            let list =
                CardList { actor, filter, awake_at, each_max, bytes_max: self.page_bytes_max };
            loop {
                let block = blocks.next(self, read)?;
                let limit = filter.limit - page.items.len();
                crowds.add_block(&block.items);
                let part = list.page(read, &block.items, &last, limit, &mut crowds)?;
                page.items.extend(part.items);
                page.more = part.more || block.more;
                if part.more || !block.more || page.items.len() >= filter.limit {
                    break;
                }
                let (space, kinds) = (self.space, &filter.kinds);
                if is_thin && crowds.is_all_that_is_left(read, space, kinds, each_max)? {
                    page.more = false;
                    break;
                }
                last.clear();
            }
            let unread = blocks.is_many();
            let crowds = if is_thin {
                crowds.left_out(read, self.space, filter, each_max, unread)?
            } else {
                vec![]
            };
            Ok((page, crowds))
        })
    }

    /// Counts the cards that this person can answer, up to `most`; true if there may be more. The count decides
    /// nothing, so rows are used without checking them against the log.
    pub fn count_waiting_for(&self, actor: &Actor, most: usize) -> Result<(usize, bool)> {
        self.read(|read| {
            let now = self.now();
            let actor = &self.speaking(read, actor, now)?;
            let mut filter =
                GateFilter { awake_at: Some(now), limit: most.max(1), ..GateFilter::default() };
            let (mut found, mut looked_at) = (HashSet::new(), 0);
            loop {
                let page = read.gates(self.space, &filter)?;
                looked_at += page.items.len();
                let theirs = page.items.iter().filter(|gate| gate.is_for(actor));
                found.extend(theirs.map(|gate| gate.dedup_key().ok_or(gate.opened.id)));
                filter.after = page.items.last().map(|gate| gate.opened.id);
                if !page.more || found.len() >= most || looked_at >= LOOKED_AT_MAX {
                    return Ok((found.len().min(most), page.more || found.len() > most));
                }
            }
        })
    }

    /// Adds the flow that is parked on each gate. A gate with a task needs none, since the task represents its flow.
    pub(crate) fn add_flows(
        &self,
        read: &mut ReadTransaction<'_>,
        gates: &mut [QueuedGate],
    ) -> Result<()> {
        if gates.iter().all(|gate| gate.task.is_some()) {
            return Ok(());
        }
        let parked = read.waiting_flows(self.space, PARKED_MAX)?;
        let parked: HashMap<_, _> = parked.into_iter().collect();
        gates.iter_mut().for_each(|gate| gate.flow = parked.get(&gate.id).copied());
        Ok(())
    }

    /// Returns the gates of the last card of the page before: the gate, and if it has ended, the gates that ended
    /// with it.
    fn last(&self, read: &mut ReadTransaction<'_>, id: GateId) -> Result<Vec<QueuedGate>> {
        let Some(gate) = read.queued_gate(id)? else { return Ok(vec![]) };
        let ended = read.ended_with(self.space, id, SAME_MAX)?;
        let same = ended.iter().find(|gate| gate.opened.id == id).and_then(Gate::dedup_key);
        let with = ended.iter().filter(|gate| same.is_some() && gate.dedup_key() == same);
        let with: Vec<_> = with.map(QueuedGate::of).collect();
        Ok(if with.is_empty() { vec![gate] } else { with })
    }

    /// Returns the card that a gate belongs to, with that gate first.
    pub fn card(&self, actor: &Actor, id: GateId) -> Result<CardView> {
        let gate = self.gate_for(actor, id)?;
        if !gate.is_open() || !actor.may(Permission::Read) {
            return Ok(together(actor, gate, vec![]));
        }
        self.read(|read| {
            let denied = approval_fatigue::denied(read, &gate)?;
            let others = match gate.dedup_key() {
                Some(same) => read.open_gates_with_key(self.space, same.as_str(), SAME_MAX)?.items,
                None => vec![],
            };
            others.iter().try_for_each(|gate| load::check_listed(read, gate))?;
            let others: Vec<_> = others.into_iter().filter(|o| o.opened.id != id).collect();
            let actor = &self.speaking(read, actor, self.now())?;
            let unblocks = self.unblocks(read, actor, std::iter::once(&gate).chain(&others))?;
            let first = named(read, &unblocks)?;
            Ok(CardView { denied, unblocks, first, ..together(actor, gate, others) })
        })
    }

    /// Returns the tasks, flows and askers that an answer to these gates of one card unblocks.
    fn unblocks<'a>(
        &self,
        read: &mut ReadTransaction<'_>,
        actor: &Actor,
        gates: impl Iterator<Item = &'a Gate>,
    ) -> Result<UnblockedWork> {
        let mut waiting: Vec<_> = gates.map(QueuedGate::of).collect();
        self.add_flows(read, &mut waiting)?;
        let behind = behind_tasks(read, actor, waiting.iter())?;
        Ok(gate::card_of_gates(waiting.iter().collect(), &behind).unblocks)
    }

    /// Answers a card: the named gate and, if `dedup_key` has the dedup key, every other open gate with the same question
    /// that this person may answer. All answers are committed together, or none.
    pub fn answer_card(&self, actor: &Actor, say: CardAnswer) -> Result<Vec<Gate>> {
        self.check_sees(actor, say.gate)?;
        self.look_before_locking(actor, say.gate, &say.answer, &say.digest)?;
        let foresight = gates::prefetch_for_ending(say.gate);
        self.submit_prefetched(actor, foresight, move |batch| answer(batch, &say))
    }

    /// Answers several cards, each in its own transaction: one refusal does not affect the others.
    pub fn answer_many(&self, actor: &Actor, says: Vec<CardAnswer>) -> Result<Vec<AnswerOutcome>> {
        if says.len() > SAYS_MAX {
            let message = format!("at most {SAYS_MAX} answers are given at once");
            return Err(Refusal::new(Code::TooLarge, message).into());
        }
        let one = |say| match self.answer_card(actor, say) {
            Ok(gates) => AnswerOutcome::Answered(gates),
            Err(error) => error.into(),
        };
        Ok(says.into_iter().map(one).collect())
    }

    /// Records that the actor was shown a card, with all its gates.
    pub fn see_card(&self, actor: &Actor, card: &CardView) -> Result<()> {
        let new = card.askers.iter().filter(|asker| !asker.is_seen);
        self.see_digests(actor, new.map(|asker| (asker.gate, asker.digest.to_string())).collect())
    }

    /// Applies a command to every gate of a card that this person may apply it to. The named gate must accept it.
    pub(crate) fn on_card(&self, actor: &Actor, id: GateId, command: GateCommand) -> Result<Gate> {
        self.check_sees(actor, id)?;
        self.submit(actor, move |batch| {
            batch.on_gate(id, &command)?;
            let gate = gates::gate_in(batch, id)?;
            let same = gate.dedup_key().filter(|_| gate.is_open());
            for other in same.map_or(Ok(vec![]), |same| asking(batch, id, &same))? {
                batch.try_or_revert(&other, |batch| batch.on_gate(other.opened.id, &command))?;
            }
            Ok(gate)
        })
    }
}

/// Returns the tasks that depend on the tasks of these gates. Empty for a caller who may only see its own.
pub(crate) fn behind_tasks<'a>(
    read: &mut ReadTransaction<'_>,
    actor: &Actor,
    gates: impl Iterator<Item = &'a QueuedGate>,
) -> Result<TaskDependents> {
    if !actor.may(Permission::Read) {
        return Ok(TaskDependents::default());
    }
    let tasks: BTreeSet<_> = gates.filter_map(|gate| gate.task).collect();
    Ok(read.dependents(&Vec::from_iter(tasks))?)
}

/// Returns the first of the unblocked tasks by name.
fn named(read: &mut ReadTransaction<'_>, unblocks: &UnblockedWork) -> Result<Vec<NamedTask>> {
    let mut named = vec![];
    for id in &unblocks.first {
        let task = read.task(*id)?.map(|(row, _)| row.task);
        named.extend(task.map(|task| NamedTask {
            id: *id,
            handle: task.handle,
            title: task.title,
        }));
    }
    Ok(named)
}

/// Returns the listed cards as this person sees them; none in place of a card that is not visible.
pub(crate) fn cards(
    read: &mut ReadTransaction<'_>,
    actor: &Actor,
    line: &[&QueuedCard],
    listed: &BTreeMap<GateId, &QueuedGate>,
) -> Result<Vec<Option<CardView>>> {
    let shown = |card: &QueuedCard| card.gates.iter().take(SAME_MAX).copied().collect::<Vec<_>>();
    let ids: Vec<_> = line.iter().flat_map(|card| shown(card)).collect();
    let mut gates = BTreeMap::new();
    for gate in read.gate_views(&ids)? {
        load::check_listed(read, &gate)?;
        load::check_asks(&gate, listed.get(&gate.opened.id).and_then(|row| row.same.as_deref()))?;
        gates.insert(gate.opened.id, gate);
    }
    let card = |in_line: &&QueuedCard| {
        let found = shown(in_line).into_iter().filter_map(|id| gates.get(&id).cloned());
        let readable: Vec<_> = found.filter(|gate| gates::may_read(actor, gate)).collect();
        let first = readable.iter().position(|gate| is_for(actor, gate)).unwrap_or(0);
        let mut rest = readable;
        let first = (first < rest.len()).then(|| rest.remove(first))?;
        let unblocks = in_line.unblocks.clone();
        Some(CardView { unblocks, ..together(actor, first, rest) })
    };
    Ok(line.iter().map(card).collect())
}

/// True if this gate is one that the viewer can answer. A viewer who answers none gets all gates of a card.
fn is_for(actor: &Actor, gate: &Gate) -> bool {
    actor.role != Role::Human || gate.is_for(actor)
}

fn together(actor: &Actor, first: Gate, rest: Vec<Gate>) -> CardView {
    // A viewer who may not answer the first gate sees all askers.
    let is_mine = |gate: &&Gate| !is_for(actor, &first) || is_for(actor, gate);
    let (mine, others): (Vec<_>, Vec<_>) = rest.iter().partition(is_mine);
    let askers =
        std::iter::once(&first).chain(mine).map(|gate| CardAsker::of(gate, actor)).collect();
    let others = others.len();
    CardView { askers, same: first.dedup_key(), others, ..CardView::alone(first) }
}

fn answer(batch: &mut WriteBatch<'_, '_>, say: &CardAnswer) -> Result<Vec<Gate>> {
    let before = gates::gate_in(batch, say.gate)?;
    let answer = gates::with_notes(batch, say.gate, say.answer.clone())?;
    let first = gates::answer_one(batch, say.gate, answer.clone(), &say.digest)?;
    let mut answered = vec![first];
    // A repeated answer was delivered to all gates the first time.
    let Some(named) = say.same.as_ref().filter(|_| before.is_open()) else { return Ok(answered) };
    let same =
        before.dedup_key().filter(|same| same.is_named_by(named)).ok_or_else(|| moved(&before))?;
    for other in asking(batch, say.gate, &same)? {
        let answer = answer.clone();
        let said = batch.try_or_revert(&other, |batch| {
            gates::answer_one(batch, other.opened.id, answer, other.digest.as_str())
        })?;
        answered.extend(said);
    }
    Ok(answered)
}

/// Returns the other open gates with this dedup key, folded from the log: a row that was changed by hand adds no gate
/// to a card.
fn asking(batch: &mut WriteBatch<'_, '_>, but: GateId, same: &Digest) -> Result<Vec<Gate>> {
    let listed = batch.write.open_gates_with_key(batch.space, same.as_str(), SAME_MAX)?.items;
    let mut asking = vec![];
    for id in listed.iter().map(|gate| gate.opened.id).filter(|id| *id != but) {
        let gate = gates::gate_in(batch, id)?;
        if gate.is_open() && gate.dedup_key().as_ref() == Some(same) {
            asking.push(gate);
        }
    }
    Ok(asking)
}

fn moved(gate: &Gate) -> Refusal {
    let handle = gate.handle();
    Refusal::new(Code::Stale, format!("gate {handle} asks something else than what was shown"))
        .hint(format!("look again with: sayso show {handle}"))
}
