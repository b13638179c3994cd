//! What an observer is told before anything comes.

use streamgauge_schema::Dialect;

use crate::sse::SseLimits;

const MEBIBYTE: usize = 1024 * 1024;

/// What to look for, and how much memory it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObserverConfig {
    /// The API that was asked; `None` to find it out from content type and first event.
    pub dialect: Option<Dialect>,
    /// Longest line of a stream in bytes, its line end not counted. A longer one ends the reading.
    pub max_line_bytes: usize,
    /// Longest data of one event in bytes, and longest body that is no stream. A longer one ends
    /// the reading.
    pub max_event_bytes: usize,
    /// Bytes of text that are kept, over all channels and choices. More is read but not kept, and
    /// counted as an anomaly.
    pub max_text_bytes: usize,
    /// Output events whose arrivals and token counts are kept. One more ends the reading.
    pub max_output_events: usize,
    /// Whether the arrival of every output event is kept. If not, only what the intervals between
    /// generated events come to is, and there may be any number of events.
    pub keep_arrivals: bool,
    /// Whether texts are kept at all; without them those of the extraction are empty.
    pub keep_texts: bool,
    /// Whether token counts were asked for. If not, those that come are an anomaly.
    pub usage_asked: bool,
}

impl ObserverConfig {
    /// 16 MiB a line, an event, and for all texts; 2^20 output events; arrivals and texts are kept,
    /// and usage was asked for.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect: Some(dialect), ..Self::detecting() }
    }

    /// The same for a response of which it is not known what API was asked. Until an event shows
    /// one, events are read as those of `openai-chat`, and lines of JSON as those of `ollama-chat`.
    #[must_use]
    pub fn detecting() -> Self {
        Self {
            dialect: None,
            max_line_bytes: 16 * MEBIBYTE,
            max_event_bytes: 16 * MEBIBYTE,
            max_text_bytes: 16 * MEBIBYTE,
            max_output_events: 1 << 20,
            keep_arrivals: true,
            keep_texts: true,
            usage_asked: true,
        }
    }

    /// The limits of a stream's decoder.
    pub(crate) fn limits(&self) -> SseLimits {
        SseLimits { max_line_bytes: self.max_line_bytes, max_event_bytes: self.max_event_bytes }
    }
}
