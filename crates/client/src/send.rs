//! One request, one line of the journal.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::{Either, select};
use streamgauge_observer::{Observed, ObserverConfig};
use streamgauge_schema::{
    Completion, Dialect, End, Extraction, Failure, FailureClass, Limits, Request, RequestLine,
    RetriedAttempt, Retries, Stage,
};

use crate::budget::Budget;
use crate::cancel::Cancel;
use crate::capture::CaptureWriter;
use crate::clock::{RunClock, micros};
use crate::connection::Connection;
use crate::error::TransportError;
use crate::failed;
use crate::lags;
use crate::lane::{Lane, Lanes};
use crate::no_head::no_head;
use crate::receive::{Ended, Interrupts, Reader, Received, receive, release};
use crate::redacted::{masked, redacted};
use crate::retry::Again;
use crate::run_dir::write_private;
use crate::secret::Redactor;
use crate::tap::Tap;
use crate::text::bounded;

/// Sends requests over connections of its own.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) common: Arc<Common>,
    pub(crate) lanes: Lanes,
}

/// What all senders of one run have in common.
#[derive(Debug)]
pub(crate) struct Common {
    /// Takes out of what is kept what was sent in secret.
    pub(crate) redactor: Redactor,
    pub(crate) dialect: Dialect,
    pub(crate) observer: ObserverConfig,
    pub(crate) limits: Limits,
    pub(crate) resend: bool,
    /// When a request that failed is sent again.
    pub(crate) retries: Option<Retries>,
    /// Note the lag of each output event, where all of them are known.
    pub(crate) event_lags: bool,
    /// Folder for captures of the responses.
    pub(crate) captures: Option<PathBuf>,
    /// The memory that all responses together may take.
    pub(crate) budget: Arc<Budget>,
    /// Ends all requests.
    pub(crate) cancel: Cancel,
    /// How many requests are being sent or answered.
    pub(crate) inflight: Arc<AtomicU64>,
}

/// One request and when it is to be sent.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) stage: Stage,
    pub(crate) request: Request,
    pub(crate) clock: RunClock,
    /// When the load schedule wants it; `None` is at once.
    pub(crate) due: Option<Instant>,
    /// Where nothing is due: the moment of a common start that still lies ahead.
    pub(crate) not_before: Option<Instant>,
    /// How long after its due time it had to wait for a place.
    pub(crate) queued: Option<Duration>,
    /// From then on it is not sent any more.
    pub(crate) not_after: Option<Instant>,
    /// From then on it is not sent again.
    pub(crate) ends: Option<Instant>,
}

impl Order {
    /// The moment that it is held for; `None` is at once.
    pub(crate) fn held_for(&self) -> Option<Instant> {
        self.due.or(self.not_before)
    }
}

/// What became of an order.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) line: Box<RequestLine>,
    /// What the response said, where it was kept.
    pub(crate) said: Option<Box<Extraction>>,
}

/// One attempt at a request.
struct Attempt {
    /// Before its first byte was written; where none was, when the attempt began.
    started: Instant,
    headers: Option<Instant>,
    redirect: Option<String>,
    finished: Instant,
    result: AttemptResult,
}

/// The times that attempts by policy keep to.
#[derive(Clone, Copy)]
struct Times {
    clock: RunClock,
    zero: Instant,
    /// From then on nothing is sent again.
    ends: Option<Instant>,
}

impl Attempt {
    /// Whether it may be made again, and the class of its failure.
    fn again(&self) -> Option<(Again, FailureClass)> {
        match &self.result {
            AttemptResult::Failed(error) => Some((Again::of_class(error.class)?, error.class)),
            AttemptResult::TimedOut(class, None) => Some((Again::of_class(*class)?, *class)),
            AttemptResult::Observed(observed) => {
                let seen = &observed.observation;
                let again = Again::of_status(seen.http_status, seen.retry_after_s)?;
                Some((again, FailureClass::HttpStatus))
            }
            _ => None,
        }
    }

    /// The status of its response, if there was one.
    fn http_status(&self) -> Option<u16> {
        match &self.result {
            AttemptResult::Observed(observed) => Some(observed.observation.http_status),
            _ => None,
        }
    }
}

