//! Policy at the desk: what it says of a request, what it holds back for a person, and what people let
//! it remember. Every door comes through here, since every door comes to the desk.

use crate::batch::Batch;
use crate::gates::{self, Ask};
use crate::settings::{Change, Rules, SettingKind};
use crate::{Calendar, Error, LocalDesk, Person, Result, messages, tasks};
use sayso_core::gate::{Card, Command, Fact, Gate, Held};
use sayso_core::run::Run;
use sayso_core::task::{self, Edit, Status, Task};
use sayso_core::text::{harmless_line, shorten};
use sayso_core::{
    Actor, Approvers, Code, Deed, Digest, Door, GateId, Kind, Outcome, Refusal, Risk, Role, Shape,
    SpaceId, TaskId, Timestamp, Verdict,
};
use sayso_policy::{
    Agent, Counts, Demands, Effect, Explanation, History, Report, Request, Ruling, Subject,
    Transition,
};
use sayso_store::{GateFilter, Read, RequestRow, Tally, Write};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// How many open gates of a task are looked at for one that already asks the same.
const GATES_MAX: usize = 100;

/// How much of a title or a command stands in a question.
pub(crate) const TITLE_CHARS_MAX: usize = 60;

/// The fact that names the rules.
pub(crate) const POLICY: &str = "policy";

const HOUR: i64 = 3_600_000_000;

/// What was put before the policy, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its id; the gate's, if one was opened for it.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// What was wanted.
    pub request: Request,
    /// What the policy said.
    pub effect: String,
    /// The rules that decided.
    pub rules: Vec<String>,
    /// What people said, once they have.
    pub verdict: Option<String>,
}

/// A record as it is kept.
#[derive(Serialize, Deserialize)]
struct Record {
    request: Request,
    #[serde(default)]
    rules: Vec<String>,
    policy: Option<Digest>,
}

/// For whom a decision is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The same agent on the same task.
    Task,
    /// The same agent.
    Agent,
    /// Every agent of the space.
    Space,
}

/// A yes that holds for the same request again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// The request, in a line.
    pub request: String,
    /// Names what was approved: the same again, to the letter.
    pub digest: Digest,
    /// For whom.
    pub scope: Scope,
    /// The agent that asked.
    pub agent: String,
    /// The task it was for.
    pub task: Option<TaskId>,
    /// Who said so.
    pub by: String,
    /// Until when.
    pub until: Timestamp,
}

/// What is held back until a person has said yes.
pub(crate) struct Hold {
    task: TaskId,
    handle: String,
    from: Status,
    to: Status,
    reason: String,
    ruling: Ruling,
}

impl Hold {
    /// Asks in place of doing. Nothing of what was tried has been written.
    pub(crate) fn open(
        self,
        desk: &LocalDesk,
        actor: &Actor,
        write: &mut Write<'_>,
    ) -> sayso_store::Result<std::result::Result<(), Refusal>> {
        let mut batch = Batch::begin(desk, actor, write)?;
        match self.gate(&mut batch) {
            Ok(gate) => {
                batch.commit()?;
                Ok(Err(is_held(&gate)))
            }
            Err(Error::Refused(refusal)) => Ok(Err(refusal)),
            Err(Error::Store(error)) => Err(error),
        }
    }

    fn held(&self) -> Held {
        Held::Move {
            task: self.task,
            handle: self.handle.clone(),
            from: self.from,
            to: self.to,
            reason: self.reason.clone(),
        }
    }

    /// The gate that asks about this move; the one that is open already, if there is one.
    fn gate(&self, batch: &mut Batch<'_, '_>) -> Result<Gate> {
        if let Some(gate) = batch.gate_about_move(self.task, self.to)? {
            return Ok(gate);
        }
        let (handle, from, to) = (&self.handle, self.from, self.to);
        let title = batch.task(self.task)?.map(|task| task.title.clone()).unwrap_or_default();
        let short = shorten(&harmless_line(&title), TITLE_CHARS_MAX);
        let mut facts = vec![fact("task", &title), fact("move", &format!("{from} -> {to}"))];
        facts.extend(because(&self.ruling));
        let card = Card {
            question: format!("May {handle} ({short}) move from {from} to {to}?"),
            narrative: self.reason.clone(),
            facts,
            shape: Shape::Verdict,
        };
        let id = batch.desk.new_gate_id();
        let mut ask = Ask::ruled(id, Kind::Transition, Some(self.task), card, &self.ruling);
        ask.held = Some(self.held());
        let gate = gates::open(batch, &ask)?;
        let subject = transition(self.from, self.to);
        let request = batch.request(subject, Some((self.task, Some(self.from))))?;
        let row = batch.row(&id.to_string(), &request, &self.ruling)?;
        batch.requests.push(row);
        Ok(gate)
    }
}

