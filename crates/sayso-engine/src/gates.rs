//! What can be done with gates.

use crate::addressees::addressed;
use crate::batch::{Batch, not_found};
use crate::sight::{check_knows_task, may_know_task};
use crate::{
    Error, LocalDesk, Result, Say, clock, lifecycle, load, notices, nudges, paging, policy,
};
use sayso_core::gate::{self, Card, Command, Delivery, Ending, Gate, Held, Opened};
use sayso_core::task::{self, Event as TaskEvent, Status, Task};
use sayso_core::{
    Actor, Answer, AtEnd, Code, Content, Deed, FlowId, GateId, Kind, Proof, Refusal, Role, Shape,
    TaskId, Timestamp, Verdict,
};
use sayso_policy::{Demands, Ruling};
use sayso_store::{Foresight, GateFilter, Handles, Page, Topic};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How many gates of an asker are looked at for one that asks the same.
const ASKED_BEFORE_MAX: usize = 200;

/// So many tasks that wait for one that is given up are blocked with it.
const DEPENDENTS_MAX: usize = 10_000;

/// How long an answer that was handed over is handed over again: it may have got lost on the way.
const HANDED_MICROS: i64 = 5 * 60 * 1_000_000;

/// How long an answer waits for whoever asks for it again.
const ANSWER_MICROS: i64 = 24 * 3_600 * 1_000_000;

/// The shortest time for an answer.
const DEADLINE_MS_MIN: u64 = 1_000;

/// A question to be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Made by the asker: asking again with the same id is the same question.
    pub id: GateId,
    /// What sort of gate.
    pub kind: Kind,
    /// The task that waits for it.
    pub task: Option<TaskId>,
    /// What the person sees.
    pub card: Card,
    /// Whose yes is needed, how sure it must be theirs, and how long it may take. The policy may demand
    /// more.
    pub demands: Demands,
    /// Whether a policy demands that. Silence counts as a yes only then, so nobody says it from elsewhere.
    #[serde(skip)]
    pub is_ruled: bool,
    /// What is done when it is approved. The policy has had its say on that already, which nobody claims
    /// from elsewhere.
    #[serde(skip)]
    pub held: Option<Held>,
}

impl Ask {
    /// A question anyone may answer, whenever they come to it.
    pub fn new(id: GateId, kind: Kind, task: Option<TaskId>, card: Card) -> Self {
        let demands = Demands { proof: Proof::Token, ..Demands::default() };
        Self { id, kind, task, card, demands, is_ruled: false, held: None }
    }

    /// What a ruling made a question, with what it demands.
    pub(crate) fn ruled(
        id: GateId,
        kind: Kind,
        task: Option<TaskId>,
        card: Card,
        ruling: &Ruling,
    ) -> Self {
        Self::new(id, kind, task, card).demanded_by(ruling)
    }

    /// The same question, with what a ruling demands.
    pub(crate) fn demanded_by(self, ruling: &Ruling) -> Self {
        let demands = ruling.demands.clone().unwrap_or_default();
        Self { demands, is_ruled: true, ..self }
    }
}

/// How a wait ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Waited {
    /// The gate has ended.
    Ended(Box<Gate>),
    /// The time is over and the gate is still open.
    TimedOut(Box<Gate>),
}

impl LocalDesk {
    /// Asks. The gate is there when this returns, whatever happens next.
    pub fn ask(&self, actor: &Actor, ask: Ask) -> Result<Gate> {
        self.submit_foreseen(actor, of_ask(&ask), move |batch| {
            let ask = addressed(batch, &ask)?;
            open(batch, &ask)
        })
    }

    /// Asks, unless the same asker has asked just that and has not gone on with the answer yet: then it
    /// is that gate. So whoever was cut off while they waited asks again and gets the answer.
    pub fn ask_once(&self, actor: &Actor, ask: Ask) -> Result<Gate> {
        self.submit_foreseen(actor, of_ask(&ask), move |batch| {
            batch.actor.check(Deed::Ask, "ask")?;
            if let Some(gate) = asked_before(batch, &ask)? {
                return Ok(gate);
            }
            let ask = addressed(batch, &ask)?;
            open(batch, &ask)
        })
    }

