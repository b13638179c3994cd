//! What a stream said, event by event: the part of an observation that does not depend on time.

use serde::{Serialize, Serializer};

use crate::digest::Digest;
use crate::observation::Usage;
use crate::outcome::{BodyKind, Ending};

/// Longest text that is written out; a longer one is written as its digest and length.
const MAX_PLAIN_BYTES: usize = 4096;

/// What the events of a response said, whatever the cuts of its bytes. Its members are those of
/// the `expect` object of the stream fixtures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extraction {
    /// Events dispatched, up to and including the end mark.
    pub events_total: u64,
    /// Index of the first event with reasoning or content.
    pub first_generated_event: Option<u64>,
    /// Index of the first event with content.
    pub first_content_event: Option<u64>,
    /// Index of the first event with any output.
    pub first_output_event: Option<u64>,
    /// Events with reasoning or content.
    pub generated_events: u64,
    /// Events with tool-call arguments.
    pub tool_call_events: u64,
    /// Events that are not UTF-8 or not a JSON object.
    pub malformed_events: u64,
    /// Index of the first such event.
    pub first_malformed_event: Option<u64>,
    /// All content of the lowest choice index.
    pub content_text: Text,
    /// All reasoning of the lowest choice index.
    pub reasoning_text: Text,
    /// For each event with output: bytes of reasoning and of content up to its end, of the lowest choice
    /// index. Empty where texts or arrivals were not kept, and of a body that was no stream. It is not
    /// written.
    #[serde(skip)]
    pub output_ends: Vec<[u32; 2]>,
    /// All refusal deltas.
    pub refusal_text: Text,
    /// Finish reasons as sent, by choice index.
    pub finish_reasons: Vec<String>,
    /// Token counts as reported.
    pub usage: Option<Usage>,
    /// Usage fields for which a value came that is no count, sorted.
    pub usage_invalid: Vec<String>,
    /// The different non-empty model names, sorted by code point.
    pub returned_models: Vec<String>,
    /// The dialect's end mark was seen.
    pub done_seen: bool,
    /// The end mark was seen, or every choice (at least one) has a finish reason.
    pub terminal_seen: bool,
    /// How the stream ended.
    pub ending: Option<Ending>,
    /// `<think` early in the content.
    pub think_tag_in_content: bool,
    /// Any mark of reasoning in the content.
    pub think_markup_in_content: bool,
    /// The failure class, or `invalid_json` or `invalid_utf8` when single events were malformed.
    pub error: Option<&'static str>,
    /// The event in which the error was found.
    pub error_event_index: Option<u64>,
    /// The server's message.
    pub error_message: Option<String>,
    /// Each choice, where there are two or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<ChoiceExtraction>>,
    /// Status and `Retry-After`, where a head was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpExtraction>,
    /// What the body was, where it was no stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_kind: Option<BodyKind>,
}

/// What one choice of several said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChoiceExtraction {
    /// Its index.
    pub index: u64,
    /// All its content.
    pub content_text: Text,
    /// All its reasoning.
    pub reasoning_text: Text,
    /// Its last finish reason.
    pub finish_reason: Option<String>,
}

/// What the head of a response said.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HttpExtraction {
    /// The final status.
    pub status: u16,
    /// `Retry-After` in seconds.
    pub retry_after_s: Option<f64>,
}

/// A text of any length; written as `{"sha256", "utf8_bytes"}` when longer than 4096 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(pub String);

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Long {
            sha256: Digest,
            utf8_bytes: usize,
        }
        if self.0.len() <= MAX_PLAIN_BYTES {
            serializer.serialize_str(&self.0)
        } else {
            Long { sha256: Digest::of(self.0.as_bytes()), utf8_bytes: self.0.len() }
                .serialize(serializer)
        }
    }
}