/// That a person is asked first, and where.
pub(crate) fn is_held(gate: &Gate) -> Refusal {
    let who = gate.opened.approvers.in_words();
    let because = gate.card.facts.iter().find(|fact| fact.name == POLICY);
    let why = because.and_then(|fact| fact.value.as_str()).unwrap_or_default();
    let what = match &gate.opened.held {
        Some(Held::Move { handle, from, to, .. }) => {
            format!("task {handle} may move from {from} to {to}")
        }
        Some(Held::Lifecycle { action, agent }) => format!("{action} of {agent} may happen"),
        Some(Held::Call { .. }) | None => "it may happen".into(),
    };
    let message = format!("{what} when {who} has approved gate {}. {why}", gate.handle());
    Refusal::new(Code::Held, message.trim_end())
        .hint(format!("go on with other work; you are told. See: sayso show {}", gate.handle()))
}

impl Batch<'_, '_> {
    /// The open gate that asks about a move of a task.
    fn gate_about_move(&mut self, task: TaskId, wanted: Status) -> Result<Option<Gate>> {
        let filter = GateFilter { task: Some(task), limit: GATES_MAX, ..GateFilter::default() };
        let asked = self.write.gates(self.space, &filter)?.items;
        let is_it = |gate: &Gate| match &gate.opened.held {
            Some(Held::Move { to, .. }) => gate.is_open() && *to == wanted,
            Some(Held::Lifecycle { .. } | Held::Call { .. }) | None => false,
        };
        Ok(asked.into_iter().find(is_it))
    }

    /// The same move again, while a person is being asked about it, is told where.
    pub(crate) fn or_held(
        &mut self,
        id: TaskId,
        command: &task::Command,
        refusal: Refusal,
    ) -> Result<Refusal> {
        let Some(to) = target(command).filter(|_| is_governed(self.actor)) else {
            return Ok(refusal);
        };
        let gate = self.gate_about_move(id, to)?;
        let own = gate.filter(|gate| gate.opened.lineage.asker == self.actor.name);
        Ok(own.map_or(refusal, |gate| is_held(&gate)))
    }

    /// What the policy says of a move somebody else than a person makes. What a person does at their
    /// own terminal is their say-so; what the worker does was ruled on before.
    pub(crate) fn rule_on_move(
        &mut self,
        id: TaskId,
        command: &task::Command,
        from: Status,
        to: Status,
    ) -> Result<()> {
        if target(command).is_none() || self.is_approved || !is_governed(self.actor) {
            return Ok(());
        }
        let request = self.request(transition(from, to), Some((id, Some(from))))?;
        let ruling = self.rule(&request)?;
        match ruling.effect {
            Effect::Allow => {
                let name = format!("{}/{from}/{to}/{}", self.at.as_micros(), id);
                let row = self.row(&name, &request, &ruling)?;
                self.requests.push(row);
                Ok(())
            }
            Effect::Deny => self.deny(&request, &ruling),
            Effect::Ask => {
                let handle = self.task(id)?.map(|task| task.handle.clone()).unwrap_or_default();
                let reason = reason_of(command).to_owned();
                self.hold = Some(Hold { task: id, handle, from, to, reason, ruling });
                Err(Refusal::new(Code::Held, "a person is asked first").into())
            }
        }
    }

    /// What the policy says of work that is called complete: of the result, and of closing its task. The
    /// stricter of the two counts, and the demands of both.
    pub(crate) fn rule_on_completion(
        &mut self,
        task: TaskId,
        confidence: Option<u8>,
    ) -> Result<Ruling> {
        let from = self.task(task)?.map_or(Status::InProgress, |task| task.status);
        let report = Report { outcome: "completed".into(), confidence };
        let mut ruled = vec![];
        for subject in [Subject::Result(report), transition(from, Status::Closed)] {
            let request = self.request(subject, Some((task, Some(from))))?;
            ruled.push(self.rule(&request)?);
            let name = format!("{}/{}", self.at.as_micros(), self.desk.new_gate_id());
            let row = self.row(&name, &request, &ruled[ruled.len() - 1])?;
            self.requests.push(row);
        }
        Ok(strictest(ruled))
    }

