//! A workflow as it was read. Whoever holds a [`Definition`] knows that it has no mistakes.

use super::template::Template;
use sayso_core::{Digest, Risk};
use sayso_policy::Formula;
use serde_json::Value;
use std::collections::BTreeMap;

/// A workflow.
#[derive(Debug, Clone)]
pub struct Definition {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// What a flow is started with.
    pub input: Vec<Input>,
    /// Task files it goes through, one flow after the other on one branch: patterns of paths, for
    /// [`Sequence`](super::Sequence). Empty if it is for one task.
    pub sequence: Vec<String>,
    /// Its phases; the first is where a flow begins.
    pub phases: Vec<Phase>,
    /// The text of the file.
    pub text: String,
    /// The texts of the prompts that stand in files of their own, by the names the workflow gives them.
    pub prompts: BTreeMap<String, String>,
}

impl Definition {
    /// A phase by its name.
    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// Where a flow begins.
    pub fn first(&self) -> &Phase {
        // A workflow without phases is not read.
        &self.phases[0]
    }

    /// Names all of it, the prompts included: a flow goes on with what it began with.
    pub fn digest(&self) -> Digest {
        let prompts = self.prompts.iter().flat_map(|(name, text)| [name.as_str(), text]);
        let parts: Vec<&str> = [self.text.as_str()].into_iter().chain(prompts).collect();
        let whole: String = parts.iter().map(|part| format!("{} {part}\n", part.len())).collect();
        Digest::of_bytes(whole.as_bytes())
    }
}

/// Something a flow is started with.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Its name in `input` and in the first `state`.
    pub name: String,
    /// What it is.
    pub about: String,
    /// What it is where nothing is given; without it, something must be given.
    pub default: Option<Value>,
}

/// One phase: a step, a question, or both.
#[derive(Debug, Clone)]
pub struct Phase {
    /// What it is called.
    pub name: String,
    /// The line it begins on.
    pub line: u64,
    /// Where its `each` is written.
    pub each_line: u64,
    /// Where its `next` is written.
    pub next_line: u64,
    /// Where its `on_reject` is written.
    pub reject_line: u64,
    /// Where its `on_silence` is written.
    pub silence_line: u64,
    /// What is done.
    pub work: Work,
    /// The agent that does it, where one is named.
    pub agent: Option<String>,
    /// What the agent is to be.
    pub role: Option<String>,
    /// The model the agent is to use.
    pub model: Option<String>,
    /// What must hold before it counts.
    pub checks: Vec<Check>,
    /// How often it may be tried again.
    pub retries: u32,
    /// The only paths that may be changed; none if any may.
    pub writes: Option<Vec<String>>,
    /// The list it is done for, one by one.
    pub each: Option<Formula>,
    /// What goes into the state.
    pub set: Vec<Setting>,
    /// What a person is asked.
    pub ask: Option<PhaseAsk>,
    /// Where it goes on: the first branch that holds counts.
    pub next: Vec<Branch>,
    /// Where a no leads, if `next` does not look at it.
    pub on_reject: Option<Target>,
    /// Where a question leads that ended without an answer.
    pub on_silence: Option<Target>,
}

impl Phase {
    /// Whether its branches look at a no by themselves.
    pub fn looks_at_a_no(&self) -> bool {
        self.next.iter().any(Branch::looks_at_a_no)
    }

    /// Everywhere it may lead.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let next = self.next.iter().map(|branch| &branch.to);
        next.chain(&self.on_reject).chain(&self.on_silence)
    }
}

/// Something that goes into the state.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Its name there.
    pub name: String,
    /// What it comes to.
    pub formula: Formula,
    /// Where it is written.
    pub line: u64,
}

/// What is done in a phase.
#[derive(Debug, Clone)]
pub enum Work {
    /// An agent works.
    Agent {
        /// What it is told.
        prompt: Template,
    },
    /// A command of the shell is run.
    Run {
        /// The command.
        command: Template,
        /// Whether a condition of the phase looks at the code it ends with. If not, any but 0 is a failure.
        any_code: bool,
    },
    /// Nothing: the phase only asks.
    Nothing,
}

/// What must hold before work counts.
#[derive(Debug, Clone)]
pub enum Check {
    /// A file is there.
    File(Template),
    /// A command ends with 0.
    Passes(Template),
    /// A command ends with something else.
    Fails(Template),
}

/// What a person is asked in a phase.
#[derive(Debug, Clone)]
pub struct PhaseAsk {
    /// Where it is written.
    pub line: u64,
    /// When; none is always.
    pub when: Option<Formula>,
    /// Where that is written.
    pub when_line: u64,
    /// Where its options are written.
    pub options_line: u64,
    /// The question.
    pub question: Template,
    /// What else the person should know.
    pub context: Option<Template>,
    /// What form the answer has.
    pub form: AnswerForm,
    /// Whom; empty is anyone.
    pub to: Vec<To>,
    /// How bad it would be to be wrong.
    pub risk: Option<Risk>,
    /// How long it may take.
    pub deadline_ms: Option<u64>,
}

/// The form of an answer.
#[derive(Debug, Clone)]
pub enum AnswerForm {
    /// Yes or no.
    Approval,
    /// One of some options, or several.
    Choice {
        /// Which.
        options: Options,
        /// Whether several may be picked.
        multi: bool,
        /// Whether words of one's own are welcome.
        other: bool,
    },
    /// A text.
    Text,
    /// A form.
    Form {
        /// Its JSON Schema.
        schema: Value,
    },
}

/// The options of a choice.
#[derive(Debug, Clone)]
pub enum Options {
    /// As the file has them.
    Written(Vec<WrittenOption>),
    /// As an expression gives them: a list of texts, or of `{name, consequence, declines}`.
    Computed(Formula),
}

/// An option as a file has it.
#[derive(Debug, Clone)]
pub struct WrittenOption {
    /// The text that is picked.
    pub name: Template,
    /// Where picking it leads to.
    pub consequence: Template,
    /// Whether picking it is a no.
    pub declines: bool,
}

/// Whom a question is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    /// A person.
    Person(String),
    /// Anyone of a group.
    Group(String),
}

impl To {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            To::Person(name) | To::Group(name) => name,
        }
    }
}

/// One way a phase goes on.
#[derive(Debug, Clone)]
pub struct Branch {
    /// When; none is always.
    pub when: Option<Formula>,
    /// Where to.
    pub to: Target,
    /// Where it is written.
    pub line: u64,
}

impl Branch {
    /// Whether it looks at a no by itself.
    pub fn looks_at_a_no(&self) -> bool {
        let looks = |when: &Formula| when.names("approved") || when.names_field("human", "verdict");
        self.when.as_ref().is_some_and(looks)
    }
}

/// Where a phase leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// To a phase.
    Phase(String),
    /// The flow is complete.
    End,
}
