//! Parses the event of a client.

use super::protocol::{ClientEventKind, HookClient};
use crate::exit::{Failure, Result};
use sayso_core::{ChoiceOption, Code};
use sayso_engine::{CallQuestion, ToolCall, capture_tool_call};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A parsed event.
pub(super) struct IncomingEvent {
    pub(super) verb: ClientAction,
    /// True if it comes from a subagent: messages for the agent are not delivered to it.
    pub(super) is_sub: bool,
    /// The conversation it is part of.
    pub(super) session: String,
}

/// The action that the client is about to take.
pub(super) enum ClientAction {
    Call(ToolCall),
    /// Prompt its user for permission to call a tool, in this conversation.
    Dialog(ToolCall, String),
    /// Ask its user questions, or for permission to ask them.
    Questions(QuestionCall),
    /// Continue after a call, if the call can be identified.
    Ran(Option<ToolCall>),
    /// Begin a turn: an opportunity to add context.
    Prompt,
    Start,
    /// End its turn; `again` if it was kept from that already.
    Stop {
        again: bool,
    },
    End(String),
    /// An event without effect.
    Other,
}

/// A call that asks the user questions.
pub(super) struct QuestionCall {
    pub(super) call: ToolCall,
    pub(super) asked: Vec<CallQuestion>,
}

impl QuestionCall {
    /// The arguments of the call with people's answers.
    pub(super) fn answered(&self, answers: &[String]) -> Value {
        let said = self.asked.iter().zip(answers);
        let answers: Map<_, _> =
            said.map(|(asked, answer)| (asked.question.clone(), json!(answer))).collect();
        // The client expects its questions unchanged.
        json!({"questions": self.call.arguments["questions"], "answers": answers})
    }
}

/// The name of Claude Code's tool that asks its user.
const ASKS: &str = "AskUserQuestion";

impl ClientAction {
    /// True if a tool may run after it.
    pub(super) fn may_run(&self) -> bool {
        match self {
            ClientAction::Call(_) | ClientAction::Dialog(..) | ClientAction::Questions(_) => true,
            ClientAction::Ran(_)
            | ClientAction::Start
            | ClientAction::Prompt
            | ClientAction::Stop { .. }
            | ClientAction::End(_)
            | ClientAction::Other => false,
        }
    }
}

impl IncomingEvent {
    /// Parses an event. One that contradicts the command line is refused: the hook is configured wrongly, and the
    /// response would be in the wrong format.
    pub(super) fn read(client: HookClient, event: &str, bytes: &[u8]) -> Result<Self> {
        let wrong = |why: String| {
            Failure::new(
                Code::BadValue,
                format!("this is no {event} event of {}: {why}", client.name()),
            )
        };
        let body: Value = serde_json::from_slice(bytes).map_err(|e| wrong(e.to_string()))?;
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        // Every supported client names its event here. One that does not has another protocol, and may take this
        // one's denial for a permission.
        let sort = client.sort(event);
        match text("hook_event_name") {
            Some(said) if said != event => return Err(wrong(format!("it says that it is {said}"))),
            None if matches!(sort, ClientEventKind::Call | ClientEventKind::Dialog) => {
                return Err(wrong("it does not say so in hook_event_name".into()));
            }
            _ => {}
        }
        let session = text("session_id").unwrap_or_default().to_owned();
        let verb = match sort {
            ClientEventKind::Call | ClientEventKind::Dialog if asks(client, &body) => {
                ClientAction::Questions(questions(&body).map_err(wrong)?)
            }
            ClientEventKind::Call => ClientAction::Call(call(&body).map_err(wrong)?),
            ClientEventKind::Dialog => {
                ClientAction::Dialog(call(&body).map_err(wrong)?, session.clone())
            }
            ClientEventKind::Ran => ClientAction::Ran(call(&body).ok()),
            ClientEventKind::Prompt => ClientAction::Prompt,
            ClientEventKind::Start => ClientAction::Start,
            ClientEventKind::Stop => {
                let again = body.get("stop_hook_active").and_then(Value::as_bool);
                ClientAction::Stop { again: again.unwrap_or(false) }
            }
            ClientEventKind::End => ClientAction::End(session.clone()),
            ClientEventKind::Other => ClientAction::Other,
            ClientEventKind::Unknown => return Err(wrong("no such event is known".into())),
        };
        Ok(Self { verb, is_sub: text("agent_id").is_some(), session })
    }
}

/// The call as it will run: never a title or a description that the model wrote.
fn call(body: &Value) -> std::result::Result<ToolCall, String> {
    let tool = body.get("tool_name").and_then(Value::as_str).ok_or("it names no tool")?;
    let arguments = body.get("tool_input").ok_or("it has no input for the tool")?;
    let root = body.get("cwd").and_then(Value::as_str);
    capture_tool_call(tool, arguments, root).map_err(|error| error.to_string())
}

fn asks(client: HookClient, body: &Value) -> bool {
    client == HookClient::ClaudeCode && body.get("tool_name").and_then(Value::as_str) == Some(ASKS)
}

/// A question, in the format of Claude Code.
#[derive(Deserialize)]
struct ClientQuestion {
    question: String,
    #[serde(default)]
    options: Vec<ClientOption>,
    #[serde(default, rename = "multiSelect")]
    multi: bool,
}

#[derive(Deserialize)]
struct ClientOption {
    label: String,
    #[serde(default)]
    description: String,
}

fn questions(body: &Value) -> std::result::Result<QuestionCall, String> {
    let call = call(body)?;
    let asked = call.arguments.get("questions").cloned().ok_or("it asks nothing")?;
    let asked: Vec<ClientQuestion> = serde_json::from_value(asked).map_err(|e| e.to_string())?;
    let asked = asked
        .into_iter()
        .map(|ClientQuestion { question, options, multi }| {
            let options = options
                .into_iter()
                .map(|ClientOption { label: name, description: consequence }| ChoiceOption {
                    name,
                    consequence,
                    declines: false,
                })
                .collect();
            CallQuestion { question, options, multi }
        })
        .collect();
    Ok(QuestionCall { call, asked })
}
