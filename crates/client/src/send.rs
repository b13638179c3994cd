//! One request, one line of the journal.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::{Either, select};
use streamgauge_observer::{Observed, ObserverConfig};
use streamgauge_schema::{
    Completion, Dialect, End, Failure, FailureClass, Limits, Observation, Request, RequestLine,
    Stage,
};
use tokio::sync::watch;

use crate::access::Headers;
use crate::capture::CaptureWriter;
use crate::clock::{RunClock, micros};
use crate::connect::Connector;
use crate::connection::{Connection, io_kind};
use crate::error::TransportError;
use crate::pool::Pool;
use crate::receive::{Ended, Interrupts, Reader, receive, release};
use crate::run_dir::write_private;
use crate::template::Template;
use crate::text::bounded;

/// Sends the requests of one run.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) clock: RunClock,
    pub(crate) connector: Connector,
    pub(crate) pool: Arc<Pool>,
    pub(crate) headers: Headers,
    pub(crate) template: Template,
    pub(crate) dialect: Dialect,
    pub(crate) limits: Limits,
    pub(crate) resend: bool,
    /// Folder for captures of the responses.
    pub(crate) captures: Option<PathBuf>,
}

/// One attempt at a request.
struct Attempt {
    /// Before its first byte was written; where none was, when the attempt began.
    started: Instant,
    headers: Option<Instant>,
    finished: Instant,
    result: AttemptResult,
}

enum AttemptResult {
    /// The response ended by itself.
    Observed(Box<Observed>),
    /// No head of a response came.
    Failed(TransportError),
    /// It was not handed over before the run was stopped.
    NotSent,
    /// As `Failed`, and it was closed before any byte of the response on a reused connection.
    ReusedConnectionClosed(TransportError),
    /// The run was stopped.
    Stopped(Option<Box<Observed>>),
    /// A time limit of this class.
    TimedOut(FailureClass, Option<Box<Observed>>),
}

impl Sender {
    /// Sends one request and observes its response. Every way it can go ends in a line.
    pub(crate) async fn send(
        &self,
        stage: Stage,
        request: Request,
        stop: watch::Receiver<bool>,
    ) -> RequestLine {
        let mut line = new_line(stage, &request);
        let body = Bytes::from(request.body);
        let first = self.attempt(&mut line, &body, None, &stop).await;
        let zero = first.started;
        let last = match first.result {
            AttemptResult::ReusedConnectionClosed(_) if self.resend => {
                self.attempt(&mut line, &body, Some(zero), &stop).await
            }
            _ => first,
        };
        self.conclude(&mut line, zero, last);
        line
    }

    async fn attempt(
        &self,
        line: &mut RequestLine,
        body: &Bytes,
        zero: Option<Instant>,
        stop: &watch::Receiver<bool>,
    ) -> Attempt {
        let begun = Instant::now();
        line.attempts += 1;
        let without_answer =
            |result| Attempt { started: begun, headers: None, finished: Instant::now(), result };
        let connection = match self.acquire_unless_stopped(line, stop.clone()).await {
            Ok(connection) => connection,
            Err(result) => return without_answer(result),
        };
        let reused = connection.uses() > 0;
        if !reused {
            line.connect_us = Some(micros(connection.origin().connect));
        }
        let id = format!("{}-{}", line.stage, line.index);
        let mut exchange = match connection.exchange(self.template.post(body.clone(), &id)).await {
            Ok(exchange) => exchange,
            Err(error) => return without_answer(unanswered(&error, reused, 0)),
        };
        // Nothing in a run reads the texts.
        let config = ObserverConfig { keep_texts: false, ..ObserverConfig::new(self.dialect) };
        let capture = self.captures.is_some().then(|| CaptureWriter::new(self.dialect));
        let mut reader = Reader::new(config, capture);
        let limits = &self.limits;
        let mut interrupts = Interrupts::new(
            stop.clone(),
            Duration::from_millis(limits.idle_timeout_ms),
            Duration::from_millis(limits.timeout_ms),
            zero.unwrap_or_else(Instant::now),
        );
        let received = receive(&mut exchange, &mut reader, zero, &mut interrupts).await;
        let tap = exchange.connection().tap().clone();
        let arrived = match &received.ended {
            Ended::Over | Ended::Body(End::Clean | End::Incomplete) => tap.last_read(),
            _ => None,
        };
        let finished = arrived.unwrap_or_else(Instant::now);
        let at = finished.saturating_duration_since(zero.unwrap_or(received.started));
        let observe = |end| {
            let (observed, capture) = received.headers.is_some().then(|| reader.finish(end, at))?;
            self.keep(&id, capture.as_deref());
            Some(Box::new(observed))
        };
        let result = match received.ended {
            Ended::Unanswered(error) => unanswered(&error, reused, tap.bytes_read()),
            Ended::Stopped => AttemptResult::Stopped(observe(End::Incomplete)),
            Ended::TimedOut(class) => AttemptResult::TimedOut(class, observe(End::Timeout)),
            Ended::Over => observed_or_bug(observe(End::Clean)),
            Ended::Body(end) => observed_or_bug(observe(end)),
        };
        note_stamps(line, exchange.connection());
        if matches!(result, AttemptResult::Observed(_)) {
            release(exchange, &self.pool);
        }
        Attempt { started: received.started, headers: received.headers, finished, result }
    }

