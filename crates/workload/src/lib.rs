//! What a run sends, and when: datasets, synthetic prompts, request bodies and due times, all known
//! before the first request goes out.
//!
//! Everything here is a pure function of its arguments. A request is made from its stage and index
//! alone, in any order, and the due times of a load are the same on every machine: so a plan can be
//! digested, repeated and split over machines. Files are read by the caller, who hands over their
//! bytes; there is no socket, no clock, no hidden randomness.
//!
//! A plan's load begins as what somebody asks for; a [`LoadSpec`] counts its requests once, and a
//! [`Schedule`] gives their due times one by one:
//!
//! ```
//! use streamgauge_schema::Arrivals;
//! use streamgauge_workload::{LoadEnd, LoadSpec, Schedule};
//!
//! // Ten requests a second, and over the next minute ever more, as from users who know nothing of
//! // each other.
//! let arrivals = Arrivals::Poisson { seed: 7 };
//! let spec = LoadSpec::Rates { rates: "10:30s,10..50:1m".parse()?, arrivals, max_concurrency: None };
//! let load = spec.resolve(LoadEnd::default(), 0)?;
//! let schedule = Schedule::new(&load, None)?;
//! assert_eq!(schedule.due_times().count() as u64, load.requests);
//! assert!(schedule.due_times().is_sorted());
//! # Ok::<(), streamgauge_workload::LoadError>(())
//! ```
//!
//! The requests themselves come from a dataset or from seeded words:
//!
//! ```
//! use std::collections::{BTreeMap, HashSet};
//! use streamgauge_schema::{Dialect, Identifier, RequestSettings, Stage};
//! use streamgauge_workload::{Lengths, Prompts, Requests, RequestsSpec, SyntheticPrompts};
//!
//! let lengths = Lengths::assumed();
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
//!     prompts: Prompts::Synthetic(SyntheticPrompts::new(lengths.words(85), 7)?),
//!     target_input_tokens: Some(85),
//!     lengths,
//!     suite_version: Identifier::new("synthetic-v1").unwrap(),
//!     requests: 100,
//!     repetitions: 1,
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
//! What keeps a server's cache from knowing a prompt already: every synthetic prompt begins with
//! words of its own, unless a shared prefix is asked for; a nonce puts a line before each prompt, or
//! before each shared prefix, that runs of other seeds do not have; and warm-up requests never ask
//! what measured ones ask.
//!
//! Left out: sending anything and waiting for a due time, which is the client's; and counting
//! tokens, which is the server's ([`Lengths`] only draws a line through its counts). With the
//! feature `tokenizer` a tokenizer's own file can take the server's place in that.
//!
//! | module | holds |
//! | --- | --- |
//! | `load` | what is asked for, as it is written → a load with its requests counted |
//! | `schedule` | a load → due times, and numbers of clients |
//! | `search` | the highest load at which goals hold |
//! | `cell` | the default name of a cell |
//! | `dataset` | the lines of a file, checked: requests, traces, conversations |
//! | `synthetic` | prompts of seeded words, unique or with shared prefixes |
//! | `turnover` | prompts that each ask for a marker of their own and a word |
//! | `length` | how many words have the tokens that are wanted |
//! | `requests` | prompts and settings → requests; what a plan says of them |
//! | `prompt`, `body` | a prompt as an API takes it → the body as it goes over the wire |
//! | `body::format` | how each API spells a request |
//! | `unique` | the codes that keep prompts apart |

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
mod turnover;
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
pub use turnover::TurnoverPrompts;
