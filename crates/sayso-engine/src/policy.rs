//! Policy decisions at the desk: rules on requests, holds actions until a person approves, and applies standing
//! approvals. Every interface writes through the desk, so the policy applies to all of them.

use crate::gates::{self, NewGate};
use crate::settings::{SettingChange, SettingKind, SpaceSettings};
use crate::write_batch::WriteBatch;
use crate::{Calendar, Error, LocalDesk, Person, Result, messages, tasks};
use sayso_core::gate::{Card, CardFact, DeferredAction, Gate, GateCommand};
use sayso_core::run::Run;
use sayso_core::task::{self, Task, TaskEdit, TaskStatus};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{
    Actor, AnswerShape, Approvers, Code, Digest, EntryPoint, GateId, GateKind, Permission, Refusal,
    Risk, Role, SpaceId, TaskId, TaskOutcome, Timestamp, Verdict,
};
use sayso_policy::{
    AgentHistory, AnswerCounts, AskDemands, PolicyEffect, PolicyRequest, ReportedResult,
    RequestedAction, RequestingAgent, Ruling, RulingExplanation, StatusTransition,
};
use sayso_store::{GateFilter, ReadTransaction, RequestCounts, RequestRow, WriteTransaction};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The number of a task's open gates that are searched for one about the same move.
const GATES_MAX: usize = 100;

/// The maximum length of a title or command in a question.
pub(crate) const TITLE_CHARS_MAX: usize = 60;

/// The name of the fact that lists the deciding rules.
pub(crate) const POLICY: &str = "policy";

const HOUR: i64 = 3_600_000_000;

/// An entry of the request log: a request that the policy judged, and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestLogEntry {
    /// The id; that of the gate, if one was opened for the request.
    pub id: String,
    pub at: Timestamp,
    pub request: PolicyRequest,
    /// The effect that the policy decided.
    pub effect: String,
    /// The rules that decided.
    pub rules: Vec<String>,
    /// The verdict of people, if there is one.
    pub verdict: Option<String>,
}

/// The stored form of an entry of the request log.
#[derive(Serialize, Deserialize)]
struct StoredRequest {
    request: PolicyRequest,
    #[serde(default)]
    rules: Vec<String>,
    policy: Option<Digest>,
}

/// The requests that a standing approval applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// Those of the same agent on the same task.
    Task,
    /// Those of the same agent.
    Agent,
    /// Those of every agent of the space.
    Space,
}

/// A standing approval: it approves the same request again until it expires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingApproval {
    /// The request in one line.
    pub request: String,
    /// The digest of the approved request, which must match exactly.
    pub digest: Digest,
    pub scope: ApprovalScope,
    /// The agent that asked.
    pub agent: String,
    /// The task of the request.
    pub task: Option<TaskId>,
    /// The person who approved.
    pub by: String,
    pub until: Timestamp,
}

/// A task move that needs an approval first.
pub(crate) struct PendingApproval {
    task: TaskId,
    handle: String,
    from: TaskStatus,
    to: TaskStatus,
    reason: String,
    ruling: Ruling,
}

impl PendingApproval {
    /// Opens a gate about the move in place of the batch that was aborted. Nothing of that batch has been written.
    pub(crate) fn open(
        self,
        desk: &LocalDesk,
        actor: &Actor,
        write: &mut WriteTransaction<'_>,
    ) -> sayso_store::Result<std::result::Result<(), Refusal>> {
        let mut batch = WriteBatch::begin(desk, actor, write)?;
        match self.gate(&mut batch) {
            Ok(gate) => {
                batch.commit()?;
                Ok(Err(is_held(&gate)))
            }
            Err(Error::Refused(refusal)) => Ok(Err(refusal)),
            Err(Error::Store(error)) => Err(error),
        }
    }

    fn held(&self) -> DeferredAction {
        DeferredAction::Move {
            task: self.task,
            handle: self.handle.clone(),
            from: self.from,
            to: self.to,
            reason: self.reason.clone(),
        }
    }