    /// What the policy adds to a question: whom it is for, how sure they must be, how long it takes.
    pub(crate) fn rule_on_ask(&mut self, ask: &Ask) -> Result<Demands> {
        let subject =
            Subject::Ask(sayso_policy::Ask { kind: ask.kind, question: ask.card.question.clone() });
        let request = self.request(subject, ask.task.map(|task| (task, None)))?;
        let mut ruling = self.rule(&request)?;
        if ruling.effect == Effect::Deny {
            return self.deny(&request, &ruling);
        }
        // What holds for questions no rule speaks of adds nothing to what a rule demanded.
        let is_said = !ask.is_ruled || ruling.because.iter().any(|b| b.rule.is_some());
        let mut demands = match ruling.demands.as_ref().filter(|_| is_said) {
            Some(demands) => with(&ask.demands, demands),
            None => ask.demands.clone(),
        };
        if let Some(closing) = self.rule_on_what_a_yes_does(ask)? {
            demands = with(&demands, &closing);
        }
        ruling.effect = Effect::Ask;
        let row = self.row(&ask.id.to_string(), &request, &ruling)?;
        self.requests.push(row);
        Ok(demands)
    }

    /// A yes to a program's question may close its task. Then it is ruled on as closing it, and takes what
    /// that takes: nobody gets past the policy by a question of their own.
    fn rule_on_what_a_yes_does(&mut self, ask: &Ask) -> Result<Option<Demands>> {
        let closes = ask.kind.outcome(Verdict::Approved) == Outcome::Done;
        let is_program = !self.actor.may(Deed::Answer);
        let Some(task) = ask.task.filter(|_| closes && is_program) else { return Ok(None) };
        let from = self.task(task)?.map_or(Status::Open, |task| task.status);
        let request = self.request(transition(from, Status::Closed), Some((task, None)))?;
        let ruling = self.rule(&request)?;
        match ruling.effect {
            Effect::Allow => Ok(None),
            Effect::Ask => Ok(ruling.demands),
            Effect::Deny => self.deny(&request, &ruling),
        }
    }

    /// What a policy looks at is not for those it is about to change: a label or a priority less, and a
    /// rule would not fit any more. And what a person is being asked about stays as they see it.
    pub(crate) fn check_may_edit(&mut self, id: TaskId, edit: &Edit) -> Result<()> {
        if self.actor.role != Role::Agent {
            return Ok(());
        }
        let is_ruled_by = edit.sort.is_some()
            || edit.priority.is_some()
            || edit.parent.is_some()
            || !edit.add_labels.is_empty()
            || !edit.remove_labels.is_empty();
        let has_policy = !self.desk.rules(self.write)?.policies.is_empty();
        let handle = self.task(id)?.map(|task| task.handle.clone()).unwrap_or_default();
        if is_ruled_by && has_policy {
            let message = format!(
                "agent {} may not change labels, type, priority or epic of {handle}: the policy looks at them",
                self.actor.name
            );
            let hint = "a person changes them; title, description and notes are yours";
            return Err(Refusal::new(Code::Denied, message).hint(hint).into());
        }
        // Whatever the question is, the card shows the task: a yes is to what the person saw.
        let waits = self.task(id)?.is_some_and(|task| !task.waits_for.is_empty());
        if waits {
            let message = format!("task {handle} stays as it is while a person is asked about it");
            return Err(Refusal::new(Code::WrongState, message)
                .hint("write a note, wait for the answer, or take the question back first: sayso withdraw")
                .into());
        }
        Ok(())
    }

    /// Whether the policy forbids by now what was asked about at a gate: a new no outweighs an old yes.
    pub(crate) fn is_denied_by_now(&mut self, gate: &Gate) -> Result<bool> {
        let request = self.write.request(&gate.opened.id.to_string())?.and_then(recorded);
        let ruling = request.map(|row| self.rule(&row.request)).transpose()?;
        Ok(ruling.is_some_and(|ruling| ruling.effect == Effect::Deny))
    }

