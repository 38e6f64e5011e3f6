//! Wire types: what `--json` prints and what the API answers. Fields are only ever added.

mod agent;
mod away;
mod flow;
mod metrics;
mod passkey;
mod policy;
mod run;
mod short;

pub use agent::{Agent, AgentOutcome, AgentRunning, Order, outlook};
pub use away::{Away, Delegation};
pub use flow::{Flow, FlowDetail, FlowEvent, GateOf, events as flow_events};
pub use metrics::{Metrics, OfRule, Stretch, ToAnswer};
pub use passkey::Passkey;
pub use policy::{Because, Demands, Explained, InForce, Layer, Level, Looked};
pub use run::{Run, Spent, Tally};
pub(crate) use short::Short;

pub use crate::cards::*;

use crate::prose;

use sayso_core::audit::Entry;
use sayso_core::gate::{Delivery as CoreDelivery, Ending, Gate as CoreGate};
use sayso_core::message::Message as CoreMessage;
use sayso_core::run::Run as CoreRun;
use sayso_core::task::{Event, Note as CoreNote};
use sayso_core::{Content, Shape, Timestamp};
use sayso_engine::{History, ListedEntry, TaskRow, Token as CoreToken};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// One page of a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Hand this to `--after` for the next page; null on the last one.
    pub next: Option<String>,
}

/// Something that waits for a person, or waited.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Gate {
    /// The full id, a ULID.
    pub id: String,
    /// The short id people type.
    pub handle: String,
    /// work, approval, input, review, content, escalation, checkpoint, decision, tool, transition or lifecycle.
    pub kind: String,
    /// open, answered, expired, withdrawn or superseded.
    pub state: String,
    /// The question, in the asker's words.
    pub question: String,
    /// What the asker says about it.
    pub context: String,
    /// What was captured beside what the asker says.
    pub facts: Vec<Fact>,
    /// verdict, text, choice or form.
    pub form: String,
    /// What can be picked, for a choice.
    pub options: Vec<Choice>,
    /// Whether several may be picked.
    pub multi: bool,
    /// Whether words of one's own are an answer to a choice.
    pub other: bool,
    /// The JSON Schema of a form.
    pub schema: Option<Value>,
    /// The full id of the task that waits for it.
    pub task: Option<String>,
    /// The full id of the flow that asks, where one does.
    pub flow: Option<String>,
    /// Who asked.
    pub asked_by: String,
    /// agent, human, operator, admin, auditor or service.
    pub asked_by_role: String,
    /// Who launched the asker.
    pub launched_by: Option<String>,
    /// When it was asked.
    pub asked_at: String,
    /// Counts the versions of the card, from 1.
    pub revision: u32,
    /// Names the card; an answer binds to it.
    pub digest: String,
    /// Whose yes is needed, in words.
    pub approvers: String,
    /// The least proof an answer needs.
    pub least_proof: String,
    /// Whose no counts, though their yes does not.
    pub veto: Vec<String>,
    /// low, medium, high or critical.
    pub risk: String,
    /// When its time is over.
    pub deadline: Option<String>,
    /// What happens then: deny, fail, approve, escalate, defer or keep.
    pub at_end: String,
    /// The level it was escalated to; 0 is where it began.
    pub level: u32,
    /// Who is on it, if somebody said so.
    pub claimed_by: Option<String>,
    /// The version of the policy that had a say in it.
    pub policy: Option<String>,
    /// Hidden from the inbox until then.
    pub snoozed_until: Option<String>,
    /// Who has seen it.
    pub seen: Vec<Seen>,
    /// Who handed it to whom.
    pub delegations: Vec<Delegation>,
    /// The yeses so far, where several are needed.
    pub votes: Vec<Answer>,
    /// Whose yes is missing still, in words, where some have said theirs.
    pub needs: Option<String>,
    /// The answer.
    pub answer: Option<Answer>,
    /// When it ended, however it did.
    pub ended_at: Option<String>,
    /// Who withdrew it.
    pub withdrawn_by: Option<String>,
    /// Why it was withdrawn.
    pub withdrawn_because: Option<String>,
    /// By a person or by what the policy makes of silence: approved is a yes to a question that takes yes or no,
    /// answered a text, a choice or a form, rejected a no.
    pub verdict: Option<String>,
    /// What became of what was held behind it.
    pub acted: Option<Acted>,
    /// Where the ending is on its way to the asker.
    pub delivery: Delivery,
    /// The fields that a list has cut or left out, since they are long. They are whole at the gate itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<String>,
}

