//! Reads a saved HTTP response through the same HTTP code as a live one.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use streamgauge_observer::{Observed, ObserverConfig};
use streamgauge_schema::End;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::budget::Budget;
use crate::connection::{Connection, Origin};
use crate::receive::{Ended, Interrupts, Reader, receive};
use crate::tap::Tap;

/// A piece of a saved response: when one read brought it, since the request, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedRead {
    /// Since `started`.
    pub at: Duration,
    /// What it brought.
    pub bytes: Vec<u8>,
}

/// Reads a whole saved HTTP/1.1 response, head included; after the last read the connection ends.
/// No clock is read for stamps: they are those of the reads.
///
/// # Errors
/// When the bytes hold no head of an HTTP/1.1 response.
pub async fn replay_http(
    reads: Vec<SavedRead>,
    config: ObserverConfig,
) -> Result<Observed, hyper::Error> {
    let end = reads.last().map_or(Duration::ZERO, |read| read.at);
    let zero = Instant::now();
    let tap = Tap::default();
    let saved =
        SavedStream { zero, reads: reads.into(), tap: tap.clone(), asked: false, reader: None };
    let mut connection = Connection::over(Box::new(saved), tap, Origin::default()).await?;
    connection.ready().await?;
    let mut exchange = connection.exchange(hyper::Request::new(Full::<Bytes>::default()));
    let mut reader = Reader::new(config, None, Budget::new(usize::MAX).share());
    let received = receive(&mut exchange, &mut reader, Some(zero), Interrupts::none()).await;
    let how = match received.ended {
        Ended::Unanswered(error) => return Err(error),
        Ended::Body(how) => how,
        Ended::Over | Ended::Cancelled | Ended::TimedOut(_) => End::Clean,
    };
    Ok(reader.finish(how, end).0)
}

/// A byte stream that swallows what is written and then gives saved reads: an answer before the
/// question would be a fault of the connection.
struct SavedStream {
    zero: Instant,
    reads: VecDeque<SavedRead>,
    tap: Tap,
    asked: bool,
    reader: Option<Waker>,
}

impl AsyncRead for SavedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.asked {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let zero = self.zero;
        if let Some(read) = self.reads.front_mut() {
            let fits = read.bytes.len().min(buf.remaining());
            let rest = read.bytes.split_off(fits);
            let taken = std::mem::replace(&mut read.bytes, rest);
            let at = read.at;
            if read.bytes.is_empty() {
                self.reads.pop_front();
            }
            buf.put_slice(&taken);
            self.tap.after_read(taken.len(), zero + at);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for SavedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.asked = true;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use crate::connection::Step;

    #[tokio::test]
    async fn a_slow_consumer_meets_each_read_with_its_own_stamp() {
        let texts = [
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "3\r\none\r\n3\r\ntwo\r\n",
            "5\r\nthree\r\n0\r\n\r\n",
        ];
        let reads: VecDeque<SavedRead> = (1..)
            .zip(texts)
            .map(|(ms, text)| SavedRead { at: Duration::from_millis(ms), bytes: text.into() })
            .collect();
        let zero = Instant::now();
        let tap = Tap::default();
        let saved = SavedStream { zero, reads, tap: tap.clone(), asked: false, reader: None };
        let mut connection =
            Connection::over(Box::new(saved), tap.clone(), Origin::default()).await.unwrap();
        connection.ready().await.unwrap();
        let mut exchange = connection.exchange(hyper::Request::default());
        let mut seen = Vec::new();
        loop {
            let step = poll_fn(|cx| exchange.poll_step(cx)).await;
            let at = tap.last_read().unwrap() - zero;
            // The consumer dawdles; a connection that read ahead would now have a later stamp.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            assert_eq!(tap.last_read().unwrap() - zero, at);
            match step {
                Step::Bytes(bytes) => seen.push((at.as_millis(), bytes)),
                Step::End(end) => break assert_eq!(end, End::Clean),
                Step::Head(_) => {}
                Step::Broken(error) => panic!("{error}"),
            }
        }
        assert_eq!(seen, [(2, "one".into()), (2, "two".into()), (3, "three".into())]);
    }
}