    /// What the policy says. A yes that people let be remembered answers a question, never a no.
    pub(crate) fn rule(&mut self, request: &Request) -> Result<Ruling> {
        let rules = self.desk.rules(self.write)?;
        let mut ruling = rules.policies.ruling(request);
        let is_askable = ruling.demands.as_ref().is_some_and(may_be_remembered);
        let Actor { name, task, .. } = self.actor;
        if is_askable && let Some(remembered) = remembered(&rules, request, name, *task, self.at) {
            ruling.effect = Effect::Allow;
            ruling.demands = None;
            for because in &mut ruling.because {
                because.note = Some(format!("{} approved the same before", remembered.by));
            }
        }
        Ok(ruling)
    }

    pub(crate) fn deny<T>(&mut self, request: &Request, ruling: &Ruling) -> Result<T> {
        let name = format!("{}/{}", self.at.as_micros(), self.desk.new_gate_id());
        self.denied = Some(self.row(&name, request, ruling)?);
        let (what, why) = (request.in_words(), ruling.reason());
        let message = format!("the policy does not allow: {what}. {why}");
        Err(Refusal::new(Code::Denied, message.trim_end())
            .hint("see why with: sayso policy explain")
            .into())
    }

    /// What is put before the policy, with everything it may look at.
    pub(crate) fn request(
        &mut self,
        subject: Subject,
        task: Option<(TaskId, Option<Status>)>,
    ) -> Result<Request> {
        let (actor, at) = (self.actor, self.at);
        let rules = self.desk.rules(self.write)?;
        let mut agent = Agent { launcher: actor.launcher.clone(), ..Agent::named(&actor.name) };
        let mut about = None;
        if let Some((id, status)) = task
            && let Some(task) = self.task(id)?.cloned()
        {
            let parent = match task.parent {
                Some(parent) => self.task(parent)?.map(|parent| parent.labels.clone()),
                None => None,
            };
            agent.role = role_of(&task).into();
            about = Some(sayso_policy::Task {
                handle: task.handle.clone(),
                labels: task.labels.iter().cloned().collect(),
                priority: task.priority,
                sort: task.sort.clone(),
                status: status.unwrap_or(task.status).as_str().into(),
                parent_labels: parent.into_iter().flatten().collect(),
            });
        }
        // Without a policy nobody asks what time it is.
        let (time, history) = match rules.policies.is_empty() {
            true => (None, History::default()),
            false => {
                let past = history(self.write, self.space, &actor.name, at)?;
                (Some(rules.calendar().time(at)), past)
            }
        };
        Ok(Request { subject, agent, task: about, time, history })
    }

    pub(crate) fn row(
        &mut self,
        id: &str,
        request: &Request,
        ruling: &Ruling,
    ) -> Result<RequestRow> {
        let policies = self.desk.rules(self.write)?.policies.clone();
        let record = Record {
            request: request.clone(),
            rules: ruling.because.iter().filter_map(|because| because.rule.clone()).collect(),
            policy: (!policies.is_empty()).then(|| policies.digest().clone()),
        };
        let body = serde_json::to_string(&record)
            .map_err(|e| sayso_store::Error::Other(format!("a request cannot be written: {e}")))?;
        Ok(RequestRow {
            id: id.into(),
            at: self.at,
            agent: request.agent.name.clone(),
            ruling: ruling.effect.as_str().into(),
            verdict: None,
            body,
        })
    }
}

impl Rules {
    /// The calendar of the person who is asked, if it is one and they have one; else that of the space.
    pub(crate) fn calendar_for(&self, approvers: &Approvers) -> Calendar {
        let own = match approvers {
            Approvers::Person(name) => {
                let people = self.of::<Person>(SettingKind::Person).into_iter();
                people.filter(|(known, _)| known == name).find_map(|(_, person)| person.calendar)
            }
            Approvers::Anyone | Approvers::All(_) | Approvers::Some { .. } => None,
        };
        own.unwrap_or_else(|| self.calendar())
    }

    /// The clock of the space.
    pub(crate) fn calendar(&self) -> Calendar {
        let set = self.of::<Calendar>(SettingKind::Calendar).into_iter().next();
        set.map(|(_, calendar)| calendar).unwrap_or_default()
    }
}

