//! Takes the items of a stream one by one: what is said goes to the tally, when to the timeline,
//! and what went wrong is kept.

use streamgauge_schema::{AnomalyKind, Dialect, FailureClass};

use crate::dialect::{Reader, Shape, Verdict, reader, recognise};
use crate::failure::{Failure, is_json_failure};
use crate::json::Value;
use crate::lines::LineItem;
use crate::reads::Reads;
use crate::sse::{Oversized, SseEvent, SseItem};
use crate::tally::Tally;
use crate::timeline::{Moment, Timeline};
use crate::token_counts::TokenCounts;
use crate::twin::Twin;

/// Data that ends a stream of any dialect.
const END_MARK: &[u8] = b"[DONE]";

/// What the events of a response gave so far.
#[derive(Debug)]
pub(crate) struct Events {
    /// The dialect that the events are read by.
    pub(crate) dialect: Dialect,
    reader: Box<dyn Reader>,
    /// The dialect is a guess until some event shows one.
    guessed: bool,
    pub(crate) tally: Tally,
    pub(crate) timeline: Timeline,
    pub(crate) reads: Reads,
    pub(crate) token_counts: TokenCounts,
    /// Where the texts ended at each output event; kept where texts and arrivals are.
    pub(crate) output_ends: Vec<[u32; 2]>,
    /// The event before.
    twin: Twin,
    pub(crate) malformed: Malformed,
    /// The first request-level failure.
    pub(crate) failure: Option<Failure>,
    /// Events that carried tool-call arguments.
    pub(crate) tool_call_events: u64,
    /// The body was one JSON object.
    pub(crate) whole: bool,
    /// `None` when their times are not kept, so that any number will do.
    max_output_events: Option<usize>,
    /// There were more output events than that.
    stopped: bool,
}

/// Events that are not UTF-8 or not a JSON object.
#[derive(Debug, Default)]
pub(crate) struct Malformed {
    pub(crate) count: u64,
    pub(crate) first: Option<(u64, AnomalyKind)>,
}

impl Events {
    /// Nothing yet. The times of at most so many output events are kept; with `None` those of none.
    pub(crate) fn new(dialect: Dialect, tally: Tally, max_output_events: Option<usize>) -> Self {
        Self {
            dialect,
            reader: reader(dialect),
            guessed: false,
            tally,
            timeline: Timeline::new(max_output_events.is_some()),
            reads: Reads::default(),
            token_counts: TokenCounts::new(max_output_events.is_some()),
            output_ends: Vec::new(),
            twin: Twin::default(),
            malformed: Malformed::default(),
            failure: None,
            tool_call_events: 0,
            whole: false,
            max_output_events,
            stopped: false,
        }
    }

    /// Takes the next item. True if nothing after it counts.
    pub(crate) fn take(&mut self, item: SseItem<'_>) -> bool {
        match item {
            SseItem::Event(event) => self.event(event),
            SseItem::BareError { comments, .. } => {
                self.fail(Failure::reported(comments, None));
            }
            SseItem::UnknownField { line, offset } => {
                self.tally.anomalies.note(AnomalyKind::UnknownField, offset);
                self.dropped_line(line);
            }
            SseItem::Oversized { what, .. } => return self.oversized(what),
        }
        self.tally.done || self.stopped
    }

    /// Takes the next line of a stream of lines. True if it ended the stream.
    pub(crate) fn take_line(&mut self, item: LineItem<'_>) -> bool {
        match item {
            LineItem::Line { text, offset } => {
                self.event(SseEvent { name: b"", data: text, offset });
            }
            LineItem::Oversized(what) => return self.oversized(what),
        }
        self.tally.done || self.stopped
    }

    /// Takes a line that the end of the body closed: one that is not whole is dropped.
    pub(crate) fn take_last_line(&mut self, item: LineItem<'_>) -> bool {
        let is_cut = match item {
            LineItem::Line { text, .. } => {
                std::str::from_utf8(text).ok().and_then(Value::parse).is_none()
            }
            LineItem::Oversized(_) => false,
        };
        !is_cut && self.take_line(item)
    }

    /// Reads events by these rules until one of them shows another dialect.
    pub(crate) fn guess(&mut self, dialect: Dialect) {
        self.dialect = dialect;
        self.reader = reader(dialect);
        self.guessed = true;
    }

    /// Looks at a line that event streams drop, in case that it reports a failure.
    pub(crate) fn dropped_line(&mut self, line: &[u8]) {
        let failure = match line.strip_prefix(b"error") {
            Some([]) => Failure::of(FailureClass::ErrorEvent),
            Some([b':', value @ ..]) => {
                Failure::reported(value.strip_prefix(b" ").unwrap_or(value), None)
            }
            _ => {
                let Ok(text) = std::str::from_utf8(line) else { return };
                if !is_json_failure(text) {
                    return;
                }
                Failure::told_by(FailureClass::ErrorEvent, text)
            }
        };
        self.fail(failure);
    }

