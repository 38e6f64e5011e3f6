//! MCP server for agents that speak the Model Context Protocol, over standard input and output or over HTTP. Through
//! it an agent asks, works on tasks and reads its messages. No tool here answers a gate, and every caller is an
//! agent, by its credential.
//!
//! The newest revision of the protocol and those with a handshake before it are served alike.

mod agents;
mod gates;
mod http;
mod messages;
mod permission;
mod resources;
mod responses;
mod sessions;
mod tasks;
mod tools;
mod wait;

pub use http::{BoundMcpServer, listen};
pub(crate) use http::{PATH, endpoint, shutdown_signal};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ContentBlock, Implementation, ListPromptsRequestMethod,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use sayso_core::{Actor, EntryPoint, GateId, Permission, Refusal, Role, Timestamp};
use sayso_engine::{Desk, Error, GateWaiters, Result};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinError;
use tools::ToolHandler;

/// The time for which a list can be cached, in milliseconds: it changes with the version of the program alone.
const LIST_TTL_MS: u64 = 3_600_000;

/// The configuration of the MCP server.
#[derive(Clone)]
pub struct McpSetup {
    /// The desk of the space.
    pub desk: Desk,
    /// The time a call waits for a person before it returns without an answer.
    pub hold: Duration,
    /// The folder in which the agent works, where that is known.
    pub root: Option<String>,
    /// Formats moments for the agent.
    pub time: fn(Timestamp) -> String,
}

/// The MCP server, for one agent or for the holders of tokens.
#[derive(Clone)]
struct McpServer {
    setup: McpSetup,
    waits: GateWaiters,
    who: CallerIdentity,
    handed: DeliveredAnswers,
}

/// Answers that were delivered and not acknowledged yet, by agent. If the agent asks or does something next, that
/// shows that it got them: the same words are a new question then. A repeated question is a nuisance; a repeated yes
/// is none.
#[derive(Clone, Default)]
struct DeliveredAnswers(Arc<Mutex<HashMap<String, Vec<GateId>>>>);

impl DeliveredAnswers {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Vec<GateId>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, agent: &str, gate: GateId) {
        self.all().entry(agent.to_owned()).or_default().push(gate);
    }

    fn take(&self, agent: &str) -> Vec<GateId> {
        self.all().remove(agent).unwrap_or_default()
    }
}

/// A function that returns the one agent that a process was started for. Called anew each time: a token that was
/// revoked meanwhile counts no more.
pub type AgentResolver = Arc<dyn Fn() -> Result<Actor> + Send + Sync>;

/// The source of the caller's identity.
#[derive(Clone)]
enum CallerIdentity {
    /// The one agent this process was started for.
    One(AgentResolver),
    /// The agent that the token of the request belongs to.
    Bearer,
}

/// The context of a tool call.
struct ToolContext {
    setup: McpSetup,
    actor: Actor,
    handed: DeliveredAnswers,
}

impl ToolContext {
    /// Checks a permission; a refusal is audited.
    fn check(&self, deed: Permission, what: &str) -> Result<()> {
        Ok(self.actor.check(deed, what).inspect_err(|refusal| {
            self.setup.desk.note_refusal(&self.actor, refusal);
        })?)
    }

    /// Checks that the caller may read tasks: a credential that only asks sees none.
    fn check_may_track(&self) -> Result<()> {
        self.check(Permission::Track, "read tasks")
    }

    /// Delivers an answer to the agent.
    fn hand_over(&self, gate: GateId) -> Result<()> {
        self.setup.desk.deliver(&self.actor, gate)?;
        self.handed.add(&self.actor.name, gate);
        Ok(())
    }

    /// Acknowledges the answers that were delivered: the agent has continued. A failure here is tried again another
    /// time.
    fn acknowledge_delivered(&self) {
        for gate in self.handed.take(&self.actor.name) {
            if self.setup.desk.acknowledge(&self.actor, gate).is_err() {
                self.handed.add(&self.actor.name, gate);
            }
        }
    }
}

/// Serves one agent on standard input and output, until it hangs up.
pub fn on_stdio(setup: McpSetup, caller: AgentResolver) -> Result<()> {
    check_is_agent(&caller()?)?;
    let runtime = runtime(1)?;
    let waits = GateWaiters::start(setup.desk.clone())?;
    let handed = DeliveredAnswers::default();
    let left = ToolContext { setup: setup.clone(), actor: caller()?, handed: handed.clone() };
    let door = McpServer { setup, waits, who: CallerIdentity::One(caller), handed };
    runtime.block_on(async move {
        // A client that hangs up before the first message wanted nothing.
        if let Ok(service) = door.serve(rmcp::transport::stdio()).await {
            let _ = service.waiting().await;
        }
    });
    // A client that hangs up has read what was delivered.
    left.acknowledge_delivered();
    // A read of standard input that is under way would delay the end.
    runtime.shutdown_background();
    Ok(())
}

fn runtime(threads: usize) -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .max_blocking_threads(16)
        .enable_all()
        .build()
        .map_err(|e| cannot_start(&e))
}

pub(crate) fn cannot_start(error: &std::io::Error) -> Error {
    Refusal::new(sayso_core::Code::Failure, format!("the server cannot start: {error}")).into()
}

/// Checks that the caller is an agent. A person's token would let a program do what only a person may.
pub fn check_is_agent(actor: &Actor) -> Result<()> {
    if actor.role == Role::Agent {
        return Ok(());
    }
    let message = format!(
        "MCP is the door of agents, and this is a token of the role {}",
        actor.role.as_str()
    );
    let hint = "make one for the agent with: sayso token create --role agent --name NAME";
    Err(Refusal::new(sayso_core::Code::NotAllowed, message).hint(hint).into())
}

