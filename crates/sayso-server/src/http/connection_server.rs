//! Connections: accepted, served, parked while their request waits, and closed when the server ends. Each has a time
//! limit for its next request, and for reading its response.

use super::auth_throttle::PeerAddress;
use super::connection_limit::{ConnectionLimiter, ConnectionPermit, LossReason, accept};
use super::parking::{ConnectionSlot, ParkedRequest, ParkingTicket};
use super::replay_io::ReplayIo;
use super::state::AppState;
use crate::mcp::shutdown_signal;
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

/// The time that requests being served have to finish when the server ends (drain).
const DRAIN: Duration = Duration::from_secs(5);

/// The time limit for the head of the next request to arrive, from when it could.
const HEAD_PATIENCE: Duration = Duration::from_secs(20);

/// The most requests that were woken together and are served at one time. A few more than can go to the store.
const AT_WORK_MAX: usize = 128;

/// The longest time the next one waits for a permit. So slow ones do not keep out the others.
const ROOM_PATIENCE: Duration = Duration::from_millis(5);

/// Serves until the process is told to end.
pub(super) async fn serve_until_shutdown<L: Listener<Addr = SocketAddr>>(
    listener: L,
    connections: Arc<ConnectionLimiter>,
    hall: Arc<AppState>,
    app: Router,
    ending: watch::Sender<bool>,
) where
    L::Io: ConnectionSocket,
{
    let (all, one) = watch::channel(());
    let serving = ConnectionServer { hall, app, woken: WakeupLimiter::default() };
    tokio::select! {
        () = accept_connections(listener, &connections, Arc::new(serving), one) => {}
        () = shutdown_signal() => {}
    }
    tracing::info!("told to end");
    // Held requests are released; what they wait for stays.
    let _ = ending.send(true);
    let _ = tokio::time::timeout(DRAIN, all.closed()).await;
}

/// Accepts connections. Each of them keeps `one` until it is closed.
async fn accept_connections<L: Listener<Addr = SocketAddr>>(
    mut listener: L,
    connections: &Arc<ConnectionLimiter>,
    serving: Arc<ConnectionServer>,
    one: watch::Receiver<()>,
) where
    L::Io: ConnectionSocket,
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

/// A listener for connections without TLS.
pub(super) struct PlainListener(TcpListener, Arc<ConnectionLimiter>);

impl PlainListener {
    pub(super) fn new(socket: TcpListener, connections: Arc<ConnectionLimiter>) -> Self {
        Self(socket, connections)
    }
}

impl Listener for PlainListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        let (connection, from) = accept(&self.0, &self.1).await;
        set_nodelay(&connection);
        (connection, from)
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Sets `TCP_NODELAY`: a response is sent when it is there, and not when the one before it has arrived.
pub(super) fn set_nodelay(connection: &TcpStream) {
    let _ = connection.set_nodelay(true);
}

/// A TCP connection, perhaps with a layer such as TLS in between.
pub(super) trait ConnectionSocket: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// True if the layer in between may have read more than it was asked for.
    const READS_AHEAD: bool;

    fn tcp(&self) -> &TcpStream;
}

