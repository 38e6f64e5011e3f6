//! The policy engine: rules in YAML, conditions in CEL, and the decision (ruling) on a request. Pure: no
//! I/O, no clock, no randomness. The only crate that knows CEL and the policy language.
//!
//! ```
//! use sayso_policy::{Policy, PolicyEffect, PolicyLayer, PolicyRequest, PolicySet};
//!
//! let text = "
//! rules:
//!   - name: pushes
//!     on: tool
//!     match: {tool: Bash, command: git push *}
//!     then: ask
//!     reason: Pushing is seen by others.
//! ";
//! let policy = Policy::parse(PolicyLayer::Space, "policy.yaml", text).unwrap();
//! let policies = PolicySet::new(vec![policy]);
//! let request: PolicyRequest = serde_json::from_str(
//!     r#"{"on": "tool", "tool": "Bash", "command": "cd x && git -c a=b push"}"#,
//! )
//! .unwrap();
//! assert_eq!(policies.ruling(&request).effect, PolicyEffect::Ask);
//! ```
//!
//! # Evaluation of a request
//! - Each file is evaluated by itself. In it the strictest rule that matches decides: deny outweighs ask,
//!   ask outweighs allow, in any order. If no rule matches, the `otherwise` of the file decides; that is
//!   allow by default.
//! - The strictest decision of all files counts, so a further layer can only tighten. Several asks are
//!   merged: all approvers of each, the highest proof and risk, the earliest deadline.
//! - A rule that allows matches only a request that it names completely, word for word. A rule that asks or
//!   denies matches any request that may be meant. If that is not certain, a denial becomes a question.
//! - A command line is parsed as a shell would parse it. If the commands it runs cannot be determined, no
//!   rule allows it, and every rule about commands may be meant.
//! - A condition whose evaluation fails asks, with the error as its note.
//! - If a file has rules that ask about or deny tools, an unknown tool asks, unless a rule allows it.
//!
//! # Variables of conditions
//! A variable that does not belong to the request is empty, which `has(task.handle)` shows.
//!
//! | variable | on | fields |
//! |---|---|---|
//! | `agent` | all | `name`, `role`, `launcher`: texts, empty if unknown |
//! | `task` | if there is one | `handle`, `type`, `status`: texts; `priority`: 0 (at once) to 4; `labels`, `parent_labels`: lists of texts |
//! | `tool` | tool | `name`; `args`: the arguments, unchanged; `command`: the line, or empty; `clear`: true if the commands it runs are known; `commands`: list of `{program, words, text}`; `paths`: named by the tool; `writes`: written by redirections |
//! | `transition` | transition | `from`, `to` |
//! | `lifecycle` | lifecycle | `action`: spawn, restart, stop; `target` |
//! | `result` | result | `outcome`; `confidence`: percent, missing if the agent reported none |
//! | `ask` | ask | `kind`, `question` |
//! | `time` | if it is given | `hour`, `minute`; `weekday`: monday to sunday; `date`; `zone` |
//! | `history` | all | `hour`, `day`: each with `asked`, `approved`, `denied`, counts of this agent |
//!
//! Functions: `size`, `contains`, `startsWith`, `endsWith`, `matches`, `int`, `uint`, `double`,
//! `string`, `bool`, `type`, `dyn`; macros: `has`, `all`, `exists`, `exists_one`, `map`, `filter`.
//!
//! # For other hand-written files
//! [`yaml`] and [`diagnostic`] parse any file and report mistakes with lines and fixes; a [`CelFormula`] is an
//! expression over the caller's own variables; [`PathPatterns`] are path patterns.

mod approvers;
mod check;
mod command;
mod demands;
pub mod diagnostic;
mod evaluate;
mod expression;
mod formula;
mod glob;
mod matching;
mod parse;
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

pub use check::{KnownNames, mistakes};
pub use demands::{AskDemands, DeadlineHours, EscalationStep, PolicyEffect};
pub use diagnostic::{FileDiagnostic, nearest};
pub use formula::{CelFormula, FormulaDiagnostic, FormulaValues, FormulaVariable};
pub use glob::PathPatterns;
pub use parse::milliseconds;
pub use policy::{
    FILE_BYTES_MAX, Policy, PolicyLayer, PolicyTest, RULES_MAX, TESTS_MAX, TestOutcome,
};
pub use preset::PolicyPreset;
pub use replay::{ChangedRequests, RecordedRequest, ReplayExample, ReplayReport, RulingChange};
pub use request::{
    AgentHistory, AnswerCounts, AskedQuestion, LifecycleRequest, LocalTime, PolicyRequest,
    ReportedResult, RequestTask, RequestedAction, RequestingAgent, RuleSubject, StatusTransition,
    ToolCall,
};
pub use ruling::{CheckedRule, PolicySet, Ruling, RulingExplanation, RulingReason};
pub use sayso_core::{LifecycleAction, Risk, TimeoutAction};
pub use smuggle::{BypassLine, BypassReport, lines_beyond, smuggling_lines};
pub use suggest::{DecidedRequest, RuleSuggestion, suggest};
