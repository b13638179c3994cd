//! One HTTP/1.1 connection, driven by the task that uses it.
//!
//! Invariant: hyper's connection is polled only from the exchange that consumes its response, and
//! the response is polled again straight after. hyper hands over one frame before it reads on, so
//! no frame can meet a later read's stamp.

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

use crate::driving::Driving;
use crate::socket::{Idle, Probe};
use crate::tap::Tap;

/// Any byte stream that a connection can run over.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// The most that a connection buffers, which is also the longest head. hyper begins with little and
/// grows as reads fill it; more than this saves nothing, and there may be thousands of connections.
const MAX_BUFFER: usize = 64 * 1024;

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
    driving: Driving,
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
        let driving = Driving::new();
        Ok(Self { sender, driver: Some(Box::new(driver)), driving, tap, origin, uses: 0 })
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

    /// Polls the driver with a waker that passes on to the task which drives.
    fn drive(&mut self) {
        poll_driver(&mut self.driver, &mut Context::from_waker(self.driving.waker()));
    }

    /// Hands a request over. The tap is armed: the next write is the request's first.
    ///
    /// # Errors
    /// When the connection has closed in the meantime.
    pub(crate) async fn exchange(
        mut self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<Exchange> {
        poll_fn(|cx| match self.sender.poll_ready(cx) {
            Poll::Pending => {
                self.poll_driver(cx);
                self.sender.poll_ready(cx)
            }
            ready => ready,
        })
        .await?;
        self.uses += 1;
        self.tap.arm();
        let response = Box::pin(self.sender.send_request(request));
        Ok(Exchange { connection: self, state: State::AwaitingHead(response) })
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
        self.connection.driving.begin(cx.waker());
        self.connection.drive();
        // The response moves only when its connection is driven, so nobody need be woken.
        let step = self.poll_response(&mut Context::from_waker(Waker::noop()));
        self.connection.driving.end(step.is_pending());
        step
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

/// The kind of the I/O error behind an error of hyper.
pub(crate) fn io_kind(error: &hyper::Error) -> Option<std::io::ErrorKind> {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(io) = cause.downcast_ref::<std::io::Error>() {
            return Some(io.kind());
        }
        source = cause.source();
    }
    None
}
