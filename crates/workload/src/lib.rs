//! What a run sends: datasets, synthetic prompts and request bodies, all known before the first
//! request goes out.
//!
//! Everything here is a pure function of its arguments. A request is made from its stage and index
//! alone, in any order, so a plan can be digested, repeated and split over machines. Files are read
//! by the caller, who hands over their bytes; there is no socket, no clock, no hidden randomness.
//!
//! Left out: when requests are sent (the load shape of the plan and the client decide that) and
//! token counts (lengths are in words).
//!
//! ```
//! use std::collections::{BTreeMap, HashSet};
//! use streamgauge_schema::{Dialect, Identifier, RequestSettings, Stage};
//! use streamgauge_workload::{Lengths, Prompts, Requests, RequestsSpec, SyntheticPrompts};
//!
//! let requests = Requests::new(RequestsSpec {
//!     dialect: Dialect::OpenaiChat,
//!     model: "small-model".to_owned(),
//!     settings: RequestSettings {
//!         max_tokens: 128,
//!         ignore_eos: false,
//!         temperature: Some(0.0),
//!         seed: None,
//!         header_names: Vec::new(),
//!         extra_body: BTreeMap::new(),
//!     },
//!     prompts: Prompts::Synthetic(SyntheticPrompts::new(64, 7)?),
//!     target_input_tokens: Some(85),
//!     lengths: Lengths::assumed(),
//!     suite_version: Identifier::new("synthetic-v1").unwrap(),
//!     requests: 100,
//!     warmup: 10,
//! })?;
//!
//! // The same stage and index give the same bytes, and no prompt occurs twice.
//! let request = requests.request(Stage::Measured, 42);
//! assert_eq!(request, requests.request(Stage::Measured, 42));
//! assert!(request.body.starts_with(br#"{"model":"small-model","messages":[{"role":"user","#));
//! let warmup = (0..10).map(|index| requests.request(Stage::Warmup, index).prompt_sha256);
//! let measured = (0..100).map(|index| requests.request(Stage::Measured, index).prompt_sha256);
//! assert_eq!(warmup.chain(measured).collect::<HashSet<_>>().len(), 110);
//! assert_eq!(requests.describe().repeated_prompts, 0);
//! # Ok::<(), streamgauge_workload::WorkloadError>(())
//! ```
//!
//! | module | holds |
//! | --- | --- |
//! | `dataset` | a JSONL file's lines, checked |
//! | `synthetic` | unique prompts of seeded words |
//! | `requests` | prompts and settings → requests; what a plan says of them |
//! | `prompt`, `body` | a prompt as an API takes it → the body as it goes over the wire |
//! | `body::format` | how each API spells a request |
//! | `unique` | the codes that keep prompts apart |
//! | `cell` | the default name of a cell |

mod body;
mod cell;
mod dataset;
mod error;
mod length;
mod load;
mod load_error;
mod prompt;
mod requests;
mod schedule;
mod search;
mod synthetic;
mod unique;

pub use cell::cell_name;
pub use dataset::{Dataset, DatasetLine, Prompt};
pub use error::{DatasetError, MemberFault, WorkloadError};
pub use length::{LengthError, Lengths};
pub use load::{Clients, LoadEnd, LoadSpec, Rates};
pub use load_error::LoadError;
pub use requests::{Prompts, Requests, RequestsSpec, Reuse};
pub use schedule::{DueTimes, Schedule};
pub use search::{Found, Probe, Search, SearchError, SearchSpec};
pub use synthetic::{MAX_WORDS, MIN_PREFIX_WORDS, MIN_WORDS, SyntheticPrompts};
