//! The bare loop: the least that any client must do. It writes the requests and reads and discards
//! the answers, in a closed loop over one epoll, and knows of HTTP no more than its last chunk.
//!
//! With stamps it also reads the clock after every read and counts the ends of events, so that its
//! own errors can be told. Without, it does neither.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::process::monotonic_ns;
use crate::stamps::Stamps;

/// How a chunked body ends. No event and no head of the simulated server ends so.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";
const READ_BYTES: usize = 64 * 1024;
/// Longest silence that is believed to be the server's.
const SILENCE: Duration = Duration::from_secs(60);

/// What the loop saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Reads that brought bytes.
    pub(crate) reads: u64,
    /// All bytes read.
    pub(crate) bytes: u64,
    /// One for each request, in their order; empty without stamps.
    pub(crate) stamps: Vec<Stamps>,
}

/// Sends `requests` over so many connections, each the next one when the last has ended.
///
/// After each round of reads it sleeps for `pause`, so that more events can meet in one read.
pub(crate) fn run(
    addr: SocketAddr,
    requests: &[Vec<u8>],
    concurrency: usize,
    stamped: bool,
    pause: Duration,
) -> io::Result<Seen> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    let mut seen = Seen::default();
    if stamped {
        seen.stamps = vec![Stamps::default(); requests.len()];
    }
    let mut indexes = 0..requests.len();
    let mut connections = Vec::new();
    for place in 0..concurrency.min(requests.len()) {
        let stream = TcpStream::connect(addr)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        epoll.add(&stream, EpollEvent::new(EpollFlags::EPOLLIN, place as u64))?;
        connections.push(Connection { stream, request: 0, tail: Tail::default() });
    }
    let mut under_way = 0;
    for connection in &mut connections {
        if let Some(index) = indexes.next() {
            connection.send(index, requests, &mut seen)?;
            under_way += 1;
        }
    }

    let mut buffer = vec![0; READ_BYTES];
    let mut ready = [EpollEvent::empty(); 256];
    while under_way > 0 {
        let timeout = EpollTimeout::try_from(SILENCE).map_err(io::Error::other)?;
        let count = epoll.wait(&mut ready, timeout)?;
        if count == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        for event in &ready[..count] {
            let connection = &mut connections[event.data() as usize];
            let length = connection.stream.read(&mut buffer)?;
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let at_ns = if stamped { monotonic_ns() } else { 0 };
            seen.reads += 1;
            seen.bytes += length as u64;
            let events = connection.tail.push(&buffer[..length], stamped);
            if let Some(stamps) = seen.stamps.get_mut(connection.request) {
                stamps.events_ns.extend(std::iter::repeat_n(at_ns, events));
            }
            if connection.tail.is_last_chunk() {
                match indexes.next() {
                    Some(index) => connection.send(index, requests, &mut seen)?,
                    None => under_way -= 1,
                }
            }
        }
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }
    Ok(seen)
}

struct Connection {
    stream: TcpStream,
    request: usize,
    tail: Tail,
}

impl Connection {
    fn send(&mut self, index: usize, requests: &[Vec<u8>], seen: &mut Seen) -> io::Result<()> {
        self.request = index;
        self.tail = Tail::default();
        if let Some(stamps) = seen.stamps.get_mut(index) {
            stamps.started_ns = monotonic_ns();
        }
        // The socket's buffer is empty, and a request is shorter than it.
        let written = self.stream.write(&requests[index])?;
        if written < requests[index].len() {
            return Err(io::Error::other("the socket did not take a whole request"));
        }
        Ok(())
    }
}

/// The last bytes of a response.
#[derive(Debug, Default)]
struct Tail([u8; LAST_CHUNK.len()]);

impl Tail {
    /// Takes the bytes of a read; gives the number of events that end in them if they are to be
    /// counted.
    fn push(&mut self, bytes: &[u8], counted: bool) -> usize {
        let events = if counted {
            let torn = self.0.last() == Some(&b'\n') && bytes.first() == Some(&b'\n');
            memchr::memmem::find_iter(bytes, b"\n\n").count() + usize::from(torn)
        } else {
            0
        };
        let kept = self.0.len();
        if let Some(last) = bytes.last_chunk() {
            self.0 = *last;
        } else {
            self.0.rotate_left(bytes.len());
            self.0[kept - bytes.len()..].copy_from_slice(bytes);
        }
        events
    }

    fn is_last_chunk(&self) -> bool {
        self.0 == LAST_CHUNK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_the_end_are_found_however_the_bytes_are_cut() {
        let body =
            b"HTTP/1.1 200 OK\r\nx: 10\r\n\r\n9\r\ndata: a\n\n\r\n9\r\ndata: b\n\n\r\n0\r\n\r\n";
        for cut in 1..body.len() {
            let mut tail = Tail::default();
            let mut events = tail.push(&body[..cut], true);
            assert!(!tail.is_last_chunk(), "cut at {cut}");
            events += tail.push(&body[cut..], true);
            assert_eq!((events, tail.is_last_chunk()), (2, true), "cut at {cut}");
        }
    }
}
