//! Workflows in YAML, for people who do not write Rust: a file is read into a [`Definition`], and what
//! a flow needs to know of it on its way are functions of the definition and a [`Scope`]. Nothing here
//! runs anything, asks anybody or waits.
//!
//! ```yaml
//! workflow: release               # its name
//! about: What it is for.
//! input:                          # what a flow is started with; without a default it must be given
//!   topic: {about: What to write about., default: cats}
//! agent: claude-code              # what holds for all phases that do not say otherwise
//! phases:
//!   - name: plan
//!     prompt: |                   # an agent works; or prompt_file: prompts/plan.md
//!       Plan {{ state.topic }}.
//!     check:                      # all must hold before the work counts
//!       - file: PLAN.md
//!       - passes: cargo test
//!       - fails: grep -rn TODO src
//!     retries: 2                  # how often it is told what failed
//!     writes: [PLAN.md, docs/**]  # only these may be changed
//!     set: {plan: output.text}    # what goes into the state
//!     ask:
//!       if: "!has(output.confidence) || output.confidence < 0.8"
//!       approval: Approve the plan?
//!       context: "{{ output.text }}"
//!     on_reject: plan             # where a no leads
//!   - name: publish
//!     run: ./publish.sh {{ state.topic }}
//! ```
//!
//! # What expressions see
//! | name | is | there in |
//! |---|---|---|
//! | `state` | what the flow was started with, and what was `set` since | all |
//! | `input` | what the flow was started with | all |
//! | `item` | the one of `each` that is worked on | `prompt`, `run` and `check` of a phase with `each` |
//! | `output` | what the step gave. Of an agent: `text`, `summary`, `confidence` (0 to 1, where it said), `json` (the last block of JSON in its message). Of a command: `text`, `code`, and `json` where it printed JSON. With `each`: `text`, and `items`, one output for each. `cut` says whether the beginning of `text` was left out | `ask`, `set` and `next` of a phase with a step |
//! | `asked` | whether a person was asked | `set` and `next` of a phase with `ask` |
//! | `approved` | whether a person said yes. Where nobody was asked, nobody did | as `asked` |
//! | `human` | what the person said: `verdict` (approved, answered, rejected), `value`, `values`, `text`, `form`, `reason`, `by`; null where nobody was asked | as `asked` |
//!
//! # What never happens
//! - A no goes nowhere by accident. It takes a branch of `next` that looks at `approved` or `human.verdict`,
//!   or one below a branch that takes every yes; otherwise it goes to `on_reject`, and without that it ends
//!   the flow as rejected. A last branch that both a yes and a no could fall into is a mistake.
//! - No answer is not an answer: it leads to `on_silence`, or the flow fails.
//! - What cannot be computed is an error. It is never true, false or empty.
//! - No value becomes a part of a command line: the shell that runs the line gets it as a variable. In a
//!   script that the line hands to another shell, as with `sh -c` or `eval`, a value is a mistake unless it is
//!   all of the script.
//! - A yes of an earlier round does not stand for one that was not given: what is `set` of an answer is set anew each
//!   time, also where nobody was asked or answered.
//! - A command that ends with another code than 0 has failed, unless a condition of the phase, in `next` or in
//!   `ask.if`, looks at `output.code`.

mod answers;
mod ask;
mod check;
mod definition;
mod flow;
mod load;
mod nested;
mod output;
mod person;
mod plan;
mod read;
mod scope;
mod sequence;
mod shell;
mod template;
mod unread;
mod walk;

pub use definition::{
    AnswerForm, Branch, Check, Definition, Input, Options, Phase, PhaseAsk, Setting, Target, To,
    Work,
};
pub use flow::{NewFileFlow, picture};
pub use load::Unread;
pub use output::{agent_output, command_output, gathered};
pub use person::Human;
pub use plan::{Command, Crew, Job, begin, step_id};
pub use sayso_policy::Mistake;
pub use scope::{Heard, Scope};
pub use sequence::{Sequence, SequenceError, SequenceFile};
pub use template::Template;
pub use walk::{Moment, Question, Way, Wrong};

/// The longest file, and the longest text of a prompt that stands in a file of its own.
pub const FILE_BYTES_MAX: usize = 256 * 1024;
/// The most phases of a workflow.
pub const PHASES_MAX: usize = 100;
/// The most items a phase goes through.
pub const ITEMS_MAX: usize = 1_000;
/// The most checks, patterns or branches of a phase, and the most inputs of a workflow.
pub const PARTS_MAX: usize = 50;
/// How often a step may be tried again.
pub const RETRIES_MAX: u32 = 20;