    /// Changes the card of a gate that is still open.
    pub fn revise(&self, actor: &Actor, id: GateId, card: Card) -> Result<Gate> {
        self.on_gate(actor, id, Command::Revise(card))
    }

    /// Notes that the actor was shown these gates as they are here. Only people are noted, and each
    /// card once, so looking again writes nothing.
    pub fn see(&self, actor: &Actor, shown: &[Gate]) -> Result<()> {
        let is_new = |gate: &&Gate| {
            gate.is_open() && gate.seen_by(&actor.name).is_none_or(|s| s.digest != gate.digest)
        };
        let cards = shown.iter().filter(is_new);
        self.see_digests(actor, cards.map(|g| (g.opened.id, g.digest.to_string())).collect())
    }

    /// Notes that the actor was shown these cards.
    pub(crate) fn see_digests(&self, actor: &Actor, cards: Vec<(GateId, String)>) -> Result<()> {
        if actor.role != Role::Human || cards.is_empty() {
            return Ok(());
        }
        cards.iter().try_for_each(|(id, _)| self.check_sees(actor, *id))?;
        let foresight = cards.iter().fold(Foresight::default(), |all, (id, _)| all.gate(*id));
        let noted = self.submit_foreseen(actor, foresight, move |batch| {
            for (id, digest) in &cards {
                batch.on_gate(*id, &Command::See { digest: digest.clone() })?;
            }
            Ok(())
        });
        match noted {
            // Where nothing can be written, one may still look.
            Err(Error::Store(sayso_store::Error::ReadOnly(_))) => Ok(()),
            noted => noted,
        }
    }

    /// Puts a gate off, and with it those that ask the same.
    pub fn snooze(&self, actor: &Actor, id: GateId, until: Timestamp) -> Result<Gate> {
        self.on_card(actor, id, Command::Snooze { until })
    }

    /// Says "mine" for a while, of the whole card.
    pub fn claim(&self, actor: &Actor, id: GateId, until: Timestamp) -> Result<Gate> {
        self.on_card(actor, id, Command::Claim { until })
    }

    /// Says "not mine any more".
    pub fn release(&self, actor: &Actor, id: GateId) -> Result<Gate> {
        self.on_card(actor, id, Command::Release)
    }

    /// Answers a gate, and no other. The first answer wins; every other caller is told who was first.
    pub fn answer(&self, actor: &Actor, id: GateId, answer: Answer, digest: &str) -> Result<Gate> {
        self.check_sees(actor, id)?;
        let digest = digest.to_owned();
        self.look_before_locking(actor, id, &answer, &digest)?;
        self.submit_foreseen(actor, of_ending(id), move |batch| {
            let answer = with_notes(batch, id, answer.clone())?;
            answer_one(batch, id, answer, &digest)
        })
    }

    /// Most of those who come too late need not wait for the write lock to hear it. Where one writer does
    /// the work of all, there is no lock to wait for.
    pub(crate) fn look_before_locking(
        &self,
        actor: &Actor,
        id: GateId,
        answer: &Answer,
        digest: &str,
    ) -> Result<()> {
        if self.store.has_writer() {
            return Ok(());
        }
        let gate = self.stored_gate(id)?.ok_or_else(|| not_found("gate", &id))?;
        if gate.is_open() {
            return Ok(());
        }
        let command = Command::Answer { answer: answer.clone(), digest: digest.into() };
        let actor = self.read(|read| self.speaking(read, actor, self.now()))?;
        let refused = gate::decide(Some(&gate), &command, &actor, self.now()).err();
        match refused.filter(|r| !r.is_about_authority()) {
            Some(refusal) => Err(refusal.into()),
            None => Ok(()),
        }
    }

