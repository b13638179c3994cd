//! Observes language-model streams without doing any I/O: bytes and arrival times in, one
//! observation out.

mod anomalies;
mod body;
mod choices;
mod count;
mod dialect;
mod events;
mod failure;
mod head;
mod json;
mod observed;
mod observer;
mod sse;
mod tally;
mod think;
mod timeline;
mod usage;

pub use observed::Observed;
pub use observer::{Observer, ObserverConfig, Progress};
pub use sse::{Oversized, SseDecoder, SseEvent, SseItem, SseLimits};
