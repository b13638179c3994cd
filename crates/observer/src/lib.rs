//! Observes language-model streams without doing any I/O: a head, bytes and their arrival times
//! in, one observation out.
//!
//! The crate opens no socket, reads no clock and needs no runtime. Whoever has bytes — a client, a
//! proxy, a saved file — feeds them as they come, cut in any way, and learns what was said, when,
//! and what was wrong. Parsing HTTP, measuring time, and computing metrics are for others.
//!
//! ```
//! use std::time::Duration;
//! use streamgauge_observer::{Observer, ObserverConfig, Progress};
//! use streamgauge_schema::{Dialect, End, Ending};
//!
//! let mut observer = Observer::new(ObserverConfig::new(Dialect::OpenaiChat));
//! let reads: [(u64, &[u8]); 3] = [
//!     (5, b"data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n"),
//!     (214, b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_rea"),
//!     (220, b"son\":\"stop\"}]}\n\ndata: [DONE]\n\n"),
//! ];
//! for (at_ms, read) in reads {
//!     let progress = observer.feed(read, Duration::from_millis(at_ms));
//!     assert_eq!(progress == Progress::Over, at_ms == 220);
//! }
//! let observed = observer.finish(End::Clean, Duration::from_millis(221));
//!
//! // The role came first, but it is no output; the text was complete with the third read.
//! assert_eq!(observed.observation.first_event_us, Some(5_000));
//! assert_eq!(observed.observation.first_output_us, Some(220_000));
//! assert_eq!(observed.observation.ending, Some(Ending::Complete));
//! assert_eq!(observed.extraction.content_text.0, "Hi");
//! ```
//!
//! How the bytes are cut into reads never changes what is extracted; it only decides times: an
//! event arrives with the read that completes its blank line.
//!
//! # Policies
//!
//! Where careful readers differ, this one always does the same:
//!
//! | where | what is done |
//! | --- | --- |
//! | a last block without its blank line | discarded |
//! | a lone surrogate escape | read as U+FFFD |
//! | an event that is not UTF-8 | gives nothing, and is counted; its neighbours survive |
//! | JSON nested deeper than 128 | malformed |
//! | a doubled key | the last one counts |
//! | a bare JSON line, or a line of the field `error`, that reports a failure | is a failure, also when the end of the body ends it |
//! | a body that is one JSON object | read as one event without any time |
//! | a last line of a stream of lines without its line feed | counts if it is whole JSON |
//! | a stream of lines under a content type that is not its own | no stream |
//! | a tool call | output from its first arguments on; its name alone is none |
//! | a transfer cut after the finish reasons | truncated, unless the end mark came |
//!
//! # Limits
//!
//! Memory is bounded by [`ObserverConfig`], whatever comes. A line, an event, or a number of output
//! events over its limit ends the reading with the failure `oversized_line`, `oversized_event` or
//! `oversized_stream`; what came before is kept. An output event takes eight bytes for its arrival,
//! four more if it is neither reasoning nor content, and eight more where the server counts its
//! tokens. Besides, 1,024 choices, 64 model names of 1 KiB, finish reasons of 256 bytes and
//! `timings` of 16 KiB are kept; what is more is passed over, and counted as the anomaly
//! `over_limit`. In steady state no event costs an allocation.
//!
//! # A server's own metrics
//!
//! What a server says of itself at `/metrics` is bytes, too: [`read_server_metrics`] finds in them the
//! samples of the families that are known, and keeps nothing of its text.
//!
//! # Dialects
//!
//! A caller who knows which API was asked says so; otherwise [`ObserverConfig::detecting`] finds it
//! out from the content type and the first event that only one API has:
//!
//! ```
//! use std::time::Duration;
//! use streamgauge_observer::{Observer, ObserverConfig};
//! use streamgauge_schema::{Dialect, End};
//!
//! let mut observer = Observer::new(ObserverConfig::detecting());
//! let line = br#"{"model":"m","message":{"content":"Hi"},"done":true,"done_reason":"stop"}"#;
//! observer.feed(line, Duration::from_millis(90));
//! observer.feed(b"\n", Duration::from_millis(91));
//! let observed = observer.finish(End::Clean, Duration::from_millis(91));
//! assert_eq!(observed.observation.dialect, Dialect::OllamaChat);
//! assert_eq!(observed.observation.first_output_us, Some(91_000));
//! ```
//!
//! A further one is one file under `dialect/` that implements `Rules`, one arm in
//! `dialect::reader`, one word in `streamgauge_schema::Dialect`, and a fixture.

mod anomalies;
mod body;
mod choices;
mod config;
mod count;
mod dialect;
mod events;
mod exposition;
mod failure;
mod framing;
mod head;
mod json;
mod lines;
mod observed;
mod observer;
mod reads;
mod so_far;
mod sse;
mod tally;
mod think;
mod timeline;
mod token_counts;
mod twin;
mod usage;

pub use config::ObserverConfig;
pub use exposition::{ExpositionFault, read_server_metrics};
pub use observed::Observed;
pub use observer::{Observer, Progress};
pub use sse::{Oversized, SseDecoder, SseEvent, SseItem, SseLimits};
