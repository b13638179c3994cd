//! One HTTP/1.1 connection, driven by the task that uses it.
//!
//! Invariant: hyper's connection is polled only from the exchange that consumes its response, and
//! the response is polled again straight after. hyper hands over one frame before it reads on, so
//! no frame can meet a later read's stamp.
//!
//! hyper wakes whoever drives a connection when a frame is taken from it. Here that is the task which
//! took the frame and drives on in any case, so where a frame is expected nobody is told to be
//! woken. Whoever waits has driven once more with its own waker.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use streamgauge_schema::End;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::no_head::io_kind;
use crate::socket::{Idle, Probe};
use crate::tap::Tap;

/// Any byte stream that a connection can run over.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// The most that a connection buffers, which is also the longest head. hyper begins with little and
/// grows as reads fill it; more than this saves nothing, and there may be thousands of connections.
const MAX_BUFFER: usize = 64 * 1024;

/// What a chunk of a body has around it: a length of three digits and two line ends.
const CHUNK_FRAMING: u64 = 7;
/// A rest of a read that is shorter holds no event, but perhaps the end of a chunk or a TLS record.
const SHORT_REST: u64 = 32;

/// Boxed, as it is large and connections are moved about.
type Driver = Box<http1::Connection<TokioIo<Box<dyn Io>>, Full<Bytes>>>;
type ResponseFuture = Pin<Box<dyn Future<Output = hyper::Result<Response<Incoming>>> + Send>>;

/// What a connection knows of how it was made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    /// What setting it up took.
    pub(crate) connect: Duration,
    /// The socket, to be asked whether the other side has closed it.
    pub(crate) probe: Option<Probe>,
    /// Whether its reads carry the kernel's stamps.
    pub(crate) kernel_stamps: bool,
}

/// One connection.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// `None` once it has ended.
    driver: Option<Driver>,
    tap: Tap,
    origin: Origin,
    uses: u64,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("uses", &self.uses).finish_non_exhaustive()
    }
}

impl Connection {
    /// Speaks HTTP/1.1 over a byte stream.
    pub(crate) async fn over(io: Box<dyn Io>, tap: Tap, origin: Origin) -> hyper::Result<Self> {
        let (sender, driver) =
            http1::Builder::new().max_buf_size(MAX_BUFFER).handshake(TokioIo::new(io)).await?;
        Ok(Self { sender, driver: Some(Box::new(driver)), tap, origin, uses: 0 })
    }

    /// The stamps of its socket.
    pub(crate) fn tap(&self) -> &Tap {
        &self.tap
    }

    /// How it was made.
    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Requests that were handed to it.
    pub(crate) fn uses(&self) -> u64 {
        self.uses
    }

    /// Whether an idle connection can take another request: polled for the end of its stream.
    pub(crate) async fn is_alive(&mut self) -> bool {
        // The driver holds the socket that the probe looks at.
        if self.driver.is_none() {
            return false;
        }
        match self.origin.probe.map(Probe::look) {
            Some(Idle::Closed) => return false,
            // Perhaps the last record of a TLS session: let the runtime hear of it first.
            Some(Idle::Bytes) => tokio::task::yield_now().await,
            Some(Idle::Quiet) | None => {}
        }
        self.poll_driver(&mut Context::from_waker(Waker::noop()));
        self.driver.is_some() && !self.sender.is_closed()
    }

    /// Whether the other side has closed an idle connection, as far as the socket tells.
    pub(crate) fn was_closed(&self) -> bool {
        self.driver.is_none() || self.origin.probe.map(Probe::look) == Some(Idle::Closed)
    }

    fn poll_driver(&mut self, cx: &mut Context<'_>) {
        poll_driver(&mut self.driver, cx);
    }

    /// Waits until it can take a request.
    ///
    /// # Errors
    /// When it has closed in the meantime.
    pub(crate) async fn ready(&mut self) -> hyper::Result<()> {
        poll_fn(|cx| match self.sender.poll_ready(cx) {
            Poll::Pending => {
                self.poll_driver(cx);
                self.sender.poll_ready(cx)
            }
            ready => ready,
        })
        .await
    }

    /// Hands a request over; only once it is ready. The tap is armed: the next write is the
    /// request's first.
    pub(crate) fn exchange(mut self, request: Request<Full<Bytes>>) -> Exchange {
        self.uses += 1;
        self.tap.arm();
        let response = Box::pin(self.sender.send_request(request));
        let state = State::AwaitingHead(response);
        Exchange { connection: self, state, expects_step: false, bytes_read: 0, rest: 0 }
    }
}

fn poll_driver(driver: &mut Option<Driver>, cx: &mut Context<'_>) {
    if driver.as_mut().is_some_and(|driver| Pin::new(driver).poll(cx).is_ready()) {
        // How it ended, the exchange learns from its response or body.
        *driver = None;
    }
}

enum State {
    AwaitingHead(ResponseFuture),
    Body(Incoming),
    Over { clean: bool },
}

/// One request under way and its response.
pub(crate) struct Exchange {
    connection: Connection,
    state: State,
    /// A step has probably arrived already. That decides what a poll costs and nothing else.
    expects_step: bool,
    /// All bytes up to the last read.
    bytes_read: u64,
    /// Bytes of that read which have probably not been handed out.
    rest: u64,
}

/// What happened next in an exchange.
#[derive(Debug)]
pub(crate) enum Step {
    /// The head of the final response.
    Head(hyper::http::response::Parts),
    /// Bytes of the body.
    Bytes(Bytes),
    /// The body ended.
    End(End),
    /// No head of a response came.
    Broken(hyper::Error),
}

