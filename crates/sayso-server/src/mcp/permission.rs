//! MCP permission prompt: clients ask this tool in place of their user whether a tool call may run. The words are
//! those of Claude Code; anything else than its "allow" blocks the call.

use super::{McpServer, tools};
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, JsonObject};
use rmcp::service::RequestContext;
use sayso_core::Actor;
use sayso_engine::{CallRuling, Result, ToolCall, capture_tool_call};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "Prompt")]
pub(super) struct PermissionPromptArgs {
    /// The tool that is to run.
    tool_name: String,
    /// The arguments it is to run with.
    input: JsonObject,
}

impl McpServer {
    pub(super) async fn permission(
        &self,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
        actor: &Actor,
    ) -> Result<CallToolResponse> {
        let PermissionPromptArgs { tool_name, input } = tools::read(arguments)?;
        let input = Value::Object(input);
        let call = capture_tool_call(&tool_name, &input, self.setup.root.as_deref())?;
        let ruling = self.ruling(&call, context, actor.clone()).await?;
        let said = match ruling {
            CallRuling::Allowed => json!({"behavior": "allow", "updatedInput": input}),
            CallRuling::Granted { arguments, .. } => {
                json!({"behavior": "allow", "updatedInput": arguments.unwrap_or(input)})
            }
            CallRuling::Denied { reason, interrupts } => {
                json!({"behavior": "deny", "message": reason, "interrupt": interrupts})
            }
            CallRuling::Held(gate) => json!({"behavior": "deny", "message": format!(
                "This waits for a person: gate {}. It has not run. Go on with other work or end your turn; \
                 the same call again gets the answer.",
                gate.handle()
            )}),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(said.to_string())]).into())
    }

    /// Returns the ruling; where a person is asked, their answer, if it comes in time.
    async fn ruling(
        &self,
        call: &ToolCall,
        context: &RequestContext<RoleServer>,
        mut actor: Actor,
    ) -> Result<CallRuling> {
        let end = Instant::now() + self.setup.hold;
        loop {
            let asked = call.clone();
            let rule = move |at: &super::ToolContext| {
                at.setup.desk.rule_in_place_of_user(&at.actor, asked)
            };
            let ruling = self.at_the_desk(&actor, rule).await?;
            let left = end.saturating_duration_since(Instant::now());
            match ruling {
                CallRuling::Held(gate) if left > Duration::ZERO => {
                    self.wait(*gate, left, context).await?;
                    actor = self.authenticate_again(context).await?;
                }
                ruling => return Ok(ruling),
            }
        }
    }
}