    /// Returns the gate about this move: the one that is open already, or a new one.
    fn gate(&self, batch: &mut WriteBatch<'_, '_>) -> Result<Gate> {
        if let Some(gate) = batch.gate_about_move(self.task, self.to)? {
            return Ok(gate);
        }
        let (handle, from, to) = (&self.handle, self.from, self.to);
        let title = batch.task(self.task)?.map(|task| task.title.clone()).unwrap_or_default();
        let short = shorten(&sanitize_line(&title), TITLE_CHARS_MAX);
        let mut facts = vec![fact("task", &title), fact("move", &format!("{from} -> {to}"))];
        facts.extend(reason_fact(&self.ruling));
        let card = Card {
            question: format!("May {handle} ({short}) move from {from} to {to}?"),
            narrative: self.reason.clone(),
            facts,
            shape: AnswerShape::Verdict,
        };
        let id = batch.desk.new_gate_id();
        let mut ask = NewGate::ruled(id, GateKind::Transition, Some(self.task), card, &self.ruling);
        ask.held = Some(self.held());
        let gate = gates::open(batch, &ask)?;
        let subject = transition(self.from, self.to);
        let request = batch.request(subject, Some((self.task, Some(self.from))))?;
        let row = batch.row(&id.to_string(), &request, &self.ruling)?;
        batch.requests.push(row);
        Ok(gate)
    }
}

/// Returns the refusal that names the gate where the action is held.
pub(crate) fn is_held(gate: &Gate) -> Refusal {
    let who = gate.opened.approvers.in_words();
    let because = gate.card.facts.iter().find(|fact| fact.name == POLICY);
    let why = because.and_then(|fact| fact.value.as_str()).unwrap_or_default();
    let what = match &gate.opened.held {
        Some(DeferredAction::Move { handle, from, to, .. }) => {
            format!("task {handle} may move from {from} to {to}")
        }
        Some(DeferredAction::Lifecycle { action, agent }) => {
            format!("{action} of {agent} may happen")
        }
        Some(DeferredAction::Call { .. }) | None => "it may happen".into(),
    };
    let message = format!("{what} when {who} has approved gate {}. {why}", gate.handle());
    Refusal::new(Code::Held, message.trim_end())
        .hint(format!("go on with other work; you are told. See: sayso show {}", gate.handle()))
}

impl WriteBatch<'_, '_> {
    /// Returns the open gate about a move of a task.
    fn gate_about_move(&mut self, task: TaskId, wanted: TaskStatus) -> Result<Option<Gate>> {
        let filter = GateFilter { task: Some(task), limit: GATES_MAX, ..GateFilter::default() };
        let asked = self.write.gates(self.space, &filter)?.items;
        let is_it = |gate: &Gate| match &gate.opened.held {
            Some(DeferredAction::Move { to, .. }) => gate.is_open() && *to == wanted,
            Some(DeferredAction::Lifecycle { .. } | DeferredAction::Call { .. }) | None => false,
        };
        Ok(asked.into_iter().find(is_it))
    }

    /// Replaces a refusal by the held one if the actor repeats a move that is under approval.
    pub(crate) fn or_held(
        &mut self,
        id: TaskId,
        command: &task::TaskCommand,
        refusal: Refusal,
    ) -> Result<Refusal> {
        let Some(to) = target(command).filter(|_| is_governed(self.actor)) else {
            return Ok(refusal);
        };
        let gate = self.gate_about_move(id, to)?;
        let own = gate.filter(|gate| gate.opened.lineage.asker == self.actor.name);
        Ok(own.map_or(refusal, |gate| is_held(&gate)))
    }