impl LocalDesk {
    /// What the policies in force say of a request, and the remembered yes that would answer it. What
    /// the request leaves out is as it is now: the clock of the space, and what the agent asked before.
    pub fn explain(&self, mut request: Request) -> Result<(Explanation, Option<Remembered>)> {
        let now = self.now();
        self.read(|read| {
            let rules = self.rules(read)?;
            request.time.get_or_insert_with(|| rules.calendar().time(now));
            if request.history == History::default() {
                request.history = history(read, self.space, &request.agent.name, now)?;
            }
            let explained = rules.policies.explain(&request);
            let is_askable = explained.ruling.demands.as_ref().is_some_and(may_be_remembered);
            let covered = remembered(&rules, &request, &request.agent.name, None, now);
            // The policy is known to those it is about; what was said to others is not.
            let is_known =
                |it: &Remembered| self.limited_reader().is_none_or(|actor| it.agent == actor.name);
            Ok((explained, covered.filter(|_| is_askable).filter(is_known)))
        })
    }

    /// What was put before the policy since a moment, oldest first, a page at a time.
    pub fn requests(
        &self,
        actor: &Actor,
        since: Timestamp,
        after: Option<&Recorded>,
        limit: usize,
    ) -> Result<sayso_store::Page<Recorded>> {
        self.check(actor, Deed::Read, "read what others wanted to do")?;
        let after = after.map(|last| RequestRow {
            id: last.id.clone(),
            at: last.at,
            agent: String::new(),
            ruling: String::new(),
            verdict: None,
            body: String::new(),
        });
        let page =
            self.read(|read| Ok(read.requests(self.space, since, after.as_ref(), limit)?))?;
        let items = page.items.into_iter().filter_map(recorded).collect();
        Ok(sayso_store::Page { items, more: page.more })
    }

    /// What the policy says of work that an agent calls complete: of the result, and of closing its
    /// task. The stricter of the two counts, and the demands of both.
    pub(crate) fn rule_on_completion(
        &self,
        agent: &Actor,
        run: &Run,
        confidence: Option<u8>,
    ) -> Result<Ruling> {
        let task = run.started.task;
        self.submit(agent, move |batch| batch.rule_on_completion(task, confidence))
    }

    /// Remembers the yes to a gate for the same request again: as exact as it was shown, for a while,
    /// and not where being wrong is bad.
    pub fn remember(
        &self,
        actor: &Actor,
        gate: GateId,
        scope: Scope,
        until: Timestamp,
    ) -> Result<Remembered> {
        self.check_sees(actor, gate)?;
        self.submit(actor, move |batch| {
            batch.actor.check(Deed::Answer, "let a decision be remembered")?;
            let found = batch.gate(gate)?.cloned();
            let found = found.ok_or_else(|| crate::batch::not_found("gate", &gate))?;
            let (name, remembered) = to_remember(batch, &found, scope, until)?;
            let body = serde_json::to_string(&remembered)
                .map_err(|e| sayso_store::Error::Other(e.to_string()))?;
            batch.set(&[Change { kind: SettingKind::Remembered, name, body: Some(body) }])?;
            Ok(remembered)
        })
    }

    /// Whether the yes to a gate could be remembered.
    pub fn check_can_be_remembered(&self, gate: GateId) -> Result<()> {
        Ok(check_can_be_remembered(&self.gate(gate)?)?)
    }

    /// What is remembered and still holds, by the gate it was said at.
    pub fn remembered(&self) -> Result<Vec<(String, Remembered)>> {
        self.check_reader("read what was remembered")?;
        let rules = self.read(|read| self.rules(read))?;
        let all = rules.of::<Remembered>(SettingKind::Remembered).into_iter();
        let now = self.now();
        Ok(all.filter(|(_, r)| r.until > now).map(|(name, r)| (name.to_owned(), r)).collect())
    }

    /// Forgets what was remembered at a gate.
    pub fn forget(&self, actor: &Actor, name: &str) -> Result<()> {
        let name = name.to_owned();
        self.submit(actor, move |batch| {
            batch.actor.check(Deed::Govern, "let a decision be forgotten")?;
            let change = Change { kind: SettingKind::Remembered, name: name.clone(), body: None };
            match batch.set(&[change])? {
                0 => Err(crate::batch::not_found("remembered decision", &name).into()),
                _ => Ok(()),
            }
        })
    }
}

