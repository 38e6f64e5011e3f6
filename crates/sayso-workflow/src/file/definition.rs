//! The definition of a workflow, as it was read. A value of [`WorkflowDefinition`] has no mistakes.

use super::template::TextTemplate;
use sayso_core::{Digest, Risk};
use sayso_policy::CelFormula;
use serde_json::Value;
use std::collections::BTreeMap;

/// The definition of a workflow file.
#[derive(Debug, Clone)]
pub struct WorkflowDefinition {
    /// The name of the phase.
    pub name: String,
    /// The description of the workflow.
    pub about: String,
    /// The inputs with which a flow is started.
    pub input: Vec<WorkflowInput>,
    /// Patterns of task files that it goes through, one flow after the other on one branch, for
    /// [`TaskSequence`](super::TaskSequence). Empty if it is for one task.
    pub sequence: Vec<String>,
    /// The phases; a flow begins with the first.
    pub phases: Vec<PhaseDefinition>,
    /// The text of the file.
    pub text: String,
    /// The prompts in files of their own, by the names that the workflow gives them.
    pub prompts: BTreeMap<String, String>,
}

impl WorkflowDefinition {
    /// Returns a phase by its name.
    pub fn phase(&self, name: &str) -> Option<&PhaseDefinition> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// Returns the phase with which a flow begins.
    pub fn first(&self) -> &PhaseDefinition {
        // A workflow without phases is not read.
        &self.phases[0]
    }

    /// Returns a digest of all of it, the prompts included: a flow continues with the texts it began with.
    pub fn digest(&self) -> Digest {
        let prompts = self.prompts.iter().flat_map(|(name, text)| [name.as_str(), text]);
        let parts: Vec<&str> = [self.text.as_str()].into_iter().chain(prompts).collect();
        let whole: String = parts.iter().map(|part| format!("{} {part}\n", part.len())).collect();
        Digest::of_bytes(whole.as_bytes())
    }
}

/// An input of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowInput {
    /// Its name in `input` and in the first `state`.
    pub name: String,
    /// The description of the input.
    pub about: String,
    /// The default value; without one the input is required.
    pub default: Option<Value>,
}

/// One phase: a step, a question, or both.
#[derive(Debug, Clone)]
pub struct PhaseDefinition {
    /// The name of the phase.
    pub name: String,
    /// The line on which it begins.
    pub line: u64,
    /// The line of its `each`.
    pub each_line: u64,
    /// The line of its `next`.
    pub next_line: u64,
    /// The line of its `on_reject`.
    pub reject_line: u64,
    /// The line of its `on_silence`.
    pub silence_line: u64,
    /// The work of its step.
    pub work: PhaseWork,
    /// The agent that does it, where one is named.
    pub agent: Option<String>,
    /// The role of the agent.
    pub role: Option<String>,
    /// The model that the agent uses.
    pub model: Option<String>,
    /// The checks that must hold before the work counts.
    pub checks: Vec<PhaseCheck>,
    /// The number of retries of the step.
    pub retries: u32,
    /// The only paths that may be changed; none if any may.
    pub writes: Option<Vec<String>>,
    /// The list over whose items the step is repeated.
    pub each: Option<CelFormula>,
    /// The values that it puts into the state.
    pub set: Vec<StateSetting>,
    /// The question to a person.
    pub ask: Option<PhaseAsk>,
    /// The branches to the next phase: the first that holds counts.
    pub next: Vec<PhaseBranch>,
    /// The target after a no, if `next` does not look at it.
    pub on_reject: Option<BranchTarget>,
    /// The target after a question that ended without an answer.
    pub on_silence: Option<BranchTarget>,
}

impl PhaseDefinition {
    /// True if its branches look at a no by themselves.
    pub fn checks_rejection(&self) -> bool {
        self.next.iter().any(PhaseBranch::checks_rejection)
    }

    /// Returns all targets that it may lead to.
    pub fn targets(&self) -> impl Iterator<Item = &BranchTarget> {
        let next = self.next.iter().map(|branch| &branch.to);
        next.chain(&self.on_reject).chain(&self.on_silence)
    }
}