/// What became of what was held behind a gate.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Acted {
    /// Whether it was done.
    pub done: bool,
    /// What, or why not.
    pub what: String,
    /// When.
    pub at: String,
}

/// Something known about what is asked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// What was captured.
    pub value: Value,
    /// Whether the trusted side captured it.
    pub verified: bool,
}

/// An option.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Choice {
    /// What is picked.
    pub name: String,
    /// What it leads to.
    pub consequence: String,
    /// Whether picking it is a no: the asker said so, or it reads as one beside a yes.
    pub declines: bool,
}

/// That somebody saw a card.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Seen {
    /// Who.
    pub by: String,
    /// When.
    pub at: String,
    /// Which card.
    pub digest: String,
}

/// What a person said.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Answer {
    /// approved, answered or rejected.
    pub verdict: String,
    /// The answer as one text, as `ask --wait` prints it.
    pub text: String,
    /// The options picked.
    pub picked: Vec<String>,
    /// Words of one's own.
    pub other: Option<String>,
    /// The filled form.
    pub form: Option<Value>,
    /// The arguments a tool call shall run with instead.
    pub arguments: Option<Value>,
    /// Why.
    pub reason: Option<String>,
    /// Whether the agent is to stop here and now.
    pub interrupts: bool,
    /// Who said it.
    pub by: String,
    /// For whom they stood in, then.
    pub stands_for: Vec<String>,
    /// Who let them in after the gate was asked: with each of these they count as one person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub let_in_by: Vec<String>,
    /// How they showed to be themselves.
    pub proof: String,
    /// How well the place was guarded.
    pub level: String,
    /// The way in.
    pub door: String,
    /// When.
    pub at: String,
}

/// Where an ending is on its way to the asker.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Delivery {
    /// none, pending, delivered, acknowledged, failed, or never: its task ended before.
    pub state: String,
    /// Since when.
    pub at: Option<String>,
    /// How often it was tried, when it failed.
    pub attempts: Option<u32>,
    /// What went wrong, when it failed; what ended the task, when it was never delivered.
    pub why: Option<String>,
}

/// A unit of work.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Task {
    /// The full id, a ULID.
    pub id: String,
    /// The short id people type.
    pub handle: String,
    /// What is to be done, in a line.
    pub title: String,
    /// What is to be done, at length.
    pub description: String,
    /// What sort of work.
    #[serde(rename = "type")]
    pub sort: String,
    /// What people see: open, in_progress, closed, deferred, failed, blocked, awaiting_input or deleted.
    pub state: String,
    /// Where it stands apart from gates and dependencies.
    pub status: String,
    /// From 0, at once, to 4, some day.
    pub priority: u8,
    /// How big it is.
    pub size: Option<String>,
    /// Words to find it by.
    pub labels: Vec<String>,
    /// The full id of the epic it is part of.
    pub parent: Option<String>,
    /// The full ids of what must be closed before it.
    pub blocked_by: Vec<String>,
    /// How many of these are not closed yet.
    pub blockers: u64,
    /// How many of its children are not closed yet.
    pub open_children: u64,
    /// The handle of the flow that leads it, while that goes on.
    pub flow: Option<String>,
    /// The gate that opens when an agent says it is complete.
    pub requires: Option<String>,
    /// The kinds of the gates it waits for.
    pub awaiting: Vec<String>,
    /// The gates it waits for, where they were asked for.
    pub gates: Vec<Gate>,
    /// The verdict given last.
    pub verdict: Option<String>,
    /// Put off until then.
    pub deferred_until: Option<String>,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// When it was closed, failed or got stuck.
    pub closed_at: Option<String>,
    /// Who said so.
    pub closed_by: Option<String>,
    /// Why.
    pub closed_because: Option<String>,
    /// The fields that a list has cut or left out, since they are long. They are whole at the task itself; `gates` are
    /// in the list of gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<String>,
}

