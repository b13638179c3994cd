//! The wrapper around a socket that takes every stamp.

use std::cell::RefCell;
use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, recv, recvmsg, setsockopt, sockopt::ReceiveTimestampns,
};
use nix::sys::time::TimeSpec;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::stream::Stream;
use crate::tap::Tap;

/// Most that one stamped read takes.
const ROOM: usize = 64 * 1024;

/// Where stamped reads go at first. What a caller offers would have to be cleared before each read,
/// which costs more than the read where much is offered and little comes.
struct Landing {
    bytes: Vec<u8>,
    control: Vec<u8>,
}

thread_local! {
    static LANDING: RefCell<Landing> =
        RefCell::new(Landing { bytes: vec![0; ROOM], control: nix::cmsg_space!(TimeSpec) });
}

/// A socket whose reads and first writes are stamped into a [`Tap`].
#[derive(Debug)]
pub(crate) struct StampedSocket {
    stream: Stream,
    tap: Tap,
    /// Its reads carry the kernel's stamps, as those of TCP alone can.
    kernel_stamps: bool,
    /// The last read filled its buffer, and there may be more.
    was_full: bool,
}

impl StampedSocket {
    /// Wraps a connected socket. With `kernel_stamps` the kernel is asked when bytes arrived; where
    /// it does not offer that, reads are plain.
    pub(crate) fn new(stream: Stream, tap: Tap, kernel_stamps: bool) -> Self {
        let kernel_stamps = match &stream {
            Stream::Tcp(tcp) => kernel_stamps && setsockopt(tcp, ReceiveTimestampns, &true).is_ok(),
            Stream::Unix(_) => false,
        };
        Self { stream, tap, kernel_stamps, was_full: false }
    }

    /// Whether reads carry the kernel's stamps.
    pub(crate) fn has_kernel_stamps(&self) -> bool {
        self.kernel_stamps
    }

    /// The raw socket, to ask whether the other side has closed it.
    pub(crate) fn probe(&self) -> Probe {
        Probe(self.stream.as_raw_fd())
    }

    /// One read with the kernel's stamp. `Err(WouldBlock)` after a short read, too, as that clears
    /// the readiness: the next read then waits for the kernel instead of asking it in vain.
    fn read_stamped(
        tcp: &TcpStream,
        tap: &Tap,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(tcp.poll_read_ready(cx))?;
            let descriptor = tcp.as_raw_fd();
            let mut received = None;
            let outcome = tcp.try_io(Interest::READABLE, || {
                let new = LANDING.with_borrow_mut(|landing| receive(descriptor, buf, landing))?;
                let is_short = new.is_short;
                received = Some(new);
                if is_short { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
            });
            if let Some(Received { bytes, at, lag, .. }) = received {
                tap.after_read(bytes, at);
                if let Some(lag) = lag.filter(|_| bytes > 0) {
                    tap.note_lag(at, lag);
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
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.tap.after_read(buf.filled().len() - before, Instant::now());
        Poll::Ready(Ok(()))
    }
}

/// What one stamped read brought.
struct Received {
    bytes: usize,
    /// It had room for more, and is not the end of the stream.
    is_short: bool,
    /// When it returned.
    at: Instant,
    /// `None` without a stamp; within it, how long the bytes had lain in the kernel, `None` when the
    /// clocks disagree.
    lag: Option<Option<Duration>>,
}

/// Receives bytes, and the kernel's wall-clock stamp of the last of them.
fn receive(descriptor: i32, buf: &mut ReadBuf<'_>, landing: &mut Landing) -> io::Result<Received> {
    let room = buf.remaining().min(ROOM);
    let mut slices = [IoSliceMut::new(&mut landing.bytes[..room])];
    let control = Some(&mut landing.control[..]);
    let message = recvmsg::<()>(descriptor, &mut slices, control, MsgFlags::MSG_DONTWAIT)?;
    let at = Instant::now();
    let stamp = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
        _ => None,
    });
    let bytes = message.bytes;
    let lag = stamp.map(since);
    buf.put_slice(&landing.bytes[..bytes]);
    Ok(Received { bytes, is_short: (1..room).contains(&bytes), at, lag })
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
        // A stream that never runs dry must not keep the others waiting: it gives way to them, and to
        // whoever only looks what there is, it has nothing.
        if self.was_full {
            self.was_full = cx.waker().will_wake(Waker::noop());
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let (is_first, before) = (self.tap.bytes_read() == 0, buf.filled().len());
        let read = match &self.stream {
            Stream::Tcp(tcp) if self.kernel_stamps => Self::read_stamped(tcp, &self.tap, cx, buf),
            _ => self.read_plain(cx, buf),
        };
        if is_first {
            self.tap.note_first(&buf.filled()[before..]);
        }
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
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.tap.before_write();
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
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
