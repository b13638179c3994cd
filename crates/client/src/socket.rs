//! The wrapper around a TCP socket that takes every stamp.

use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, recv, recvmsg, setsockopt, sockopt::ReceiveTimestampns,
};
use nix::sys::time::TimeSpec;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::tap::Tap;

/// A TCP socket whose reads and first writes are stamped into a [`Tap`].
#[derive(Debug)]
pub(crate) struct StampedSocket {
    tcp: TcpStream,
    tap: Tap,
    /// Room for the kernel's stamp; `None` when this socket carries none.
    control: Option<Vec<u8>>,
    /// The last read filled its buffer, and there may be more.
    was_full: bool,
}

impl StampedSocket {
    /// Wraps a connected socket. With `kernel_stamps` the kernel is asked when bytes arrived; where
    /// it does not offer that, reads are plain.
    pub(crate) fn new(tcp: TcpStream, tap: Tap, kernel_stamps: bool) -> Self {
        let stamped = kernel_stamps && setsockopt(&tcp, ReceiveTimestampns, &true).is_ok();
        let control = stamped.then(|| nix::cmsg_space!(TimeSpec));
        Self { tcp, tap, control, was_full: false }
    }

    /// Whether reads carry the kernel's stamps.
    pub(crate) fn has_kernel_stamps(&self) -> bool {
        self.control.is_some()
    }

    /// The raw socket, to ask whether the other side has closed it.
    pub(crate) fn probe(&self) -> Probe {
        Probe(self.tcp.as_raw_fd())
    }

    /// One read with the kernel's stamp. `Err(WouldBlock)` after a short read, too, as that clears
    /// the readiness: the next read then waits for the kernel instead of asking it in vain.
    fn read_stamped(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.tcp.poll_read_ready(cx))?;
            let Some(control) = self.control.as_mut() else {
                return Poll::Ready(Ok(()));
            };
            let room = buf.initialize_unfilled();
            let capacity = room.len();
            let descriptor = self.tcp.as_raw_fd();
            let mut received = None;
            let outcome = self.tcp.try_io(Interest::READABLE, || {
                let (bytes, stamp) = receive(descriptor, room, control)?;
                let at = Instant::now();
                let lag = stamp.and_then(since);
                received = Some((bytes, at, stamp.is_some(), lag));
                let short = bytes > 0 && bytes < capacity;
                if short { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
            });
            if let Some((bytes, at, stamped, lag)) = received {
                buf.advance(bytes);
                self.tap.after_read(bytes, at);
                if stamped && bytes > 0 {
                    self.tap.note_lag(at, lag);
                }
                return Poll::Ready(Ok(()));
            }
            match outcome {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(()) => return Poll::Ready(Ok(())),
            }
        }
    }

    fn read_plain(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.tcp).poll_read(cx, buf))?;
        self.tap.after_read(buf.filled().len() - before, Instant::now());
        Poll::Ready(Ok(()))
    }
}

/// Receives bytes and the kernel's wall-clock stamp of the last of them.
fn receive(
    descriptor: i32,
    room: &mut [u8],
    control: &mut [u8],
) -> io::Result<(usize, Option<TimeSpec>)> {
    let mut slices = [IoSliceMut::new(room)];
    let message = recvmsg::<()>(descriptor, &mut slices, Some(control), MsgFlags::MSG_DONTWAIT)?;
    let stamp = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
        _ => None,
    });
    Ok((message.bytes, stamp))
}

/// Wall-clock time since a kernel stamp; `None` when the stamp lies ahead. This is the one place
/// where wall-clock time is subtracted.
fn since(stamp: TimeSpec) -> Option<Duration> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    now.checked_sub(Duration::from(stamp))
}

impl AsyncRead for StampedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // A stream that never runs dry must not keep the others waiting.
        if std::mem::take(&mut self.was_full) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let read = if self.control.is_some() {
            self.read_stamped(cx, buf)
        } else {
            self.read_plain(cx, buf)
        };
        self.was_full = buf.remaining() == 0;
        read
    }
}

impl AsyncWrite for StampedSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.tap.before_write();
        Pin::new(&mut self.tcp).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.tap.before_write();
        Pin::new(&mut self.tcp).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

/// Asks the kernel about an idle socket without taking anything from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe(i32);

/// What lies in an idle socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// Bytes that nobody asked for, or a TLS record.
    Bytes,
    /// The end of the stream, or an error.
    Closed,
    /// Nothing: the connection stands.
    Quiet,
}

impl Probe {
    /// Looks at the socket. The owner of the probe must still hold the socket.
    pub(crate) fn look(self) -> Idle {
        match recv(self.0, &mut [0], MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT) {
            Ok(0) => Idle::Closed,
            Ok(_) => Idle::Bytes,
            Err(nix::errno::Errno::EAGAIN) => Idle::Quiet,
            Err(_) => Idle::Closed,
        }
    }
}
