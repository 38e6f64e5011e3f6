//! Questions a live agent asks through a tool of its client: each becomes a gate, and the answers go back
//! as what the tool would have said.

use crate::batch::Batch;
use crate::calls::{self, CallRuling};
use crate::gates::{self, Ask};
use crate::{LocalDesk, Result};
use sayso_core::answer::Choice;
use sayso_core::gate::{Card, Command, Gate, Held};
use sayso_core::{Actor, Answer, Code, Content, Digest, GateId, Kind, Proof, Refusal, Shape};
use sayso_policy::{Demands, Effect, Subject, ToolCall};
use serde_json::json;

use serde::{Deserialize, Serialize};

/// The most questions of one call.
const QUESTIONS_MAX: usize = 20;

/// One of the questions of a call, as the agent worded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallQuestion {
    /// What is asked.
    pub question: String,
    /// What can be picked; nothing for a question that takes words alone.
    pub options: Vec<Choice>,
    /// Whether more than one may be picked.
    pub multi: bool,
}

/// What is to become of questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum QuestionsRuling {
    /// People have answered all of them: one text each, in their order. The answers are used up now.
    Answered(Vec<String>),
    /// They are not asked, or a person does not want to answer.
    Denied(CallRuling),
    /// This one waits for a person, maybe others, too.
    Held(Box<Gate>),
}

impl LocalDesk {
    /// Puts the questions of a call to people. The same call again is the same questions; once all are
    /// answered it is the answers, once.
    pub fn ask_for_call(
        &self,
        actor: &Actor,
        call: ToolCall,
        questions: Vec<CallQuestion>,
    ) -> Result<QuestionsRuling> {
        self.submit(actor, move |batch| {
            if questions.is_empty() || questions.len() > QUESTIONS_MAX {
                let message = format!("a call asks between 1 and {QUESTIONS_MAX} questions");
                return Err(Refusal::new(Code::BadValue, message).into());
            }
            let task = batch.actor.task.map(|task| (task, None));
            let request = batch.request(Subject::Tool(call.clone()), task)?;
            let ruling = batch.rule(&request)?;
            if ruling.effect == Effect::Deny {
                let denied = calls::deny(batch, &call, &request, &ruling)?;
                return Ok(QuestionsRuling::Denied(denied));
            }
            let demands = ruling.demands.unwrap_or_default();
            // People find them in the order in which they were asked.
            let mut ids: Vec<_> = questions.iter().map(|_| batch.desk.new_gate_id()).collect();
            ids.sort();
            let mut gates = vec![];
            for (at, (id, question)) in ids.into_iter().zip(&questions).enumerate() {
                gates.push(gate(batch, id, &call, at, question, &demands)?);
            }
            as_answered(batch, gates)
        })
    }
}

/// The gate of a question: the one that is there, or a new one.
fn gate(
    batch: &mut Batch<'_, '_>,
    id: GateId,
    call: &ToolCall,
    at: usize,
    question: &CallQuestion,
    demands: &Demands,
) -> Result<Gate> {
    let digest = Digest::of(&json!({"call": calls::digest(call), "question": at}));
    if let Some(gate) = calls::about(batch, Kind::Decision, &digest)? {
        return Ok(gate);
    }
    let CallQuestion { question, options, multi } = question.clone();
    let shape = match options.is_empty() {
        true => Shape::Text,
        false => Shape::Choice { options, multi, other: true },
    };
    let card = Card { question, narrative: String::new(), facts: vec![], shape };
    let mut ask = Ask::new(id, Kind::Decision, batch.actor.task, card);
    // The policy has its say on questions, and may have one on the tool that asks them.
    let said = batch.rule_on_ask(&ask)?;
    ask.demands = Demands { proof: Proof::Token, ..demands.clone() }.merge(&said);
    ask.is_ruled = true;
    ask.held = Some(Held::Call { digest, beside: None });
    gates::open(batch, &ask)
}

/// What people said, if they have said all of it. Nothing is used up before.
fn as_answered(batch: &mut Batch<'_, '_>, gates: Vec<Gate>) -> Result<QuestionsRuling> {
    if let Some(open) = gates.iter().find(|gate| gate.is_open()) {
        return Ok(QuestionsRuling::Held(Box::new(open.clone())));
    }
    for gate in &gates {
        batch.on_gate(gate.opened.id, &Command::Acknowledge)?;
        let what = "the answer was handed over".into();
        batch.on_gate(gate.opened.id, &Command::Act { done: true, what })?;
    }
    // That nobody said anything is no answer, whatever the policy makes of silence. An option that means no is one: the
    // agent asked which.
    let is_declined = |answer: &Answer| answer.verdict.is_no() && answer.content.is_empty();
    let is_no = |gate: &&Gate| gate.answer().is_none_or(|(answer, _)| is_declined(answer));
    Ok(match gates.iter().find(is_no) {
        Some(gate) => QuestionsRuling::Denied(calls::why_not(gate)),
        None => QuestionsRuling::Answered(gates.iter().map(in_words).collect()),
    })
}

fn in_words(gate: &Gate) -> String {
    let Some((answer, _)) = gate.answer() else { return String::new() };
    match &answer.content {
        Content::Choice { picked, other } => {
            picked.iter().chain(other).cloned().collect::<Vec<_>>().join(", ")
        }
        Content::None | Content::Text(_) | Content::Form(_) | Content::Arguments(_) => {
            answer.as_text()
        }
    }
}
