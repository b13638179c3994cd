//! What a turnover run came to: the part that only its record has.

use serde::{Deserialize, Serialize};

use crate::comparison::Turnover;
use crate::expectation::OutputPolicy;

/// What a turnover run asked for, and what it came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnoverReport {
    /// What a wrong answer means for the run.
    pub policy: OutputPolicy,
    /// How often each answer had to hold the word.
    pub count: u64,
    /// How often the requests in flight were all replaced.
    pub waves: u64,
    /// What became of the requests. It is eligible where the run is and no request failed.
    pub outcome: Turnover,
}

impl TurnoverReport {
    /// Fewest waves of replacement: with fewer, most of a run is its beginning and its end.
    pub const MIN_WAVES: u64 = 4;
}