/// A task with its history.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TaskDetail {
    /// The task.
    #[serde(flatten)]
    pub task: Task,
    /// Every question ever asked on it, with its answer.
    pub questions: Vec<Gate>,
    /// Notes, oldest first.
    pub notes: Vec<Note>,
    /// Who handed it to whom, and when.
    pub history: Vec<Happening>,
    /// The turns agents took on it, newest first.
    pub runs: Vec<Run>,
}

/// A note on a task.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Note {
    /// When.
    pub at: String,
    /// Who wrote it.
    pub author: String,
    /// The part they played.
    pub role: String,
    /// What they wrote.
    pub text: String,
}

/// Something that happened to a task.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Happening {
    /// When.
    pub at: String,
    /// What, such as `task.asked`.
    pub what: String,
    /// Who.
    pub by: Option<String>,
    /// The gate it is about.
    pub gate: Option<String>,
    /// The kind of that gate.
    pub kind: Option<String>,
    /// How that gate ended.
    pub ending: Option<String>,
    /// The verdict.
    pub verdict: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// A text to an agent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Message {
    /// The full id, a ULID.
    pub id: String,
    /// The short id people type.
    pub handle: String,
    /// For which agent.
    pub to: String,
    /// From whom.
    pub from: String,
    /// The part they played.
    pub from_role: String,
    /// What they wrote.
    pub text: String,
    /// When it was sent.
    pub sent_at: String,
    /// When the agent had read it.
    pub read_at: Option<String>,
}

/// A credential.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Token {
    /// The short id people type.
    pub handle: String,
    /// The part its holder plays.
    pub role: String,
    /// Who holds it.
    pub name: String,
    /// The full id of the task it is bound to.
    pub task: Option<String>,
    /// Who made it.
    pub made_by: String,
    /// When it was made.
    pub created_at: String,
    /// When it ends by itself.
    pub expires_at: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
    /// What it is limited to, of what its role may do; none is all of that.
    pub scopes: Option<Vec<String>>,
    /// What its holder presents; only when it was just made.
    pub secret: Option<String>,
}

/// One entry of the audit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AuditEntry {
    /// Its place in the chain.
    pub seq: u64,
    /// When.
    pub at: String,
    /// Who.
    pub actor: String,
    /// The part they played.
    pub role: String,
    /// How they showed to be themselves.
    pub proof: String,
    /// How well the place was guarded.
    pub level: String,
    /// The way in.
    pub door: String,
    /// What they did.
    pub action: String,
    /// To what.
    pub object: String,
    /// done or refused.
    pub outcome: String,
    /// Why.
    pub reason: String,
    /// The digest of the card, for gates.
    pub digest: Option<String>,
    /// What was answered, or voted: in `audit list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What else happened with it, such as `gate.expired g7k2m`: in `audit list`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// What a verification of the audit saw. One that fails is an error instead.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Verified {
    /// True: what does not hold is an error.
    pub holds: bool,
    /// How many entries the chain has.
    pub entries: u64,
    /// How many events they cover; unknown for an export.
    pub events: Option<u64>,
    /// How many rows are what their events made them; unknown for an export.
    pub views: Option<u64>,
}

/// Writes a moment the way everybody reads it. The caller brings the calendar.
pub type Clock<'a> = &'a dyn Fn(Timestamp) -> String;

/// The name of a value as serde writes it, for enums that have one.
pub(crate) fn name<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        _ => String::new(),
    }
}