    /// Rules on a task move of an actor who is not a person. A move by a person at their own terminal needs no
    /// approval, and a move by the worker was ruled on before.
    pub(crate) fn rule_on_move(
        &mut self,
        id: TaskId,
        command: &task::TaskCommand,
        from: TaskStatus,
        to: TaskStatus,
    ) -> Result<()> {
        if target(command).is_none() || self.is_approved || !is_governed(self.actor) {
            return Ok(());
        }
        let request = self.request(transition(from, to), Some((id, Some(from))))?;
        let ruling = self.rule(&request)?;
        match ruling.effect {
            PolicyEffect::Allow => {
                let name = format!("{}/{from}/{to}/{}", self.at.as_micros(), id);
                let row = self.row(&name, &request, &ruling)?;
                self.requests.push(row);
                Ok(())
            }
            PolicyEffect::Deny => self.deny(&request, &ruling),
            PolicyEffect::Ask => {
                let handle = self.task(id)?.map(|task| task.handle.clone()).unwrap_or_default();
                let reason = reason_of(command).to_owned();
                self.hold = Some(PendingApproval { task: id, handle, from, to, reason, ruling });
                Err(Refusal::new(Code::Held, "a person is asked first").into())
            }
        }
    }

    /// Rules on work that an agent reports as complete: on the result, and on closing its task. The stricter effect
    /// applies, with the demands of both.
    pub(crate) fn rule_on_completion(
        &mut self,
        task: TaskId,
        confidence: Option<u8>,
    ) -> Result<Ruling> {
        let from = self.task(task)?.map_or(TaskStatus::InProgress, |task| task.status);
        let report = ReportedResult { outcome: "completed".into(), confidence };
        let mut ruled = vec![];
        for subject in [RequestedAction::Result(report), transition(from, TaskStatus::Closed)] {
            let request = self.request(subject, Some((task, Some(from))))?;
            ruled.push(self.rule(&request)?);
            let name = format!("{}/{}", self.at.as_micros(), self.desk.new_gate_id());
            let row = self.row(&name, &request, &ruled[ruled.len() - 1])?;
            self.requests.push(row);
        }
        Ok(strictest(ruled))
    }

    /// Returns the demands of a question, with those of the policy added: approvers, proof and deadline.
    pub(crate) fn rule_on_ask(&mut self, ask: &NewGate) -> Result<AskDemands> {
        let subject = RequestedAction::Ask(sayso_policy::AskedQuestion {
            kind: ask.kind,
            question: ask.card.question.clone(),
        });
        let request = self.request(subject, ask.task.map(|task| (task, None)))?;
        let mut ruling = self.rule(&request)?;
        if ruling.effect == PolicyEffect::Deny {
            return self.deny(&request, &ruling);
        }
        // If the question comes from a rule, the default for questions without a rule adds nothing.
        let is_said = !ask.is_ruled || ruling.because.iter().any(|b| b.rule.is_some());
        let mut demands = match ruling.demands.as_ref().filter(|_| is_said) {
            Some(demands) => merge_demands(&ask.demands, demands),
            None => ask.demands.clone(),
        };
        if let Some(closing) = self.rule_on_what_a_yes_does(ask)? {
            demands = merge_demands(&demands, &closing);
        }
        ruling.effect = PolicyEffect::Ask;
        let row = self.row(&ask.id.to_string(), &request, &ruling)?;
        self.requests.push(row);
        Ok(demands)
    }

    /// Rules on closing the task if the approval of a program's question would close it, and returns the demands of
    /// that: a program must not bypass the policy by asking the question itself.
    fn rule_on_what_a_yes_does(&mut self, ask: &NewGate) -> Result<Option<AskDemands>> {
        let closes = ask.kind.outcome(Verdict::Approved) == TaskOutcome::Done;
        let is_program = !self.actor.may(Permission::Answer);
        let Some(task) = ask.task.filter(|_| closes && is_program) else { return Ok(None) };
        let from = self.task(task)?.map_or(TaskStatus::Open, |task| task.status);
        let request = self.request(transition(from, TaskStatus::Closed), Some((task, None)))?;
        let ruling = self.rule(&request)?;
        match ruling.effect {
            PolicyEffect::Allow => Ok(None),
            PolicyEffect::Ask => Ok(ruling.demands),
            PolicyEffect::Deny => self.deny(&request, &ruling),
        }
    }

