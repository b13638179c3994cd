//! The name that a cell has when nobody gives it one.

use streamgauge_schema::{Identifier, LoadShape};

/// Names a cell after its load shape: `c8` is a closed loop of eight clients.
///
/// Lengths stand apart, as conditions that have to match: two runs of different lengths then meet
/// in one cell and are told what differs, instead of missing each other by name.
///
/// ```
/// let shape = streamgauge_schema::LoadShape::ClosedLoop { concurrency: 8 };
/// assert_eq!(streamgauge_workload::cell_name(&shape).as_str(), "c8");
/// ```
#[must_use]
pub fn cell_name(shape: &LoadShape) -> Identifier {
    let name = match shape {
        LoadShape::ClosedLoop { concurrency } => format!("c{concurrency}"),
        other => other.name().replace('_', "-"),
    };
    Identifier::new(name).expect("a letter and at most 20 digits are an identifier")
}