impl Exchange {
    /// The connection that carries it.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The connection, free for the next request; `None` while the body has not ended cleanly.
    pub(crate) fn into_idle(self) -> Option<Connection> {
        matches!(self.state, State::Over { clean: true }).then_some(self.connection)
    }

    /// Waits for the next step; after the last one it is always `End`.
    pub(crate) fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        let mut step = Poll::Pending;
        if self.expects_step {
            step = self.drive(&mut Context::from_waker(Waker::noop()));
        }
        if step.is_pending() {
            step = self.drive(cx);
        }
        self.expects_step = match &step {
            // Then it is a step that ends the wait.
            Poll::Pending | Poll::Ready(Step::Head(_)) => true,
            Poll::Ready(Step::Bytes(bytes)) => self.rest_after(bytes.len()) > SHORT_REST,
            Poll::Ready(Step::Broken(_) | Step::End(_)) => false,
        };
        step
    }

    fn drive(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        self.connection.poll_driver(cx);
        // The response moves only when its connection is driven, so nobody need be woken.
        self.poll_response(&mut Context::from_waker(Waker::noop()))
    }

    /// What is left of the last read when so many bytes of the body have been handed out.
    fn rest_after(&mut self, handed_out: usize) -> u64 {
        let bytes_read = self.connection.tap.bytes_read();
        if bytes_read != self.bytes_read {
            self.rest = bytes_read - self.bytes_read;
            self.bytes_read = bytes_read;
        }
        self.rest = self.rest.saturating_sub(handed_out as u64 + CHUNK_FRAMING);
        self.rest
    }

    fn poll_response(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        match &mut self.state {
            State::AwaitingHead(response) => {
                response.as_mut().poll(cx).map(|response| match response {
                    Ok(response) => {
                        let (parts, body) = response.into_parts();
                        self.state = State::Body(body);
                        Step::Head(parts)
                    }
                    Err(error) => {
                        self.state = State::Over { clean: false };
                        Step::Broken(error)
                    }
                })
            }
            State::Body(body) => loop {
                let end = match Pin::new(&mut *body).poll_frame(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                        Ok(bytes) => return Poll::Ready(Step::Bytes(bytes)),
                        Err(_trailers) => continue,
                    },
                    Poll::Ready(Some(Err(error))) => end_of(&error),
                    Poll::Ready(None) => End::Clean,
                };
                self.state = State::Over { clean: end == End::Clean };
                return Poll::Ready(Step::End(end));
            },
            State::Over { clean: true } => Poll::Ready(Step::End(End::Clean)),
            State::Over { clean: false } => Poll::Ready(Step::End(End::Incomplete)),
        }
    }
}

/// How a body ended that hyper could not read to its end.
fn end_of(error: &hyper::Error) -> End {
    match io_kind(error) {
        Some(std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe) => End::Reset,
        _ => End::Incomplete,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::task::Wake;
    use std::time::Instant;

    use tokio::io::{AsyncWriteExt, DuplexStream, ReadBuf};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicU64);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    /// A pipe whose reads are noted as a socket's are.
    struct Piped(DuplexStream, Tap);

    impl AsyncRead for Piped {
        fn poll_read(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            let before = buf.filled().len();
            std::task::ready!(Pin::new(&mut self.0).poll_read(cx, buf))?;
            self.1.after_read(buf.filled().len() - before, Instant::now());
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Piped {
        fn poll_write(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<std::io::Result<usize>> {
            Pin::new(&mut self.0).poll_write(cx, buf)
        }

        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(cx)
        }

        fn poll_shutdown(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<std::io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(cx)
        }
    }

    /// Each write of a server, and how many bytes each of the steps brings that follow from it.
    const WRITES: [(&str, &[usize]); 5] = [
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &[0]),
        ("3\r\none\r\n", &[3]),
        ("28\r\n0123456789012345678901234567890123456789\r\n", &[40]),
        (
            "3\r\none\r\n28\r\n0123456789012345678901234567890123456789\r\n\
             28\r\n0123456789012345678901234567890123456789\r\n",
            &[3, 40, 40],
        ),
        ("3\r\nend\r\n0\r\n\r\n", &[3, 0]),
    ];

    #[tokio::test]
    async fn each_write_wakes_the_task_once_and_no_frame_does() {
        let (ours, mut theirs) = tokio::io::duplex(1 << 16);
        let tap = Tap::default();
        let io = Box::new(Piped(ours, tap.clone()));
        let mut connection = Connection::over(io, tap, Origin::default()).await.unwrap();
        connection.ready().await.unwrap();
        let mut exchange = connection.exchange(Request::default());
        let count: Arc<Count> = Arc::default();
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        for (text, steps) in WRITES {
            assert!(exchange.poll_step(&mut cx).is_pending(), "before {text:?}");
            count.0.store(0, Relaxed);
            theirs.write_all(text.as_bytes()).await.unwrap();
            assert_eq!(count.0.load(Relaxed), 1, "{text:?} arrived");
            for &bytes in steps {
                let found = match exchange.poll_step(&mut cx) {
                    Poll::Ready(Step::Bytes(found)) => found.len(),
                    Poll::Ready(Step::Head(_) | Step::End(End::Clean)) => 0,
                    other => panic!("{text:?}: {other:?}"),
                };
                assert_eq!(found, bytes, "{text:?}");
            }
            assert_eq!(count.0.load(Relaxed), 1, "{text:?} was read");
        }
        assert!(exchange.into_idle().is_some());
    }
}
