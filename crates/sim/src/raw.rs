//! A server without HTTP: it plays given bytes, for tests of what no proper server would send.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::error::SimError;
use crate::script::{After, RawStep, perform};
use crate::server::listen;

/// A TCP server on the loopback interface that reads a request and plays a script, whatever the
/// request was.
///
/// A request is a head that ends in an empty line and as many bytes as its `Content-Length` says; a
/// chunked body is not recognised. Dropping the server stops it.
#[derive(Debug)]
pub struct RawServer {
    addr: SocketAddr,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
    task: JoinHandle<()>,
}

impl RawServer {
    /// Starts a server on the current tokio runtime that plays these steps on every connection.
    ///
    /// # Errors
    /// [`SimError::Listen`] if no port is free.
    pub async fn start(steps: Vec<RawStep>) -> Result<Self, SimError> {
        Self::start_scripts(vec![steps]).await
    }

    /// Starts a server that plays the n-th script on the n-th connection, and the last one on all
    /// further ones. Without a script, connections are closed after their first request.
    ///
    /// # Errors
    /// [`SimError::Listen`] if no port is free.
    pub async fn start_scripts(scripts: Vec<Vec<RawStep>>) -> Result<Self, SimError> {
        let (listener, addr) = listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let requests = Arc::default();
        let task = tokio::spawn(accept(listener, scripts, Arc::clone(&requests)));
        Ok(Self { addr, requests, task })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The requests read so far, head and body, in order of receipt.
    #[must_use]
    pub fn requests(&self) -> Vec<Vec<u8>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(
    listener: TcpListener,
    scripts: Vec<Vec<RawStep>>,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
) {
    let mut connections = JoinSet::new();
    let mut remaining = scripts.into_iter();
    let mut script = remaining.next().unwrap_or_default();
    while let Ok((stream, _)) = listener.accept().await {
        let requests = Arc::clone(&requests);
        let steps = script.clone();
        // A client that leaves early ends its script; the others go on.
        connections.spawn(async move { drop(play(stream, steps, &requests).await) });
        if let Some(next) = remaining.next() {
            script = next;
        }
    }
}

async fn play(
    mut stream: TcpStream,
    steps: Vec<RawStep>,
    requests: &Mutex<Vec<Vec<u8>>>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut unread = Vec::new();
    for step in std::iter::once(RawStep::AwaitRequest).chain(steps) {
        if step == RawStep::AwaitRequest {
            let request = read_request(&mut stream, &mut unread).await?;
            requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        } else if perform(&mut stream, step).await? == After::Over {
            return Ok(());
        }
    }
    stream.shutdown().await
}

/// Takes one request off the connection; bytes after it stay in `unread`.
async fn read_request(stream: &mut TcpStream, unread: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    loop {
        if let Some(length) = request_length(unread).filter(|length| *length <= unread.len()) {
            let rest = unread.split_off(length);
            return Ok(std::mem::replace(unread, rest));
        }
        if stream.read_buf(unread).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// The bytes of head and body, once the head is there.
fn request_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]);
    let body = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    Some(head.saturating_add(body.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_head_and_declared_body() {
        let cases: [(&[u8], Option<usize>); 5] = [
            (b"", None),
            (b"GET / HTTP/1.1\r\nhost: x\r\n", None),
            (b"GET / HTTP/1.1\r\n\r\nmore", Some(18)),
            (b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab", Some(43)),
            (b"POST / HTTP/1.1\r\ncontent-length: many\r\n\r\n", Some(41)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(request_length(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
