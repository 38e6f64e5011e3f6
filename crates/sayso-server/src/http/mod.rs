//! The HTTP server: one process for any number of people, programs and agents. It has no state that another one on
//! the same store does not know, so there may be several.

mod agents;
mod api;
mod audit;
mod away;
mod connections;
mod doorway;
mod events;
mod flows;
mod gates;
mod guard;
mod hall;
mod health;
mod knocks;
mod lanes;
mod line;
mod mcp;
mod messages;
mod meter;
mod metrics;
mod openapi;
mod pages;
mod paging;
mod parking;
mod passkeys;
mod policy;
mod problem;
mod prometheus;
mod rewind;
mod route;
mod runs;
mod serving;
mod session;
mod tasks;
mod tls;
mod tokens;
mod traces;
mod turnstile;
mod visit;
mod visitor;
mod when;
mod words;

pub use api::document;
pub use hall::Hall;
pub(crate) use line::LINE_HEADER;
pub use pages::{PageRow, page_rows};
pub use problem::Problem;
pub(crate) use problem::{Failed, PROBLEM_JSON};
pub use tls::TlsFiles;
pub(crate) use traces::Parent;
pub use traces::TracesTo;
pub(crate) use visit::TIMEOUT_HEADER;

use crate::mcp::cannot_start;
use axum::Router;
use axum::middleware;
use axum::routing::get;
use connections::Connections;
use sayso_core::{Code, Refusal};
use sayso_engine::{Channel, Error, LocalDesk, Result};
use serving::{PlainListener, until_told};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tls::TlsListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// The configuration of a server.
pub struct Setup {
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
    pub telling: Telling,
    /// The collector that traces are exported to, if any.
    pub traces: Option<TracesTo>,
    /// Access to the agents on this machine.
    pub machine: Machine,
    /// The most connections at one time: what the system allows, less what the store needs.
    pub connections_max: usize,
}

/// Access to the agents on the machine a server runs on.
#[derive(Clone)]
pub struct Machine {
    /// Returns the last lines an agent printed in a turn.
    pub output: Output,
    /// True if a managed agent runs; None where it was started on another machine.
    pub is_alive: IsAlive,
}

/// A function that returns the last lines an agent printed in a turn.
pub type Output = Arc<dyn Fn(&sayso_core::run::Run) -> Vec<String> + Send + Sync>;

/// A function that tells whether an agent runs, where that can be seen.
pub type IsAlive = Arc<dyn Fn(&sayso_engine::Stationed) -> Option<bool> + Send + Sync>;

/// The settings of notifications to people.
#[derive(Default)]
pub struct Telling {
    /// The channels of this machine.
    pub channels: Vec<Channel>,
    /// The address at which people reach the pages.
    pub pages: Option<String>,
}

/// A server that is bound to its address and accepts no connections yet.
pub struct Listening {
    setup: Setup,
    socket: TcpListener,
    acceptor: Option<TlsAcceptor>,
}

/// Binds the address of a server.
pub fn listen(setup: Setup) -> Result<Listening> {
    let acceptor = setup.tls.clone().map(tls::acceptor).transpose()?;
    let socket = TcpListener::bind(setup.address).map_err(|e| cannot_listen(setup.address, &e))?;
    socket.set_nonblocking(true).map_err(|e| cannot_start(&e))?;
    Ok(Listening { setup, socket, acceptor })
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

impl Listening {
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
            .max_blocking_threads(lanes::THREADS)
            .enable_all()
            .build()
            .map_err(|e| cannot_start(&e))?;
        let (ending, is_ending) = watch::channel(false);
        tracing::info!(url = self.url(), space = self.setup.desk.space_name(), "serving");
        let Setup { desk, hosts, version, telling, traces, machine, connections_max, .. } =
            self.setup;
        let connections = Connections::new(connections_max);
        let traces = traces.map(|to| traces::Traces::start(to, version));
        let has_tls = self.acceptor.is_some();
        let hall = Hall::open(desk, version, telling, traces, machine, is_ending, has_tls)?;
        let app = app(hall.clone(), guard::Guard::new(hosts));
        let served = runtime.block_on(async move {
            let socket =
                tokio::net::TcpListener::from_std(self.socket).map_err(|e| cannot_start(&e))?;
            match self.acceptor {
                Some(acceptor) => {
                    let listener = TlsListener::new(socket, acceptor, connections.clone());
                    until_told(listener, connections, hall, app, ending).await;
                }
                None => {
                    let listener = PlainListener::new(socket, connections.clone());
                    until_told(listener, connections, hall, app, ending).await;
                }
            }
            Ok(())
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        tracing::info!("ended");
        served
    }
}

fn app(hall: Arc<Hall>, guard: guard::Guard) -> Router {
    Router::new()
        .merge(health::routes())
        .merge(prometheus::routes())
        .merge(line::routes())
        .merge(api::routes())
        .merge(mcp::routes())
        .merge(session::routes())
        .merge(pages::routes())
        .route("/errors/{code}", get(problem::page))
        .fallback(problem::no_such_page)
        .layer(middleware::from_fn_with_state(hall.clone(), doorway::look))
        .layer(middleware::from_fn_with_state(Arc::new(knocks::Knocks::default()), knocks::look))
        .layer(middleware::from_fn_with_state(Arc::new(guard), guard::look))
        .layer(middleware::from_fn_with_state(hall.clone(), visit::watch))
        .with_state(hall)
}
