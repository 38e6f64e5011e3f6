//! Wire types: the JSON that `--json` prints and the API answers with. Fields are only ever added.

mod absence;
mod agent;
mod flow;
mod metrics;
mod passkey;
mod policy;
mod run;
mod short_form;

pub use absence::{AbsenceJson, DelegationJson};
pub use agent::{AgentJson, AgentOutcome, AgentRunning, OrderJson, pending_action_text};
pub use flow::{FlowDetail, FlowEvent, FlowJson, GateFinder, events as flow_events};
pub use metrics::{MetricsIntervalJson, MetricsJson, ResponseTimesJson, RuleStatsJson};
pub use passkey::PasskeyJson;
pub use policy::{
    ActivePolicies, CheckedRuleJson, DemandsJson, EscalationStepJson, PolicyExplanation,
    PolicyLayerJson, RulingReasonJson,
};
pub use run::{RunCostJson, RunJson, WorkerTotalsJson};
pub(crate) use short_form::ShortForm;

pub use crate::cards::*;

use crate::text;

use sayso_core::audit::ChainEntry;
use sayso_core::gate::{DeliveryState as CoreDelivery, Gate as CoreGate, GateEnding};
use sayso_core::message::AgentMessage as CoreMessage;
use sayso_core::run::Run as CoreRun;
use sayso_core::task::{TaskEvent, TaskNote as CoreNote};
use sayso_core::{AnswerContent, AnswerShape, Timestamp};
use sayso_engine::{ListedEntry, TaskRow, TaskTimeline, TokenRow as CoreToken};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// One page of a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct PageJson<T> {
    /// The items on this page.
    pub items: Vec<T>,
    /// Hand this to `--after` for the next page; null on the last one.
    pub next: Option<String>,
}

/// A request that waits for a person, or waited.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Gate")]
pub struct GateJson {
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
    /// The asker's own text about it.
    pub context: String,
    /// The facts that were captured beside the asker's text.
    pub facts: Vec<FactJson>,
    /// verdict, text, choice or form.
    pub form: String,
    /// The options of a choice.
    pub options: Vec<ChoiceJson>,
    /// True if several may be picked.
    pub multi: bool,
    /// True if words of one's own are an answer to a choice.
    pub other: bool,
    /// The JSON Schema of a form.
    pub schema: Option<Value>,
    /// The full id of the task that waits for it.
    pub task: Option<String>,
    /// The full id of the flow that asks, where one does.
    pub flow: Option<String>,
    /// The name of the asker.
    pub asked_by: String,
    /// agent, human, operator, admin, auditor or service.
    pub asked_by_role: String,
    /// The actor who launched the asker.
    pub launched_by: Option<String>,
    /// The time at which it was asked.
    pub asked_at: String,
    /// The version of the card, counted from 1.
    pub revision: u32,
    /// Names the card; an answer binds to it.
    pub digest: String,
    /// The approvers whose yes is needed, in words.
    pub approvers: String,
    /// The least proof an answer needs.
    pub least_proof: String,
    /// The people whose no counts, though their yes does not.
    pub veto: Vec<String>,
    /// low, medium, high or critical.
    pub risk: String,
    /// The time at which it expires.
    pub deadline: Option<String>,
    /// The timeout action then: deny, fail, approve, escalate, defer or keep.
    pub at_end: String,
    /// The level it was escalated to; 0 is where it began.
    pub level: u32,
    /// The person who has claimed it, if there is one.
    pub claimed_by: Option<String>,
    /// The version of the policy that had a say in it.
    pub policy: Option<String>,
    /// Hidden from the inbox until then.
    pub snoozed_until: Option<String>,
    /// The people who have seen it.
    pub seen: Vec<SeenJson>,
    /// The delegations from one person to another.
    pub delegations: Vec<DelegationJson>,
    /// The yeses so far, where several are needed.
    pub votes: Vec<AnswerJson>,
    /// The approvers whose yes is still missing, in words, where some have said theirs.
    pub needs: Option<String>,
    /// The answer, if there is one.
    pub answer: Option<AnswerJson>,
    /// The time at which it ended, in any way.
    pub ended_at: Option<String>,
    /// The actor who withdrew it.
    pub withdrawn_by: Option<String>,
    /// The reason why it was withdrawn.
    pub withdrawn_because: Option<String>,
    /// The verdict of a person or of the timeout action: approved is a yes to a question that takes yes or no,
    /// answered a text, a choice or a form, rejected a no.
    pub verdict: Option<String>,
    /// The outcome of the action that was held behind it.
    pub acted: Option<HeldActionOutcome>,
    /// The delivery of the ending to the asker.
    pub delivery: DeliveryJson,
    /// The fields that a list has cut or left out, since they are long. They are whole at the gate itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<String>,
}

