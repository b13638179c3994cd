//! What can be wrong with a load.

use streamgauge_schema::Load;

use crate::schedule::Schedule;

/// A load that cannot be carried out, or that contradicts itself. Stages count from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The shape of the gamma distribution is out of range.
    #[error("burstiness {value} is not within {least} to {most}", least = Self::LEAST_BURSTINESS,
        most = Self::MOST_BURSTINESS)]
    Burstiness {
        /// The value.
        value: f64,
    },
    /// A number of clients is out of range.
    #[error("stage {stage}: {value} clients are not within 1 to {most}", most = Self::MOST_CLIENTS)]
    Clients {
        /// The stage.
        stage: usize,
        /// The number.
        value: u64,
    },
    /// Numbers that should be equal, or in order, are not.
    #[error("the load's {what} is {found}, and its {other} is {expected}")]
    Contradiction {
        /// What contradicts.
        what: &'static str,
        /// Its value.
        found: u64,
        /// What it contradicts.
        other: &'static str,
        /// The value that follows from that.
        expected: u64,
    },
    /// A stage or a whole load without length, or too long a one.
    #[error("{what} of {length_ms} ms is not within 1 to {} ms", Schedule::MAX_SPAN_MS)]
    Length {
        /// What has it.
        what: String,
        /// The length.
        length_ms: u64,
    },
    /// A limit of no requests under way.
    #[error("max_concurrency 0 lets no request begin")]
    NoConcurrency,
    /// Neither a number of requests nor a length is given.
    #[error("nothing ends the load; give a number of requests or a duration")]
    NoEnd,
    /// The load is over before a request is due.
    #[error("no request is due before the load ends")]
    NoRequest,
    /// A load of no stages.
    #[error("the load has no stage")]
    NoStage,
    /// A trace's dataset has no due times.
    #[error("the dataset has no at_ms, and a trace is sent by it")]
    NoTrace,
    /// A load that is no trace was given due times.
    #[error("due times were given for a load of shape {shape}, which has its own")]
    NotATrace {
        /// The shape.
        shape: &'static str,
    },
    /// A ramp whose length is not given.
    #[error("stage {stage}: a rate that changes needs a duration")]
    RampWithoutDuration {
        /// The stage.
        stage: usize,
    },
    /// A rate that is negative, not finite, or 0 throughout its stage.
    #[error("stage {stage}: {per_s} requests per second are not a rate above 0")]
    Rate {
        /// The stage.
        stage: usize,
        /// The rate.
        per_s: f64,
    },
    /// Without requests, or with too many.
    #[error("{requests} requests are not within 1 to {}", Load::MAX_REQUESTS)]
    Requests {
        /// The number.
        requests: u64,
    },
    /// More shards than there is something to do for.
    #[error("{found} {what} are fewer than {of} shards, and each needs at least one")]
    Shards {
        /// What is divided.
        what: &'static str,
        /// How many of it there are.
        found: u64,
        /// The number of shards.
        of: u64,
    },
    /// A stage plans another number of requests than its rate gives.
    #[error("stage {stage}: {planned} requests are planned, and its rate gives {given}")]
    StageRequests {
        /// The stage.
        stage: usize,
        /// The number planned.
        planned: u64,
        /// The number that follows from the rate.
        given: u64,
    },
    /// A text that was to be a load, or a part of it.
    #[error("{found:?} is not {wanted}")]
    Syntax {
        /// The text.
        found: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// The rates give more requests than a load may have.
    #[error("more than {} requests are due before the load ends", Load::MAX_REQUESTS)]
    TooManyRequests,
    /// A trace's last request is due when the load is over.
    #[error("the trace's last request is due at {due_us} µs, when the load's duration is over")]
    TraceBeyondEnd {
        /// Its due time.
        due_us: u64,
    },
    /// A due time lies before the one in front of it.
    #[error("request {index} of the trace is due at {due_us} µs, before the one in front of it")]
    TraceOrder {
        /// The request, from 0.
        index: usize,
        /// Its due time.
        due_us: u64,
    },
    /// A duration was given for stages.
    #[error("each stage has its own duration, and there is no other beside them")]
    TwoLengths,
    /// Too many warm-up requests.
    #[error("{requests} warm-up requests are more than {}", Load::MAX_REQUESTS)]
    Warmup {
        /// The number.
        requests: u64,
    },
}

impl LoadError {
    /// Least shape of the gamma distribution: below it nearly all requests fall into one burst.
    pub const LEAST_BURSTINESS: f64 = 0.001;
    /// Greatest shape: above it distances are even to the last microsecond.
    pub const MOST_BURSTINESS: f64 = 1e6;
    /// Most clients of a closed loop.
    pub const MOST_CLIENTS: u64 = 1_000_000;
}
