//! The hyper loop: the least client that hyper allows. It sends the same requests over as many
//! connections as the bare loop, and reads and discards the frames of the answers. The task that
//! consumes the bodies of a connection drives it, as in our client.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame};
use hyper::client::conn::http1::{Connection, handshake};
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// What a chunk has around it: a length of three digits and two line ends.
const CHUNK_FRAMING: u64 = 7;
/// A shorter rest of a read holds no further event.
const SHORT_REST: u64 = 32;

/// What to send: a path, and headers and a body for each request.
#[derive(Debug)]
pub(crate) struct Requests {
    pub(crate) path: &'static str,
    pub(crate) each: Vec<(HeaderMap, Bytes)>,
}

/// Sends the requests over so many connections, each the next one when the last has ended. Gives the
/// number of reads that brought bytes.
pub(crate) async fn run(
    addr: SocketAddr,
    requests: Requests,
    concurrency: usize,
) -> anyhow::Result<u64> {
    let mut sockets = Vec::new();
    for _ in 0..concurrency.min(requests.each.len()) {
        let tcp = TcpStream::connect(addr).await?;
        tcp.set_nodelay(true)?;
        sockets.push(Socket { tcp, seen: Arc::default() });
    }
    let queue = Arc::new((AtomicUsize::new(0), requests));
    let mut under_way = JoinSet::new();
    for socket in sockets {
        under_way.spawn(work(socket, Arc::clone(&queue)));
    }
    let mut reads = 0;
    while let Some(ended) = under_way.join_next().await {
        reads += ended??;
    }
    Ok(reads)
}

/// Sends requests over one connection until there are no more; gives the number of its reads.
async fn work(socket: Socket, queue: Arc<(AtomicUsize, Requests)>) -> anyhow::Result<u64> {
    let seen = Arc::clone(&socket.seen);
    let (mut sender, driver) = handshake(TokioIo::new(socket)).await?;
    let mut line = Line { driver, seen, expects_more: false, bytes: 0, rest: 0 };
    let (next, requests) = &*queue;
    while let Some((headers, body)) = requests.each.get(next.fetch_add(1, Relaxed)) {
        let mut request = Request::post(requests.path).body(Full::new(body.clone()))?;
        *request.headers_mut() = headers.clone();
        line.expects_more = false;
        let mut response = std::pin::pin!(sender.send_request(request));
        let response = poll_fn(|cx| line.poll(cx, |cx| response.as_mut().poll(cx))).await?;
        let mut body = response.into_body();
        let mut frame = |cx: &mut Context<'_>| Pin::new(&mut body).poll_frame(cx);
        while let Some(frame) = poll_fn(|cx| line.poll(cx, &mut frame)).await {
            line.took(&frame?);
        }
    }
    Ok(line.seen.reads.load(Relaxed))
}

/// A connection and what was seen of it.
struct Line {
    driver: Connection<TokioIo<Socket>, Full<Bytes>>,
    seen: Arc<Seen>,
    expects_more: bool,
    /// Up to the last read.
    bytes: u64,
    /// Of that read.
    rest: u64,
}

impl Line {
    /// Drives the connection, and polls what that moves. hyper wakes whoever drives when a frame is
    /// taken; where a frame is expected, nobody is told to be woken, as the task drives on.
    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let mut nobody = Context::from_waker(Waker::noop());
        let mut polled = Poll::Pending;
        if self.expects_more {
            // How it ends, the response tells.
            let _ = Pin::new(&mut self.driver).poll(&mut nobody);
            polled = poll(&mut nobody);
        }
        if polled.is_pending() {
            let _ = Pin::new(&mut self.driver).poll(cx);
            polled = poll(&mut nobody);
        }
        self.expects_more = true;
        polled
    }

    fn took(&mut self, frame: &Frame<Bytes>) {
        let bytes = self.seen.bytes.load(Relaxed);
        if bytes != self.bytes {
            self.rest = bytes - self.bytes;
            self.bytes = bytes;
        }
        let length = frame.data_ref().map_or(0, Bytes::len) as u64;
        self.rest = self.rest.saturating_sub(length + CHUNK_FRAMING);
        self.expects_more = self.rest > SHORT_REST;
    }
}

/// Read by the task that the socket belongs to.
#[derive(Debug, Default)]
struct Seen {
    reads: AtomicU64,
    bytes: AtomicU64,
}

/// A TCP socket whose reads are counted.
struct Socket {
    tcp: TcpStream,
    seen: Arc<Seen>,
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.tcp).poll_read(cx, buf))?;
        let Seen { reads, bytes } = &*self.seen;
        let length = (buf.filled().len() - before) as u64;
        reads.store(reads.load(Relaxed) + length.min(1), Relaxed);
        bytes.store(bytes.load(Relaxed) + length, Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
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
