//! The dialects: the only words each client understands.

use sayso_engine::CallRuling;
use serde_json::{Value, json};

/// A coding agent's client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Client {
    ClaudeCode,
    Codex,
    Gemini,
    Opencode,
}

/// An answer to a client.
pub(super) struct Answer {
    /// Its own words, for standard output.
    pub(super) text: String,
    /// The reason of a no that ends with exit code 2.
    pub(super) complaint: Option<String>,
}

impl Answer {
    pub(super) fn said(text: String) -> Self {
        Self { text, complaint: None }
    }
}

/// What sort of event it is in a client's words.
pub(super) enum Sort {
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

impl Client {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
            Client::Opencode => "opencode",
        }
    }

    pub(super) fn sort(self, event: &str) -> Sort {
        match (self, event) {
            (Client::ClaudeCode | Client::Codex, event) => match event {
                "PreToolUse" => Sort::Call,
                "PermissionRequest" => Sort::Dialog,
                "PostToolUse" => Sort::Ran,
                "UserPromptSubmit" => Sort::Prompt,
                "SessionStart" => Sort::Start,
                "Stop" => Sort::Stop,
                "SessionEnd" => Sort::End,
                "SubagentStop" | "Notification" | "PreCompact" => Sort::Other,
                _ => Sort::Unknown,
            },
            (Client::Gemini, "BeforeTool") => Sort::Call,
            (Client::Gemini, "AfterTool") => Sort::Ran,
            (Client::Gemini, "BeforeAgent") => Sort::Prompt,
            (Client::Gemini, "SessionStart") => Sort::Start,
            (Client::Gemini, "AfterAgent") => Sort::Stop,
            (Client::Gemini, "Notification" | "SessionEnd") => Sort::Other,
            (Client::Opencode, "tool.execute.before") => Sort::Call,
            (Client::Opencode, "tool.execute.after") => Sort::Ran,
            _ => Sort::Unknown,
        }
    }

    /// Whether it ends at a call, without having run it, and can be started again at that call.
    pub(super) fn defers(self, event: &str) -> bool {
        (self, event) == (Client::ClaudeCode, "PreToolUse")
    }

    /// The words for that. Every other client takes them for a yes.
    pub(super) fn later(event: &str, reason: &str) -> String {
        decision(event, "defer", reason, None).to_string()
    }

    /// What a client is told about a call.
    pub(super) fn says(self, event: &str, ruling: &CallRuling) -> Answer {
        match ruling {
            CallRuling::Denied { reason, interrupts } => self.refuses(event, reason, *interrupts),
            CallRuling::Held(gate) if event != "PermissionRequest" => {
                self.refuses(event, &waits(gate.handle()), false)
            }
            CallRuling::Allowed | CallRuling::Granted { .. } | CallRuling::Held(_) => {
                Answer::said(self.words(event, ruling))
            }
        }
    }

    /// A no to a call in the client's own words and in those that every client understands: exit code 2, with
    /// the reason on standard error. A prompt is closed by words alone.
    pub(super) fn refuses(self, event: &str, reason: &str, interrupts: bool) -> Answer {
        let is_call = matches!(self.sort(event), Sort::Call);
        let complaint = is_call.then(|| reason.to_owned());
        Answer { text: self.denies(event, reason, interrupts), complaint }
    }

    fn words(self, event: &str, ruling: &CallRuling) -> String {
        match ruling {
            // "Allow" would also skip what the client itself asks its user. Nothing lets it go on as it
            // would.
            CallRuling::Allowed => String::new(),
            CallRuling::Granted { by, arguments } => {
                self.allows(event, &format!("approved by {by}"), arguments.as_ref())
            }
            CallRuling::Denied { reason, interrupts } => self.denies(event, reason, *interrupts),
            // The client's own prompt stands, for whoever sits there.
            CallRuling::Held(_) if event == "PermissionRequest" => String::new(),
            CallRuling::Held(gate) => self.denies(event, &waits(gate.handle()), false),
        }
    }

    fn denies(self, event: &str, reason: &str, interrupts: bool) -> String {
        let mut said = match self {
            Client::ClaudeCode | Client::Codex if event == "PermissionRequest" => {
                return self.prompt_denied(reason, interrupts);
            }
            Client::ClaudeCode | Client::Codex => decision(event, "deny", reason, None),
            Client::Gemini | Client::Opencode => json!({"decision": "deny", "reason": reason}),
        };
        // Codex takes an answer with words it does not know for no answer, and opencode has no such word.
        if interrupts && matches!(self, Client::ClaudeCode | Client::Gemini) {
            said["continue"] = json!(false);
            said["stopReason"] = json!(reason);
        }
        said.to_string()
    }

    fn prompt_denied(self, reason: &str, interrupts: bool) -> String {
        let mut decision = json!({"behavior": "deny", "message": reason});
        if interrupts && self == Client::ClaudeCode {
            decision["interrupt"] = json!(true);
        }
        of_prompt(&decision)
    }

    pub(super) fn allows(self, event: &str, reason: &str, arguments: Option<&Value>) -> String {
        match self {
            Client::ClaudeCode | Client::Codex if event == "PermissionRequest" => {
                self.prompt_allowed(arguments)
            }
            Client::ClaudeCode | Client::Codex => {
                decision(event, "allow", reason, arguments).to_string()
            }
            Client::Gemini => {
                let own = arguments.map_or(json!({}), |arguments| json!({"tool_input": arguments}));
                json!({"decision": "allow", "hookSpecificOutput": own}).to_string()
            }
            Client::Opencode => {
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
            (Client::Codex, Some(arguments)) => {
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

    /// Tells the model something on the way.
    pub(super) fn adds(self, event: &str, text: &str) -> String {
        match (self, text) {
            (_, "") | (Client::Opencode, _) => String::new(),
            (Client::ClaudeCode | Client::Codex | Client::Gemini, text) => {
                json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
                    .to_string()
            }
        }
    }

    /// Keeps the model from ending its turn while there is something it has not heard.
    pub(super) fn goes_on(self, text: &str) -> String {
        match (self, text) {
            (_, "") | (Client::Opencode, _) => String::new(),
            (Client::ClaudeCode | Client::Codex | Client::Gemini, text) => {
                json!({"decision": "block", "reason": text}).to_string()
            }
        }
    }
}

/// What a call that waits is told.
pub(super) fn waits(handle: &str) -> String {
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
