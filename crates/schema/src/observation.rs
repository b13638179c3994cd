//! What was observed of one response, from its bytes and their arrival times alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::nullable::nullable;
use crate::outcome::{BodyKind, Ending, FailureClass};
use crate::stream::Dialect;
use crate::vocabulary::closed_vocabulary;

/// One response as its bytes showed it.
///
/// All stamps are whole microseconds since the request's `started`, rounded down. What did not
/// happen is `None`, never 0. *Output* is text on any channel: reasoning, content, refusal,
/// tool-call arguments; *generated* is reasoning or content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The API whose rules the events were read by: the one that was asked, or the one that the
    /// first events showed.
    pub dialect: Dialect,
    /// Status of the final response.
    pub http_status: u16,
    /// `Retry-After` in seconds; a date counts from the `Date` header.
    #[serde(deserialize_with = "nullable")]
    pub retry_after_s: Option<f64>,
    /// What the body was.
    pub body: BodyKind,
    /// How the stream ended; `None` when there was no stream to end.
    #[serde(deserialize_with = "nullable")]
    pub ending: Option<Ending>,
    /// The dialect's end mark was seen.
    pub done_seen: bool,
    /// The first request-level failure that the bytes show.
    #[serde(deserialize_with = "nullable")]
    pub error: Option<StreamError>,

    /// First dispatched event of any kind.
    #[serde(deserialize_with = "nullable")]
    pub first_event_us: Option<u64>,
    /// First event with output on any channel: what people call TTFT.
    #[serde(deserialize_with = "nullable")]
    pub first_output_us: Option<u64>,
    /// Last event with output on any channel.
    #[serde(deserialize_with = "nullable")]
    pub last_output_us: Option<u64>,
    /// Events with output on any channel.
    pub output_events: u64,
    /// First event with reasoning or content.
    #[serde(deserialize_with = "nullable")]
    pub first_generated_us: Option<u64>,
    /// Last event with reasoning or content.
    #[serde(deserialize_with = "nullable")]
    pub last_generated_us: Option<u64>,
    /// Events with reasoning or content.
    pub generated_events: u64,
    /// First event with reasoning.
    #[serde(deserialize_with = "nullable")]
    pub first_reasoning_us: Option<u64>,
    /// First event with content: what people call time to first answer (TTFC).
    #[serde(deserialize_with = "nullable")]
    pub first_content_us: Option<u64>,
    /// First event with tool-call arguments.
    #[serde(deserialize_with = "nullable")]
    pub first_tool_call_us: Option<u64>,
    /// Arrival of each output event: the first as offset, then the differences of the stored
    /// stamps, so that the first plus all differences is exactly the last.
    pub arrivals_us: Vec<u64>,
    /// Completion tokens of each output event, where the server counted them as it streamed. There
    /// exactly when every output event carried a count above that of the one before, and the
    /// counter never fell: only then are the tokens of an interval known. Tokens that came without
    /// any output belong to the output event after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_counts: Option<Vec<u64>>,
    /// The intervals between generated events, where the single arrivals were not to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_intervals: Option<IntervalSummary>,
    /// The body was one JSON object with output in it: there was output, but nothing was streamed,
    /// so none of it has a time.
    pub whole_body_output: bool,
    /// Places in `arrivals_us` of events that were output but not generated: they held only
    /// tool-call arguments or a refusal. Sorted.
    pub not_generated: Vec<u32>,
    /// From `started` to the end mark, else to the end of the body, or to the failure.
    pub elapsed_us: u64,

    /// Choices seen.
    pub choices: u64,
    /// The output of each choice, by index, where there are two or more. The stamps above are those
    /// of all choices together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choice_timelines: Vec<ChoiceTimeline>,
    /// The finish reasons as sent, one for each choice that has one, by choice index.
    pub finish_reasons: Vec<String>,
    /// Token counts as reported; `None` when no valid count was seen.
    #[serde(deserialize_with = "nullable")]
    pub usage: Option<Usage>,
    /// Where each of these counts was reported; `None` exactly when `usage` is.
    #[serde(deserialize_with = "nullable")]
    pub usage_sources: Option<UsageSources>,
    /// Several choices whose final usage events differ, or which have one each and none for all: the
    /// bytes do not tell what was counted.
    pub usage_ambiguous: bool,
    /// Usage fields for which a value came that is no count, sorted.
    pub usage_invalid: Vec<String>,
    /// The different non-empty model names, sorted by code point.
    pub returned_models: Vec<String>,
    /// `<think`, in any case, within the first 256 characters of some choice's content.
    pub think_tag_in_content: bool,
    /// That, or any other mark of reasoning anywhere in some choice's content.
    pub think_markup_in_content: bool,
    /// What was odd, by kind.
    pub anomalies: Vec<Anomaly>,
    /// Numbers of a final event's `timings` object, at most 32, as the server named them.
    pub server_timings: BTreeMap<String, f64>,

    /// Bytes of the body up to the end of the reading.
    pub bytes: u64,
    /// Events dispatched, the end mark included.
    pub events: u64,
    /// Reads that brought bytes. Bytes that bear the same time came with one read.
    pub reads: u64,
    /// Reads that completed more than one event.
    pub coalesced_reads: u64,
}