    /// Looks at a line that the end of the body cut off or ended.
    pub(crate) fn unfinished_line(&mut self, line: &[u8]) {
        // Without its colon it may be the beginning of any other field.
        if line != b"error" {
            self.dropped_line(line);
        }
    }

    /// Forgets what the lines of a body told that turned out to be no stream.
    pub(crate) fn forget_lines(&mut self) {
        self.failure = None;
        self.tally.anomalies.forget(AnomalyKind::UnknownField);
    }

    /// Reads a body that should be one JSON object. Nothing in it has an arrival time of its own.
    pub(crate) fn whole(&mut self, text: &str) -> Verdict {
        self.tally.begin(0, None);
        let verdict = self.read_text(text, Shape::Whole);
        // Nothing was streamed, so nothing marked the end of it.
        self.tally.done = false;
        match verdict {
            Verdict::NotAnObject => return verdict,
            Verdict::Failure => self.fail_by_event(text, 0),
            Verdict::Read => self.read(text, 0),
        }
        self.whole = true;
        verdict
    }

    /// Keeps a failure, if it is the first.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// Bytes of memory that what is kept of the events takes, up to what a single event may hold.
    pub(crate) fn held_bytes(&self) -> usize {
        self.tally.held_bytes()
            + self.timeline.held_bytes()
            + self.token_counts.held_bytes()
            + size_of::<[u32; 2]>() * self.output_ends.capacity()
    }

    fn event(&mut self, event: SseEvent<'_>) {
        let moment = self.timeline.dispatched();
        let index = moment.event;
        self.reads.event();
        self.tally.done = is_end_mark(event.data);
        if event.name == b"error" {
            self.twin.forget();
            return self.fail(Failure::reported(event.data, Some(index)));
        }
        if self.tally.done {
            return;
        }
        if let Some((channel, choice, text)) = self.twin.text_of(event.data) {
            self.tally.begin(event.offset, Some(moment));
            self.tally.again(channel, choice, text);
            return self.carried(moment);
        }
        self.twin.forget();
        let Ok(text) = std::str::from_utf8(event.data) else {
            return self.malformed(AnomalyKind::InvalidUtf8, index, event.offset);
        };
        self.tally.begin(event.offset, Some(moment));
        match self.read_text(text, Shape::Event(event.name)) {
            Verdict::NotAnObject => self.malformed(AnomalyKind::InvalidJson, index, event.offset),
            Verdict::Failure => self.fail_by_event(text, index),
            Verdict::Read => {
                if self.reader.is_stateless() && !self.guessed {
                    self.twin.learn(text, self.tally.event().said);
                }
                self.carried(moment);
                if !self.stopped {
                    self.read(text, index);
                }
            }
        }
    }

    /// The current event was read. If it carried output, that came now.
    fn carried(&mut self, moment: Moment) {
        let event = self.tally.event();
        if !event.channels.output() {
            return;
        }
        if self.max_output_events == Some(self.timeline.arrivals_us.len()) {
            return self.stop();
        }
        self.timeline.carried(event.channels, moment);
        self.reads.output(self.tally.offset());
        self.token_counts.push(event.completion_tokens);
        if let (Some(ends), true) = (self.tally.text_ends(), self.max_output_events.is_some()) {
            self.output_ends.push(ends);
        }
    }

    fn read_text(&mut self, text: &str, shape: Shape<'_>) -> Verdict {
        if self.guessed
            && let Some(dialect) = recognise(text, shape)
        {
            self.guess(dialect);
            self.guessed = false;
        }
        self.reader.read_text(text, shape, &mut self.tally)
    }

    /// What this event said is kept, but not that it came; its end mark does not count.
    fn stop(&mut self) {
        self.fail(Failure::of(FailureClass::OversizedStream));
        self.tally.done = false;
        self.stopped = true;
    }

    fn oversized(&mut self, what: Oversized) -> bool {
        self.fail(Failure::of(match what {
            Oversized::Event => FailureClass::OversizedEvent,
            Oversized::Line => FailureClass::OversizedLine,
        }));
        true
    }

    /// An event that its dialect has read.
    fn read(&mut self, text: &str, index: u64) {
        let event = self.tally.event();
        self.tool_call_events += u64::from(event.channels.tool_call);
        if event.failed {
            self.fail_by_event(text, index);
        }
    }

    fn fail_by_event(&mut self, text: &str, index: u64) {
        let told = Failure::told_by(FailureClass::ErrorEvent, text);
        self.fail(Failure { event: Some(index), ..told });
    }

    fn malformed(&mut self, kind: AnomalyKind, index: u64, offset: u64) {
        self.malformed.count += 1;
        self.malformed.first.get_or_insert((index, kind));
        self.tally.anomalies.note(kind, offset);
    }
}

fn is_end_mark(data: &[u8]) -> bool {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let start = data.iter().position(|byte| !blank(byte)).unwrap_or(data.len());
    let rest = &data[start..];
    rest.starts_with(END_MARK) && rest[END_MARK.len()..].iter().all(blank)
}
