//! Why records cannot be compared.

use streamgauge_schema::Identifier;

use super::Side;
use super::matching::{Difference, list};

/// Records that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The point rule takes one run of each cell; it neither pools nor chooses.
    #[error("cell {cell} has more than one run on the {side} side: the point rule takes one")]
    CellRepeated {
        /// The cell.
        cell: Identifier,
        /// The side that has it more than once.
        side: Side,
    },
    /// A cell without a partner.
    #[error("cell {cell} stands on the {side} side only")]
    CellUnmatched {
        /// The cell.
        cell: Identifier,
        /// The side that has it.
        side: Side,
    },
    /// Matching conditions differ.
    #[error("the sides are not comparable: {}", list(.differences))]
    Differing {
        /// Each condition that differs, with both values.
        differences: Vec<Difference>,
    },
    /// A record without the metrics that are gated, such as any of version 1.
    #[error("{side} record {run_id} has no {}", .metrics.join(", "))]
    MetricsMissing {
        /// The record's side.
        side: Side,
        /// The record.
        run_id: Identifier,
        /// The metrics that it lacks.
        metrics: Vec<&'static str>,
    },
    /// A side without a record.
    #[error("there is no {side} record")]
    NoRuns {
        /// The side.
        side: Side,
    },
    /// One side served several images, so that it is not one build.
    #[error("the {side} side names several images: {}", .images.join(", "))]
    SeveralImages {
        /// The side.
        side: Side,
        /// The images.
        images: Vec<String>,
    },
}
