//! The dialects: what each client sends, and the only words it understands.

use crate::exit::{Failure, Result};
use sayso_core::Code;
use sayso_engine::{CallRuling, ToolCall};
use serde_json::{Map, Value, json};

/// A coding agent's client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Client {
    ClaudeCode,
    Codex,
    Gemini,
    Opencode,
}

/// What came in.
pub(super) struct Incoming {
    pub(super) verb: Verb,
}

/// What the client is about to do.
pub(super) enum Verb {
    /// Call a tool.
    Call(ToolCall),
    /// Begin a turn, or go on after a tool: a place to tell it something.
    Prompt,
    /// End its turn; `again` if it was kept from that already.
    Stop { again: bool },
    /// Something nothing depends on.
    Other,
}

/// What a tool's arguments call the files it is about.
const PATHS: [&str; 8] = [
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "absolute_path",
    "dir_path",
    "target_file",
    "workdir",
];

impl Incoming {
    /// Reads an event. One that says something else than the command line is refused: the hook is
    /// set up wrongly, and its answer would be in the wrong words.
    pub(super) fn read(client: Client, event: &str, bytes: &[u8]) -> Result<Self> {
        let wrong = |why: String| {
            Failure::new(
                Code::BadValue,
                format!("this is no {event} event of {}: {why}", client.name()),
            )
        };
        let body: Value = serde_json::from_slice(bytes).map_err(|e| wrong(e.to_string()))?;
        let said = body.get("hook_event_name").and_then(Value::as_str);
        if let Some(said) = said.filter(|said| *said != event) {
            return Err(wrong(format!("it says that it is {said}")));
        }
        let verb = match client.sort(event) {
            Sort::Call => Verb::Call(call(&body).map_err(wrong)?),
            Sort::Prompt => Verb::Prompt,
            Sort::Stop => {
                let again = body.get("stop_hook_active").and_then(Value::as_bool);
                Verb::Stop { again: again.unwrap_or(false) }
            }
            Sort::Other => Verb::Other,
            Sort::Unknown => return Err(wrong("no such event is known".into())),
        };
        Ok(Self { verb })
    }
}

enum Sort {
    Call,
    Prompt,
    Stop,
    Other,
    Unknown,
}

impl Client {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
            Client::Opencode => "opencode",
        }
    }

    fn sort(self, event: &str) -> Sort {
        match (self, event) {
            (Client::ClaudeCode | Client::Codex, "PreToolUse") => Sort::Call,
            (
                Client::ClaudeCode | Client::Codex,
                "UserPromptSubmit" | "SessionStart" | "PostToolUse",
            ) => Sort::Prompt,
            (Client::ClaudeCode | Client::Codex, "Stop" | "SubagentStop") => Sort::Stop,
            (Client::ClaudeCode | Client::Codex, "Notification" | "SessionEnd" | "PreCompact") => {
                Sort::Other
            }
            (Client::Gemini, "BeforeTool") => Sort::Call,
            (Client::Gemini, "AfterTool" | "BeforeAgent" | "AfterAgent" | "Notification") => {
                Sort::Other
            }
            (Client::Opencode, "tool.execute.before") => Sort::Call,
            _ => Sort::Unknown,
        }
    }

    /// What a client is told about a call.
    pub(super) fn says(self, event: &str, ruling: &CallRuling) -> String {
        match ruling {
            // "Allow" would also skip what the client itself asks its user. Nothing lets it go on as it
            // would.
            CallRuling::Allowed => String::new(),
            CallRuling::Granted { by, arguments } => self.allows(event, by, arguments.as_ref()),
            CallRuling::Denied { reason } => self.denies(event, reason),
            CallRuling::Held(gate) => {
                let handle = gate.handle();
                let reason = format!(
                    "This waits for a person: gate {handle}. It has not run. Go on with other work or end \
                     your turn; when gate {handle} is answered you are told, and the same call again gets \
                     the answer."
                );
                self.denies(event, &reason)
            }
        }
    }

    fn denies(self, event: &str, reason: &str) -> String {
        match self {
            Client::ClaudeCode | Client::Codex => json!({"hookSpecificOutput": {
                "hookEventName": event,
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            }}),
            Client::Gemini => json!({"decision": "deny", "reason": reason}),
            Client::Opencode => json!({"decision": "deny", "reason": reason}),
        }
        .to_string()
    }

    fn allows(self, event: &str, by: &str, arguments: Option<&Value>) -> String {
        let reason = format!("approved by {by}");
        let mut said = match self {
            Client::ClaudeCode | Client::Codex => json!({
                "hookEventName": event,
                "permissionDecision": "allow",
                "permissionDecisionReason": reason,
            }),
            Client::Gemini => json!({}),
            Client::Opencode => json!({"decision": "allow", "reason": reason}),
        };
        let key = match self {
            Client::ClaudeCode | Client::Codex => "updatedInput",
            Client::Gemini => "tool_input",
            Client::Opencode => "args",
        };
        if let Some(arguments) = arguments {
            said[key] = arguments.clone();
        }
        match self {
            Client::ClaudeCode | Client::Codex => json!({"hookSpecificOutput": said}),
            Client::Gemini => json!({"decision": "allow", "hookSpecificOutput": said}),
            Client::Opencode => said,
        }
        .to_string()
    }

    /// Tells the model something on the way.
    pub(super) fn adds(self, event: &str, text: &str) -> String {
        match (self, text) {
            (_, "") | (Client::Gemini | Client::Opencode, _) => String::new(),
            (Client::ClaudeCode | Client::Codex, text) => json!({"hookSpecificOutput": {
                "hookEventName": event,
                "additionalContext": text,
            }})
            .to_string(),
        }
    }

    /// Keeps the model from ending its turn while there is something it has not heard.
    pub(super) fn goes_on(self, text: &str) -> String {
        match (self, text) {
            (_, "") | (Client::Gemini | Client::Opencode, _) => String::new(),
            (Client::ClaudeCode | Client::Codex, text) => {
                json!({"decision": "block", "reason": text}).to_string()
            }
        }
    }
}

/// The call as it really is: never a title or a description that the model wrote.
fn call(body: &Value) -> std::result::Result<ToolCall, String> {
    let tool = body.get("tool_name").and_then(Value::as_str).ok_or("it names no tool")?;
    let arguments = body.get("tool_input").cloned().ok_or("it has no input for the tool")?;
    let Value::Object(fields) = &arguments else {
        return Err("the input of the tool is no object".into());
    };
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let is_shell = matches!(
        tool,
        "Bash" | "bash" | "shell" | "exec_command" | "run_shell_command" | "local_shell"
    );
    let command = text("command").or_else(|| text("cmd")).filter(|_| is_shell);
    if is_shell && command.is_none() {
        return Err("it runs a command and does not say which".into());
    }
    Ok(ToolCall {
        tool: tool.into(),
        command,
        paths: paths(fields),
        root: body.get("cwd").and_then(Value::as_str).map(str::to_owned),
        arguments: without_description(fields, is_shell),
    })
}

/// A shell's description is the model's word on its own call, and may differ each time it tries.
fn without_description(fields: &Map<String, Value>, is_shell: bool) -> Value {
    let mut fields = fields.clone();
    if is_shell {
        fields.remove("description");
    }
    Value::Object(fields)
}

fn paths(fields: &Map<String, Value>) -> Vec<String> {
    let named = PATHS.iter().filter_map(|key| fields.get(*key)).filter_map(Value::as_str);
    named.map(str::to_owned).collect()
}
