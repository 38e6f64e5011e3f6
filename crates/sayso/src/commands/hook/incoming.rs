//! Parses the event of a client.

use super::dialect::{Client, Sort};
use crate::exit::{Failure, Result};
use sayso_core::{Choice, Code};
use sayso_engine::{CallQuestion, ToolCall, captured};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A parsed event.
pub(super) struct Incoming {
    pub(super) verb: Verb,
    /// True if it comes from a subagent: messages for the agent are not delivered to it.
    pub(super) is_sub: bool,
    /// The conversation it is part of.
    pub(super) session: String,
}

/// The action that the client is about to take.
pub(super) enum Verb {
    Call(ToolCall),
    /// Prompt its user for permission to call a tool, in this conversation.
    Dialog(ToolCall, String),
    /// Ask its user questions, or for permission to ask them.
    Questions(Questions),
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
pub(super) struct Questions {
    pub(super) call: ToolCall,
    pub(super) asked: Vec<CallQuestion>,
}

impl Questions {
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

impl Verb {
    /// True if a tool may run after it.
    pub(super) fn may_run(&self) -> bool {
        match self {
            Verb::Call(_) | Verb::Dialog(..) | Verb::Questions(_) => true,
            Verb::Ran(_)
            | Verb::Start
            | Verb::Prompt
            | Verb::Stop { .. }
            | Verb::End(_)
            | Verb::Other => false,
        }
    }
}

impl Incoming {
    /// Parses an event. One that contradicts the command line is refused: the hook is configured wrongly, and the
    /// response would be in the wrong format.
    pub(super) fn read(client: Client, event: &str, bytes: &[u8]) -> Result<Self> {
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
            None if matches!(sort, Sort::Call | Sort::Dialog) => {
                return Err(wrong("it does not say so in hook_event_name".into()));
            }
            _ => {}
        }
        let session = text("session_id").unwrap_or_default().to_owned();
        let verb = match sort {
            Sort::Call | Sort::Dialog if asks(client, &body) => {
                Verb::Questions(questions(&body).map_err(wrong)?)
            }
            Sort::Call => Verb::Call(call(&body).map_err(wrong)?),
            Sort::Dialog => Verb::Dialog(call(&body).map_err(wrong)?, session.clone()),
            Sort::Ran => Verb::Ran(call(&body).ok()),
            Sort::Prompt => Verb::Prompt,
            Sort::Start => Verb::Start,
            Sort::Stop => {
                let again = body.get("stop_hook_active").and_then(Value::as_bool);
                Verb::Stop { again: again.unwrap_or(false) }
            }
            Sort::End => Verb::End(session.clone()),
            Sort::Other => Verb::Other,
            Sort::Unknown => return Err(wrong("no such event is known".into())),
        };
        Ok(Self { verb, is_sub: text("agent_id").is_some(), session })
    }
}

/// The call as it will run: never a title or a description that the model wrote.
fn call(body: &Value) -> std::result::Result<ToolCall, String> {
    let tool = body.get("tool_name").and_then(Value::as_str).ok_or("it names no tool")?;
    let arguments = body.get("tool_input").ok_or("it has no input for the tool")?;
    let root = body.get("cwd").and_then(Value::as_str);
    captured(tool, arguments, root).map_err(|error| error.to_string())
}

fn asks(client: Client, body: &Value) -> bool {
    client == Client::ClaudeCode && body.get("tool_name").and_then(Value::as_str) == Some(ASKS)
}

/// A question, in the format of Claude Code.
#[derive(Deserialize)]
struct Asked {
    question: String,
    #[serde(default)]
    options: Vec<Offered>,
    #[serde(default, rename = "multiSelect")]
    multi: bool,
}

#[derive(Deserialize)]
struct Offered {
    label: String,
    #[serde(default)]
    description: String,
}

fn questions(body: &Value) -> std::result::Result<Questions, String> {
    let call = call(body)?;
    let asked = call.arguments.get("questions").cloned().ok_or("it asks nothing")?;
    let asked: Vec<Asked> = serde_json::from_value(asked).map_err(|e| e.to_string())?;
    let asked = asked
        .into_iter()
        .map(|Asked { question, options, multi }| {
            let options = options
                .into_iter()
                .map(|Offered { label: name, description: consequence }| Choice {
                    name,
                    consequence,
                    declines: false,
                })
                .collect();
            CallQuestion { question, options, multi }
        })
        .collect();
    Ok(Questions { call, asked })
}
