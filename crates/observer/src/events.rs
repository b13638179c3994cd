//! Takes the items of a stream one by one: what is said goes to the tally, when to the timeline,
//! and what went wrong is kept.

use streamgauge_schema::{AnomalyKind, FailureClass};

use crate::dialect::{Reader, Shape, Verdict};
use crate::failure::{Failure, is_json_failure};
use crate::sse::{Oversized, SseEvent, SseItem};
use crate::tally::Tally;
use crate::timeline::Timeline;

/// Data that ends a stream of any dialect.
const END_MARK: &[u8] = b"[DONE]";

/// What the events of a response gave so far.
#[derive(Debug)]
pub(crate) struct Events {
    reader: Box<dyn Reader>,
    pub(crate) tally: Tally,
    pub(crate) timeline: Timeline,
    pub(crate) malformed: Malformed,
    /// The first request-level failure.
    pub(crate) failure: Option<Failure>,
    /// Events that carried tool-call arguments.
    pub(crate) tool_call_events: u64,
    /// The body was one JSON object.
    pub(crate) whole: bool,
}

/// Events that are not UTF-8 or not a JSON object.
#[derive(Debug, Default)]
pub(crate) struct Malformed {
    pub(crate) count: u64,
    pub(crate) first: Option<(u64, AnomalyKind)>,
}

impl Events {
    /// Nothing yet.
    pub(crate) fn new(reader: Box<dyn Reader>, tally: Tally) -> Self {
        Self {
            reader,
            tally,
            timeline: Timeline::default(),
            malformed: Malformed::default(),
            failure: None,
            tool_call_events: 0,
            whole: false,
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
            SseItem::Oversized { what, .. } => {
                self.fail(Failure::of(match what {
                    Oversized::Event => FailureClass::OversizedEvent,
                    Oversized::Line => FailureClass::OversizedLine,
                }));
                return true;
            }
        }
        self.tally.done
    }

    /// Looks at a line that event streams drop, in case that it reports a failure.
    pub(crate) fn dropped_line(&mut self, line: &[u8]) {
        let failure = match line.strip_prefix(b"error") {
            Some([]) => Failure::of(FailureClass::ErrorEvent),
            Some([b':', value @ ..]) => Failure::reported(value, None),
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
        self.tally.begin(0);
        let verdict = self.reader.read_text(text, Shape::Whole, &mut self.tally);
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

    fn event(&mut self, event: SseEvent<'_>) {
        let index = self.timeline.dispatched();
        self.tally.done = is_end_mark(event.data);
        if event.name == b"error" {
            return self.fail(Failure::reported(event.data, Some(index)));
        }
        if self.tally.done {
            return;
        }
        let Ok(text) = std::str::from_utf8(event.data) else {
            return self.malformed(AnomalyKind::InvalidUtf8, index, event.offset);
        };
        self.tally.begin(event.offset);
        match self.reader.read_text(text, Shape::Event, &mut self.tally) {
            Verdict::NotAnObject => self.malformed(AnomalyKind::InvalidJson, index, event.offset),
            Verdict::Failure => self.fail_by_event(text, index),
            Verdict::Read => {
                self.timeline.carried(self.tally.event().channels, index);
                self.read(text, index);
            }
        }
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
