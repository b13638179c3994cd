//! The server's end of a connection: where reads and writes are stamped.
//!
//! A body announces each event on the [`Tap`] and gives out the next one only when the socket has
//! written all of it, so every event is a write of its own and every stamp belongs to one event.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::account::{Entry, Mark};
use crate::clock::monotonic_ns;

/// What the HTTP side and the socket of one connection tell each other.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    last_stream_ended: Notify,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    announced: Option<Announced>,
    last_read_ns: u64,
    reset_on_close: bool,
    waiting: Option<Waker>,
}

/// What the next bytes are.
#[derive(Debug)]
enum Announced {
    Event(Arc<Entry>, Mark),
    Head,
}

impl Tap {
    /// When the latest read that brought bytes returned.
    pub(crate) fn last_read_ns(&self) -> u64 {
        self.lock().last_read_ns
    }

    /// The next bytes written are this event. Only after [`poll_written`](Self::poll_written) was
    /// ready.
    pub(crate) fn announce(&self, entry: Arc<Entry>, mark: Mark) {
        self.lock().announced = Some(Announced::Event(entry, mark));
    }

    /// The next bytes written are a head that nothing may overtake.
    pub(crate) fn announce_head(&self) {
        self.lock().announced = Some(Announced::Head);
    }

    /// Ready when nothing that was announced is unwritten.
    pub(crate) fn poll_written(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.announced.is_none() {
            return Poll::Ready(());
        }
        state.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The connection will end in a reset instead of in good order.
    pub(crate) fn reset_on_close(&self) {
        self.lock().reset_on_close = true;
    }

    /// No further request is to be read from the connection.
    pub(crate) fn end_after_stream(&self) {
        self.last_stream_ended.notify_one();
    }

    /// Completes after [`end_after_stream`](Self::end_after_stream).
    pub(crate) async fn last_stream_ended(&self) {
        self.last_stream_ended.notified().await;
    }

    /// Runs a write of `length` bytes. If all of them went out, notes an announced event and lets
    /// the next one come.
    fn write(
        &self,
        length: usize,
        write: impl FnOnce() -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let is_whole =
            |result: &Poll<io::Result<usize>>| matches!(result, Poll::Ready(Ok(n)) if *n == length);
        let mut state = self.lock();
        let result = match &state.announced {
            Some(Announced::Event(entry, mark)) => entry.note_write(*mark, write, is_whole),
            Some(Announced::Head) | None => write(),
        };
        if is_whole(&result) {
            state.announced = None;
            if let Some(waiting) = state.waiting.take() {
                waiting.wake();
            }
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is a plain assignment, so a panic elsewhere leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A TCP connection that stamps its reads and writes on a [`Tap`].
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    tap: Arc<Tap>,
}

impl Socket {
    /// Takes the connection over; each write is then sent at once.
    pub(crate) fn new(stream: TcpStream, tap: Arc<Tap>) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, tap })
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.tap.lock().last_read_ns = monotonic_ns();
        }
        result
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { stream, tap } = self.get_mut();
        tap.write(buf.len(), || Pin::new(stream).poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self { stream, tap } = self.get_mut();
        let length = bufs.iter().map(|buf| buf.len()).sum();
        tap.write(length, || Pin::new(stream).poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.tap.lock().reset_on_close {
            // On failure the peer sees a close in good order: a milder fault, and nobody to tell.
            let _ = self.stream.set_zero_linger();
        }
    }
}
