//! Reads one response into an observer, and into a capture where one is kept, within time limits,
//! until its end mark or the end of its body; and reads what is left of a body so that its
//! connection can be used again.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, DATE, HeaderName, LOCATION, RETRY_AFTER};
use hyper::http::response::Parts;
use streamgauge_observer::{Observed, Observer, ObserverConfig, Progress};
use streamgauge_schema::{End, FailureClass, Head};
use tokio::sync::futures::Notified;
use tokio::time::Sleep;

use crate::budget::Share;
use crate::cancel::Cancel;
use crate::capture::CaptureWriter;
use crate::connection::{Exchange, Step};
use crate::pool::Pool;

/// Longest rest of a body that is read after the end mark, and for how long.
const DRAIN_BYTES: usize = 64 * 1024;
const DRAIN_TIME: Duration = Duration::from_millis(250);

/// After so many bytes it is looked at what the response holds, which is then more by little more than
/// these.
const ACCOUNTED_BYTES: usize = 16 * 1024;

/// Who gets the response: an observer, and a capture where one was asked for.
#[derive(Debug)]
pub(crate) struct Reader {
    observer: Observer,
    capture: Option<CaptureWriter>,
    share: Share,
    /// Bytes that came since the share was last looked at.
    unaccounted: usize,
}

impl Reader {
    /// A reader that has seen nothing.
    pub(crate) fn new(
        config: ObserverConfig,
        capture: Option<CaptureWriter>,
        share: Share,
    ) -> Self {
        Self { observer: Observer::new(config), capture, share, unaccounted: 0 }
    }

    fn head(&mut self, head: Head) {
        if let Some(capture) = &mut self.capture {
            capture.head(&head);
        }
        self.observer.head(head);
    }

    fn read(&mut self, bytes: &[u8], at: Duration) -> Progress {
        if let Some(capture) = &mut self.capture {
            capture.read(bytes, at);
        }
        let progress = self.observer.feed(bytes, at);
        self.unaccounted += bytes.len();
        if self.unaccounted < ACCOUNTED_BYTES || progress == Progress::Over {
            return progress;
        }
        self.unaccounted = 0;
        let held_bytes =
            self.observer.held_bytes() + self.capture.as_ref().map_or(0, CaptureWriter::held_bytes);
        if self.share.holds(held_bytes) {
            return Progress::More;
        }
        self.observer.stop(FailureClass::OverBudget);
        Progress::Over
    }

    /// What was observed, and the bytes of the capture.
    pub(crate) fn finish(self, end: End, at: Duration) -> (Observed, Option<Vec<u8>>) {
        let capture = self.capture.map(|capture| capture.finish(end, at));
        (self.observer.finish(end, at), capture)
    }
}

/// What one response came to.
#[derive(Debug)]
pub(crate) struct Received {
    /// Immediately before the first byte of the request was written.
    pub(crate) started: Instant,
    /// When the head of the response had arrived.
    pub(crate) headers: Option<Instant>,
    /// Where the server wants the request to go instead.
    pub(crate) redirect: Option<String>,
    /// How the reading ended.
    pub(crate) ended: Ended,
}

/// How the reading of a response ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The body ended.
    Body(End),
    /// The end mark came, or the observer wants no more; the body may go on.
    Over,
    /// Everything under way was cancelled.
    Cancelled,
    /// A time limit of this class.
    TimedOut(FailureClass),
    /// No head of a response came.
    Unanswered(hyper::Error),
}

