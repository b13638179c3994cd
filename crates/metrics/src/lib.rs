//! Figures from observations: quantiles, rates, the metric catalogue and the records made of them.
//!
//! Pure functions: no I/O, no clock, no randomness.

mod gate;
mod quantile;
mod verify;

pub use gate::{
    GateOutcome, compared_direction, delta_percent, performance_eligible, performance_gate,
    strict_turnover_gate, verdict, within_five_percent,
};
pub use quantile::{median, quantile, sorted_quantile};
pub use verify::{Finding, Note, Verification, unproven, verify};