/// The outcome of the action that was held behind a gate.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Acted")]
pub struct HeldActionOutcome {
    /// True if it was done.
    pub done: bool,
    /// The action, or the reason why it was not done.
    pub what: String,
    /// The time of the action.
    pub at: String,
}

/// A fact about what is asked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Fact")]
pub struct FactJson {
    /// The name of the fact.
    pub name: String,
    /// The value of the fact.
    pub value: Value,
    /// True if the trusted side captured it.
    pub verified: bool,
}

/// An option of a choice.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Choice")]
pub struct ChoiceJson {
    /// The name of the option.
    pub name: String,
    /// The consequence of picking it.
    pub consequence: String,
    /// True if picking it is a no: the asker said so, or it reads as one beside a yes.
    pub declines: bool,
}

/// A record that a person saw a card.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Seen")]
pub struct SeenJson {
    /// The name of the person.
    pub by: String,
    /// The time of the action.
    pub at: String,
    /// The digest of the card.
    pub digest: String,
}

/// The answer of a person.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub struct AnswerJson {
    /// approved, answered or rejected.
    pub verdict: String,
    /// The answer as one text, as `ask --wait` prints it.
    pub text: String,
    /// The options that were picked.
    pub picked: Vec<String>,
    /// Words of one's own.
    pub other: Option<String>,
    /// The values of the form.
    pub form: Option<Value>,
    /// The arguments a tool call shall run with instead.
    pub arguments: Option<Value>,
    /// The reason for the event.
    pub reason: Option<String>,
    /// True if the agent is to stop here and now.
    pub interrupts: bool,
    /// The name of the person who answered.
    pub by: String,
    /// The people they stood in for, then.
    pub stands_for: Vec<String>,
    /// Who let them in after the gate was asked: with each of these they count as one person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub let_in_by: Vec<String>,
    /// The proof of who they are.
    pub proof: String,
    /// The assurance level: how well the place was guarded.
    pub level: String,
    /// The interface they used.
    pub door: String,
    /// The time of the action.
    pub at: String,
}

/// The delivery of an ending to the asker.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Delivery")]
pub struct DeliveryJson {
    /// none, pending, delivered, acknowledged, failed, or never: its task ended before.
    pub state: String,
    /// The time since which it has this state.
    pub at: Option<String>,
    /// The number of attempts, when it failed.
    pub attempts: Option<u32>,
    /// The error, when it failed; the reason why the task ended, when it was never delivered.
    pub why: Option<String>,
}

