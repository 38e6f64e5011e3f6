//! Cards: gates that ask the same are shown as one and answered as one. Each keeps its own history, its
//! own entry in the audit and its own way to its asker.

use crate::batch::Batch;
use crate::lists::{Blocks, Crowds, List};
use crate::{Crowd, Denied, Error, LocalDesk, Result, Thin, fatigue, gates, load};
use sayso_core::gate::{self, Behind, Command, Gate, InLine, Unblocks, Waiting, Whose};
use sayso_core::{
    Actor, Answer, Code, Deed, Digest, GateId, Kind, Refusal, Role, TaskId, Timestamp,
};
use sayso_store::{GateFilter, Page, Read};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// So many flows that are parked on gates are known to a list.
const PARKED_MAX: usize = 10_000;

/// So many gates are shown and answered as one; what is beyond stays open and is the next card.
pub(crate) const SAME_MAX: usize = 200;

/// So many gates are looked at to count those that wait for somebody.
const LOOKED_AT_MAX: usize = 1_000;

/// So many answers are given in one breath.
const SAYS_MAX: usize = 200;

/// Which cards to list: what unblocks most first, then oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxFilter {
    /// Only these kinds; none means all.
    pub kinds: Vec<Kind>,
    /// Only what waits for these, as the caller sees it; none means all.
    #[serde(default)]
    pub whose: Option<Whose>,
    /// Also what was put off.
    pub all: bool,
    /// Goes on behind the card of this gate.
    pub after: Option<GateId>,
    /// How many at most.
    pub limit: usize,
}

/// A card: a gate, and who else asks the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The gate that stands for the card: the oldest this person may answer.
    pub gate: Gate,
    /// Names what is asked, where others may ask it as well.
    pub same: Option<Digest>,
    /// Everybody an answer goes to, the one of the gate first.
    pub askers: Vec<Asker>,
    /// How many ask the same whom this person may not answer.
    pub others: usize,
    /// Noes to what is asked again, where a card is looked at by itself.
    #[serde(default)]
    pub denied: Option<Denied>,
    /// How much goes on with an answer.
    #[serde(default)]
    pub unblocks: Unblocks,
    /// The first of those tasks by name, where a card is looked at by itself.
    #[serde(default)]
    pub first: Vec<NamedTask>,
}

impl Asked {
    /// A gate by itself, as lists of what has ended show it.
    pub fn alone(gate: Gate) -> Self {
        Self {
            gate,
            same: None,
            askers: vec![],
            others: 0,
            denied: None,
            unblocks: Unblocks::default(),
            first: vec![],
        }
    }
}

/// A task as people name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedTask {
    /// Its id.
    pub id: TaskId,
    /// What people call it.
    pub handle: String,
    /// What is to be done, as it was written.
    pub title: String,
}

/// Somebody who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// Their gate.
    pub gate: GateId,
    /// What people call it.
    pub handle: String,
    /// Their name.
    pub name: String,
    /// The task that waits.
    pub task: Option<TaskId>,
    /// When they asked.
    pub at: Timestamp,
    /// Names their card and everything a verdict on it binds to.
    pub digest: Digest,
    /// Whether there is nothing new in it for whoever looks.
    pub is_seen: bool,
}

impl Asker {
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

/// What a person says to a card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Say {
    /// The gate they name.
    pub gate: GateId,
    /// What they say.
    pub answer: Answer,
    /// The digest of what they were shown of it.
    pub digest: String,
    /// What is asked, by its name: then everybody who asks just that hears it. Without it, this gate
    /// alone is answered.
    pub same: Option<String>,
}

/// What came of one of several answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SayOutcome {
    /// It counts; these gates heard it, the named one first.
    Answered(Vec<Gate>),
    /// It does not.
    Refused {
        /// The number of the reason, such as `SAY004`.
        code: String,
        /// What happened.
        message: String,
        /// What to do now.
        hint: Option<String>,
    },
}

