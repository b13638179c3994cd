//! The receive loop: reads and their times in, one observation out.

use std::time::Duration;

use streamgauge_schema::{AnomalyKind, BodyKind, Dialect, End, Ending, FailureClass, Head};

use crate::body::{self, Body, Found, Route};
use crate::config::ObserverConfig;
use crate::dialect::{Verdict, reader};
use crate::events::Events;
use crate::failure::Failure;
use crate::framing::{Decoder, Framing};
use crate::head::{Declared, declared, is_encoded};
use crate::json::Value;
use crate::observed::{Facts, Observed};
use crate::tally::Tally;

/// Bytes of a refused response that are kept for the server's message.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// Bytes of a body without a message that are handed out in place of one.
const MAX_HEAD_BYTES: usize = 2 * 1024;

/// Whether an observer wants more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The response may go on.
    More,
    /// The end mark came, or something passed a limit: what follows does not matter.
    Over,
}

/// Observes one response.
///
/// Every time is the duration since the request was sent. A time before the last one is taken for
/// the last one, so stamps never decrease.
#[derive(Debug)]
pub struct Observer {
    config: ObserverConfig,
    head: Option<Head>,
    body: Body,
    decoder: Decoder,
    events: Events,
    /// When the end mark came or a limit was passed.
    over_us: Option<u64>,
    bytes: u64,
}

/// What events and lines are taken for until one of them shows its dialect.
const EVENT_GUESS: Dialect = Dialect::OpenaiChat;
const LINE_GUESS: Dialect = Dialect::OllamaChat;

impl Observer {
    /// An observer of a response of which nothing has come.
    #[must_use]
    pub fn new(config: ObserverConfig) -> Self {
        let max_text_bytes = config.keep_texts.then_some(config.max_text_bytes);
        let tally = Tally::new(config.usage_asked, max_text_bytes);
        let max_output_events = config.keep_arrivals.then_some(config.max_output_events);
        let mut events =
            Events::new(config.dialect.unwrap_or(EVENT_GUESS), tally, max_output_events);
        let route = match config.dialect.map(framing) {
            None => {
                events.guess(EVENT_GUESS);
                Route::Guessed
            }
            Some(Framing::EventStream) => Route::Unproven,
            Some(Framing::Lines) => Route::Lines,
        };
        Self {
            body: Body::new(route, config.max_event_bytes),
            decoder: Decoder::new(Framing::EventStream, config.limits()),
            events,
            head: None,
            over_us: None,
            bytes: 0,
            config,
        }
    }

    /// Takes the head of the response: at most once, before any byte of the body. Without it the
    /// bytes are taken for a stream that was saved.
    pub fn head(&mut self, head: Head) {
        if is_encoded(&head) {
            self.events.tally.anomalies.note(AnomalyKind::UnaskedEncoding, 0);
        }
        let framing = self.config.dialect.map(framing);
        let route = match (declared(Some(&head)), framing) {
            _ if !(200..300).contains(&head.status) => Route::Refused,
            (Declared::Compressed, _) => Route::Document,
            (Declared::EventStream, None | Some(Framing::EventStream)) => Route::Unproven,
            (Declared::Lines, None | Some(Framing::Lines)) => Route::Lines,
            _ => Route::Sniffed,
        };
        let limit = match route {
            Route::Refused => MAX_REFUSAL_BYTES,
            _ => self.config.max_event_bytes,
        };
        self.body = Body::new(route, limit);
        self.head = Some(head);
    }

    /// Takes what one read brought, and when it did. All events that it completes share its time.
    /// What a read brought may be fed in pieces: those that bear the same time are one read.
    pub fn feed(&mut self, bytes: &[u8], at: Duration) -> Progress {
        if self.over_us.is_some() {
            self.after_end(bytes);
            return Progress::Over;
        }
        if !bytes.is_empty() {
            self.events.timeline.advance(at);
            self.events.reads.bytes_came(at);
            self.bytes += bytes.len() as u64;
            self.route(bytes);
        }
        if self.over_us.is_some() { Progress::Over } else { Progress::More }
    }

