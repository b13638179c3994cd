//! What people read of a measurement, made from its records alone.
//!
//! A page is one HTML file that needs nothing beside it: no script, no network, no font. Everything
//! here is a pure function of its arguments: no file, no clock, no socket. What a page says of a metric
//! comes from the catalogue of `streamgauge-metrics`, and nothing on it may not be published where the
//! record may.
//!
//! ```
//! use streamgauge_report::run_page;
//! use streamgauge_schema::Document;
//!
//! let record = include_bytes!("../../schema/tests/records/serving-performance-v1.json");
//! let Document::Run(record) = Document::read(record)? else { panic!("a run record") };
//! let page = run_page(&record, None)?;
//! assert!(page.starts_with("<!doctype html>") && !page.contains("<script"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | holds |
//! | --- | --- |
//! | `html/*` | one page a file, and what pages share |
//! | `plot/*` | one plot a file, as SVG |
//! | `requests/*` | what plots need of the lines of a journal |
//! | `table/*` | metrics and requests as tables for other programs |
//! | `figures` | the metrics of a record, arranged as people read them |
//! | `number`, `words` | numbers and words for people |

mod error;
mod figures;
mod html;
mod number;
mod plot;
mod requests;
mod table;
mod words;

pub use error::PageError;
pub use html::{comparison_page, is_page, run_page, search_page, sweep_page};
pub use requests::Requests;
#[cfg(feature = "parquet")]
pub use table::RequestParquet;
pub use table::{MetricTable, RequestRow, RequestTable};