/// Reads a response. Times handed to the observer count from `zero`, or from the first write of
/// this request.
pub(crate) async fn receive(
    exchange: &mut Exchange,
    reader: &mut Reader,
    mut zero: Option<Instant>,
    mut interrupts: Interrupts<'_>,
) -> Received {
    let handed_over = Instant::now();
    let tap = exchange.connection().tap().clone();
    let mut headers = None;
    let mut redirect = None;
    let ended = loop {
        let next = poll_fn(|cx| {
            if let Poll::Ready(step) = exchange.poll_step(cx) {
                return Poll::Ready(Ok(step));
            }
            interrupts.poll(cx, tap.last_read().unwrap_or(handed_over)).map(Err)
        })
        .await;
        let at = tap.last_read().unwrap_or_else(Instant::now);
        // A server that never lets the socket run dry never lets a timer ring either.
        if let Some(ended) = interrupts.cut_at(at) {
            break ended;
        }
        match next {
            Err(ended) => break ended,
            Ok(Step::Broken(error)) => break Ended::Unanswered(error),
            Ok(Step::End(end)) => break Ended::Body(end),
            Ok(Step::Head(parts)) => {
                headers = Some(at);
                redirect = redirect_of(&parts);
                reader.head(head_of(&parts));
            }
            Ok(Step::Bytes(bytes)) => {
                let zero = zero.get_or_insert_with(|| tap.first_write().unwrap_or(handed_over));
                let progress = reader.read(&bytes, at.saturating_duration_since(*zero));
                if progress == Progress::Over {
                    break Ended::Over;
                }
            }
        }
    };
    Received { started: tap.first_write().unwrap_or(handed_over), headers, redirect, ended }
}

/// Where a redirect leads. It is not followed.
pub(crate) fn redirect_of(parts: &Parts) -> Option<String> {
    let location = parts.headers.get(LOCATION).filter(|_| parts.status.is_redirection())?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

fn head_of(parts: &Parts) -> Head {
    let text = |name: HeaderName| {
        parts.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    Head {
        status: parts.status.as_u16(),
        content_type: text(CONTENT_TYPE),
        content_encoding: text(CONTENT_ENCODING),
        retry_after: text(RETRY_AFTER),
        date: text(DATE),
    }
}

/// What may end a response before it ends itself.
pub(crate) struct Interrupts<'a> {
    cancel: Option<Cancelled<'a>>,
    limits: Option<TimeLimits>,
    /// The last sign of life when all of these were last asked; they wake the task themselves.
    asked_after: Option<Instant>,
}

struct Cancelled<'a> {
    signal: &'a Cancel,
    given: Pin<Box<Notified<'a>>>,
}

struct TimeLimits {
    idle: Duration,
    deadline: Instant,
    rings: Instant,
    sleep: Pin<Box<Sleep>>,
}

impl<'a> Interrupts<'a> {
    /// Nothing interrupts: for saved responses.
    pub(crate) fn none() -> Self {
        Self { cancel: None, limits: None, asked_after: None }
    }

    /// The end of everything, and the limits of one request counted from `zero`.
    pub(crate) fn new(signal: &'a Cancel, idle: Duration, total: Duration, zero: Instant) -> Self {
        let deadline = zero + total;
        let rings = deadline.min(Instant::now() + idle);
        let sleep = Box::pin(tokio::time::sleep_until(rings.into()));
        Self {
            cancel: Some(Cancelled { signal, given: Box::pin(signal.next()) }),
            limits: Some(TimeLimits { idle, deadline, rings, sleep }),
            asked_after: None,
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancelled| cancelled.signal.is_given())
    }

    /// What ends the response at an arrival, without waiting for anything.
    fn cut_at(&self, arrival: Instant) -> Option<Ended> {
        if self.is_cancelled() {
            return Some(Ended::Cancelled);
        }
        let late = self.limits.as_ref().is_some_and(|limits| arrival >= limits.deadline);
        late.then_some(Ended::TimedOut(FailureClass::DeadlineExceeded))
    }

    fn poll(&mut self, cx: &mut Context<'_>, last_sign_of_life: Instant) -> Poll<Ended> {
        if self.is_cancelled() {
            return Poll::Ready(Ended::Cancelled);
        }
        // A task that was woken by bytes need not ask its timer, which has been set and has not rung.
        let asked_after = self.asked_after.replace(last_sign_of_life);
        let woken_by_bytes = asked_after.is_some_and(|asked| last_sign_of_life > asked);
        let may_have_rung =
            self.limits.as_ref().is_some_and(|limits| last_sign_of_life >= limits.rings);
        if woken_by_bytes && !may_have_rung {
            return Poll::Pending;
        }
        if let Some(cancelled) = &mut self.cancel
            && cancelled.given.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Ended::Cancelled);
        }
        match &mut self.limits {
            Some(limits) => limits.poll(cx, last_sign_of_life).map(Ended::TimedOut),
            None => Poll::Pending,
        }
    }
}