    /// Bytes of memory that the response takes: what is kept of its body, lines whose end has not come,
    /// texts, and times.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.body.kept.capacity() + self.decoder.held_bytes() + self.events.held_bytes()
    }

    /// Ends the reading for a reason of the reader's own, which counts as the failure unless one was
    /// found before. What came stays, and so does a success.
    ///
    /// ```
    /// use std::time::Duration;
    /// use streamgauge_observer::{Observer, ObserverConfig, Progress};
    /// use streamgauge_schema::{Dialect, End, Ending, FailureClass};
    ///
    /// let mut observer = Observer::new(ObserverConfig::new(Dialect::OpenaiChat));
    /// let at = Duration::from_millis(5);
    /// observer.feed(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n", at);
    /// observer.stop(FailureClass::OverBudget);
    /// assert_eq!(observer.feed(b"data: more", at), Progress::Over);
    /// let observation = observer.finish(End::Clean, at).observation;
    /// assert_eq!(observation.error.map(|error| error.class), Some(FailureClass::OverBudget));
    /// assert_eq!((observation.ending, observation.output_events), (Some(Ending::Truncated), 1));
    /// ```
    pub fn stop(&mut self, class: FailureClass) {
        if self.over_us.is_none() {
            self.events.fail(Failure::of(class));
            self.end();
        }
    }

    /// Says how the body ended, and when; gives what was observed.
    #[must_use]
    pub fn finish(mut self, end: End, at: Duration) -> Observed {
        if self.over_us.is_none() {
            // Before the time is set: a last line came with the last read.
            self.close_stream();
        }
        if self.over_us.is_none() {
            self.events.timeline.advance(at);
        }
        let (body, ending) = match self.body.route {
            Route::Refused => self.conclude_refused(),
            Route::Document | Route::Sniffed => self.conclude_document(end),
            Route::Unproven if self.is_document() => {
                self.events.forget_lines();
                self.conclude_document(end)
            }
            Route::Guessed | Route::Lines | Route::Stream | Route::Unproven => {
                (BodyKind::Stream, Some(self.conclude_transfer(end)))
            }
        };
        let head_of_body = self.refused_body();
        let facts = Facts {
            head: self.head,
            head_of_body,
            body,
            ending,
            elapsed_us: self.over_us.unwrap_or(self.events.timeline.now_us()),
            bytes: match self.body.route {
                Route::Stream | Route::Unproven => self.decoder.position(),
                _ => self.bytes,
            },
        };
        Observed::new(self.events, facts)
    }

    fn route(&mut self, bytes: &[u8]) {
        match self.body.route {
            Route::Stream => self.stream(bytes),
            Route::Unproven => {
                self.stream(bytes);
                if self.decoder.is_proven() || !self.body.keep(bytes) {
                    self.body = Body::new(Route::Stream, 0);
                }
            }
            Route::Guessed | Route::Lines | Route::Sniffed => self.undecided(bytes),
            Route::Document => {
                if !self.body.keep(bytes) {
                    self.oversized();
                }
            }
            Route::Refused => {
                if !self.body.keep(bytes) {
                    self.end();
                }
            }
        }
    }

    /// Keeps bytes until they show what they are, and then reads all of them so.
    fn undecided(&mut self, bytes: &[u8]) {
        let fits = self.body.keep(bytes);
        let found = self.body.decide();
        match (self.body.route, found) {
            (_, Some(Found::Stream(framing))) => self.begin_stream(framing, Route::Stream, bytes),
            (_, Some(Found::Document)) => {
                self.body.route = Route::Document;
                if !fits {
                    self.oversized();
                }
            }
            (_, Some(Found::Unproven)) => {
                self.begin_stream(Framing::EventStream, Route::Unproven, bytes);
            }
            (_, None) if fits => {}
            (Route::Guessed, None) => {
                self.begin_stream(Framing::EventStream, Route::Stream, bytes);
            }
            (Route::Lines, None) => self.begin_stream(Framing::Lines, Route::Stream, bytes),
            (_, None) => self.oversized(),
        }
    }

    /// Reads what was kept as a stream; the last of it are the bytes that came now, of which some
    /// may not have been kept.
    fn begin_stream(&mut self, framing: Framing, route: Route, last: &[u8]) {
        self.decoder = Decoder::new(framing, self.config.limits());
        if self.config.dialect.is_none() && framing == Framing::Lines {
            self.events.guess(LINE_GUESS);
        }
        let before = usize::try_from(self.bytes).unwrap_or(usize::MAX).saturating_sub(last.len());
        let limit = if route == Route::Unproven { self.config.max_event_bytes } else { 0 };
        let body = std::mem::replace(&mut self.body, Body::new(route, limit));
        self.route(&body.kept[..before]);
        self.route(last);
    }

    fn stream(&mut self, mut bytes: &[u8]) {
        if self.over_us.is_none() && self.decoder.feed(&mut bytes, &mut self.events) {
            self.end();
        }
        if self.over_us.is_some() {
            self.after_end(bytes);
        }
    }

    /// Reads what the end of the body closed.
    fn close_stream(&mut self) {
        if self.body.route == Route::Guessed {
            self.begin_stream(Framing::EventStream, Route::Unproven, &[]);
        }
        if matches!(self.body.route, Route::Stream | Route::Unproven)
            && self.decoder.finish(&mut self.events)
        {
            self.end();
        }
    }

    fn oversized(&mut self) {
        self.events.fail(Failure::of(FailureClass::OversizedEvent));
        self.end();
    }

    fn end(&mut self) {
        self.over_us = Some(self.events.timeline.now_us());
    }

    fn after_end(&mut self, mut bytes: &[u8]) {
        if self.events.tally.done {
            self.decoder.finish_line_end(&mut bytes);
            let offset = self.decoder.position();
            let anomalies = &mut self.events.tally.anomalies;
            anomalies.note_many(AnomalyKind::BytesAfterEnd, bytes.len() as u64, offset);
        }
    }

    /// Whether a body without any line of an event stream is something else: one JSON object, or
    /// the beginning of a list or a page.
    fn is_document(&self) -> bool {
        let begins_with = body::first_byte(&self.body.kept);
        self.over_us.is_none()
            && match begins_with {
                Some(b'{') => {
                    body::text(&self.body.kept).and_then(Value::parse).is_some_and(Value::is_object)
                }
                Some(b'[' | b'<') => true,
                _ => false,
            }
    }

    /// The beginning of a body that is the only thing which tells why there is no answer.
    fn refused_body(&self) -> Option<String> {
        let failure = self.events.failure.as_ref()?;
        let untold =
            matches!(failure.class, FailureClass::HttpStatus | FailureClass::NotEventStream)
                && failure.message.is_none();
        let kept = &self.body.kept[..self.body.kept.len().min(MAX_HEAD_BYTES)];
        let readable = declared(self.head.as_ref()) != Declared::Compressed && !kept.is_empty();
        (untold && readable).then(|| String::from_utf8_lossy(kept).into_owned())
    }

    fn conclude_refused(&mut self) -> (BodyKind, Option<Ending>) {
        let declared = declared(self.head.as_ref());
        let text = body::text(&self.body.kept).unwrap_or_default();
        self.events.fail(Failure::told_by(FailureClass::HttpStatus, text));
        let is_stream = self.body.begins_like_stream() == Some(true);
        let kind = if is_stream { BodyKind::Stream } else { body::kind(&self.body.kept, declared) };
        (kind, None)
    }

    fn conclude_document(&mut self, end: End) -> (BodyKind, Option<Ending>) {
        let declared = declared(self.head.as_ref());
        let kind = body::kind(&self.body.kept, declared);
        if self.over_us.is_some() {
            return (kind, None);
        }
        let text = match declared {
            Declared::Compressed => "",
            _ => body::text(&self.body.kept).unwrap_or_default(),
        };
        let ending = match self.events.whole(text) {
            Verdict::Read => Some(self.conclude_transfer(end)),
            Verdict::Failure => None,
            // Of a JSON object that was cut short nobody can say what it would have been.
            Verdict::NotAnObject
                if end != End::Clean && (text.is_empty() || text.starts_with('{')) =>
            {
                Some(self.conclude_transfer(end))
            }
            Verdict::NotAnObject => {
                self.events.fail(Failure::told_by(FailureClass::NotEventStream, text));
                None
            }
        };
        (kind, ending)
    }

    fn conclude_transfer(&mut self, end: End) -> Ending {
        let done = self.events.tally.done;
        let all_finished = self.events.tally.choices.all_finished();
        let failed = match end {
            _ if self.over_us.is_some() => None,
            End::Clean if all_finished => None,
            End::Clean | End::Incomplete => Some(FailureClass::PrematureEof),
            End::Reset => Some(FailureClass::Reset),
            End::Timeout => Some(FailureClass::IdleTimeout),
        };
        if let Some(class) = failed {
            self.events.fail(Failure::of(class));
        }
        match (done, all_finished) {
            (true, true) => Ending::Complete,
            (true, false) => Ending::CompleteNoReason,
            (false, _) if failed.is_none() && self.over_us.is_none() => Ending::Complete,
            (false, _) => Ending::Truncated,
        }
    }
}

/// How the streams of a dialect are divided into events.
fn framing(dialect: Dialect) -> Framing {
    reader(dialect).framing()
}