fn strictest(ruled: Vec<Ruling>) -> Ruling {
    let effect = ruled.iter().map(|ruling| ruling.effect).max().unwrap_or(Effect::Ask);
    let mut all = Ruling { effect, demands: None, because: vec![] };
    for ruling in ruled.into_iter().filter(|ruling| ruling.effect == effect) {
        all.demands = match (all.demands, ruling.demands) {
            (Some(one), Some(other)) => Some(one.merge(&other)),
            (one, other) => one.or(other),
        };
        all.because.extend(ruling.because);
    }
    all
}

fn to_remember(
    batch: &mut Batch<'_, '_>,
    gate: &Gate,
    scope: Scope,
    until: Timestamp,
) -> Result<(String, Remembered)> {
    let refuse = |why: &str| -> Result<(String, Remembered)> {
        Err(Refusal::new(Code::BadValue, why).into())
    };
    check_can_be_remembered(gate)?;
    let Some((answer, by)) = gate.answer().filter(|(a, _)| a.verdict == Verdict::Approved) else {
        return refuse("only a yes is remembered");
    };
    if !answer.content.is_empty() {
        return refuse("what was approved with changes is asked each time");
    }
    if until <= batch.at {
        return refuse("a decision is remembered until a time to come");
    }
    let Some(row) = batch.write.request(&gate.opened.id.to_string())?.and_then(recorded) else {
        return refuse("nothing was put before the policy for this gate");
    };
    let remembered = Remembered {
        request: row.request.in_words(),
        digest: subject_digest(&row.request),
        scope,
        agent: gate.opened.lineage.asker.clone(),
        task: gate.opened.task,
        by: by.name.clone(),
        until,
    };
    Ok((gate.handle().to_owned(), remembered))
}

fn check_can_be_remembered(gate: &Gate) -> std::result::Result<(), Refusal> {
    if !matches!(gate.opened.kind, Kind::Tool | Kind::Transition) {
        let why = "only calls of tools and moves of tasks are remembered";
        return Err(Refusal::new(Code::BadValue, why));
    }
    if gate.opened.risk > Risk::Medium {
        let why = format!("{} risk is asked each time", gate.opened.risk.as_str());
        return Err(Refusal::new(Code::BadValue, why));
    }
    Ok(())
}

fn may_be_remembered(demands: &Demands) -> bool {
    demands.risk <= Risk::Medium
}

/// How an agent fared lately.
fn history(read: &mut Read<'_>, space: SpaceId, agent: &str, at: Timestamp) -> Result<History> {
    let mut since = |hours: i64| -> Result<Counts> {
        let Tally { asked, approved, denied } =
            read.tally(space, agent, at.plus_micros(-hours * HOUR))?;
        let few = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Ok(Counts { asked: few(asked), approved: few(approved), denied: few(denied) })
    };
    Ok(History { hour: since(1)?, day: since(24)? })
}

/// The yes that covers this request, if there is one that still holds.
fn remembered(
    rules: &Rules,
    request: &Request,
    agent: &str,
    task: Option<TaskId>,
    at: Timestamp,
) -> Option<Remembered> {
    let digest = subject_digest(request);
    let all = rules.of::<Remembered>(SettingKind::Remembered).into_iter();
    let covers = |r: &Remembered| {
        let is_for = match r.scope {
            Scope::Space => true,
            Scope::Agent => r.agent == agent,
            Scope::Task => r.agent == agent && r.task.is_some() && r.task == task,
        };
        is_for && r.until > at && r.digest == digest
    };
    all.map(|(_, remembered)| remembered).find(covers)
}

/// Names what is wanted, apart from who wants it and when. A move is of one task only.
fn subject_digest(request: &Request) -> Digest {
    let bare = Request::new(request.subject.clone(), Agent::default());
    let task = request.task.as_ref().map(|task| &task.handle);
    let task = task.filter(|_| matches!(request.subject, Subject::Transition(_)));
    Digest::of(&json!({"request": bare, "task": task}))
}

fn recorded(row: RequestRow) -> Option<Recorded> {
    let Record { request, rules, .. } = serde_json::from_str(&row.body).ok()?;
    let RequestRow { id, at, ruling: effect, verdict, .. } = row;
    Some(Recorded { id, at, request, effect, rules, verdict })
}

