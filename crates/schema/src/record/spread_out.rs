//! Runs that several clients made, or that went to several addresses.

use serde::{Deserialize, Serialize};

use super::parts::Spread;
use super::words::RunStatus;
use crate::nullable::nullable;
use crate::text::Identifier;
use crate::units::Millis;

/// One shard of a run, or a run that is whole and had a common start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShardReport {
    /// Its number, from 1.
    pub number: u64,
    /// How many there are to be.
    pub of: u64,
    /// Whether it came to its end.
    pub status: RunStatus,
    /// Measured requests that it was to send; of a closed loop that time ends, those that it sent.
    pub offered: u64,
    /// Measured requests that it sent.
    pub sent: u64,
    /// How often it broke off and was taken up again.
    pub taken_up: u64,
    /// How long after the common start its measured part began; `None` where there was no common start,
    /// or where it never began.
    #[serde(deserialize_with = "nullable")]
    pub began_late_ms: Option<Millis>,
    /// What the kernel said of its machine's wall clock when it began; `None` where nothing is known.
    #[serde(deserialize_with = "nullable")]
    pub clock: Option<ClockReport>,
    /// How long bytes lay in its kernel before they were read; `None` without kernel stamps.
    #[serde(deserialize_with = "nullable")]
    pub observer_lag_ms: Option<Spread>,
    /// How late its requests were sent; `None` when no schedule said when.
    #[serde(deserialize_with = "nullable")]
    pub dispatch_lateness_ms: Option<Spread>,
}

/// What a kernel said of its wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClockReport {
    /// Whether something kept it in time.
    pub synchronised: bool,
    /// How far it may have been off at most.
    pub max_error_ms: Millis,
}

/// What became of the requests at one of several addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReplicaReport {
    /// `replica-1`, `replica-2`, …: in the order in which the addresses were given.
    pub name: Identifier,
    /// Its share of the requests, beside the weights of the others.
    pub weight: u64,
    /// Requests that the schedule held for it.
    pub offered: u64,
    /// Requests that succeeded.
    pub succeeded: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that a time limit ended.
    pub timed_out: u64,
    /// Requests that were stopped under way.
    pub cancelled: u64,
    /// Requests that were never sent, as in the load.
    pub not_sent: u64,
    /// Completion tokens of its responses by the server's own count, over the duration of the whole batch;
    /// `None` when a response with output has no usable count, or when nothing was sent.
    #[serde(deserialize_with = "nullable")]
    pub completion_tok_per_s: Option<f64>,
    /// Time to first output of its succeeded requests; `None` when no request has one.
    #[serde(deserialize_with = "nullable")]
    pub ttft_ms: Option<Spread>,
    /// Full duration of its succeeded requests; `None` when none succeeded.
    #[serde(deserialize_with = "nullable")]
    pub e2e_ms: Option<Spread>,
}