impl TimeLimits {
    /// The timer is moved only when it rings, not at every arrival.
    fn poll(&mut self, cx: &mut Context<'_>, last_sign_of_life: Instant) -> Poll<FailureClass> {
        while self.sleep.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            let idle_end = last_sign_of_life + self.idle;
            if now >= self.deadline {
                return Poll::Ready(FailureClass::DeadlineExceeded);
            }
            if now >= idle_end {
                return Poll::Ready(FailureClass::IdleTimeout);
            }
            self.rings = self.deadline.min(idle_end);
            self.sleep.as_mut().reset(self.rings.into());
        }
        Poll::Pending
    }
}

/// Gives the connection of an ended response back to the pool. What is left of the body is read
/// first: at once where it has arrived, else in the background for a short time.
pub(crate) fn release(mut exchange: Exchange, pool: &Arc<Pool>) {
    let mut left = DRAIN_BYTES;
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        match exchange.poll_step(&mut cx) {
            Poll::Pending => break,
            Poll::Ready(Step::Bytes(bytes)) if bytes.len() <= left => left -= bytes.len(),
            Poll::Ready(Step::End(End::Clean)) => {
                if let Some(connection) = exchange.into_idle() {
                    pool.put(connection);
                }
                return;
            }
            Poll::Ready(_) => return,
        }
    }
    let pool = Arc::clone(pool);
    tokio::spawn(async move {
        let drained = tokio::time::timeout(DRAIN_TIME, drain(&mut exchange, left)).await;
        if drained == Ok(true)
            && let Some(connection) = exchange.into_idle()
        {
            pool.put(connection);
        }
    });
}

/// Reads to the end of the body; false when it is too long or broken.
async fn drain(exchange: &mut Exchange, mut left: usize) -> bool {
    loop {
        match poll_fn(|cx| exchange.poll_step(cx)).await {
            Step::Bytes(bytes) if bytes.len() <= left => left -= bytes.len(),
            Step::End(End::Clean) => return true,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use streamgauge_schema::Dialect;

    use super::*;
    use crate::budget::Budget;
    use crate::secret::Redactor;

    const MEBIBYTE: usize = 1 << 20;

    /// Reads that bring no end of a line, by two readers in turn, until one is told that it is over.
    fn bytes_until_over(keeps_capture: bool) -> usize {
        let budget = Budget::new(4 * MEBIBYTE);
        let config = ObserverConfig::new(Dialect::OpenaiChat);
        let mut readers = [(); 2].map(|()| {
            let capture =
                keeps_capture.then(|| CaptureWriter::new(Dialect::OpenaiChat, Redactor::default()));
            let mut reader = Reader::new(config.clone(), capture, budget.share());
            reader.head(Head {
                status: 200,
                content_type: Some("text/event-stream".to_owned()),
                ..Head::default()
            });
            assert_eq!(reader.read(b"data: ", Duration::ZERO), Progress::More);
            reader
        });
        let mut bytes = 0;
        while bytes < 16 * MEBIBYTE {
            for reader in &mut readers {
                bytes += 4096;
                if reader.read(&[b'a'; 4096], Duration::ZERO) == Progress::Over {
                    let [first, second] = readers;
                    let ended = [first, second].map(|reader| {
                        let observed = reader.finish(End::Clean, Duration::ZERO).0;
                        observed.observation.error.map(|error| error.class)
                    });
                    assert!(ended.contains(&Some(FailureClass::OverBudget)), "{ended:?}");
                    assert!(budget.share().holds(4 * MEBIBYTE), "all is given back");
                    return bytes;
                }
            }
        }
        bytes
    }

    #[test]
    fn what_all_responses_hold_is_bounded() {
        let plain = bytes_until_over(false);
        assert!((MEBIBYTE..4 * MEBIBYTE).contains(&plain), "{plain}");
        assert!(bytes_until_over(true) < plain, "a capture counts too");
    }
}
