//! Replayed I/O: a connection that is read once more, first the bytes that are put in front of it, then what comes.

use super::parking::ConnectionSlot;
use axum::body::Bytes;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// The longest time in which a client may read nothing of a response.
const STALL_MAX: Duration = Duration::from_secs(20);

/// The time limit for a whole response, and the least rate at which it has to be read from then on.
const ANSWER_MAX: Duration = Duration::from_secs(60);
const BYTES_A_SECOND_MIN: u64 = 64 * 1024;

/// A socket, and the bytes that are read before it.
pub(super) struct ReplayIo<S> {
    before: Bytes,
    socket: S,
    spot: Arc<ConnectionSlot>,
    unwritten: Option<PendingResponse>,
}

/// A response that is being written.
struct PendingResponse {
    began: Instant,
    bytes: u64,
    /// The timer of a write that takes too long. Set only while the client reads nothing.
    limit: Option<Pin<Box<Sleep>>>,
}

impl PendingResponse {
    fn begin() -> Self {
        Self { began: Instant::now(), bytes: 0, limit: None }
    }

    /// Returns the deadline for the next bytes to be read.
    fn deadline(&self) -> Instant {
        let whole = ANSWER_MAX + Duration::from_secs(self.bytes / BYTES_A_SECOND_MIN);
        (Instant::now() + STALL_MAX).min(self.began + whole)
    }

    /// Notes the result of a write; fails it if the client has stalled for too long.
    fn wrote(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(count)) => {
                self.bytes += *count as u64;
                self.limit = None;
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => {
                let deadline = self.deadline();
                let limit =
                    self.limit.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
                if limit.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
        }
        written
    }
}

impl<S> ReplayIo<S> {
    pub(super) fn new(before: Bytes, socket: S, spot: Arc<ConnectionSlot>) -> Self {
        Self { before, socket, spot, unwritten: None }
    }

    /// Returns the socket, and the bytes that were not read again yet.
    pub(super) fn into_parts(self) -> (S, Bytes) {
        (self.socket, self.before)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReplayIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.before.is_empty() {
            let before = into.filled().len();
            let read = Pin::new(&mut self.socket).poll_read(cx, into);
            if into.filled().len() > before {
                self.spot.note_read();
            }
            return read;
        }
        let count = self.before.len().min(into.remaining());
        into.put_slice(&self.before.split_to(count));
        Poll::Ready(Ok(()))
    }
}

/// Writes pass through; the spot is told whether all of it is flushed.
impl<S: AsyncWrite + Unpin> AsyncWrite for ReplayIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.spot.note_flushed(false);
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.unwritten.get_or_insert_with(PendingResponse::begin).wrote(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.spot.note_flushed(false);
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, parts);
        self.unwritten.get_or_insert_with(PendingResponse::begin).wrote(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(cx);
        if let Poll::Ready(Ok(())) = flushed {
            self.unwritten = None;
            self.spot.note_flushed(true);
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
