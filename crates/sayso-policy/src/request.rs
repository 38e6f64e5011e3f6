//! The request that a policy decides: the action, the agent, the task, the time and the agent's history.
//!
//! Requests are written (in policy tests, in `policy explain`, in records for replays) as [`PolicyRequest`]'s JSON: flat,
//! with `on` first.

use sayso_core::{GateKind, LifecycleAction};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// The subject of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleSubject {
    /// An agent wants to call a tool.
    Tool,
    /// A task is to change its status.
    Transition,
    /// An agent is to be spawned, restarted or stopped.
    Lifecycle,
    /// An agent reports a result.
    Result,
    /// An agent asks a question of its own.
    Ask,
}

impl RuleSubject {
    pub const ALL: [RuleSubject; 5] = [
        RuleSubject::Tool,
        RuleSubject::Transition,
        RuleSubject::Lifecycle,
        RuleSubject::Result,
        RuleSubject::Ask,
    ];

    /// Returns its name in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            RuleSubject::Tool => "tool",
            RuleSubject::Transition => "transition",
            RuleSubject::Lifecycle => "lifecycle",
            RuleSubject::Result => "result",
            RuleSubject::Ask => "ask",
        }
    }
}

impl fmt::Display for RuleSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A request to a policy. Everything in it was captured by the trusted side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FlatRequest", into = "FlatRequest")]
pub struct PolicyRequest {
    pub subject: RequestedAction,
    /// The agent that requests it. For lifecycle, the requester, who may be a person.
    pub agent: RequestingAgent,
    /// The task it is for.
    pub task: Option<RequestTask>,
    /// The time, on the clock of the space.
    pub time: Option<LocalTime>,
    /// The earlier requests of this agent.
    pub history: AgentHistory,
}

impl PolicyRequest {
    /// Builds a request without task, time and history.
    pub fn new(subject: RequestedAction, agent: RequestingAgent) -> Self {
        Self { subject, agent, task: None, time: None, history: AgentHistory::default() }
    }

    pub const fn on(&self) -> RuleSubject {
        match &self.subject {
            RequestedAction::Tool(_) => RuleSubject::Tool,
            RequestedAction::Transition(_) => RuleSubject::Transition,
            RequestedAction::Lifecycle(_) => RuleSubject::Lifecycle,
            RequestedAction::Result(_) => RuleSubject::Result,
            RequestedAction::Ask(_) => RuleSubject::Ask,
        }
    }

    /// Describes it in one line: `Bash: git push origin main`, `open -> closed`.
    pub fn in_words(&self) -> String {
        match &self.subject {
            RequestedAction::Tool(ToolCall { tool, command: Some(command), .. }) => {
                format!("{tool}: {command}")
            }
            RequestedAction::Tool(ToolCall { tool, paths, .. }) if !paths.is_empty() => {
                format!("{tool}: {}", paths.join(", "))
            }
            RequestedAction::Tool(call) => call.tool.clone(),
            RequestedAction::Transition(StatusTransition { from, to }) => format!("{from} -> {to}"),
            RequestedAction::Lifecycle(LifecycleRequest { action, target }) => {
                format!("{action} {target}")
            }
            RequestedAction::Result(ReportedResult { outcome, confidence: Some(percent) }) => {
                format!("{outcome}, {percent} % sure")
            }
            RequestedAction::Result(ReportedResult { outcome, confidence: None }) => {
                outcome.clone()
            }
            RequestedAction::Ask(AskedQuestion { kind, question }) => format!("{kind}: {question}"),
        }
    }
}

/// The requested action.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestedAction {
    Tool(ToolCall),
    /// A task changes its status.
    Transition(StatusTransition),
    /// An agent is spawned, restarted or stopped.
    Lifecycle(LifecycleRequest),
    /// An agent reports a result.
    Result(ReportedResult),
    /// An agent asks a question.
    Ask(AskedQuestion),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool, as the agent's harness names it: `Bash`, `Write`, `mcp__github__merge`.
    pub tool: String,
    pub arguments: Value,
    /// The command line, when the tool is a shell.
    pub command: Option<String>,
    /// The files that its arguments name.
    pub paths: Vec<String>,
    /// The agent's working directory. Paths below it are matched relative to it.
    pub root: Option<String>,
}

/// A status change of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusTransition {
    pub from: String,
    pub to: String,
}

/// A lifecycle action on an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LifecycleRequest {
    pub action: LifecycleAction,
    /// The agent it acts on.
    pub target: String,
}

/// The result that an agent reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedResult {
    /// `completed`, `failed`, or another word of the agent's protocol.
    pub outcome: String,
    /// The agent's own confidence, in percent.
    pub confidence: Option<u8>,
}

/// A question of the agent's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedQuestion {
    /// The kind of gate.
    pub kind: GateKind,
    pub question: String,
}

