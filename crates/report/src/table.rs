//! Tables for other programs: one row a metric, one row a request.
//!
//! Invariant: a missing value is an empty cell, never 0; the names of columns say their units; no text
//! is a formula to a program that reads formulas.

mod column;
mod metrics;
#[cfg(feature = "parquet")]
mod parquet;
mod requests;

pub use metrics::MetricTable;
#[cfg(feature = "parquet")]
pub use parquet::RequestParquet;
pub use requests::{RequestRow, RequestTable};

pub(crate) use column::{Column, Value, csv_cell};