impl ConnectionSocket for TcpStream {
    const READS_AHEAD: bool = false;

    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl ConnectionSocket for TlsStream<TcpStream> {
    const READS_AHEAD: bool = true;

    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// The state that all connections are served with.
struct ConnectionServer {
    hall: Arc<AppState>,
    app: Router,
    /// Admits requests that were parked and are woken together.
    woken: WakeupLimiter,
}

/// A connection that is to be served: the bytes that are read first, and the rest.
struct ServedConnection<S> {
    before: Bytes,
    socket: S,
    may_park: bool,
    ticket: Option<ParkingTicket>,
    room: Option<OwnedSemaphorePermit>,
}

impl ConnectionServer {
    /// Serves a connection for as long as it is open.
    async fn attend<S: ConnectionSocket>(
        &self,
        socket: S,
        from: IpAddr,
        seat: &Arc<ConnectionPermit>,
    ) {
        let mut next = self.first(socket).await;
        while let Some(turn) = next {
            // In a box, which a parked connection does not keep.
            next = match Box::pin(self.serve(turn, from, seat)).await {
                Some((parked, socket, behind)) => self.park(parked, socket, behind).await,
                None => None,
            };
        }
    }

    /// Waits for the first bytes of a new connection. It costs little until then.
    async fn first<S: ConnectionSocket>(&self, socket: S) -> Option<ServedConnection<S>> {
        if !S::READS_AHEAD {
            tokio::select! {
                _ = socket.tcp().readable() => {}
                () = tokio::time::sleep(HEAD_PATIENCE) => return None,
                () = self.hall.ending() => return None,
            }
        }
        Some(ServedConnection {
            before: Bytes::new(),
            socket,
            may_park: true,
            ticket: None,
            room: None,
        })
    }

    /// Serves until the connection is over, or its request is parked: then returns that, the socket, and the bytes
    /// that were read behind the request.
    async fn serve<S: ConnectionSocket>(
        &self,
        turn: ServedConnection<S>,
        from: IpAddr,
        seat: &Arc<ConnectionPermit>,
    ) -> Option<(ParkedRequest, S, Bytes)> {
        let spot = ConnectionSlot::new(turn.may_park, turn.ticket, turn.room, seat.clone());
        let (app, at) = (self.app.clone(), spot.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(PeerAddress(from)));
            request.extensions_mut().insert(at.begin());
            let (answer, at) = (app.clone().call(request), at.clone());
            async move {
                let answer = answer.await;
                at.end();
                answer
            }
        });
        let io = TokioIo::new(ReplayIo::new(turn.before, turn.socket, spot.clone()));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
        let mut connection = http.serve_connection(io, service);
        let mut is_closing = false;
        let parked = loop {
            let step = poll_fn(|cx| {
                // An error that ended a connection concerns its client only; the connections that were lost are
                // counted.
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

    /// Keeps a request until there is a change, and returns it to be served. None if the client has gone.
    async fn park<S: ConnectionSocket>(
        &self,
        parked: ParkedRequest,
        socket: S,
        behind: Bytes,
    ) -> Option<ServedConnection<S>> {
        // A client that sends more behind a held request waits with its connection as it is: the bytes it sent have
        // to be kept, and its end would come unseen behind them.
        let stays = behind.is_empty() && self.is_left(&parked, socket.tcp()).await?;
        let room = if stays { self.woken.pass().await } else { None };
        let before = [&parked.request, &behind[..]].concat().into();
        Some(ServedConnection {
            before,
            socket,
            may_park: stays,
            ticket: Some(parked.ticket),
            room,
        })
    }

    /// Waits until a parked request is to be served. True if nothing else came meanwhile; None if the client has
    /// gone.
    async fn is_left(&self, parked: &ParkedRequest, socket: &TcpStream) -> Option<bool> {
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

/// Returns the reason why a connection was lost, if its client did not do something in time. One that sends no
/// further request just ends.
fn lost(error: &hyper::Error, spot: &ConnectionSlot) -> Option<LossReason> {
    if error.is_timeout() {
        return spot.is_partial().then_some(LossReason::Slow);
    }
    let cause = error.source()?.downcast_ref::<std::io::Error>()?;
    (cause.kind() == ErrorKind::TimedOut).then_some(LossReason::Unread)
}

/// Admits requests one after the other, so that many that are woken together do not need their memory together
/// (thundering herd).
struct WakeupLimiter {
    turn: Mutex<()>,
    room: Arc<Semaphore>,
}

impl Default for WakeupLimiter {
    fn default() -> Self {
        Self { turn: Mutex::default(), room: Arc::new(Semaphore::new(AT_WORK_MAX)) }
    }
}

impl WakeupLimiter {
    /// Admits one request, with a permit if there was one in time.
    async fn pass(&self) -> Option<OwnedSemaphorePermit> {
        let _turn = self.turn.lock().await;
        let room = self.room.clone().acquire_owned();
        tokio::time::timeout(ROOM_PATIENCE, room).await.ok()?.ok()
    }
}
