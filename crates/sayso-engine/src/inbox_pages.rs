//! Paging of the inbox. Open gates are read in blocks, each with the oldest gate of every asker first, then sorted,
//! collapsed by asker and cut. A page continues in the next block, so every gate can be reached, however many there
//! are.

use crate::cards::{CardView, InboxFilter, behind_tasks, cards};
use crate::{CollapsedAsker, LocalDesk, Result};
use sayso_core::gate::{self, GateAudience, QueuedCard, QueuedGate};
use sayso_core::{Actor, GateKind, Permission, SpaceId, Timestamp};
use sayso_store::{ListPage, ReadTransaction};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The number of open gates that are read and sorted at once.
const BLOCK_MAX: usize = 10_000;

/// The minimum number of cards per read.
const AT_ONCE_MIN: usize = 20;

/// The number of cards that are read only to be counted.
const COUNTED_MAX: usize = 500;

/// The maximum number of askers in one query.
const FULL_MAX: usize = 200;

/// The open gates of a list, in blocks.
pub(crate) struct GateBlocks<'a> {
    kinds: &'a [GateKind],
    asker: Option<String>,
    /// True if each gate is a card of its own.
    is_own: bool,
    /// All gates, if they fit into one block.
    all: Option<ListPage<QueuedGate>>,
    number: usize,
    is_many: bool,
}

impl<'a> GateBlocks<'a> {
    /// Begins with the block of this gate, or with the first one.
    pub(crate) fn begin(
        desk: &LocalDesk,
        read: &mut ReadTransaction<'_>,
        actor: &Actor,
        kinds: &'a [GateKind],
        asker: Option<&str>,
        after: Option<&QueuedGate>,
    ) -> Result<Self> {
        let is_own = !actor.may(Permission::Read);
        let asker = if is_own { Some(actor.name.as_str()) } else { asker };
        let all = read.queued_gates(desk.space(), kinds, asker, BLOCK_MAX)?;
        let asker_kept = asker.map(str::to_owned);
        let blocks = Self { kinds, asker: asker_kept, is_own, all: None, number: 0, is_many: true };
        if !all.more {
            return Ok(Self { all: Some(all), is_many: false, ..blocks });
        }
        let before = after.map(|gate| read.round_robin_position(desk.space(), kinds, asker, gate));
        Ok(Self { number: before.transpose()?.unwrap_or(0) / BLOCK_MAX, ..blocks })
    }

    /// True if there is more than one block.
    pub(crate) fn is_many(&self) -> bool {
        self.is_many
    }

    /// Reads the next block.
    pub(crate) fn next(
        &mut self,
        desk: &LocalDesk,
        read: &mut ReadTransaction<'_>,
    ) -> Result<ListPage<QueuedGate>> {
        let mut block = match self.all.take() {
            Some(all) => all,
            None => {
                let (asker, skip) = (self.asker.as_deref(), self.number * BLOCK_MAX);
                self.number += 1;
                read.queued_gates_round_robin(desk.space(), self.kinds, asker, skip, BLOCK_MAX)?
            }
        };
        if self.is_own {
            block.items.iter_mut().for_each(|gate| gate.same = None);
        }
        desk.add_flows(read, &mut block.items)?;
        Ok(block)
    }
}

/// A list of cards: the viewer, the filter and the limits.
pub(crate) struct CardList<'a> {
    pub(crate) actor: &'a Actor,
    pub(crate) filter: &'a InboxFilter,
    /// Cards that are snoozed beyond this moment are left out.
    pub(crate) awake_at: Option<Timestamp>,
    /// The number of cards per asker that are listed; the others are counted.
    pub(crate) each_max: usize,
    pub(crate) bytes_max: Option<usize>,
}