    /// Whether an answer would be taken as it stands now, with the reason where it would not. It only looks: nothing
    /// changes, and nothing is written down.
    pub fn would_take(&self, actor: &Actor, say: &Say) -> Result<()> {
        let gate = self.gate_for(actor, say.gate)?;
        let command = Command::Answer { answer: say.answer.clone(), digest: say.digest.clone() };
        let actor = self.read(|read| self.speaking(read, actor, self.now()))?;
        // What is wrong with the answer comes before who would have to show what: that can be mended right away.
        say.answer.check(gate.opened.kind, &gate.card.shape)?;
        gate::decide(Some(&gate), &command, &actor, self.now())?;
        Ok(())
    }

    /// Takes a gate back.
    pub fn withdraw(&self, actor: &Actor, id: GateId, reason: &str) -> Result<Gate> {
        self.check_sees(actor, id)?;
        let reason = reason.to_owned();
        self.submit_foreseen(actor, of_ending(id), move |batch| withdraw(batch, id, &reason))
    }

    /// Takes back every gate a task waits for. Clearing them is a verdict, whoever asked.
    pub fn clear_awaiting(&self, actor: &Actor, task: TaskId, reason: &str) -> Result<usize> {
        check_knows_task(actor, task)?;
        let reason = reason.to_owned();
        self.submit(actor, move |batch| {
            batch.actor.check(Deed::Answer, "clear what a task waits for")?;
            let found = batch.task(task)?.ok_or_else(|| not_found("task", &task))?;
            let gates: Vec<_> = found.waits_for.keys().copied().collect();
            if gates.is_empty() {
                return Err(nothing_waits(&found.handle).into());
            }
            for gate in &gates {
                withdraw(batch, *gate, &reason)?;
            }
            Ok(gates.len())
        })
    }

    /// Notes that the asker was handed the ending.
    pub fn deliver(&self, actor: &Actor, id: GateId) -> Result<Gate> {
        self.on_gate(actor, id, Command::Deliver)
    }

    /// Notes that the asker went on with it.
    pub fn acknowledge(&self, actor: &Actor, id: GateId) -> Result<Gate> {
        self.on_gate(actor, id, Command::Acknowledge)
    }

    /// Notes that it could not be handed over.
    pub fn fail_delivery(&self, actor: &Actor, id: GateId, why: &str) -> Result<Gate> {
        self.on_gate(actor, id, Command::FailDelivery { why: why.into() })
    }

    fn on_gate(&self, actor: &Actor, id: GateId, command: Command) -> Result<Gate> {
        self.check_sees(actor, id)?;
        self.submit_foreseen(actor, Foresight::default().gate(id), move |batch| {
            batch.on_gate(id, &command)?;
            gate_in(batch, id)
        })
    }

    /// A gate, folded from the log and checked against the audit.
    pub fn gate(&self, id: GateId) -> Result<Gate> {
        let gate = self.stored_gate(id)?;
        match self.limited_reader() {
            Some(actor) => self.shown_to(actor, gate, id),
            None => Ok(gate.ok_or_else(|| not_found("gate", &id))?),
        }
    }

    /// The same, for an actor that wants to read it. An agent reads its own; others do not exist for it.
    pub fn gate_for(&self, actor: &Actor, id: GateId) -> Result<Gate> {
        let gate = self.stored_gate(id)?;
        self.shown_to(actor, gate, id)
    }

    /// A gate, for whatever it is read.
    pub(crate) fn stored_gate(&self, id: GateId) -> Result<Option<Gate>> {
        let space = self.space;
        let found = self.look(|read| load::gate(read, id))?;
        Ok(found.map(|(gate, _)| gate).filter(|gate| gate.opened.space == space))
    }