    /// Writes the capture of a response. One that cannot be written is lost, and the run goes on.
    fn keep(&self, id: &str, capture: Option<&[u8]>) {
        if let (Some(folder), Some(bytes)) = (&self.captures, capture)
            && let Err(error) = write_private(&folder.join(format!("{id}.capture")), bytes)
        {
            tracing::warn!(%id, %error, "the capture is lost");
        }
    }

    async fn acquire_unless_stopped(
        &self,
        line: &mut RequestLine,
        mut stop: watch::Receiver<bool>,
    ) -> Result<Connection, AttemptResult> {
        let stopped = std::pin::pin!(stop.wait_for(|stop| *stop));
        let acquired = std::pin::pin!(self.acquire(line));
        match select(acquired, stopped).await {
            Either::Left((Ok(connection), _)) => Ok(connection),
            Either::Left((Err(error), _)) if error.class == FailureClass::ConnectTimeout => {
                Err(AttemptResult::TimedOut(error.class, None))
            }
            Either::Left((Err(error), _)) => Err(AttemptResult::Failed(error)),
            Either::Right((Ok(_), _)) => Err(AttemptResult::NotSent),
            // Nobody can stop a run whose sender is gone.
            Either::Right((Err(_), acquired)) => acquired.await.map_err(AttemptResult::Failed),
        }
    }

    /// A connection: an idle one that is alive, or a new one. A second attempt takes a new one.
    async fn acquire(&self, line: &mut RequestLine) -> Result<Connection, TransportError> {
        if line.attempts == 1 {
            let taken = self.pool.take().await;
            line.stale_connections += taken.stale;
            if let Some(connection) = taken.connection {
                return Ok(connection);
            }
        }
        self.connector.connect().await
    }

    /// Writes the outcome of the last attempt into the line. All latencies count from `zero`.
    fn conclude(&self, line: &mut RequestLine, zero: Instant, last: Attempt) {
        line.started_us = micros(self.clock.at(zero));
        line.last_attempt_started_us = micros(self.clock.at(last.started));
        line.headers_us = last.headers.map(|at| micros(at.saturating_duration_since(zero)));
        line.elapsed_us = micros(last.finished.saturating_duration_since(zero));
        let (completion, failure, observed) = match last.result {
            AttemptResult::Observed(observed) => {
                let failure = failure_of(&observed.observation);
                let completion =
                    if failure.is_none() { Completion::Succeeded } else { Completion::Failed };
                (completion, failure, Some(observed))
            }
            AttemptResult::Failed(error) | AttemptResult::ReusedConnectionClosed(error) => {
                let failure = Failure { class: error.class, message: error.message };
                (Completion::Failed, Some(failure), None)
            }
            AttemptResult::NotSent => (Completion::NotSent, None, None),
            AttemptResult::Stopped(observed) => (Completion::Cancelled, None, observed),
            AttemptResult::TimedOut(class, observed) => {
                let failure = Failure { class, message: self.limit_message(class) };
                (Completion::TimedOut, Some(failure), observed)
            }
        };
        line.completion = completion;
        line.failure = failure.map(|failure| Failure {
            message: bounded(&self.headers.redact(&failure.message)),
            ..failure
        });
        line.observation = observed.map(|observed| self.presentable(observed.observation, line));
        if let Some(observation) = &line.observation {
            line.elapsed_us = observation.elapsed_us;
        }
    }

