//! A simulated inference server with known timing, for tests, demonstrations and calibration.
//!
//! It serves OpenAI-compatible chat completions (`POST /v1/chat/completions`, streamed or not),
//! `GET /v1/models`, `GET /health`, and at `GET /metrics` its own counters under vLLM's names. What it answers and when each event is due follow from
//! [`SimConfig`] and the request alone; what it really wrote, and when, stands in its own account
//! ([`SimServer::account`], or `GET /sim/account` from another process; `GET /sim/stamps` is the
//! short form of its times, and `DELETE /sim/account` clears it). A measuring client is right when it
//! agrees with that account.
//!
//! - **Timing.** After the request was received, the k-th output event (from 0) is due at
//!   `ttft + words · prefill_per_word + k · interval`, varied by a seeded [`Jitter`] that depends
//!   on the request's `x-request-id` (without one: on its ordinal). A timer of the kernel rings when
//!   an event is due, so on an idle machine it is written a tenth of a millisecond later; no
//!   lateness is carried on, and the account holds the true times.
//! - **Writes.** Each event is a write of its own. With
//!   [`events_per_write`](SimConfig::events_per_write), events that are due at the same time share
//!   one; they then have its time.
//! - **Answers.** One token is one word. The last user message may say `begin with the marker M`,
//!   `repeat the word W N times`, `return JSON with fields {…}` or `what is A + B`, and is obeyed; a
//!   prompt of [`SimConfig::answers`] is answered as it says there, and the body member `"sim":
//!   {"answer": "…"}` is the answer itself. All else is answered with seeded pseudo-words, as many as
//!   the token limit, else [`SimConfig::answer_tokens`]. Prompt tokens are the words of all message
//!   contents.
//! - **Tokens and usage.** `max_tokens`, `max_completion_tokens` and `ignore_eos` are honoured. A
//!   stream reports usage only if `stream_options.include_usage` asks for it
//!   (`continuous_usage_stats`: in every chunk). With [`SimConfig::prompt_cache`] it says which prompt
//!   tokens came from a cache.
//! - **Faults.** [`FaultRule`]s strike every n-th request. A request orders a fault for itself by
//!   the header `x-sim-fault` or the body member `"sim": {"fault": "…"}`, in the text form of
//!   [`FaultKind`]; `none` switches the rules off for it. Some faults break a response, others make
//!   its answer wrong: it crosses with another request's, lacks words, is cut, names another model or
//!   thinks aloud. [`WireFault`]s spoil the bytes that carry it, [`ConnectionRule`]s strike connections
//!   before any request of them is answered. `README.md` beside this crate holds the list, and what a
//!   client makes of each.
//!
//! [`RawServer`] plays bytes for what no proper server would send. Left out: TLS, HTTP/2, more than
//! one choice, tools, and any queueing between requests: each is served as if it were alone.
//!
//! ```
//! use streamgauge_sim::{Sim, SimConfig};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! runtime.block_on(async {
//!     let server = Sim::start(SimConfig::default(), ([127, 0, 0, 1], 0).into()).await?;
//!     let mut stream = tokio::net::TcpStream::connect(server.addr()).await?;
//!     stream.write_all(b"GET /health HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n\r\n").await?;
//!     let mut response = String::new();
//!     stream.read_to_string(&mut response).await?;
//!     assert!(response.starts_with("HTTP/1.1 200 OK"));
//!     assert!(response.ends_with(r#"{"status":"ok"}"#));
//!     assert!(server.shutdown().await.is_empty(), "only chat completions have accounts");
//!     Ok(())
//! })
//! # }
//! ```

mod account;
mod account_json;
mod alarm;
mod answer;
mod api_error;
mod chat;
mod clock;
mod config;
mod crossing;
mod engine;
mod error;
mod faults;
mod gzip;
mod metrics;
mod paced;
mod prompt_cache;
mod raw;
mod render;
mod restart;
mod script;
mod seeded;
mod server;
mod service;
mod socket;
mod thread;
mod wire;
mod wrong;

pub use account::{AccountTotals, RequestAccount, RequestOutcome};
pub use clock::monotonic_ns;
pub use config::{Jitter, RoleChunk, SimConfig};
pub use error::{ConnectionFaultSyntaxError, FaultSyntaxError, SimError};
pub use faults::{ConnectionFault, ConnectionRule, FaultKind, FaultPoint, FaultRule, WireFault};
pub use raw::RawServer;
pub use script::RawStep;
pub use server::{Sim, SimServer};
pub use thread::{ThreadedSim, spawn_thread};