    /// Checks that an agent may make an edit. It may not change fields that rules match on, such as labels and
    /// priority, since it could escape a rule that way. And a task stays unchanged while a person is asked about it.
    pub(crate) fn check_may_edit(&mut self, id: TaskId, edit: &TaskEdit) -> Result<()> {
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
        // For every kind of question the card shows the task, and the approval is of what the person saw.
        let waits = self.task(id)?.is_some_and(|task| !task.waits_for.is_empty());
        if waits {
            let message = format!("task {handle} stays as it is while a person is asked about it");
            return Err(Refusal::new(Code::WrongState, message)
                .hint("write a note, wait for the answer, or take the question back first: sayso withdraw")
                .into());
        }
        Ok(())
    }

    /// True if the policy now denies the request that a gate was opened for: a later denial overrides the approval.
    pub(crate) fn is_denied_by_now(&mut self, gate: &Gate) -> Result<bool> {
        let request = self.write.request(&gate.opened.id.to_string())?.and_then(recorded);
        let ruling = request.map(|row| self.rule(&row.request)).transpose()?;
        Ok(ruling.is_some_and(|ruling| ruling.effect == PolicyEffect::Deny))
    }

    /// Returns the ruling on a request. A standing approval replaces the effect `Ask`, never `Deny`.
    pub(crate) fn rule(&mut self, request: &PolicyRequest) -> Result<Ruling> {
        let rules = self.desk.rules(self.write)?;
        let mut ruling = rules.policies.ruling(request);
        let is_askable = ruling.demands.as_ref().is_some_and(may_be_remembered);
        let Actor { name, task, .. } = self.actor;
        if is_askable && let Some(remembered) = remembered(&rules, request, name, *task, self.at) {
            ruling.effect = PolicyEffect::Allow;
            ruling.demands = None;
            for because in &mut ruling.because {
                because.note = Some(format!("{} approved the same before", remembered.by));
            }
        }
        Ok(ruling)
    }

    pub(crate) fn deny<T>(&mut self, request: &PolicyRequest, ruling: &Ruling) -> Result<T> {
        let name = format!("{}/{}", self.at.as_micros(), self.desk.new_gate_id());
        self.denied = Some(self.row(&name, request, ruling)?);
        let (what, why) = (request.in_words(), ruling.reason());
        let message = format!("the policy does not allow: {what}. {why}");
        Err(Refusal::new(Code::Denied, message.trim_end())
            .hint("see why with: sayso policy explain")
            .into())
    }

    /// Builds a request for the policy, with every value that rules can match on.
    pub(crate) fn request(
        &mut self,
        subject: RequestedAction,
        task: Option<(TaskId, Option<TaskStatus>)>,
    ) -> Result<PolicyRequest> {
        let (actor, at) = (self.actor, self.at);
        let rules = self.desk.rules(self.write)?;
        let mut agent = RequestingAgent {
            launcher: actor.launcher.clone(),
            ..RequestingAgent::named(&actor.name)
        };
        let mut about = None;
        if let Some((id, status)) = task
            && let Some(task) = self.task(id)?.cloned()
        {
            let parent = match task.parent {
                Some(parent) => self.task(parent)?.map(|parent| parent.labels.clone()),
                None => None,
            };
            agent.role = role_of(&task).into();
            about = Some(sayso_policy::RequestTask {
                handle: task.handle.clone(),
                labels: task.labels.iter().cloned().collect(),
                priority: task.priority,
                sort: task.sort.clone(),
                status: status.unwrap_or(task.status).as_str().into(),
                parent_labels: parent.into_iter().flatten().collect(),
            });
        }
        // Without a policy, time and history are not needed.
        let (time, history) = if rules.policies.is_empty() {
            (None, AgentHistory::default())
        } else {
            let past = history(self.write, self.space, &actor.name, at)?;
            (Some(rules.calendar().time(at)), past)
        };
        Ok(PolicyRequest { subject, agent, task: about, time, history })
    }