enum AttemptResult {
    /// The response ended by itself.
    Observed(Box<Observed>),
    /// No head of a response came.
    Failed(TransportError),
    /// It was not handed over before everything was cancelled.
    NotSent,
    /// As `Failed`, and it was closed before any byte of the response on a reused connection. The
    /// request's body can be sent again.
    ReusedConnectionClosed(TransportError, Bytes),
    /// Everything under way was cancelled.
    Cancelled(Option<Box<Observed>>),
    /// A time limit of this class.
    TimedOut(FailureClass, Option<Box<Observed>>),
}

/// A request that is counted as long as this lives.
struct Counted<'a>(&'a AtomicU64);

impl<'a> Counted<'a> {
    fn in_flight(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Sender {
    /// Sends one request and observes its response. Every way it can go ends in a line.
    pub(crate) async fn send(self: Arc<Self>, order: Order) -> Sent {
        // Boxed, as are the other large parts of a request: tasks are moved when they begin.
        let mut line = Box::new(new_line(&order));
        if order.not_after.is_some_and(|end| Instant::now() >= end) {
            return Sent { line, said: None };
        }
        let _counted = Counted::in_flight(&self.common.inflight);
        let body = Bytes::from(order.request.body);
        let to_retry = self.common.retries.map(|policy| (policy, body.clone()));
        let first = self.attempt(&mut line, body, None).await;
        let zero = first.started;
        let mut last = match first.result {
            AttemptResult::ReusedConnectionClosed(_, body) if self.common.resend => {
                // Rare, and large: not to be a part of every request.
                Box::pin(self.attempt(&mut line, body, Some(zero))).await
            }
            _ => first,
        };
        if let Some((policy, body)) = to_retry.filter(|_| last.again().is_some()) {
            let times = Times { clock: order.clock, zero, ends: order.ends };
            last = Box::pin(self.retry(policy, &mut line, body, times, last)).await;
        }
        let said = self.common.conclude(&mut line, order.clock, zero, last);
        Sent { line, said }
    }

    /// Attempts after a failed one, by policy, as long as there is time; gives the last one.
    async fn retry(
        &self,
        policy: Retries,
        line: &mut RequestLine,
        body: Bytes,
        times: Times,
        mut last: Attempt,
    ) -> Attempt {
        let Times { clock, zero, ends } = times;
        let deadline = zero + Duration::from_millis(self.common.limits.timeout_ms);
        let ends = ends.map_or(deadline, |ends| ends.min(deadline));
        while let Some((again, class)) = last.again()
            && let Some(pause) = again.pause(policy, line.retried.len() as u64)
        {
            let cancelled = std::pin::pin!(self.common.cancel.wait());
            let paused = std::pin::pin!(tokio::time::sleep(pause));
            if Instant::now() + pause >= ends
                || matches!(select(cancelled, paused).await, Either::Left(_))
            {
                break;
            }
            line.retried.push(RetriedAttempt {
                class,
                http_status: last.http_status(),
                started_us: micros(clock.at(last.started)),
                elapsed_us: micros(last.finished.saturating_duration_since(last.started)),
                paused_us: micros(last.finished.elapsed()),
            });
            // What the kernel said of its reads is no more of this response.
            (line.observer_lag_us, line.output_lags_us, line.end_lag_us) = (None, None, None);
            last = self.attempt(line, body.clone(), Some(zero)).await;
        }
        last
    }

    async fn attempt(&self, line: &mut RequestLine, body: Bytes, zero: Option<Instant>) -> Attempt {
        let common = &*self.common;
        let lane = self.lanes.of(line.index);
        let begun = Instant::now();
        line.attempts += 1;
        let without_answer = |result| Attempt {
            started: begun,
            headers: None,
            redirect: None,
            finished: Instant::now(),
            result,
        };
        let mut connection = match self.acquire_unless_cancelled(lane, line).await {
            Ok(connection) => connection,
            Err(result) => return without_answer(result),
        };
        let reused = connection.uses() > 0;
        if !reused {
            line.connect_us = Some(micros(connection.origin().connect));
        }
        let mut id = format!("{}-{}", line.stage, line.index);
        if !line.retried.is_empty() {
            // Each response has a capture of its own.
            id = format!("{id}-attempt-{}", line.attempts);
        }
        // On a fresh connection nothing is repeated, so that the body can go as soon as it is written.
        let to_repeat = reused.then(|| body.clone());
        if let Err(error) = connection.ready().await {
            return without_answer(unanswered(&error, to_repeat, connection.tap()));
        }
        let mut exchange = connection.exchange(lane.template.post(body, &id));
        let mut reader = common.reader();
        let interrupts = common.interrupts(zero.unwrap_or_else(Instant::now));
        let received = receive(&mut exchange, &mut reader, zero, interrupts).await;
        let tap = exchange.connection().tap();
        let arrived = match &received.ended {
            Ended::Over | Ended::Body(End::Clean | End::Incomplete) => tap.last_read(),
            _ => None,
        };
        let finished = arrived.unwrap_or_else(Instant::now);
        let zero = zero.unwrap_or(received.started);
        let at = finished.saturating_duration_since(zero);
        let observe = |end| {
            let (observed, capture) = received.headers.is_some().then(|| reader.finish(end, at))?;
            common.keep(&id, capture.as_deref());
            Some(Box::new(observed))
        };
        let result = match received.ended {
            Ended::Unanswered(error) => unanswered(&error, to_repeat, tap),
            Ended::Cancelled => AttemptResult::Cancelled(observe(End::Incomplete)),
            Ended::TimedOut(class) => AttemptResult::TimedOut(class, observe(End::Timeout)),
            Ended::Over => observed_or_bug(observe(End::Clean)),
            Ended::Body(end) => observed_or_bug(observe(end)),
        };
        common.note_lags(line, exchange.connection(), &result, zero);
        if matches!(result, AttemptResult::Observed(_)) {
            release(exchange, &lane.pool);
        }
        let Received { started, headers, redirect, .. } = received;
        Attempt { started, headers, redirect, finished, result }
    }

    async fn acquire_unless_cancelled(
        &self,
        lane: &Lane,
        line: &mut RequestLine,
    ) -> Result<Connection, AttemptResult> {
        let cancelled = std::pin::pin!(self.common.cancel.wait());
        let acquired = std::pin::pin!(lane.acquire(line));
        match select(cancelled, acquired).await {
            Either::Left(_) => Err(AttemptResult::NotSent),
            Either::Right((Ok(connection), _)) => Ok(connection),
            Either::Right((Err(error), _)) if error.class == FailureClass::ConnectTimeout => {
                Err(AttemptResult::TimedOut(error.class, None))
            }
            Either::Right((Err(error), _)) => Err(AttemptResult::Failed(error)),
        }
    }
}

impl Lane {
    /// A connection: an idle one that is alive, or a new one. A second attempt takes a new one.
    async fn acquire(&self, line: &mut RequestLine) -> Result<Connection, TransportError> {
        if line.attempts == 1 {
            let taken = self.pool.take().await;
            line.stale_connections += taken.stale;
            if let Some(connection) = taken.connection {
                return Ok(connection);
            }
        }
        Box::pin(self.connector.connect()).await
    }
}

impl Common {
    fn reader(&self) -> Box<Reader> {
        let capture = self.captures.is_some();
        let capture = capture.then(|| CaptureWriter::new(self.dialect, self.redactor.clone()));
        Box::new(Reader::new(self.observer.clone(), capture, self.budget.share()))
    }

    fn interrupts(&self, zero: Instant) -> Interrupts<'_> {
        let idle = Duration::from_millis(self.limits.idle_timeout_ms);
        let total = Duration::from_millis(self.limits.timeout_ms);
        Interrupts::new(&self.cancel, idle, total, zero)
    }

    fn note_lags(
        &self,
        line: &mut RequestLine,
        connection: &Connection,
        result: &AttemptResult,
        zero: Instant,
    ) {
        if !connection.origin().kernel_stamps {
            return;
        }
        let reads = connection.tap().take_stamped();
        lags::note(line, &reads);
        if let AttemptResult::Observed(observed) = result
            && self.event_lags
        {
            lags::note_events(line, &observed.observation, &reads, zero);
        }
    }

    /// Writes the capture of a response. One that cannot be written is lost, and the run goes on.
    fn keep(&self, id: &str, capture: Option<&[u8]>) {
        if let (Some(folder), Some(bytes)) = (&self.captures, capture)
            && let Err(error) = write_private(&folder.join(format!("{id}.capture")), bytes)
        {
            tracing::warn!(%id, %error, "the capture is lost");
        }
    }

    /// Writes the outcome of the last attempt into the line, and gives what the response said where
    /// that is kept. All latencies count from `zero`.
    fn conclude(
        &self,
        line: &mut RequestLine,
        clock: RunClock,
        zero: Instant,
        last: Attempt,
    ) -> Option<Box<Extraction>> {
        line.started_us = micros(clock.at(zero));
        line.last_attempt_started_us = micros(clock.at(last.started));
        line.headers_us = last.headers.map(|at| micros(at.saturating_duration_since(zero)));
        line.elapsed_us = micros(last.finished.saturating_duration_since(zero));
        let (completion, failure, observed) = match last.result {
            AttemptResult::Observed(observed) => {
                let failure = failed::of_observed(&observed, last.redirect.as_deref());
                let completion =
                    if failure.is_none() { Completion::Succeeded } else { Completion::Failed };
                (completion, failure, Some(observed))
            }
            AttemptResult::Failed(error) | AttemptResult::ReusedConnectionClosed(error, _) => {
                let failure = Failure { class: error.class, message: error.message };
                (Completion::Failed, Some(failure), None)
            }
            AttemptResult::NotSent if line.attempts > 1 => (Completion::Cancelled, None, None),
            AttemptResult::NotSent => (Completion::NotSent, None, None),
            AttemptResult::Cancelled(observed) => (Completion::Cancelled, None, observed),
            AttemptResult::TimedOut(class, observed) => {
                let observation = observed.as_deref().map(|observed| &observed.observation);
                let failure = failed::of_limit(class, &self.limits, observation);
                (Completion::TimedOut, Some(failure), observed)
            }
        };
        line.completion = completion;
        line.failure = failure.map(|failure| Failure {
            message: bounded(&self.redactor.redact(&failure.message)),
            ..failure
        });
        let Observed { observation, extraction, .. } = *observed?;
        line.elapsed_us = observation.elapsed_us;
        let mut observation = redacted(&self.redactor, observation);
        // Of a request that was out of time the client has the class.
        if let (Some(error), Completion::TimedOut, Some(failure)) =
            (&mut observation.error, completion, &line.failure)
        {
            error.class = failure.class;
        }
        line.observation = Some(observation);
        self.observer.keep_texts.then(|| Box::new(masked(&self.redactor, extraction)))
    }
}

fn new_line(order: &Order) -> RequestLine {
    let Order { stage, request, clock, due, queued, .. } = order;
    RequestLine {
        stage: *stage,
        index: request.index,
        prompt_sha256: request.prompt_sha256,
        dataset_id: request.dataset_id.clone(),
        completion: Completion::NotSent,
        failure: None,
        scheduled_us: due.map(|due| micros(clock.at(due))),
        queued_us: queued.map(micros),
        started_us: 0,
        last_attempt_started_us: 0,
        attempts: 0,
        retried: Vec::new(),
        headers_us: None,
        elapsed_us: 0,
        connect_us: None,
        stale_connections: 0,
        observer_lag_us: None,
        unusable_stamps: 0,
        output_lags_us: None,
        end_lag_us: None,
        observation: None,
    }
}

/// A response whose reading ended without an interruption has had a head.
fn observed_or_bug(observed: Option<Box<Observed>>) -> AttemptResult {
    match observed {
        Some(observed) => AttemptResult::Observed(observed),
        None => AttemptResult::Failed(TransportError {
            class: FailureClass::RunnerError,
            message: "a body without a head".to_owned(),
        }),
    }
}

/// What it means that no head came. `to_repeat` is the body of a request on a reused connection.
fn unanswered(error: &hyper::Error, to_repeat: Option<Bytes>, tap: &Tap) -> AttemptResult {
    let unanswered = no_head(error, tap);
    let was_closed = matches!(unanswered.class, FailureClass::PrematureEof | FailureClass::Reset);
    match to_repeat.filter(|_| was_closed && tap.bytes_read() == 0) {
        Some(body) => {
            let class = FailureClass::ReusedConnectionClosed;
            let message = "the server closed a reused connection before it answered".to_owned();
            AttemptResult::ReusedConnectionClosed(TransportError { class, message }, body)
        }
        None => AttemptResult::Failed(unanswered),
    }
}