/// A unit of work.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Task")]
pub struct TaskJson {
    /// The full id, a ULID.
    pub id: String,
    /// The short id people type.
    pub handle: String,
    /// The work to be done, in a line.
    pub title: String,
    /// The work to be done, at length.
    pub description: String,
    /// The type of work.
    #[serde(rename = "type")]
    pub sort: String,
    /// The state that people see: open, in_progress, closed, deferred, failed, blocked, awaiting_input or deleted.
    pub state: String,
    /// The status apart from gates and dependencies.
    pub status: String,
    /// From 0, at once, to 4, some day.
    pub priority: u8,
    /// The size of the work.
    pub size: Option<String>,
    /// Words to find it by.
    pub labels: Vec<String>,
    /// The full id of the epic it is part of.
    pub parent: Option<String>,
    /// The full ids of the tasks that must be closed before it.
    pub blocked_by: Vec<String>,
    /// The number of these that are not closed yet.
    pub blockers: u64,
    /// The number of its children that are not closed yet.
    pub open_children: u64,
    /// The handle of the flow that leads it, until that ends.
    pub flow: Option<String>,
    /// The gate that opens when an agent says it is complete.
    pub requires: Option<String>,
    /// The kinds of the gates it waits for.
    pub awaiting: Vec<String>,
    /// The gates it waits for, where they were asked for.
    pub gates: Vec<GateJson>,
    /// The verdict given last.
    pub verdict: Option<String>,
    /// The time until which it is deferred.
    pub deferred_until: Option<String>,
    /// The actor who created it.
    pub created_by: String,
    /// The time at which it was created.
    pub created_at: String,
    /// The time of its last change.
    pub updated_at: String,
    /// The time at which it was closed, failed or got stuck.
    pub closed_at: Option<String>,
    /// The actor who closed it so.
    pub closed_by: Option<String>,
    /// The reason for closing it so.
    pub closed_because: Option<String>,
    /// The fields that a list has cut or left out, since they are long. They are whole at the task itself; `gates`
    /// are in the list of gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<String>,
}

/// A task with its history.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TaskDetail {
    /// The fields of the task.
    #[serde(flatten)]
    pub task: TaskJson,
    /// Every question ever asked on it, with its answer.
    pub questions: Vec<GateJson>,
    /// The notes on it, oldest first.
    pub notes: Vec<NoteJson>,
    /// The events of the task, notes apart.
    pub history: Vec<TaskEventJson>,
    /// The runs of agents on it, newest first.
    pub runs: Vec<RunJson>,
}

/// A note on a task.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Note")]
pub struct NoteJson {
    /// The time of the action.
    pub at: String,
    /// The name of the author.
    pub author: String,
    /// The role of the actor.
    pub role: String,
    /// The text of the message.
    pub text: String,
}

/// An event of a task.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Happening")]
pub struct TaskEventJson {
    /// The time of the action.
    pub at: String,
    /// The name of the event, such as `task.asked`.
    pub what: String,
    /// The actor of the event.
    pub by: Option<String>,
    /// The gate it is about.
    pub gate: Option<String>,
    /// The kind of that gate.
    pub kind: Option<String>,
    /// The ending of that gate.
    pub ending: Option<String>,
    /// The verdict on that gate.
    pub verdict: Option<String>,
    /// The reason for the event.
    pub reason: Option<String>,
}

/// A text to an agent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Message")]
pub struct MessageJson {
    /// The full id, a ULID.
    pub id: String,
    /// The short id people type.
    pub handle: String,
    /// The name of the agent.
    pub to: String,
    /// The name of the sender.
    pub from: String,
    /// The role of the sender.
    pub from_role: String,
    /// The text of the message.
    pub text: String,
    /// The time at which it was sent.
    pub sent_at: String,
    /// The time at which the agent had read it.
    pub read_at: Option<String>,
}

/// A credential of the space.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Token")]
pub struct TokenJson {
    /// The short id people type.
    pub handle: String,
    /// The role of its holder.
    pub role: String,
    /// The name of its holder.
    pub name: String,
    /// The full id of the task it is bound to.
    pub task: Option<String>,
    /// The actor who created it.
    pub made_by: String,
    /// The time at which it was created.
    pub created_at: String,
    /// The time at which it expires by itself.
    pub expires_at: Option<String>,
    /// The time at which it was revoked.
    pub revoked_at: Option<String>,
    /// The scopes it is limited to, of what its role may do; none is all of that.
    pub scopes: Option<Vec<String>>,
    /// The secret its holder presents; only when it was just made.
    pub secret: Option<String>,
}