    pub(crate) fn row(
        &mut self,
        id: &str,
        request: &PolicyRequest,
        ruling: &Ruling,
    ) -> Result<RequestRow> {
        let policies = self.desk.rules(self.write)?.policies.clone();
        let record = StoredRequest {
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

impl SpaceSettings {
    /// Returns the calendar of the approver, if it is a single person who has one, or that of the space.
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

    /// Returns the calendar of the space.
    pub(crate) fn calendar(&self) -> Calendar {
        let set = self.of::<Calendar>(SettingKind::Calendar).into_iter().next();
        set.map(|(_, calendar)| calendar).unwrap_or_default()
    }
}

impl LocalDesk {
    /// Explains the ruling on a request, with the standing approval that would apply. Values that the request leaves
    /// out are filled in: the time of the space's calendar, and the agent's history.
    pub fn explain(
        &self,
        mut request: PolicyRequest,
    ) -> Result<(RulingExplanation, Option<StandingApproval>)> {
        let now = self.now();
        self.read(|read| {
            let rules = self.rules(read)?;
            request.time.get_or_insert_with(|| rules.calendar().time(now));
            if request.history == AgentHistory::default() {
                request.history = history(read, self.space, &request.agent.name, now)?;
            }
            let explained = rules.policies.explain(&request);
            let is_askable = explained.ruling.demands.as_ref().is_some_and(may_be_remembered);
            let covered = remembered(&rules, &request, &request.agent.name, None, now);
            // The policy is visible to the agents it governs; approvals of other agents are not.
            let is_known = |it: &StandingApproval| {
                self.limited_reader().is_none_or(|actor| it.agent == actor.name)
            };
            Ok((explained, covered.filter(|_| is_askable).filter(is_known)))
        })
    }

    /// Returns the request log since a moment, oldest first, a page at a time.
    pub fn requests(
        &self,
        actor: &Actor,
        since: Timestamp,
        after: Option<&RequestLogEntry>,
        limit: usize,
    ) -> Result<sayso_store::ListPage<RequestLogEntry>> {
        self.check(actor, Permission::Read, "read what others wanted to do")?;
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
        Ok(sayso_store::ListPage { items, more: page.more })
    }

    /// Rules on work that an agent reports as complete: on the result, and on closing its task. The stricter effect
    /// applies, with the demands of both.
    pub(crate) fn rule_on_completion(
        &self,
        agent: &Actor,
        run: &Run,
        confidence: Option<u8>,
    ) -> Result<Ruling> {
        let task = run.started.task;
        self.submit(agent, move |batch| batch.rule_on_completion(task, confidence))
    }

    /// Creates a standing approval from an approved gate: for exactly the request that was shown, until a time, and
    /// not for a high risk.
    pub fn remember(
        &self,
        actor: &Actor,
        gate: GateId,
        scope: ApprovalScope,
        until: Timestamp,
    ) -> Result<StandingApproval> {
        self.check_sees(actor, gate)?;
        self.submit(actor, move |batch| {
            batch.actor.check(Permission::Answer, "let a decision be remembered")?;
            let found = batch.gate(gate)?.cloned();
            let found = found.ok_or_else(|| crate::write_batch::not_found("gate", &gate))?;
            let (name, remembered) = to_remember(batch, &found, scope, until)?;
            let body = serde_json::to_string(&remembered)
                .map_err(|e| sayso_store::Error::Other(e.to_string()))?;
            batch.set(&[SettingChange {
                kind: SettingKind::Remembered,
                name,
                body: Some(body),
            }])?;
            Ok(remembered)
        })
    }

    /// Checks that a gate can lead to a standing approval.
    pub fn check_can_be_remembered(&self, gate: GateId) -> Result<()> {
        Ok(check_can_be_remembered(&self.gate(gate)?)?)
    }

    /// Returns the standing approvals that have not expired, by gate.
    pub fn remembered(&self) -> Result<Vec<(String, StandingApproval)>> {
        self.check_reader("read what was remembered")?;
        let rules = self.read(|read| self.rules(read))?;
        let all = rules.of::<StandingApproval>(SettingKind::Remembered).into_iter();
        let now = self.now();
        Ok(all.filter(|(_, r)| r.until > now).map(|(name, r)| (name.to_owned(), r)).collect())
    }

    /// Revokes a standing approval.
    pub fn forget(&self, actor: &Actor, name: &str) -> Result<()> {
        let name = name.to_owned();
        self.submit(actor, move |batch| {
            batch.actor.check(Permission::Govern, "let a decision be forgotten")?;
            let change =
                SettingChange { kind: SettingKind::Remembered, name: name.clone(), body: None };
            match batch.set(&[change])? {
                0 => Err(crate::write_batch::not_found("remembered decision", &name).into()),
                _ => Ok(()),
            }
        })
    }
}

fn strictest(ruled: Vec<Ruling>) -> Ruling {
    let effect = ruled.iter().map(|ruling| ruling.effect).max().unwrap_or(PolicyEffect::Ask);
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
    batch: &mut WriteBatch<'_, '_>,
    gate: &Gate,
    scope: ApprovalScope,
    until: Timestamp,
) -> Result<(String, StandingApproval)> {
    let refuse = |why: &str| -> Result<(String, StandingApproval)> {
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
    let remembered = StandingApproval {
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
    if !matches!(gate.opened.kind, GateKind::Tool | GateKind::Transition) {
        let why = "only calls of tools and moves of tasks are remembered";
        return Err(Refusal::new(Code::BadValue, why));
    }
    if gate.opened.risk > Risk::Medium {
        let why = format!("{} risk is asked each time", gate.opened.risk.as_str());
        return Err(Refusal::new(Code::BadValue, why));
    }
    Ok(())
}

fn may_be_remembered(demands: &AskDemands) -> bool {
    demands.risk <= Risk::Medium
}

/// Returns the counts of an agent's requests in the last hour and day.
fn history(
    read: &mut ReadTransaction<'_>,
    space: SpaceId,
    agent: &str,
    at: Timestamp,
) -> Result<AgentHistory> {
    let mut since = |hours: i64| -> Result<AnswerCounts> {
        let RequestCounts { asked, approved, denied } =
            read.tally(space, agent, at.plus_micros(-hours * HOUR))?;
        let few = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Ok(AnswerCounts { asked: few(asked), approved: few(approved), denied: few(denied) })
    };
    Ok(AgentHistory { hour: since(1)?, day: since(24)? })
}

/// Returns the standing approval that covers this request and has not expired.
fn remembered(
    rules: &SpaceSettings,
    request: &PolicyRequest,
    agent: &str,
    task: Option<TaskId>,
    at: Timestamp,
) -> Option<StandingApproval> {
    let digest = subject_digest(request);
    let all = rules.of::<StandingApproval>(SettingKind::Remembered).into_iter();
    let covers = |r: &StandingApproval| {
        let is_for = match r.scope {
            ApprovalScope::Space => true,
            ApprovalScope::Agent => r.agent == agent,
            ApprovalScope::Task => r.agent == agent && r.task.is_some() && r.task == task,
        };
        is_for && r.until > at && r.digest == digest
    };
    all.map(|(_, remembered)| remembered).find(covers)
}

/// Returns the digest of a request, apart from agent and time. A move applies to one task only.
fn subject_digest(request: &PolicyRequest) -> Digest {
    let bare = PolicyRequest::new(request.subject.clone(), RequestingAgent::default());
    let task = request.task.as_ref().map(|task| &task.handle);
    let task = task.filter(|_| matches!(request.subject, RequestedAction::Transition(_)));
    Digest::of(&json!({"request": bare, "task": task}))
}

fn recorded(row: RequestRow) -> Option<RequestLogEntry> {
    let StoredRequest { request, rules, .. } = serde_json::from_str(&row.body).ok()?;
    let RequestRow { id, at, ruling: effect, verdict, .. } = row;
    Some(RequestLogEntry { id, at, request, effect, rules, verdict })
}

/// True if the policy applies to an actor: to programs, but not to the worker, which asks for a ruling before it acts
/// for an agent.
pub(crate) fn is_governed(actor: &Actor) -> bool {
    actor.role != Role::Human && actor.door != EntryPoint::Worker
}

/// Returns the status that a command moves a task to, if it moves it.
fn target(command: &task::TaskCommand) -> Option<TaskStatus> {
    use task::TaskCommand;
    match command {
        TaskCommand::Start { .. } => Some(TaskStatus::InProgress),
        TaskCommand::Close { .. } => Some(TaskStatus::Closed),
        TaskCommand::Reopen { .. } => Some(TaskStatus::Open),
        TaskCommand::Defer { .. } => Some(TaskStatus::Deferred),
        TaskCommand::Fail { .. } => Some(TaskStatus::Failed),
        TaskCommand::Block { .. } => Some(TaskStatus::Blocked),
        TaskCommand::Delete { .. } => Some(TaskStatus::Deleted),
        TaskCommand::Create(_)
        | TaskCommand::Edit(_)
        | TaskCommand::AddDependency { .. }
        | TaskCommand::RemoveDependency { .. }
        | TaskCommand::Note { .. }
        | TaskCommand::Ask { .. }
        | TaskCommand::Settle { .. } => None,
    }
}

fn reason_of(command: &task::TaskCommand) -> &str {
    use task::TaskCommand;
    match command {
        TaskCommand::Close { reason, .. }
        | TaskCommand::Reopen { reason }
        | TaskCommand::Fail { reason }
        | TaskCommand::Block { reason }
        | TaskCommand::Delete { reason, .. } => reason,
        _ => "",
    }
}

fn transition(from: TaskStatus, to: TaskStatus) -> RequestedAction {
    RequestedAction::Transition(StatusTransition {
        from: from.as_str().into(),
        to: to.as_str().into(),
    })
}

/// Merges the demands of the asker with those of the policy. A value that the asker left out is that of the policy.
fn merge_demands(asked: &AskDemands, demanded: &AskDemands) -> AskDemands {
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

/// Returns the fact that lists the deciding rules, for the card.
pub(crate) fn reason_fact(ruling: &Ruling) -> Option<CardFact> {
    let places: Vec<_> = ruling.because.iter().map(|b| b.place()).collect();
    let reason = ruling.reason();
    (!places.is_empty()).then(|| fact(POLICY, format!("{}: {reason}", places.join(", ")).trim()))
}

pub(crate) fn fact(name: &str, value: &str) -> CardFact {
    CardFact { name: name.into(), value: value.into(), verified: true }
}

/// Returns the role of the agent on a task, from the task's label.
fn role_of(task: &Task) -> &str {
    task.labels.iter().find_map(|label| label.strip_prefix("role:")).unwrap_or_default()
}

/// Executes a held move after its approval. The state is checked again: if the task has moved in the meantime, that
/// is reported and nothing is moved. Held agent actions are queued by `lifecycle::approve`.
pub(crate) fn perform(
    batch: &mut WriteBatch<'_, '_>,
    gate: &Gate,
    was: Option<TaskStatus>,
) -> Result<()> {
    let Some(DeferredAction::Move { task, handle, from, to, reason }) = &gate.opened.held else {
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
            let now = was.map_or("gone", TaskStatus::as_str);
            (false, format!("task {handle} is {now} by now, not {from}: nothing was moved"))
        }
    };
    batch.on_gate(gate.opened.id, &GateCommand::RecordOutcome { done, what: what.clone() })?;
    messages::send(batch, &gate.opened.lineage.asker, &format!("Gate {}: {what}.", gate.handle()))
}
