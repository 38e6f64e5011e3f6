//! The question of a phase to a person, for workflows in Rust.

use crate::WorkflowDiagnostic;
use sayso_core::approvers::Approvers;
use sayso_core::gate::{Card, CardFact};
use sayso_core::{AnswerShape, ChoiceOption, GateId, GateKind, Risk, TaskId};
use sayso_engine::{AskDemands, NewGate};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct HumanQuestion {
    pub(crate) prompt: String,
    pub(crate) context: String,
    pub(crate) shape: AnswerShape,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) to: Option<Approvers>,
    pub(crate) risk: Option<Risk>,
    pub(crate) within: Option<Duration>,
}

impl HumanQuestion {
    fn new(prompt: impl Into<String>, shape: AnswerShape) -> Self {
        let (prompt, context, facts) = (prompt.into(), String::new(), vec![]);
        Self { prompt, context, shape, facts, to: None, risk: None, within: None }
    }

    /// Asks for a yes or a no.
    pub fn approval(prompt: impl Into<String>) -> Self {
        Self::new(prompt, AnswerShape::Verdict)
    }

    /// Asks for one of the options.
    pub fn choice<S: Into<String>>(
        prompt: impl Into<String>,
        options: impl IntoIterator<Item = S>,
    ) -> Self {
        let options = options.into_iter().map(ChoiceOption::named).collect();
        Self::new(prompt, AnswerShape::Choice { options, multi: false, other: false })
    }

    /// Asks for a free text.
    pub fn text(prompt: impl Into<String>) -> Self {
        Self::new(prompt, AnswerShape::Text)
    }

    /// Asks to fill in a form, described by a JSON Schema.
    pub fn form(prompt: impl Into<String>, schema: Value) -> Self {
        Self::new(prompt, AnswerShape::Form { schema })
    }

    /// Makes a question of this form, as a workflow file has it.
    pub(crate) fn of(prompt: impl Into<String>, shape: AnswerShape) -> Self {
        Self::new(prompt, shape)
    }

    /// Sets further context for the person, in the program's words.
    #[must_use]
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = context.into();
        self
    }

    /// Adds a fact that the program itself has seen, shown apart from claims of agents.
    #[must_use]
    pub fn fact(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push((name.into(), value.into()));
        self
    }

    /// Sets the consequence of picking an option.
    #[must_use]
    pub fn consequence(mut self, option: &str, leads_to: impl Into<String>) -> Self {
        if let AnswerShape::Choice { options, .. } = &mut self.shape
            && let Some(found) = options.iter_mut().find(|choice| choice.name == option)
        {
            found.consequence = leads_to.into();
        }
        self
    }

    /// Marks an option as a no, equal to rejecting. Options that read as yes and no need not be marked.
    #[must_use]
    pub fn declines(mut self, option: &str) -> Self {
        if let AnswerShape::Choice { options, .. } = &mut self.shape
            && let Some(found) = options.iter_mut().find(|choice| choice.name == option)
        {
            found.declines = true;
        }
        self
    }

    /// Allows free text beside the options.
    #[must_use]
    pub fn or_other(mut self) -> Self {
        if let AnswerShape::Choice { other, .. } = &mut self.shape {
            *other = true;
        }
        self
    }

    /// Allows to pick more than one option.
    #[must_use]
    pub fn or_several(mut self) -> Self {
        if let AnswerShape::Choice { multi, .. } = &mut self.shape {
            *multi = true;
        }
        self
    }

    /// Sets the required approvers. The inbox enforces them; a handler of the program's own is only told.
    #[must_use]
    pub fn to(mut self, approvers: Approvers) -> Self {
        self.to = Some(approvers);
        self
    }

    /// Sets the risk of a wrong answer.
    #[must_use]
    pub fn risk(mut self, risk: Risk) -> Self {
        self.risk = Some(risk);
        self
    }

    /// Sets the time until the deadline, at which the question ends without an answer. The inbox enforces it; a
    /// handler of the program's own is only told.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// Returns the mistake in the question, if there is one.
    pub(crate) fn mistake(&self, phase: &str) -> Option<WorkflowDiagnostic> {
        let AnswerShape::Choice { options, .. } = &self.shape else { return None };
        if options.is_empty() {
            return Some(WorkflowDiagnostic::NoOptions(phase.into()));
        }
        let mut names = BTreeSet::new();
        let same = options.iter().find(|choice| !names.insert(&choice.name))?;
        Some(WorkflowDiagnostic::SameOption { phase: phase.into(), option: same.name.clone() })
    }

    /// Builds the gate of the question for the desk.
    pub(crate) fn ask(&self, id: GateId, task: Option<TaskId>) -> NewGate {
        let kind = match self.shape {
            // The verdict is on the phase: it continues, or is done again.
            AnswerShape::Verdict => GateKind::Checkpoint,
            AnswerShape::Text | AnswerShape::Choice { .. } | AnswerShape::Form { .. } => {
                GateKind::Decision
            }
        };
        let fact = |(name, value): &(String, String)| CardFact {
            name: name.clone(),
            value: value.clone().into(),
            verified: true,
        };
        let card = Card {
            question: self.prompt.clone(),
            narrative: self.context.clone(),
            facts: self.facts.iter().map(fact).collect(),
            shape: self.shape.clone(),
        };
        let ask = NewGate::new(id, kind, task, card);
        let usual = ask.demands.clone();
        let deadline_ms = self.within.map(|t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX));
        let demands = AskDemands {
            approvers: self.to.clone().unwrap_or(usual.approvers),
            risk: self.risk.unwrap_or(usual.risk),
            deadline_ms: deadline_ms.or(usual.deadline_ms),
            ..usual
        };
        NewGate { demands, ..ask }
    }
}

/// Returns the names of the options of a question.
pub fn options(shape: &AnswerShape) -> Vec<String> {
    match shape {
        AnswerShape::Choice { options, .. } => options.iter().map(|o| o.name.clone()).collect(),
        AnswerShape::Verdict | AnswerShape::Text | AnswerShape::Form { .. } => vec![],
    }
}