impl Gate {
    /// A gate for the wire.
    pub fn of(gate: &CoreGate, time: Clock<'_>) -> Self {
        let (opened, card) = (&gate.opened, &gate.card);
        let (form, options, multi, other, schema) = shape(&card.shape);
        let (withdrawn_by, withdrawn_because) = match &gate.ending {
            Some(Ending::Withdrawn { by, reason, .. }) => (Some(by.clone()), Some(reason.clone())),
            _ => (None, None),
        };
        Self {
            id: opened.id.to_string(),
            handle: opened.handle.clone(),
            kind: opened.kind.to_string(),
            state: gate.state().into(),
            question: card.question.clone(),
            context: card.narrative.clone(),
            facts: card.facts.iter().map(Fact::of).collect(),
            form,
            options,
            multi,
            other,
            schema,
            task: opened.task.map(|t| t.to_string()),
            flow: opened.flow.map(|flow| flow.to_string()),
            asked_by: opened.lineage.asker.clone(),
            asked_by_role: name(&opened.lineage.role),
            launched_by: opened.lineage.launcher.clone(),
            asked_at: time(gate.opened_at),
            revision: gate.revision,
            digest: gate.digest.to_string(),
            approvers: gate.approvers().map(|a| a.in_words()).collect::<Vec<_>>().join(", or "),
            least_proof: name(&opened.least_proof),
            veto: opened.veto.iter().cloned().collect(),
            risk: name(&opened.risk),
            deadline: gate.deadline().map(time),
            at_end: gate.at_end().as_str().into(),
            level: gate.escalation,
            claimed_by: gate.claim.as_ref().map(|claim| claim.by.clone()),
            policy: opened.policy.as_ref().map(ToString::to_string),
            snoozed_until: gate.snoozed_until.map(time),
            seen: gate.seen.iter().map(|s| Seen::of(s, time)).collect(),
            delegations: gate.delegations.iter().map(|d| Delegation::of(d, time)).collect(),
            votes: gate.votes.iter().map(|v| Answer::of(&v.answer, &v.by, time)).collect(),
            needs: (gate.is_open() && !gate.votes.is_empty()).then(|| prose::still_needed(gate)),
            answer: gate.answer().map(|(answer, by)| Answer::of(answer, by, time)),
            ended_at: gate.ended_at().map(time),
            withdrawn_by,
            withdrawn_because,
            verdict: gate.verdict().map(|verdict| verdict.to_string()),
            acted: gate.acted.as_ref().map(|acted| Acted {
                done: acted.done,
                what: acted.what.clone(),
                at: time(acted.at),
            }),
            delivery: Delivery::of(&gate.delivery, time),
            shortened: vec![],
        }
    }
}

fn shape(shape: &Shape) -> (String, Vec<Choice>, bool, bool, Option<Value>) {
    match shape {
        Shape::Verdict => ("verdict".into(), vec![], false, false, None),
        Shape::Text => ("text".into(), vec![], false, false, None),
        Shape::Choice { options, multi, other } => {
            let options = options
                .iter()
                .map(|o| Choice {
                    name: o.name.clone(),
                    consequence: o.consequence.clone(),
                    declines: shape.declines(&o.name),
                })
                .collect();
            ("choice".into(), options, *multi, *other, None)
        }
        Shape::Form { schema } => ("form".into(), vec![], false, false, Some(schema.clone())),
    }
}

impl Fact {
    fn of(fact: &sayso_core::gate::Fact) -> Self {
        Self { name: fact.name.clone(), value: fact.value.clone(), verified: fact.verified }
    }
}

impl Seen {
    fn of(seen: &sayso_core::gate::Seen, time: Clock<'_>) -> Self {
        Self { by: seen.by.clone(), at: time(seen.at), digest: seen.digest.to_string() }
    }
}

