//! Drives a server: sockets, clocks, HTTP, the engine that carries out a plan, and the journal.
//!
//! This is the only layer with a socket and a clock. It decides nothing about figures: it hands
//! bytes and times to the observer and writes down, for every request, one line.
//!
//! | module | holds |
//! | --- | --- |
//! | `clock`, `tap`, `socket`, `lags` | time: one clock, and the one place where arrivals are stamped |
//! | `endpoint`, `access`, `secret`, `trust`, `proxy` | where a server is, and what lets in there |
//! | `way`, `tunnel`, `stream`, `connect`, `connection`, `pool`, `descriptors` | from an address to a connection |
//! | `lane`, `template`, `receive`, `no_head`, `retry`, `send` | one request, one response, one line |
//! | `dispatch` | when which request begins; pure |
//! | `engine`, `course` | a plan carried out: stages, and when to stop |
//! | `crew`, `worker`, `alarm`, `cancel` | who carries it out: threads, due times, the end of everything |
//! | `sink` | where the lines go, on a thread of its own |
//! | `journal`, `answers`, `lines`, `run_dir` | what is on disk |
//! | `ask`, `ready` | questions before a run |
//! | `scrape` | what the server's own metrics say meanwhile |
//! | `capture`, `replay` | saved responses, observed again |
//!
//! ```
//! use std::time::Duration;
//! use streamgauge_client::{SavedRead, replay_http};
//! use streamgauge_observer::ObserverConfig;
//! use streamgauge_schema::Dialect;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".to_vec();
//! let event = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n".to_vec();
//! let reads = vec![
//!     SavedRead { at: Duration::from_millis(3), bytes: head },
//!     SavedRead { at: Duration::from_millis(80), bytes: event },
//! ];
//! let observed = replay_http(reads, ObserverConfig::new(Dialect::OpenaiChat)).await?;
//! assert_eq!(observed.observation.first_output_us, Some(80_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod alarm;
mod answers;
mod ask;
mod beginning;
mod budget;
mod cancel;
mod capture;
mod clock;
mod connect;
mod connection;
mod course;
mod crew;
mod descriptors;
mod dispatch;
mod endpoint;
mod engine;
mod error;
mod failed;
mod files;
mod journal;
mod lags;
mod lane;
mod lines;
mod lock;
mod new_file;
mod no_head;
mod pool;
mod proxy;
mod query;
mod ready;
mod receive;
mod redacted;
mod replay;
mod retry;
mod run_dir;
mod scrape;
mod secret;
mod send;
mod sink;
mod socket;
mod stream;
mod syncer;
mod taken_up;
mod tap;
mod template;
mod text;
mod trust;
mod tunnel;
mod way;
mod worker;

pub use access::{Access, Headers};
pub use answers::{
    AnswerReader, AnswerWriter, LineReader, LineWriter, ReceiptReader, ReceiptWriter,
};
pub use ask::{Model, ask, list_models};
pub use capture::{Capture, CaptureError};
pub use clock::RunClock;
pub use course::ERROR_RATIO_JUDGED_FROM;
pub use descriptors::{DescriptorsError, room_for};
pub use endpoint::Endpoint;
pub use engine::{RunError, RunSetup, run};
pub use error::{
    AskError, EndpointError, HeaderError, JournalError, ProxyError, QueryError, TlsError,
    TransportError,
};
pub use files::{open_regular, read_regular};
pub use journal::{Journal, JournalReader, JournalWriter};
pub use lock::{RunLock, lock_to_read};
pub use new_file::{NewFile, remove_leftovers, write_new};
pub use proxy::Proxy;
pub use query::{Query, is_path};
pub use ready::wait_ready;
pub use replay::{SavedRead, replay_http};
pub use run_dir::{RunDir, RunDirError, make_private_folder, read_file};
pub use scrape::{ScrapeReader, Scrapes};
pub use sink::{Collected, Sink};
pub use taken_up::{SoFar, TakenUp};
pub use text::bounded;
pub use trust::Trust;
