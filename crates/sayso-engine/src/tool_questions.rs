//! Questions that a live agent asks through a tool of its client: each becomes a gate, and the answers are returned
//! as the tool's output.

use crate::gates::{self, NewGate};
use crate::tool_calls::{self, CallRuling};
use crate::write_batch::WriteBatch;
use crate::{LocalDesk, Result};
use sayso_core::answer::ChoiceOption;
use sayso_core::gate::{Card, DeferredAction, Gate, GateCommand};
use sayso_core::{
    Actor, Answer, AnswerContent, AnswerShape, Code, Digest, GateId, GateKind, IdentityProof,
    Refusal,
};
use sayso_policy::{AskDemands, PolicyEffect, RequestedAction, ToolCall};
use serde_json::json;

use serde::{Deserialize, Serialize};

/// The maximum number of questions in a call.
const QUESTIONS_MAX: usize = 20;

/// One question of a call, in the agent's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallQuestion {
    pub question: String,
    /// The options; empty for a question that is answered with text only.
    pub options: Vec<ChoiceOption>,
    /// True if several options may be selected.
    pub multi: bool,
}

/// The outcome of the questions of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum QuestionsRuling {
    /// All were answered: one text each, in order. The answers are used up.
    Answered(Vec<String>),
    /// They were denied, or a person declined to answer.
    Denied(CallRuling),
    /// At least this gate is open.
    Held(Box<Gate>),
}

impl LocalDesk {
    /// Opens a gate for each question of a call. The same call again finds the same gates; once all are answered, the
    /// answers are returned once.
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
            let request = batch.request(RequestedAction::Tool(call.clone()), task)?;
            let ruling = batch.rule(&request)?;
            if ruling.effect == PolicyEffect::Deny {
                let denied = tool_calls::deny(batch, &call, &request, &ruling)?;
                return Ok(QuestionsRuling::Denied(denied));
            }
            let demands = ruling.demands.unwrap_or_default();
            // The ids are sorted, so that people see the questions in the order of the call.
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

/// Returns the gate of a question: the existing one, or a new one.
fn gate(
    batch: &mut WriteBatch<'_, '_>,
    id: GateId,
    call: &ToolCall,
    at: usize,
    question: &CallQuestion,
    demands: &AskDemands,
) -> Result<Gate> {
    let digest = Digest::of(&json!({"call": tool_calls::digest(call), "question": at}));
    if let Some(gate) = tool_calls::find_call_gate(batch, GateKind::Decision, &digest)? {
        return Ok(gate);
    }
    let CallQuestion { question, options, multi } = question.clone();
    let shape = if options.is_empty() {
        AnswerShape::Text
    } else {
        AnswerShape::Choice { options, multi, other: true }
    };
    let card = Card { question, narrative: String::new(), facts: vec![], shape };
    let mut ask = NewGate::new(id, GateKind::Decision, batch.actor.task, card);
    // The policy rules on questions, and possibly on the tool that asks them.
    let said = batch.rule_on_ask(&ask)?;
    ask.demands = AskDemands { proof: IdentityProof::Token, ..demands.clone() }.merge(&said);
    ask.is_ruled = true;
    ask.held = Some(DeferredAction::Call { digest, beside: None });
    gates::open(batch, &ask)
}

/// Returns the answers if all gates have ended. Until then, no answer is used up.
fn as_answered(batch: &mut WriteBatch<'_, '_>, gates: Vec<Gate>) -> Result<QuestionsRuling> {
    if let Some(open) = gates.iter().find(|gate| gate.is_open()) {
        return Ok(QuestionsRuling::Held(Box::new(open.clone())));
    }
    for gate in &gates {
        batch.on_gate(gate.opened.id, &GateCommand::Acknowledge)?;
        let what = "the answer was handed over".into();
        batch.on_gate(gate.opened.id, &GateCommand::RecordOutcome { done: true, what })?;
    }
    // A gate that ended without an answer has none, even if the policy approves on timeout. An option that means no
    // is an answer, since the agent offered it.
    let is_declined = |answer: &Answer| answer.verdict.is_no() && answer.content.is_empty();
    let is_no = |gate: &&Gate| gate.answer().is_none_or(|(answer, _)| is_declined(answer));
    Ok(match gates.iter().find(is_no) {
        Some(gate) => QuestionsRuling::Denied(tool_calls::why_not(gate)),
        None => QuestionsRuling::Answered(gates.iter().map(in_words).collect()),
    })
}

fn in_words(gate: &Gate) -> String {
    let Some((answer, _)) = gate.answer() else { return String::new() };
    match &answer.content {
        AnswerContent::Choice { picked, other } => {
            picked.iter().chain(other).cloned().collect::<Vec<_>>().join(", ")
        }
        AnswerContent::None
        | AnswerContent::Text(_)
        | AnswerContent::Form(_)
        | AnswerContent::Arguments(_) => answer.as_text(),
    }
}