impl From<Error> for SayOutcome {
    fn from(error: Error) -> Self {
        let (code, hint) = (error.code().as_str().into(), error.hint().map(Into::into));
        SayOutcome::Refused { code, message: error.to_string(), hint }
    }
}

impl LocalDesk {
    /// What waits, as cards, a page at a time. An agent sees its own, each by itself.
    pub fn inbox(&self, actor: &Actor, filter: &InboxFilter) -> Result<Page<Asked>> {
        self.thinned_inbox(actor, filter, Thin::Each(usize::MAX)).map(|(page, _)| page)
    }

    /// The same, thinned out, with what that leaves out: nobody's many questions hide those of others.
    pub fn thinned_inbox(
        &self,
        actor: &Actor,
        filter: &InboxFilter,
        thin: Thin<'_>,
    ) -> Result<(Page<Asked>, Vec<Crowd>)> {
        filter.after.map_or(Ok(()), |after| self.check_sees(actor, after))?;
        let awake_at = (!filter.all).then(|| self.now());
        self.read(|read| {
            let actor = &self.speaking(read, actor, self.now())?;
            let (asker, each_max) = match thin {
                Thin::Asker(name) => (Some(name), usize::MAX),
                Thin::Each(most) => (None, most),
            };
            let mut last = filter.after.map_or(Ok(vec![]), |gate| self.last(read, gate))?;
            let mut blocks = Blocks::begin(self, read, actor, &filter.kinds, asker, last.first())?;
            let mut crowds = Crowds::default();
            let is_thin = each_max < usize::MAX;
            let mut page = Page { items: vec![], more: false };
            let list = List { actor, filter, awake_at, each_max, bytes_max: self.page_bytes_max };
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
            let crowds = match is_thin {
                true => crowds.left_out(read, self.space, filter, each_max, unread)?,
                false => vec![],
            };
            Ok((page, crowds))
        })
    }

