//! Connections: taken in, served, parked while their request waits, and let go when the server ends. Each has a time for
//! its next request, and for taking its answer.

use super::connections::{Connections, Loss, Seat, accept};
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
use hyper_util::rt::{TokioIo, TokioTimer};
use std::error::Error as StdError;
use std::future::poll_fn;
use std::io::ErrorKind;
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

/// How long the head of the next request may take to arrive, from when it could.
const HEAD_PATIENCE: Duration = Duration::from_secs(20);

/// How many who were woken together are at work at one time. A few more than can go to the store.
const AT_WORK_MAX: usize = 128;

/// How long the next one waits for room at most. So those who are slow do not keep out the others.
const ROOM_PATIENCE: Duration = Duration::from_millis(5);

/// Serves until the process is told to end.
pub(super) async fn until_told<L: Listener<Addr = SocketAddr>>(
    listener: L,
    connections: Arc<Connections>,
    hall: Arc<Hall>,
    app: Router,
    ending: watch::Sender<bool>,
) where
    L::Io: Socket,
{
    let (all, one) = watch::channel(());
    let serving = Serving { hall, app, woken: Turnstile::default() };
    tokio::select! {
        () = take_in(listener, &connections, Arc::new(serving), one) => {}
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
    connections: &Arc<Connections>,
    serving: Arc<Serving>,
    one: watch::Receiver<()>,
) where
    L::Io: Socket,
{
    loop {
        let (socket, from) = listener.accept().await;
        let Some(seat) = connections.take() else { continue };
        let (serving, one) = (serving.clone(), one.clone());
        tokio::spawn(async move {
            let seat = Arc::new(seat);
            tokio::select! {
                () = serving.attend(socket, from.ip(), &seat) => {}
                () = seat.evicted() => {}
            }
            drop(one);
        });
    }
}

/// Takes connections without TLS.
pub(super) struct PlainListener(TcpListener, Arc<Connections>);

impl PlainListener {
    pub(super) fn new(socket: TcpListener, connections: Arc<Connections>) -> Self {
        Self(socket, connections)
    }
}

impl Listener for PlainListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        let (connection, from) = accept(&self.0, &self.1).await;
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
    /// For those who were parked and are woken together.
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
    async fn attend<S: Socket>(&self, socket: S, from: IpAddr, seat: &Arc<Seat>) {
        let mut next = self.first(socket).await;
        while let Some(turn) = next {
            // In a box, which whoever is parked does not keep.
            next = match Box::pin(self.serve(turn, from, seat)).await {
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
                () = tokio::time::sleep(HEAD_PATIENCE) => return None,
                () = self.hall.ending() => return None,
            }
        }
        Some(Turn { before: Bytes::new(), socket, may_park: true, ticket: None, room: None })
    }

    /// Serves until the connection is over, or its request is parked: then there is that, the socket, and what
    /// was read behind the request.
    async fn serve<S: Socket>(
        &self,
        turn: Turn<S>,
        from: IpAddr,
        seat: &Arc<Seat>,
    ) -> Option<(Parked, S, Bytes)> {
        let spot = Spot::new(turn.may_park, turn.ticket, turn.room, seat.clone());
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
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
        let mut connection = http.serve_connection(io, service);
        let mut is_closing = false;
        let parked = loop {
            let step = poll_fn(|cx| {
                // How a connection ended badly is nobody's business but the client's.
                if let Poll::Ready(ended) = Pin::new(&mut connection).poll(cx) {
                    if let Some(loss) = ended.err().and_then(|error| lost(&error, &spot)) {
                        seat.connections().note(loss);
                    }
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

/// Why a connection was lost, if it was for what its client did not do in time. One that sends no further request
/// just ends.
fn lost(error: &hyper::Error, spot: &Spot) -> Option<Loss> {
    if error.is_timeout() {
        return spot.is_partial().then_some(Loss::Slow);
    }
    let cause = error.source()?.downcast_ref::<std::io::Error>()?;
    (cause.kind() == ErrorKind::TimedOut).then_some(Loss::Unread)
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