/// A value that a phase puts into the state.
#[derive(Debug, Clone)]
pub struct StateSetting {
    /// Its name in the state.
    pub name: String,
    /// The expression of the value.
    pub formula: CelFormula,
    /// The line on which it is written.
    pub line: u64,
}

/// The work of a phase.
#[derive(Debug, Clone)]
pub enum PhaseWork {
    /// An agent works on a prompt.
    Agent {
        /// The prompt for the agent.
        prompt: TextTemplate,
    },
    /// A shell command runs.
    Run {
        /// The text of the command.
        command: TextTemplate,
        /// True if a condition of the phase looks at the exit code. If not, any code but 0 is a failure.
        any_code: bool,
    },
    /// The phase has no step: it only asks.
    Nothing,
}

/// A check that must hold before work counts.
#[derive(Debug, Clone)]
pub enum PhaseCheck {
    /// A file exists at this path.
    File(TextTemplate),
    /// A command exits with 0.
    Passes(TextTemplate),
    /// A command exits with another code than 0.
    Fails(TextTemplate),
}

/// The question of a phase to a person.
#[derive(Debug, Clone)]
pub struct PhaseAsk {
    /// The line on which it is written.
    pub line: u64,
    /// The condition; none means always.
    pub when: Option<CelFormula>,
    /// The line of the condition.
    pub when_line: u64,
    /// The line of the options.
    pub options_line: u64,
    /// The text of the question.
    pub question: TextTemplate,
    /// Further context for the person.
    pub context: Option<TextTemplate>,
    /// The form of the answer.
    pub form: AnswerForm,
    /// The people it is for; empty means anyone.
    pub to: Vec<QuestionRecipient>,
    /// The risk of a wrong answer.
    pub risk: Option<Risk>,
    /// The time until its deadline.
    pub deadline_ms: Option<u64>,
}

/// The form of an answer.
#[derive(Debug, Clone)]
pub enum AnswerForm {
    /// A yes or a no.
    Approval,
    /// One of some options, or several.
    Choice {
        /// The options to choose from.
        options: ChoiceOptions,
        /// True if several may be picked.
        multi: bool,
        /// True if free text is allowed, too.
        other: bool,
    },
    /// A text of any content.
    Text,
    /// A form with fields.
    Form {
        /// The JSON Schema of the form.
        schema: Value,
    },
}

/// The options of a choice.
#[derive(Debug, Clone)]
pub enum ChoiceOptions {
    /// Options that are written in the file.
    Written(Vec<WrittenOption>),
    /// Options that an expression computes: a list of texts, or of `{name, consequence, declines}`.
    Computed(CelFormula),
}

/// An option as it is written in a file.
#[derive(Debug, Clone)]
pub struct WrittenOption {
    /// The text that is picked.
    pub name: TextTemplate,
    /// The consequence of picking it.
    pub consequence: TextTemplate,
    /// True if picking it is a no.
    pub declines: bool,
}

/// A recipient of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionRecipient {
    /// A person by name.
    Person(String),
    /// Anyone of a group.
    Group(String),
}

impl QuestionRecipient {
    /// Returns the name of the person or group.
    pub fn name(&self) -> &str {
        match self {
            QuestionRecipient::Person(name) | QuestionRecipient::Group(name) => name,
        }
    }
}

/// A branch from a phase to a target.
#[derive(Debug, Clone)]
pub struct PhaseBranch {
    /// The condition; none means always.
    pub when: Option<CelFormula>,
    /// The target of the branch.
    pub to: BranchTarget,
    /// The line on which it is written.
    pub line: u64,
}

impl PhaseBranch {
    /// True if it looks at a no by itself.
    pub fn checks_rejection(&self) -> bool {
        let looks =
            |when: &CelFormula| when.names("approved") || when.names_field("human", "verdict");
        self.when.as_ref().is_some_and(looks)
    }
}

/// The target of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchTarget {
    /// Another phase by name.
    Phase(String),
    /// The flow is complete.
    End,
}
