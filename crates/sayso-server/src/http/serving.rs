//! Connections: taken in, served, parked while their request waits, and let go when the server ends.

use super::BLOCKING_THREADS;
use super::hall::Hall;
use super::knocks::Peer;
use super::parking::{Parked, Spot, Ticket};
use super::rewind::Rewind;
use crate::mcp::told_to_end;
use axum::Router;
use axum::body::Bytes;
use axum::extract::ConnectInfo;
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::server::TlsStream;
use tower::Service;

/// How long whoever is being served gets to be served to the end.
const DRAIN: Duration = Duration::from_secs(5);

/// How many who came or were woken together are at work at one time. A few more than can go to the store.
const AT_WORK_MAX: usize = 2 * BLOCKING_THREADS;

/// How long the next one waits for room at most. So those who are slow do not keep out the others.
const ROOM_PATIENCE: Duration = Duration::from_millis(5);

/// Serves until the process is told to end.
pub(super) async fn until_told<L: Listener<Addr = SocketAddr>>(
    listener: L,
    hall: Arc<Hall>,
    app: Router,
    ending: watch::Sender<bool>,
) where
    L::Io: Socket,
{
    let (all, one) = watch::channel(());
    let (came, woken) = Default::default();
    let serving = Serving { hall, app, came, woken };
    tokio::select! {
        () = take_in(listener, Arc::new(serving), one) => {}
        () = told_to_end() => {}
    }
    tracing::info!("told to end");
    // Whoever waits is let go; what they wait for stays.
    let _ = ending.send(true);
    let _ = tokio::time::timeout(DRAIN, all.closed()).await;
}

/// Takes in whoever comes. Each of them keeps `one` until they go.
async fn take_in<L: Listener<Addr = SocketAddr>>(
    mut listener: L,
    serving: Arc<Serving>,
    one: watch::Receiver<()>,
) where
    L::Io: Socket,
{
    loop {
        let (socket, from) = listener.accept().await;
        let (serving, one) = (serving.clone(), one.clone());
        tokio::spawn(async move {
            serving.attend(socket, from.ip()).await;
            drop(one);
        });
    }
}

/// Takes connections without TLS.
pub(super) struct PlainListener(TcpListener);

impl PlainListener {
    pub(super) fn new(socket: TcpListener) -> Self {
        Self(socket)
    }
}

impl Listener for PlainListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        let (connection, from) = Listener::accept(&mut self.0).await;
        at_once(&connection);
        (connection, from)
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// An answer is sent when it is there, and not when the one before it has arrived.
pub(super) fn at_once(connection: &TcpStream) {
    let _ = connection.set_nodelay(true);
}

/// A connection by TCP, perhaps with something in between.
pub(super) trait Socket: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Whether what is in between may have read more than it was asked for.
    const READS_AHEAD: bool;

    fn tcp(&self) -> &TcpStream;
}