impl CardList<'_> {
    /// Returns the part of a page that comes from one block, after the last card of the previous page.
    pub(crate) fn page(
        &self,
        read: &mut ReadTransaction<'_>,
        waiting: &[QueuedGate],
        last: &[QueuedGate],
        limit: usize,
        crowds: &mut AskerCounts,
    ) -> Result<ListPage<CardView>> {
        let (actor, most) = (self.actor, (limit, self.bytes_max));
        let behind = behind_tasks(read, actor, waiting.iter().chain(last))?;
        let line = gate::queued_cards(waiting, &behind, self.awake_at);
        let last = (!last.is_empty()).then(|| gate::card_of_gates(last.iter().collect(), &behind));
        if self.each_max == usize::MAX {
            let line = gate::limit_per_asker(line, last.as_ref());
            return page_of(read, actor, self.filter, &line, waiting, most);
        }
        let beyond = |line: Vec<QueuedCard>| match &last {
            None => line,
            Some(last) => gate::cards_after(line, last),
        };
        let Some(whose) = self.filter.whose else {
            let line = crowds.thin_out(line, self.each_max);
            return page_of(read, actor, self.filter, &beyond(line), waiting, most);
        };
        let from = line.len() - beyond(line.clone()).len();
        let (each_max, bytes_max) = (self.each_max, self.bytes_max);
        let page = AudiencePage { whose, each_max, from, limit, bytes_max };
        page.read(read, actor, &line, waiting, crowds)
    }
}

/// The number of cards of each asker in a list, over all its blocks, and of those that are left out.
#[derive(Default)]
pub(crate) struct AskerCounts {
    /// The number of cards by asker.
    counts: BTreeMap<String, usize>,
    /// The askers whose cards were not all read.
    uncounted: BTreeSet<String>,
    /// The number of gates by asker in the blocks so far.
    read: HashMap<String, usize>,
}

impl AskerCounts {
    pub(crate) fn add_block(&mut self, block: &[QueuedGate]) {
        for gate in block {
            match self.read.get_mut(&gate.asker) {
                Some(count) => *count += 1,
                None => drop(self.read.insert(gate.asker.clone(), 1)),
            }
        }
    }

    /// Keeps at most `each_max` cards of one asker, in their order.
    fn thin_out(&mut self, line: Vec<QueuedCard>, each_max: usize) -> Vec<QueuedCard> {
        let is_listed = |card: &QueuedCard| {
            let count = self.counts.entry(card.asker.clone()).or_default();
            *count += 1;
            *count <= each_max
        };
        let (listed, _): (Vec<_>, Vec<_>) = line.into_iter().partition(is_listed);
        listed
    }

    /// True if all gates in unread blocks belong to askers who have reached their limit.
    pub(crate) fn is_all_that_is_left(
        &self,
        read: &mut ReadTransaction<'_>,
        space: SpaceId,
        kinds: &[GateKind],
        each_max: usize,
    ) -> Result<bool> {
        let is_full = |asker: &&String| self.counts.get(*asker).is_some_and(|it| *it >= each_max);
        let full: Vec<_> = self.read.keys().filter(is_full).map(String::as_str).collect();
        if full.is_empty() || full.len() > FULL_MAX {
            return Ok(false);
        }
        let others = self.read.iter().filter(|(asker, _)| !full.contains(&asker.as_str()));
        let others: usize = others.map(|(_, count)| count).sum();
        Ok(read.count_asked_by_others(space, kinds, &full)? == others)
    }

    /// Returns the number of cards left out by asker. With `unread`, gates in unread blocks are included; for a list
    /// with an audience it is unknown whether these belong to it, so their asker only gets the mark that there may be
    /// more.
    pub(crate) fn left_out(
        mut self,
        read: &mut ReadTransaction<'_>,
        space: SpaceId,
        filter: &InboxFilter,
        each_max: usize,
        unread: bool,
    ) -> Result<Vec<CollapsedAsker>> {
        let askers: Vec<_> = self.counts.keys().cloned().collect();
        let askers: Vec<_> = askers.iter().filter(|_| unread).map(String::as_str).collect();
        for (asker, count) in read.count_asked(space, &filter.kinds, &askers)? {
            let unread = count.saturating_sub(self.read.get(&asker).copied().unwrap_or_default());
            match filter.whose {
                None => *self.counts.entry(asker).or_default() += unread,
                Some(_) => self.uncounted.extend((unread > 0).then_some(asker)),
            }
        }
        let uncounted = self.uncounted;
        let crowd = |(asker, count): (String, usize)| CollapsedAsker {
            more: uncounted.contains(&asker),
            count: count.saturating_sub(each_max),
            asker,
        };
        let crowds = self.counts.into_iter().map(crowd);
        Ok(crowds.filter(|crowd| crowd.count > 0 || crowd.more).collect())
    }
}