    /// How many cards wait for this person, counted up to `most`, and whether there may be more. It decides
    /// nothing, so rows are taken as they are.
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
                found.extend(theirs.map(|gate| gate.same().ok_or(gate.opened.id)));
                filter.after = page.items.last().map(|gate| gate.opened.id);
                if !page.more || found.len() >= most || looked_at >= LOOKED_AT_MAX {
                    return Ok((found.len().min(most), page.more || found.len() > most));
                }
            }
        })
    }

    /// Adds which flows are parked on gates; where there is a task, that stands for its flow.
    pub(crate) fn add_flows(&self, read: &mut Read<'_>, gates: &mut [Waiting]) -> Result<()> {
        if gates.iter().all(|gate| gate.task.is_some()) {
            return Ok(());
        }
        let parked = read.parked(self.space, PARKED_MAX)?;
        let parked: HashMap<_, _> = parked.into_iter().collect();
        gates.iter_mut().for_each(|gate| gate.flow = parked.get(&gate.id).copied());
        Ok(())
    }

    /// The last card of the page before: the gate, and where it has ended, those that ended with it.
    fn last(&self, read: &mut Read<'_>, id: GateId) -> Result<Vec<Waiting>> {
        let Some(gate) = read.waited(id)? else { return Ok(vec![]) };
        let ended = read.ended_with(self.space, id, SAME_MAX)?;
        let same = ended.iter().find(|gate| gate.opened.id == id).and_then(Gate::same);
        let with = ended.iter().filter(|gate| same.is_some() && gate.same() == same);
        let with: Vec<_> = with.map(Waiting::of).collect();
        Ok(if with.is_empty() { vec![gate] } else { with })
    }

    /// The card a gate is part of, with that gate in front.
    pub fn card(&self, actor: &Actor, id: GateId) -> Result<Asked> {
        let gate = self.gate_for(actor, id)?;
        if !gate.is_open() || !actor.may(Deed::Read) {
            return Ok(together(actor, gate, vec![]));
        }
        self.read(|read| {
            let denied = fatigue::denied(read, &gate)?;
            let others = match gate.same() {
                Some(same) => read.gates_asking(self.space, same.as_str(), SAME_MAX)?.items,
                None => vec![],
            };
            others.iter().try_for_each(|gate| load::check_listed(read, gate))?;
            let others: Vec<_> = others.into_iter().filter(|o| o.opened.id != id).collect();
            let actor = &self.speaking(read, actor, self.now())?;
            let unblocks = self.unblocks(read, actor, std::iter::once(&gate).chain(&others))?;
            let first = named(read, &unblocks)?;
            Ok(Asked { denied, unblocks, first, ..together(actor, gate, others) })
        })
    }

    /// What an answer to these gates unblocks, which are one card.
    fn unblocks<'a>(
        &self,
        read: &mut Read<'_>,
        actor: &Actor,
        gates: impl Iterator<Item = &'a Gate>,
    ) -> Result<Unblocks> {
        let mut waiting: Vec<_> = gates.map(Waiting::of).collect();
        self.add_flows(read, &mut waiting)?;
        let behind = behind_tasks(read, actor, waiting.iter())?;
        Ok(gate::one_card(waiting.iter().collect(), &behind).unblocks)
    }

    /// Answers a card: the gate that is named and, where `same` says so, every other open gate that asks
    /// just that and that this person may answer. All of it counts together, or nothing does.
    pub fn answer_card(&self, actor: &Actor, say: Say) -> Result<Vec<Gate>> {
        self.check_sees(actor, say.gate)?;
        self.look_before_locking(actor, say.gate, &say.answer, &say.digest)?;
        let foresight = gates::of_ending(say.gate);
        self.submit_foreseen(actor, foresight, move |batch| answer(batch, &say))
    }

    /// Answers several cards, each by itself: one that is refused stands in no other's way.
    pub fn answer_many(&self, actor: &Actor, says: Vec<Say>) -> Result<Vec<SayOutcome>> {
        if says.len() > SAYS_MAX {
            let message = format!("at most {SAYS_MAX} answers are given at once");
            return Err(Refusal::new(Code::TooLarge, message).into());
        }
        let one = |say| match self.answer_card(actor, say) {
            Ok(gates) => SayOutcome::Answered(gates),
            Err(error) => error.into(),
        };
        Ok(says.into_iter().map(one).collect())
    }

    /// Notes that the actor was shown a card: every gate of it.
    pub fn see_card(&self, actor: &Actor, card: &Asked) -> Result<()> {
        let new = card.askers.iter().filter(|asker| !asker.is_seen);
        self.see_digests(actor, new.map(|asker| (asker.gate, asker.digest.to_string())).collect())
    }

    /// Does something to every gate of a card that this person may do it to; to the named one in any case.
    pub(crate) fn on_card(&self, actor: &Actor, id: GateId, command: Command) -> Result<Gate> {
        self.check_sees(actor, id)?;
        self.submit(actor, move |batch| {
            batch.on_gate(id, &command)?;
            let gate = gates::gate_in(batch, id)?;
            let same = gate.same().filter(|_| gate.is_open());
            for other in same.map_or(Ok(vec![]), |same| asking(batch, id, &same))? {
                batch.or_leave(&other, |batch| batch.on_gate(other.opened.id, &command))?;
            }
            Ok(gate)
        })
    }
}

/// What waits behind the tasks of these gates. Whoever sees only their own sees nothing of that.
pub(crate) fn behind_tasks<'a>(
    read: &mut Read<'_>,
    actor: &Actor,
    gates: impl Iterator<Item = &'a Waiting>,
) -> Result<Behind> {
    if !actor.may(Deed::Read) {
        return Ok(Behind::default());
    }
    let tasks: BTreeSet<_> = gates.filter_map(|gate| gate.task).collect();
    Ok(read.behind(&Vec::from_iter(tasks))?)
}