/// One entry of the audit log.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AuditEntry {
    /// Its place in the chain.
    pub seq: u64,
    /// The time of the action.
    pub at: String,
    /// The name of the actor.
    pub actor: String,
    /// The role of the actor.
    pub role: String,
    /// The proof of who they are.
    pub proof: String,
    /// The assurance level: how well the place was guarded.
    pub level: String,
    /// The interface they used.
    pub door: String,
    /// The name of the action.
    pub action: String,
    /// The object of the action.
    pub object: String,
    /// The outcome: done or refused.
    pub outcome: String,
    /// The reason for the action.
    pub reason: String,
    /// The digest of the card, for gates.
    pub digest: Option<String>,
    /// The content of the answer or the vote: in `audit list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Further events that happened with it, such as `gate.expired g7k2m`: in `audit list`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// The result of a verification of the audit log. One that fails is an error instead.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Verified")]
pub struct AuditVerification {
    /// True: what does not hold is an error.
    pub holds: bool,
    /// The number of entries in the chain.
    pub entries: u64,
    /// The number of events they cover; unknown for an export.
    pub events: Option<u64>,
    /// The number of rows that are what their events made them; unknown for an export.
    pub views: Option<u64>,
}

/// A function that formats a moment for people. The caller brings the calendar.
pub type TimeFormatter<'a> = &'a dyn Fn(Timestamp) -> String;

/// Returns the name of a value as serde writes it, for enums that have one.
pub(crate) fn serde_name<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        _ => String::new(),
    }
}

impl GateJson {
    /// Converts a gate to its wire form.
    pub fn of(gate: &CoreGate, time: TimeFormatter<'_>) -> Self {
        let (opened, card) = (&gate.opened, &gate.card);
        let (form, options, multi, other, schema) = shape(&card.shape);
        let (withdrawn_by, withdrawn_because) = match &gate.ending {
            Some(GateEnding::Withdrawn { by, reason, .. }) => {
                (Some(by.clone()), Some(reason.clone()))
            }
            _ => (None, None),
        };
        Self {
            id: opened.id.to_string(),
            handle: opened.handle.clone(),
            kind: opened.kind.to_string(),
            state: gate.state().into(),
            question: card.question.clone(),
            context: card.narrative.clone(),
            facts: card.facts.iter().map(FactJson::of).collect(),
            form,
            options,
            multi,
            other,
            schema,
            task: opened.task.map(|t| t.to_string()),
            flow: opened.flow.map(|flow| flow.to_string()),
            asked_by: opened.lineage.asker.clone(),
            asked_by_role: serde_name(&opened.lineage.role),
            launched_by: opened.lineage.launcher.clone(),
            asked_at: time(gate.opened_at),
            revision: gate.revision,
            digest: gate.digest.to_string(),
            approvers: gate.approvers().map(|a| a.in_words()).collect::<Vec<_>>().join(", or "),
            least_proof: serde_name(&opened.least_proof),
            veto: opened.veto.iter().cloned().collect(),
            risk: serde_name(&opened.risk),
            deadline: gate.deadline().map(time),
            at_end: gate.at_end().as_str().into(),
            level: gate.escalation,
            claimed_by: gate.claim.as_ref().map(|claim| claim.by.clone()),
            policy: opened.policy.as_ref().map(ToString::to_string),
            snoozed_until: gate.snoozed_until.map(time),
            seen: gate.seen.iter().map(|s| SeenJson::of(s, time)).collect(),
            delegations: gate.delegations.iter().map(|d| DelegationJson::of(d, time)).collect(),
            votes: gate.votes.iter().map(|v| AnswerJson::of(&v.answer, &v.by, time)).collect(),
            needs: (gate.is_open() && !gate.votes.is_empty()).then(|| text::still_needed(gate)),
            answer: gate.answer().map(|(answer, by)| AnswerJson::of(answer, by, time)),
            ended_at: gate.ended_at().map(time),
            withdrawn_by,
            withdrawn_because,
            verdict: gate.verdict().map(|verdict| verdict.to_string()),
            acted: gate.acted.as_ref().map(|acted| HeldActionOutcome {
                done: acted.done,
                what: acted.what.clone(),
                at: time(acted.at),
            }),
            delivery: DeliveryJson::of(&gate.delivery, time),
            shortened: vec![],
        }
    }
}