/// The agent that makes a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestingAgent {
    #[serde(default)]
    pub name: String,
    /// The role it works in: `code`, `test`, `docs`, the user's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// The person who launched it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<String>,
}

impl RequestingAgent {
    /// Builds an agent with this name only.
    pub fn named(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// The task of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestTask {
    #[serde(default)]
    pub handle: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The priority from 0, at once, to 4, some day.
    #[serde(default)]
    pub priority: u8,
    /// The type of work: `task`, `bug`, `epic`, the user's own word.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub sort: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// The labels of the epic it is part of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parent_labels: Vec<String>,
}

/// The local time. The caller reads it in the time zone of the space.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalTime {
    /// The hour, from 0 to 23.
    #[serde(default)]
    pub hour: u8,
    /// The minute, from 0 to 59.
    #[serde(default)]
    pub minute: u8,
    /// The weekday, `monday` to `sunday`.
    #[serde(default)]
    pub weekday: String,
    /// The date, such as 2026-11-16.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// The time zone, such as Europe/Berlin.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub zone: String,
}

impl LocalTime {
    /// Returns the local time of an instant in its zone.
    pub fn of(at: &jiff::Zoned) -> Self {
        let weekday = match at.weekday() {
            jiff::civil::Weekday::Monday => "monday",
            jiff::civil::Weekday::Tuesday => "tuesday",
            jiff::civil::Weekday::Wednesday => "wednesday",
            jiff::civil::Weekday::Thursday => "thursday",
            jiff::civil::Weekday::Friday => "friday",
            jiff::civil::Weekday::Saturday => "saturday",
            jiff::civil::Weekday::Sunday => "sunday",
        };
        Self {
            hour: at.hour().unsigned_abs(),
            minute: at.minute().unsigned_abs(),
            weekday: weekday.into(),
            date: at.date().to_string(),
            zone: at.time_zone().iana_name().unwrap_or_default().into(),
        }
    }
}

/// The counts of an agent's recent requests and their results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentHistory {
    #[serde(default)]
    pub hour: AnswerCounts,
    /// The last 24 hours.
    #[serde(default)]
    pub day: AnswerCounts,
}

/// The number of requests and of answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerCounts {
    #[serde(default)]
    pub asked: u32,
    #[serde(default)]
    pub approved: u32,
    #[serde(default)]
    pub denied: u32,
}

/// The written form of a request: one level, so that people can type it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlatRequest {
    on: RuleSubject,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<LifecycleAction>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confidence: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<GateKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    #[serde(default)]
    agent: AgentText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<RequestTask>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<LocalTime>,
    #[serde(default)]
    history: AgentHistory,
}

/// An agent by name alone, or in full.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum AgentText {
    Name(String),
    Full(RequestingAgent),
}

impl Default for AgentText {
    fn default() -> Self {
        Self::Full(RequestingAgent::default())
    }
}

impl TryFrom<FlatRequest> for PolicyRequest {
    type Error = String;

    fn try_from(flat: FlatRequest) -> Result<Self, String> {
        flat.check_keys()?;
        let need = |key: &str, value: Option<String>| {
            value.ok_or_else(|| format!("a request on {} needs `{key}`", flat.on))
        };
        let subject = match flat.on {
            RuleSubject::Tool => RequestedAction::Tool(ToolCall {
                tool: need("tool", flat.tool)?,
                arguments: flat.arguments.unwrap_or(Value::Null),
                command: flat.command,
                paths: flat.paths,
                root: flat.root,
            }),
            RuleSubject::Transition => RequestedAction::Transition(StatusTransition {
                from: need("from", flat.from)?,
                to: need("to", flat.to)?,
            }),
            RuleSubject::Lifecycle => RequestedAction::Lifecycle(LifecycleRequest {
                action: flat.action.ok_or("a request on lifecycle needs `action`")?,
                target: need("target", flat.target)?,
            }),
            RuleSubject::Result => {
                if flat.confidence.is_some_and(|percent| percent > 100) {
                    return Err("`confidence` is a percentage, from 0 to 100".into());
                }
                let outcome = need("outcome", flat.outcome)?;
                RequestedAction::Result(ReportedResult { outcome, confidence: flat.confidence })
            }
            RuleSubject::Ask => RequestedAction::Ask(AskedQuestion {
                kind: flat.kind.ok_or("a request on ask needs `kind`")?,
                question: flat.question.unwrap_or_default(),
            }),
        };
        let agent = match flat.agent {
            AgentText::Name(name) => RequestingAgent { name, ..RequestingAgent::default() },
            AgentText::Full(agent) => agent,
        };
        Ok(Self { subject, agent, task: flat.task, time: flat.time, history: flat.history })
    }
}