/// The permits for calls of agents that run at one time; the others wait. At a server the threads are shared with
/// other requests.
static AT_WORK: Semaphore = Semaphore::const_new(24);

/// Runs work that may wait for the store, where it delays only other agents.
async fn at_work<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> std::result::Result<T, JoinError> {
    // It is never closed; if it were, the work would be done all the same.
    let room = AT_WORK.acquire().await.ok();
    tokio::task::spawn_blocking(move || {
        let _room = room;
        work()
    })
    .await
}

impl McpServer {
    /// Runs work that reads or writes the store, on a thread that may block.
    async fn at_the_desk<T: Send + 'static>(
        &self,
        actor: &Actor,
        work: impl FnOnce(&ToolContext) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (mut setup, handed) = (self.setup.clone(), self.handed.clone());
        setup.desk = setup.desk.as_reader(actor);
        let sitting = ToolContext { setup, actor: actor.clone(), handed };
        match at_work(move || work(&sitting)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Refusal::new(sayso_core::Code::Failure, "sayso failed").into()),
        }
    }

    /// Authenticates the caller, by its credential and nothing else.
    async fn caller(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> std::result::Result<Actor, ErrorData> {
        let caller = match &self.who {
            CallerIdentity::One(caller) => caller.clone(),
            CallerIdentity::Bearer => {
                let secret = http::bearer(&context.extensions).unwrap_or_default();
                let desk = self.setup.desk.clone();
                Arc::new(move || known(&desk, &secret))
            }
        };
        match at_work(move || caller()).await {
            Ok(Ok(actor)) => Ok(actor),
            Ok(Err(error)) => Err(ErrorData::invalid_request(in_words(&error), None)),
            Err(_) => Err(ErrorData::internal_error("sayso failed", None)),
        }
    }

    /// Authenticates again after a wait: a caller that lost its access meanwhile gets nothing.
    async fn authenticate_again(&self, context: &RequestContext<RoleServer>) -> Result<Actor> {
        self.caller(context).await.map_err(|error| {
            Refusal::new(sayso_core::Code::BadToken, error.message.into_owned()).into()
        })
    }

    async fn run(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        actor: &Actor,
    ) -> Result<CallToolResponse> {
        let Some(tool) = tools::find(&request.name) else {
            let message = format!("there is no tool {:?}", request.name);
            return Err(Refusal::new(sayso_core::Code::NotFound, message).into());
        };
        let arguments = request.arguments.clone().unwrap_or_default();
        match tool.run {
            ToolHandler::Now(run) => {
                // A tool that only reads may be looking for the answer.
                let goes_on = !tool.reads;
                let work = move |at: &ToolContext| {
                    let value = run(at, arguments)?;
                    if goes_on {
                        at.acknowledge_delivered();
                    }
                    Ok(value)
                };
                let value = self.at_the_desk(actor, work).await?;
                Ok(CallToolResult::structured(value).into())
            }
            ToolHandler::Ask => self.ask_human(request, context, actor).await,
            ToolHandler::Permission => self.permission(arguments, context, actor).await,
        }
    }
}

/// Returns the agent whose token this is.
fn known(desk: &Desk, secret: &str) -> Result<Actor> {
    let actor = desk.authenticate(secret, EntryPoint::Mcp)?;
    check_is_agent(&actor)?;
    Ok(actor)
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("sayso", env!("CARGO_PKG_VERSION")))
            .with_instructions(resources::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<ListToolsResult, ErrorData> {
        let tools = tools::TOOLS.iter().map(tools::ToolEntry::described).collect();
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(LIST_TTL_MS))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::find(name).map(tools::ToolEntry::described)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        let actor = self.caller(&context).await?;
        if tools::find(&request.name).is_none() {
            return Err(ErrorData::invalid_params(
                format!("there is no tool {:?}", request.name),
                None,
            ));
        }
        // A refusal is for the model to read: an error of the protocol is not shown to it.
        match self.run(request, &context, &actor).await {
            Ok(response) => Ok(response),
            Err(error) => Ok(refused(&error).into()),
        }
    }

    // The library would answer these with nothing; what we do not have we do not claim.
    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::all()).with_ttl_ms(LIST_TTL_MS))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates())
            .with_ttl_ms(LIST_TTL_MS))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> std::result::Result<ReadResourceResponse, ErrorData> {
        let actor = self.caller(&context).await?;
        let uri = request.uri.clone();
        let read = self.at_the_desk(&actor, move |at| resources::read(at, &uri)).await;
        match read {
            Ok(Some(contents)) => Ok(contents.into()),
            Ok(None) => Err(ErrorData::resource_not_found(
                format!("there is no resource {:?}", request.uri),
                Some(json!({"uri": request.uri})),
            )),
            Err(error) => Err(ErrorData::invalid_params(in_words(&error), None)),
        }
    }
}

/// Renders a refusal as the command line words it, for a model to read.
fn refused(error: &Error) -> CallToolResult {
    let code = error.code();
    let mut body =
        json!({"code": code.as_str(), "title": code.title(), "message": error.to_string()});
    if let Some(hint) = error.hint() {
        body["hint"] = Value::String(hint.to_owned());
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(in_words(error))]);
    result.structured_content = Some(json!({"error": body}));
    result
}

fn in_words(error: &Error) -> String {
    let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{}: {error}{hint}", error.code().as_str())
}
