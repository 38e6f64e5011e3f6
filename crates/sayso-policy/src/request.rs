//! What is put before a policy: what is to happen, who wants it, for which task, when, and how often.
//!
//! The words a request is written in (in tests of policies, in `policy explain`, in records that
//! are replayed) are those of [`Request`]'s JSON: flat, with `on` first.

use sayso_core::{Action, Kind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// What a rule can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// An agent wants to call a tool.
    Tool,
    /// A task is to move from one status to another.
    Transition,
    /// An agent is to be spawned, restarted or stopped.
    Lifecycle,
    /// An agent reports a result.
    Result,
    /// An agent asks something of its own accord.
    Ask,
}

impl On {
    /// All of them.
    pub const ALL: [On; 5] = [On::Tool, On::Transition, On::Lifecycle, On::Result, On::Ask];

    /// Its name in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            On::Tool => "tool",
            On::Transition => "transition",
            On::Lifecycle => "lifecycle",
            On::Result => "result",
            On::Ask => "ask",
        }
    }
}

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a policy is asked about. Everything in it was captured by the trusted side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Flat", into = "Flat")]
pub struct Request {
    /// What is to happen.
    pub subject: Subject,
    /// Who wants it. For lifecycle, the requester, who may be a person.
    pub agent: Agent,
    /// The task it is for.
    pub task: Option<Task>,
    /// When, on the clock of the space.
    pub time: Option<Time>,
    /// What this agent asked before.
    pub history: History,
}

impl Request {
    /// A request without task, time and history.
    pub fn new(subject: Subject, agent: Agent) -> Self {
        Self { subject, agent, task: None, time: None, history: History::default() }
    }

    /// What it is about.
    pub const fn on(&self) -> On {
        match &self.subject {
            Subject::Tool(_) => On::Tool,
            Subject::Transition(_) => On::Transition,
            Subject::Lifecycle(_) => On::Lifecycle,
            Subject::Result(_) => On::Result,
            Subject::Ask(_) => On::Ask,
        }
    }

    /// In a line: `Bash: git push origin main`, `open -> closed`.
    pub fn in_words(&self) -> String {
        match &self.subject {
            Subject::Tool(ToolCall { tool, command: Some(command), .. }) => {
                format!("{tool}: {command}")
            }
            Subject::Tool(ToolCall { tool, paths, .. }) if !paths.is_empty() => {
                format!("{tool}: {}", paths.join(", "))
            }
            Subject::Tool(call) => call.tool.clone(),
            Subject::Transition(Transition { from, to }) => format!("{from} -> {to}"),
            Subject::Lifecycle(Lifecycle { action, target }) => format!("{action} {target}"),
            Subject::Result(Report { outcome, confidence: Some(percent) }) => {
                format!("{outcome}, {percent} % sure")
            }
            Subject::Result(Report { outcome, confidence: None }) => outcome.clone(),
            Subject::Ask(Ask { kind, question }) => format!("{kind}: {question}"),
        }
    }
}

/// What is to happen.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// A tool call.
    Tool(ToolCall),
    /// A task moves.
    Transition(Transition),
    /// An agent is spawned, restarted or stopped.
    Lifecycle(Lifecycle),
    /// A result is reported.
    Result(Report),
    /// A question is asked.
    Ask(Ask),
}

/// One call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool, as the agent's harness names it: `Bash`, `Write`, `mcp__github__merge`.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// The command line, when the tool is a shell.
    pub command: Option<String>,
    /// The files it is about, when its arguments name any.
    pub paths: Vec<String>,
    /// Where the agent works. Paths below it are judged as relative to it.
    pub root: Option<String>,
}

/// A move of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// The status it has.
    pub from: String,
    /// The status it is to have.
    pub to: String,
}

/// What is done to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifecycle {
    /// What.
    pub action: Action,
    /// To whom.
    pub target: String,
}

/// What an agent says it has achieved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// `completed`, `failed`, or another word of the agent's protocol.
    pub outcome: String,
    /// How sure it says it is, in percent.
    pub confidence: Option<u8>,
}

/// A question of an agent's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// What sort of question.
    pub kind: Kind,
    /// Its words.
    pub question: String,
}

/// Who wants something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// The role it works in: `code`, `test`, `docs`, the user's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// The person who launched it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<String>,
}

impl Agent {
    /// An agent of this name.
    pub fn named(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// The task something is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What people call it.
    #[serde(default)]
    pub handle: String,
    /// Its labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// From 0, at once, to 4, some day.
    #[serde(default)]
    pub priority: u8,
    /// What sort of work: `task`, `bug`, `epic`, the user's own word.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub sort: String,
    /// Where it stands.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// The labels of the epic it is part of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parent_labels: Vec<String>,
}

/// The time on a wall clock. The caller reads it in the zone of the space.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Time {
    /// From 0 to 23.
    #[serde(default)]
    pub hour: u8,
    /// From 0 to 59.
    #[serde(default)]
    pub minute: u8,
    /// `monday` to `sunday`.
    #[serde(default)]
    pub weekday: String,
    /// As 2026-11-16.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// As Europe/Berlin.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub zone: String,
}