impl Answer {
    fn of(answer: &sayso_core::Answer, by: &sayso_core::gate::Signature, time: Clock<'_>) -> Self {
        let (mut picked, mut other, mut form, mut arguments) = (vec![], None, None, None);
        match &answer.content {
            Content::None | Content::Text(_) => {}
            Content::Choice { picked: names, other: words } => {
                (picked, other) = (names.clone(), words.clone());
            }
            Content::Form(value) => form = Some(value.clone()),
            Content::Arguments(value) => arguments = Some(value.clone()),
        }
        Self {
            verdict: answer.verdict.to_string(),
            text: answer.as_text(),
            picked,
            other,
            form,
            arguments,
            reason: answer.reason.clone(),
            interrupts: answer.interrupts,
            by: by.name.clone(),
            stands_for: by.stands_for.clone(),
            let_in_by: by.let_in_by.clone(),
            proof: name(&by.proof),
            level: name(&by.level),
            door: name(&by.door),
            at: time(by.at),
        }
    }
}

impl Delivery {
    fn of(delivery: &CoreDelivery, time: Clock<'_>) -> Self {
        let state = delivery.as_str().into();
        let (at, attempts, why) = match delivery {
            CoreDelivery::None => (None, None, None),
            CoreDelivery::Pending { since } => (Some(*since), None, None),
            CoreDelivery::Delivered { at } | CoreDelivery::Acknowledged { at } => {
                (Some(*at), None, None)
            }
            CoreDelivery::Failed { at, attempts, why } => {
                (Some(*at), Some(*attempts), Some(why.clone()))
            }
            CoreDelivery::Never { at, why } => (Some(*at), None, Some(why.clone())),
        };
        Self { state, at: at.map(time), attempts, why }
    }
}

impl Task {
    /// A task for the wire, with the gates it waits for.
    pub fn of(row: &TaskRow, gates: &[CoreGate], time: Clock<'_>) -> Self {
        let task = &row.task;
        let closure = task.closure.as_ref();
        Self {
            id: task.id.to_string(),
            handle: task.handle.clone(),
            title: task.title.clone(),
            description: task.body.clone(),
            sort: task.sort.clone(),
            state: task.shown_state(row.blockers > 0).into(),
            status: task.status.to_string(),
            priority: task.priority,
            size: task.size.clone(),
            labels: task.labels.iter().cloned().collect(),
            parent: task.parent.map(|p| p.to_string()),
            blocked_by: task.blocked_by.iter().map(ToString::to_string).collect(),
            blockers: row.blockers,
            open_children: row.open_children,
            flow: row.flow.clone(),
            requires: task.requires.map(|k| k.to_string()),
            awaiting: task.waits_for.values().map(ToString::to_string).collect(),
            gates: gates.iter().filter(|g| g.is_open()).map(|g| Gate::of(g, time)).collect(),
            verdict: task.verdict.map(|v| v.to_string()),
            deferred_until: task.deferred_until.map(time),
            created_by: task.created_by.clone(),
            created_at: time(task.created_at),
            updated_at: time(task.updated_at),
            closed_at: closure.map(|c| time(c.at)),
            closed_by: closure.map(|c| c.by.clone()),
            closed_because: closure.map(|c| c.reason.clone()),
            shortened: vec![],
        }
    }
}

impl TaskDetail {
    /// A task with everything that was asked, noted and decided on it.
    pub fn of(
        row: &TaskRow,
        gates: &[CoreGate],
        history: &History,
        runs: &[CoreRun],
        time: Clock<'_>,
    ) -> Self {
        Self {
            task: Task::of(row, gates, time),
            questions: gates.iter().map(|g| Gate::of(g, time)).collect(),
            notes: Note::all(history, time),
            history: Happening::all(history, time),
            runs: runs.iter().map(|run| Run::of(run, time)).collect(),
        }
    }
}

impl Note {
    /// The notes of a task.
    pub fn all(history: &History, time: Clock<'_>) -> Vec<Self> {
        let notes = history.iter().filter_map(|(at, event)| match event {
            Event::Noted(note) => Some((*at, note)),
            _ => None,
        });
        notes.map(|(at, note)| Self::of(at, note, time)).collect()
    }