/// Who the policy has a say about: programs. The worker asks it before it acts for an agent.
pub(crate) fn is_governed(actor: &Actor) -> bool {
    actor.role != Role::Human && actor.door != Door::Worker
}

/// Where a command moves a task, if it is one that moves it.
fn target(command: &task::Command) -> Option<Status> {
    use task::Command;
    match command {
        Command::Start { .. } => Some(Status::InProgress),
        Command::Close { .. } => Some(Status::Closed),
        Command::Reopen { .. } => Some(Status::Open),
        Command::Defer { .. } => Some(Status::Deferred),
        Command::Fail { .. } => Some(Status::Failed),
        Command::Block { .. } => Some(Status::Blocked),
        Command::Delete { .. } => Some(Status::Deleted),
        Command::Create(_)
        | Command::Edit(_)
        | Command::AddDependency { .. }
        | Command::RemoveDependency { .. }
        | Command::Note { .. }
        | Command::Ask { .. }
        | Command::Settle { .. } => None,
    }
}

fn reason_of(command: &task::Command) -> &str {
    use task::Command;
    match command {
        Command::Close { reason, .. }
        | Command::Reopen { reason }
        | Command::Fail { reason }
        | Command::Block { reason }
        | Command::Delete { reason, .. } => reason,
        _ => "",
    }
}

fn transition(from: Status, to: Status) -> Subject {
    Subject::Transition(Transition { from: from.as_str().into(), to: to.as_str().into() })
}

/// What the asker asked for, and what the policy demands on top. Where the asker said nothing, the
/// policy's word stands alone.
fn with(asked: &Demands, demanded: &Demands) -> Demands {
    let mut all = asked.merge(demanded);
    match (asked.deadline_ms, demanded.deadline_ms) {
        (None, _) => all.at_end = demanded.at_end,
        (Some(_), None) => all.at_end = asked.at_end,
        (Some(_), Some(_)) => {}
    }
    if asked.risk == Risk::default() {
        all.risk = demanded.risk;
    }
    all
}

/// The rules that made it a question, for the card.
pub(crate) fn because(ruling: &Ruling) -> Option<Fact> {
    let places: Vec<_> = ruling.because.iter().map(|b| b.place()).collect();
    let reason = ruling.reason();
    (!places.is_empty()).then(|| fact(POLICY, format!("{}: {reason}", places.join(", ")).trim()))
}

pub(crate) fn fact(name: &str, value: &str) -> Fact {
    Fact { name: name.into(), value: value.into(), verified: true }
}

/// The role an agent works in on a task.
fn role_of(task: &Task) -> &str {
    task.labels.iter().find_map(|label| label.strip_prefix("role:")).unwrap_or_default()
}

/// Does what was held, now that it may be done. The world is looked at again: what has moved in the
/// meantime is reported and left alone. What is to be done to agents
/// is ordered elsewhere.
pub(crate) fn perform(batch: &mut Batch<'_, '_>, gate: &Gate, was: Option<Status>) -> Result<()> {
    let Some(Held::Move { task, handle, from, to, reason }) = &gate.opened.held else {
        return Ok(());
    };
    batch.is_approved = true;
    let by = gate.answer().map_or("the policy", |(_, by)| by.name.as_str()).to_owned();
    let is_denied = batch.is_denied_by_now(gate)?;
    let (done, what) = match was {
        _ if is_denied => {
            (false, format!("the policy does not allow it any more: task {handle} was not moved"))
        }
        Some(was) if was == *from => match tasks::move_to(batch, *task, *to, reason) {
            Ok(()) => (true, format!("task {handle} moved from {from} to {to}, approved by {by}")),
            Err(Error::Refused(refusal)) => {
                (false, format!("task {handle} was not moved to {to}: {}", refusal.message))
            }
            Err(error) => return Err(error),
        },
        was => {
            let now = was.map_or("gone", Status::as_str);
            (false, format!("task {handle} is {now} by now, not {from}: nothing was moved"))
        }
    };
    batch.on_gate(gate.opened.id, &Command::Act { done, what: what.clone() })?;
    messages::send(batch, &gate.opened.lineage.asker, &format!("Gate {}: {what}.", gate.handle()))
}