impl Time {
    /// What the clocks show at this moment in its zone.
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

/// How often this agent asked, and what was said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// In the last hour.
    #[serde(default)]
    pub hour: Counts,
    /// In the last 24 hours.
    #[serde(default)]
    pub day: Counts,
}

/// Questions and answers, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Asked.
    #[serde(default)]
    pub asked: u32,
    /// Approved.
    #[serde(default)]
    pub approved: u32,
    /// Denied.
    #[serde(default)]
    pub denied: u32,
}

/// A request as it is written: one level, so that people can type it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Flat {
    on: On,
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
    action: Option<Action>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confidence: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    #[serde(default)]
    agent: AgentText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<Task>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<Time>,
    #[serde(default)]
    history: History,
}

/// An agent by name alone, or in full.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum AgentText {
    Name(String),
    Full(Agent),
}

impl Default for AgentText {
    fn default() -> Self {
        Self::Full(Agent::default())
    }
}

impl TryFrom<Flat> for Request {
    type Error = String;

    fn try_from(flat: Flat) -> Result<Self, String> {
        flat.check_keys()?;
        let need = |key: &str, value: Option<String>| {
            value.ok_or_else(|| format!("a request on {} needs `{key}`", flat.on))
        };
        let subject = match flat.on {
            On::Tool => Subject::Tool(ToolCall {
                tool: need("tool", flat.tool)?,
                arguments: flat.arguments.unwrap_or(Value::Null),
                command: flat.command,
                paths: flat.paths,
                root: flat.root,
            }),
            On::Transition => Subject::Transition(Transition {
                from: need("from", flat.from)?,
                to: need("to", flat.to)?,
            }),
            On::Lifecycle => Subject::Lifecycle(Lifecycle {
                action: flat.action.ok_or("a request on lifecycle needs `action`")?,
                target: need("target", flat.target)?,
            }),
            On::Result => {
                if flat.confidence.is_some_and(|percent| percent > 100) {
                    return Err("`confidence` is a percentage, from 0 to 100".into());
                }
                let outcome = need("outcome", flat.outcome)?;
                Subject::Result(Report { outcome, confidence: flat.confidence })
            }
            On::Ask => Subject::Ask(Ask {
                kind: flat.kind.ok_or("a request on ask needs `kind`")?,
                question: flat.question.unwrap_or_default(),
            }),
        };
        let agent = match flat.agent {
            AgentText::Name(name) => Agent { name, ..Agent::default() },
            AgentText::Full(agent) => agent,
        };
        Ok(Self { subject, agent, task: flat.task, time: flat.time, history: flat.history })
    }
}

impl Flat {
    /// A key that says nothing to this sort of request would be a silent misunderstanding.
    fn check_keys(&self) -> Result<(), String> {
        let given = [
            (On::Tool, "tool", self.tool.is_some()),
            (On::Tool, "arguments", self.arguments.is_some()),
            (On::Tool, "command", self.command.is_some()),
            (On::Tool, "paths", !self.paths.is_empty()),
            (On::Tool, "root", self.root.is_some()),
            (On::Transition, "from", self.from.is_some()),
            (On::Transition, "to", self.to.is_some()),
            (On::Lifecycle, "action", self.action.is_some()),
            (On::Lifecycle, "target", self.target.is_some()),
            (On::Result, "outcome", self.outcome.is_some()),
            (On::Result, "confidence", self.confidence.is_some()),
            (On::Ask, "kind", self.kind.is_some()),
            (On::Ask, "question", self.question.is_some()),
        ];
        match given.into_iter().find(|(on, _, given)| *given && *on != self.on) {
            Some((on, key, _)) => {
                Err(format!("`{key}` belongs to a request on {on}, not on {}", self.on))
            }
            None => Ok(()),
        }
    }

    fn empty(on: On) -> Self {
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
            history: History::default(),
        }
    }
}

impl From<Request> for Flat {
    fn from(request: Request) -> Self {
        let mut flat = Flat::empty(request.on());
        match request.subject {
            Subject::Tool(call) => {
                flat.tool = Some(call.tool);
                flat.arguments = (!call.arguments.is_null()).then_some(call.arguments);
                (flat.command, flat.paths, flat.root) = (call.command, call.paths, call.root);
            }
            Subject::Transition(Transition { from, to }) => {
                (flat.from, flat.to) = (Some(from), Some(to));
            }
            Subject::Lifecycle(Lifecycle { action, target }) => {
                (flat.action, flat.target) = (Some(action), Some(target));
            }
            Subject::Result(Report { outcome, confidence }) => {
                (flat.outcome, flat.confidence) = (Some(outcome), confidence);
            }
            Subject::Ask(Ask { kind, question }) => {
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
            let request: Request = serde_json::from_value(value.clone()).unwrap();
            let again = serde_json::to_value(&request).unwrap();
            assert_eq!(serde_json::from_value::<Request>(again).unwrap(), request, "{value}");
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
            let error = serde_json::from_value::<Request>(value.clone()).unwrap_err().to_string();
            assert!(error.contains(expected), "{value}: {error}");
        }
    }
}
