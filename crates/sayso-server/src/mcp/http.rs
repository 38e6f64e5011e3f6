//! MCP over HTTP: streamable, on loopback unless said otherwise, and only with an agent's token.

use super::sessions::Sessions;
use super::{CallerIdentity, McpServer, McpSetup, at_work, cannot_start, known, runtime};
use crate::http::ErrorResponse;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Method, StatusCode, request::Parts};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use rmcp::model::Extensions;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use sayso_core::{Actor, Digest};
use sayso_engine::{Desk, GateWaiters, Result};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The header that names an MCP session.
const SESSION: &str = "mcp-session-id";

/// The path of the endpoint.
pub(crate) const PATH: &str = "/mcp";

/// A server that is bound to its address and accepts no connections yet.
pub struct BoundMcpServer {
    setup: McpSetup,
    socket: TcpListener,
    hosts: Vec<String>,
}

/// Binds the address of a server. `hosts` are the names clients may call this machine by, beside those of loopback.
pub fn listen(setup: McpSetup, address: SocketAddr, hosts: Vec<String>) -> Result<BoundMcpServer> {
    let socket = TcpListener::bind(address).map_err(|e| cannot_start(&e))?;
    socket.set_nonblocking(true).map_err(|e| cannot_start(&e))?;
    Ok(BoundMcpServer { setup, socket, hosts })
}

impl BoundMcpServer {
    /// Returns the URL at which agents reach it.
    pub fn url(&self) -> String {
        let address = self.socket.local_addr().map_or_else(|_| "?".into(), |a| a.to_string());
        format!("http://{address}{PATH}")
    }

    /// Serves until the process is told to end.
    pub fn serve(self) -> Result<()> {
        let runtime = runtime(2)?;
        let waits = GateWaiters::start(self.setup.desk.clone())?;
        runtime.block_on(async move {
            let config = StreamableHttpServerConfig::default();
            let stop = config.cancellation_token.clone();
            let mut hosts = config.allowed_hosts.clone();
            hosts.extend(self.hosts);
            let config = config.with_allowed_hosts(hosts).enforce_origin_validation();
            let app = app(self.setup, waits, config);
            let socket =
                tokio::net::TcpListener::from_std(self.socket).map_err(|e| cannot_start(&e))?;
            let serve = axum::serve(socket, app).into_future();
            tokio::select! {
                served = serve => served.map_err(|e| cannot_start(&e)),
                () = shutdown_signal() => {
                    // Held calls are released; their questions stay.
                    stop.cancel();
                    Ok(())
                }
            }
        })
    }
}

/// Builds the endpoint of one space at a server, which has checked hosts and origins itself; also returns the
/// function that closes it.
pub(crate) fn endpoint(
    setup: McpSetup,
    waits: GateWaiters,
) -> (Router, impl FnOnce() + Send + 'static) {
    let config = StreamableHttpServerConfig::default();
    let stop = config.cancellation_token.clone();
    let app = app(setup, waits, config.disable_allowed_hosts().disable_allowed_origins());
    (app, move || stop.cancel())
}

fn app(setup: McpSetup, waits: GateWaiters, config: StreamableHttpServerConfig) -> Router {
    let desk = setup.desk.clone();
    let door = McpServer {
        setup,
        waits,
        who: CallerIdentity::Bearer,
        handed: super::DeliveredAnswers::default(),
    };
    let manager = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(door.clone()), manager.clone(), config);
    let porter = SessionGuard { desk, manager, sessions: Arc::default() };
    Router::new().nest_service(PATH, service).layer(middleware::from_fn_with_state(porter, let_in))
}

/// Authenticates agents, and knows the owners of the sessions that older revisions of the protocol have.
#[derive(Clone)]
struct SessionGuard {
    desk: Desk,
    manager: Arc<LocalSessionManager>,
    sessions: Arc<Mutex<Sessions>>,
}

impl SessionGuard {
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if a request may be part of the session it names: only of one of its own.
    fn owns(&self, token: &Digest, session: Option<&str>) -> bool {
        session.is_none_or(|session| self.sessions().is_of(session, token))
    }

    /// Takes up a conversation that was begun, which counts as a write of the agent. It may end an older one.
    async fn take_up(&self, begun: String, token: Digest, actor: Actor) -> Result<()> {
        let desk = self.desk.clone();
        let paced = at_work(move || desk.count_call(&actor)).await;
        if let Ok(Err(error)) = paced {
            self.end(&begun).await;
            return Err(error);
        }
        let known = self.sessions().ids();
        let mut over = vec![];
        for id in known {
            // It may have ended by itself, for nothing was said in it.
            if !self.manager.has_session(&id.as_str().into()).await.unwrap_or_default() {
                over.push(id);
            }
        }
        let crowded = {
            let mut sessions = self.sessions();
            over.iter().for_each(|id| sessions.end(id));
            sessions.begin(begun, token)
        };
        for id in crowded {
            self.end(&id).await;
        }
        Ok(())
    }

    async fn end(&self, session: &str) {
        // One that cannot be told to end has ended.
        let _ = self.manager.close_session(&session.into()).await;
    }
}

/// Authenticates a request: without an agent's token it gets neither as far as the protocol, nor into the session of
/// another.
async fn let_in(
    State(porter): State<SessionGuard>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let secret = secret(request.headers().get(AUTHORIZATION)).unwrap_or_default();
    let token = Digest::of_bytes(secret.as_bytes());
    let desk = porter.desk.clone();
    let actor = match at_work(move || known(&desk, &secret)).await {
        Ok(Ok(actor)) => actor,
        Ok(Err(error)) => return ErrorResponse(error).into_response(),
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    let session = named(request.headers());
    if !porter.owns(&token, session.as_deref()) {
        return (StatusCode::NOT_FOUND, "there is no such session of yours").into_response();
    }
    let is_over = request.method() == Method::DELETE;
    let response = next.run(request).await;
    if let Some(begun) = named(response.headers()).filter(|_| session.is_none())
        && let Err(error) = porter.take_up(begun, token, actor).await
    {
        return ErrorResponse(error).into_response();
    }
    if let Some(over) = session.filter(|_| is_over) {
        porter.sessions().end(&over);
    }
    response
}

/// Returns the session of a request or a response.
fn named(headers: &HeaderMap) -> Option<String> {
    headers.get(SESSION)?.to_str().ok().map(str::to_owned)
}

fn secret(header: Option<&axum::http::HeaderValue>) -> Option<String> {
    let value = header?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim().to_owned())
}

/// Returns the token a request came with.
pub(super) fn bearer(extensions: &Extensions) -> Option<String> {
    secret(extensions.get::<Parts>()?.headers.get(AUTHORIZATION))
}

pub(crate) async fn shutdown_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