fn shape(shape: &AnswerShape) -> (String, Vec<ChoiceJson>, bool, bool, Option<Value>) {
    match shape {
        AnswerShape::Verdict => ("verdict".into(), vec![], false, false, None),
        AnswerShape::Text => ("text".into(), vec![], false, false, None),
        AnswerShape::Choice { options, multi, other } => {
            let options = options
                .iter()
                .map(|o| ChoiceJson {
                    name: o.name.clone(),
                    consequence: o.consequence.clone(),
                    declines: shape.declines(&o.name),
                })
                .collect();
            ("choice".into(), options, *multi, *other, None)
        }
        AnswerShape::Form { schema } => ("form".into(), vec![], false, false, Some(schema.clone())),
    }
}

impl FactJson {
    fn of(fact: &sayso_core::gate::CardFact) -> Self {
        Self { name: fact.name.clone(), value: fact.value.clone(), verified: fact.verified }
    }
}

impl SeenJson {
    fn of(seen: &sayso_core::gate::ViewRecord, time: TimeFormatter<'_>) -> Self {
        Self { by: seen.by.clone(), at: time(seen.at), digest: seen.digest.to_string() }
    }
}

impl AnswerJson {
    fn of(
        answer: &sayso_core::Answer,
        by: &sayso_core::gate::AnswerSignature,
        time: TimeFormatter<'_>,
    ) -> Self {
        let (mut picked, mut other, mut form, mut arguments) = (vec![], None, None, None);
        match &answer.content {
            AnswerContent::None | AnswerContent::Text(_) => {}
            AnswerContent::Choice { picked: names, other: words } => {
                (picked, other) = (names.clone(), words.clone());
            }
            AnswerContent::Form(value) => form = Some(value.clone()),
            AnswerContent::Arguments(value) => arguments = Some(value.clone()),
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
            proof: serde_name(&by.proof),
            level: serde_name(&by.level),
            door: serde_name(&by.door),
            at: time(by.at),
        }
    }
}

