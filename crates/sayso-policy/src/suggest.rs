//! Suggested rules: requests that people always approved need not be asked.
//!
//! A suggestion is narrow. It names exactly the approved requests, or a subcommand if many forms of it were
//! approved; one denial prevents it. Only a person can adopt it.

use crate::request::{PolicyRequest, ReportedResult, RequestedAction, ToolCall};
use crate::shell::{CommandLine, SimpleCommand, WordShape};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Programs whose first word is a subcommand.
const WITH_SUBCOMMANDS: &[&str] = &[
    "cargo",
    "docker",
    "gh",
    "git",
    "go",
    "just",
    "kubectl",
    "make",
    "mvn",
    "npm",
    "pip",
    "pnpm",
    "podman",
    "poetry",
    "terraform",
    "uv",
    "yarn",
];

/// The most examples of a suggestion.
const EXAMPLES_MAX: usize = 5;

/// A request that a person decided.
#[derive(Debug, Clone)]
pub struct DecidedRequest {
    pub request: PolicyRequest,
    pub approved: bool,
    /// The person who decided.
    pub by: String,
    /// The rule because of which they were asked; none for the `otherwise` of a file.
    pub asked_by: Option<String>,
}

/// A suggested rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleSuggestion {
    /// The rule as YAML.
    pub rule: String,
    /// The rule that gets it as its `unless`; none if it is a rule of its own.
    pub exception_of: Option<String>,
    /// The number of approvals. It was never denied.
    pub approved: usize,
    /// The people who approved.
    pub people: BTreeSet<String>,
    /// The first few approved requests.
    pub examples: Vec<String>,
}

/// The properties by which requests are grouped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum RequestGroup {
    Command { tool: String, head: String, is_subcommand: bool },
    Paths { tool: String, directory: String },
    Tool { tool: String },
    Transition { from: String, to: String },
    Lifecycle { action: &'static str, target: String },
    Result { outcome: String },
}

#[derive(Default)]
struct GroupEvidence {
    approved: usize,
    denied: usize,
    people: BTreeSet<String>,
    forms: BTreeSet<String>,
    examples: Vec<String>,
}

/// Returns suggestions for groups that were approved at least `least` times and never denied, most evidence first.
pub fn suggest(
    history: impl IntoIterator<Item = DecidedRequest>,
    least: usize,
) -> Vec<RuleSuggestion> {
    let mut found: BTreeMap<(Option<String>, RequestGroup), GroupEvidence> = BTreeMap::new();
    for decided in history {
        for (likeness, form, may_be_allowed) in likenesses(&decided.request) {
            let evidence = found.entry((decided.asked_by.clone(), likeness)).or_default();
            match (decided.approved, may_be_allowed) {
                (false, _) => evidence.denied += 1,
                (true, false) => {}
                (true, true) => {
                    evidence.approved += 1;
                    evidence.people.insert(decided.by.clone());
                    evidence.forms.insert(form);
                    if evidence.examples.len() < EXAMPLES_MAX {
                        evidence.examples.push(decided.request.in_words());
                    }
                }
            }
        }
    }
    let least = least.max(1);
    let mut suggestions: Vec<RuleSuggestion> = found
        .into_iter()
        .filter(|(_, evidence)| evidence.denied == 0 && evidence.approved >= least)
        .map(|((asked_by, likeness), evidence)| likeness.suggestion(asked_by, evidence, least))
        .collect();
    suggestions.sort_by(|a, b| b.approved.cmp(&a.approved).then_with(|| a.rule.cmp(&b.rule)));
    suggestions
}

/// Returns the groups that a request is evidence for: the group, its exact form, and true if a rule could allow it.
fn likenesses(request: &PolicyRequest) -> Vec<(RequestGroup, String, bool)> {
    match &request.subject {
        RequestedAction::Tool(call) => tool_likenesses(call),
        RequestedAction::Transition(t) => {
            let (from, to) = (t.from.clone(), t.to.clone());
            vec![(RequestGroup::Transition { from, to }, String::new(), true)]
        }
        RequestedAction::Lifecycle(l) => {
            let (action, target) = (l.action.as_str(), l.target.clone());
            vec![(RequestGroup::Lifecycle { action, target }, String::new(), true)]
        }
        RequestedAction::Result(ReportedResult { outcome, .. }) => {
            vec![(RequestGroup::Result { outcome: outcome.clone() }, String::new(), true)]
        }
        // A question needs an answer.
        RequestedAction::Ask(_) => vec![],
    }
}

