//! The server's end of a connection: where reads and writes are stamped.
//!
//! A body announces the events of each write on the [`Tap`] and gives out the next ones only when
//! the socket has written all of them, so every stamp belongs to one write.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::sys::time::TimeSpec;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::account::{Entry, Mark, Receipt};
use crate::clock::{monotonic_ns, on_monotonic_clock};
use crate::script::RawStep;

/// What the HTTP side and the socket of one connection tell each other.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    last_stream_ended: Notify,
    script_ordered: Notify,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    announced: Option<Announced>,
    last_read: Receipt,
    reset_on_close: bool,
    script: Vec<RawStep>,
    waiting: Option<Waker>,
}

/// What the next bytes are.
#[derive(Debug)]
enum Announced {
    Events(Arc<Entry>, Mark),
    Head,
}

impl Tap {
    /// The times of the latest read that brought bytes.
    pub(crate) fn last_read(&self) -> Receipt {
        self.lock().last_read
    }

    /// The next bytes written are these events. Only after [`poll_written`](Self::poll_written) was
    /// ready.
    pub(crate) fn announce(&self, entry: Arc<Entry>, mark: Mark) {
        self.lock().announced = Some(Announced::Events(entry, mark));
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

    /// In place of a response these steps are to be played, which end the connection. Whoever says so
    /// must not answer.
    pub(crate) fn order_script(&self, script: Vec<RawStep>) {
        self.lock().script = script;
        self.script_ordered.notify_one();
    }

    /// Completes after [`order_script`](Self::order_script), with the steps.
    pub(crate) async fn script(&self) -> Vec<RawStep> {
        self.script_ordered.notified().await;
        std::mem::take(&mut self.lock().script)
    }

    /// Runs a write of `length` bytes. If all of them went out, notes what was announced and lets
    /// the next come.
    fn write(
        &self,
        length: usize,
        write: impl FnOnce() -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let is_whole =
            |result: &Poll<io::Result<usize>>| matches!(result, Poll::Ready(Ok(n)) if *n == length);
        let mut state = self.lock();
        let result = match &state.announced {
            Some(Announced::Events(entry, mark)) => entry.note_write(*mark, write, is_whole),
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
    /// Room for the kernel's receive stamp; `None` when it is not asked for.
    control: Option<Vec<u8>>,
    stream: TcpStream,
    tap: Arc<Tap>,
}

impl Socket {
    /// Takes the connection over; each write is then sent at once. With `kernel_stamps` its listener
    /// had asked the kernel for them.
    pub(crate) fn new(stream: TcpStream, tap: Arc<Tap>, kernel_stamps: bool) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let control = kernel_stamps.then(|| nix::cmsg_space!(TimeSpec));
        Ok(Self { control, stream, tap })
    }

    /// The connection itself, for bytes that are no part of any account.
    pub(crate) fn stream_mut(&mut self) -> &mut TcpStream {
        &mut self.stream
    }
}

/// Reads what has arrived, and when its last bytes had.
fn poll_receive(
    stream: &TcpStream,
    control: &mut [u8],
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<Option<TimeSpec>>> {
    loop {
        ready!(stream.poll_read_ready(cx))?;
        let received = stream.try_io(Interest::READABLE, || {
            let mut room = [IoSliceMut::new(buf.initialize_unfilled())];
            let flags = MsgFlags::MSG_DONTWAIT;
            let message = recvmsg::<()>(stream.as_raw_fd(), &mut room, Some(&mut *control), flags)?;
            let stamp = message.cmsgs()?.find_map(|message| match message {
                ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
                _ => None,
            });
            Ok((message.bytes, stamp))
        });
        match received {
            Ok((length, stamp)) => {
                buf.advance(length);
                return Poll::Ready(Ok(stamp));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Poll::Ready(Err(error)),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { control, stream, tap } = self.get_mut();
        let before = buf.filled().len();
        let stamp = match control {
            Some(control) => ready!(poll_receive(stream, control, cx, buf))?,
            None => {
                ready!(Pin::new(stream).poll_read(cx, buf))?;
                None
            }
        };
        if buf.filled().len() > before {
            let kernel_ns = stamp.and_then(|stamp| on_monotonic_clock(Duration::from(stamp)));
            tap.lock().last_read = Receipt { kernel_ns, read_ns: monotonic_ns() };
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { stream, tap, .. } = self.get_mut();
        tap.write(buf.len(), || Pin::new(stream).poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self { stream, tap, .. } = self.get_mut();
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