    /// Gates, a page at a time. An agent sees its own.
    pub fn gates(&self, actor: &Actor, mut filter: GateFilter) -> Result<Page<Gate>> {
        if !actor.may(Deed::Read) {
            if filter.asker.as_ref().is_some_and(|asker| *asker != actor.name) {
                return Ok(Page { items: vec![], more: false });
            }
            filter.asker = Some(actor.name.clone());
        }
        loop {
            let mut page = self.read(|read| {
                let most = self.page_bytes_max;
                let page = paging::bounded(most, filter.limit, |last: Option<&Gate>, limit| {
                    let after = last.map(|gate| gate.opened.id).or(filter.after);
                    Ok(read.gates(self.space, &GateFilter { after, limit, ..filter.clone() })?)
                })?;
                page.items.iter().try_for_each(|gate| load::check_listed(read, gate))?;
                Ok(page)
            })?;
            let last = page.items.last().map(|gate| gate.opened.id);
            // The store knows askers by name; a person may have the name of an agent.
            page.items.retain(|gate| may_read(actor, gate));
            // A page without anything to go on behind would look like the last one.
            if !page.items.is_empty() || !page.more {
                return Ok(page);
            }
            filter.after = last;
        }
    }

    /// How many gates wait, counted up to `most`.
    pub fn count_open_gates(&self, most: usize) -> Result<usize> {
        if let Some(actor) = self.limited_reader() {
            let filter = GateFilter { limit: most, ..GateFilter::default() };
            return Ok(self.gates(actor, filter)?.items.len());
        }
        self.read(|read| Ok(read.count_open_gates(self.space, most)?))
    }

    /// Waits until the gate has ended, or until `timeout` is over. Waiting is a row: whoever waits
    /// may die and wait again.
    pub fn wait(&self, id: GateId, timeout: Option<Duration>) -> Result<Waited> {
        let began = Instant::now();
        let gate = self.gate(id)?;
        if !gate.is_open() {
            return Ok(Waited::Ended(Box::new(gate)));
        }
        // Watch first, look second: a commit in between wakes us.
        let mut watch = self.store.watch(&[Topic::Gate(id)])?;
        loop {
            let gate = self.gate(id)?;
            if !gate.is_open() {
                return Ok(Waited::Ended(Box::new(gate)));
            }
            // Whoever waits looks at the clock as well: there may be nobody else.
            let due = gate.next_due().map(|(when, _)| until(self.now(), when));
            let is_due = due.is_some_and(|due| due.is_zero());
            let gate = if is_due { self.tick(id)? } else { gate };
            let left = timeout.map(|t| t.saturating_sub(began.elapsed()));
            if gate.is_open() && left.is_some_and(|left| left.is_zero()) {
                return Ok(Waited::TimedOut(Box::new(gate)));
            }
            if is_due {
                continue;
            }
            watch.wait(left.into_iter().chain(due).min().unwrap_or(Duration::MAX));
        }
    }

    /// Notes that the task of an asker ended before it was handed the ending.
    pub fn give_up_delivery(&self, actor: &Actor, id: GateId, why: &str) -> Result<Gate> {
        self.on_gate(actor, id, Command::GiveUpDelivery { why: why.into() })
    }

    /// Endings this asker has not acknowledged yet, oldest first.
    pub fn undelivered(&self, actor: &Actor, limit: usize) -> Result<Vec<Gate>> {
        let ids =
            self.read(|read| Ok(read.deliveries_under_way(self.space, &actor.name, limit)?))?;
        // The store knows askers by name, and a person may have the name of an agent.
        let gates = ids.into_iter().map(|id| self.stored_gate(id));
        let own = |gate: &Gate| {
            let opened = &gate.opened;
            actor.is_asker(&opened.lineage) || actor.follows(&opened.lineage, opened.task)
        };
        gates.filter_map(|gate| gate.map(|gate| gate.filter(own)).transpose()).collect()
    }
}

/// What opening a gate looks at.
pub(crate) fn of_ask(ask: &Ask) -> Foresight {
    let foresight = Foresight::default().new_gate(ask.id);
    match ask.task {
        Some(task) => foresight.task(task),
        None => foresight,
    }
}

/// What an answer looks at.
pub(crate) fn of_ending(gate: GateId) -> Foresight {
    Foresight::default().ending_gate(gate, notices::OF_ONE_GATE_MAX)
}

