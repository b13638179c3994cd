//! The parts that run records are made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::words::{
    CacheState, Direction, IntervalBasis, TimeBasis, TokenAccounting, TokenSource, Unit, WindowName,
};
use crate::digest::Digest;
use crate::nullable::nullable;
use crate::outcome::{CaseOutcome, FailureStage};
use crate::text::{Identifier, PublicText, SourceUrl};
use crate::units::Millis;

/// One declared request and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name, unique in the record.
    pub case_id: Identifier,
    /// What it is, for people.
    pub title: PublicText,
    /// What became of it.
    pub outcome: CaseOutcome,
    /// The outcome that counts: `pass` or `fail` as graded, when exactly the expected model
    /// answered; else `unverified`, also of what failed or did not run.
    pub primary_outcome: CaseOutcome,
    /// Where it went wrong.
    #[serde(deserialize_with = "nullable")]
    pub failure_stage: Option<FailureStage>,
    /// Full duration of the request; `None` when it was not sent, or when its times are not known by
    /// the record's time basis.
    #[serde(deserialize_with = "nullable")]
    pub duration_ms: Option<Millis>,
    /// A remark.
    #[serde(deserialize_with = "nullable")]
    pub summary: Option<PublicText>,
}

/// A condition under which the run was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Its name.
    pub label: PublicText,
    /// What it was.
    pub value: PublicText,
}

/// How many cases there are, by outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Cases that the schedule held.
    pub declared: u64,
    /// Cases by outcome; outcomes that did not occur are left out.
    pub outcomes: BTreeMap<CaseOutcome, u64>,
    /// Cases whose primary outcome is `pass`.
    pub primary_passes: u64,
}

/// What was measured, as its operator declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Deployment {
    /// Name of the deployment.
    pub id: Identifier,
    /// The model's name.
    pub model: PublicText,
    /// Name of the measured profile; record 1 is matched by it.
    pub profile: PublicText,
    /// Clients at once that the deployment is meant for.
    #[serde(deserialize_with = "nullable")]
    pub concurrency: Option<u64>,
    /// Longest context, in tokens.
    #[serde(deserialize_with = "nullable")]
    pub context_limit: Option<u64>,
    /// The machines.
    #[serde(deserialize_with = "nullable")]
    pub hardware: Option<PublicText>,
    /// How many machines.
    #[serde(deserialize_with = "nullable")]
    pub node_count: Option<u64>,
    /// Number formats of weights and cache.
    #[serde(deserialize_with = "nullable")]
    pub quantization: Option<PublicText>,
    /// Revision of the weights.
    #[serde(deserialize_with = "nullable")]
    pub revision: Option<PublicText>,
    /// The serving software.
    #[serde(deserialize_with = "nullable")]
    pub runtime: Option<PublicText>,
    /// Its version.
    #[serde(deserialize_with = "nullable")]
    pub runtime_version: Option<PublicText>,
    /// Public page of the weights.
    #[serde(deserialize_with = "nullable")]
    pub source_url: Option<SourceUrl>,
    /// Which build of several.
    #[serde(deserialize_with = "nullable")]
    pub variant: Option<PublicText>,
    /// Whether the weights were checked against their pinned digests.
    #[serde(deserialize_with = "nullable")]
    pub weights_verified: Option<bool>,
}

impl Deployment {
    /// A deployment of which nothing else is known.
    #[must_use]
    pub fn named(id: Identifier, model: PublicText, profile: PublicText) -> Self {
        Self {
            id,
            model,
            profile,
            concurrency: None,
            context_limit: None,
            hardware: None,
            node_count: None,
            quantization: None,
            revision: None,
            runtime: None,
            runtime_version: None,
            source_url: None,
            variant: None,
            weights_verified: None,
        }
    }
}

/// A file that the record was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Its name in the run directory.
    pub name: Identifier,
    /// Digest of its bytes.
    pub sha256: Digest,
    /// Its length.
    pub bytes: u64,
}

/// A figure of a version 1 record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MetricV1 {
    /// Its name in the catalogue.
    pub id: Identifier,
    /// Its name for people.
    pub label: PublicText,
    /// What it is and what is in its denominator.
    pub definition: PublicText,
    /// Its unit.
    pub unit: Unit,
    /// The figure; `None` when there is none.
    #[serde(deserialize_with = "nullable")]
    pub value: Option<f64>,
    /// Values that entered.
    pub samples: u64,
}

/// A figure with what is needed to judge it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name in the catalogue.
    pub id: Identifier,
    /// Its name for people.
    pub label: PublicText,
    /// What it is and what is in its denominator.
    pub definition: PublicText,
    /// Its unit.
    pub unit: Unit,
    /// The figure; `None` when there is none.
    #[serde(deserialize_with = "nullable")]
    pub value: Option<f64>,
    /// Values that entered.
    pub samples: u64,
    /// Which way it gets better.
    pub direction: Direction,
    /// The part of the run it is taken over.
    pub window: WindowName,
    /// The requests it is taken over.
    pub population: PublicText,
    /// Where its token counts come from; `None` when it needs none.
    #[serde(deserialize_with = "nullable")]
    pub token_source: Option<TokenSource>,
    /// Requests of the population that have no value.
    pub missing: u64,
    /// What the value is uncertain by, within this run.
    #[serde(deserialize_with = "nullable")]
    pub interval: Option<Interval>,
}