    fn of(at: Timestamp, note: &CoreNote, time: Clock<'_>) -> Self {
        Self {
            at: time(at),
            author: note.author.clone(),
            role: name(&note.role),
            text: note.text.clone(),
        }
    }
}

impl Happening {
    /// What happened to a task, notes apart.
    pub fn all(history: &History, time: Clock<'_>) -> Vec<Self> {
        history.iter().filter_map(|(at, event)| Self::of(*at, event, time)).collect()
    }

    fn of(at: Timestamp, event: &Event, time: Clock<'_>) -> Option<Self> {
        let mut happening = Self {
            at: time(at),
            what: event.name().into(),
            by: None,
            gate: None,
            kind: None,
            ending: None,
            verdict: None,
            reason: None,
        };
        match event {
            Event::Noted(_) | Event::Unknown => return None,
            Event::Created(created) => happening.by = Some(created.created_by.clone()),
            Event::Edited(_)
            | Event::DependencyAdded { .. }
            | Event::DependencyRemoved { .. }
            | Event::Deferred { .. } => {}
            Event::Started { by, .. } => happening.by = Some(by.clone()),
            Event::Asked { handle, kind, by, .. } => {
                happening.by = Some(by.clone());
                happening.gate = Some(handle.clone());
                happening.kind = Some(kind.to_string());
            }
            Event::Settled { handle, kind, ending, verdict, by, .. } => {
                happening.by = Some(by.clone());
                happening.gate = Some(handle.clone());
                happening.kind = Some(kind.to_string());
                happening.ending = Some(ending.clone());
                happening.verdict = verdict.map(|v| v.to_string());
            }
            Event::Released { by, reason, .. }
            | Event::Closed { by, reason }
            | Event::Reopened { by, reason }
            | Event::Failed { by, reason }
            | Event::Blocked { by, reason }
            | Event::Deleted { by, reason } => {
                happening.by = Some(by.clone());
                happening.reason = Some(reason.clone()).filter(|r| !r.is_empty());
            }
        }
        Some(happening)
    }
}

impl Message {
    /// A message for the wire.
    pub fn of(message: &CoreMessage, time: Clock<'_>) -> Self {
        Self {
            id: message.id.to_string(),
            handle: message.handle.clone(),
            to: message.to.clone(),
            from: message.from.clone(),
            from_role: name(&message.from_role),
            text: message.text.clone(),
            sent_at: time(message.sent_at),
            read_at: message.read_at.map(time),
        }
    }
}

impl Token {
    /// A credential for the wire; the secret only where it was just made.
    pub fn of(token: &CoreToken, secret: Option<String>, time: Clock<'_>) -> Self {
        Self {
            handle: token.handle.clone(),
            role: token.role.as_str().into(),
            name: token.name.clone(),
            task: token.task.map(|t| t.to_string()),
            made_by: token.launcher.clone(),
            created_at: time(token.created_at),
            expires_at: token.expires_at.map(time),
            revoked_at: token.revoked_at.map(time),
            scopes: token.scopes.as_ref().map(|of| of.iter().map(|s| s.as_str().into()).collect()),
            secret,
        }
    }
}

impl AuditEntry {
    /// An entry for the wire.
    pub fn of(entry: &Entry, time: Clock<'_>) -> Self {
        Self {
            seq: entry.seq,
            at: time(entry.at),
            actor: entry.actor.clone(),
            role: name(&entry.role),
            proof: name(&entry.proof),
            level: name(&entry.level),
            door: name(&entry.door),
            action: entry.action.clone(),
            object: entry.object.clone(),
            outcome: name(&entry.outcome),
            reason: entry.reason.clone(),
            digest: entry.digest.as_ref().map(ToString::to_string),
            answer: None,
            also: vec![],
        }
    }

    /// An entry with what the log says of it.
    pub fn listed(listed: &ListedEntry, time: Clock<'_>) -> Self {
        let (answer, also) = (listed.answer.clone(), listed.also.clone());
        Self { answer, also, ..Self::of(&listed.entry, time) }
    }
}
