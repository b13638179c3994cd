//! How the bytes of a stream are divided into events.

use crate::events::Events;
use crate::lines::LineDecoder;
use crate::sse::{SseDecoder, SseLimits};

/// The two ways that APIs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Event streams of the WHATWG standard.
    EventStream,
    /// One JSON object a line.
    Lines,
}

/// The decoder of a stream.
#[derive(Debug)]
pub(crate) enum Decoder {
    EventStream(SseDecoder),
    Lines(LineDecoder),
}

impl Decoder {
    /// At the beginning of a stream.
    pub(crate) fn new(framing: Framing, limits: SseLimits) -> Self {
        match framing {
            Framing::EventStream => Self::EventStream(SseDecoder::new(limits)),
            Framing::Lines => Self::Lines(LineDecoder::new(limits)),
        }
    }

    /// Hands all events of a read on. True if one of them ended the stream: then what comes after it
    /// is left in `read`.
    pub(crate) fn feed(&mut self, read: &mut &[u8], events: &mut Events) -> bool {
        match self {
            Self::EventStream(decoder) => {
                while let Some(item) = decoder.next(read) {
                    if events.take(item) {
                        return true;
                    }
                }
            }
            Self::Lines(decoder) => {
                while let Some(item) = decoder.next(read) {
                    if events.take_line(item) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Hands on what the end of the body closed: it counts when the bytes show that it is whole. True
    /// if that ended the stream.
    pub(crate) fn finish(&self, events: &mut Events) -> bool {
        match self {
            Self::EventStream(decoder) => {
                events.unfinished_line(decoder.unfinished_line());
                false
            }
            Self::Lines(decoder) => decoder.last().is_some_and(|item| events.take_last_line(item)),
        }
    }

    /// Bytes that were taken.
    pub(crate) fn position(&self) -> u64 {
        match self {
            Self::EventStream(decoder) => decoder.position(),
            Self::Lines(decoder) => decoder.position(),
        }
    }

    /// Bytes of memory that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            Self::EventStream(decoder) => decoder.held_bytes(),
            Self::Lines(decoder) => decoder.held_bytes(),
        }
    }

    /// Takes the rest of the last line end off the front of `read`.
    pub(crate) fn finish_line_end(&mut self, read: &mut &[u8]) {
        if let Self::EventStream(decoder) = self {
            decoder.finish_line_end(read);
        }
    }

    /// Whether the bytes so far showed that they are a stream.
    pub(crate) fn is_proven(&self) -> bool {
        match self {
            Self::EventStream(decoder) => decoder.fields_seen(),
            Self::Lines(_) => true,
        }
    }
}
