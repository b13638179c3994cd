//! The load of a plan: how many requests are sent when.

use serde::{Deserialize, Serialize};

use crate::nullable::nullable;
use crate::text::Identifier;

/// How requests are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Name of the cell, by which runs are matched.
    pub cell: Identifier,
    /// Its shape.
    pub shape: LoadShape,
    /// Measured requests. In a closed loop with a duration, the most that are sent.
    pub requests: u64,
    /// No measured request begins later than this after the first could. `None` when the number of
    /// requests alone ends the load.
    #[serde(deserialize_with = "nullable")]
    pub duration_ms: Option<u64>,
    /// Requests sent before the measurement and left out of it.
    pub warmup: u64,
}

impl Load {
    /// Most requests of a run's measured part, and of its warm-up: their digests and outcomes are
    /// held in memory.
    pub const MAX_REQUESTS: u64 = 10_000_000;
}

/// The shape of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum LoadShape {
    /// A fixed number of clients, each of which sends its next request when the last has ended.
    ClosedLoop {
        /// How many clients.
        concurrency: u64,
    },
    /// A closed loop whose number of clients changes with time.
    ClosedStages {
        /// One after the other; the last ends the load.
        stages: Vec<ClientStage>,
    },
    /// Requests due at times that do not depend on the server.
    OpenLoop {
        /// How the times are spread.
        arrivals: Arrivals,
        /// Most requests under way at once: others wait, and are late. `None` sets no limit.
        #[serde(deserialize_with = "nullable")]
        max_concurrency: Option<u64>,
        /// One after the other; a constant rate is one stage.
        stages: Vec<RateStage>,
    },
    /// Requests due at the times that stand in the dataset.
    Trace {
        /// As in an open loop.
        #[serde(deserialize_with = "nullable")]
        max_concurrency: Option<u64>,
        /// When the last request is due after the first could be.
        span_ms: u64,
    },
}

/// A part of a closed loop, over which the number of clients goes from one number to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClientStage {
    /// Clients at its beginning.
    pub from_clients: u64,
    /// Clients at its end; between the two the number changes evenly.
    pub to_clients: u64,
    /// Its length.
    pub duration_ms: u64,
}

/// A part of an open loop, over which the rate goes from one value to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RateStage {
    /// Requests per second at its beginning.
    pub from_per_s: f64,
    /// Requests per second at its end; between the two the rate changes evenly.
    pub to_per_s: f64,
    /// Its length; `None` when only the number of its requests ends it.
    #[serde(deserialize_with = "nullable")]
    pub duration_ms: Option<u64>,
    /// Requests due in it. They follow those of the stage before in the run's order.
    pub requests: u64,
}

/// How the times of an open loop are spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Arrivals {
    /// At equal distances.
    Constant {},
    /// At distances of a gamma distribution.
    Gamma {
        /// Shape of the distribution: 1 is Poisson, below 1 requests come in bursts, above 1 they
        /// are more even.
        burstiness: f64,
        /// Seed of the distances.
        seed: u64,
    },
    /// As from very many users who do not know of each other.
    Poisson {
        /// Seed of the distances.
        seed: u64,
    },
}

impl LoadShape {
    /// The word for the shape in a record.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::ClosedLoop { .. } => "closed_loop",
            Self::ClosedStages { .. } => "closed_stages",
            Self::OpenLoop { .. } => "open_loop",
            Self::Trace { .. } => "trace",
        }
    }

    /// The most requests that this shape has under way at once; `None` when nothing limits them.
    #[must_use]
    pub fn max_inflight(&self) -> Option<u64> {
        match self {
            Self::ClosedLoop { concurrency } => Some(*concurrency),
            Self::ClosedStages { stages } => Some(
                stages
                    .iter()
                    .map(|stage| stage.from_clients.max(stage.to_clients))
                    .max()
                    .unwrap_or(0),
            ),
            Self::OpenLoop { max_concurrency, .. } | Self::Trace { max_concurrency, .. } => {
                *max_concurrency
            }
        }
    }

    /// Whether each request has a due time of its own.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        matches!(self, Self::OpenLoop { .. } | Self::Trace { .. })
    }
}