    /// The observation with the client's own failure class, and with no text of the server's that
    /// gives back what was sent in secret.
    fn presentable(&self, mut observation: Observation, line: &RequestLine) -> Observation {
        if let Some(error) = &mut observation.error {
            if let (Completion::TimedOut, Some(failure)) = (line.completion, &line.failure) {
                error.class = failure.class;
            }
            for text in [&mut error.message, &mut error.code].into_iter().flatten() {
                *text = bounded(&self.headers.redact(text));
            }
        }
        if self.headers.is_empty() {
            return observation;
        }
        let texts = observation.returned_models.iter_mut().chain(&mut observation.finish_reasons);
        for text in texts {
            *text = self.headers.redact(text);
        }
        observation.server_timings = observation
            .server_timings
            .into_iter()
            .map(|(name, value)| (self.headers.redact(&name), value))
            .collect();
        observation
    }

    fn limit_message(&self, class: FailureClass) -> String {
        match class {
            FailureClass::ConnectTimeout => {
                format!("not connected within {} ms", self.limits.connect_timeout_ms)
            }
            FailureClass::IdleTimeout => {
                format!("no bytes for {} ms", self.limits.idle_timeout_ms)
            }
            _ => format!("not finished within {} ms", self.limits.timeout_ms),
        }
    }
}

fn new_line(stage: Stage, request: &Request) -> RequestLine {
    RequestLine {
        stage,
        index: request.index,
        prompt_sha256: request.prompt_sha256,
        dataset_id: request.dataset_id.clone(),
        completion: Completion::NotSent,
        failure: None,
        scheduled_us: None,
        queued_us: None,
        started_us: 0,
        last_attempt_started_us: 0,
        attempts: 0,
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

fn note_stamps(line: &mut RequestLine, connection: &Connection) {
    let tapped = connection.tap().take();
    line.unusable_stamps += tapped.unusable_stamps;
    if connection.origin().kernel_stamps {
        line.observer_lag_us = Some(tapped.lags_us);
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

/// What it means that no head came, after so many bytes.
fn unanswered(error: &hyper::Error, reused: bool, bytes_read: u64) -> AttemptResult {
    let reset = matches!(
        io_kind(error),
        Some(std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe)
    );
    let fail = |class, message: String| AttemptResult::Failed(TransportError { class, message });
    if error.is_parse() {
        return fail(FailureClass::NotEventStream, format!("the answer is no HTTP/1.1: {error}"));
    }
    if reused && bytes_read == 0 {
        return AttemptResult::ReusedConnectionClosed(TransportError {
            class: FailureClass::ReusedConnectionClosed,
            message: "the server closed a reused connection before it answered".to_owned(),
        });
    }
    if reset {
        return fail(FailureClass::Reset, "the server reset the connection unanswered".to_owned());
    }
    fail(
        FailureClass::PrematureEof,
        format!("the connection ended after {bytes_read} bytes, before the head of an answer"),
    )
}

/// Why an observed response did not succeed; `None` when it did.
fn failure_of(observation: &Observation) -> Option<Failure> {
    if let Some(error) = &observation.error {
        let message = match (&error.message, error.class) {
            (Some(message), FailureClass::HttpStatus) => {
                format!("status {}: {message}", observation.http_status)
            }
            (Some(message), _) => message.clone(),
            (None, FailureClass::HttpStatus) => format!("status {}", observation.http_status),
            (None, class) => {
                format!("{class} after {} events, {} bytes", observation.events, observation.bytes)
            }
        };
        return Some(Failure { class: error.class, message });
    }
    (!observation.succeeded()).then(|| Failure {
        class: FailureClass::NoOutput,
        message: format!("{} events, none with output", observation.events),
    })
}