impl Observation {
    /// Whether the request succeeded, as far as its response shows: status 2xx, a complete body
    /// with or without finish reasons, no request-level failure, and any output.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        (200..300).contains(&self.http_status)
            && matches!(self.ending, Some(Ending::Complete | Ending::CompleteNoReason))
            && self.error.is_none()
            && (self.output_events > 0 || self.whole_body_output)
    }
}

/// When one choice of several had output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ChoiceTimeline {
    /// Its index.
    pub index: u64,
    /// First event with output of this choice on any channel.
    #[serde(deserialize_with = "nullable")]
    pub first_output_us: Option<u64>,
    /// Last event with output of this choice on any channel.
    #[serde(deserialize_with = "nullable")]
    pub last_output_us: Option<u64>,
    /// Events with output of this choice on any channel.
    pub output_events: u64,
}

/// A failure that the bytes of a response show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StreamError {
    /// Its class.
    pub class: FailureClass,
    /// The server's message, where there is one.
    #[serde(deserialize_with = "nullable")]
    pub message: Option<String>,
    /// The server's own code for it, as text.
    #[serde(deserialize_with = "nullable")]
    pub code: Option<String>,
    /// The event in which it was found, from 0; `None` when it is not tied to a dispatched event.
    #[serde(deserialize_with = "nullable")]
    pub event: Option<u64>,
}

/// Token counts as a server reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the prompt.
    #[serde(deserialize_with = "nullable")]
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer.
    #[serde(deserialize_with = "nullable")]
    pub completion_tokens: Option<u64>,
    /// Tokens of reasoning; most services count them in `completion_tokens` too.
    #[serde(deserialize_with = "nullable")]
    pub reasoning_tokens: Option<u64>,
    /// Tokens of the prompt that came from a cache.
    #[serde(deserialize_with = "nullable")]
    pub cached_tokens: Option<u64>,
}

/// Where the token counts of a response were reported: for each count of [`Usage`] that is there,
/// the report that it was taken from, which is the last valid one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UsageSources {
    /// Of the tokens of the prompt.
    #[serde(deserialize_with = "nullable")]
    pub prompt_tokens: Option<CountSource>,
    /// Of the tokens of the answer.
    #[serde(deserialize_with = "nullable")]
    pub completion_tokens: Option<CountSource>,
    /// Of the tokens of reasoning.
    #[serde(deserialize_with = "nullable")]
    pub reasoning_tokens: Option<CountSource>,
    /// Of the tokens from a cache.
    #[serde(deserialize_with = "nullable")]
    pub cached_tokens: Option<CountSource>,
}

/// The report that a token count was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CountSource {
    /// The event that held it, from 0.
    pub event: u64,
    /// What that report was about.
    pub scope: CountScope,
}

closed_vocabulary! {
    /// What a report of token counts is about.
    CountScope {
        /// The end of one choice.
        Choice = "choice",
        /// The request as a whole: the event is about no single choice.
        Request = "request",
        /// The state of things while the answer was still being made.
        Running = "running",
    }
}

/// The intervals between events of one response, without the single ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IntervalSummary {
    /// How many.
    pub count: u64,
    /// The shortest.
    pub min_us: u64,
    /// The longest.
    pub max_us: u64,
    /// All together.
    pub sum_us: u64,
}

/// Something odd in a stream that does not by itself fail the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Anomaly {
    /// What it was.
    pub kind: AnomalyKind,
    /// How often.
    pub count: u64,
    /// Byte offset in the body of the first.
    pub first_offset: u64,
}

closed_vocabulary! {
    /// The kinds of oddities.
    AnomalyKind {
        /// Bytes after the end mark, within those that were read.
        BytesAfterEnd = "bytes_after_end",
        /// Of at least ten output events more than half arrived four or more to a read: something
        /// on the way holds the stream back, and arrivals do not tell when events were sent.
        CoalescedStream = "coalesced_stream",
        /// A usage counter fell from one event to a later one.
        FallingCounter = "falling_counter",
        /// Reasoning tokens were billed, but no reasoning was streamed.
        HiddenReasoning = "hidden_reasoning",
        /// An event whose data is not a JSON object.
        InvalidJson = "invalid_json",
        /// An event whose data is not UTF-8.
        InvalidUtf8 = "invalid_utf8",
        /// A usage value that is no count.
        InvalidUsage = "invalid_usage",
        /// More choices, model names, timings or text than are kept.
        OverLimit = "over_limit",
        /// The body is compressed although that was not asked for.
        UnaskedEncoding = "unasked_encoding",
        /// Usage came although it was not asked for.
        UnaskedUsage = "unasked_usage",
        /// A line with a field name that event streams do not have.
        UnknownField = "unknown_field",
        /// A final token count that is not the one which an earlier final report gave.
        UsageDisagrees = "usage_disagrees",
    }
}