impl DeliveryJson {
    fn of(delivery: &CoreDelivery, time: TimeFormatter<'_>) -> Self {
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

impl TaskJson {
    /// Converts a task to its wire form, with the gates it waits for.
    pub fn of(row: &TaskRow, gates: &[CoreGate], time: TimeFormatter<'_>) -> Self {
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
            gates: gates.iter().filter(|g| g.is_open()).map(|g| GateJson::of(g, time)).collect(),
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
    /// Converts a task to its wire form, with its questions, notes, history and runs.
    pub fn of(
        row: &TaskRow,
        gates: &[CoreGate],
        history: &TaskTimeline,
        runs: &[CoreRun],
        time: TimeFormatter<'_>,
    ) -> Self {
        Self {
            task: TaskJson::of(row, gates, time),
            questions: gates.iter().map(|g| GateJson::of(g, time)).collect(),
            notes: NoteJson::all(history, time),
            history: TaskEventJson::all(history, time),
            runs: runs.iter().map(|run| RunJson::of(run, time)).collect(),
        }
    }
}

impl NoteJson {
    /// Returns the notes of a task.
    pub fn all(history: &TaskTimeline, time: TimeFormatter<'_>) -> Vec<Self> {
        let notes = history.iter().filter_map(|(at, event)| match event {
            TaskEvent::Noted(note) => Some((*at, note)),
            _ => None,
        });
        notes.map(|(at, note)| Self::of(at, note, time)).collect()
    }

    fn of(at: Timestamp, note: &CoreNote, time: TimeFormatter<'_>) -> Self {
        Self {
            at: time(at),
            author: note.author.clone(),
            role: serde_name(&note.role),
            text: note.text.clone(),
        }
    }
}

impl TaskEventJson {
    /// Returns the events of a task, notes apart.
    pub fn all(history: &TaskTimeline, time: TimeFormatter<'_>) -> Vec<Self> {
        history.iter().filter_map(|(at, event)| Self::of(*at, event, time)).collect()
    }

    fn of(at: Timestamp, event: &TaskEvent, time: TimeFormatter<'_>) -> Option<Self> {
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
            TaskEvent::Noted(_) | TaskEvent::Unknown => return None,
            TaskEvent::Created(created) => happening.by = Some(created.created_by.clone()),
            TaskEvent::Edited(_)
            | TaskEvent::DependencyAdded { .. }
            | TaskEvent::DependencyRemoved { .. }
            | TaskEvent::Deferred { .. } => {}
            TaskEvent::Started { by, .. } => happening.by = Some(by.clone()),
            TaskEvent::Asked { handle, kind, by, .. } => {
                happening.by = Some(by.clone());
                happening.gate = Some(handle.clone());
                happening.kind = Some(kind.to_string());
            }
            TaskEvent::Settled { handle, kind, ending, verdict, by, .. } => {
                happening.by = Some(by.clone());
                happening.gate = Some(handle.clone());
                happening.kind = Some(kind.to_string());
                happening.ending = Some(ending.clone());
                happening.verdict = verdict.map(|v| v.to_string());
            }
            TaskEvent::Released { by, reason, .. }
            | TaskEvent::Closed { by, reason }
            | TaskEvent::Reopened { by, reason }
            | TaskEvent::Failed { by, reason }
            | TaskEvent::Blocked { by, reason }
            | TaskEvent::Deleted { by, reason } => {
                happening.by = Some(by.clone());
                happening.reason = Some(reason.clone()).filter(|r| !r.is_empty());
            }
        }
        Some(happening)
    }
}

impl MessageJson {
    /// Converts a message to its wire form.
    pub fn of(message: &CoreMessage, time: TimeFormatter<'_>) -> Self {
        Self {
            id: message.id.to_string(),
            handle: message.handle.clone(),
            to: message.to.clone(),
            from: message.from.clone(),
            from_role: serde_name(&message.from_role),
            text: message.text.clone(),
            sent_at: time(message.sent_at),
            read_at: message.read_at.map(time),
        }
    }
}

impl TokenJson {
    /// Converts a credential to its wire form; with the secret only where it was just made.
    pub fn of(token: &CoreToken, secret: Option<String>, time: TimeFormatter<'_>) -> Self {
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
    /// Converts an entry to its wire form.
    pub fn of(entry: &ChainEntry, time: TimeFormatter<'_>) -> Self {
        Self {
            seq: entry.seq,
            at: time(entry.at),
            actor: entry.actor.clone(),
            role: serde_name(&entry.role),
            proof: serde_name(&entry.proof),
            level: serde_name(&entry.level),
            door: serde_name(&entry.door),
            action: entry.action.clone(),
            object: entry.object.clone(),
            outcome: serde_name(&entry.outcome),
            reason: entry.reason.clone(),
            digest: entry.digest.as_ref().map(ToString::to_string),
            answer: None,
            also: vec![],
        }
    }

    /// Converts an entry to its wire form, with its answer and the further events in the log.
    pub fn listed(listed: &ListedEntry, time: TimeFormatter<'_>) -> Self {
        let (answer, also) = (listed.answer.clone(), listed.also.clone());
        Self { answer, also, ..Self::of(&listed.entry, time) }
    }
}
