//! The question of a phase to a person, for workflows in Rust.

use crate::Mistake;
use sayso_core::approvers::Approvers;
use sayso_core::gate::{Card, Fact};
use sayso_core::{Choice, GateId, Kind, Risk, Shape, TaskId};
use sayso_engine::{Ask, Demands};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Human {
    pub(crate) prompt: String,
    pub(crate) context: String,
    pub(crate) shape: Shape,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) to: Option<Approvers>,
    pub(crate) risk: Option<Risk>,
    pub(crate) within: Option<Duration>,
}

impl Human {
    fn new(prompt: impl Into<String>, shape: Shape) -> Self {
        let (prompt, context, facts) = (prompt.into(), String::new(), vec![]);
        Self { prompt, context, shape, facts, to: None, risk: None, within: None }
    }

    /// Asks for a yes or a no.
    pub fn approval(prompt: impl Into<String>) -> Self {
        Self::new(prompt, Shape::Verdict)
    }

    /// Asks for one of the options.
    pub fn choice<S: Into<String>>(
        prompt: impl Into<String>,
        options: impl IntoIterator<Item = S>,
    ) -> Self {
        let options = options.into_iter().map(Choice::named).collect();
        Self::new(prompt, Shape::Choice { options, multi: false, other: false })
    }

    /// Asks for a free text.
    pub fn text(prompt: impl Into<String>) -> Self {
        Self::new(prompt, Shape::Text)
    }

    /// Asks to fill in a form, described by a JSON Schema.
    pub fn form(prompt: impl Into<String>, schema: Value) -> Self {
        Self::new(prompt, Shape::Form { schema })
    }

    /// Makes a question of this form, as a workflow file has it.
    pub(crate) fn of(prompt: impl Into<String>, shape: Shape) -> Self {
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
        if let Shape::Choice { options, .. } = &mut self.shape
            && let Some(found) = options.iter_mut().find(|choice| choice.name == option)
        {
            found.consequence = leads_to.into();
        }
        self
    }

    /// Marks an option as a no, equal to rejecting. Options that read as yes and no need not be marked.
    #[must_use]
    pub fn declines(mut self, option: &str) -> Self {
        if let Shape::Choice { options, .. } = &mut self.shape
            && let Some(found) = options.iter_mut().find(|choice| choice.name == option)
        {
            found.declines = true;
        }
        self
    }

    /// Allows free text beside the options.
    #[must_use]
    pub fn or_other(mut self) -> Self {
        if let Shape::Choice { other, .. } = &mut self.shape {
            *other = true;
        }
        self
    }

    /// Allows to pick more than one option.
    #[must_use]
    pub fn or_several(mut self) -> Self {
        if let Shape::Choice { multi, .. } = &mut self.shape {
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
    pub(crate) fn mistake(&self, phase: &str) -> Option<Mistake> {
        let Shape::Choice { options, .. } = &self.shape else { return None };
        if options.is_empty() {
            return Some(Mistake::NoOptions(phase.into()));
        }
        let mut names = BTreeSet::new();
        let same = options.iter().find(|choice| !names.insert(&choice.name))?;
        Some(Mistake::SameOption { phase: phase.into(), option: same.name.clone() })
    }

    /// Builds the gate of the question for the desk.
    pub(crate) fn ask(&self, id: GateId, task: Option<TaskId>) -> Ask {
        let kind = match self.shape {
            // The verdict is on the phase: it continues, or is done again.
            Shape::Verdict => Kind::Checkpoint,
            Shape::Text | Shape::Choice { .. } | Shape::Form { .. } => Kind::Decision,
        };
        let fact = |(name, value): &(String, String)| Fact {
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
        let ask = Ask::new(id, kind, task, card);
        let usual = ask.demands.clone();
        let deadline_ms = self.within.map(|t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX));
        let demands = Demands {
            approvers: self.to.clone().unwrap_or(usual.approvers),
            risk: self.risk.unwrap_or(usual.risk),
            deadline_ms: deadline_ms.or(usual.deadline_ms),
            ..usual
        };
        Ask { demands, ..ask }
    }
}

/// Returns the names of the options of a question.
pub fn options(shape: &Shape) -> Vec<String> {
    match shape {
        Shape::Choice { options, .. } => options.iter().map(|o| o.name.clone()).collect(),
        Shape::Verdict | Shape::Text | Shape::Form { .. } => vec![],
    }
}
