//! What policy says: rules in YAML, conditions in CEL, and the ruling they give. Pure: no I/O, no
//! clock, no chance. The only crate that knows CEL and the language of policies.
//!
//! ```
//! use sayso_policy::{Effect, Layer, Policies, Policy, Request};
//!
//! let text = "
//! rules:
//!   - name: pushes
//!     on: tool
//!     match: {tool: Bash, command: git push *}
//!     then: ask
//!     reason: Pushing is seen by others.
//! ";
//! let policy = Policy::parse(Layer::Space, "policy.yaml", text).unwrap();
//! let policies = Policies::new(vec![policy]);
//! let request: Request = serde_json::from_str(
//!     r#"{"on": "tool", "tool": "Bash", "command": "cd x && git -c a=b push"}"#,
//! )
//! .unwrap();
//! assert_eq!(policies.ruling(&request).effect, Effect::Ask);
//! ```
//!
//! # How a ruling comes about
//! - Each file is judged by itself. In it the strictest rule that fits decides: deny outweighs ask,
//!   ask outweighs allow, whatever their order. Where no rule fits, what the file says `otherwise`
//!   holds; that is allow, unless it says something else.
//! - The strictest word of all files counts, so a further layer can only tighten. Several asks are
//!   merged: everybody each of them needs, the highest proof and risk, the earliest deadline.
//! - A rule that allows fits only what it names, all of it, word for word. A rule that asks or
//!   denies fits whatever may be what it names. If that is not certain, a no becomes a question.
//! - A command line is read as a shell would read it. If it cannot be told what it runs, no rule
//!   allows it, and every rule about commands may be meant.
//! - A condition that fails when it is judged asks, and says so.
//! - Where a file has rules that ask or deny about tools, a tool that is not known asks, unless a rule allows it.
//!
//! # What conditions see
//! A variable that does not belong to the request is empty: `has(task.handle)` tells.
//!
//! | variable | on | fields |
//! |---|---|---|
//! | `agent` | all | `name`, `role`, `launcher`: texts, empty if unknown |
//! | `task` | where there is one | `handle`, `type`, `status`: texts; `priority`: 0 (at once) to 4; `labels`, `parent_labels`: lists of texts |
//! | `tool` | tool | `name`; `args`: the arguments, as they are; `command`: the line, or empty; `clear`: whether it can be told what it runs; `commands`: list of `{program, words, text}`; `paths`: named by the tool; `writes`: written by redirections |
//! | `transition` | transition | `from`, `to` |
//! | `lifecycle` | lifecycle | `action`: spawn, restart, stop; `target` |
//! | `result` | result | `outcome`; `confidence`: percent, missing if the agent did not say |
//! | `ask` | ask | `kind`, `question` |
//! | `time` | where it is given | `hour`, `minute`; `weekday`: monday to sunday; `date`; `zone` |
//! | `history` | all | `hour`, `day`: each with `asked`, `approved`, `denied`, counts of this agent |
//!
//! Functions: `size`, `contains`, `startsWith`, `endsWith`, `matches`, `int`, `uint`, `double`,
//! `string`, `bool`, `type`, `dyn`; macros: `has`, `all`, `exists`, `exists_one`, `map`, `filter`.
//!
//! # For other files that people write
//! [`yaml`] and [`mistake`] read any file with lines and fixes; a [`Formula`] is an expression over
//! values of the reader's own; [`Paths`] are patterns of paths.

mod check;
mod command;
mod demands;
mod expression;
mod formula;
mod glob;
mod judge;
mod matching;
pub mod mistake;
mod parse;
mod people;
mod policy;
mod preset;
mod replay;
mod request;
mod ruling;
mod shell;
mod smuggle;
mod suggest;
mod tools;
mod view;
pub mod yaml;

pub use check::{Known, mistakes};
pub use demands::{Demands, Effect, Escalation, Hours};
pub use formula::{Flaw, Formula, Values, Variable};
pub use glob::Paths;
pub use mistake::{Mistake, nearest};
pub use parse::milliseconds;
pub use policy::{FILE_BYTES_MAX, Layer, Policy, RULES_MAX, TESTS_MAX, Test, TestOutcome};
pub use preset::Preset;
pub use replay::{Change, Changed, Example, Recorded, Replay};
pub use request::{
    Agent, Ask, Counts, History, Lifecycle, On, Report, Request, Subject, Task, Time, ToolCall,
    Transition,
};
pub use ruling::{Because, Explanation, Looked, Policies, Ruling};
pub use sayso_core::{Action, AtEnd, Risk};
pub use smuggle::{Smuggled, SmuggledLine, lines_beyond, smuggling_lines};
pub use suggest::{Decided, Suggestion, suggest};
