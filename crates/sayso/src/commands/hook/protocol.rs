//! The hook protocols: the response format of each client.

use sayso_engine::CallRuling;
use serde_json::{Value, json};

/// A coding agent's client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum HookClient {
    ClaudeCode,
    Codex,
    Gemini,
    Opencode,
}

/// A response to a client.
pub(super) struct HookResponse {
    /// The protocol text, for standard output.
    pub(super) text: String,
    /// The reason of a denial that ends with exit code 2.
    pub(super) complaint: Option<String>,
}

impl HookResponse {
    pub(super) fn said(text: String) -> Self {
        Self { text, complaint: None }
    }
}

/// The kind of an event.
pub(super) enum ClientEventKind {
    Call,
    Dialog,
    Ran,
    Prompt,
    Start,
    Stop,
    End,
    Other,
    Unknown,
}

impl HookClient {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            HookClient::ClaudeCode => "claude-code",
            HookClient::Codex => "codex",
            HookClient::Gemini => "gemini",
            HookClient::Opencode => "opencode",
        }
    }

    pub(super) fn sort(self, event: &str) -> ClientEventKind {
        match (self, event) {
            (HookClient::ClaudeCode | HookClient::Codex, event) => match event {
                "PreToolUse" => ClientEventKind::Call,
                "PermissionRequest" => ClientEventKind::Dialog,
                "PostToolUse" => ClientEventKind::Ran,
                "UserPromptSubmit" => ClientEventKind::Prompt,
                "SessionStart" => ClientEventKind::Start,
                "Stop" => ClientEventKind::Stop,
                "SessionEnd" => ClientEventKind::End,
                "SubagentStop" | "Notification" | "PreCompact" => ClientEventKind::Other,
                _ => ClientEventKind::Unknown,
            },
            (HookClient::Gemini, "BeforeTool") => ClientEventKind::Call,
            (HookClient::Gemini, "AfterTool") => ClientEventKind::Ran,
            (HookClient::Gemini, "BeforeAgent") => ClientEventKind::Prompt,
            (HookClient::Gemini, "SessionStart") => ClientEventKind::Start,
            (HookClient::Gemini, "AfterAgent") => ClientEventKind::Stop,
            (HookClient::Gemini, "Notification" | "SessionEnd") => ClientEventKind::Other,
            (HookClient::Opencode, "tool.execute.before") => ClientEventKind::Call,
            (HookClient::Opencode, "tool.execute.after") => ClientEventKind::Ran,
            _ => ClientEventKind::Unknown,
        }
    }

    /// True if the client can stop at a call without running it, and be resumed at that call.
    pub(super) fn defers(self, event: &str) -> bool {
        (self, event) == (HookClient::ClaudeCode, "PreToolUse")
    }

    /// The response that defers a call. Every other client takes it for a permission.
    pub(super) fn defer_response(event: &str, reason: &str) -> String {
        decision(event, "defer", reason, None).to_string()
    }

    /// The response to a call.
    pub(super) fn call_response(self, event: &str, ruling: &CallRuling) -> HookResponse {
        match ruling {
            CallRuling::Denied { reason, interrupts } => self.denial(event, reason, *interrupts),
            CallRuling::Held(gate) if event != "PermissionRequest" => {
                self.denial(event, &held_message(gate.handle()), false)
            }
            CallRuling::Allowed | CallRuling::Granted { .. } | CallRuling::Held(_) => {
                HookResponse::said(self.words(event, ruling))
            }
        }
    }

    /// Denies a call in the client's own format and in the one that every client understands: exit code 2, with the
    /// reason on standard error. A permission prompt is closed by the format alone.
    pub(super) fn denial(self, event: &str, reason: &str, interrupts: bool) -> HookResponse {
        let is_call = matches!(self.sort(event), ClientEventKind::Call);
        let complaint = is_call.then(|| reason.to_owned());
        HookResponse { text: self.denies(event, reason, interrupts), complaint }
    }

    fn words(self, event: &str, ruling: &CallRuling) -> String {
        match ruling {
            // "Allow" would also skip the client's own prompt. An empty response lets it continue as usual.
            CallRuling::Allowed => String::new(),
            CallRuling::Granted { by, arguments } => {
                self.allows(event, &format!("approved by {by}"), arguments.as_ref())
            }
            CallRuling::Denied { reason, interrupts } => self.denies(event, reason, *interrupts),
            // The client's own prompt stays, for its user.
            CallRuling::Held(_) if event == "PermissionRequest" => String::new(),
            CallRuling::Held(gate) => self.denies(event, &held_message(gate.handle()), false),
        }
    }

    fn denies(self, event: &str, reason: &str, interrupts: bool) -> String {
        let mut said = match self {
            HookClient::ClaudeCode | HookClient::Codex if event == "PermissionRequest" => {
                return self.prompt_denied(reason, interrupts);
            }
            HookClient::ClaudeCode | HookClient::Codex => decision(event, "deny", reason, None),
            HookClient::Gemini | HookClient::Opencode => {
                json!({"decision": "deny", "reason": reason})
            }
        };
        // Codex rejects a response with unknown fields, and opencode has no such field.
        if interrupts && matches!(self, HookClient::ClaudeCode | HookClient::Gemini) {
            said["continue"] = json!(false);
            said["stopReason"] = json!(reason);
        }
        said.to_string()
    }

    fn prompt_denied(self, reason: &str, interrupts: bool) -> String {
        let mut decision = json!({"behavior": "deny", "message": reason});
        if interrupts && self == HookClient::ClaudeCode {
            decision["interrupt"] = json!(true);
        }
        of_prompt(&decision)
    }

    pub(super) fn allows(self, event: &str, reason: &str, arguments: Option<&Value>) -> String {
        match self {
            HookClient::ClaudeCode | HookClient::Codex if event == "PermissionRequest" => {
                self.prompt_allowed(arguments)
            }
            HookClient::ClaudeCode | HookClient::Codex => {
                decision(event, "allow", reason, arguments).to_string()
            }
            HookClient::Gemini => {
                let own = arguments.map_or(json!({}), |arguments| json!({"tool_input": arguments}));
                json!({"decision": "allow", "hookSpecificOutput": own}).to_string()
            }
            HookClient::Opencode => {
                let mut said = json!({"decision": "allow", "reason": reason});
                if let Some(arguments) = arguments {
                    said["args"] = arguments.clone();
                }
                said.to_string()
            }
        }
    }

    fn prompt_allowed(self, arguments: Option<&Value>) -> String {
        match (self, arguments) {
            // It takes no other arguments here, and would run what was not approved.
            (HookClient::Codex, Some(arguments)) => {
                let reason =
                    format!("It was approved with other arguments; call it with {arguments}");
                self.prompt_denied(&reason, false)
            }
            (_, Some(arguments)) => {
                of_prompt(&json!({"behavior": "allow", "updatedInput": arguments}))
            }
            (_, None) => of_prompt(&json!({"behavior": "allow"})),
        }
    }

    /// Adds context for the model.
    pub(super) fn context_response(self, event: &str, text: &str) -> String {
        match (self, text) {
            (_, "") | (HookClient::Opencode, _) => String::new(),
            (HookClient::ClaudeCode | HookClient::Codex | HookClient::Gemini, text) => {
                json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
                    .to_string()
            }
        }
    }

    /// Keeps the model from ending its turn while it has unread messages.
    pub(super) fn stop_response(self, text: &str) -> String {
        match (self, text) {
            (_, "") | (HookClient::Opencode, _) => String::new(),
            (HookClient::ClaudeCode | HookClient::Codex | HookClient::Gemini, text) => {
                json!({"decision": "block", "reason": text}).to_string()
            }
        }
    }
}

/// The text for the model about a held call.
pub(super) fn held_message(handle: &str) -> String {
    format!(
        "This waits for a person: gate {handle}. It has not run. Go on with other work or end \
         your turn; when gate {handle} is answered you are told, and the same call again gets \
         the answer."
    )
}

fn decision(event: &str, word: &str, reason: &str, arguments: Option<&Value>) -> Value {
    let mut own = json!({
        "hookEventName": event,
        "permissionDecision": word,
        "permissionDecisionReason": reason,
    });
    if let Some(arguments) = arguments {
        own["updatedInput"] = arguments.clone();
    }
    json!({"hookSpecificOutput": own})
}

fn of_prompt(decision: &Value) -> String {
    json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
        .to_string()
}
