//! The HTTP server: one process for any number of people, programs and agents. It has no state that another one on
//! the same store does not know, so there may be several.

mod absence;
mod access_log;
mod admission;
mod agents;
mod api;
mod audit;
mod auth;
mod auth_throttle;
mod connection_limit;
mod connection_server;
mod events;
mod flows;
mod gates;
mod health;
mod mcp;
mod messages;
mod metrics;
mod openapi;
mod origin_guard;
mod pages;
mod paging;
mod params;
mod parking;
mod passkeys;
mod policy;
mod problem;
mod process_metrics;
mod prometheus;
mod replay_io;
mod request_lanes;
mod route;
mod rpc;
mod runs;
mod session;
mod state;
mod tasks;
mod time;
mod tls;
mod tokens;
mod trace_export;
mod turnstile;

pub(crate) use access_log::TIMEOUT_HEADER;
pub use api::document;
pub use pages::{PageRow, page_rows};
pub use problem::ProblemDetails;
pub(crate) use problem::{ErrorResponse, PROBLEM_JSON};
pub(crate) use rpc::LINE_HEADER;
pub use state::AppState;
pub use tls::TlsFiles;
pub use trace_export::TraceCollector;
pub(crate) use trace_export::TraceParent;

use crate::mcp::cannot_start;
use axum::Router;
use axum::middleware;
use axum::routing::get;
use connection_limit::ConnectionLimiter;
use connection_server::{PlainListener, serve_until_shutdown};
use sayso_core::{Code, Refusal};
use sayso_engine::{Error, LocalDesk, NoticeChannel, Result};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tls::TlsListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// The configuration of a server.
pub struct ServerSetup {
    /// A desk in the store it serves.
    pub desk: LocalDesk,
    /// The address it listens on.
    pub address: SocketAddr,
    /// The host names it answers to, beside those of loopback.
    pub hosts: Vec<String>,
    /// The certificate it presents; without one it speaks plain HTTP.
    pub tls: Option<TlsFiles>,
    pub version: &'static str,
    /// The settings of notifications to people.
    pub telling: NotificationSetup,
    /// The collector that traces are exported to, if any.
    pub traces: Option<TraceCollector>,
    /// Access to the agents on this machine.
    pub machine: AgentInspector,
    /// The most connections at one time: what the system allows, less what the store needs.
    pub connections_max: usize,
}

/// Access to the agents on the machine a server runs on.
#[derive(Clone)]
pub struct AgentInspector {
    /// Returns the last lines an agent printed in a turn.
    pub output: OutputReader,
    /// True if a managed agent runs; None where it was started on another machine.
    pub is_alive: LivenessCheck,
}

/// A function that returns the last lines an agent printed in a turn.
pub type OutputReader = Arc<dyn Fn(&sayso_core::run::Run) -> Vec<String> + Send + Sync>;

/// A function that tells whether an agent runs, where that can be seen.
pub type LivenessCheck = Arc<dyn Fn(&sayso_engine::RunningAgent) -> Option<bool> + Send + Sync>;

/// The settings of notifications to people.
#[derive(Default)]
pub struct NotificationSetup {
    /// The channels of this machine.
    pub channels: Vec<NoticeChannel>,
    /// The address at which people reach the pages.
    pub pages: Option<String>,
}

/// A server that is bound to its address and accepts no connections yet.
pub struct BoundServer {
    setup: ServerSetup,
    socket: TcpListener,
    acceptor: Option<TlsAcceptor>,
}

/// Binds the address of a server.
pub fn listen(setup: ServerSetup) -> Result<BoundServer> {
    let acceptor = setup.tls.clone().map(tls::acceptor).transpose()?;
    let socket = TcpListener::bind(setup.address).map_err(|e| cannot_listen(setup.address, &e))?;
    socket.set_nonblocking(true).map_err(|e| cannot_start(&e))?;
    Ok(BoundServer { setup, socket, acceptor })
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Error {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => {
            "something listens there already, maybe another server; take another place with --listen"
        }
        ErrorKind::PermissionDenied => {
            "ports below 1024 take more rights than this account has; take another with --listen"
        }
        _ => "name an address of this machine with --listen",
    };
    let message = format!("nothing can be served at {address}: {error}");
    Refusal::new(Code::Failure, message).hint(hint).into()
}

impl BoundServer {
    /// Returns the URL of the server. A certificate is for a name, so there the URL has the name.
    pub fn url(&self) -> String {
        let address = self.socket.local_addr().unwrap_or(self.setup.address);
        match (&self.acceptor, self.setup.hosts.first()) {
            (None, _) => format!("http://{address}"),
            (Some(_), Some(host)) if host.contains(':') => format!("https://{host}"),
            (Some(_), Some(host)) => format!("https://{host}:{}", address.port()),
            (Some(_), None) => format!("https://{address}"),
        }
    }

    /// Serves until the process is told to end.
    pub fn serve(self) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(request_lanes::THREADS)
            .enable_all()
            .build()
            .map_err(|e| cannot_start(&e))?;
        let (ending, is_ending) = watch::channel(false);
        tracing::info!(url = self.url(), space = self.setup.desk.space_name(), "serving");
        let ServerSetup { desk, hosts, version, telling, traces, machine, connections_max, .. } =
            self.setup;
        let connections = ConnectionLimiter::new(connections_max);
        let traces = traces.map(|to| trace_export::TraceExporter::start(to, version));
        let has_tls = self.acceptor.is_some();
        let hall = AppState::open(desk, version, telling, traces, machine, is_ending, has_tls)?;
        let app = app(hall.clone(), origin_guard::OriginGuard::new(hosts));
        let served = runtime.block_on(async move {
            let socket =
                tokio::net::TcpListener::from_std(self.socket).map_err(|e| cannot_start(&e))?;
            match self.acceptor {
                Some(acceptor) => {
                    let listener = TlsListener::new(socket, acceptor, connections.clone());
                    serve_until_shutdown(listener, connections, hall, app, ending).await;
                }
                None => {
                    let listener = PlainListener::new(socket, connections.clone());
                    serve_until_shutdown(listener, connections, hall, app, ending).await;
                }
            }
            Ok(())
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        tracing::info!("ended");
        served
    }
}

fn app(hall: Arc<AppState>, guard: origin_guard::OriginGuard) -> Router {
    Router::new()
        .merge(health::routes())
        .merge(prometheus::routes())
        .merge(rpc::routes())
        .merge(api::routes())
        .merge(mcp::routes())
        .merge(session::routes())
        .merge(pages::routes())
        .route("/errors/{code}", get(problem::page))
        .fallback(problem::no_such_page)
        .layer(middleware::from_fn_with_state(hall.clone(), admission::admit))
        .layer(middleware::from_fn_with_state(
            Arc::new(auth_throttle::AuthThrottle::default()),
            auth_throttle::throttle,
        ))
        .layer(middleware::from_fn_with_state(Arc::new(guard), origin_guard::guard_origin))
        .layer(middleware::from_fn_with_state(hall.clone(), access_log::log_request))
        .with_state(hall)
}