/// Answers a gate and lets its task go on accordingly.
pub(crate) fn answer_one(
    batch: &mut Batch<'_, '_>,
    id: GateId,
    answer: Answer,
    digest: &str,
) -> Result<Gate> {
    let changed = batch.on_gate(id, &Command::Answer { answer, digest: digest.into() })?;
    settle_task(batch, id, changed)
}

pub(crate) fn may_read(actor: &Actor, gate: &Gate) -> bool {
    actor.may(Deed::Read) || actor.is_asker(&gate.opened.lineage)
}

/// The gate at which the same was asked, if its answer is still to be taken.
fn asked_before(batch: &mut Batch<'_, '_>, ask: &Ask) -> Result<Option<Gate>> {
    for ended in [false, true] {
        let filter = GateFilter {
            asker: Some(batch.actor.name.clone()),
            kinds: vec![ask.kind],
            ended,
            limit: ASKED_BEFORE_MAX,
            ..GateFilter::default()
        };
        for listed in batch.write.gates(batch.space, &filter)?.items {
            if listed.card != ask.card || listed.opened.task != ask.task {
                continue;
            }
            // What counts is folded from the log.
            let gate = gate_in(batch, listed.opened.id)?;
            let is_same = batch.actor.is_asker(&gate.opened.lineage) && gate.card == ask.card;
            let is_meant = gate.is_open() || gate.verdict().is_some();
            if is_same && is_meant && !is_taken(&gate, batch.at) {
                return Ok(Some(gate));
            }
        }
    }
    Ok(None)
}

/// Whether an answer is not for whoever asks the same now: they had it, or it is too old. Yesterday's yes is
/// not today's.
fn is_taken(gate: &Gate, now: Timestamp) -> bool {
    let is_past = |at: Timestamp, micros| now > at.plus_micros(micros);
    match gate.delivery {
        Delivery::Acknowledged { .. } => true,
        Delivery::Delivered { at } => is_past(at, HANDED_MICROS),
        Delivery::None
        | Delivery::Pending { .. }
        | Delivery::Failed { .. }
        | Delivery::Never { .. } => gate.ended_at().is_some_and(|at| is_past(at, ANSWER_MICROS)),
    }
}

/// Opens a gate, and lets its task wait in the same breath.
pub(crate) fn open(batch: &mut Batch<'_, '_>, ask: &Ask) -> Result<Gate> {
    open_in(batch, ask, None)
}

/// The same, for a flow that asks. Which one is ours to say, and not the asker's.
pub(crate) fn open_in(batch: &mut Batch<'_, '_>, ask: &Ask, flow: Option<FlowId>) -> Result<Gate> {
    batch.check_space_is_there()?;
    let handle = match batch.gate(ask.id)? {
        Some(gate) => gate.handle().to_owned(),
        None => {
            batch.check_gate_is_free(ask.id)?;
            batch.check_ask_pace()?;
            batch.free_handle(Handles::Gates, |len| ask.id.handle(len))?
        }
    };
    if let Some(task) = ask.task {
        let is_known = may_know_task(batch.actor, task);
        batch.task(task)?.filter(|_| is_known).ok_or_else(|| not_found("task", &task))?;
    }
    let lineage = batch.actor.lineage();
    let opened = match batch.gate(ask.id)?.map(|gate| gate.opened.clone()) {
        // Asked again: what was demanded then stands.
        Some(opened) => {
            let Ask { kind, task, card, .. } = ask.clone();
            Opened { kind, task, card, lineage, ..opened }
        }
        None => Opened { flow, ..opened(batch, ask, &handle)? },
    };
    let is_new = batch.on_gate(ask.id, &Command::Open(Box::new(opened)))?;
    if let Some(task) = ask.task.filter(|_| is_new) {
        let wait = task::Command::Ask { gate: ask.id, handle, kind: ask.kind };
        batch.on_task(task, &wait)?;
    }
    gate_in(batch, ask.id)
}