/// The first tasks that are unblocked, by name.
fn named(read: &mut Read<'_>, unblocks: &Unblocks) -> Result<Vec<NamedTask>> {
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

/// The cards of a line, each as this person sees it; nothing in the place of one they may not see.
pub(crate) fn cards(
    read: &mut Read<'_>,
    actor: &Actor,
    line: &[&InLine],
    listed: &BTreeMap<GateId, &Waiting>,
) -> Result<Vec<Option<Asked>>> {
    let shown = |card: &InLine| card.gates.iter().take(SAME_MAX).copied().collect::<Vec<_>>();
    let ids: Vec<_> = line.iter().flat_map(|card| shown(card)).collect();
    let mut gates = BTreeMap::new();
    for gate in read.gate_views(&ids)? {
        load::check_listed(read, &gate)?;
        load::check_asks(&gate, listed.get(&gate.opened.id).and_then(|row| row.same.as_deref()))?;
        gates.insert(gate.opened.id, gate);
    }
    let card = |in_line: &&InLine| {
        let found = shown(in_line).into_iter().filter_map(|id| gates.get(&id).cloned());
        let readable: Vec<_> = found.filter(|gate| gates::may_read(actor, gate)).collect();
        let first = readable.iter().position(|gate| is_for(actor, gate)).unwrap_or(0);
        let mut rest = readable;
        let first = (first < rest.len()).then(|| rest.remove(first))?;
        let unblocks = in_line.unblocks.clone();
        Some(Asked { unblocks, ..together(actor, first, rest) })
    };
    Ok(line.iter().map(card).collect())
}

/// Whether a card is about this gate for whoever looks. For those who answer nothing it is about all.
fn is_for(actor: &Actor, gate: &Gate) -> bool {
    actor.role != Role::Human || gate.is_for(actor)
}

fn together(actor: &Actor, first: Gate, rest: Vec<Gate>) -> Asked {
    // Who may not answer the gate in front sees everybody who asks it.
    let is_mine = |gate: &&Gate| !is_for(actor, &first) || is_for(actor, gate);
    let (mine, others): (Vec<_>, Vec<_>) = rest.iter().partition(is_mine);
    let askers = std::iter::once(&first).chain(mine).map(|gate| Asker::of(gate, actor)).collect();
    let others = others.len();
    Asked { askers, same: first.same(), others, ..Asked::alone(first) }
}

fn answer(batch: &mut Batch<'_, '_>, say: &Say) -> Result<Vec<Gate>> {
    let before = gates::gate_in(batch, say.gate)?;
    let answer = gates::with_notes(batch, say.gate, say.answer.clone())?;
    let first = gates::answer_one(batch, say.gate, answer.clone(), &say.digest)?;
    let mut answered = vec![first];
    // The same answer again has been heard by all whom it was for.
    let Some(named) = say.same.as_ref().filter(|_| before.is_open()) else { return Ok(answered) };
    let same =
        before.same().filter(|same| same.is_named_by(named)).ok_or_else(|| moved(&before))?;
    for other in asking(batch, say.gate, &same)? {
        let answer = answer.clone();
        let said = batch.or_leave(&other, |batch| {
            gates::answer_one(batch, other.opened.id, answer, other.digest.as_str())
        })?;
        answered.extend(said);
    }
    Ok(answered)
}

/// The other open gates that ask just that. What counts is folded from the log: a row that was changed
/// by hand brings no gate into a card.
fn asking(batch: &mut Batch<'_, '_>, but: GateId, same: &Digest) -> Result<Vec<Gate>> {
    let listed = batch.write.gates_asking(batch.space, same.as_str(), SAME_MAX)?.items;
    let mut asking = vec![];
    for id in listed.iter().map(|gate| gate.opened.id).filter(|id| *id != but) {
        let gate = gates::gate_in(batch, id)?;
        if gate.is_open() && gate.same().as_ref() == Some(same) {
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
