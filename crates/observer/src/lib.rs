//! Observes language-model streams without doing any I/O: bytes and arrival times in, one
//! observation out.

mod sse;

pub use sse::{Oversized, SseDecoder, SseEvent, SseItem, SseLimits};