impl FlatRequest {
    /// Refuses keys of other subjects, which would be a silent misunderstanding.
    fn check_keys(&self) -> Result<(), String> {
        let given = [
            (RuleSubject::Tool, "tool", self.tool.is_some()),
            (RuleSubject::Tool, "arguments", self.arguments.is_some()),
            (RuleSubject::Tool, "command", self.command.is_some()),
            (RuleSubject::Tool, "paths", !self.paths.is_empty()),
            (RuleSubject::Tool, "root", self.root.is_some()),
            (RuleSubject::Transition, "from", self.from.is_some()),
            (RuleSubject::Transition, "to", self.to.is_some()),
            (RuleSubject::Lifecycle, "action", self.action.is_some()),
            (RuleSubject::Lifecycle, "target", self.target.is_some()),
            (RuleSubject::Result, "outcome", self.outcome.is_some()),
            (RuleSubject::Result, "confidence", self.confidence.is_some()),
            (RuleSubject::Ask, "kind", self.kind.is_some()),
            (RuleSubject::Ask, "question", self.question.is_some()),
        ];
        match given.into_iter().find(|(on, _, given)| *given && *on != self.on) {
            Some((on, key, _)) => {
                Err(format!("`{key}` belongs to a request on {on}, not on {}", self.on))
            }
            None => Ok(()),
        }
    }

    fn empty(on: RuleSubject) -> Self {
        Self {
            on,
            tool: None,
            arguments: None,
            command: None,
            paths: vec![],
            root: None,
            from: None,
            to: None,
            action: None,
            target: None,
            outcome: None,
            confidence: None,
            kind: None,
            question: None,
            agent: AgentText::default(),
            task: None,
            time: None,
            history: AgentHistory::default(),
        }
    }
}

impl From<PolicyRequest> for FlatRequest {
    fn from(request: PolicyRequest) -> Self {
        let mut flat = FlatRequest::empty(request.on());
        match request.subject {
            RequestedAction::Tool(call) => {
                flat.tool = Some(call.tool);
                flat.arguments = (!call.arguments.is_null()).then_some(call.arguments);
                (flat.command, flat.paths, flat.root) = (call.command, call.paths, call.root);
            }
            RequestedAction::Transition(StatusTransition { from, to }) => {
                (flat.from, flat.to) = (Some(from), Some(to));
            }
            RequestedAction::Lifecycle(LifecycleRequest { action, target }) => {
                (flat.action, flat.target) = (Some(action), Some(target));
            }
            RequestedAction::Result(ReportedResult { outcome, confidence }) => {
                (flat.outcome, flat.confidence) = (Some(outcome), confidence);
            }
            RequestedAction::Ask(AskedQuestion { kind, question }) => {
                (flat.kind, flat.question) = (Some(kind), Some(question));
            }
        }
        flat.agent = AgentText::Full(request.agent);
        (flat.task, flat.time, flat.history) = (request.task, request.time, request.history);
        flat
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_is_read_back_from_its_words() {
        let all = [
            json!({"on": "tool", "tool": "Bash", "command": "ls", "arguments": {"command": "ls"},
                   "agent": {"name": "rex", "role": "code", "launcher": "ann"},
                   "task": {"handle": "t1", "labels": ["ui"], "priority": 2, "type": "bug"},
                   "time": {"hour": 9, "minute": 5, "weekday": "monday"},
                   "history": {"hour": {"asked": 3, "approved": 2, "denied": 1}, "day": {}}}),
            json!({"on": "transition", "from": "open", "to": "closed"}),
            json!({"on": "lifecycle", "action": "spawn", "target": "rex", "agent": "max"}),
            json!({"on": "result", "outcome": "completed", "confidence": 70}),
            json!({"on": "ask", "kind": "review", "question": "Fine?"}),
        ];
        for value in all {
            let request: PolicyRequest = serde_json::from_value(value.clone()).unwrap();
            let again = serde_json::to_value(&request).unwrap();
            assert_eq!(serde_json::from_value::<PolicyRequest>(again).unwrap(), request, "{value}");
        }
    }

    #[test]
    fn what_does_not_belong_is_refused() {
        for (value, expected) in [
            (json!({"on": "tool"}), "needs `tool`"),
            (json!({"on": "tool", "tool": "Bash", "to": "open"}), "`to` belongs to"),
            (json!({"on": "tool", "tool": "Bash", "cmd": "ls"}), "unknown field"),
            (json!({"on": "result", "outcome": "completed", "confidence": 101}), "percentage"),
            (json!({"on": "tea"}), "unknown variant"),
        ] {
            let error =
                serde_json::from_value::<PolicyRequest>(value.clone()).unwrap_err().to_string();
            assert!(error.contains(expected), "{value}: {error}");
        }
    }
}