fn tool_likenesses(call: &ToolCall) -> Vec<(RequestGroup, String, bool)> {
    let tool = call.tool.clone();
    if let Some(command) = &call.command {
        let line = CommandLine::read(command);
        let line_is_plain = line.unclear().is_none() && line.files.is_empty();
        let commands = line.commands.iter().filter(|c| !c.transparent && !c.words.is_empty());
        return commands
            .map(|command| {
                let is_plain = command.words.iter().all(|word| word.shape == WordShape::Fixed);
                let may_be_allowed = line_is_plain && is_plain && !command.assigns;
                let (head, is_subcommand) = head(command);
                let tool = tool.clone();
                (
                    RequestGroup::Command { tool, head, is_subcommand },
                    pattern(command),
                    may_be_allowed,
                )
            })
            .collect();
    }
    if call.paths.is_empty() {
        return vec![(RequestGroup::Tool { tool }, String::new(), true)];
    }
    let root = call.root.as_deref();
    call.paths
        .iter()
        .map(|path| {
            let path = crate::view::normal(path, root);
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            // A path outside of the root, or directly in it, is no pattern.
            let is_inside = !directory.is_empty() && !path.starts_with(['/', '.', '~']);
            let directory = directory.to_owned();
            (RequestGroup::Paths { tool: tool.clone(), directory }, path, is_inside)
        })
        .collect()
}

/// Returns the part in which two commands are alike: program and subcommand, or every word.
fn head(command: &SimpleCommand) -> (String, bool) {
    let program = command.program().unwrap_or_default();
    let second = command.words.get(1).and_then(|word| word.fixed());
    match second {
        Some(second)
            if WITH_SUBCOMMANDS.contains(&program)
                && second.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
                && !second.starts_with('-') =>
        {
            (format!("{program} {second}"), true)
        }
        _ => (pattern(command), false),
    }
}

/// Returns a pattern that matches this command and no other.
fn pattern(command: &SimpleCommand) -> String {
    let words = command.words.iter().map(|word| {
        let escaped = word.text.chars().flat_map(|c| match c {
            '*' | '?' | '[' | '{' | '\\' => vec!['[', c, ']'],
            _ => vec![c],
        });
        escaped.collect::<String>()
    });
    shell_words::join(words)
}

impl RequestGroup {
    fn suggestion(
        self,
        asked_by: Option<String>,
        evidence: GroupEvidence,
        least: usize,
    ) -> RuleSuggestion {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let (name, on, matches) = match &self {
            RequestGroup::Command { tool, head, is_subcommand } => {
                // Many forms of one subcommand stand for all of them; a few stand for themselves only.
                let patterns: Vec<String> = if *is_subcommand && evidence.forms.len() >= least {
                    vec![quoted(&format!("{head} *"))]
                } else {
                    evidence.forms.iter().map(|form| quoted(form)).collect()
                };
                let matches =
                    format!("{{tool: {}, command: [{}]}}", quoted(tool), patterns.join(", "));
                (head.clone(), "tool", matches)
            }
            RequestGroup::Paths { tool, directory } => {
                let path = quoted(&format!("{directory}/**"));
                let matches = format!("{{tool: {}, path: {path}}}", quoted(tool));
                (format!("{tool} in {directory}"), "tool", matches)
            }
            RequestGroup::Tool { tool } => {
                (tool.clone(), "tool", format!("{{tool: {}}}", quoted(tool)))
            }
            RequestGroup::Transition { from, to } => (
                format!("{from} to {to}"),
                "transition",
                format!("{{from: {}, to: {}}}", quoted(from), quoted(to)),
            ),
            RequestGroup::Lifecycle { action, target } => (
                format!("{action} {target}"),
                "lifecycle",
                format!("{{action: {action}, target: {}}}", quoted(target)),
            ),
            RequestGroup::Result { outcome } => {
                (outcome.clone(), "result", format!("{{outcome: {}}}", quoted(outcome)))
            }
        };
        let rule = match &asked_by {
            Some(_) => format!("unless: {matches}"),
            None => format!(
                "- name: {}\n  on: {on}\n  match: {matches}\n  then: allow\n  reason: {}",
                quoted(&format!("usual: {name}")),
                quoted(&format!("Approved {} times, never denied.", evidence.approved)),
            ),
        };
        let GroupEvidence { approved, people, examples, .. } = evidence;
        RuleSuggestion { rule, exception_of: asked_by, approved, people, examples }
    }
}