/// The gate as the asker and the policy want it.
fn opened(batch: &mut Batch<'_, '_>, ask: &Ask, handle: &str) -> Result<Opened> {
    if !ask.is_ruled && ask.demands.at_end == AtEnd::Approve {
        let message = "silence counts as a yes only where a policy says so";
        return Err(Refusal::new(Code::NotAllowed, message).into());
    }
    if ask.demands.deadline_ms.is_some_and(|ms| ms < DEADLINE_MS_MIN) {
        let message = "people have at least a second to answer";
        return Err(Refusal::new(Code::BadValue, message).hint("write --deadline 10m").into());
    }
    if !ask.is_ruled && ask.demands.remind_ms.contains(&0) {
        let message = "people are reminded after a while, not at once";
        return Err(Refusal::new(Code::BadValue, message).hint("write --remind 10m").into());
    }
    let demands = match ask.held {
        Some(_) => ask.demands.clone(),
        None => batch.rule_on_ask(ask)?,
    };
    let rules = batch.desk.rules(batch.write)?;
    let (deadline, schedule) =
        clock::schedule(&demands, batch.at, &rules.calendar_for(&demands.approvers));
    let (card, lineage) = (ask.card.clone(), batch.actor.lineage());
    Ok(Opened {
        task: ask.task,
        approvers: demands.approvers,
        least_proof: demands.proof.max(Proof::Token),
        launcher_excluded: demands.not_launcher,
        deadline,
        schedule,
        veto: demands.veto,
        risk: demands.risk,
        held: ask.held.clone(),
        policy: (!rules.policies.is_empty()).then(|| rules.policies.digest().clone()),
        ..Opened::new(ask.id, batch.space, handle, ask.kind, card, lineage)
    })
}

pub(crate) fn withdraw(batch: &mut Batch<'_, '_>, id: GateId, reason: &str) -> Result<Gate> {
    let changed = batch.on_gate(id, &Command::Withdraw { reason: reason.into() })?;
    settle_task(batch, id, changed)
}

/// Tells the task that its gate ended. What the person wrote becomes a note before the verdict
/// counts, so that whoever takes the task next finds it.
pub(crate) fn settle_task(batch: &mut Batch<'_, '_>, id: GateId, changed: bool) -> Result<Gate> {
    let gate = gate_in(batch, id)?;
    let (Some(ending), true) = (&gate.ending, changed) else { return Ok(gate) };
    batch.verdicts.extend(gate.verdict().map(|verdict| (id, verdict)));
    nudges::nudge_asker(batch, &gate)?;
    if gate.is_to_be_done() {
        lifecycle::approve(batch, &gate)?;
    }
    let Some(task) = gate.opened.task else { return gate_in(batch, id) };
    let was = batch.task(task)?.map(|task| task.status);
    if let Some(text) = words(ending) {
        batch.on_task(task, &task::Command::Note { text, as_agent: false })?;
    }
    let settle = task::Command::Settle {
        gate: id,
        handle: gate.handle().to_owned(),
        kind: gate.opened.kind,
        ending: ending.as_str(),
        // That nobody answered is not a no of theirs: the agent hears it and goes on without. And what
        // was said of a move moves the task by that move or not at all.
        verdict: gate
            .verdict_for_task()
            .filter(|v| gate.answer().is_some() || *v == Verdict::Approved)
            .filter(|_| gate.opened.held.is_none()),
    };
    batch.on_task(task, &settle)?;
    block_dependents(batch, task, was)?;
    if let Ending::Expired { at_end: AtEnd::Fail, .. } = ending {
        let reason = format!("nobody answered gate {} in time", gate.handle());
        batch.on_task(task, &task::Command::Fail { reason })?;
    }
    if gate.is_to_be_done() {
        policy::perform(batch, &gate, was)?;
        return gate_in(batch, id);
    }
    Ok(gate)
}

