//! The table of MCP tools: their names, arguments and handlers. Descriptions are short and never change with the
//! data: every one of them costs every agent room in its context, on every turn.

use super::{ToolContext, agents, gates, messages, permission, tasks};
use rmcp::handler::server::tool::schema_for_type;
use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use sayso_core::{Code, Refusal};
use sayso_engine::Result;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) struct ToolEntry {
    pub(super) name: &'static str,
    about: &'static str,
    /// True if it only reads.
    pub(super) reads: bool,
    schema: fn() -> Arc<JsonObject>,
    pub(super) run: ToolHandler,
}

/// The handler of a tool.
pub(super) enum ToolHandler {
    /// It returns at once.
    Now(fn(&ToolContext, JsonObject) -> Result<Value>),
    /// It asks a person and waits.
    Ask,
    /// It asks a person about a call and waits.
    Permission,
}

const fn writes<T: JsonSchema + 'static>(
    name: &'static str,
    about: &'static str,
    run: fn(&ToolContext, JsonObject) -> Result<Value>,
) -> ToolEntry {
    ToolEntry {
        name,
        about,
        reads: false,
        schema: schema_for_type::<T>,
        run: ToolHandler::Now(run),
    }
}

const fn reads<T: JsonSchema + 'static>(
    name: &'static str,
    about: &'static str,
    run: fn(&ToolContext, JsonObject) -> Result<Value>,
) -> ToolEntry {
    ToolEntry { name, about, reads: true, schema: schema_for_type::<T>, run: ToolHandler::Now(run) }
}

/// All tools. None of them answers a gate.
pub(super) const TOOLS: &[ToolEntry] = &[
    ToolEntry {
        name: "ask_human",
        about: "Ask a person and wait for the answer. If nobody answers in time the question stays open: \
                go on with other work, and call again with the same words to get the answer.",
        reads: false,
        schema: schema_for_type::<gates::AskHumanArgs>,
        run: ToolHandler::Ask,
    },
    writes::<gates::RequestGateArgs>(
        "request_gate",
        "Ask a person without waiting. Returns the gate's id; you get a message when it is answered.",
        gates::request,
    ),
    reads::<gates::CheckGateArgs>("check_gate", "How a gate stands, and its answer.", gates::check),
    reads::<gates::ListGatesArgs>("list_gates", "The gates you asked for.", gates::list),
    writes::<gates::WithdrawGateArgs>(
        "withdraw_gate",
        "Take back a question you asked, when it is no longer needed.",
        gates::withdraw,
    ),
    reads::<messages::CheckMessagesArgs>(
        "check_messages",
        "Messages and answers for you that you have not acknowledged.",
        messages::check,
    ),
    writes::<messages::AckMessageArgs>(
        "ack_message",
        "Acknowledge a message after acting on it; it is not shown again.",
        messages::ack,
    ),
    reads::<tasks::NextTaskArgs>(
        "next_task",
        "The task to work on next. Does not claim it.",
        tasks::next,
    ),
    writes::<tasks::ClaimTaskArgs>(
        "claim_task",
        "Begin a task, so that nobody else does: this one, or else the next.",
        tasks::claim,
    ),
    writes::<tasks::UpdateTaskArgs>("update_task", "Change what a task says.", tasks::update),
    writes::<tasks::MoveTaskArgs>(
        "move_task",
        "Move a task to another status. A person may be asked first; then it moves by itself on a yes.",
        tasks::move_to,
    ),
    writes::<tasks::AddNoteArgs>("note", "Add a note to a task.", tasks::note),
    writes::<tasks::CreateTaskArgs>("create_task", "Make a task.", tasks::create),
    writes::<agents::AgentActionArgs>(
        "spawn_agent",
        "Have a configured agent started.",
        agents::spawn,
    ),
    writes::<agents::AgentActionArgs>(
        "restart_agent",
        "Have an agent started anew.",
        agents::restart,
    ),
    writes::<agents::AgentActionArgs>("stop_agent", "Have an agent stopped.", agents::stop),
    ToolEntry {
        name: "permission_prompt",
        about: "For clients, not for models: may this tool call run?",
        reads: false,
        schema: schema_for_type::<permission::PermissionPromptArgs>,
        run: ToolHandler::Permission,
    },
];

pub(super) fn find(name: &str) -> Option<&'static ToolEntry> {
    TOOLS.iter().find(|tool| tool.name == name)
}

impl ToolEntry {
    /// Returns the description that clients and models see.
    pub(super) fn described(&self) -> Tool {
        let hints = ToolAnnotations::new()
            .read_only(self.reads)
            .destructive(false)
            .open_world(matches!(self.run, ToolHandler::Ask));
        let mut tool = Tool::new(self.name, self.about, (self.schema)()).with_annotations(hints);
        // A client that hides tools until they are looked for would hide the one way to ask.
        if matches!(self.run, ToolHandler::Ask) {
            tool.meta =
                serde_json::from_value::<MetaObject>(json!({"anthropic/alwaysLoad": true})).ok();
        }
        tool
    }
}

/// Parses the arguments of a tool.
pub(super) fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        Refusal::new(Code::BadValue, format!("the arguments do not fit: {error}"))
            .hint("see the schema of this tool")
            .into()
    })
}
