//! The server: one process that any number of people, programs and agents reach over HTTP. It keeps nothing
//! that another one on the same store does not know, so there may be several.

mod agents;
mod api;
mod audit;
mod events;
mod gates;
mod guard;
mod hall;
mod health;
mod line;
mod messages;
mod metrics;
mod openapi;
mod paging;
mod policy;
mod problem;
mod route;
mod runs;
mod tasks;
mod tokens;
mod visitor;
mod when;
mod words;

pub use api::document;
pub use hall::Hall;
pub(crate) use line::LINE_HEADER;
pub(crate) use problem::PROBLEM_JSON;
pub use problem::Problem;

use crate::mcp::{cannot_start, told_to_end};
use axum::Router;
use axum::middleware;
use axum::serve::ListenerExt;
use sayso_engine::{Channel, LocalDesk, Result};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long whoever is being served gets to be served to the end.
const DRAIN: Duration = Duration::from_secs(5);

/// How many calls may wait for the store at one time; the others queue.
const BLOCKING_THREADS: usize = 64;

/// What a server has at hand.
pub struct Setup {
    /// A desk in the store it serves.
    pub desk: LocalDesk,
    /// Where it listens.
    pub address: SocketAddr,
    /// The names it may be called by, beside those of loopback.
    pub hosts: Vec<String>,
    /// Which sayso this is.
    pub version: &'static str,
    /// How it tells people what waits for them.
    pub telling: Telling,
}

/// How a server tells people what waits for them.
#[derive(Default)]
pub struct Telling {
    /// The channels of this machine.
    pub channels: Vec<Channel>,
    /// Where people reach the pages.
    pub pages: Option<String>,
}

/// A server that has its address and serves nobody yet.
pub struct Listening {
    setup: Setup,
    socket: TcpListener,
}

/// Takes an address.
pub fn listen(setup: Setup) -> Result<Listening> {
    let socket = TcpListener::bind(setup.address).map_err(|e| cannot_start(&e))?;
    socket.set_nonblocking(true).map_err(|e| cannot_start(&e))?;
    Ok(Listening { setup, socket })
}

impl Listening {
    /// Where it is reached.
    pub fn url(&self) -> String {
        let address = self.socket.local_addr().map_or_else(|_| "?".into(), |a| a.to_string());
        format!("http://{address}")
    }

    /// Serves until the process is told to end.
    pub fn serve(self) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(BLOCKING_THREADS)
            .enable_all()
            .build()
            .map_err(|e| cannot_start(&e))?;
        let (ending, is_ending) = watch::channel(false);
        let Setup { desk, hosts, version, telling, .. } = self.setup;
        let hall = Hall::open(desk, version, telling, is_ending)?;
        let guard = guard::Guard::new(hosts);
        let app = app(hall, guard);
        let served = runtime.block_on(async move {
            let socket =
                tokio::net::TcpListener::from_std(self.socket).map_err(|e| cannot_start(&e))?;
            // An answer is sent when it is there, and not when the one before it has arrived.
            let socket = socket.tap_io(|connection| {
                let _ = connection.set_nodelay(true);
            });
            let over = async move {
                told_to_end().await;
                // Whoever waits is let go; what they wait for stays.
                let _ = ending.send(true);
                ending
            };
            let (told, is_told) = tokio::sync::oneshot::channel();
            // Made into a service once: a bare router would be made anew, with all its routes, for every
            // connection, and be kept as long as that.
            let app = app.into_make_service();
            let serve = axum::serve(socket, app).with_graceful_shutdown(async move {
                let _ = told.send(over.await);
            });
            tokio::select! {
                served = serve.into_future() => served.map_err(|e| cannot_start(&e)),
                () = async { let _kept = is_told.await; tokio::time::sleep(DRAIN).await } => Ok(()),
            }
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        served
    }
}

fn app(hall: Arc<Hall>, guard: guard::Guard) -> Router {
    Router::new()
        .merge(health::routes())
        .merge(line::routes())
        .merge(api::routes())
        .fallback(problem::no_such_page)
        .layer(middleware::from_fn_with_state(Arc::new(guard), guard::look))
        .with_state(hall)
}