/// What waits for a task that was given up was not made possible by that. It is stuck until a person says how it goes
/// on.
fn block_dependents(batch: &mut Batch<'_, '_>, id: TaskId, was: Option<Status>) -> Result<()> {
    let was_up = was.is_some_and(|was| !was.is_over());
    let given_up = batch.task(id)?.filter(|task| was_up && task.is_given_up());
    let Some(handle) = given_up.map(|task| task.handle.clone()) else { return Ok(()) };
    let reason = format!("it waits for {handle}, which was given up");
    let was_approved = std::mem::replace(&mut batch.is_approved, true);
    for dependent in batch.write.waiting_on(id, DEPENDENTS_MAX)? {
        let is_up = |task: &Task| matches!(task.status, Status::Open | Status::Deferred);
        if batch.task(dependent)?.is_some_and(is_up) {
            let reason = reason.clone();
            batch.on_task(dependent, &task::Command::Block { reason })?;
        }
    }
    batch.is_approved = was_approved;
    Ok(())
}

/// What the person wrote, if anything.
fn words(ending: &Ending) -> Option<String> {
    let Ending::Answered { answer, .. } = ending else { return None };
    let content = (!answer.content.is_empty()).then(|| answer.as_text());
    let said: Vec<_> = content.into_iter().chain(answer.reason.clone()).collect();
    (!said.is_empty()).then(|| said.join("\n\n")).filter(|text| !text.trim().is_empty())
}

/// People who come from other trackers write the answer as a note and then approve. Their notes
/// since the question are the answer then.
pub(crate) fn with_notes(batch: &mut Batch<'_, '_>, id: GateId, answer: Answer) -> Result<Answer> {
    let gate = gate_in(batch, id)?;
    let is_bare = !answer.verdict.is_no() && answer.content.is_empty();
    let (true, Shape::Text, Some(task)) = (is_bare, &gate.card.shape, gate.opened.task) else {
        return Ok(answer);
    };
    // The same bare yes again, after it counted, is the answer it was made into.
    if let Some((given, by)) = gate.answer() {
        let again = by.name == batch.actor.name && given.reason == answer.reason;
        return Ok(if again { given.clone() } else { answer });
    }
    let notes = notes_since(&load::task_history(batch.write, task)?, id);
    Ok(match notes.is_empty() {
        true => answer,
        false => Answer { content: Content::Text(notes.join("\n\n")), ..answer },
    })
}

/// What people noted by themselves since the task began to wait for this gate; the notes that answers
/// to other gates left are not among them. The order of the log counts: a clock may have been set back.
fn notes_since(history: &load::History, gate: GateId) -> Vec<String> {
    let is_asked = |e: &TaskEvent| matches!(e, TaskEvent::Asked { gate: id, .. } if *id == gate);
    let since = history.iter().position(|(_, e)| is_asked(e)).unwrap_or(history.len());
    let later = &history[since..];
    // An answer's words are noted in the same breath as the task is settled, right before that.
    let is_answer = |at: usize| {
        let next = later.get(at + 1);
        next.is_some_and(|(when, e)| *when == later[at].0 && matches!(e, TaskEvent::Settled { .. }))
    };
    let noted = later.iter().enumerate().filter_map(|(at, (_, e))| match e {
        TaskEvent::Noted(note) if note.role == Role::Human && !is_answer(at) => Some(&note.text),
        _ => None,
    });
    noted.cloned().collect()
}

pub(crate) fn gate_in(batch: &mut Batch<'_, '_>, id: GateId) -> Result<Gate> {
    Ok(batch.gate(id)?.cloned().ok_or_else(|| not_found("gate", &id))?)
}

/// How long it is until a moment.
fn until(now: Timestamp, moment: Timestamp) -> Duration {
    let micros = moment.as_micros().saturating_sub(now.as_micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

pub(crate) fn nothing_waits(handle: &str) -> Refusal {
    Refusal::new(Code::NotWaiting, format!("task {handle} waits for nobody"))
        .hint("see what waits with: sayso inbox")
}
