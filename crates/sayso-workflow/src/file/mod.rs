//! Workflows in YAML, for people who do not write Rust: a file is parsed into a [`WorkflowDefinition`], and the executor
//! evaluates it with functions of the definition and a [`ExpressionScope`]. Nothing here runs a command, asks a person or
//! waits.
//!
//! ```yaml
//! workflow: release               # its name
//! about: What it is for.
//! input:                          # the inputs of a flow; without a default they are required
//!   topic: {about: What to write about., default: cats}
//! agent: claude-code              # the default for all phases
//! phases:
//!   - name: plan
//!     prompt: |                   # an agent works; or prompt_file: prompts/plan.md
//!       Plan {{ state.topic }}.
//!     check:                      # all must hold before the work counts
//!       - file: PLAN.md
//!       - passes: cargo test
//!       - fails: grep -rn TODO src
//!     retries: 2                  # how often the agent may fix a failed check
//!     writes: [PLAN.md, docs/**]  # only these may be changed
//!     set: {plan: output.text}    # values for the state
//!     ask:
//!       if: "!has(output.confidence) || output.confidence < 0.8"
//!       approval: Approve the plan?
//!       context: "{{ output.text }}"
//!     on_reject: plan             # the next phase after a no
//!   - name: publish
//!     run: ./publish.sh {{ state.topic }}
//! ```
//!
//! # Variables of expressions
//! | name | is | available in |
//! |---|---|---|
//! | `state` | the input of the flow, and the values that were `set` since | all |
//! | `input` | the input of the flow | all |
//! | `item` | the present item of `each` | `prompt`, `run` and `check` of a phase with `each` |
//! | `output` | the output of the step. Of an agent: `text`, `summary`, `confidence` (0 to 1, where it was stated), `json` (the last block of JSON in its message). Of a command: `text`, `code`, and `json` where it printed JSON. With `each`: `text`, and `items`, one output for each. `cut` is true if the beginning of `text` was left out | `ask`, `set` and `next` of a phase with a step |
//! | `asked` | true if a person was asked | `set` and `next` of a phase with `ask` |
//! | `approved` | true if a person said yes; false where no person was asked | as `asked` |
//! | `human` | the answer of the person: `verdict` (approved, answered, rejected), `value`, `values`, `text`, `form`, `reason`, `by`; null where no person was asked | as `asked` |
//!
//! # Guarantees
//! - A no never continues by accident. It takes a branch of `next` that looks at `approved` or `human.verdict`,
//!   or one below a branch that takes every yes; otherwise it goes to `on_reject`, and without that it ends
//!   the flow as rejected. A last branch that both a yes and a no could fall into is a mistake.
//! - No answer is not an answer: it leads to `on_silence`, or the flow fails.
//! - An expression that cannot be computed is an error. It is never true, false or empty.
//! - No value becomes a part of a command line: the shell that runs the line gets it as a variable. In a
//!   script that the line passes to another shell, as with `sh -c` or `eval`, a value is a mistake unless it is
//!   all of the script.
//! - An approval of an earlier round does not stand for a missing one: values that are `set` from an answer are set
//!   anew each time, also where no person was asked or answered.
//! - A command that ends with another code than 0 has failed, unless a condition of the phase, in `next` or in
//!   `ask.if`, looks at `output.code`.

mod answers;
mod ask;
mod check;
mod definition;
mod evaluate;
mod flow;
mod human_answer;
mod load;
mod nested;
mod output;
mod plan;
mod read;
mod scope;
mod sequence;
mod shell;
mod template;
mod yaml_errors;

pub use definition::{
    AnswerForm, BranchTarget, ChoiceOptions, PhaseAsk, PhaseBranch, PhaseCheck, PhaseDefinition,
    PhaseWork, QuestionRecipient, StateSetting, WorkflowDefinition, WorkflowInput,
};
pub use evaluate::{ExpressionError, PhaseExit, PhaseQuestion, SetTiming};
pub use flow::{NewFileFlow, flow_graph};
pub use human_answer::HumanAnswer;
pub use load::LoadError;
pub use output::{agent_output, command_output, gathered};
pub use plan::{CommandJob, StepExecutor, StepJob, begin, step_id};
pub use sayso_policy::FileDiagnostic;
pub use scope::{AnswerState, ExpressionScope};
pub use sequence::{SequenceError, SequenceFile, TaskSequence};
pub use template::TextTemplate;

/// The maximum size of a file, and of a prompt in a file of its own.
pub const FILE_BYTES_MAX: usize = 256 * 1024;
/// The maximum number of phases of a workflow.
pub const PHASES_MAX: usize = 100;
/// The maximum number of items of an `each`.
pub const ITEMS_MAX: usize = 1_000;
/// The maximum number of checks, patterns or branches of a phase, and of inputs of a workflow.
pub const PARTS_MAX: usize = 50;
/// The maximum number of retries of a step.
pub const RETRIES_MAX: u32 = 20;
