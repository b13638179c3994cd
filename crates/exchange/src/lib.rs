//! Files for and from other tools: their results as records, and our figures under their names.
//!
//! [`import`] reads the result files of vLLM's `bench serve`, AIPerf, GuideLLM and SGLang's
//! `bench_serving`. What such a file says becomes a run record whose metrics bear the tool's word in
//! their ids and the tool's definition beside them, so that they never meet a figure that is measured
//! otherwise; single requests, where the file has them, come as lines of their own. What the file
//! does not tell is null, and said.
//!
//! [`vllm_result`] goes the other way: a record under the flat keys that dashboards read from vLLM's
//! files, each only where it is the figure that vLLM's client would have written.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no runtime.
//!
//! ```
//! use streamgauge_exchange::{ImportOptions, SourceFile, Tool, import};
//! use streamgauge_schema::{Identifier, Timestamp};
//!
//! // As `vllm bench serve --save-result` writes it, with the members that every file has.
//! let bytes = br#"{"date": "20261130-101500", "backend": "openai-chat", "model_id": "small",
//!     "num_prompts": 10, "request_rate": "inf", "max_concurrency": 2, "duration": 5.0,
//!     "completed": 10, "failed": 0, "total_input_tokens": 5120, "total_output_tokens": 1280,
//!     "request_throughput": 2.0, "output_throughput": 256.0, "mean_ttft_ms": 42.5}"#;
//! let file = SourceFile { name: "result.json", bytes, modified: Timestamp::from_unix_micros(0) };
//! let runs = import(Tool::Vllm, &file, &ImportOptions::named(Identifier::new("nightly").unwrap()))?;
//!
//! let record = &runs[0].record;
//! let ttft = record.metrics.iter().find(|metric| metric.id.as_str() == "vllm_ttft_mean_ms").unwrap();
//! assert_eq!(ttft.value, Some(42.5));
//! assert!(ttft.definition.as_str().contains("first event with a choice"));
//! assert_eq!((record.load.cell.as_str(), record.load.succeeded), ("c2", 10));
//! # Ok::<(), streamgauge_exchange::ImportError>(())
//! ```
//!
//! | module | holds |
//! | --- | --- |
//! | `tool` | the tools |
//! | `aiperf`, `guidellm`, `sglang`, `vllm` | one tool's files, each in a module of its own |
//! | `flat` | what the files of SGLang and vLLM have in common |
//! | `found` | what a reader finds, whichever tool wrote it |
//! | `figures`, `stat` | metrics of what was found |
//! | `record` | a run record of it |
//! | `export`, `edges` | a record under vLLM's keys, and what must hold for that |
//! | `json`, `scalars`, `texts`, `times` | numbers, texts and times of files that others wrote |

mod aiperf;
mod edges;
mod error;
mod export;
mod figures;
mod flat;
mod found;
mod guidellm;
mod import;
mod json;
mod record;
mod scalars;
mod sglang;
mod stat;
mod texts;
mod times;
mod tool;
mod vllm;

pub use edges::OutputEdges;
pub use error::ImportError;
pub use export::{ExportError, LeftOut, VllmResult, vllm_result};
pub use import::{ImportOptions, Imported, SourceFile, import, request_lines};
pub use tool::{Tool, UnknownTool};
