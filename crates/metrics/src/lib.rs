//! Figures from observations: quantiles, rates, the metric catalogue and the records made of them.
//!
//! Pure functions: no I/O, no clock, no randomness.

mod quantile;

pub use quantile::{median, quantile, sorted_quantile};