/// An interval of confidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Its level, 0 to 1.
    pub level: f64,
    /// How it was made.
    pub method: Identifier,
    /// Lower bound; `None` when the samples are too few for one.
    #[serde(deserialize_with = "nullable")]
    pub lower: Option<f64>,
    /// Upper bound; `None` when the samples are too few for one.
    #[serde(deserialize_with = "nullable")]
    pub upper: Option<f64>,
}

/// The serving cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Performance {
    /// Version of this part.
    pub version: Identifier,
    /// Tokens that a prompt was meant to have.
    #[serde(deserialize_with = "nullable")]
    pub target_input_tokens: Option<u64>,
    /// Fewest prompt tokens that the server reported.
    #[serde(deserialize_with = "nullable")]
    pub actual_input_tokens_min: Option<u64>,
    /// Most prompt tokens that the server reported.
    #[serde(deserialize_with = "nullable")]
    pub actual_input_tokens_max: Option<u64>,
    /// State of the server's caches.
    pub cache_state: CacheState,
    /// The client's own limit of requests under way.
    pub client_concurrency_limit: u64,
    /// Most requests under way at once, by their spans; `None` when a span is missing.
    #[serde(deserialize_with = "nullable")]
    pub observed_peak_inflight: Option<u64>,
    /// What the stream intervals are taken between.
    pub stream_interval_basis: IntervalBasis,
    /// How the server counts reasoning tokens.
    pub token_accounting: TokenAccounting,
    /// Requests that succeeded on the wire.
    pub transport_successes: u64,
}

/// What the instrument says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InstrumentReport {
    /// Its version.
    pub version: PublicText,
    /// Which clock reading an arrival is.
    pub time_basis: TimeBasis,
    /// How long bytes lay in the kernel before they were read; `None` without kernel stamps.
    #[serde(deserialize_with = "nullable")]
    pub observer_lag_ms: Option<Spread>,
    /// How late requests were sent; `None` when no schedule said when.
    #[serde(deserialize_with = "nullable")]
    pub dispatch_lateness_ms: Option<Spread>,
    /// Reads that brought bytes.
    pub reads: u64,
    /// Reads that completed more than one event.
    pub coalesced_reads: u64,
    /// Pooled connections found closed before use.
    pub stale_connections: u64,
    /// Requests that were sent a second time.
    pub resends: u64,
    /// Metrics whose value the instrument itself may have bent.
    pub client_limited: Vec<Identifier>,
    /// What this client's own error was found to be at this load; `None` when nobody looked.
    #[serde(deserialize_with = "nullable")]
    pub calibration: Option<Calibration>,
}

/// The client's own error at one number of streams: its stamps beside those of a simulated server
/// in another process on the same machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Streams at once.
    pub streams: u64,
    /// Events that were observed.
    pub events: u64,
    /// The client's stamp of an event minus the server's just before it wrote that event.
    pub arrival_error_ms: Spread,
    /// The kernel's receive time of a request at the server minus the client's `started`.
    pub send_error_ms: Spread,
    /// How long bytes lay in the client's kernel before they were read.
    #[serde(deserialize_with = "nullable")]
    pub observer_lag_ms: Option<Spread>,
    /// Processor time of the client for each event, in microseconds.
    pub cpu_us_per_event: f64,
    /// Events per second while they were paced.
    pub events_per_s: f64,
}

/// How a quantity of the instrument is spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Its median.
    pub median: f64,
    /// Its 99th percentile.
    pub p99: f64,
    /// Its maximum.
    pub max: f64,
}

/// What was offered to the server, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LoadReport {
    /// Name of the cell, by which records are matched.
    pub cell: Identifier,
    /// Shape of the load.
    pub shape: Identifier,
    /// Requests that the schedule held.
    pub offered: u64,
    /// Requests that succeeded.
    pub succeeded: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that a time limit ended.
    pub timed_out: u64,
    /// Requests that were stopped under way.
    pub cancelled: u64,
    /// Requests that were never sent. Of a run that was cut off (it has no end in its journal), also
    /// those that were under way then: nobody knows which.
    pub not_sent: u64,
    /// Requests sent before the measurement and left out of it.
    pub warmup: u64,
    /// Share of offered requests that may fail before the figures stop being eligible.
    pub max_failure_ratio: f64,
    /// Whether the figures may pass a gate.
    pub performance_eligible: bool,
    /// How far behind its due time a request may start before it counts as late; `None` without due
    /// times.
    #[serde(deserialize_with = "nullable")]
    pub late_after_ms: Option<Millis>,
    /// The stages of a schedule, in their order; empty without due times.
    pub stages: Vec<StageReport>,
}

/// What became of one stage of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StageReport {
    /// Requests due in it.
    pub planned: u64,
    /// Requests sent, at whatever time.
    pub sent: u64,
    /// Requests sent, but late.
    pub late: u64,
    /// Requests never sent, or under way when the run was cut off, as in `not_sent`.
    pub unsent: u64,
    /// Whether every request was sent. If not, the stage did not offer the load that it names.
    pub valid: bool,
}

/// The parts of the run that figures are taken over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// From the first start to the last end; `None` when nothing was sent.
    #[serde(deserialize_with = "nullable")]
    pub whole: Option<Window>,
    /// While the load was at its target; `None` when that was too short.
    #[serde(deserialize_with = "nullable")]
    pub steady: Option<Window>,
}

/// One span of a run, since its start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Where it begins.
    pub from_ms: Millis,
    /// Where it ends.
    pub to_ms: Millis,
    /// Requests under way in it, averaged over its time.
    pub mean_inflight: f64,
}