impl Socket for TcpStream {
    const READS_AHEAD: bool = false;

    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Socket for TlsStream<TcpStream> {
    const READS_AHEAD: bool = true;

    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// What all connections are served with.
struct Serving {
    hall: Arc<Hall>,
    app: Router,
    /// For those who came, and for those who were parked: nobody from outside keeps these from coming back.
    came: Turnstile,
    woken: Turnstile,
}

/// A connection that is to be served: what is read first, and the rest.
struct Turn<S> {
    before: Bytes,
    socket: S,
    may_park: bool,
    ticket: Option<Ticket>,
    room: Option<OwnedSemaphorePermit>,
}

impl Serving {
    /// Serves a connection for as long as it is there.
    async fn attend<S: Socket>(&self, socket: S, from: IpAddr) {
        let mut next = self.first(socket).await;
        while let Some(turn) = next {
            // In a box, which whoever is parked does not keep.
            next = match Box::pin(self.serve(turn, from)).await {
                Some((parked, socket, behind)) => self.park(parked, socket, behind).await,
                None => None,
            };
        }
    }

    /// A connection that is new. It costs little until something is said.
    async fn first<S: Socket>(&self, socket: S) -> Option<Turn<S>> {
        if !S::READS_AHEAD {
            tokio::select! {
                _ = socket.tcp().readable() => {}
                () = self.hall.ending() => return None,
            }
        }
        let room = self.came.pass().await;
        Some(Turn { before: Bytes::new(), socket, may_park: true, ticket: None, room })
    }

    /// Serves until the connection is over, or its request is parked: then there is that, the socket, and what
    /// was read behind the request.
    async fn serve<S: Socket>(&self, turn: Turn<S>, from: IpAddr) -> Option<(Parked, S, Bytes)> {
        let spot = Spot::new(turn.may_park, turn.ticket, turn.room);
        let (app, at) = (self.app.clone(), spot.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(Peer(from)));
            request.extensions_mut().insert(at.begin());
            let (answer, at) = (app.clone().call(request), at.clone());
            async move {
                let answer = answer.await;
                at.end();
                answer
            }
        });
        let io = TokioIo::new(Rewind::new(turn.before, turn.socket, spot.clone()));
        let mut connection = http1::Builder::new().serve_connection(io, service);
        let mut is_closing = false;
        let parked = loop {
            let step = poll_fn(|cx| {
                // How a connection ended badly is nobody's business but the client's.
                if Pin::new(&mut connection).poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                spot.leave_unless_at_work();
                spot.take().map_or(Poll::Pending, |parked| Poll::Ready(Some(parked)))
            });
            tokio::select! {
                // A request that is there is read before the connection is told to take no more of them.
                biased;
                step = step => break step?,
                () = self.hall.ending(), if !is_closing => {
                    is_closing = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
            }
        };
        let parts = connection.into_parts();
        let (socket, unread) = parts.io.into_inner().into_parts();
        Some((parked, socket, [parts.read_buf, unread].concat().into()))
    }

    /// Keeps a request until there is something to tell, and gives it back to be served. Nobody is there any
    /// more if the client has gone.
    async fn park<S: Socket>(&self, parked: Parked, socket: S, behind: Bytes) -> Option<Turn<S>> {
        // Whoever sends more behind a request that is held waits with their connection as it is: what they
        // sent has to be kept, and their end would come unseen behind it.
        let stays = behind.is_empty() && self.is_left(&parked, socket.tcp()).await?;
        let room = if stays { self.woken.pass().await } else { None };
        let before = [&parked.request, &behind[..]].concat().into();
        Some(Turn { before, socket, may_park: stays, ticket: Some(parked.ticket), room })
    }

    /// Waits until a parked request is to be served. Says whether nothing else came meanwhile; none if the
    /// client has gone.
    async fn is_left(&self, parked: &Parked, socket: &TcpStream) -> Option<bool> {
        let _parked = self.hall.meter().park();
        let mut byte = [0];
        tokio::select! {
            () = parked.is_due() => Some(true),
            () = self.hall.ending() => Some(true),
            seen = socket.peek(&mut byte) => match seen {
                Ok(1..) => Some(false),
                Ok(0) | Err(_) => None,
            },
        }
    }
}

/// Lets in one after the other, so that many who come together do not need their memory together.
struct Turnstile {
    turn: Mutex<()>,
    room: Arc<Semaphore>,
}

impl Default for Turnstile {
    fn default() -> Self {
        Self { turn: Mutex::default(), room: Arc::new(Semaphore::new(AT_WORK_MAX)) }
    }
}

impl Turnstile {
    /// Lets somebody in, with room to work if there was some in time.
    async fn pass(&self) -> Option<OwnedSemaphorePermit> {
        let _turn = self.turn.lock().await;
        let room = self.room.clone().acquire_owned();
        tokio::time::timeout(ROOM_PATIENCE, room).await.ok()?.ok()
    }
}