/// True if the text of these cards reaches the limit of a page.
fn has_bytes(found: &[CardView], bytes_max: Option<usize>) -> bool {
    let text = |card: &CardView| card.gate.card.narrative.len() + card.gate.card.question.len();
    bytes_max.is_some_and(|most| found.iter().map(text).sum::<usize>() >= most)
}

/// Returns the first cards of a line that match the filter. The audience of a gate is only known after it was read,
/// so the cards are read in chunks until there are enough.
fn page_of(
    read: &mut ReadTransaction<'_>,
    actor: &Actor,
    filter: &InboxFilter,
    mut line: &[QueuedCard],
    waiting: &[QueuedGate],
    (limit, bytes_max): (usize, Option<usize>),
) -> Result<ListPage<CardView>> {
    let listed: BTreeMap<_, _> = waiting.iter().map(|gate| (gate.id, gate)).collect();
    let is_wanted =
        |card: &CardView| filter.whose.is_none_or(|whose| card.gate.audience_for(actor) == whose);
    let is_full = |found: &[CardView]| has_bytes(found, bytes_max);
    let mut found = vec![];
    while found.len() <= limit && !line.is_empty() && !is_full(&found) {
        let missing = (limit + 1).saturating_sub(found.len()).max(AT_ONCE_MIN);
        // With a limit in bytes, the chunks are small.
        let missing = if bytes_max.is_some() { missing.min(3 * AT_ONCE_MIN) } else { missing };
        let (next, rest) = line.split_at(missing.min(line.len()));
        let next: Vec<_> = next.iter().collect();
        found.extend(cards(read, actor, &next, &listed)?.into_iter().flatten().filter(is_wanted));
        line = rest;
    }
    let more = found.len() > limit || (is_full(&found) && !line.is_empty());
    found.truncate(limit);
    Ok(ListPage { items: found, more })
}

/// A page of cards for one audience with a limit per asker, so that the many cards of one asker do not hide those of
/// others. The limit applies to matching cards, and a match is only known after the card was read.
struct AudiencePage {
    whose: GateAudience,
    each_max: usize,
    /// The position in the line at which the page begins. Cards listed by earlier pages count as well.
    from: usize,
    limit: usize,
    bytes_max: Option<usize>,
}

impl AudiencePage {
    fn read(
        &self,
        read: &mut ReadTransaction<'_>,
        actor: &Actor,
        line: &[QueuedCard],
        waiting: &[QueuedGate],
        crowds: &mut AskerCounts,
    ) -> Result<ListPage<CardView>> {
        let listed: BTreeMap<_, _> = waiting.iter().map(|gate| (gate.id, gate)).collect();
        let mut found = vec![];
        let (mut left, mut is_cut) = (COUNTED_MAX, false);
        for (begin, piece) in (0..).step_by(AT_ONCE_MIN).zip(line.chunks(AT_ONCE_MIN)) {
            let is_page_full = found.len() > self.limit || has_bytes(&found, self.bytes_max);
            let mut next = vec![];
            for (at, card) in (begin..).zip(piece) {
                let is_asker_full =
                    crowds.counts.get(&card.asker).is_some_and(|count| *count >= self.each_max);
                if is_page_full || is_asker_full {
                    if left == 0 {
                        is_cut |= is_page_full;
                        crowds.uncounted.extend(is_asker_full.then(|| card.asker.clone()));
                        continue;
                    }
                    left -= 1;
                }
                next.push((at, card));
            }
            let in_line: Vec<_> = next.iter().map(|(_, card)| *card).collect();
            let shown = cards(read, actor, &in_line, &listed)?;
            for ((at, in_line), card) in next.into_iter().zip(shown) {
                let Some(card) = card.filter(|card| card.gate.audience_for(actor) == self.whose)
                else {
                    continue;
                };
                let count = crowds.counts.entry(in_line.asker.clone()).or_default();
                *count += 1;
                if *count > self.each_max || at < self.from {
                    continue;
                }
                is_cut |= is_page_full;
                if !is_page_full && found.len() <= self.limit {
                    found.push(card);
                }
            }
        }
        let more = is_cut || found.len() > self.limit;
        found.truncate(self.limit);
        Ok(ListPage { items: found, more })
    }
}
