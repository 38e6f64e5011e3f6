//! A connection that is read once more: first the bytes that are put in front of it, then what comes.

use super::parking::Spot;
use axum::body::Bytes;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A socket, and what is read before it.
pub(super) struct Rewind<S> {
    before: Bytes,
    socket: S,
    spot: Arc<Spot>,
}

impl<S> Rewind<S> {
    pub(super) fn new(before: Bytes, socket: S, spot: Arc<Spot>) -> Self {
        Self { before, socket, spot }
    }

    /// The socket, and what was not read again yet.
    pub(super) fn into_parts(self) -> (S, Bytes) {
        (self.socket, self.before)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Rewind<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.before.is_empty() {
            return Pin::new(&mut self.socket).poll_read(cx, into);
        }
        let count = self.before.len().min(into.remaining());
        into.put_slice(&self.before.split_to(count));
        Poll::Ready(Ok(()))
    }
}

/// What is written passes through; the spot hears whether all of it is gone.
impl<S: AsyncWrite + Unpin> AsyncWrite for Rewind<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.spot.note_flushed(false);
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.spot.note_flushed(false);
        Pin::new(&mut self.socket).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(cx);
        if let Poll::Ready(Ok(())) = flushed {
            self.spot.note_flushed(true);
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
